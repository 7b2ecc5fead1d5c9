"""The catalogue of faults: what a machine that cannot run the application shows, what it means, what to change.

Data: one entry a fault, in the module of its kind. A new fault is one entry there and one recorded machine in
data/machines/. Where none matches, nothing is guessed.
"""

from __future__ import annotations

from fixtures.evidence.models import STEPS
from plugins.catalogue import driver
from plugins.catalogue.fault import Answer as Answer
from plugins.catalogue.fault import Fault as Fault
from plugins.catalogue.fault import Match as Match
from plugins.catalogue.seen import Seen as Seen

#: by the order of the ladder, and within a rung as written: the more special before the more general
CATALOGUE: tuple[Fault, ...] = tuple(sorted([*driver.FAULTS], key=lambda fault: STEPS.index(fault.step)))


def matches(seen: Seen) -> list[Match]:
    """Every fault that the machine shows, first in ladder order first."""
    found = [(fault, fault.signature(seen)) for fault in CATALOGUE]
    return [Match(fault, lines) for fault, lines in found if lines]
