"""One text read: every part of it that says anything, and a log of the kernel in which nothing is wrong."""

from __future__ import annotations

import dataclasses
import re

from fixtures.evidence.errors import InputError
from fixtures.readings import kernel_log
from fixtures.readings import recognise
from fixtures.readings.reading import Reading
from plugins.diagnose.given import Given

KNOWN = (
    "the output of torch.utils.collect_env, nvidia-smi (also -q, -L, topo -m, nvlink -s), rocminfo, rocm-smi, amd-smi, "
    "dmesg, pip list or pip freeze, conda list, env, an error text or a traceback"
)
#: seconds since the start of the kernel, as dmesg and journalctl -k print them
_LOGGED = re.compile(r"^(?:.*\bkernel: ?)?\[ *\d+\.\d{3,6}\] \S|^\S+.* \S+ kernel: \S", re.MULTILINE)
ENOUGH = 5


def read(given: Given) -> list[Reading]:
    """The readings of one text.

    Raises:
        InputError: nothing in it is known.
    """
    found = [reading for reading in recognise.read(given.text) if _says_anything(reading)]
    logged = any(reading.kind == kernel_log.KIND for reading in found)
    if not logged and sum(1 for _ in _LOGGED.finditer(given.text)) >= ENOUGH:
        found.append(Reading(kernel_log.KIND))
    if not found:
        raise InputError(given.name, "", "nothing that is known here", KNOWN)
    return _told_once(found)


def _says_anything(reading: Reading) -> bool:
    values = (
        getattr(reading, one.name) for one in dataclasses.fields(reading) if one.name not in ("kind", "cut")
    )
    return any(value not in (None, [], {}) for value in values)


def _told_once(readings: list[Reading]) -> list[Reading]:
    """Of a kind that goes on after something else only the last part can have broken off."""
    last = {reading.kind: reading for reading in readings}
    for reading in readings:
        if reading is not last[reading.kind]:
            reading.cut = None
    return readings
