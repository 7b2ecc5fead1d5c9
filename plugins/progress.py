"""Shows that a long step is alive. A worker of pytest-xdist has no terminal, so its lines go through a file."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.evidence.trial import LOCKS

FILE = f"{LOCKS}/progress"
#: each line waits a quarter longer than the one before, at most this long
LONGEST_GAP_S = 15.0
LOOK_S = 0.25


class Shown:
    """Writes a line now and then: soon at first, rarely when a step takes long."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write, self._gap, self._last = write, 0.5, 0.0

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        if now - self._last >= self._gap:
            self._last, self._gap = now, min(self._gap * 1.25, LONGEST_GAP_S)
            self._write(line)


def in_this_process(config: pytest.Config) -> Callable[[str], None]:
    """For a run without workers: to the terminal, past pytest's capturing."""

    def write(line: str) -> None:
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        capture = config.pluginmanager.get_plugin("capturemanager")
        past = capture.global_and_fixture_disabled() if capture else contextlib.nullcontext()
        if terminal:
            with past:
                terminal.ensure_newline()
                terminal.write_line(line)

    return Shown(write)


def in_a_worker(trial: Path) -> Callable[[str], None]:
    """For a worker: to a file that the controlling process follows."""

    def write(line: str) -> None:
        with contextlib.suppress(OSError), (trial / FILE).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    return Shown(write)


class Follower(threading.Thread):
    """Follows the workers' lines and shows them; in the controlling process, while it waits for workers."""

    def __init__(self, trial: Path, config: pytest.Config) -> None:
        super().__init__(daemon=True, name="gpu-pilot progress")
        self._path, self._config, self._done = trial / FILE, config, threading.Event()

    def run(self) -> None:
        offset = 0
        while not self._done.wait(LOOK_S):
            with contextlib.suppress(OSError), self._path.open("rb") as stream:
                stream.seek(offset)
                data = stream.read()
                offset += len(data)
                terminal = self._config.pluginmanager.get_plugin("terminalreporter")
                for line in data.decode("utf-8", "replace").splitlines():
                    if terminal:
                        terminal.ensure_newline()
                        terminal.write_line(line)

    def stop(self) -> None:
        self._done.set()
        self.join(2)
