"""How a card is, as a library or the kernel tells it: what it does not tell is unknown, and never zero."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures import clocks
from fixtures import states
from fixtures.cards import Worked
from fixtures.evidence.ladder import UnderLoad

GIB = 1 << 30


class NotSupported(Exception):
    pass


class Nvml:
    """A library that answers what it was given, and raises for everything else."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {f"nvmlDeviceGet{name}": value for name, value in answers.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def ask(handle: object, *more: Any) -> Any:
            if name not in self.answers:
                raise NotSupported(name)
            value = self.answers[name]
            return value(*more) if callable(value) else value

        return ask


def links(number: int) -> int:
    if number >= 4:
        raise NotSupported
    return int(number != 2)


WHOLE = Nvml(
    Name=b"NVIDIA H100 80GB HBM3",
    MemoryInfo=SimpleNamespace(total=80 * GIB, used=2 * GIB),
    RemappedRows=(0, 1, 1, 0),
    CudaComputeCapability=(9, 0),
    MigMode=(0, 0),
    NvLinkState=links,
    PowerManagementLimitConstraints=(200_000, 700_000),
    RetiredPagesPendingStatus=0,
    TotalEccErrors=lambda kind, counter: {0: 7, 1: 3}[kind],
    CurrentClocksThrottleReasons=0x4 | 0x40,
    CurrPcieLinkGeneration=5,
    CurrPcieLinkWidth=8,
    MaxPcieLinkWidth=16,
    PowerUsage=350_500,
    Temperature=61,
    UtilizationRates=SimpleNamespace(gpu=97),
    ComputeMode=3,
    VirtualizationMode=1,
    ComputeRunningProcesses=[
        SimpleNamespace(pid=12, usedGpuMemory=GIB),
        SimpleNamespace(pid=13, usedGpuMemory=clocks.UNKNOWN),
    ],
)


def test_what_nvml_tells_of_a_card_is_kept_in_its_units() -> None:
    seen = states.of_nvml(WHOLE, object(), 1)
    assert (seen.name, seen.index, seen.architecture) == ("NVIDIA H100 80GB HBM3", 1, "9.0")
    assert (seen.memory_bytes, seen.used_bytes) == (80 * GIB, 2 * GIB)
    assert (seen.remap_pending, seen.remap_failed, seen.retired_pending) == (True, False, False)
    assert (seen.errors_corrected, seen.errors_uncorrected) == (7, 3)
    assert seen.throttling == ["sw_power_cap", "hw_thermal_slowdown"]
    assert (seen.link_generation, seen.link_width, seen.link_width_max) == (5, 8, 16)
    assert (seen.power_w, seen.power_max_w, seen.temperature_c, seen.utilisation) == (
        350.5,
        700.0,
        61.0,
        97.0,
    )
    assert (seen.compute_mode, seen.virtual, seen.mig) == ("Exclusive_Process", "Pass-Through", False)
    assert (seen.nvlinks_active, seen.nvlinks_inactive) == (3, 1)
    assert [(one.pid, one.memory_bytes) for one in seen.processes or []] == [(12, GIB), (13, None)]


def test_of_a_card_that_tells_nothing_everything_is_unknown() -> None:
    seen = states.of_nvml(Nvml(), object(), 0)
    told = {name for name, value in seen if value not in (None, {})}
    assert told == {"source", "index"}


def test_an_idle_card_is_throttled_by_nothing_else_and_that_is_known() -> None:
    assert clocks.throttling(Nvml(CurrentClocksEventReasons=0), object()) == []
    assert clocks.throttling(Nvml(CurrentClocksEventReasons=1), object()) == ["idle"]
    assert clocks.throttling(Nvml(), object()) is None


class Smi:
    """AMD's library."""

    AmdSmiMemoryType = SimpleNamespace(VRAM=0)

    def __init__(self, **answers: Any) -> None:
        self.answers = {f"amdsmi_get_{name}": value for name, value in answers.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *_: self.answers[name]


def test_what_amds_library_tells_is_kept_and_its_n_a_is_unknown() -> None:
    seen = states.of_amdsmi(
        Smi(
            gpu_asic_info={"market_name": "AMD Instinct MI300X"},
            gpu_memory_total=192 * GIB,
            gpu_total_ecc_count={"correctable_count": 5, "uncorrectable_count": 0},
            gpu_compute_partition="CPX",
            gpu_memory_partition="N/A",
            pcie_info={"pcie_metric": {"pcie_width": 16, "pcie_interface_version": "N/A"}},
        ),
        object(),
        0,
    )
    assert (seen.name, seen.memory_bytes, seen.used_bytes) == ("AMD Instinct MI300X", 192 * GIB, None)
    assert (seen.errors_corrected, seen.errors_uncorrected) == (5, 0)
    assert (seen.partition_compute, seen.partition_memory) == ("CPX", None)
    assert (seen.link_width, seen.link_generation) == (16, None)


def _files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_without_a_library_the_kernel_counts_the_errors_of_every_block(tmp_path: Path) -> None:
    device = _files(
        tmp_path / "0000:05:00.0",
        ras__umc_err_count="ue: 2\nce: 10\n",
        ras__gfx_err_count="ue: 1\nce: 0\n",
        ras__sdma_err_count="not understood",
        mem_info_vram_total=str(192 * GIB),
        current_link_width="8",
        current_compute_partition="SPX\n",
    )
    seen = states.of_amdgpu(device, 0)
    assert seen is not None
    assert (seen.pci, seen.errors_uncorrected, seen.errors_corrected) == ("0000:05:00.0", 3, 10)
    assert (seen.link_width, seen.partition_compute, seen.used_bytes) == (8, "SPX", None)


@pytest.mark.parametrize("there", [False, True])
def test_a_kernel_that_counts_nothing_tells_no_zero(there: bool, tmp_path: Path) -> None:
    device = _files(
        tmp_path / "0000:05:00.0", **({"mem_info_vram_total": "1024"} if there else {"vendor": "0x1002"})
    )
    seen = states.of_amdgpu(device, 0)
    assert (seen is None) == (not there)
    assert seen is None or seen.errors_uncorrected is None


def test_under_load_the_best_link_and_the_share_of_every_reason_are_kept() -> None:
    worked = Worked()
    worked.add({"link_generation": 1, "temperature_c": 40.0, "power_w": None, "throttling": ["idle"]})
    worked.add(
        {"link_generation": 5, "temperature_c": 71.0, "power_w": 300.0, "throttling": ["sw_power_cap"]}
    )
    worked.add({"link_generation": 4, "temperature_c": 60.0, "power_w": 250.0, "throttling": None})
    seen = UnderLoad.model_validate(worked.report(2))
    assert (seen.card, seen.samples, seen.link_generation, seen.link_width) == (2, 3, 5, None)
    assert (seen.temperature_c, seen.power_w) == (71.0, 300.0)
    assert seen.throttling == {"idle": 0.3333, "sw_power_cap": 0.3333}


def test_a_card_that_never_worked_has_no_samples() -> None:
    seen = UnderLoad.model_validate(Worked().report(0))
    assert (seen.samples, seen.link_generation, seen.throttling) == (0, None, {})
