"""Where a trial's time went, by stage. Runs in the controlling process."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import psutil

from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import Trial

#: stage -> the evidence that was made in it
_MADE = {
    "launch": ("launch",),
    "pilot": ("application",),
    "repetition": ("reordered", "resumed", "hangup"),
    "copy": ("copy",),
}


def process_age() -> float:
    """Seconds since this process was started, imports included.

    psutil reckons with the boot time, which the kernel gives in whole seconds; ticks since boot are exact.
    """
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    return max(0.0, time.time() - psutil.Process().create_time())


def seconds(trial: Trial, start: float) -> dict[str, float]:
    """`start`, and how long each piece of evidence was waited for."""
    stages = {"start": start}
    for stage, names in _MADE.items():
        with contextlib.suppress(Broken):
            if made := [trial.envelope(name).seconds for name in names if trial.has(name)]:
                stages[stage] = sum(made)
    return stages
