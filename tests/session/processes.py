"""Pilots that are started rather than run, found again by a mark in their environment, and always ended."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from tests.pilot.bench import Bench
from tests.pilot.bench import Run

#: carries a value of the test's own, so that whatever the run left alive can be found
MARK = "GPU_PILOT_TEST"
#: how long a condition is waited for; on a busy machine a run takes ten times as long as on an idle one
PATIENCE_S = 90.0

T = TypeVar("T")


def until(condition: Callable[[], T], what: str) -> T:
    """The first value of `condition` that is true."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


@dataclass
class Started:
    """A pilot that is running."""

    bench: Bench
    process: subprocess.Popen[bytes]
    output: Path

    def end(self) -> Run:
        """Wait for its end, and look at what it left."""
        status = self.process.wait(PATIENCE_S)
        trials = self.bench.trials()
        return self.bench.look(
            status, self.output.read_text(errors="replace"), trials[-1].name if trials else None
        )

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def text(self) -> str:
        return self.output.read_text(errors="replace")


def start(
    bench: Bench,
    *options: str,
    device: str = "cuda",
    write: bool = True,
    before_exec: Callable[[], object] | None = None,
) -> Started:
    """Start a pilot, in a group of its own as a shell with job control does."""
    if write:
        bench.write()
    output = bench.folder / f"output-{time.monotonic_ns()}.txt"
    with output.open("xb") as stream:
        process = subprocess.Popen(
            bench.command(*options, device=device),
            cwd=bench.folder,
            env=bench.environ(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=before_exec,
        )
    return Started(bench, process, output)


def alive(bench: Bench) -> list[psutil.Process]:
    """Every living process that inherited the bench's mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if (
                process.environ().get(MARK) == bench.environment[MARK]
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
    return found


def command_holding(bench: Bench, word: str) -> psutil.Process | None:
    """The living process of this bench that has `word` in its command line."""
    for process in alive(bench):
        with contextlib.suppress(psutil.Error):
            if any(word in part for part in process.cmdline()):
                return process
    return None


def application(bench: Bench) -> psutil.Process | None:
    return command_holding(bench, "results.jsonl")


def supervisor(bench: Bench) -> psutil.Process | None:
    return command_holding(bench, "supervisor.py")


def end_all(bench: Bench) -> None:
    for process in alive(bench):
        with contextlib.suppress(psutil.Error):
            process.kill()
