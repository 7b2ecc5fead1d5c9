"""The catalogue's word on what was given, or the first error as it is. Judging only: nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fixtures.evidence.models import STEPS
from fixtures.readings.reading import Reading
from plugins.catalogue import Answer
from plugins.catalogue import Match
from plugins.catalogue import matches
from plugins.catalogue import Seen
from plugins.diagnose import evidence
from plugins.diagnose.evidence import Place

UNKNOWN = Answer("fix", "what the first error says: no entry of the catalogue matches, so nothing is guessed")
#: figures that a card fails to give for a moment, alone
_PASSING = {"power_w", "power_limit_w", "temperature_c", "utilisation"}
#: kernel events that are errors by themselves, and what makes one of the others such
_EVENTS = ("xid", "fell_off", "xgmi", "ras", "oom_kill")
_ERROR = re.compile(
    r"gpu reset begin|rm_?init_?adapter failed|probe routine failed|gpu is lost|requires reset|api mismatch"
    r"|no nvidia gpu found|version magic|timed ?out|timeout|\bmes (?:failed|might)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Error:
    """One thing that was said to be wrong, as it was said."""

    step: str
    text: str


@dataclass(frozen=True)
class Judged:
    """`faults` in ladder order. `errors` are all, `place` where they were seen."""

    seen: Seen
    faults: list[Match]
    errors: list[Error]
    place: Place | None

    @property
    def leading(self) -> Match | None:
        """The first that blocks, or else the first by which something has already failed: what it said was an error."""
        said = {_flat(one.text) for one in self.seen.launch.said if not evidence.is_warning(one)}
        failed = (one for one in self.faults if any(_flat(line) in said for line in one.lines))
        return next((match for match in self.faults if match.fault.blocks), next(failed, None))

    @property
    def others(self) -> list[Error]:
        """Errors on which no fault rests."""
        shown = [_flat(line) for match in self.faults for line in match.lines]
        return [
            one
            for one in self.errors
            if not any(_flat(one.text) in line or line in _flat(one.text) for line in shown)
        ]

    @property
    def step(self) -> str | None:
        if self.leading:
            return self.leading.fault.step
        return self.others[0].step if self.others else None

    @property
    def first_error(self) -> str | None:
        """Of a fault what was said of it first, else the fact on which it rests."""
        if not self.leading:
            return self.others[0].text if self.others else None
        lines = self.leading.lines
        said = {_flat(one.text): one.text for one in self.errors}
        return next((line for line in lines if _flat(line) in said), lines[0])

    def answers(self) -> dict[Place, Answer] | None:
        """What it means in each place that it can be in; None where nothing is wrong."""
        both: dict[Place, Answer]
        if self.leading:
            both = {"root": self.leading.fault.root, "container": self.leading.fault.container}
        elif self.others:
            both = {"root": UNKNOWN, "container": UNKNOWN}
        else:
            return None
        return {self.place: both[self.place]} if self.place else both

    @property
    def answer(self) -> Answer | None:
        """The one for the place; where that is not known, the one for who cannot change the machine."""
        answers = self.answers()
        return answers[self.place or "container"] if answers else None


def judge(readings: Sequence[Reading], place: Place | None = None) -> Judged:
    seen = evidence.seen(readings, place)
    return Judged(seen, matches(seen), _errors(seen), place)


def _errors(seen: Seen) -> list[Error]:
    """Lowest rung first: what was said, what could not be read of a card, what the kernel logged."""
    found = [Error(one.step, one.text) for one in seen.launch.said if not evidence.is_warning(one)]
    for state in seen.states:
        for field, text in state.unreadable.items() if set(state.unreadable) - _PASSING else ():
            which = state.source if state.index is None else f"{state.source}, card {state.index}"
            found.append(Error("host", f"{which}: {state.lines.get(field, f'{field}: {text}').strip()}"))
    found += [
        Error("host", event.text)
        for event in seen.events
        if event.kind in _EVENTS or (event.kind == "other" and _ERROR.search(event.text))
    ]
    return sorted(
        dict.fromkeys(found), key=lambda one: STEPS.index(one.step) if one.step in STEPS else len(STEPS)
    )


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()
