"""`-n auto`: a worker for each card; the launch and the application see all of them whatever a worker is bound to."""

from __future__ import annotations

import json

import pytest

from fixtures.evidence.models import Launch
from fixtures.evidence.trial import Envelope
from tests.pilot.bench import Bench
from tests.pilot.bench import Run


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


@pytest.fixture
def two_cards(trapped: Bench) -> Bench:
    trapped.pretend_cards("NVIDIA H200", "NVIDIA H200")
    trapped.order["cards"] = 2
    return trapped


def launch_of(run: Run) -> Launch:
    assert run.trial
    envelope = Envelope.model_validate_json((run.trial / "evidence" / "launch.json").read_text())
    return Launch.model_validate_json(json.dumps(envelope.observed))


def test_there_is_a_worker_for_each_card_and_the_launch_sees_both(two_cards: Bench) -> None:
    run = two_cards.run("-n", "auto", device="cuda")
    assert run.decided.decision == "go", run.output
    assert "2 workers" in run.output
    assert [device.index for device in launch_of(run).devices] == [0, 1]
    assert "CUDA_VISIBLE_DEVICES" not in (launch_of(run).variables or {})
    assert {run.status(f"launch.compute[cuda-{number}]") for number in (0, 1)} == {"passed"}


def test_without_a_card_there_is_one_worker(bench: Bench) -> None:
    bench.environment.pop("STUB_CARDS")
    run = bench.run("-n", "auto", device="cpu")
    assert run.decided.decision == "undecided"
    assert "1 worker " in run.output


def test_cards_that_the_caller_hides_get_no_worker(two_cards: Bench) -> None:
    two_cards.environment["CUDA_VISIBLE_DEVICES"] = "1"
    assert "1 worker " in two_cards.run("-n", "auto", device="cuda").output


def test_a_worker_that_dies_is_named_with_the_card_that_it_held(two_cards: Bench) -> None:
    two_cards.environment["TRAP"] = "dies_in_call"
    run = two_cards.run("-n", "auto", device="cuda")
    assert run.decided.decision == "undecided", run.output
    assert any("which held cuda-" in line and "died" in line for line in run.decided.conditions), run.output
