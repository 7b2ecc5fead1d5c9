"""Whether what was decided is still what is there: the chain from its first line, and the files that it speaks of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fixtures.evidence import sums
from fixtures.evidence.base import InputError
from fixtures.evidence.base import load
from fixtures.evidence.names import ADDED_LATER
from fixtures.evidence.names import DECISION
from fixtures.evidence.names import DECISION_PAGE
from fixtures.evidence.names import RECORD
from plugins.decision import chain
from plugins.decision.chain import Line
from plugins.decision.file import Decided
from plugins.decision.file import decisions
from plugins.trials import listing

#: what a line and its decision.json both say
_BOTH = ("trial", "decision", "override", "reason", "by", "when", "number", "before")


@dataclass(frozen=True)
class Verified:
    """`broken` names the line of each, the first one first; `absent` are trials that are not here to be looked at.

    Where the chain itself is broken, that alone is said, and no trial is looked at.
    """

    lines: int
    here: int
    absent: list[str]
    broken: list[str]


def verify(reports: Path) -> Verified:
    """Verify decisions.jsonl in `reports`.

    Raises:
        InputError: the folder or the file cannot be read, or nothing was ever decided here.
    """
    path = reports / chain.NAME
    folders = _folders(reports)
    found = chain.read(path)
    if found.broken is not None:  # without the lines behind it, nothing that a trial holds means anything
        return Verified(len(found.lines), 0, [], [str(found.broken)])
    loose = _loose(reports, folders, {line.trial for line in found.lines})
    if not found.lines and not loose:
        raise InputError(path, "", "no line", "the decisions that were recorded")
    broken: list[tuple[int, str]] = []
    absent, here = [], 0
    for trial in dict.fromkeys(line.trial for line in found.lines):
        own = [line for line in found.lines if line.trial == trial]
        folder = _where(reports, own[-1], folders)
        if folder is None:
            absent.append(trial)
            continue
        here += 1
        broken += [(own[-1].number, one) for one in _against(folder, own[-1])]
        broken += [(line.number, one) for line in own[:-1] for one in _kept(line, own[-1])]
    said = [f"{path}: line {number}: {text}" for number, text in sorted(broken)]
    return Verified(len(found.lines), here, absent, [*said, *loose])


def _against(folder: Path, line: Line) -> list[str]:
    """Where the trial is not what its last line says."""
    problems = []
    for name, recorded in line.files.items():
        try:
            if "/" in name or sums.of_file(folder / name) != recorded:
                problems.append(f"{folder / name}: altered since it was recorded")
        except OSError as error:
            problems.append(f"{folder / name}: {error.strerror or error}")
    problems += [
        f"{folder / name}: no line records it" for name in decisions(folder) if name not in line.files
    ]
    for name in (DECISION, DECISION_PAGE):
        if name not in line.files:
            problems.append(f"{folder / name}: its sum was not recorded")
    if problems:
        return problems
    try:
        problems += [f"{folder}: {one}" for one in sums.differences(folder)]
        decided = load(folder / DECISION, Decided)
    except OSError as error:
        return [*problems, f"{folder / sums.NAME}: {error.strerror or error}"]
    except InputError as error:
        return [*problems, str(error)]
    differing = [name for name in _BOTH if getattr(decided, name) != getattr(line, name)]
    differing += ["machine"] if decided.machine.decision != line.machine else []
    return [*problems, *(f"{folder / DECISION}: {name}: not what the line says" for name in differing)]


def _kept(line: Line, last: Line) -> list[str]:
    """An earlier decision on the same trial is kept under another name, with the sums that it had."""
    held = {recorded for name, recorded in last.files.items() if ADDED_LATER.fullmatch(name)}
    return [
        f"{name} of {line.trial}: not among the earlier decisions that were kept"
        for name in (DECISION, DECISION_PAGE)
        if line.files.get(name) not in held
    ]


def _where(reports: Path, line: Line, folders: dict[str, str | None]) -> Path | None:
    """The trial's folder, also where somebody renamed it since."""
    if line.folder in folders:
        return reports / line.folder
    return next((reports / folder for folder, trial in folders.items() if trial == line.trial), None)


def _folders(reports: Path) -> dict[str, str | None]:
    """Every folder in `reports` -> the trial that it says it is."""
    try:
        names = sorted(entry.name for entry in os.scandir(reports) if entry.is_dir())
    except OSError as error:
        raise InputError(reports, "", error.strerror or str(error), "the folder of the trials") from None
    return {name: _trial_of(reports / name) for name in names}


def _trial_of(folder: Path) -> str | None:
    try:
        return str(listing.plain(folder / RECORD, listing.RECORD_SCHEMA).get("trial"))
    except listing.Problem:
        return None


def _loose(reports: Path, folders: dict[str, str | None], known: set[str]) -> list[str]:
    """Decisions that no line speaks of: never recorded to the end, or their line was taken out."""
    return [
        f"{reports / folder / name}: no line of {chain.NAME} records it"
        for folder, trial in folders.items()
        if trial not in known
        for name in decisions(reports / folder)
    ]
