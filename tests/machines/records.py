"""data/machines/: recorded machines, healthy ones and one for each fault of the catalogue.

A record is a machine with root; `container` is the merge patch that makes it the same in a container, and a fault is
a merge patch on a healthy machine: objects are merged key by key, everything else replaces.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.evidence import jsons
from fixtures.evidence.ladder import Health
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.order import Order
from plugins.catalogue import Seen

MACHINES = Path(__file__).resolve().parents[2] / "data" / "machines"
PLACES = ("root", "container")
#: the pieces of evidence that a record has
EVIDENCE = ("inventory", "launch", "health")


@dataclass(frozen=True)
class Recorded:
    """One machine in one place. `expected` is None for a healthy one."""

    name: str
    place: str
    fault: str | None
    order: dict[str, Any]
    evidence: dict[str, dict[str, Any]]
    expected: dict[str, Any] | None

    @functools.cached_property
    def seen(self) -> Seen:
        """As the models have it.

        Raises:
            pydantic.ValidationError: the record does not fit them.
        """
        health = self.evidence.get("health")
        return Seen(
            _as(Inventory, self.evidence["inventory"]),
            _as(Launch, self.evidence["launch"]),
            _as(Order, self.order),
            _as(Health, health) if health else None,
        )

    def __str__(self) -> str:
        return f"{self.name}-{self.place}"


def healthy() -> list[Recorded]:
    return [machine(path.stem, place) for path in _files("healthy") for place in PLACES]


def faulty() -> list[Recorded]:
    """Every recorded fault, in each of the places where it can be."""
    return [fault(path, place) for path in _files("faults") for place in _places(path)]


def told_apart() -> list[Recorded]:
    """Every recorded fault, in both places where they make a difference and else in one of them, in turn."""
    chosen = []
    for number, path in enumerate(_files("faults")):
        places, wanted = _places(path), load(path)["expected"]
        same = len({json.dumps(wanted[place], sort_keys=True) for place in places}) == 1
        chosen += [fault(path, place) for place in ([places[number % len(places)]] if same else places)]
    return chosen


def _places(path: Path) -> list[str]:
    return list(load(path).get("places", PLACES))


@functools.cache
def machine(name: str, place: str) -> Recorded:
    record = load(MACHINES / "healthy" / f"{name}.json")
    evidence = {one: record[one] for one in EVIDENCE if one in record}
    if place == "container":
        evidence = merged(evidence, record["container"])
    return Recorded(name, place, None, record["order"], evidence, None)


@functools.cache
def fault(path: Path, place: str) -> Recorded:
    record = load(path)
    base = machine(record["based_on"], place)
    patch = {one: record[one] for one in EVIDENCE if one in record}
    wanted = record["expected"]
    expected = {key: value for key, value in wanted.items() if key not in PLACES} | wanted[place]
    return Recorded(
        path.stem,
        place,
        record["fault"],
        merged(base.order, record.get("order", {})),
        merged(base.evidence, patch),
        expected,
    )


def merged(target: Any, patch: Any) -> Any:
    """As RFC 7396 has it, but that null stays: a fact that is null is one that is not known."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    return result | {key: merged(result.get(key), value) for key, value in patch.items()}


@functools.cache
def load(path: Path) -> dict[str, Any]:
    """Read once; nobody changes it, and what is made of it shares its parts."""
    return jsons.parse(path.read_text(encoding="utf-8"))


def _files(kind: str) -> list[Path]:
    return sorted((MACHINES / kind).glob("*.json"))


def _as(model: Any, value: dict[str, Any]) -> Any:
    return model.model_validate_json(json.dumps(value))
