"""A recorded healthy machine with something else about it, for signatures to look at."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

from fixtures.evidence.ladder import Health
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.order import Order
from plugins.catalogue import CATALOGUE
from plugins.catalogue import Seen
from tests.machines import records
from tests.machines.records import Recorded

Patch = dict[str, Any]


def machine(
    base: str = "h100-sxm",
    place: str = "root",
    *,
    launch: Patch | None = None,
    inventory: Patch | None = None,
    health: Patch | None = None,
) -> Seen:
    """The machine `base`, with these merged into its evidence; lists are replaced whole."""
    healthy = recorded(base, place)
    return Seen(
        Inventory.model_validate_json(
            json.dumps(records.merged(healthy.evidence["inventory"], inventory or {}))
        ),
        Launch.model_validate_json(json.dumps(records.merged(healthy.evidence["launch"], launch or {}))),
        Order.model_validate_json(json.dumps(healthy.order)),
        Health.model_validate_json(json.dumps(health)) if health else None,
    )


@functools.cache
def recorded(base: str, place: str) -> Recorded:
    """Read once; what is made of it is a copy."""
    return records.machine(base, place)


def evidence(base: str, *path: str) -> Any:
    """A copy of what stands there in the record, as `evidence("b200", "launch", "computations")`."""
    found: Any = recorded(base, "root").evidence
    for name in path:
        found = found[name]
    return copy.deepcopy(found)


def states(base: str, **facts: Any) -> dict[str, Patch]:
    """For `machine`: every account of the first card says `facts`."""
    patch: dict[str, Patch] = {}
    for where in ("inventory", "launch"):
        found = evidence(base, where, "states")
        patch[where] = {"states": [one | facts if one.get("index") == 0 else one for one in found]}
    return patch


def saying(text: str, step: str = "application", **number: Any) -> Patch:
    """For `launch`: one thing that was said."""
    return {"said": [{"step": step, "source": "a test", "text": text, **number}]}


def failing(name: str, error: str | None, ended: str | None = None) -> Patch:
    """For `launch`: one extension that did not do what was asked."""
    one = {"name": name, "module": name, "version": None, "imported": False, "operation": None, "ran": False}
    return {"extensions": [{**one, "error": error, "ended": ended, "seconds": 1.0}]}


def host(**facts: Any) -> Patch:
    """For `launch`: what was seen of the host."""
    return {"host": facts}


def places(base: str = "h100-sxm", *roles: str, **facts: Any) -> Patch:
    """For `launch`: the places in `roles` say `facts`."""
    found = evidence(base, "launch", "host", "places")
    return host(places=[one | facts if one["role"] in roles else one for one in found])


def logged(*numbers: int, pci: str = "0000:53:00") -> Patch:
    """For `inventory`: a kernel's log with these Xids."""
    events = [
        {"kind": "xid", "number": number, "pci": pci, "text": f"NVRM: Xid (PCI:{pci}): {number}, pid=1"}
        for number in numbers
    ]
    return {"kernel_log": {"error": None, "events": events}}


def named(seen: Seen) -> list[str]:
    """The ids of what the machine shows, first in ladder order first."""
    return [fault.id for fault in CATALOGUE if fault.signature(seen)]


def lines(id: str, seen: Seen) -> list[str]:
    """On what that entry rests; [] where it does not match."""
    (fault,) = (one for one in CATALOGUE if one.id == id)
    return fault.signature(seen)
