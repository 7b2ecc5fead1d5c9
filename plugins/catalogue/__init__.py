"""The catalogue of faults: what a machine that cannot run the application shows, what it means, what to change.

Data: one entry a fault, in the module of its kind. A new fault is one entry there and one recorded machine in
data/machines/. Where none matches, nothing is guessed.
"""

from __future__ import annotations

from fixtures.evidence.models import StepName
from fixtures.evidence.models import STEPS
from plugins.catalogue import driver
from plugins.catalogue import extensions
from plugins.catalogue import health
from plugins.catalogue import memory
from plugins.catalogue import numerics
from plugins.catalogue import order
from plugins.catalogue import rocm
from plugins.catalogue import several_cards
from plugins.catalogue import storage
from plugins.catalogue import torch_build
from plugins.catalogue.fault import Answer as Answer
from plugins.catalogue.fault import Fault as Fault
from plugins.catalogue.fault import Match as Match
from plugins.catalogue.seen import Seen as Seen

#: by the order of the ladder, and within a rung as written: the more special before the more general
_ALL = [
    *health.FAULTS,
    *order.FAULTS,
    *driver.FAULTS,
    *torch_build.FAULTS,
    *rocm.FAULTS,
    *extensions.FAULTS,
    *several_cards.FAULTS,
    *numerics.FAULTS,
    *memory.FAULTS,
    *storage.FAULTS,
]
CATALOGUE: tuple[Fault, ...] = tuple(sorted(_ALL, key=lambda fault: STEPS.index(fault.step)))


#: the check that a fault makes fail unless it names another
OF_THE_RUNG: dict[StepName, str] = {
    "interpreter": "launch.interpreter",
    "environment": "launch.environment",
    "driver": "launch.driver",
    "import": "launch.torch_imports",
    "device": "launch.device",
    "compute": "launch.compute",
    "extensions": "launch.extensions",
    "host": "launch.host",
}


def matches(seen: Seen) -> list[Match]:
    """Every fault that the machine shows, first in ladder order first."""
    found = [(fault, fault.signature(seen)) for fault in CATALOGUE]
    return [Match(fault, lines) for fault, lines in found if lines]


def check_of(fault: Fault) -> str:
    """The id of the check that it makes fail."""
    return fault.check or OF_THE_RUNG[fault.step]
