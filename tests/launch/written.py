"""What a part of the probe wrote, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from fixtures.probe import children
from fixtures.probe import lines

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "tests" / "stubs"

#: the oldest and the newest that the probe is for, of those that pyenv has; else this one
_PYENV = sorted(
    (
        path
        for path in Path.home().glob(".pyenv/versions/3.*/bin/python")
        if re.match(r"3\.([89]|1\d)\.", path.parts[-3])
    ),
    key=lambda path: int(path.parts[-3].split(".")[1]),
)
PYTHONS = [str(path) for path in dict.fromkeys(_PYENV[:1] + _PYENV[-1:])] or [sys.executable]

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make the stub with")

#: one observation in a process of its own: where to write, which module, its settings, and the arguments
_ALONE = """
import importlib, json, os, sys
sys.path.insert(0, sys.argv[1])
from fixtures.probe import lines
module = importlib.import_module("fixtures.probe." + sys.argv[3])
for name, value in json.loads(sys.argv[4]).items():
    assert hasattr(module, name)
    setattr(module, name, value)
out = lines.Lines(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND))
try:
    module.observe(out, *json.loads(sys.argv[5]))
except lines.Absent as absent:
    out._write({"absent": [str(absent), absent.source, absent.number, absent.number_of]})
"""


@dataclass
class Written:
    """Values by name, those under one name merged; lists by name; and the text, source, number and whose it is of
    Absent, where that was raised."""

    found: dict[str, Any] = field(default_factory=dict)
    added: dict[str, list[Any]] = field(default_factory=dict)
    absent: list[Any] | None = None

    def said(self) -> list[tuple[str, str]]:
        return [(one["source"], one["text"]) for one in self.added.get("said", [])]


def here(observe: Callable[..., None], *arguments: Any) -> Written:
    """Observe in this process, whose children inherit what a test has patched."""
    folder = Path(mkdtemp())
    try:
        out = os.open(folder / "lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        written = Written()
        try:
            observe(lines.Lines(out), *arguments)
        except lines.Absent as absent:
            written.absent = [str(absent), absent.source, absent.number, absent.number_of]
        finally:
            os.close(out)
        return _read(folder / "lines", written)
    finally:
        shutil.rmtree(folder)


def alone(
    module: str,
    *arguments: Any,
    variables: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    wrapped: tuple[str, ...] = (),
    python: str = sys.executable,
    **more: Any,
) -> Written:
    """Observe in a process of its own: with these variables, the module's settings, and a program around it."""
    folder = Path(mkdtemp())
    try:
        given = [str(ROOT), str(folder / "lines"), module, json.dumps(settings or {}), json.dumps(arguments)]
        done = subprocess.run(
            [*wrapped, python, "-c", _ALONE, *given],
            env={**os.environ, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **more,
        )
        assert done.returncode == 0, done.stderr
        return _read(folder / "lines", Written())
    finally:
        shutil.rmtree(folder)


def _read(path: Path, written: Written) -> Written:
    for line in map(json.loads, path.read_text(encoding="ascii").splitlines()):
        for name, value in line.get("found", {}).items():
            merged = isinstance(value, dict) and name in written.found
            written.found[name] = {**written.found[name], **value} if merged else value
        for name, value in line.get("add", {}).items():
            written.added.setdefault(name, []).append(value)
        written.absent = line.get("absent", written.absent)
    return written


@cache
def library(source: str) -> bytes:
    """A stub, compiled once in this process."""
    folder = Path(mkdtemp())
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "made", STUBS / source], check=True)
        return (folder / "made").read_bytes()
    finally:
        shutil.rmtree(folder)


def write(root: Path, files: Mapping[str, str]) -> Path:
    """These files below `root`; a text that begins with -> is where a link leads."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text)
    return root


def program(folder: Path, name: str, body: str) -> None:
    """A shell script on the way to be found first, once `folder` is at the head of PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@contextlib.contextmanager
def as_somebody_else(group: int | None = None) -> Iterator[tuple[Path, Callable[[Callable[[], Any]], Any]]]:
    """A folder that everybody may reach, and a way to call something as a user without rights (root can; others are
    that user). pytest's own folders are closed to all but their owner."""

    def call(function: Callable[[], Any]) -> Any:
        def body() -> Any:
            if os.geteuid() == 0:
                os.setgroups([] if group is None else [group])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            return function()

        return children.fork(body, deadline=20).wait().value

    folder = Path(mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder, call
    finally:
        shutil.rmtree(folder)
