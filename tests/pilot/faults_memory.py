"""Faults of memory: what the application takes of a card, and what the pilot says nothing about."""

from __future__ import annotations

from tests.pilot.bench import Change
from tests.pilot.entries import all_of
from tests.pilot.entries import cards
from tests.pilot.entries import Fault
from tests.pilot.entries import limits
from tests.pilot.entries import ORDERED
from tests.pilot.entries import stub
from tests.pilot.entries import told
from tests.pilot.entries import Twin

PEAK, LONGEST, PLACED = "memory.card_peak", "memory.longest_document", "memory.not_offloaded"
#: as transformers prints it
META = "Some parameters are on the meta device because they were offloaded to the cpu."
#: of the 134,468 MiB that each pretended card has
TOO_MUCH, JUST_FITS = "130000", "125000"


def _on_a_card(*changes: Change, **variables: str) -> Change:
    return all_of(cards(ORDERED), stub(**variables), *changes)


def _planned(longest: int) -> Change:
    return lambda bench: bench.parameters.update(planned={"documents": 50_000, "longest_bytes": longest})


FAULTS = [
    Fault("a-peak-too-near-the-end-of-the-card", _on_a_card(STUB_OWN_MIB=TOO_MUCH), PEAK,
        ("at most 95% of its memory", "card 0 NVIDIA H200: peak 127.34 GiB of 131.32 GiB"), device="cuda",
        twin="a-peak-that-just-fits"),
    Fault("a-peak-too-near-with-one-at-a-time", _on_a_card(limits(batch_size=1), STUB_OWN_MIB=TOO_MUCH), PEAK,
        ("at most 95% of its memory",), device="cuda", decision="reconfigure", twin="a-peak-that-just-fits"),
    Fault("somebody-else-is-on-the-card", _on_a_card(limits(batch_size=1), STUB_BEFORE_MIB=TOO_MUCH), PEAK,
        ("126.95 GiB before the start",), device="cuda", twin="a-peak-that-just-fits"),
    Fault("a-longer-document-is-planned", _planned(400_000), LONGEST,
        ("at least 400000 bytes", "the longest is doc-11", "nothing is covered"),
        twin="the-longest-document-is-there"),
    Fault("a-part-of-the-model-is-offloaded",
        _on_a_card(told("alters_and_prints", "{}", META)),
        PLACED, ("it printed: Some parameters are on the meta device",), device="cuda", twin="states-its-card"),
]  # fmt: skip

TWINS = [
    Twin("a-peak-that-just-fits", _on_a_card(limits(batch_size=1), STUB_OWN_MIB=JUST_FITS), device="cuda"),
    Twin("the-longest-document-is-there", _planned(2_000)),
]  # fmt: skip
