"""The healthy twin of every fault: it must be go where a card is, and pass wholly where none is."""

from __future__ import annotations

from tests.pilot.bench import Bench


def test_a_healthy_application_on_the_ordered_card_is_go(bench: Bench) -> None:
    bench.pretend_cards("NVIDIA H200")
    run = bench.run("--require-go", device="cuda")
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output


def test_a_healthy_rehearsal_passes_wholly_and_decides_nothing(bench: Bench) -> None:
    run = bench.run()
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert {check.status for check in run.decided.checks()} == {"passed"}
