"""One table of exit statuses, the same without workers and with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pilot.bench import Bench
from tests.session import processes
from tests.session.processes import start
from tests.session.processes import until


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


def healthy(bench: Bench) -> list[str]:
    bench.always = ()  # all runs of the application, and a process that is started
    bench.forked = False
    return ["--require-go"]


def a_fault(bench: Bench) -> list[str]:
    bench.behave("loses_one")
    return []


def another_card(bench: Bench) -> list[str]:
    bench.order["card"] = "NVIDIA B200"
    return []


def a_selection(bench: Bench) -> list[str]:
    return ["-k", "manifest"]


def a_selection_of_nothing(bench: Bench) -> list[str]:
    return ["-k", "nothing_of_that_name"]


def an_unknown_option(bench: Bench) -> list[str]:
    return ["--never-heard-of"]


#: what was asked for on a machine with a card -> decision and exit status
TABLE: list[tuple[Callable[[Bench], list[str]], str | None, int]] = [
    (healthy, "go", 0),
    (a_fault, "fix", 10),
    (another_card, "reconfigure", 11),
    (a_selection, "undecided", 12),
    (a_selection_of_nothing, "undecided", 12),
    (an_unknown_option, None, 4),
]
WORKERS = [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(("ask", "decision", "status"), TABLE, ids=[ask.__name__ for ask, _, _ in TABLE])
def test_the_exit_status_follows_the_decision(
    bench: Bench,
    ask: Callable[[Bench], list[str]],
    decision: str | None,
    status: int,
    workers: tuple[str, ...],
) -> None:
    run = bench.run(*ask(bench), *workers, device="cuda")
    assert run.exit_status == status, run.output
    assert (run.verdict.decision if run.verdict else None) == decision
    assert run.verdict is None or run.verdict.exit_status == status


def test_a_rehearsal_is_0_unless_a_go_is_required(bench: Bench) -> None:
    run = bench.run("-n", "2", device="cpu")
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert run.trial
    assert bench.judge(run.trial, "--require-go").exit_status == 12


def test_a_machine_without_a_card_never_becomes_a_rehearsal_by_itself(bench: Bench) -> None:
    bench.environment["STUB_CARDS"] = ""
    run = bench.run(device="auto")
    assert (run.decided.scope, run.decided.decision, run.exit_status) == ("rental", "reconfigure", 11), (
        run.output
    )
    assert run.status("results.ended_by_itself") == "not_reached"


@pytest.mark.parametrize("workers", WORKERS)
def test_an_interruption_is_2(bench: Bench, workers: tuple[str, ...]) -> None:
    """With workers it is Ctrl-C on a terminal, which reaches all of them."""
    import os
    import signal

    bench.behave("sleeps")
    pilot = start(bench, *workers)
    until(lambda: processes.application(bench), "the application")
    os.killpg(pilot.process.pid, signal.SIGINT)
    run = pilot.end()
    assert (run.decided.decision, run.exit_status) == ("undecided", 2), run.output
