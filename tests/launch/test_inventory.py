"""The inventory of recorded machines, and of libraries that answer well, badly or never."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures import inventory
from fixtures import vendors
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Witness

NVIDIA, AMD = "0x10de", "0x1002"


class NVMLError(Exception):
    pass


class NVMLError_NoPermission(NVMLError):
    pass


class NVMLError_GpuIsLost(NVMLError):
    pass


class NVMLError_NotSupported(NVMLError):
    pass


class Nvml:
    """A pynvml of straw: H200 cards, of which some are faulty."""

    NVMLError, NVMLError_NoPermission = NVMLError, NVMLError_NoPermission

    def __init__(self, count: int = 2, faults: dict[int, NVMLError] | None = None, old: bool = False) -> None:
        self.count, self.faults, self.closed = count, faults or {}, False
        self.text = (lambda value: value.encode()) if old else (lambda value: value)

    def nvmlInit(self) -> None:
        pass

    def nvmlShutdown(self) -> None:
        self.closed = True

    def nvmlSystemGetDriverVersion(self) -> Any:
        return self.text("570.86.15")

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index in self.faults:
            raise self.faults[index]
        return index

    def nvmlDeviceGetName(self, handle: int) -> Any:
        return self.text("NVIDIA H200")

    def nvmlDeviceGetUUID(self, handle: int) -> Any:
        return self.text(f"GPU-{handle}")

    def nvmlDeviceGetPciInfo(self, handle: int) -> Any:
        return SimpleNamespace(busId=self.text(f"00000000:{handle + 0x1A:02X}:00.0"))

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=141 << 30)

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        raise NVMLError_NotSupported("Not Supported")


class Amdsmi:
    """An amdsmi of straw with one MI300X."""

    AmdSmiMemoryType = SimpleNamespace(VRAM=0)

    def amdsmi_init(self) -> None:
        pass

    def amdsmi_shut_down(self) -> None:
        pass

    def amdsmi_get_processor_handles(self) -> list[int]:
        return [7]

    def amdsmi_get_gpu_asic_info(self, handle: int) -> dict[str, Any]:
        return {"market_name": "AMD Instinct MI300X OAM", "asic_serial": "0x9A8C7F50D1E2A4BC"}

    def amdsmi_get_gpu_memory_total(self, handle: int, kind: int) -> int:
        return 192 << 30

    def amdsmi_get_gpu_driver_info(self, handle: int) -> dict[str, str]:
        return {"driver_version": "6.10.5"}

    def amdsmi_get_gpu_device_bdf(self, handle: int) -> str:
        return "0000:C1:00.0"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], None]:
    """Puts a library of straw, or None for no such package, in the place of the real one."""
    return lambda name, library: monkeypatch.setitem(sys.modules, name, library)


@pytest.fixture(autouse=True)
def no_library(install: Callable) -> None:
    """A machine with cards must not show its own in the recorded ones."""
    install("pynvml", None)
    install("amdsmi", None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A recorded machine without cards."""
    write(tmp_path, {"proc/meminfo": "MemTotal:       65536 kB\n", "proc/sys/kernel/osrelease": "5.15.0-9\n"})
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    device(tmp_path, "0000:00:00.0", "0x8086", "0x060000")
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def device(root: Path, address: str, vendor: str, kind: str) -> None:
    folder = f"sys/bus/pci/devices/{address}"
    write(root, {f"{folder}/vendor": f"{vendor}\n", f"{folder}/class": f"{kind}\n"})


def two_nvidia(root: Path) -> None:
    device(root, "0000:1a:00.0", NVIDIA, "0x030200")
    device(root, "0000:1b:00.0", NVIDIA, "0x030000")


def mi300x(root: Path) -> None:
    device(root, "0000:c1:00.0", AMD, "0x120000")
    nodes = "sys/class/kfd/kfd/topology/nodes"
    write(
        root,
        {
            "sys/bus/pci/devices/0000:c1:00.0/product_name": "AMD Instinct MI300X OAM\n",
            "sys/module/amdgpu/version": "6.10.5\n",
            f"{nodes}/0/properties": "cpu_cores_count 96\nsimd_count 0\n",
            f"{nodes}/1/properties": (
                "cpu_cores_count 0\nsimd_count 1216\nvendor_id 4098\nlocation_id 49408\ndomain 0\n"
                f"gfx_target_version 90402\nunique_id {0x9A8C7F50D1E2A4BC}\n"
            ),
            f"{nodes}/1/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {192 << 30}\n",
        },
    )


def witness(seen: Inventory, name: str) -> Witness:
    return next(one for one in seen.witnesses if one.name == name)


def test_a_machine_without_cards_has_none_and_every_source_says_why(root: Path) -> None:
    seen = inventory.observe(root)
    assert (seen.cards, seen.driver) == ([], None)
    assert [(one.name, one.answered) for one in seen.witnesses] == [
        ("nvml", False), ("amdsmi", False), ("kfd", False), ("pci", True),
        ("nvidia kernel module", False), ("amd kernel module", False),
    ]  # fmt: skip
    assert all(one.detail for one in seen.witnesses)
    assert witness(seen, "pci").detail == "no card on the bus"


def test_cards_are_found_on_the_bus_when_no_library_answers(root: Path) -> None:
    two_nvidia(root)
    seen = inventory.observe(root)
    assert [(card.index, card.vendor, card.pci, card.source) for card in seen.cards] == [
        (0, "nvidia", "0000:1a:00.0", "pci"),
        (1, "nvidia", "0000:1b:00.0", "pci"),
    ]
    assert witness(seen, "pci").detail == "2 NVIDIA devices on the bus"


@pytest.mark.parametrize(
    ("vendor", "kind"),
    [
        (NVIDIA, "0x040300"),
        (NVIDIA, "0x068000"),
        (NVIDIA, "0x0c0330"),
        (AMD, "0x040300"),
        ("0x1a03", "0x030000"),
    ],
    ids=["audio", "switch", "USB", "audio of AMD", "the board's own display"],
)
def test_what_is_no_card_is_not_counted(vendor: str, kind: str, root: Path) -> None:
    device(root, "0000:1a:00.1", vendor, kind)
    assert inventory.observe(root).cards == []


def test_an_amd_card_is_read_from_the_compute_driver(root: Path) -> None:
    mi300x(root)
    seen = inventory.observe(root)
    (card,) = seen.cards
    assert (card.vendor, card.name, card.source) == ("amd", "AMD Instinct MI300X OAM", "kfd")
    assert (card.pci, card.memory_bytes) == ("0000:c1:00.0", 192 << 30)
    assert card.uuid == "GPU-9a8c7f50d1e2a4bc"
    assert seen.driver == "6.10.5"
    assert witness(seen, "pci").detail == "1 AMD device on the bus"


def test_an_amd_card_without_a_product_name_is_called_by_its_architecture(root: Path) -> None:
    mi300x(root)
    (root / "sys/bus/pci/devices/0000:c1:00.0/product_name").unlink()
    assert inventory.observe(root).cards[0].name == "gfx942"


def test_a_node_that_cannot_be_read_is_not_for_this_container(root: Path) -> None:
    mi300x(root)
    write(root, {"sys/class/kfd/kfd/topology/nodes/2/properties": ""})
    seen = inventory.observe(root)
    assert len(seen.cards) == 1
    assert witness(seen, "kfd").detail == "1 card; node 2 cannot be read: not for this container"


@pytest.mark.parametrize("old", [False, True], ids=["text", "bytes"])
def test_the_library_of_nvidia_tells_all_of_a_card(old: bool, root: Path, install: Callable) -> None:
    library = Nvml(old=old)
    install("pynvml", library)
    seen = inventory.observe(root)
    assert seen.driver == "570.86.15"
    assert [card.index for card in seen.cards] == [0, 1]
    card = seen.cards[1]
    assert (card.name, card.uuid, card.pci) == ("NVIDIA H200", "GPU-1", "0000:1b:00.0")
    assert (card.memory_bytes, card.source) == (141 << 30, "nvml")
    assert witness(seen, "nvml") == Witness(name="nvml", answered=True, detail="2 cards")
    assert library.closed


def test_the_library_has_the_word_over_the_bus(root: Path, install: Callable) -> None:
    two_nvidia(root)
    install("pynvml", Nvml(count=1))
    seen = inventory.observe(root)
    assert [card.source for card in seen.cards] == ["nvml"]
    assert witness(seen, "pci").detail == "2 NVIDIA devices on the bus"


def test_a_library_that_sees_no_card_has_the_word_too(root: Path, install: Callable) -> None:
    two_nvidia(root)
    install("pynvml", Nvml(count=0))
    seen = inventory.observe(root)
    assert seen.cards == []
    assert witness(seen, "nvml").detail == "0 cards"


def test_the_small_amd_card_in_a_processor_is_not_counted_beside_nvidias(
    root: Path, install: Callable
) -> None:
    device(root, "0000:0e:00.0", AMD, "0x030000")
    install("pynvml", Nvml(count=1))
    assert [card.vendor for card in inventory.observe(root).cards] == ["nvidia"]


def test_a_card_that_is_lost_is_still_counted(root: Path, install: Callable) -> None:
    install("pynvml", Nvml(faults={1: NVMLError_GpuIsLost("GPU is lost")}))
    seen = inventory.observe(root)
    assert [(card.index, card.name) for card in seen.cards] == [(0, "NVIDIA H200"), (1, None)]
    assert witness(seen, "nvml").detail == "2 cards; card 1: GpuIsLost: GPU is lost"


def test_a_card_of_somebody_else_is_not_counted(root: Path, install: Callable) -> None:
    install("pynvml", Nvml(faults={0: NVMLError_NoPermission("Insufficient Permissions")}))
    seen = inventory.observe(root)
    assert [card.index for card in seen.cards] == [1]
    assert "card 0 belongs to somebody else" in witness(seen, "nvml").detail


def test_one_fact_that_is_missing_costs_no_card(
    root: Path, install: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Nvml, "nvmlDeviceGetMemoryInfo", Nvml.nvmlDeviceGetMigMode)
    install("pynvml", Nvml(count=1))
    seen = inventory.observe(root)
    assert (seen.cards[0].name, seen.cards[0].memory_bytes) == ("NVIDIA H200", None)
    assert witness(seen, "nvml").detail == "1 card; card 0 memory: NotSupported: Not Supported"


def test_a_divided_card_is_noted(root: Path, install: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nvml, "nvmlDeviceGetMigMode", lambda self, handle: [1, 1])
    install("pynvml", Nvml(count=1))
    assert witness(inventory.observe(root), "nvml").detail == "1 card; card 0 is divided (MIG)"


def test_a_driver_that_was_exchanged_under_the_library_is_an_observation(
    root: Path, install: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mismatch(self: Nvml) -> None:
        raise NVMLError("Driver/library version mismatch")

    two_nvidia(root)
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 2024\n"
    write(root, {"proc/driver/nvidia/version": line})
    monkeypatch.setattr(Nvml, "nvmlInit", mismatch)
    install("pynvml", Nvml())
    seen = inventory.observe(root)
    assert witness(seen, "nvml").detail == "NVML: Driver/library version mismatch"
    assert not witness(seen, "nvml").answered
    assert [card.source for card in seen.cards] == ["pci", "pci"]
    assert seen.driver == "550.54.15"


def test_a_driver_that_never_answers_is_left_behind(
    root: Path, install: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendors, "LIBRARY_DEADLINE_S", 0.1)
    monkeypatch.setattr(Nvml, "nvmlInit", lambda self: time.sleep(0.5))
    install("pynvml", Nvml())
    seen = inventory.observe(root)
    assert seen.cards == []
    assert witness(seen, "nvml").detail == "no answer within 0.1 s"


def test_the_library_of_amd_is_asked_where_it_is_installed(root: Path, install: Callable) -> None:
    mi300x(root)
    install("amdsmi", Amdsmi())
    (card,) = (seen := inventory.observe(root)).cards
    assert (card.name, card.source) == ("AMD Instinct MI300X OAM", "amdsmi")
    assert (card.uuid, card.pci, card.memory_bytes) == ("GPU-9a8c7f50d1e2a4bc", "0000:c1:00.0", 192 << 30)
    assert seen.driver == "6.10.5"


def test_a_broken_library_of_amd_leaves_the_word_to_the_kernel(
    root: Path, install: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Amdsmi) -> None:
        raise RuntimeError("34")

    mi300x(root)
    monkeypatch.setattr(Amdsmi, "amdsmi_init", broken)
    install("amdsmi", Amdsmi())
    seen = inventory.observe(root)
    assert [card.source for card in seen.cards] == ["kfd"]
    assert witness(seen, "amdsmi").detail == "RuntimeError: 34"


def test_the_host_is_read_from_the_root(root: Path) -> None:
    write(root, {"proc/sys/kernel/random/boot_id": "b-o-o-t\n"})
    host = inventory.observe(root).host
    assert (host.kernel, host.memory_bytes, host.boot_id) == ("5.15.0-9", 65536 * 1024, "b-o-o-t")
    assert host.cpus >= 1
    assert host.container is None


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        (".dockerenv", "", "docker"),
        ("run/.containerenv", "engine=podman", "podman"),
        ("proc/1/cgroup", "0::/kubepods.slice/pod1\n", "kubernetes"),
        ("proc/1/cgroup", "3:cpu:/docker/0123\n", "docker"),
        ("proc/1/cgroup", "0::/lxc.payload.x\n", "lxc"),
        ("proc/1/cgroup", "0::/system.slice/containerd.service\n", "container"),
        ("proc/1/cgroup", "0::/init.scope\n", None),
    ],
)
def test_a_container_is_known_by_its_marks(file: str, text: str, kind: str | None, root: Path) -> None:
    write(root, {file: text})
    assert inventory.observe(root).host.container == kind


def test_a_root_that_holds_nothing_is_an_observation_too(tmp_path: Path) -> None:
    seen = inventory.observe(tmp_path / "nothing")
    assert seen.cards == []
    assert not any(one.answered for one in seen.witnesses)
    assert seen.host.memory_bytes > 0


def test_this_machine_is_looked_at_in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pynvml")
    monkeypatch.delitem(sys.modules, "amdsmi")
    begun = time.process_time()
    seen = inventory.observe()
    if not seen.cards:
        assert time.process_time() - begun < 0.05
