"""A pilot whose output goes into the project folder writes there itself; the application is not to blame."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from fixtures.evidence.trial import LATEST
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.pilot.counted import FAULT
from tests.pilot.counted import TWIN

Record = Callable[[str, object], None]
BESIDE = "results.nothing_beside"
#: as it is typed: pytest and its arguments are $@, and the log lies in the current folder
WAYS = {
    "redirected": '"$@" > run.log 2>&1',
    "through tee": '"$@" 2>&1 | tee run.log > /dev/null',
    "nohup": 'nohup "$@" < /dev/null >> nohup.out 2>&1',
}


def _logged(bench: Bench, script: str, *options: str) -> Run:
    bench.write()
    command = ["/bin/sh", "-c", script, "sh", *bench.command(*options, "--once")]
    end = subprocess.run(
        command, cwd=bench.project, env=bench.environ(), stdin=subprocess.DEVNULL, timeout=120
    )
    return bench.look(end.returncode, "", (bench.reports / LATEST).read_text().strip())


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["serial", "workers"])
@pytest.mark.parametrize("way", WAYS)
def test_the_log_of_the_run_itself_is_not_the_applications(
    way: str, options: tuple[str, ...], bench: Bench, record_property: Record
) -> None:
    record_property(TWIN, f"the output {way}, {options}")
    bench.own_project()
    bench.behave("takes_its_time", "0.2")
    run = _logged(bench, WAYS[way], *options)
    assert {check.status for check in run.decided.checks()} == {"passed"}, run.message(BESIDE)


def test_what_the_application_writes_beside_the_log_is_found(bench: Bench, record_property: Record) -> None:
    record_property(FAULT, "litter beside the log of the run")
    bench.behave("writes_to", str(bench.own_project() / "predictions.csv"))
    run = _logged(bench, WAYS["redirected"])
    assert run.decided.first_error is not None
    assert run.decided.first_error.check == BESIDE
    assert "predictions.csv appeared" in run.message(BESIDE)
    assert "run.log" not in run.message(BESIDE)


@pytest.mark.parametrize("place", ["copies", "reports"])
def test_other_runs_may_write_their_copies_and_reports_meanwhile(
    place: str, bench: Bench, record_property: Record
) -> None:
    """Here it is the application itself that does: nobody can tell."""
    record_property(TWIN, f"another run writes to {place}")
    folder = bench.own_project() / place
    folder.mkdir()
    if place == "copies":
        bench.parameters["copy_to"] = str(folder)
    bench.behave("writes_to", str(folder / "of-another-run.json"))
    run = bench.run()
    assert {check.status for check in run.decided.checks()} == {"passed"}, run.output
