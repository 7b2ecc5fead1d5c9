"""--once: the application is run once only, and the verdict says what was not tried."""

from __future__ import annotations

from tests.pilot.bench import Bench

LEFT_OUT = "not examined: another order and batch size, and going on after an interruption (--once)"


def test_run_once_a_go_says_what_was_not_tried(bench: Bench) -> None:
    bench.pretend_cards("NVIDIA H200")
    bench.always = ()
    run = bench.run("--once", device="cuda", forked=True)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    assert LEFT_OUT in run.decided.advisories
    ids = {check.id for check in run.decided.checks()}
    assert not {one for one in ids if one.startswith(("results.order", "results.resume"))}
    assert "--once" in run.decided.command.repeat
    assert run.trial is not None
    again = bench.judge(run.trial, forked=True)
    assert (again.decided.decision, {check.id for check in again.decided.checks()}) == ("go", ids)


def test_run_as_usual_nothing_of_that_is_said(bench: Bench) -> None:
    bench.always = ()
    run = bench.run(forked=True)
    assert LEFT_OUT not in run.decided.advisories
    assert run.status("results.order_and_batch") == run.status("results.resume_agrees") == "passed"


def test_a_burn_in_is_asked_for_again_by_the_commands_that_repeat_and_rerun(bench: Bench) -> None:
    run = bench.run("--burn-in", "0.02", "-k", "inputs", device="cuda", forked=True)
    assert "--burn-in 0.02" in run.decided.command.repeat
    assert "--burn-in 0.02" in (run.decided.command.rerun or "")
    assert "--burn-in" not in bench.run("-k", "inputs", device="cuda", forked=True).decided.command.repeat
