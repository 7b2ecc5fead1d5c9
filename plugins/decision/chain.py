"""decisions.jsonl: one line a decision, each holding the sum of the line before, so that none can go unseen.

Each line holds a sum of itself too, because no line stands behind the last one. Whoever writes the whole file anew
can make all of it agree; what he cannot change is what was attached elsewhere: every decision.md names its line.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from typing import Literal

from filelock import FileLock
from filelock import Timeout
from pydantic import Field

from fixtures.evidence import base
from fixtures.evidence import sums
from fixtures.evidence.base import InputError
from fixtures.evidence.base import Model
from plugins.decision.file import PersonsDecision
from plugins.decision.file import Sum
from plugins.verdict_file import Decision

NAME, LOCK = "decisions.jsonl", ".decisions.lock"
GENESIS = "0" * 64
LOCK_S = 30.0


class Line(Model):
    """A decision in one line. `files` holds the sums of files in the trial's folder, among them earlier decisions.

    `folder` is what the trial's folder was called; `before` the sum of the line before with its line break.
    """

    schema_: Literal["gpu-pilot/decisions/1"] = Field(default="gpu-pilot/decisions/1", alias="schema")
    number: Annotated[int, Field(ge=1)]
    before: Sum
    trial: str
    folder: Annotated[str, Field(pattern=r"^[^/\x00]+$")]
    decision: PersonsDecision
    override: bool
    machine: Decision
    reason: str
    by: str | None
    when: str
    files: dict[str, Sum]

    def render(self) -> bytes:
        """The one way in which this line can be written."""
        plain = self.model_dump(mode="json")
        return _json({**plain, "sum": sums.of_bytes(_json(plain))}) + b"\n"


class _Written(Line):
    sum: Sum


@dataclass(frozen=True)
class Chain:
    """The lines that hold, the sum of the last of them, and what is wrong with the first that does not."""

    lines: list[Line]
    last: str
    broken: InputError | None


def read(path: Path) -> Chain:
    """The chain in `path`, without a line where there is no such file.

    Raises:
        InputError: the file is there and cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Chain([], GENESIS, None)
    except OSError as error:
        raise InputError(path, "", error.strerror or str(error), "a readable file") from None
    lines: list[Line] = []
    last = GENESIS
    for text in re.findall(rb"[^\n]*\n|[^\n]+", data):
        try:
            lines.append(_read(path, len(lines) + 1, text, last))
        except InputError as error:
            return Chain(lines, last, error)
        last = sums.of_bytes(text)
    return Chain(lines, last, None)


def _read(path: Path, number: int, text: bytes, before: str) -> Line:
    place = f"line {number}"
    if not text.endswith(b"\n"):
        raise InputError(path, place, "a torn line, without its end", "a whole line")
    try:
        written = base.validate(path, text.decode("utf-8"), _Written)
    except UnicodeDecodeError:
        raise InputError(path, place, "bytes that are not UTF-8", "a line as it was written") from None
    except InputError as error:
        where = f"{place}: {error.place}" if error.place else place
        raise InputError(path, where, error.found, error.wanted) from None
    line = Line(**{name: getattr(written, name) for name in Line.model_fields})
    if line.number != number:
        raise InputError(path, place, f"the number {line.number}", f"{number}: none left out, none put in")
    if line.before != before:
        raise InputError(path, place, f"{line.before[:12]}… for the line before", f"its sum, {before[:12]}…")
    if line.render() != text:
        raise InputError(path, place, "a line that was altered", "one that agrees with its own sum")
    return line


@contextlib.contextmanager
def locked(reports: Path) -> Iterator[None]:
    """Nobody else records a decision meanwhile.

    Raises:
        InputError: the folder cannot be written, or somebody else does not come to an end.
    """
    lock = FileLock(reports / LOCK, timeout=LOCK_S)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(
            reports / LOCK, "", f"another process for {LOCK_S:.0f} s", "that it comes to an end"
        ) from None
    except OSError as error:
        raise InputError(reports, "", error.strerror or str(error), "a folder that can be written") from None
    try:
        yield
    finally:
        lock.release()


def append(path: Path, line: Line) -> None:
    """Write one line more and have it on the disk, or leave the chain as it was.

    Raises:
        OSError: it cannot be written.
    """
    data = line.render()
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(number).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(number, data[written:])
            os.fsync(number)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except (
            BaseException
        ):  # an interruption too: whoever calls takes the files away that the line speaks of
            os.ftruncate(number, size)
            raise
    finally:
        os.close(number)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
