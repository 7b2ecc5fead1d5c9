"""MEM: memory of the cards that somebody holds, and the limits of the host that a card's programs run into.

What an application needs shows only when it runs (MEM-01, 02, 05, 06, 12): the suite samples that during the pilot.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from fixtures.evidence.models import TorchDevice
from plugins.catalogue.extensions import told
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.seen import Seen
from plugins.catalogue.several_cards import number_of_cards
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import system_error
from plugins.catalogue.signatures import unless

#: of a card's memory; a context of our own and the driver's share take a few hundredths at most
FREE = 0.9
#: what data loaders pass through /dev/shm soon exceeds the 64 MB that a container has by default
SHM_BYTES = 1 << 30
#: NCCL's segments in /dev/shm, for each card
NCCL_BYTES = 10_000_000
#: the customary soft limit; below it even a few workers and their pipes do not fit
FILES = 1024


def _is_held(device: TorchDevice) -> bool:
    return (
        device.free_bytes is not None
        and device.memory_bytes is not None
        and device.free_bytes < FREE * device.memory_bytes
    )


def holders(seen: Seen, device: TorchDevice) -> list[str]:
    """The processes that any source shows on that card."""
    found = {}
    for state in [*seen.inventory.states, *seen.launch.states]:
        same = state.uuid == device.uuid if state.uuid and device.uuid else state.index == device.index
        for process in (state.processes or []) if same else []:
            found[process.pid] = f"{process.pid} {process.name or ''}".strip()
    return list(found.values())


def _held(device: TorchDevice) -> str:
    free, total = (device.free_bytes or 0) / 2**30, (device.memory_bytes or 0) / 2**30
    return f"cuda:{device.index}: {free:.1f} of {total:.1f} GiB free before anything was loaded"


def held_by_known(seen: Seen) -> Iterator[str]:
    for device in filter(_is_held, seen.launch.devices):
        known = holders(seen, device)
        if known:
            yield f"{_held(device)}; process {', '.join(known)}"


def held_by_unknown(seen: Seen) -> Iterator[str]:
    for device in filter(_is_held, seen.launch.devices):
        if not holders(seen, device):
            yield f"{_held(device)}; no process is shown on it"


def small_shm(seen: Seen) -> str | None:
    size = seen.host.shm_bytes
    return f"/dev/shm has {size / 2**20:.0f} MiB" if size is not None and size < SHM_BYTES else None


def shm_below_nccl(seen: Seen) -> str | None:
    cards, free = number_of_cards(seen), seen.host.shm_free
    if cards < 2 or free is None or free >= cards * NCCL_BYTES:
        return None
    return f"/dev/shm has {free / 1e6:.0f} MB free, and {cards} cards need {cards * NCCL_BYTES / 1e6:.0f} MB"


def few_files(seen: Seen) -> str | None:
    files = seen.host.nofile
    return f"at most {files} open files" if files is not None and 0 <= files < FILES else None


_NCCL_SHM = any_of(
    said(r"posix_fallocate failed.{0,20}no space left|/dev/shm/nccl-\S+.{0,80}(?:no space|size \d+)"),
    fact(shm_below_nccl),
)

FAULTS = [
    Fault(
        id="MEM-03",
        step="device",
        signature=any_of(
            facts(held_by_known),
            said(r"free memory on device.{0,80}is less than desired gpu memory utilization"),
        ),
        cause="another process holds much of the card's memory already",
        root=Answer("fix", "the process that holds it, often a left-over one of your own: end it"),
        container=Answer("fix", "the process that holds it, often a left-over one of your own: end it"),
        confirm="nvidia-smi shows the memory free once that process has ended",
        source="https://github.com/vllm-project/vllm/issues/23192",
    ),
    Fault(
        id="MEM-04",
        step="device",
        signature=facts(held_by_unknown),
        cause="much of the card's memory is taken, and no process is shown that holds it: a dead one, or a neighbour's",
        root=Answer(
            "fix", "whoever holds the card, as fuser -v /dev/nvidia* tells: end it, or restart the machine"
        ),
        container=Answer("reconfigure", "the host: a neighbour, or a dead process, holds memory of the card"),
        confirm="the memory stays taken after 60 s and after the container is started again",
        source="https://github.com/PaddlePaddle/PaddleOCR/issues/2074",
    ),
    Fault(
        id="MEM-09",
        step="host",
        signature=any_of(fact(few_files), system_error(errno.EMFILE), said(r"too many open files")),
        cause="a process may open too few files: data loaders keep one for each tensor that they hand over",
        root=Answer("fix", "the limit of open files: ulimit -n 65536 before the start"),
        container=Answer("fix", "the limit of open files: ulimit -n 65536 before the start"),
        confirm="ulimit -n in the shell that starts the application; the files in /proc/PID/fd grow",
        source="https://github.com/pytorch/pytorch/issues/11201",
    ),
    Fault(
        id="MEM-08",
        step="host",
        signature=_NCCL_SHM,
        cause="/dev/shm is too small for what NCCL puts there for each card: several cards together do not start",
        root=Answer("fix", "/dev/shm: --shm-size=8g or --ipc=host for the container, or a remount"),
        container=Answer("fix", "/dev/shm: --shm-size=8g or --ipc=host for the container"),
        confirm="with NCCL_SHM_DISABLE=1 it starts; ls /dev/shm/nccl-* shows what earlier runs have left",
        source="https://github.com/NVIDIA/nccl/issues/290",
        blocks=False,  # the cards may work each for itself
    ),
    Fault(
        id="MEM-07",
        step="host",
        signature=unless(
            any_of(
                fact(small_shm),
                told(
                    r"unexpected bus error|insufficient shared memory|killed by signal: bus error|killed by SIGBUS"
                ),
            ),
            _NCCL_SHM,
        ),
        cause="/dev/shm is small: data loaders with workers pass their batches through it, and die of a bus error when "
        "it is full",
        root=Answer("fix", "/dev/shm: --shm-size=8g or --ipc=host for the container, or num_workers=0"),
        container=Answer("fix", "/dev/shm: --shm-size=8g or --ipc=host for the container, or num_workers=0"),
        confirm="df -h /dev/shm while it runs; with num_workers=0 it does not die",
        source="https://github.com/pytorch/pytorch/issues/5040",
        blocks=False,  # an application without workers does not touch it, and the pilot shows whether it does
    ),
    Fault(
        id="MEM-10",
        step="extensions",
        signature=told(
            r"ibv_reg_mr\w*.{0,120}cannot allocate memory|cannot allocate memory.{0,60}ibv_reg_mr"
        ),
        cause="memory cannot be locked for the network card: the limit of locked memory is too low in this process",
        root=Answer("fix", "the limit of locked memory: unlimited (--ulimit memlock=-1)"),
        container=Answer("fix", "the limit of locked memory: unlimited (--ulimit memlock=-1)"),
        confirm="ulimit -l in the process that was started, not in another shell",
        source="https://github.com/openucx/ucx/issues/8229",
    ),
    Fault(
        id="MEM-11",
        step="extensions",
        signature=told(
            r"(?:cuda|hip)(?:malloc)?host(?:alloc|malloc)?\b.{0,80}(?:fail|error|out of memory|invalid)"
            r"|(?:fail|error).{0,60}\b(?:cuda|hip)(?:hostalloc|mallochost|hostmalloc)\b"
            r"|pin(?:ned)?[_ ]memory.{0,80}(?:cuda error|failed|out of memory)"
            r"|(?:cuda error|out of memory|failed).{0,80}\bpin(?:ned)?[_ ]memory"
        ),
        cause="the platform allows little memory of the host to be pinned for the card, as containers and WSL do",
        root=Answer("fix", "pin_memory=False, or smaller buffers"),
        container=Answer("fix", "pin_memory=False, or smaller buffers"),
        confirm="torch.empty(2**30, dtype=torch.uint8).pin_memory() fails, and 2**28 does not",
        source="https://github.com/NVIDIA/nvidia-docker/issues/1725",
    ),
]
