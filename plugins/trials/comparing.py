"""What differs between two trials: factor by factor, parameter by parameter, check by check.

Read as plain JSON, so that trials of other versions of the suite can be compared as far as they hold the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.evidence.errors import InputError
from fixtures.evidence.names import RECORD
from fixtures.evidence.names import VERDICT
from plugins.trials import listing

#: a factor that is a sum over a file -> the key of trial.json that holds what is in that file, and the file's name
CONTENTS = {"project.parameters": ("parameters", "pilot.json"), "project.order": ("order", "order.json")}
#: what was chosen on the command line, and is no factor
CHOSEN = ("scope", "device", "once", "copy_to", "folder")
ABSENT = "nothing"


@dataclass(frozen=True)
class Difference:
    """`before` and `after` as they are shown; ABSENT where one of the two has no such thing."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Compared:
    """`checks` is None where one of the two has no verdict; `within` is by the factor that it details."""

    decisions: tuple[str, str]
    chosen: list[Difference]
    factors: list[Difference]
    within: dict[str, list[Difference]]
    checks: list[Difference] | None
    asked: int


def compare(before: Path, after: Path) -> Compared:
    """Compare the trials in two folders.

    Raises:
        InputError: one of them cannot be read.
    """
    records = _record(before), _record(after)
    verdicts = _verdict(before), _verdict(after)
    factors = _differences(*(_flat(record["factors"]) for record in records))
    within = {
        factor: _differences(*(_flat(record[key]) for record in records))
        for factor, (key, _) in CONTENTS.items()
    }
    checks = [_checks(verdict) for verdict in verdicts if verdict]
    chosen = [{name: _shown(record[name]) for name in CHOSEN if name in record} for record in records]
    decisions = [str(verdict.get("decision")) if verdict else listing.INTERRUPTED for verdict in verdicts]
    return Compared(
        decisions=(decisions[0], decisions[1]),
        chosen=_differences(*chosen),
        factors=factors,
        within={factor: found for factor, found in within.items() if found},
        checks=_differences(*checks) if len(checks) == 2 else None,
        asked=len(set().union(*checks)),
    )


def lines(compared: Compared) -> Iterator[str]:
    """For people; what is the same in both is counted and not shown."""
    before, after = compared.decisions
    yield f"decision: {before}" + (f" -> {after}" if after != before else " (both)")
    for one in compared.chosen:
        yield f"{one.name}: {one.before} -> {one.after}"
    yield f"factors: {len(compared.factors) or 'none'} changed"
    shown = set()
    for one in compared.factors:
        yield f"  {one.name}: {one.before} -> {one.after}"
        if one.name in CONTENTS:
            shown.add(one.name)
            found = compared.within.get(one.name, [])
            name = CONTENTS[one.name][1]
            yield from (f"    {name}: {part.name}: {part.before} -> {part.after}" for part in found)
            if not found:
                yield f"    {name}: other bytes, the same meaning"
    if compared.checks is None:
        yield "checks: not compared, because an interrupted trial has no verdict"
        return
    yield f"checks: {len(compared.checks) or 'none'} of {compared.asked} differ"
    for one in compared.checks:
        if one.before == ABSENT:
            yield f"  {one.name}: added, {one.after}"
        elif one.after == ABSENT:
            yield f"  {one.name}: removed, was {one.before}"
        else:
            yield f"  {one.name}: {one.before} -> {one.after}"


def _differences(before: dict[str, str], after: dict[str, str]) -> list[Difference]:
    """In the order of `after`, what it has not any more at the end."""
    names = [*after, *(name for name in before if name not in after)]
    pairs = [(name, before.get(name, ABSENT), after.get(name, ABSENT)) for name in names]
    return [Difference(*pair) for pair in pairs if pair[1] != pair[2]]


def _flat(value: Any, place: str = "") -> dict[str, str]:
    """`a.b.c` -> the value there as text; lists are values."""
    if not isinstance(value, dict):
        return {place: _shown(value)}
    found: dict[str, str] = {}
    for key, item in value.items():
        found |= _flat(item, f"{place}.{key}" if place else str(key))
    return found


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _record(folder: Path) -> dict[str, Any]:
    record = _read(folder / RECORD, listing.RECORD_SCHEMA)
    for key in ("factors", "parameters", "order"):
        if not isinstance(record.get(key), dict):
            raise InputError(folder / RECORD, key, "no object", "the record of a trial")
    return record


def _verdict(folder: Path) -> dict[str, Any] | None:
    return _read(folder / VERDICT, listing.VERDICT_SCHEMA) if os.path.lexists(folder / VERDICT) else None


def _read(path: Path, schema: str) -> dict[str, Any]:
    try:
        return listing.plain(path, schema)
    except listing.Problem as problem:
        raise InputError(path.parent, "", str(problem), "a trial that can be read") from None


def _checks(verdict: dict[str, Any]) -> dict[str, str]:
    try:
        return {
            str(check["id"]): str(check["status"])
            for criterion in verdict["criteria"]
            for check in criterion["checks"]
        }
    except (KeyError, TypeError):
        name = f"{VERDICT} of {verdict.get('trial')}"
        raise InputError(name, "criteria", "no checks", "lists of checks") from None
