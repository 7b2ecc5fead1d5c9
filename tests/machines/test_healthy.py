"""The healthy recorded machines: complete, of one piece, and honest about where they come from."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from fixtures.evidence.models import STEPS
from tests.machines import records
from tests.machines.records import Recorded

FILES = sorted((records.MACHINES / "healthy").glob("*.json"))
MACHINES = records.healthy()

#: what issue 4 names
WANTED = {
    "h100-sxm", "h100-pcie", "h200", "b200", "a100-40", "a100-80", "l40s", "rtx-4090", "rtx-5090", "t4",
    "mi300x", "mi325x",
}  # fmt: skip
KEYS = {"name", "what", "measured", "sources", "built", "order", "inventory", "launch", "container"}


def _record(path: Any) -> dict[str, Any]:
    record: dict[str, Any] = records.load(path)
    return record


def test_every_model_that_is_rented_out_is_there_once_under_its_own_name() -> None:
    names = [_record(path)["name"] for path in FILES]
    assert names == [path.stem for path in FILES]
    assert set(names) >= WANTED
    boots = [_record(path)["inventory"]["host"]["boot_id"] for path in FILES]
    assert len(set(boots)) == len(boots)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_record_says_where_it_comes_from_and_whether_it_was_measured(path: Any) -> None:
    record = _record(path)
    assert set(record) >= KEYS
    assert record["sources"]
    assert any(source.startswith("https://") for source in record["sources"])
    # of some public files the search index keeps no address: those are described
    assert all(source.startswith(("https://", "a public ")) for source in record["sources"])
    assert "filled in by us" in record["built"].casefold() or record["measured"]
    assert record["measured"] is False or "measured on" in record["built"]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_healthy_machine_fits_the_models_as_a_machine_and_as_a_container(machine: Recorded) -> None:
    seen = machine.seen
    assert seen.in_charge is (machine.place == "root")
    assert [step.name for step in seen.launch.steps] == list(STEPS)
    assert seen.launch.first_failure() is None
    assert seen.launch.said == []
    assert seen.launch.retried == []
    assert seen.launch.duplicates == []
    assert seen.events == []


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_everybody_who_counts_the_cards_counts_the_same_ones(machine: Recorded) -> None:
    inventory, launch, order = machine.seen.inventory, machine.seen.launch, machine.seen.order
    assert order is not None
    assert launch.driver is not None
    cards = [(card.index, card.uuid) for card in inventory.cards]
    assert [(device.index, device.uuid) for device in launch.devices] == cards
    assert len(cards) == order.cards
    on_the_bus = {device.address for device in launch.driver.pci or []}
    assert {card.pci for card in inventory.cards} <= on_the_bus
    for state in machine.seen.states:
        assert state.index in {index for index, _ in cards}
        assert state.uuid in {None, *(uuid for _, uuid in cards)}
        assert state.memory_bytes in {None, *(card.memory_bytes for card in inventory.cards)}
    for device, card in zip(launch.devices, inventory.cards, strict=True):
        assert device.memory_bytes
        assert card.memory_bytes
        # CUDA and HIP show less than the card has, by what the driver keeps
        assert 0.95 * card.memory_bytes < device.memory_bytes <= card.memory_bytes


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_every_card_has_computed_rightly_and_got_every_bit(machine: Recorded) -> None:
    launch = machine.seen.launch
    names = [f"cuda:{device.index}" for device in launch.devices]
    assert {one.device for one in launch.computations} == set(names)
    for one in launch.computations:
        assert one.finite
        assert one.error is not None
        assert one.error <= one.tolerance
        assert one.raised is None
        assert one.equal is not False
        assert one.reference_norm > 0
    of_cards = [
        {(one.operation, one.dtype, one.digest) for one in launch.computations if one.device == name}
        for name in names
    ]
    assert all(found == of_cards[0] for found in of_cards)  # equal cards give equal bits
    assert {"float32"} < {one.dtype for one in launch.computations}
    ways = {*(("host", name) for name in names), *permutations(names, 2)}
    assert {(one.source, one.target) for one in launch.transfers} >= ways
    assert all(one.exact and one.error is None for one in launch.transfers)
    assert [(one.device, one.error) for one in launch.second] == [(name, None) for name in names]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_torch_is_built_for_the_card_and_the_driver(machine: Recorded) -> None:
    launch, driver = machine.seen.launch, machine.seen.driver
    assert launch.torch is not None
    assert launch.distributions["torch"] == launch.torch.version == launch.torch.metadata_version
    assert driver.module_version == machine.seen.inventory.driver
    for device in launch.devices:
        assert device.capability is not None
        assert _runs_on(device.capability, launch.torch.architectures or [])
    if launch.device == "cuda":
        assert driver.library_version == driver.module_version
        assert driver.cuda is not None
        assert (driver.cuda.code, driver.cuda.version) == (0, launch.cuda_driver)
        # within one major release any driver serves any toolkit
        assert str(launch.torch.cuda).partition(".")[0] == str(launch.cuda_driver).partition(".")[0]


def _runs_on(capability: str, architectures: list[str]) -> bool:
    """The architecture itself, or code for a lower one of the same major release."""
    if capability.startswith("gfx"):
        return capability.partition(":")[0] in architectures
    major, minor = map(int, capability.split("."))
    built = [one.removeprefix("sm_") for one in architectures if one.startswith("sm_")]
    return any(int(one[:-1]) == major and int(one[-1]) <= minor for one in built)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_what_a_container_hides_is_not_known_there_and_somebody_is_named_who_knows(machine: Recorded) -> None:
    log, unseen = machine.seen.host.kernel_log, machine.seen.launch.unseen
    assert log is not None
    if machine.place == "root":
        assert log.error is None
        return
    assert log.error is not None
    assert "not permitted" in log.error
    assert any("kernel" in one.what and one.who for one in unseen)
    assert machine.seen.host.container == machine.seen.inventory.host.container == "docker"


def test_no_record_holds_a_name_of_a_person_or_a_host_or_a_path_of_this_machine() -> None:
    for path in FILES:
        text = json.dumps(
            {key: value for key, value in _record(path).items() if key not in ("sources", "built")}
        )
        assert [word for word in ("/home/", "hostname", "@") if word in text] == []
