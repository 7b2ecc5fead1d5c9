"""The commands that repeat a trial and rerun what failed, as the person who gave the first one would type them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

#: options of ours that a repetition needs, by their name in pytest's options; --device is always spelt out
_KEPT = {"pilot": "--pilot", "order": "--order", "reports": "--reports", "copy_to": "--copy-to"}


def repeat(config: pytest.Config, suite: str, device: str) -> str:
    """The whole suite again, from the same folder and with the same files."""
    here = config.invocation_params.dir
    words = [*_program(here), _short(config.rootpath / "suites" / suite, here), "--device", device]
    for name, option in _KEPT.items():
        if value := config.getoption(name):
            words += [option, str(value)]
    if workers := getattr(config.option, "numprocesses", None):
        words += ["-n", str(workers)]
    return shlex.join(words)


def rerun(config: pytest.Config, suite: str, device: str, trial: Path) -> str:
    """What did not pass in `trial`, and everything that stands on it."""
    given = config.getoption("trial")
    return f"{repeat(config, suite, device)} --continue {shlex.quote(str(given) if given else trial.name)}"


def _program(here: Path) -> list[str]:
    """pytest as it was called: by name, by a path below the folder, or as a module."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return ["python", "-m", "pytest"]
    path = Path(os.path.abspath(here / called))
    return [_short(path, here) if here in path.parents else "pytest"]


def _short(path: Path, here: Path) -> str:
    return os.path.relpath(path, here) if here in path.parents else str(path)
