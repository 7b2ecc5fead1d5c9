"""The commands that repeat a trial and rerun what failed, as the person who gave the first one would type them."""

from __future__ import annotations

import os
import shlex
import shutil
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
    if config.getoption("once"):
        words.append("--once")
    if minutes := config.getoption("burn_in"):
        words += ["--burn-in", f"{minutes:g}"]
    if workers := getattr(config.option, "numprocesses", None):
        words += ["-n", str(workers)]
    return shlex.join(words)


def rerun(config: pytest.Config, suite: str, device: str, trial: Path) -> str:
    """What did not pass in `trial`, and everything that stands on it."""
    given = config.getoption("trial")
    return f"{repeat(config, suite, device)} --continue {shlex.quote(str(given) if given else trial.name)}"


def _program(here: Path) -> list[str]:
    """pytest as it was called: as a module, by a path, or by a name that still leads to the same program."""
    called = sys.argv[0]
    if Path(called).name == "__main__.py":
        return [_short(Path(sys.executable), here) if os.sep in sys.executable else "python", "-m", "pytest"]
    found = shutil.which(Path(called).name)
    if os.path.isabs(called) and found and os.path.samefile(found, called):
        return [Path(called).name]
    return [_short(Path(called), here) if os.path.isabs(called) else called]


def _short(path: Path, here: Path) -> str:
    return os.path.relpath(path, here) if here in path.parents else str(path)
