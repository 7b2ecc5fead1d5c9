"""What the signatures look at: everything that was recorded of one machine, with unknowns left unknown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import Driver
from fixtures.evidence.ladder import Health
from fixtures.evidence.ladder import HostSeen
from fixtures.evidence.ladder import KernelEvent
from fixtures.evidence.ladder import Said
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.order import Order

NO_DRIVER, NO_HOST = Driver(), HostSeen()


@dataclass(frozen=True)
class Seen:
    """One machine. `health` is what was read after the pilot, where there was one already."""

    inventory: Inventory
    launch: Launch
    order: Order | None = None
    health: Health | None = None

    @property
    def in_charge(self) -> bool | None:
        """Root, and not in a container; None where neither is known."""
        host = self.launch.host
        container = self.inventory.host.container or (host.container if host else None)
        if container:
            return False
        return host.root if host else None

    @property
    def driver(self) -> Driver:
        """All unknown where no probe looked."""
        return self.launch.driver or NO_DRIVER

    @property
    def host(self) -> HostSeen:
        return self.launch.host or NO_HOST

    @property
    def variables(self) -> dict[str, str | None]:
        """Those set; their values where they may be shown."""
        return self.launch.variables or {}

    @cached_property
    def said(self) -> list[Said]:
        """Every error and warning, those with which steps ended first in their place of the ladder."""
        ended = [
            Said(step=step.name, source="the probe", text=step.error)
            for step in self.launch.steps
            if step.error
        ]
        return [*ended, *self.launch.said]

    @cached_property
    def states(self) -> list[CardState]:
        """The cards as every source showed them, before the pilot and after it."""
        after = self.health.after if self.health else []
        return [*self.inventory.states, *self.launch.states, *after]

    @cached_property
    def events(self) -> list[KernelEvent]:
        """What the kernel's log says, wherever it was read; the same line once."""
        logs = [
            self.inventory.kernel_log,
            self.host.kernel_log,
            self.health.kernel_log if self.health else None,
        ]
        found = [event for log in logs if log for event in log.events]
        return list({event.text: event for event in found}.values())

    @property
    def architectures(self) -> list[str]:
        """Of the cards, as torch or a witness has them: 9.0, gfx942; [] where unknown."""
        by_torch = [device.capability for device in self.launch.devices if device.capability]
        return by_torch or [state.architecture for state in self.states if state.architecture]
