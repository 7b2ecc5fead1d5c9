"""`python -m plugins.trials diff A B`: what differs, and nothing that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.order import Order
from fixtures.evidence.parameters import Command as Application
from fixtures.evidence.parameters import Documents
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import Factors
from plugins.trials import __main__ as command
from plugins.verdict_file import Verdict
from tests.report import samples
from tests.trials.making import BROKEN
from tests.trials.making import closed
from tests.trials.making import Command
from tests.trials.making import EARLIER
from tests.trials.making import NAME

WORDS = ["{python}", "app.py", "{manifest}", "{results}"]


@pytest.fixture
def trials(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(command.main, capsys)


def factors(**project: str) -> Factors:
    return Factors(
        machine={"driver": "570.1"}, environment={"torch": "2.13"}, project={"parameters": "aaa", **project}
    )


def parameters(**application: Any) -> Parameters:
    made = Application(kind="command", command=WORDS, **application)
    return Parameters(documents=Documents(), categories=["a", "b"], application=made)


def without(verdict: Verdict, check: str) -> Verdict:
    criteria = [
        one.model_copy(update={"checks": [c for c in one.checks if c.id != check]})
        for one in verdict.criteria
    ]
    return verdict.model_copy(update={"criteria": criteria})


def test_factors_parameters_and_checks_are_compared_one_by_one(trials: Command, tmp_path: Path) -> None:
    before = samples.verdict(trial=EARLIER, failing={"results.complete": BROKEN})
    closed(
        tmp_path, EARLIER, verdict=without(before, "memory.headroom"),
        factors=factors(), parameters=parameters(batch_size=4), device="cpu",
    )  # fmt: skip
    closed(
        tmp_path, NAME, verdict=without(samples.verdict(), "failures.exit"),
        factors=factors(parameters="bbb", index="new"), parameters=parameters(batch_size=2, deadline_s=60),
    )  # fmt: skip
    status, out, err = trials("diff", EARLIER, NAME, "--reports", tmp_path)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"{EARLIER} -> {NAME}",
        "decision: fix -> go",
        "device: cpu -> auto",
        "factors: 2 changed",
        "  project.parameters: aaa -> bbb",
        "    pilot.json: application.deadline_s: 600.0 -> 60.0",
        "    pilot.json: application.batch_size: 4 -> 2",
        "  project.index: nothing -> new",
        "checks: 3 of 11 differ",
        "  results.complete: failed -> passed",
        "  memory.headroom: added, passed",
        "  failures.exit: removed, was passed",
    ]


def test_a_trial_compared_with_itself_differs_in_nothing(trials: Command, tmp_path: Path) -> None:
    closed(tmp_path, NAME, factors=factors())
    _, out, _ = trials("diff", "latest", tmp_path / NAME, "--reports", tmp_path)
    assert out.splitlines()[1:] == [
        "decision: go (both)",
        "factors: none changed",
        "checks: none of 11 differ",
    ]


def test_a_file_that_means_the_same_in_other_bytes_is_said_so(trials: Command, tmp_path: Path) -> None:
    closed(tmp_path, EARLIER, factors=factors())
    closed(tmp_path, NAME, factors=factors(parameters="bbb"))
    _, out, _ = trials("diff", EARLIER, NAME, "--reports", tmp_path)
    assert "    pilot.json: other bytes, the same meaning" in out.splitlines()


def test_another_order_is_shown_key_by_key(trials: Command, tmp_path: Path) -> None:
    for name, days in ((EARLIER, 3), (NAME, 7)):
        order = Order(card=None, lots=1, cards=1, days=days, preparation="PyTorch")  # type: ignore[arg-type]
        closed(tmp_path, name, factors=factors(order=f"sum of {days}"), order=order)
    _, out, _ = trials("diff", EARLIER, NAME, "--reports", tmp_path)
    assert "    order.json: days: 3 -> 7" in out.splitlines()


def test_an_interrupted_trial_is_compared_as_far_as_it_got(trials: Command, tmp_path: Path) -> None:
    closed(tmp_path, EARLIER, factors=factors())
    (closed(tmp_path, NAME, factors=factors(parameters="bbb")) / "verdict.json").unlink()
    status, out, _ = trials("diff", EARLIER, NAME, "--reports", tmp_path)
    assert (status, out.splitlines()[1]) == (0, "decision: go -> interrupted")
    assert "  project.parameters: aaa -> bbb" in out.splitlines()
    assert out.splitlines()[-1].startswith("checks: not compared")


@pytest.mark.parametrize("file", ["verdict.json", "report.html"])
def test_a_trial_that_was_altered_is_said_and_ends_with_10(
    file: str, trials: Command, tmp_path: Path
) -> None:
    closed(tmp_path, EARLIER)
    with (closed(tmp_path, NAME) / file).open("a") as stream:
        stream.write("\n")
    for arguments in (("diff", EARLIER, NAME), ("show", NAME)):
        status, out, err = trials(*arguments, "--reports", tmp_path)
        assert (status, f"{file}: altered" in err, bool(out)) == (10, True, True)
    assert trials("show", EARLIER, "--reports", tmp_path)[0] == 0


@pytest.mark.parametrize(
    "record",
    [b"", b"[]", b'{"schema": "gpu-pilot/trial/2"}', b'{"schema": "gpu-pilot/trial/1", "factors": []}'],
)
def test_a_record_that_cannot_be_read_is_named(record: bytes, trials: Command, tmp_path: Path) -> None:
    closed(tmp_path, EARLIER)
    (closed(tmp_path, NAME) / "trial.json").write_bytes(record)
    status, out, err = trials("diff", EARLIER, NAME, "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert "trial.json" in err


def test_checks_that_are_none_are_named(trials: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    (path / "verdict.json").write_text(json.dumps({"schema": "gpu-pilot/verdict/1", "criteria": [1]}))
    assert trials("diff", NAME, NAME, "--reports", tmp_path)[0] == 4
