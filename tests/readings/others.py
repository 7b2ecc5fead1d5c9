"""What each of the outputs of AMD's tools, torch, pip and programs in outputs/ says, read off by hand."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Any


@dataclass(frozen=True)
class Says:
    """One part of an output. `facts` are the known fields of the reading, `cards` those of each state; `said` is step,
    number, whose number, and how the text begins."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    cards: list[dict[str, Any]] = field(default_factory=list)
    said: list[tuple[str, int | None, str | None, str]] = field(default_factory=list)


# fmt: off
OTHERS: dict[str, list[Says]] = {
    "amd-smi-partition": [
        Says("amd-smi",
            cards=[
                {"index": 0, "partition_compute": "SPX", "partition_memory": "NPS1"},
                {"index": 1, "partition_compute": "SPX", "partition_memory": "NPS1"},
            ],
        ),
    ],
    "amd-smi-static-mi350x": [
        Says("amd-smi",
            facts={"driver_version": "6.18.3"},
            cards=[
                {"index": 0, "name": "AMD Instinct MI350X", "pci": "0000:05:00.0", "architecture": "gfx950"},
            ],
        ),
    ],
    "amd-smi-static-partition": [
        Says("amd-smi",
            cards=[
                {"index": 0, "partition_compute": "SPX", "partition_memory": "NPS1"},
                {"index": 1, "partition_compute": "SPX", "partition_memory": "NPS1"},
            ],
        ),
    ],
    "amd-smi-table-mi300x-vf": [
        Says("amd-smi",
            facts={"driver_version": "6.16.6", "host": {"virtual_machine": True}, "modules": {"amdgpu": "6.16.6"}},
            cards=[
                {"index": 0,
                 "name": "AMD Instinct MI300X VF",
                 "pci": "0000:ff:00.0",
                 "memory_bytes": 205822885888,
                 "used_bytes": 298844160,
                 "errors_uncorrected": 0,
                 "power_w": 141.0,
                 "power_limit_w": 750.0,
                 "temperature_c": 37.0,
                 "utilisation": 0.0,
                 "partition_compute": "SPX",
                 "partition_memory": "NPS1"},
            ],
        ),
    ],
    "env-1.1-mac-yes": [
        Says("collect_env",
            facts={"driver_version": "1.1.0",
                   "torch": {"version": "1.1.0a0+4335aac", "cuda": "10.0", "hip": None},
                   "interpreter": {"version": "3.7"},
                   "host": {"nvcc": "10.0"},
                   "distributions": {"blas": "1.0",
                                     "mkl": "2019.1",
                                     "mkl-fft": "1.0.10",
                                     "torch": "1.1.0a0+4335aac",
                                     "numpy": "1.15.4"},
                   "available": True},
            cards=[
                {"index": 0, "name": "GeForce GTX 1060 with Max-Q Design"},
            ],
        ),
    ],
    "env-1.13-a10g-cpu-build": [
        Says("collect_env",
            facts={"driver_version": "515.65.01",
                   "torch": {"version": "1.13.0", "cuda": None, "hip": None},
                   "interpreter": {"version": "3.9.0"},
                   "host": {"kernel": "5.15.0-1022-aws", "glibc": "2.31"},
                   "distributions": {"pytorch": "1.13.0",
                                     "pytorch-lightning": "1.7.6",
                                     "pytorch-mutex": "1.0",
                                     "torchvision": "0.14.0",
                                     "numpy": "1.23.4",
                                     "torch": "1.13.0",
                                     "torchaudio": "0.13.0"},
                   "available": False},
            cards=[
                {"index": 0, "name": "NVIDIA A10G"},
            ],
        ),
    ],
    "env-1.7-rocm": [
        Says("collect_env",
            facts={"torch": {"version": "1.7.0a0+9ddd3df", "cuda": None, "hip": "3.7.20315-077bcfa0"},
                   "interpreter": {"version": "3.6"},
                   "distributions": {"blas": "1.0",
                                     "numpy": "1.18.5",
                                     "torch": "1.7.0a0+a9603c7",
                                     "torchvision": "0.8.0a0+a4736ea"},
                   "available": True},
            cards=[
                {"index": 0, "name": "Device 66a1"},
            ],
        ),
    ],
    "env-2.0-v100-eight": [
        Says("collect_env",
            facts={"driver_version": "520.61.05",
                   "torch": {"version": "2.0.0a0+git9ded087", "cuda": "11.8", "hip": None},
                   "interpreter": {"version": "3.8.8"},
                   "host": {"kernel": "5.4.0-1094-aws", "glibc": "2.27", "nvcc": "11.8"},
                   "distributions": {"torch": "2.0.0a0+git9ded087"},
                   "available": True,
                   "cut": "/usr/local/cuda-10.2/targets/x86_64-linux/lib/libcudnn.so.7.6.5"},
            cards=[
                {"index": 0, "name": "Tesla V100-SXM2-32GB"},
                {"index": 1, "name": "Tesla V100-SXM2-32GB"},
                {"index": 2, "name": "Tesla V100-SXM2-32GB"},
                {"index": 3, "name": "Tesla V100-SXM2-32GB"},
                {"index": 4, "name": "Tesla V100-SXM2-32GB"},
                {"index": 5, "name": "Tesla V100-SXM2-32GB"},
                {"index": 6, "name": "Tesla V100-SXM2-32GB"},
                {"index": 7, "name": "Tesla V100-SXM2-32GB"},
            ],
        ),
    ],
    "env-2.4-a100-topology": [
        Says("collect_env",
            facts={"torch": {"version": "2.4.0+cu124", "cuda": "12.4", "hip": None},
                   "interpreter": {"version": "3.10.12"},
                   "host": {"kernel": "6.5.0-44-generic", "glibc": "2.35", "nvcc": "12.4"},
                   "distributions": {"torch": "2.4.0+cu124"},
                   "available": True,
                   "cut": "GPU topology: GPU0      CPU Affinity    NUMA Affinity   GPU NUMA ID"},
            cards=[
                {"index": 0, "name": "NVIDIA A100 80GB PCIe"},
            ],
        ),
        Says("collect_env",
            facts={"driver_version": "550.90.07"},
        ),
    ],
    "env-2.5-a100-mig": [
        Says("collect_env",
            facts={"driver_version": "535.161.08",
                   "torch": {"version": "2.5.0.dev20240705+cu121", "cuda": "12.1", "hip": None},
                   "interpreter": {"version": "3.10.12"},
                   "host": {"kernel": "5.15.0-1055-nvidia", "glibc": "2.35", "nvcc": "12.4"},
                   "distributions": {"torch": "2.5.0.dev20240705+cu121"},
                   "available": True,
                   "cut": "/usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0"},
            cards=[
                {"index": 0,
                 "name": "NVIDIA A100-SXM4-80GB",
                 "mig": True,
                 "mig_devices": ["MIG 3g.40gb", "MIG 3g.40gb"]},
            ],
        ),
    ],
    "env-2.7-mi300x-vllm": [
        Says("collect_env",
            facts={"torch": {"version": "2.7.0a0+git3a58512", "cuda": None, "hip": "6.3.42133-1b9c17779"},
                   "interpreter": {"version": "3.12.8"},
                   "host": {"kernel": "5.14.0-503.22.1.el9_5.x86_64", "glibc": "2.35"},
                   "distributions": {"torch": "2.7.0a0+git3a58512"},
                   "available": True,
                   "devices": [{"index": 0, "name": "AMD Instinct MI300X", "capability": "gfx942:sramecc+:xnack-"}],
                   "cut": "CPU op-mode(s):                       32-bit, 64-bit"},
            cards=[
                {"index": 0, "name": "AMD Instinct MI300X", "architecture": "gfx942"},
            ],
        ),
    ],
    "env-2.9-sections-7900xtx": [
        Says("collect_env",
            facts={"torch": {"version": "2.9.1+git5bc97ba", "cuda": None, "hip": "7.2.26015-fc0010cf6a"},
                   "interpreter": {"version": "3.12.3"},
                   "host": {"kernel": "6.8.0-71-generic", "glibc": "2.39"},
                   "distributions": {"torch": "2.9.1+git5bc97ba"},
                   "available": True,
                   "devices": [{"index": 0, "name": "AMD Radeon RX 7900 XTX", "capability": "gfx1100"}],
                   "cut": "cuDNN version                : Could not collect"},
            cards=[
                {"index": 0, "name": "AMD Radeon RX 7900 XTX", "architecture": "gfx1100"},
            ],
        ),
    ],
    "error-802-thc": [
        Says("an error",
            said=[
                ("device", 802, "cuda", "RuntimeError: cuda runtime error (802) : system not yet initia"),
            ],
        ),
    ],
    "error-804-warning": [
        Says("an error",
            said=[
                ("device", 804, "cuda", "UserWarning: CUDA initialization: Unexpected error from cudaGe"),
            ],
        ),
    ],
    "error-docker-driver": [
        Says("an error",
            said=[
                ("driver", None, None, "docker: Error response from daemon: failed to create shim: OCI"),
            ],
        ),
    ],
    "error-flash-attn-symbol": [
        Says("an error",
            said=[
                ("extensions", None, None, "ImportError: /usr/local/lib/python3.10/dist-packages/flash_att"),
            ],
        ),
    ],
    "error-no-hip-gpus": [
        Says("an error",
            said=[
                ("device", None, None, "RuntimeError: No HIP GPUs are available"),
            ],
        ),
    ],
    "mixed-802-vllm": [
        Says("an error",
            said=[
                ("application", None, None, "ERROR: WorkerProc failed to start."),
                ("device", 802, "cuda", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did "),
            ],
        ),
    ],
    "mixed-flash-attn-freeze": [
        Says("a list of packages",
            facts={"distributions": {"accelerate": "0.29.3",
                                     "einops": "0.8.0",
                                     "filelock": "3.13.4",
                                     "flash-attn": "2.3.0",
                                     "fsspec": "2024.3.1",
                                     "huggingface-hub": "0.22.2",
                                     "jinja2": "3.1.3",
                                     "markupsafe": "2.1.5",
                                     "numpy": "1.26.4",
                                     "nvidia-cublas-cu12": "12.1.3.1",
                                     "nvidia-cuda-cupti-cu12": "12.1.105"}},
        ),
        Says("an error",
            said=[
                ("extensions", None, None, "ImportError: flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"),
            ],
        ),
    ],
    "rocm-smi-5-mi250x-halves": [
        Says("rocm-smi",
            facts={"cut": "2    34.0c  93.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   0%"},
            cards=[
                {"index": 0,
                 "power_w": 102.0,
                 "power_limit_w": 560.0,
                 "temperature_c": 39.0,
                 "utilisation": 0.0},
                {"index": 1, "temperature_c": 44.0, "utilisation": 0.0},
                {"index": 2, "power_w": 93.0, "power_limit_w": 560.0, "temperature_c": 34.0, "utilisation": 0.0},
            ],
        ),
    ],
    "rocm-smi-5-radeons": [
        Says("rocm-smi",
            cards=[
                {"index": 0, "power_w": 37.0, "power_limit_w": 290.0, "temperature_c": 33.0, "utilisation": 0.0},
                {"index": 1, "power_w": 39.0, "power_limit_w": 290.0, "temperature_c": 32.0, "utilisation": 0.0},
                {"index": 2, "power_w": 37.0, "power_limit_w": 290.0, "temperature_c": 33.0, "utilisation": 0.0},
            ],
        ),
    ],
    "rocm-smi-6.0-two-lines": [
        Says("rocm-smi",
            cards=[
                {"index": 0,
                 "name": "AMD Instinct MI300X",
                 "power_w": 140.0,
                 "power_limit_w": 750.0,
                 "temperature_c": 35.0,
                 "utilisation": 0.0,
                 "partition_compute": "SPX",
                 "partition_memory": "NPS1"},
                {"index": 1,
                 "name": "AMD Instinct MI300X",
                 "power_w": 138.0,
                 "power_limit_w": 750.0,
                 "temperature_c": 37.0,
                 "utilisation": 0.0,
                 "partition_compute": "SPX",
                 "partition_memory": "NPS1"},
            ],
        ),
    ],
    "rocm-smi-6.3-mi300x-qpx": [
        Says("rocm-smi",
            cards=[
                {"index": 0,
                 "memory_bytes": 206141652992,
                 "used_bytes": 297771008,
                 "power_w": 133.0,
                 "power_limit_w": 750.0,
                 "temperature_c": 47.0,
                 "utilisation": 0.0,
                 "partition_compute": "QPX",
                 "partition_memory": "NPS1"},
                {"index": 1,
                 "memory_bytes": 206141652992,
                 "used_bytes": 297771008,
                 "power_w": 133.0,
                 "power_limit_w": 750.0,
                 "temperature_c": 47.0,
                 "utilisation": 0.0,
                 "partition_compute": "QPX",
                 "partition_memory": "NPS1"},
            ],
        ),
    ],
    "rocm-smi-6.3-mi300x-spx": [
        Says("rocm-smi",
            cards=[
                {"index": 0,
                 "name": "AMD Instinct MI300X OAM",
                 "memory_bytes": 206141652992,
                 "used_bytes": 297771008,
                 "power_w": 133.0,
                 "power_limit_w": 750.0,
                 "temperature_c": 47.0,
                 "utilisation": 0.0,
                 "partition_compute": "SPX",
                 "partition_memory": "NPS1"},
            ],
        ),
    ],
    "rocm-smi-parts-unsupported": [
        Says("rocm-smi",
            facts={"cut": "GPU[0]          : PCI Bus: 0000:2F:00.0"},
            cards=[
                {"index": 0, "pci": "0000:2f:00.0"},
            ],
        ),
    ],
    "rocminfo-gfx1151": [
        Says("rocminfo",
            facts={"driver_version": "6.12.12", "modules": {"amdgpu": "6.12.12"}, "cut": "BDFID:                   0"},
            cards=[
                {"index": 0,
                 "name": "AMD Radeon Graphics",
                 "pci": "0000:c5:00.0",
                 "architecture": "gfx1151",
                 "memory_bytes": 68719476736},
            ],
        ),
    ],
    "rocminfo-kfd-denied": [
        Says("rocminfo",
            facts={"modules": {"amdgpu": None}, "nodes": [("/dev/kfd", 13)]},
            said=[
                ("driver", 13, "errno", "Unable to open /dev/kfd read-write: Permission denied"),
            ],
        ),
    ],
    "rocminfo-kfd-invalid": [
        Says("rocminfo",
            facts={"nodes": [("/dev/kfd", 22)]},
            said=[
                ("driver", 22, "errno", "Unable to open /dev/kfd read-write: Invalid argument"),
            ],
        ),
        Says("an error",
            said=[
                ("compute", None, None, "Memory access fault by GPU node-2 (Agent handle: 0x5640a8bb198"),
            ],
        ),
    ],
    "rocminfo-not-loaded": [
        Says("rocminfo",
            said=[
                ("driver", None, None, "ROCk module is NOT loaded, possibly no GPU devices"),
                ("driver", None, None, "hsa api call failure at: /var/tmp/portage/dev-util/rocminfo-2."),
                ("driver", None, None, "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime f"),
            ],
        ),
        Says("an error",
            said=[
                ("compute", None, None, "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime f"),
            ],
        ),
    ],
}
# fmt: on
