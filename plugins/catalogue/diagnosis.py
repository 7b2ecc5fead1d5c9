"""The catalogue held against one machine, as the checks of the launch ask it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import pytest

from fixtures.evidence.ladder import Health
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.trial import Trial
from plugins.catalogue import check_of
from plugins.catalogue import Match
from plugins.catalogue import matches
from plugins.catalogue import Seen
from plugins.verdict_file import Fault as Shown

#: of the lines on which a match rests, and of each
MOST_LINES, MOST_CHARACTERS = 6, 500


@dataclass(frozen=True)
class Diagnosis:
    """One machine, and every fault of the catalogue that it shows."""

    seen: Seen

    @cached_property
    def matches(self) -> list[Match]:
        return matches(self.seen)

    def of(self, check: str) -> list[Shown]:
        """The faults that make this check fail or, where they do not block, that it speaks of.

        A check of one card, `launch.compute[cuda-1]`, is not concerned by lines that name other cards alone.
        """
        name, _, parameter = check.partition("[")
        card = f"cuda:{parameter.rstrip(']').rpartition('-')[2]}" if parameter else None
        own = [match for match in self.matches if check_of(match.fault) == name and _concerns(match, card)]
        return [_shown(match, self.seen) for match in own]

    def known(self, check: str, step: str, *, holds: bool) -> list[Shown]:
        """What stands behind a check: the faults that make it fail or, where it fails by itself and there is none of
        these, what blocks on its rung."""
        own = self.of(check)
        if own or holds:
            return own
        rest = [match for match in self.matches if match.fault.step == step and match.fault.blocks]
        return [_shown(match, self.seen) for match in rest]

    def since(self, health: Health) -> list[Shown]:
        """The faults that show only with what was read after the pilot."""
        later = Seen(self.seen.inventory, self.seen.launch, self.seen.order, health)
        before = {match.fault.id for match in self.matches}
        return [_shown(match, later) for match in matches(later) if match.fault.id not in before]


def _concerns(match: Match, card: str | None) -> bool:
    named = {name for line in match.lines for name in re.findall(r"cuda:\d+", line)}
    return card is None or not named or card in named


def _shown(match: Match, seen: Seen) -> Shown:
    fault, answer = match.fault, match.fault.answer(seen)
    return Shown(
        id=fault.id,
        step=fault.step,
        cause=fault.cause,
        decision=answer.decision,
        change=answer.change,
        confirm=fault.confirm,
        source=fault.source,
        blocks=fault.blocks,
        lines=[line[:MOST_CHARACTERS] for line in match.lines[:MOST_LINES]],
    )


@pytest.fixture(scope="session")
def machine(inventory: Inventory, launch: Launch, trial: Trial) -> Diagnosis:
    """The machine as it was before the pilot, with the catalogue of faults held against it."""
    return Diagnosis(Seen(inventory, launch, trial.record.order if trial.record.scope == "rental" else None))
