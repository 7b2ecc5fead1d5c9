"""Pilots that begin with everything imported: `python -m pytest` forked from a zygote, one for each worker.

Most of the processor time of a small pilot is the import of pytest and pydantic, twice. What is tested is the
same: see zygote.py for the differences. Twins, and the tests of the command line and of sessions, run the real thing.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.pilot import zygote

SCRIPT = Path(zygote.__file__)
#: read by the interpreter or the loader when a process starts: what was forked has those of its zygote
AT_START = ("PYTHON", "LD_", "LC_", "LANG", "TZ", "HOME", "MALLOC_", "GLIBC_", "PATH")
#: of these, what the zygote gives its child as the interpreter would have
SET_LATER = ("PYTHONPATH",)
#: kept ready in one process of the tests
MOST = 4


class Zygote:
    """One process that forks pilots, begun with `environment`, for the suite in `project`."""

    def __init__(self, project: Path, environment: dict[str, str]) -> None:
        self.channel, its_end = socket.socketpair()
        with its_end:
            self._process = subprocess.Popen(
                [sys.executable, str(SCRIPT), str(its_end.fileno()), str(project)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its_end.fileno()],
            )

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str], timeout: float
    ) -> tuple[int, bytes]:
        """`python -m pytest ARGUMENTS` to its end: exit status as subprocess has it, and what it printed."""
        output, its_output = os.pipe()
        request = {"arguments": arguments, "folder": str(folder), "environment": environment}
        try:
            zygote.send(self.channel, request, [its_output])
        finally:
            os.close(its_output)
        printed, limit, in_time = [], time.monotonic() + timeout, True
        with open(output, "rb", buffering=0) as stream:
            pid, _ = zygote.receive(self.channel, 0)
            while in_time := bool(select.select([stream], [], [], max(0.0, limit - time.monotonic()))[0]):
                if not (data := stream.read(1 << 16)):
                    break
                printed.append(data)
            if not in_time:
                os.kill(pid, signal.SIGKILL)
            status, _ = zygote.receive(self.channel, 0)
        if not in_time:
            raise subprocess.TimeoutExpired(["pytest", *arguments], timeout, b"".join(printed))
        return os.waitstatus_to_exitcode(status), b"".join(printed)

    def end(self) -> None:
        self.channel.close()
        self._process.kill()
        self._process.wait()


_READY: dict[object, Zygote] = {}


def run(
    project: Path, arguments: list[str], folder: Path, environment: dict[str, str], timeout: float
) -> tuple[int, bytes]:
    """`python -m pytest ARGUMENTS` in `folder`, forked from a zygote that began with the same environment.

    Raises:
        subprocess.TimeoutExpired: it was ended.
    """
    begun = {
        name: value
        for name, value in environment.items()
        if name.startswith(AT_START) and name not in SET_LATER
    }
    key = (project, *sorted(begun.items()))
    ready = _READY.pop(key, None) or Zygote(project, begun)
    _READY[key] = ready  # the newest one last
    while len(_READY) > MOST:
        _READY.pop(next(iter(_READY))).end()
    return ready.run(arguments, folder, environment, timeout)


@atexit.register
def _end_all() -> None:
    while _READY:
        _READY.popitem()[1].end()
