"""What was not given, and what it would tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fixtures.readings.reading import Reading
from plugins.diagnose import evidence

#: what no text can show
NEVER = (
    "whether a card computes right, repeats itself, and copies to and from the host without loss: the suite on the "
    "machine tells that"
)


@dataclass(frozen=True)
class Output:
    """One output that people can give: the kinds that stand for it, whose cards it is of, and what it tells."""

    kinds: tuple[str, ...]
    vendor: str | None
    command: str
    tells: str


OUTPUTS = (
    Output(("collect_env",), None, "python -m torch.utils.collect_env",
           "which torch there is, what it was built for, whether it sees a card"),
    Output(("nvidia-smi -q",), "nvidia", "nvidia-smi -q",
           "memory errors, pending repairs, throttling, link, fabric, MIG and licence of each card"),
    Output(("nvidia-smi", "nvidia-smi -q"), "nvidia", "nvidia-smi", "the driver, the cards and who uses them"),
    Output(("rocminfo",), "amd", "rocminfo", "whether this user may use the cards, and their gfx names"),
    Output(("rocm-smi",), "amd", "rocm-smi --showallinfo", "memory, power, errors and modes of each card"),
    Output(("amd-smi",), "amd", "amd-smi static --partition", "whether the cards are divided"),
    Output(("the kernel's log",), None, "dmesg, as root", "Xid and other errors of the cards, processes killed"),
    Output(("a list of packages",), None, "python -m pip list", "versions of the extensions beside torch"),
    Output(("environment variables",), None, "env", "variables that hide cards or put other libraries first"),
    Output(("an error",), None, "the error's whole text", "what failed first, and at which step"),
)  # fmt: skip


def missing(readings: Sequence[Reading]) -> list[Output]:
    """Those of the vendors that anything speaks of; of both where nothing does."""
    kinds = {reading.kind for reading in readings}
    speaks = evidence.vendors(readings) or {"nvidia", "amd"}
    return [
        one for one in OUTPUTS if not kinds & set(one.kinds) and (one.vendor is None or one.vendor in speaks)
    ]
