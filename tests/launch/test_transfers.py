"""Copies between the host and cards, with a torch of straw whose memory is bytes."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.evidence.ladder import Said
from fixtures.evidence.ladder import Transfer
from fixtures.probe import children
from fixtures.probe import lines as lining
from fixtures.probe import transfers

#: (source, target, bytes as they are sent) -> bytes that arrive, None for nothing at all
Wire = Callable[[str, str, bytes], "bytes | None"]
CARDS = ["cuda:0", "cuda:1", "cuda:2"]


class Memory:
    """A tensor of bytes somewhere."""

    def __init__(self, torch: Straw, data: bytes | bytearray, device: str) -> None:
        self.torch, self.data, self.device, self.pinned = torch, bytearray(data), device, False

    def view(self, dtype: str) -> Memory:
        return self

    def __getitem__(self, part: slice) -> Memory:
        return Memory(self.torch, self.data[part], self.device)

    def clone(self) -> Memory:
        return Memory(self.torch, self.data, self.device)

    def pin_memory(self) -> Memory:
        if not self.torch.may_pin:
            raise RuntimeError("CUDA error: out of memory")
        self.pinned = True
        return self

    def copy_(self, source: Memory) -> Memory:
        self.torch.copied.append((source.device, self.device, source.pinned or self.pinned))
        arrived = self.torch.wire(source.device, self.device, bytes(source.data))
        if arrived is not None:
            self.data[:] = arrived
        return self


class Straw:
    """A torch with cards whose copies go over `wire`."""

    uint8, int64 = "uint8", "int64"

    def __init__(self, wire: Wire = lambda source, target, data: data, may_pin: bool = True) -> None:
        self.wire, self.may_pin = wire, may_pin
        self.copied: list[tuple[str, str, bool]] = []
        self.cuda = self

    def Generator(self, device: str) -> Straw:
        return self

    def manual_seed(self, seed: int) -> random.Random:
        return random.Random(seed)

    def randint(self, low: int, high: int, shape: tuple[int], generator: random.Random, dtype: str) -> Memory:
        return Memory(self, generator.randbytes(8 * shape[0]), "host")

    def zeros(self, size: int, dtype: str, device: str = "host") -> Memory:
        return Memory(self, bytes(size), device)

    def equal(self, one: Memory, other: Memory) -> bool:
        return one.data == other.data

    def synchronize(self, device: str) -> None:
        assert device.startswith("cuda:")


class Written(lining.Lines):
    """Lines that are kept instead of written, as the models that they must be."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.transfers: list[Transfer] = []
        self.told: list[Said] = []

    def _write(self, line: dict[str, Any]) -> None:
        ((name, value),) = line["add"].items()
        if name == "said":
            self.told.append(Said.model_validate(value))
        else:
            assert name == "transfers"
            self.transfers.append(Transfer.model_validate(value))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "SIZES", (97, 1024, 4096))


def copied(torch: Straw, devices: list[str] = CARDS) -> list[Transfer]:
    written = Written()
    transfers.between(written, torch, devices)
    return written.transfers


def ways(found: list[Transfer]) -> set[tuple[str, str]]:
    return {(one.source, one.target) for one in found}


def test_every_card_and_every_ordered_pair_of_cards_is_exact_in_every_size() -> None:
    found = copied(Straw())
    pairs = {(one, other) for one in CARDS for other in CARDS if one != other}
    assert ways(found) == {("host", card) for card in CARDS} | pairs
    assert {one.bytes for one in found if one.source == "host"} == set(transfers.SIZES)
    assert {one.bytes for one in found if one.source != "host"} == set(transfers.SIZES)
    assert len(found) == (3 + 6) * 3
    assert all(one.exact is True and one.error is None and one.seconds is not None for one in found)


def test_a_card_alone_has_copies_from_the_host_only_and_the_cpu_has_none() -> None:
    assert ways(copied(Straw(), ["cuda:0"])) == {("host", "cuda:0")}
    assert copied(Straw(), ["cpu"]) == []


def test_what_is_sent_is_copied_from_card_to_card_without_the_host_between() -> None:
    torch = Straw()
    copied(torch)
    assert {("cuda:1", "cuda:2"), ("cuda:2", "cuda:1")} <= {
        (source, target) for source, target, _ in torch.copied
    }


@pytest.mark.parametrize(
    "arrives",
    [
        lambda data: bytes(len(data)),
        lambda data: None,
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data[64:] + data[:64],
        lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    ],
    ids=["zeros", "nothing", "one bit", "moved", "half"],
)
def test_one_bad_way_between_cards_is_that_way_alone(arrives: Callable[[bytes], bytes | None]) -> None:
    """MGP-02: every call succeeds."""

    def wire(source: str, target: str, data: bytes) -> bytes | None:
        return arrives(data) if (source, target) == ("cuda:2", "cuda:0") else data

    found = copied(Straw(wire))
    assert ways([one for one in found if one.exact is False]) == {("cuda:2", "cuda:0")}
    assert all(one.exact for one in found if (one.source, one.target) != ("cuda:2", "cuda:0"))


@pytest.mark.parametrize("way", [("host", "cuda:1"), ("cuda:1", "host")], ids=["there", "back"])
def test_a_bad_way_to_a_card_or_back_is_not_exact(way: tuple[str, str]) -> None:
    found = copied(Straw(lambda source, target, data: bytes(len(data)) if (source, target) == way else data))
    assert {one.exact for one in found if (one.source, one.target) == ("host", "cuda:1")} == {False}
    assert {one.exact for one in found if (one.source, one.target) == ("host", "cuda:0")} == {True}


def test_a_large_copy_alone_can_be_wrong() -> None:
    found = copied(Straw(lambda source, target, data: data if len(data) < 4096 else bytes(len(data))))
    assert {one.bytes for one in found if one.exact is False} == {4096}
    assert {one.bytes for one in found if one.exact} == {97, 1024}


def test_a_way_that_raises_is_told_once_and_the_others_are_still_tried() -> None:
    def wire(source: str, target: str, data: bytes) -> bytes:
        if (source, target) == ("cuda:0", "cuda:1"):
            raise RuntimeError("CUDA error 217: peer access is not supported between these two devices")
        return data

    written = Written()
    transfers.between(written, Straw(wire), CARDS)
    text = "RuntimeError: CUDA error 217: peer access is not supported between these two devices"
    bad = [one for one in written.transfers if one.exact is not True]
    assert [(one.source, one.target, one.exact, one.error) for one in bad] == [
        ("cuda:0", "cuda:1", None, text)
    ] * 3
    assert len(written.transfers) == 27
    assert [(one.text, one.number) for one in written.told] == [(f"cuda:0 to cuda:1: {text}", 217)]


def test_the_seconds_are_those_of_the_copy_from_source_to_target(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    watch = SimpleNamespace(perf_counter=lambda: clock[0], monotonic=time.monotonic)
    monkeypatch.setattr("fixtures.probe.transfers.time", watch)
    lasts = {("host", "cuda:0"): 1.0, ("cuda:0", "cuda:1"): 100.0, ("cuda:1", "host"): 10000.0}

    def wire(source: str, target: str, data: bytes) -> bytes:
        clock[0] += lasts.get((source, target), 0.0)
        return data

    found = {(one.source, one.target): one.seconds for one in copied(Straw(wire), ["cuda:0", "cuda:1"])}
    assert found[("cuda:0", "cuda:1")] == 100
    assert found[("host", "cuda:0")] == 1
    assert (found[("host", "cuda:1")], found[("cuda:1", "cuda:0")]) == (0, 0)


def test_even_sizes_are_in_pinned_memory_and_without_it_all_is_copied_as_well() -> None:
    torch, without = Straw(), Straw(may_pin=False)
    copied(torch, ["cuda:0"])
    assert [pinned for source, _, pinned in torch.copied if source == "host"] == [False, True, True]
    found = copied(without, ["cuda:0"])
    assert {pinned for _, _, pinned in without.copied} == {False}
    assert [one.exact for one in found] == [True] * 3


def test_with_many_cards_every_pair_is_tried_and_only_small() -> None:
    cards = [f"cuda:{number}" for number in range(transfers.MANY)]
    planned = transfers.plan(cards)
    pairs = [one for one in planned if one.source != "host"]
    assert len({(one.source, one.target) for one in pairs}) == transfers.MANY * (transfers.MANY - 1)
    assert {one.bytes for one in pairs} == {97, 1024}
    assert {one.bytes for one in planned if one.source == "host"} == {97, 1024, 4096}


def test_what_there_is_no_time_for_is_added_as_not_tried() -> None:
    written = Written()
    transfers.between(written, Straw(), CARDS, seconds=0)
    assert len(written.transfers) == 27
    assert {(one.exact, one.error) for one in written.transfers} == {(None, "not tried: the others took 0 s")}


def _until_killed() -> None:
    time.sleep(600)


@pytest.mark.parametrize(
    ("fault", "error"),
    [(lambda: os.kill(os.getpid(), 11), "killed by SIGSEGV"), (_until_killed, "no end within 0.2 s")],
    ids=["crash", "hang"],
)
def test_the_copy_that_crashed_or_hung_is_told_by_the_parent(
    fault: Callable[[], None], error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MGP-01: a copy between cards that never ends."""

    def wire(source: str, target: str, data: bytes) -> bytes:
        if (source, target) == ("cuda:1", "cuda:0"):
            fault()
        return data

    monkeypatch.setattr(transfers, "COPY_S", 0.2)
    written = Written()
    child = children.fork(transfers.between, written, Straw(wire), ["cuda:0", "cuda:1"], deadline=60)
    child.wait()
    transfers.lost(written, child)
    (one,) = written.transfers
    assert (one.source, one.target, one.bytes, one.exact) == ("cuda:1", "cuda:0", 97, None)
    assert str(one.error).startswith(error)
    assert [said.text for said in written.told] == [f"cuda:1 to cuda:0: {one.error}"]


def test_a_child_that_ended_well_has_lost_nothing() -> None:
    written = Written()
    child = children.fork(transfers.between, written, Straw(), CARDS, deadline=60)
    assert child.wait().status == "ok"
    transfers.lost(written, child)
    assert (written.transfers, written.told) == ([], [])
