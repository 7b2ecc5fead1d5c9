"""The fault table between two trials: all was well, the fault comes, and the rerun catches it as a whole run would.

One entry of each part of the table is taken; with WHOLE_TABLE in the environment, every one that can come between.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from plugins.verdict import EXIT_STATUS
from tests.pilot import faults_again
from tests.pilot import faults_callable
from tests.pilot import faults_copy
from tests.pilot import faults_environment
from tests.pilot import faults_formats
from tests.pilot import faults_inputs
from tests.pilot import faults_machine
from tests.pilot import faults_memory
from tests.pilot import faults_process
from tests.pilot import faults_results
from tests.pilot import faults_server
from tests.pilot.bench import Bench
from tests.pilot.counted import FAULT
from tests.pilot.entries import Fault
from tests.pilot.test_faults import AGAIN
from tests.pilot.test_faults import LEAN

Record = Callable[[str, object], None]
PARTS = (
    faults_inputs, faults_results, faults_process, faults_machine, faults_copy, faults_again, faults_environment,
    faults_formats, faults_callable, faults_server, faults_memory,
)  # fmt: skip
#: from each part so many, spread over it
SAMPLE = 2


def _taken() -> list[Fault]:
    if os.environ.get("WHOLE_TABLE"):
        return [fault for part in PARTS for fault in part.FAULTS]
    return [part.FAULTS[n * len(part.FAULTS) // SAMPLE] for part in PARTS for n in range(SAMPLE)]


@pytest.mark.parametrize("fault", _taken(), ids=lambda fault: fault.name)
def test_a_fault_that_comes_after_a_healthy_trial_is_caught_by_the_rerun(
    fault: Fault, bench: Bench, record_property: Record
) -> None:
    bench.always = () if fault.first_error.startswith(AGAIN) else ("--once",)
    before = bench.run(*LEAN, device="cpu", forked=True)
    assert {check.status for check in before.decided.checks()} == {"passed"}, before.output
    record_property(FAULT, f"{fault.name}, between two trials")
    shutil.rmtree(bench.copies)  # where a place is to be made into something else
    fault.change(bench)
    run = bench.run(*LEAN, "--continue", before.decided.trial, device=fault.device, forked=True)
    error = run.decided.first_error
    assert error is not None, run.output
    assert (error.check, run.decided.decision) == (fault.first_error, fault.decision), run.output
    assert run.exit_status == EXIT_STATUS[fault.decision]
