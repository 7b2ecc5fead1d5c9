"""What an entry of the fault table is: one change to a healthy renter's folder, and what must come of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plugins.verdict_file import Decision
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run

#: the card that the bench's order names
ORDERED = "NVIDIA H200"
#: more to look at when a run has ended
Look = Callable[[Bench, Run], None]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    `says` are words of the first error's message, `documents` the identifiers that must be named with it or
    in the counts, `others` checks that must fail as well. `twin` is the healthy folder that differs in
    nothing but the fault; None is the plain one.
    """

    name: str
    change: Change
    first_error: str
    says: tuple[str, ...]
    documents: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    decision: Decision = "fix"
    twin: str | None = None
    device: str = "cpu"
    look: Look | None = None


@dataclass(frozen=True)
class Twin:
    """A healthy folder that looks like a faulty one: every check must pass."""

    name: str
    change: Change
    device: str = "cpu"
    look: Look | None = None


@dataclass(frozen=True)
class Refusal:
    """A configuration that is refused before any trial begins; `hides` must stand nowhere in the answer."""

    name: str
    change: Change
    file: str
    place: str
    found: str
    wanted: str
    hides: str | None = None
    twin: str | None = None


def told(behaviour: str, *more: str) -> Change:
    """The application behaves as this function of app.py does."""
    return lambda bench: bench.behave(behaviour, *more)


def altered(**records: dict[str, Any] | None) -> Change:
    """The application sets these keys in the records of doc_05 and so on; None leaves a record out."""
    changes = {name.replace("_", "-"): keys for name, keys in records.items()}
    return told("alters", json.dumps(changes))


def all_of(*changes: Change) -> Change:
    def change(bench: Bench) -> None:
        for one in changes:
            one(bench)

    return change


def limits(**values: float) -> Change:
    """Parameters of the application: deadline_s, no_progress_s, batch_size, output_limit_mb."""
    return lambda bench: bench.parameters["application"].update(values)


def run_once(bench: Bench) -> None:
    """One that takes its time, and about which a further run says nothing."""
    bench.always = ("--once",)


def cards(*names: str) -> Change:
    return lambda bench: bench.pretend_cards(*names)


def stub(**variables: str) -> Change:
    """How the pretended machine behaves: STUB_OWN_MIB and the others that tests/stubs knows."""
    return lambda bench: bench.environment.update(variables)


def raw(name: str, data: bytes) -> Change:
    """These bytes in place of a file of the renter's folder."""
    return lambda bench: bench.raw.update({name: data})


def mounted(place: str, options: str) -> Change:
    """A file system of its own at a place below the renter's folder; the bench takes it away again."""

    def change(bench: Bench) -> None:
        target = bench.folder / place
        target.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(target)]
        try:
            end = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            pytest.skip(f"no file system can be mounted here: {error.strerror}")
        if end.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {end.stderr.strip()}")
        bench.mounts.append(target)

    return change


def written(bench: Bench, name: str, text: str = "") -> Path:
    """A file below the renter's folder."""
    path = bench.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
