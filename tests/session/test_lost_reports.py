"""Workers that die and reports that get lost: what was planned and not reported is never a pass."""

from __future__ import annotations

import pytest

from fixtures.evidence.trial import CHECKS
from fixtures.evidence.trial import VERDICT
from tests.pilot.bench import Bench

DYING = ["dies_in_setup", "dies_in_call", "dies_of_a_signal", "dies_in_teardown"]
LAST = "test_the_copy_judged_again_comes_to_the_same"

#: plugins that lose the report of the last check, each in the process that runs the checks
LOSING = {
    "a hook raises": """
        import pytest
        def pytest_runtest_logreport(report):
            if {there} and report.nodeid.endswith({last!r}) and report.when == "call":
                raise RuntimeError("a hook raises")
    """,
    "a report cannot be sent": """
        import pytest
        class Number(float):
            "As numpy.float64 is: nothing that the wire carries."
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item):
            report = yield
            if {there} and item.name == {last!r} and report.when == "call":
                report.measured = Number(1)
            return report
    """,
    "nothing is reported": """
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item):
            return True if {there} and item.name == {last!r} else None
    """,
    "a phase is not reported": """
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            if not {there} or item.name != {last!r}:
                return None
            from _pytest import runner
            item._initrequest()
            for when in ("setup", "call"):
                runner.call_and_report(item, when)
            item.session._setupstate.teardown_exact(nextitem)
            return True
    """,
}
#: whoever judges the copy loads the plugin too; it is to lose nothing there
_MAKING = '"--trial" not in __import__("sys").argv'


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


def plugin(bench: Bench, source: str, *, there: str = _MAKING) -> str:
    """Write a plugin that the bench's run can load; its name."""
    lines = source.format(there=there, last=LAST).strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    folder = bench.folder / "plugins-of-the-test"
    folder.mkdir()
    (folder / "losing.py").write_text("\n".join(line[indent:] for line in lines))
    bench.environment["PYTHONPATH"] += f":{folder}"
    return "losing"


def test_checks_whose_worker_dies_are_broken(trapped: Bench) -> None:
    trapped.environment["TRAP"] = ",".join(DYING)
    run = trapped.run("-n", "2", device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert {run.status(f"end_of_trial.{name}") for name in DYING} == {"broken"}
    assert {check.status for check in run.decided.checks() if "zz_traps" not in check.nodeid} == {"passed"}
    assert run.trial
    assert run.decided.first_error
    assert run.decided.first_error.check == "end_of_trial.dies_in_setup"
    for name in DYING:
        assert f"end_of_trial.{name}" in (run.trial / "report.html").read_text()


def test_one_death_in_the_last_check_of_all_is_seen(trapped: Bench) -> None:
    trapped.environment["TRAP"] = "dies_in_teardown"
    run = trapped.run("-n", "1", device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert run.status("end_of_trial.dies_in_teardown") == "broken"


def test_a_check_that_kills_whoever_judges_the_copy_too_is_no_go(trapped: Bench) -> None:
    trapped.environment["TRAP"] = "dies_in_every_process"
    run = trapped.run("-n", "2", device="cuda")
    assert run.decided.decision != "go"
    assert run.exit_status in (10, 12)
    assert run.status("end_of_trial.dies_in_every_process") == "broken"


@pytest.mark.parametrize("trap", ["dies_in_call", "dies_of_a_signal"])
def test_without_workers_a_death_leaves_no_verdict(trapped: Bench, trap: str) -> None:
    trapped.environment["TRAP"] = trap
    run = trapped.run(device="cuda")
    assert run.exit_status in (3, -11)
    trial = trapped.trials()[-1]
    assert not (trial / VERDICT).exists()
    assert (trial / CHECKS).read_text().count('"passed"') > 30, "what was established until then is kept"
    assert not any((copy / VERDICT).exists() for copy in trapped.copies.iterdir())


@pytest.mark.parametrize("options", [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")])
@pytest.mark.parametrize("losing", LOSING)
def test_a_report_that_is_lost_is_no_go(bench: Bench, losing: str, options: tuple[str, ...]) -> None:
    run = bench.run("-p", plugin(bench, LOSING[losing]), *options, device="cuda")
    if losing == "a report cannot be sent" and not options:
        assert run.decided.decision == "go", "nothing has to be sent where there is no worker"
        return
    assert run.decided.decision == "undecided", run.output
    assert run.exit_status in (3, 12), run.output
    assert run.status("end_of_trial.judged_alike") in ("not_run", "broken")
