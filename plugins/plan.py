"""The plan: every check of the suite as collected, before any selection. Runs where items are collected.

Under pytest-xdist the controlling process collects nothing, so the plan goes through a file of the trial.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.base import load
from fixtures.evidence.base import Model
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import STEPS
from fixtures.evidence.trial import PLAN
from fixtures.evidence.trial import Record
from fixtures.evidence.trial import Scope
from fixtures.evidence.trial import write_json
from plugins.criteria import criterion_of
from plugins.criteria import Need
from plugins.verdict import PlannedCheck
from plugins.verdict_file import CRITERIA

#: what a check may stand on; the names are those of the fixtures
EVIDENCE = (
    "inventory", "launch", "documents", "application", "reordered", "resumed", "hangup", "health", "burn_in", "copy",
)  # fmt: skip
#: fixtures that only derive from evidence
_DERIVED = {"account": ("documents", "application"), "machine": ("inventory", "launch"), "seal": ("copy",)}
_SAFE = re.compile(r"[a-z0-9._-]+")


class Plan(Model):
    checks: list[PlannedCheck]


class Planner:
    """Collects for one trial: parametrises by device, drops what its scope cannot establish, writes the plan."""

    def __init__(
        self, *, scope: Scope, devices: list[str], file: Path | None, asked: frozenset[str] | None = None
    ) -> None:
        self.scope, self.devices, self._file = scope, devices, file
        self._asked = asked
        self.checks: list[PlannedCheck] = []

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "device" in metafunc.fixturenames:
            metafunc.parametrize("device", self.devices, ids=self.devices)

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(self) -> Generator[None, Any, Any]:
        """Refuse what is no check as an error of its module: raised later, it would end a worker without a word."""
        made = yield
        for item in made if isinstance(made, list) else []:
            if isinstance(item, pytest.Function) and (problem := _problem(item)):
                raise pytest.Collector.CollectError(f"{item.name}: {problem}")
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if self._belongs(item)), key=_criterion)
        self.checks = [_planned(item) for item in items]
        if self._file and not self._file.exists():
            # on a full disk: without workers it is known all the same, and with them its absence is a doubt
            with contextlib.suppress(OSError):
                write_json(self._file, Plan(checks=self.checks))

    def _belongs(self, item: pytest.Item) -> bool:
        """Whether the claim can be established in this scope, and what it needs was asked for."""
        marker = item.get_closest_marker("check")
        needs = marker.kwargs["needs"] if marker else None
        return self.scope in _scopes(item) and (needs is None or self._asked is None or needs in self._asked)


def asked(record: Record) -> frozenset[str]:
    """What the parameters and options of a trial ask for, as checks need it."""
    parameters = record.parameters
    found: dict[Need, bool] = {
        "expected": record.expects,
        "planned": parameters.planned is not None,
        "detached": parameters.application.detached is not None and not record.once,
        "repeated": not record.once,
        "kept": parameters.application.results_file.format != "json" and not record.once,
        "access": bool(parameters.application.access),
        "burn_in": record.burn_in > 0,
        "extensions": bool(parameters.application.extensions),
        "requirements": parameters.application.requirements is not None,
    }
    return frozenset(name for name, there in found.items() if there)


def read(folder: Path) -> list[PlannedCheck]:
    """The plan that a worker wrote; empty where collecting never came to an end."""
    path = folder / PLAN
    return load(path, Plan).checks if path.exists() else []


def devices(inventory: Inventory, device: str) -> list[str]:
    """Parameters for checks of one card each: safe ids, and never an empty list, which pytest would skip."""
    if device == "cpu":
        return ["cpu"]
    vendor = {"cuda": "nvidia", "rocm": "amd"}.get(device)
    cards = [card for card in inventory.cards if vendor is None or card.vendor == vendor]
    kind = device if vendor else "rocm" if cards and cards[0].vendor == "amd" else "cuda"
    return [f"{kind}-{number}" for number in range(max(len(cards), 1))]


def _scopes(item: pytest.Item) -> tuple[str, ...]:
    marker = item.get_closest_marker("check")
    return marker.kwargs["scopes"] if marker else ("rental", "rehearsal")


def _criterion(item: pytest.Item) -> tuple[int, int]:
    """Cheap before dear, and the copy last: the order of criteria and of rungs is the order of running."""
    marker = item.get_closest_marker("check")
    if marker is None:
        return -1, 0
    step = marker.kwargs["step"]
    return CRITERIA.index(criterion_of(marker.kwargs["id"])), STEPS.index(step) if step in STEPS else len(
        STEPS
    )


def _problem(item: pytest.Item) -> str | None:
    """Why a test is no check that a verdict could speak of, or None."""
    parameter = _parameter(item)
    if item.get_closest_marker("check") is None:
        return "found a test without @check; every test of a suite is a check"
    if parameter and not _SAFE.fullmatch(parameter.strip("[]")):
        return f"found the parameter {parameter!r}; wanted [a-z0-9._-]"
    return None


def _parameter(item: pytest.Item) -> str:
    """`[cuda-0]` of a test for each card, or nothing."""
    return item.name[len(getattr(item, "originalname", item.name)) :]


def _planned(item: pytest.Item) -> PlannedCheck:
    name = getattr(item, "originalname", item.name)
    parameter = _parameter(item)
    problem, marker = _problem(item), item.get_closest_marker("check")
    if problem or marker is None:  # an item of another kind, as a doctest is
        raise pytest.UsageError(f"{item.nodeid}: {problem}")
    declared = marker.kwargs
    return PlannedCheck(
        id=declared["id"] + parameter,
        nodeid=item.nodeid,
        title=name.removeprefix("test_").replace("_", " ") + (f" {parameter}" if parameter else ""),
        criterion=criterion_of(declared["id"]),
        step=declared["step"],
        on_failure=declared["on_failure"],
        change=declared["change"],
        evidence=_evidence(item),
    )


def _evidence(item: pytest.Item) -> list[str]:
    """The evidence named in a check's own signature, derived fixtures taken apart."""
    named = inspect.signature(item.function).parameters if isinstance(item, pytest.Function) else ()
    wanted = {part for name in named for part in _DERIVED.get(name, (name,))}
    return [name for name in EVIDENCE if name in wanted]
