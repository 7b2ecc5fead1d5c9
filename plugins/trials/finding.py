"""The trial that a person means: a name below the reports, a folder, or `latest`."""

from __future__ import annotations

from pathlib import Path

from fixtures.evidence.errors import InputError
from fixtures.evidence.names import LATEST


def find(reports: Path, named: str) -> Path:
    """The folder of the trial `named`.

    Raises:
        InputError: there is none.
    """
    if named == LATEST:
        named = _latest(reports)
        path = reports / named
    else:
        plain = named not in ("", ".", "..") and "/" not in named and "\0" not in named
        path = reports / named if plain and (reports / named).is_dir() else Path(named)
    if not named or "\0" in named or not path.is_dir():
        raise InputError(named, "", f"no such folder here or in {reports}", f"a trial, or {LATEST}")
    return path.absolute()


def _latest(reports: Path) -> str:
    file = reports / LATEST
    try:
        name = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "bytes that are not UTF-8"
        raise InputError(file, "", said, "the name of the newest trial") from None
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise InputError(file, "", repr(name[:80]), "the name of a folder beside it")
    return name
