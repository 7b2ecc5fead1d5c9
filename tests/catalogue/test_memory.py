"""MEM: memory that somebody holds, and the host's limits, at their edges."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.catalogue import matches
from tests.catalogue.patched import evidence
from tests.catalogue.patched import failing
from tests.catalogue.patched import host
from tests.catalogue.patched import lines
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import saying
from tests.catalogue.patched import states

BASE = "h100-sxm"
TOTAL = 84943044608


def free(share: float | None) -> dict[str, Any]:
    """For `launch`: this share of the card's memory is free."""
    (device,) = evidence(BASE, "launch", "devices")
    return {"devices": [device | {"free_bytes": None if share is None else int(TOTAL * share)}]}


HOLDER = [{"pid": 4127, "name": "python", "memory_bytes": 9 << 30}]


@pytest.mark.parametrize(
    ("share", "processes", "id"),
    [
        (0.05, HOLDER, "MEM-03"),
        (0.05, [], "MEM-04"),
        (0.05, None, "MEM-04"),
        (0.89, HOLDER, "MEM-03"),
        (0.901, HOLDER, None),
        (0.97, [], None),  # contexts of our own
        (None, HOLDER, None),
    ],
)
def test_who_holds_the_memory_of_a_card_is_somebody_or_nobody(
    share: float | None, processes: list[dict[str, Any]] | None, id: str | None
) -> None:
    patch = states(BASE, processes=processes)
    patch["launch"] |= free(share)
    assert named(machine(**patch)) == ([id] if id else [])


def test_a_card_that_was_used_when_nvidia_smi_was_pasted_is_no_fault() -> None:
    """Somebody who posts it may well have his own program running."""
    assert named(machine(**states(BASE, used_bytes=80 << 30, processes=HOLDER, utilisation=100.0))) == []


def test_nobodys_memory_is_ours_to_free_on_our_own_machine_alone() -> None:
    found = {}
    for place in ("root", "container"):
        patch = states(BASE, processes=[])
        patch["launch"] |= free(0.1)
        seen = machine(place=place, **patch)
        found[place] = matches(seen)[0].fault.answer(seen).decision
    assert found == {"root": "fix", "container": "reconfigure"}


def test_a_server_that_finds_the_card_taken_says_so() -> None:
    text = (
        "Free memory on device (7.34/139.72 GiB) on startup is less than desired GPU memory utilization (0.9"
    )
    assert named(machine(launch=saying(text))) == ["MEM-03"]


# -- limits of the host


@pytest.mark.parametrize(
    ("size", "small"), [((1 << 30) - 1, True), (1 << 30, False), (64 << 20, True), (None, False)]
)
def test_a_small_shm_is_said_and_stops_nothing(size: int | None, small: bool) -> None:
    """Whether the application passes anything through it is not known; one without workers does not."""
    found = matches(machine(launch=host(shm_bytes=size, shm_free=size)))
    assert [(match.fault.id, match.fault.blocks) for match in found] == ([("MEM-07", False)] if small else [])


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        "RuntimeError: DataLoader worker (pid 4) is killed by signal: Bus error. It is possible that",
    ],
)
def test_a_worker_that_died_of_a_bus_error_had_no_shared_memory(text: str) -> None:
    assert named(machine(launch=saying(text))) == ["MEM-07"]
    assert named(machine(launch=failing("loader", None, "killed by SIGBUS, at File x.py, line 3 in f"))) == [
        "MEM-07"
    ]
    assert named(machine(launch=failing("loader", None, "killed by SIGSEGV"))) == []


@pytest.mark.parametrize(
    ("base", "free", "ids"),
    [
        ("b200", 19_999_999, ["MEM-08"]),
        ("b200", 20_000_000, []),
        ("h100-sxm", 1_000_000, []),  # one card: NCCL has nobody to talk to
        ("b200", None, []),
    ],
)
def test_what_nccl_needs_is_counted_by_cards(base: str, free: int | None, ids: list[str]) -> None:
    assert named(machine(base, launch=host(shm_free=free, shm_bytes=8 << 30))) == ids


@pytest.mark.parametrize(
    ("files", "few"), [(1024, False), (1023, True), (256, True), (-1, False), (None, False), (1048576, False)]
)
def test_the_customary_limit_of_open_files_is_well(files: int | None, few: bool) -> None:
    assert named(machine(launch=host(nofile=files))) == (["MEM-09"] if few else [])


@pytest.mark.parametrize(
    ("text", "number", "ids"),
    [
        ("OSError: [Errno 24] Too many open files", None, ["MEM-09"]),
        ("RuntimeError: unable to open shared memory object", 24, ["MEM-09"]),
        ("RuntimeError: received 0 items of ancdata", None, []),
        ("ibv_reg_mr(addr=0x7f) failed : Cannot allocate  memory", None, ["MEM-10"]),
        ("OSError: [Errno 12] Cannot allocate memory", None, []),
        ("RuntimeError: cudaHostAlloc failed: out of memory", None, ["MEM-11"]),
        ("RuntimeError: pin_memory failed", None, ["MEM-11"]),
        ("UserWarning: 'pin_memory' argument is set as true but no accelerator is found", None, []),
    ],
)
def test_limits_are_told_by_numbers_and_by_who_met_them(
    text: str, number: int | None, ids: list[str]
) -> None:
    said = saying(text, number=number, number_of="errno" if number else None)
    assert named(machine(launch=said)) == ids


@pytest.mark.parametrize("memlock", [65536, 8 << 20, -1, None])
def test_a_limit_of_locked_memory_that_nobody_met_is_no_fault(memlock: int | None) -> None:
    assert lines("MEM-10", machine(launch=host(memlock=memlock))) == []
