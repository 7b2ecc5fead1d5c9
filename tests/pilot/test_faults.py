"""Every fault of the table is caught in a whole run, and its healthy twin passes wholly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from plugins.verdict import EXIT_STATUS
from plugins.verdict_file import Verdict
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.pilot.counted import FAULT
from tests.pilot.counted import TWIN
from tests.pilot.entries import Fault
from tests.pilot.entries import Refusal
from tests.pilot.entries import Twin
from tests.pilot.table import ASKED_FOR
from tests.pilot.table import FAULTS
from tests.pilot.table import REFUSALS
from tests.pilot.table import TESTED_APART
from tests.pilot.table import TWINS

Record = Callable[[str, object], None]
#: plugins that say nothing about a fault, and take a tenth of each run; the twins run with them, and each is a
#: process of its own, as a renter's is
LEAN = ("-p", "no:html", "-p", "no:metadata", "-p", "no:anyio")
#: checks that run the application again; other faults show in its first run, and the twins make all of them
AGAIN = ("results.order_and_batch", "results.resume_", "results.survives_hangup")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_caught(fault: Fault, bench: Bench, record_property: Record) -> None:
    record_property(FAULT, fault.name)
    fault.change(bench)
    bench.always = () if fault.first_error.startswith(AGAIN) else ("--once",)
    run = bench.run(*LEAN, device=fault.device, forked=True)
    verdict = run.decided
    assert verdict.first_error is not None, run.output
    assert (verdict.first_error.check, verdict.decision) == (fault.first_error, fault.decision), run.output
    assert run.exit_status == verdict.exit_status == EXIT_STATUS[fault.decision]
    assert {run.status(check) for check in (fault.first_error, *fault.others)} == {"failed"}
    first = next(check for check in verdict.checks() if check.id == fault.first_error)
    message = first.message or ""
    assert first.required
    assert first.found
    # what comes to light after the checks have run is said in its own words
    assert message.startswith(f"required {first.required}; found {first.found}") or message == first.found
    assert [words for words in fault.says if words not in message] == [], message
    assert set(fault.documents) <= named(verdict)
    assert_it_is_told_well(run)
    if fault.look:
        fault.look(bench, run)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_healthy_twin_is_not_caught(twin: Twin, bench: Bench, record_property: Record) -> None:
    record_property(TWIN, twin.name)
    twin.change(bench)
    # those with a card are started as a renter starts theirs, and so is the plain one
    started = twin.device != "cpu" or twin.name == "the-plain-one"
    run = bench.run(device=twin.device, forked=not started)
    wanted = "undecided" if twin.device == "cpu" else "go"
    assert (run.decided.decision, run.exit_status) == (wanted, 0), run.output
    assert {check.status for check in run.decided.checks()} == {"passed"}
    assert run.decided.first_error is None
    assert_it_is_told_well(run)
    if twin.look:
        twin.look(bench, run)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_a_wrong_configuration_is_refused(refusal: Refusal, bench: Bench, record_property: Record) -> None:
    """Before anything runs; the answer names the file, the place in it, what was found and what was wanted."""
    record_property(FAULT, refusal.name)
    refusal.change(bench)
    run = bench.run(*LEAN, forked=True)
    assert run.exit_status == pytest.ExitCode.USAGE_ERROR, run.output
    assert bench.trials() == []
    assert not bench.copies.exists()
    answer = next(line for line in run.output.splitlines() if line.startswith("ERROR"))
    where, _, rest = answer.partition(": found ")
    found, _, wanted = rest.partition("; wanted ")
    assert where.endswith(f"{bench.folder / refusal.file}" + (f": {refusal.place}" if refusal.place else ""))
    assert refusal.found in found
    assert refusal.wanted in wanted
    assert refusal.hides is None or refusal.hides not in run.output
    assert "Traceback" not in run.output


def named(verdict: Verdict) -> set[str]:
    """Documents that the first error or the counts name."""
    assert verdict.first_error is not None
    first = next(check for check in verdict.checks() if check.id == verdict.first_error.check)
    counts = verdict.documents
    lost = [*counts.missing, *counts.duplicated, *counts.invented] if counts else []
    return {*first.documents, *lost}


def assert_it_is_told_well(run: Run) -> None:
    """What every run owes to whoever started it, however it came out."""
    assert run.trial is not None
    assert run.decided.trial == run.trial.name
    assert f"\n{run.decided.decision.upper()}  " in run.output
    assert "Traceback" not in run.output
    assert [character for character in run.output if not (character.isprintable() or character == "\n")] == []
    assert run.decided.decision.upper() in (run.trial / "report.html").read_text().upper()


def test_the_table_holds_what_was_asked_for() -> None:
    entries = {entry.name for entry in (*FAULTS, *REFUSALS, *TWINS)}
    asked = {name for names in ASKED_FOR.values() for name in names}
    assert asked <= entries
    assert len(ASKED_FOR) + len(TESTED_APART) == 53
    assert [one for one in TESTED_APART.values() if not Path(__file__).with_name(f"{one}.py").is_file()] == []


def test_every_entry_has_a_name_of_its_own() -> None:
    names = Counter(entry.name for entry in (*FAULTS, *REFUSALS, *TWINS))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_twin_that_a_fault_names_is_in_the_table() -> None:
    named_as_twins = {entry.twin for entry in (*FAULTS, *REFUSALS) if entry.twin is not None}
    assert named_as_twins <= {twin.name for twin in TWINS}
