"""Trials as they lie in a folder, one row each. Standard library only: a thousand take well under a second.

Of each trial verdict.json is read, and its own sum compared; trial.json only where that says too little. Whatever
is wrong with a trial becomes a row that says so, and never ends the listing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any

from fixtures.evidence import sums
from fixtures.evidence.names import DECISION
from fixtures.evidence.names import RECORD
from fixtures.evidence.names import SUMS
from fixtures.evidence.names import VERDICT

VERDICT_SCHEMA, RECORD_SCHEMA = "gpu-pilot/verdict/1", "gpu-pilot/trial/1"
DECISION_SCHEMA = "gpu-pilot/decision/1"
DECISIONS = ("go", "fix", "reconfigure", "undecided")
INTERRUPTED, BROKEN = "interrupted", "broken"
#: how a trial is called, which is when it began
NAMED = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{4}")


class Problem(Exception):
    """A file of a trial is not what it must be; the text says what was found."""


@dataclass(frozen=True)
class Person:
    """What decision.json says; `problem` where it cannot be read."""

    decision: str | None = None
    override: bool = False
    by: str | None = None
    when: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Row:
    """A trial. `decision` is the verdict's, or "interrupted" or "broken", and `reason` says why in each case."""

    folder: str
    trial: str
    when: str
    scope: str | None
    decision: str
    reason: str
    first_error: str | None = None
    continues: str | None = None
    changed: list[str] = field(default_factory=list)
    person: Person | None = None


def rows(reports: Path, *, every_sum: bool = False) -> list[Row]:
    """Every trial below `reports`, oldest first; `every_sum` reads all their files and compares them.

    Raises:
        OSError: `reports` cannot be read.
    """
    with os.scandir(reports) as entries:
        names = [entry.name for entry in entries if not entry.name.startswith(".") and _is_folder(entry)]
    found = (_row(os.path.join(reports, name), name, every_sum) for name in names)
    return sorted(filter(None, found), key=lambda row: (row.when, row.folder))


def plain(path: str | Path, schema: str) -> dict[str, Any]:
    """The JSON object in `path`, of that schema.

    Raises:
        Problem: it is none, or of another schema.
    """
    return _parsed(_bytes(path), os.path.basename(path), schema)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _row(path: str, name: str, every_sum: bool) -> Row | None:
    """The row of a folder; None where it is no trial's."""
    try:
        there = set(os.listdir(path))
    except OSError as error:
        return _broken(path, name, error.strerror or str(error)) if NAMED.fullmatch(name) else None
    if RECORD not in there and VERDICT not in there and not NAMED.fullmatch(name):
        return None
    person = _person(path) if DECISION in there else None
    try:
        if VERDICT not in there:
            return _interrupted(path, name, there, person, f"there is no {VERDICT}")
        if SUMS not in there:
            return _interrupted(path, name, there, person, f"there is a {VERDICT} and no {SUMS}")
        row = _closed(path, name, person)
        if every_sum and (different := sums.differences(Path(path))):
            more = f" and {len(different) - 1} more" if len(different) > 1 else ""
            raise Problem(f"{different[0]}{more}")
    except Problem as problem:
        return _broken(path, name, str(problem), person)
    except OSError as error:
        return _broken(path, name, error.strerror or str(error), person)
    except (KeyError, TypeError, AttributeError):
        return _broken(path, name, f"{VERDICT} or {RECORD}: a key is missing or of another kind", person)
    return row


def _closed(path: str, name: str, person: Person | None) -> Row:
    data = _bytes(os.path.join(path, VERDICT))
    verdict = _parsed(data, VERDICT, VERDICT_SCHEMA)
    if verdict["decision"] not in DECISIONS:
        raise Problem(f"{VERDICT}: the decision {str(verdict['decision'])[:60]!r}, none of {DECISIONS}")
    agreed = f"\n{hashlib.sha256(data).hexdigest()}  {VERDICT}\n".encode()
    if agreed not in b"\n" + _bytes(os.path.join(path, SUMS)):
        raise Problem(f"{VERDICT}: altered, it does not agree with {SUMS}")
    trial, error = _text(verdict["trial"]), verdict["first_error"]
    return Row(
        folder=name,
        trial=trial,
        when=_when(trial) or _text(plain(os.path.join(path, RECORD), RECORD_SCHEMA)["created"]),
        scope=_text(verdict["scope"]),
        decision=verdict["decision"],
        reason=_text(verdict["reason"]),
        first_error=_text(error["check"]) if error else None,
        continues=_text(verdict["continues"]) if verdict["continues"] is not None else None,
        changed=[_text(change["factor"]) for change in verdict["changed"]],
        person=person,
    )


def _interrupted(path: str, name: str, there: set[str], person: Person | None, why: str) -> Row:
    """What was killed, or is still running: of what it came to nothing is shown."""
    if RECORD not in there:
        return Row(name, name, _when(name) or _modified(path), None, INTERRUPTED, why, person=person)
    record = plain(os.path.join(path, RECORD), RECORD_SCHEMA)
    continues = record["continues"]
    return Row(
        folder=name,
        trial=_text(record["trial"]),
        when=_text(record["created"]),
        scope=_text(record["scope"]),
        decision=INTERRUPTED,
        reason=why,
        continues=_text(continues) if continues is not None else None,
        person=person,
    )


def _broken(path: str, name: str, why: str, person: Person | None = None) -> Row:
    return Row(name, name, _when(name) or _modified(path), None, BROKEN, why, person=person)


def _person(path: str) -> Person:
    try:
        found = plain(os.path.join(path, DECISION), DECISION_SCHEMA)
        by = found["by"]
        return Person(
            _text(found["decision"]), found["override"] is True, by and _text(by), _text(found["when"])
        )
    except (Problem, OSError, KeyError, TypeError) as error:
        why = str(error) if isinstance(error, Problem) else "a key is missing or it cannot be read"
        return Person(problem=f"{DECISION}: {why.removeprefix(DECISION + ': ')}")


def _bytes(path: str | Path) -> bytes:
    """What is in a regular file; opening a pipe must not wait for whoever writes to it."""
    name = os.path.basename(path)
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(number, "rb") as stream:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise Problem(f"{name}: no regular file")
            return stream.read()
    except OSError as error:
        raise Problem(f"{name}: {error.strerror or error}") from None


def _parsed(data: bytes, name: str, schema: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Problem(f"{name}: no JSON ({str(error)[:120]})") from None
    if not isinstance(value, dict):
        raise Problem(f"{name}: no JSON object")
    if (found := value.get("schema")) != schema:
        raise Problem(f"{name}: the schema {str(found)[:60]!r} and not {schema!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _when(trial: str) -> str | None:
    match = NAMED.fullmatch(trial)
    return "{}-{}-{}T{}:{}:{}Z".format(*match.groups()) if match else None


def _modified(path: str) -> str:
    try:
        seconds = os.stat(path).st_mtime
    except OSError:
        return ""
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def lines(listed: list[Row]) -> Iterator[str]:
    """A line for each row, to be read by people."""
    width = max((len(row.trial) for row in listed), default=0)
    for row in listed:
        moment = row.when.replace("T", " ").removesuffix("Z")
        begun = f"{row.trial:<{width}}  {moment:<19}  {row.scope or '-':<9}  {row.decision:<11}"
        yield "  ".join([begun, *_said(row)])


def _said(row: Row) -> Iterator[str]:
    if row.first_error:
        yield f"first error {row.first_error}"
    if row.decision in (INTERRUPTED, BROKEN):
        yield f"({row.reason})"
    if row.continues:
        yield f"continues {row.continues}"
        if row.decision in DECISIONS:
            yield f"changed {', '.join(row.changed)}" if row.changed else "nothing changed"
    if row.folder != row.trial:
        yield f"in the folder {row.folder}"
    if person := row.person:
        by = f" by {person.by}" if person.by else ""
        said = person.problem or f"{person.decision}{' (OVERRIDE)' if person.override else ''}{by}"
        yield f"a person decided: {said}"
