"""Programs for the supervisor, and questions about processes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from fixtures import watch

#: far beyond any test, so that only what is tested can end a program
NEVER = 120.0


def request(folder: Path, *command: str, **more: Any) -> watch.Request:
    """A request whose streams and results go below `folder`."""
    usual: dict[str, Any] = {
        "command": list(command),
        "folder": str(folder),
        "device": "cpu",
        "results": str(folder / "results.jsonl"),
        "stdout": str(folder / "stdout.txt"),
        "stderr": str(folder / "stderr.txt"),
        "deadline_s": NEVER,
        "no_progress_s": NEVER,
        "output_limit_bytes": 64 << 20,
        "interval_s": 0.05,
    }
    return watch.Request(**{**usual, **more})


def python(folder: Path, code: str, **more: Any) -> watch.Request:
    return request(folder, sys.executable, "-I", "-c", code, **more)


def run(
    asked: watch.Request, on_progress: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    return watch.run(asked, on_progress)


def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait for `condition` to give something true, and give it back."""
    limit = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.01)
    return value


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(pid: int) -> bool:
    return not alive(pid)


def pid_in(path: Path) -> int:
    """The process id that a program wrote into `path`, once it is whole."""
    text = until(lambda: path.exists() and path.read_text().endswith("\n") and path.read_text())
    return int(str(text))
