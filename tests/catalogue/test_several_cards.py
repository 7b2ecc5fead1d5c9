"""MGP: what lies between cards, beside machines on which it is well or on which there is only one card."""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalogue.patched import evidence
from tests.catalogue.patched import failing
from tests.catalogue.patched import lines
from tests.catalogue.patched import logged
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import saying

TWO = "b200"


def copies(**facts: Any) -> dict[str, Any]:
    """For `launch`: the copies from the first card to the second say `facts`."""
    found = evidence(TWO, "launch", "transfers")
    way = ("cuda:0", "cuda:1")
    return {"transfers": [one | facts if (one["source"], one["target"]) == way else one for one in found]}


def both(source: str | None = None, **second: Any) -> dict[str, Any]:
    """For `machine`: what is known of the second card says `second`, in all accounts or that of `source`."""
    patch = {}
    for where in ("inventory", "launch"):
        states = evidence(TWO, where, "states")
        patch[where] = {
            "states": [
                one | second if one.get("index") == 1 and source in (None, one["source"]) else one
                for one in states
            ]
        }
    return patch


def test_copies_that_arrive_otherwise_are_the_machines_fault() -> None:
    seen = machine(TWO, launch=copies(exact=False))
    assert named(seen) == ["MGP-02"]
    assert all(line.startswith("cuda:0 to cuda:1") for line in lines("MGP-02", seen))


def test_copies_that_are_wrong_from_the_host_already_are_no_matter_between_cards() -> None:
    found = evidence(TWO, "launch", "transfers")
    assert named(machine(TWO, launch={"transfers": [one | {"exact": False} for one in found]})) == []


def test_a_copy_that_raised_is_neither_wrong_nor_hung() -> None:
    assert (
        named(machine(TWO, launch=copies(exact=None, error="RuntimeError: CUDA error: invalid argument")))
        == []
    )


def test_a_copy_that_hung_is_told_by_its_deadline() -> None:
    hung = copies(exact=None, error="no end within 20 s, at File transfers.py, line 1 in _arrives")
    assert named(machine(TWO, launch=hung)) == ["MGP-01"]


@pytest.mark.parametrize(
    ("active", "inactive", "down"),
    [
        (18, 0, False),
        (17, 1, True),
        (0, 18, True),
        (None, None, False),  # not asked, or not told
    ],
)
def test_links_are_held_against_the_sisters(active: int | None, inactive: int | None, down: bool) -> None:
    seen = machine(TWO, **both("nvml", nvlinks_active=active, nvlinks_inactive=inactive))
    assert ("MGP-04" in named(seen)) is down


@pytest.mark.parametrize(("second", "ids"), [(4, []), (3, ["MGP-04"])])
def test_cards_without_switches_may_have_links_that_are_not_bridged(second: int, ids: list[str]) -> None:
    def bridged(one: dict[str, Any]) -> dict[str, Any]:
        active = second if one["index"] == 1 else 4
        links = {"nvlinks_active": active, "nvlinks_inactive": 12 - active}
        return one | links | {"fabric_state": None, "name": "NVIDIA A100 80GB PCIe"}

    inventory = {"states": [bridged(one) for one in evidence(TWO, "inventory", "states")]}
    assert named(machine(TWO, inventory=inventory, launch={"states": []})) == ids


@pytest.mark.parametrize(
    ("name", "index", "active", "inactive", "ids"),
    [
        ("Tesla V100-SXM2-32GB", 3, 4, 2, ["MGP-04"]),
        ("NVIDIA H100 80GB HBM3", 3, 17, 1, ["MGP-04"]),
        ("Tesla V100-SXM2-32GB", 3, 6, 0, []),
        ("Tesla V100-SXM2-32GB", 3, 0, 6, []),
        ("Tesla V100-SXM2-32GB", 0, 4, 2, []),  # maybe there is no other card
        ("NVIDIA A100 80GB PCIe", 3, 4, 8, []),
        ("NVIDIA RTX A6000", 1, 0, 4, []),
    ],
)
def test_on_a_board_every_link_is_used(
    name: str, index: int, active: int, inactive: int, ids: list[str]
) -> None:
    one = {"source": "nvidia-smi nvlink -s", "index": index, "name": name}
    links = {"nvlinks_active": active, "nvlinks_inactive": inactive}
    seen = machine(inventory={"states": []}, launch={"states": [one | links], "devices": []})
    assert [id for id in named(seen) if id.startswith("MGP")] == ids


def test_a_machine_whose_links_are_all_down_has_none() -> None:
    states = [
        one | {"nvlinks_active": 0, "nvlinks_inactive": 18} for one in evidence(TWO, "inventory", "states")
    ]
    launch = [one | {"nvlinks_active": None} for one in evidence(TWO, "launch", "states")]
    assert named(machine(TWO, inventory={"states": states}, launch={"states": launch})) == []


def test_a_link_of_amds_cards_is_told_by_the_log_and_one_of_nvidias_by_its_number() -> None:
    event = {
        "kind": "xgmi",
        "number": None,
        "pci": None,
        "text": "amdgpu: 2 uncorrectable hardware errors detected in xgmi",
    }
    assert named(machine("mi300x", inventory={"kernel_log": {"error": None, "events": [event]}})) == [
        "MGP-04"
    ]
    assert named(machine(inventory=logged(74))) == ["MGP-04"]


@pytest.mark.parametrize(
    ("state", "status", "refused"),
    [
        ("Completed", "Success", False),
        ("Completed", "Insufficient Resources", True),
        ("completed", "Unknown Error", True),
        ("Completed", "error 15", True),
        ("N/A", "N/A", False),  # a PCIe card
        ("Completed", "N/A", False),
        ("In Progress", "N/A", False),
        ("In Progress", "Unknown Error", False),  # not yet
        (None, None, False),
    ],
)
def test_a_fabric_that_refused_a_card_says_so_in_its_status(
    state: str | None, status: str | None, refused: bool
) -> None:
    seen = machine(TWO, **both("nvidia-smi -q", fabric_state=state, fabric_status=status))
    assert ("MGP-05" in named(seen)) is refused


def test_one_card_needs_no_fabric_and_without_cuda_it_is_another_fault() -> None:
    states = [one | {"fabric_status": "Unknown Error"} for one in evidence("h100-sxm", "launch", "states")]
    assert lines("MGP-05", machine(launch={"states": states})) == []
    refused = both(fabric_state="Completed", fabric_status="Unknown Error")
    refused["launch"] |= saying(
        "Error 802: system not yet initialized", "driver", number=802, number_of="cuda"
    )
    found = named(machine(TWO, **refused))
    assert (found[0], "MGP-05" in found) == ("DRV-02", False)


@pytest.mark.parametrize(
    ("name", "rate", "slow"),
    [
        ("NVIDIA GeForce RTX 4090", 7.8e9, True),
        ("NVIDIA GeForce RTX 4090", 7.9e9, False),  # a quarter of 16 lanes of generation 4 is 7.88 GB/s
        ("NVIDIA GeForce RTX 4090", 24e9, False),
        ("NVIDIA RTX 6000 Ada Generation", 5e9, False),
    ],
)
def test_the_way_between_geforce_cards_is_measured_and_never_inferred(
    name: str, rate: float, slow: bool
) -> None:
    card = evidence("rtx-4090", "launch", "devices")[0] | {"name": name}
    size = 64 << 20
    way = {
        "source": "cuda:0",
        "target": "cuda:1",
        "bytes": size,
        "exact": True,
        "error": None,
        "seconds": size / rate,
    }
    small = way | {"bytes": 4097, "seconds": 0.01}
    launch = {"devices": [card, card | {"index": 1}], "transfers": [way, small]}
    assert bool(lines("MGP-06", machine("rtx-4090", launch=launch))) is slow


OOM = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB"


def test_memory_that_is_missing_on_the_first_card_only_is_not_one_memory() -> None:
    devices = [one | {"free_bytes": one["memory_bytes"]} for one in evidence(TWO, "launch", "devices")]
    full = [devices[0], devices[1] | {"free_bytes": devices[1]["memory_bytes"] // 2}]
    alone = [*devices[:1]]
    assert lines("MGP-03", machine(TWO, launch=failing("model", OOM) | {"devices": devices}))
    assert not lines("MGP-03", machine(TWO, launch=failing("model", OOM) | {"devices": full}))
    assert not lines("MGP-03", machine(launch=failing("model", OOM) | {"devices": alone}))


def test_a_watchdog_that_ended_a_run_is_about_its_batches() -> None:
    text = "[Rank 1] Watchdog caught  collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)"
    assert named(machine(TWO, launch=saying(text))) == ["MGP-07"]


@pytest.mark.parametrize(
    ("value", "on"), [("0", True), ("false", True), ("OFF", True), ("1", False), (None, False)]
)
def test_a_switch_that_is_asked_for_by_its_name_is_on_when_it_says_off(value: str | None, on: bool) -> None:
    seen = machine(launch={"variables": {"PYTORCH_NO_CUDA_MEMORY_CACHING": value, "NCCL_P2P_DISABLE": "0"}})
    assert named(seen) == (["MGP-09"] if on else [])
