"""Puts the formats for machines where machines look for them: into the trial, and into a GitHub step's summary."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from fixtures.evidence.names import CTRF
from fixtures.evidence.names import JUNIT
from plugins.machine import ctrf
from plugins.machine import junit
from plugins.machine import step_summary
from plugins.verdict_file import Verdict

#: what `closing` gives
NAMES = (JUNIT, CTRF)
#: the variable in which a GitHub runner names the file
SUMMARY = "GITHUB_STEP_SUMMARY"


def closing(verdict: Verdict) -> dict[str, bytes]:
    """Name -> content of the files of a closed trial that are for machines."""
    header = '<?xml version="1.0" encoding="utf-8"?>\n'
    return {
        JUNIT: (header + junit.render(verdict)).encode("utf-8"),
        CTRF: ctrf.render(verdict).encode("utf-8"),
    }


def append_summary(verdict: Verdict, environment: Mapping[str, str]) -> str | None:
    """Append the summary to the file that a GitHub runner names, if one does; why not, or None.

    The file is named in no message: it is the value of a variable.
    """
    named = environment.get(SUMMARY)
    if not named:
        return None
    try:
        # a pipe that nobody reads would block, and is no summary's place
        descriptor = os.open(named, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o666)
        with open(descriptor, "r+b", buffering=0):
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return f"the file named by {SUMMARY} is no regular file"
            before = b"\n\n" if found.st_size else b""  # whatever stands there, a new block begins
            written = step_summary.render(verdict, step_summary.LIMIT - found.st_size - len(before) - 1)
            if not written:
                return f"the file named by {SUMMARY} has no room left: GitHub takes 1 MiB of a step"
            try:
                _write(descriptor, before + written.encode("utf-8") + b"\n")
            except OSError:  # half a table would swallow what others append
                os.ftruncate(descriptor, found.st_size)
                raise
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"the file named by {SUMMARY} could not be written: {why}"
    return None


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
