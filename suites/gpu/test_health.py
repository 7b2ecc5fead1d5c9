"""Are the cards as well after the pilot as they were before it?"""

from __future__ import annotations

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import Health
from fixtures.evidence.models import Inventory
from fixtures.evidence.rules import counted
from plugins.catalogue.diagnosis import Diagnosis
from plugins.criteria import check
from plugins.criteria import Claims


def _same(state: CardState) -> tuple[str, str | int | None]:
    """By what a card is known before and after, by one and the same source."""
    return state.source, state.uuid or state.pci or state.index


def _answers(state: CardState) -> bool:
    """Whether a card told anything of itself: one that is lost may still be counted, and every question then fails."""
    where = {"source", "index", "pci", "unreadable", "lines"}
    return any(value is not None for name, value in state if name not in where)


@check(
    "launch.health", on_failure="reconfigure", change="the machine: its card is damaged", scopes=("rental",)
)
def test_no_counter_of_damage_has_grown_while_the_pilot_ran(
    inventory: Inventory, health: Health, machine: Diagnosis, claim: Claims
) -> None:
    """A counter that cannot be read is not zero: it is named among what cannot be seen."""
    cards, faults = len(inventory.cards), machine.since(health)
    states = [state for state in inventory.states if _answers(state)]
    after = [state for state in health.after if _answers(state)]
    if not (states or after or faults):
        claim.not_reached(
            "health of the cards", "neither a library nor the kernel's files told anything of them"
        )
    before = {_same(state): state.errors_uncorrected for state in states}
    grown = [
        f"{state.name or state.pci or state.index}: {state.errors_uncorrected} uncorrected memory errors, "
        f"{'an unknown number' if (held := before.get(_same(state))) is None else held} before"
        for state in after
        if state.errors_uncorrected is not None and state.errors_uncorrected > (before.get(_same(state)) or 0)
    ]
    lost = len(states) > len(after)
    told = [state for state in after if state.errors_uncorrected is not None]
    claim(
        not grown and not lost,
        required=f"{counted(cards, 'card')} that can be read, no new uncorrected error, nothing in the kernel's log",
        found="; ".join(grown)
        or (f"{len(after)} of {len(states)} cards answer after the pilot" if lost else "")
        or f"{counted(len(after), 'card')} read; the errors of {len(told)} of them are counted, and none is new",
        advice="run the pilot once more: the same again means another machine" if grown else None,
        faults=faults,
    )
