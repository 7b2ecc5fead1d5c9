"""What an entry of the catalogue is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixtures.evidence.models import StepName
from plugins.catalogue.seen import Seen

if TYPE_CHECKING:  # for an annotation alone, and diagnose is to start soon
    from plugins.verdict_file import FailureDecision

#: the lines of evidence on which a match rests, as a person would quote them; none: no match
Signature = Callable[[Seen], list[str]]


@dataclass(frozen=True)
class Answer:
    """What a fault means to whoever can or cannot change the machine, and the one thing to change."""

    decision: FailureDecision
    change: str


@dataclass(frozen=True)
class Fault:
    """One fault, known by what it leaves behind.

    Attributes:
        id: as in the catalogue that it came from, DRV-02; stable.
        step: the rung of the ladder where it shows.
        signature: over what was recorded. Numbers rather than texts, texts tolerant of case, spacing and release.
        cause: one sentence.
        root, container: what it means with root on a machine, and inside a container (or without root).
        confirm: how to see that it is this one.
        source: where it is described.
        blocks: whether the planned volume must not be launched; otherwise it is an advisory.
        check: which check it makes fail, where that is not the one of the rung itself.
    """

    id: str
    step: StepName
    signature: Signature
    cause: str
    root: Answer
    container: Answer
    confirm: str
    source: str
    blocks: bool = True
    check: str | None = None

    def answer(self, seen: Seen) -> Answer:
        """The one for the place where it was seen; where that is not known, the one for who cannot change it."""
        return self.root if seen.in_charge else self.container


@dataclass(frozen=True)
class Match:
    fault: Fault
    lines: list[str]
