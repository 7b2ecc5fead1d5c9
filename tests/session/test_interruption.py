"""A signal at any moment leaves a true verdict or none, and no process of the application."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

import psutil
import pytest

from fixtures.evidence.trial import VERDICT
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.session import processes
from tests.session.processes import start
from tests.session.processes import Started
from tests.session.processes import until

#: moments of a run: what makes it last, and what shows that it has come
SLOW_TORCH = """
import pathlib, sys, time
pathlib.Path({flag!r}).touch()
time.sleep(60)
"""


def while_torch_is_imported(bench: Bench) -> Callable[[], object]:
    folder, flag = bench.folder / "slow" / "torch", bench.folder / "importing"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(SLOW_TORCH.format(flag=str(flag)))
    bench.environment["PYTHONPATH"] = f"{folder.parent}{os.pathsep}{bench.environment['PYTHONPATH']}"
    return flag.exists


def while_the_application_runs(bench: Bench) -> Callable[[], object]:
    bench.behave("sleeps")
    return lambda: any(
        path.read_text().count("\n") >= 6 for path in bench.reports.glob("*/evidence/application/output/*")
    )


def while_the_copy_is_judged(bench: Bench) -> Callable[[], object]:
    return lambda: any(bench.copies.glob("*/evidence/application.json"))


def test_a_run_that_nohup_started_outlives_its_terminal(bench: Bench) -> None:
    reached = while_the_application_runs(bench)
    started = start(bench, before_exec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until(reached, "the application")
    started.signal(signal.SIGHUP)
    application = until(lambda: processes.application(bench), "the application's process")
    application.terminate()
    assert started.end().decided.decision == "fix", "it ran on, and saw that the application was killed"


def nothing_alive(bench: Bench) -> bool:
    return not processes.alive(bench)


def ended_true(bench: Bench, run: Run, *, killed: bool) -> None:
    """No verdict, or one that says undecided; never in the copy what the trial does not say."""
    trial = bench.trials()[-1]
    if killed:
        assert not (trial / VERDICT).exists()
    else:
        assert run.exit_status == 2, run.output
        assert run.decided.decision == "undecided", run.output
        assert "it was interrupted" in run.decided.reason
        assert "Traceback" not in run.output
    assert not list(bench.copies.glob(f"*/{VERDICT}"))


#: every signal, every moment, with and without workers; not each with each, because xdist waits ten seconds
#: for a worker that runs an application
CASES = [
    pytest.param(
        number,
        moment,
        workers,
        id=f"{number.name} {moment.__name__} {'with' if workers else 'without'} workers",
    )
    for moment, number, workers in [
        (while_torch_is_imported, signal.SIGINT, ()),
        (while_torch_is_imported, signal.SIGKILL, ()),
        (while_torch_is_imported, signal.SIGKILL, ("-n", "2")),
        (while_the_application_runs, signal.SIGINT, ()),
        (while_the_application_runs, signal.SIGTERM, ()),
        (while_the_application_runs, signal.SIGHUP, ()),
        (while_the_application_runs, signal.SIGKILL, ()),
        (while_the_application_runs, signal.SIGTERM, ("-n", "2")),
        (while_the_application_runs, signal.SIGKILL, ("-n", "2")),
        (while_the_copy_is_judged, signal.SIGTERM, ()),
        (while_the_copy_is_judged, signal.SIGKILL, ()),
        (while_the_copy_is_judged, signal.SIGINT, ("-n", "2")),
    ]
]


@pytest.mark.parametrize(("number", "moment", "workers"), CASES)
def test_a_signal_leaves_a_true_verdict_or_none_and_nothing_alive(
    bench: Bench,
    number: signal.Signals,
    moment: Callable[[Bench], Callable[[], object]],
    workers: tuple[str, ...],
) -> None:
    come = moment(bench)
    pilot = start(bench, *workers)
    until(come, moment.__name__)
    pilot.signal(number)
    run = pilot.end()
    if moment is while_torch_is_imported and run.verdict is None and number != signal.SIGKILL:
        assert run.exit_status == 2, (
            "torch is imported while pytest starts, when there is no session to close yet"
        )
    else:
        ended_true(bench, run, killed=number == signal.SIGKILL)
    until(lambda: nothing_alive(bench), f"the end of {processes.alive(bench)}")


def _end(process: psutil.Process | None) -> None:
    assert process is not None
    process.kill()


def test_ctrl_c_on_a_terminal_reaches_every_process_at_once(bench: Bench) -> None:
    come = while_the_application_runs(bench)
    pilot = start(bench, "-n", "2")
    until(come, "the application")
    os.killpg(pilot.process.pid, signal.SIGINT)
    run = pilot.end()
    ended_true(bench, run, killed=False)
    until(lambda: nothing_alive(bench), f"the end of {processes.alive(bench)}")


def test_an_impatient_second_ctrl_c_leaves_a_true_verdict_or_none(bench: Bench) -> None:
    come = while_the_application_runs(bench)
    pilot = start(bench)
    until(come, "the application")
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            pilot.signal(signal.SIGINT)
    run = pilot.end()
    assert run.exit_status != 0
    assert run.verdict is None or run.verdict.decision == "undecided"
    until(lambda: nothing_alive(bench), f"the end of {processes.alive(bench)}")


def test_a_supervisor_that_is_killed_takes_the_application_with_it(bench: Bench) -> None:
    come = while_the_application_runs(bench)
    pilot = start(bench)
    until(come, "the application")
    _end(processes.supervisor(bench))
    run = pilot.end()
    # the application is not to blame for a watcher that somebody else ended
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert run.status("results.ended_by_itself") == "broken"
    assert "the supervising process died" in run.message("results.ended_by_itself")
    until(lambda: nothing_alive(bench), f"the end of {processes.alive(bench)}")


def _maker(pilot: Started) -> psutil.Process:
    """The worker that runs the application: the supervisor's parent."""
    supervisor = processes.supervisor(pilot.bench)
    assert supervisor is not None
    parent = supervisor.parent()
    assert parent is not None
    assert parent.pid != pilot.process.pid
    return parent


def test_a_worker_that_is_killed_takes_the_application_with_it(bench: Bench) -> None:
    come = while_the_application_runs(bench)
    pilot = start(bench, "-n", "2")
    until(come, "the application")
    _maker(pilot).kill()
    until(lambda: processes.application(bench) is None, "the end of the application")
    run = pilot.end()
    assert run.decided.decision == "undecided", run.output
    assert run.exit_status == 12
    assert {
        run.status(name) for name in ("results.ended_by_itself", "results.file", "failures.none_missing")
    } <= {
        "broken",
        "not_run",
    }
    assert "died" in " ".join(run.decided.conditions)
    until(lambda: nothing_alive(bench), f"the end of {processes.alive(bench)}")


def test_an_interrupted_trial_can_be_judged_and_is_no_go(bench: Bench) -> None:
    come = while_the_application_runs(bench)
    pilot = start(bench)
    until(come, "the application")
    pilot.signal(signal.SIGKILL)
    pilot.end()
    judged = bench.judge(bench.trials()[-1])
    assert (judged.decided.decision, judged.exit_status) == ("undecided", 12), judged.output
    assert judged.status("results.ended_by_itself") == "not_reached"
    assert judged.status("launch.interpreter") == "passed"


def test_results_that_change_after_they_were_judged_are_no_part_of_a_go(bench: Bench) -> None:
    """Somebody's late writer, or a person: the trial must not be sealed around results that nobody judged."""
    pilot = start(bench)

    def observed() -> bool:
        return any(bench.reports.glob("*/evidence/application.json"))

    until(observed, "the results to be observed")
    (results,) = bench.reports.glob("*/evidence/application/output/results.jsonl")
    results.write_text("late garbage\n")
    run = pilot.end()
    assert (run.decided.decision, run.exit_status) == ("fix", 10), run.output
    assert run.status("end_of_trial.sums_agree") == "failed"
    assert "results.jsonl" in run.message("end_of_trial.sums_agree")
