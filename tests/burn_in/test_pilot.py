"""A burn-in as part of a pilot, with workers: after the application, before the copy."""

from __future__ import annotations

from tests.pilot.bench import Bench

CHECKS = ("launch.burn_in_right[cpu]", "launch.burn_in_steady[cpu]", "launch.burn_in_alike[cpu]")


def test_a_rehearsal_with_workers_burns_the_processor_in_and_its_copy_holds_that(bench: Bench) -> None:
    bench.always = ("--once",)
    run = bench.run("--burn-in", "0.05", "-n", "2", real_torch=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert {run.status(check) for check in CHECKS} == {"passed"}
    assert run.trial
    assert "Burn-in, 0.05 minutes" in (run.trial / "report.html").read_text()


def test_it_is_asked_for_in_minutes(bench: Bench) -> None:
    run = bench.run("--burn-in", "0", forked=True)
    assert (run.exit_status, run.trial) == (4, None)
    assert "found '0'; wanted minutes, more than 0 and at most 1440" in run.output
