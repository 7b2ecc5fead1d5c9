"""Outputs from public reports against the real catalogue: healthy ones raise no alarm, broken ones get their step."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.diagnose import given
from plugins.diagnose import judging
from plugins.diagnose import reading

OUTPUTS = Path(__file__).parents[1] / "readings" / "outputs"

HEALTHY = (
    "amd-smi-partition", "amd-smi-static-mi350x", "amd-smi-static-partition", "amd-smi-table-mi300x-vf",
    "env-1.1-mac-yes", "env-1.7-rocm", "env-2.0-v100-eight", "env-2.4-a100-topology", "env-2.7-mi300x-vllm",
    "env-2.9-sections-7900xtx", "nvlink-h100", "q-535-h100-passthrough", "q-535-rtx4090-busy",
    "q-550-h200-passthrough", "q-570-rtx5090-idle", "rocm-smi-5-radeons", "rocm-smi-6.0-two-lines",
    "rocm-smi-6.3-mi300x-spx", "rocm-smi-parts-unsupported", "rocminfo-gfx1151", "table-550-h100",
    "table-580-b200-busy", "table-v100-power-err", "topo-5090-pair", "topo-h100-cut",
)  # fmt: skip
#: file -> step, and how the first error begins where it was said
BROKEN = {
    "env-1.13-a10g-cpu-build": ("import", None),
    "error-802-thc": ("driver", "RuntimeError: cuda runtime error (802)"),
    "error-804-warning": ("driver", "UserWarning: CUDA initialization"),
    "error-docker-driver": ("driver", "docker: Error response from daemon"),
    "error-flash-attn-symbol": ("extensions", "ImportError: /usr/local/lib"),
    "error-no-hip-gpus": ("device", "RuntimeError: No HIP GPUs are available"),
    "mixed-802-vllm": ("driver", "RuntimeError: Unexpected error from cudaGetDeviceCount()"),
    "mixed-flash-attn-freeze": ("extensions", "ImportError: flash_attn_2_cuda"),
    "rocminfo-kfd-denied": ("driver", "Unable to open /dev/kfd"),
    "rocminfo-kfd-invalid": ("driver", "Unable to open /dev/kfd"),
    "rocminfo-not-loaded": ("driver", "ROCk module is NOT loaded"),
    "said-mismatch": ("driver", "Failed to initialize NVML: Driver/library version mismatch"),
    "q-fabric-in-progress": ("driver", None),
    "q-vgpu-unlicensed": ("compute", None),
    "table-550-a100-mig-empty": ("driver", None),
    "nvlink-v100-inactive": ("compute", None),
    "rocm-smi-6.3-mi300x-qpx": ("device", None),
    "table-525-a40-err": ("driver", None),
}


def judged(*names: str) -> judging.Judged:
    readings = [one for name in names for one in reading.read(given.read(str(OUTPUTS / f"{name}.txt")))]
    return judging.judge(readings)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_output_raises_no_alarm(name: str) -> None:
    found = judged(name)
    assert (found.answer, found.first_error, found.faults) == (None, None, [])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_has_its_step_and_its_first_error(name: str) -> None:
    step, beginning = BROKEN[name]
    found = judged(name)
    assert found.answer is not None
    assert found.step == step
    assert found.first_error
    assert found.first_error.startswith(beginning or "")


def test_healthy_outputs_of_one_vendor_together_raise_no_alarm() -> None:
    """As people send all that they have of one machine."""
    found = judged("env-2.7-mi300x-vllm", "rocm-smi-6.3-mi300x-spx", "amd-smi-static-partition")
    assert (found.answer, found.faults) == (None, [])
