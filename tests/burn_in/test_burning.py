"""A burn-in of the processor, with the real torch: what is wrong once in a while is counted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures import burn_in
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.models import TorchDevice
from fixtures.probe import burn
from fixtures.probe.lines import Lines
from tests.instrument.making import until

torch = pytest.importorskip("torch")


def test_a_processor_is_burned_in_for_as_long_as_was_asked(tmp_path: Path) -> None:
    seen = burn_in.observe(sys.executable, ["cpu"], "float32", 0.01, tmp_path, tmp_path / "raw")
    (card,) = seen.cards
    assert (card.error, card.ended, card.unequal) == (None, None, 0)
    assert card.compared > 0
    assert card.held_bytes > 1 << 20
    assert card.thirds() is not None
    assert (card.alone or 0) > 0
    assert (card.memory_bandwidth, card.from_host) == (None, None)  # there is no link to a processor


@pytest.fixture
def stretch(tmp_path: Path) -> Any:
    """One stretch over small matrices, the products of which go through `spoil` from the second time on."""

    def run(spoil: Any) -> dict[str, Any]:
        factors = [torch.full((4, 4), float(number)) for number in (1, 2)]
        common = torch.ones(4, 4)
        first = [common @ factor for factor in factors]

        class Spoilt:
            device = "cpu"
            times = 0

            def __matmul__(self, factor: Any) -> Any:
                Spoilt.times += 1
                return spoil(common @ factor, Spoilt.times)

        out = os.open(tmp_path / "lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        burn._stretch(
            Lines(out),
            torch,
            "cpu",
            Spoilt(),
            factors,
            first,
            lambda: None,
            128.0,
            burn.time.monotonic(),
            0.02,
        )
        os.close(out)
        (line,) = (tmp_path / "lines").read_text().splitlines()
        rates: dict[str, Any] = json.loads(line)["add"]["rates"]
        return rates

    return run


def flipped(product: Any, times: int) -> Any:
    if times == 3:
        product[2, 1] += 2.0**-20
    return product


def test_what_is_always_the_same_is_equal(stretch: Any) -> None:
    seen = stretch(lambda product, times: product)
    assert (seen["unequal"], seen["products"] > 2) == (0, True)
    assert seen["operations"] == seen["products"] * 128.0


@pytest.mark.parametrize(
    ("spoil", "least"),
    [
        (flipped, 1),
        (lambda product, times: product * float("nan"), 2),
        (lambda product, times: torch.zeros_like(product), 2),
    ],
    ids=["one-bit-once", "nan", "zeros"],
)
def test_what_is_not_is_counted(spoil: Any, least: int, stretch: Any) -> None:
    seen = stretch(spoil)
    assert least <= seen["unequal"] <= seen["products"]
    assert spoil is not flipped or seen["unequal"] == 1


def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    seen = burn_in.observe("/nonexistent/python", ["cpu"], "float32", 0.01, tmp_path, tmp_path / "raw")
    assert seen.cards[0].ended == "No such file or directory: '/nonexistent/python'"
    assert seen.cards[0].rates == []


def test_a_device_that_is_not_there_fails_by_itself(tmp_path: Path) -> None:
    seen: BurnIn = burn_in.observe(
        sys.executable,
        ["cpu", "cuda:7"],
        "float32",
        0.01,
        tmp_path,
        tmp_path / "raw",
        cards=[TorchDevice(index=7, name="NVIDIA H200", memory_bytes=None, capability=None, uuid=None)],
    )
    processor, card = seen.cards
    assert (processor.name, card.name) == (None, "NVIDIA H200")
    assert (processor.error, processor.ended) == (None, None)  # it did its work
    assert processor.compared > 0
    assert (card.compared, card.thirds()) == (0, None)
    assert card.error


class Two:
    """Two cards as their library numbers them; torch sees the second alone, as its first."""

    unread = None

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted

    def loads(self) -> list[tuple[str | None, dict[str, Any]]]:
        return [("GPU-a", {"temperature_c": 30.0}), ("GPU-b", {"temperature_c": 70.0})]


@pytest.mark.parametrize(("places", "wanted"), [({"GPU-b": 0}, {0: 70.0}), ({}, {0: 30.0, 1: 70.0})])
def test_the_warmth_is_that_of_the_card_that_torch_means(
    places: dict[str, int], wanted: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(burn_in, "Cards", Two)
    monkeypatch.setattr(burn_in, "LOOK_S", 0.001)
    with burn_in._watched(["cuda:0"], places) as warmth:
        until(lambda: len(warmth) >= 2)
    assert {one.card: one.temperature_c for one in list(warmth)} == wanted
