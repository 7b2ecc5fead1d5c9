"""What each of the outputs in outputs/ says, read off by hand: everything that is not named here is not known."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Any

MIB = 1 << 20


@dataclass(frozen=True)
class Says:
    """One part of an output. `cards` are the known fields of each state; `events` kind, number and address."""

    kind: str
    driver: str | None = None
    cuda: str | None = None
    cut: str | None = None
    modules: dict[str, str | None] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    events: list[tuple[str, int | None, str | None]] = field(default_factory=list)
    cards: list[dict[str, Any]] = field(default_factory=list)


# fmt: off
NVIDIA: dict[str, list[Says]] = {
    "list-a100-mig": [
        Says("nvidia-smi -L", cards=[
            {"index": 0, "name": "NVIDIA A100-SXM4-40GB",
                "uuid": "GPU-00000000-0000-4000-8000-00000000000a", "mig": True,
                "mig_devices": ["MIG 3g.20gb"]},
        ]),
        Says("nvidia-smi -L", cards=[
            {"index": 0, "name": "NVIDIA A100-SXM4-40GB",
                "uuid": "GPU-00000000-0000-4000-8000-00000000000a", "mig": True,
                "mig_devices": ["MIG 2g.10gb"]},
        ]),
    ],
    "log-amdgpu-athub": [
        Says("the kernel's log", events=[("ras", None, "0000:1c:00.0")]),
    ],
    "log-fell-off-without-xid": [
        Says("the kernel's log", driver="570.158.01", modules={"nvidia": "570.158.01"},
            events=[("fell_off", None, "0000:b3:00.0"), ("other", None, None)]),
    ],
    "log-xid-79": [
        Says("the kernel's log", events=[("other", None, "0000:00:02.0"), ("xid", 79, "0000:02:00")]),
    ],
    "nvlink-all-inactive": [
        Says("nvidia-smi nvlink -s", cards=[
            {"nvlinks_active": 0},
        ]),
        Says("the kernel's log", events=[("xid", 45, "0000:dc:00"), ("xid", 45, "0000:ed:00")]),
    ],
    "nvlink-h100": [
        Says("nvidia-smi nvlink -s", cut="Link 1: 26.562 GB/s", cards=[
            {"index": 0, "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-00000000-0000-4000-8000-00000000000b", "nvlinks_active": 18,
                "nvlinks_inactive": 0},
            {"index": 1, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-00000000-0000-4000-8000-00000000000c"},
        ]),
    ],
    "nvlink-v100-inactive": [
        Says("nvidia-smi nvlink -s", cards=[
            {"index": 3, "name": "Tesla V100-SXM2-32GB", "nvlinks_active": 4, "nvlinks_inactive": 2},
        ]),
    ],
    "q-415-quoted-cut": [
        Says("nvidia-smi -q", driver="415.27", cuda="10.0", cut="Current                     : N/A", cards=[
            {"index": 0, "name": "Quadro M2200", "uuid": "GPU-00000000-0000-4000-8000-000000000009",
                "pci": "0000:01:00.0"},
        ]),
    ],
    "q-530-t4-exclusive": [
        Says("nvidia-smi -q", driver="530.30.02", cuda="12.1", cards=[
            {"index": 0, "name": "Tesla T4", "uuid": "GPU-00000000-0000-4000-8000-000000000008",
                "pci": "0000:00:08.0", "architecture": "Turing", "memory_bytes": 15360 * MIB,
                "used_bytes": 31 * MIB, "virtual": "Pass-Through", "compute_mode": "Exclusive_Process",
                "errors_corrected": 0, "errors_uncorrected": 0, "retired_pending": False,
                "throttling": ["idle"], "link_generation": 1, "link_generation_max": 3, "link_width": 16,
                "link_width_max": 16, "power_w": 14.04, "power_limit_w": 70.0, "power_max_w": 70.0,
                "temperature_c": 38.0, "utilisation": 0.0,
                "processes": [{"pid": 25384, "name": "nvidia-cuda-mps-server", "memory_bytes": 26 * MIB}]},
        ]),
        Says("nvidia-smi -q", driver="530.30.02", cuda="12.1", cards=[
            {"index": 0, "pci": "0000:00:08.0", "memory_bytes": 15360 * MIB, "used_bytes": 31 * MIB},
        ]),
    ],
    "q-535-h100-passthrough": [
        Says("nvidia-smi -q", driver="535.183.01", cuda="12.2", cut="Device Current            : 5", cards=[
            {"index": 0, "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-00000000-0000-4000-8000-000000000001", "pci": "0000:53:00.0",
                "architecture": "Hopper", "memory_bytes": 81559 * MIB, "used_bytes": 0, "mig": False,
                "mig_devices": [], "virtual": "Pass-Through", "compute_mode": "Default",
                "fabric_state": "Completed", "fabric_status": "Success", "errors_corrected": 0,
                "errors_uncorrected": 0, "remap_pending": False, "remap_failed": False,
                "throttling": ["idle"], "link_generation": 5, "link_generation_max": 5, "link_width": 16,
                "link_width_max": 16, "power_w": 71.97, "power_limit_w": 700.0, "power_max_w": 700.0,
                "temperature_c": 36.0, "utilisation": 0.0, "processes": []},
            {"index": 1, "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-00000000-0000-4000-8000-000000000002", "pci": "0000:64:00.0",
                "architecture": "Hopper", "mig": False, "mig_devices": [], "link_generation": 5,
                "link_generation_max": 5},
        ]),
    ],
    "q-535-h100-power-brake": [
        Says("nvidia-smi -q", driver="535.161.08", cuda="12.2", cards=[
            {"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-00000000-0000-4000-8000-000000000003",
                "pci": "0000:19:00.0", "architecture": "Hopper", "memory_bytes": 81559 * MIB,
                "used_bytes": 0, "virtual": "None", "compute_mode": "Default", "fabric_state": "Completed",
                "fabric_status": "Success", "throttling": ["hw_slowdown", "hw_power_brake_slowdown"],
                "link_generation": 5, "link_generation_max": 5, "link_width": 16, "link_width_max": 16,
                "power_w": 67.74, "power_limit_w": 700.0, "temperature_c": 29.0, "processes": []},
        ]),
    ],
    "q-535-rtx4090-busy": [
        Says("nvidia-smi -q", driver="535.154.05", cuda="12.2", cards=[
            {"name": "NVIDIA GeForce RTX 4090", "uuid": "GPU-00000000-0000-4000-8000-000000000004",
                "pci": "0000:01:00.0", "architecture": "Ada Lovelace", "memory_bytes": 24564 * MIB,
                "used_bytes": 20328 * MIB, "virtual": "None", "compute_mode": "Default",
                "remap_pending": False, "remap_failed": False, "throttling": [], "link_generation": 4,
                "link_generation_max": 4, "link_width": 16, "link_width_max": 16, "power_w": 67.76,
                "power_limit_w": 450.0, "power_max_w": 450.0, "temperature_c": 41.0, "utilisation": 0.0,
                "processes": [{"pid": 58130, "name": "/usr/bin/python", "memory_bytes": 20322 * MIB}]},
        ]),
    ],
    "q-550-h200-passthrough": [
        Says("nvidia-smi -q", driver="550.90.12", cuda="12.4", cards=[
            {"index": 0, "name": "NVIDIA H200", "uuid": "GPU-00000000-0000-4000-8000-000000000005",
                "pci": "0000:03:00.0", "architecture": "Hopper", "memory_bytes": 143771 * MIB,
                "used_bytes": 1 * MIB, "mig": False, "mig_devices": [], "virtual": "Pass-Through",
                "compute_mode": "Default", "fabric_state": "Completed", "fabric_status": "Success",
                "fabric_cluster": "00000000-0000-0000-0000-000000000000", "errors_corrected": 0,
                "errors_uncorrected": 0, "remap_pending": False, "remap_failed": False,
                "throttling": ["idle"], "link_generation": 5, "link_generation_max": 5, "link_width": 16,
                "link_width_max": 16, "power_w": 74.58, "power_limit_w": 700.0, "power_max_w": 700.0,
                "temperature_c": 28.0, "utilisation": 0.0, "processes": []},
        ]),
    ],
    "q-570-rtx5090-idle": [
        Says("nvidia-smi -q", driver="570.124.06", cuda="12.8", cards=[
            {"index": 0, "name": "NVIDIA GeForce RTX 5090",
                "uuid": "GPU-00000000-0000-4000-8000-000000000006", "pci": "0000:02:00.0",
                "architecture": "Blackwell", "memory_bytes": 32607 * MIB, "used_bytes": 2 * MIB,
                "virtual": "None", "compute_mode": "Default", "throttling": ["sw_power_cap"],
                "link_generation": 1, "link_generation_max": 5, "link_width": 8, "link_width_max": 16,
                "power_w": 24.05, "power_limit_w": 575.0, "power_max_w": 575.0, "temperature_c": 25.0,
                "utilisation": 0.0, "processes": []},
        ]),
    ],
    "q-580-laptop-no-head": [
        Says("nvidia-smi -q", driver="580.119.02", cuda="13.0", cards=[
            {"index": 0, "name": "NVIDIA GeForce RTX 3050 6GB Laptop GPU",
                "uuid": "GPU-00000000-0000-4000-8000-000000000007", "pci": "0000:01:00.0",
                "architecture": "Ampere", "memory_bytes": 6144 * MIB, "used_bytes": 12 * MIB,
                "compute_mode": "Default", "throttling": ["idle"], "link_generation": 4,
                "link_generation_max": 4, "link_width": 8, "link_width_max": 16, "utilisation": 6.0,
                "processes": [{"pid": 2355, "name": "/usr/bin/gnome-shell", "memory_bytes": 1 * MIB}]},
        ]),
    ],
    "q-d-580-cuda-not-found": [
        Says("nvidia-smi -q", driver="580.105.06", cards=[
            {"pci": "0000:42:00.0", "throttling": []},
        ]),
    ],
    "q-fabric-in-progress": [
        Says("nvidia-smi -q", cards=[
            {"fabric_state": "In Progress"},
        ]),
    ],
    "q-remap-pending": [
        Says("nvidia-smi -q", cards=[
            {"remap_pending": True},
        ]),
    ],
    "q-vgpu-unlicensed": [
        Says("nvidia-smi -q", cards=[
            {"licence": "Unlicensed (Restricted)"},
        ]),
    ],
    "said-handle": [
        Says("an error of nvidia-smi",
            said=["Unable to determine the device handle for GPU 000:BA:80.0: Unknown Error"]),
    ],
    "said-mismatch": [
        Says("an error of nvidia-smi",
            said=["Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178"]),
        Says("the kernel's log", driver="580.173.02", modules={"nvidia": "580.173.02"}),
    ],
    "table-418-gtx1050": [
        Says("nvidia-smi", driver="418.56", cuda="10.1", cards=[
            {"index": 0, "name": "GeForce GTX 105...", "pci": "0000:01:00.0", "memory_bytes": 4040 * MIB,
                "used_bytes": 327 * MIB, "compute_mode": "Default", "temperature_c": 56.0,
                "utilisation": 0.0,
                "processes": [{"pid": 1906, "name": "/usr/lib/xorg/Xorg", "memory_bytes": 144 * MIB},
                    {"pid": 2016, "name": "/usr/bin/gnome-shell", "memory_bytes": 94 * MIB}]},
        ]),
    ],
    "table-525-a100-cut-names": [
        Says("nvidia-smi", driver="525.85.12", cuda="12.0", cut="| N/A   26C    P0    59W / 400W |", cards=[
            {"index": 0, "name": "NVIDIA A100-SXM...", "pci": "0000:0e:00.0", "memory_bytes": 81920 * MIB,
                "used_bytes": 0, "mig": False, "mig_devices": [], "compute_mode": "Default",
                "errors_uncorrected": 0, "power_w": 61.0, "power_limit_w": 400.0, "temperature_c": 28.0,
                "utilisation": 0.0},
            {"index": 1, "name": "NVIDIA A100-SXM...", "pci": "0000:13:00.0", "memory_bytes": 81920 * MIB,
                "used_bytes": 0, "mig": False, "mig_devices": [], "compute_mode": "Default",
                "errors_uncorrected": 0, "power_w": 62.0, "power_limit_w": 400.0, "temperature_c": 28.0,
                "utilisation": 0.0},
            {"index": 2, "name": "NVIDIA A100-SXM...", "pci": "0000:49:00.0", "errors_uncorrected": 0},
        ]),
    ],
    "table-525-a40-err": [
        Says("nvidia-smi", driver="525.125.06", cuda="12.0", cut="|   2  NVIDIA", cards=[
            {"index": 0, "pci": "0000:19:00.0", "memory_bytes": 46068 * MIB, "used_bytes": 0,
                "compute_mode": "Default",
                "unreadable": {"name": "ERR!", "errors_uncorrected": "ERR!", "power_w": "ERR!",
                    "power_limit_w": "ERR!", "temperature_c": "ERR!", "utilisation": "ERR!", "mig": "ERR!"}},
            {"index": 1, "name": "NVIDIA A40", "pci": "0000:1a:00.0", "memory_bytes": 46068 * MIB,
                "used_bytes": 0, "compute_mode": "Default", "errors_uncorrected": 0, "power_w": 12.0,
                "power_limit_w": 300.0, "temperature_c": 26.0, "utilisation": 0.0},
        ]),
    ],
    "table-535-a100-mig": [
        Says("nvidia-smi", driver="535.129.03", cuda="12.2", cards=[
            {"index": 0, "name": "NVIDIA A100-PCIE-40GB", "pci": "0000:21:00.0",
                "memory_bytes": 40960 * MIB, "used_bytes": 50 * MIB, "mig": True,
                "mig_devices": ["MIG device 0, 9856 MiB", "MIG device 1, 9856 MiB"],
                "compute_mode": "Default", "power_w": 31.0, "power_limit_w": 250.0, "temperature_c": 28.0,
                "processes": []},
            {"index": 1, "name": "NVIDIA A100-PCIE-40GB", "pci": "0000:81:00.0",
                "memory_bytes": 40960 * MIB, "used_bytes": 4 * MIB, "mig": False, "mig_devices": [],
                "compute_mode": "Default", "errors_uncorrected": 0, "power_w": 34.0,
                "power_limit_w": 250.0, "temperature_c": 27.0, "utilisation": 0.0, "processes": []},
        ]),
    ],
    "table-550-a100-mig-empty": [
        Says("nvidia-smi", driver="550.54.14", cuda="12.4", cards=[
            {"index": 0, "name": "NVIDIA A100-SXM4-80GB", "pci": "0000:3f:00.0",
                "memory_bytes": 81920 * MIB, "used_bytes": 87 * MIB, "mig": True, "mig_devices": [],
                "compute_mode": "Default", "power_w": 53.0, "power_limit_w": 400.0, "temperature_c": 28.0},
        ]),
    ],
    "table-550-h100": [
        Says("nvidia-smi", driver="550.90.07", cuda="12.4", cards=[
            {"index": 0, "name": "NVIDIA H100 80GB HBM3", "pci": "0000:19:00.0",
                "memory_bytes": 81559 * MIB, "used_bytes": 1 * MIB, "mig": False, "mig_devices": [],
                "compute_mode": "Default", "errors_uncorrected": 0, "power_w": 72.0,
                "power_limit_w": 700.0, "temperature_c": 27.0, "utilisation": 0.0, "processes": []},
            {"index": 1, "name": "NVIDIA H100 80GB HBM3", "pci": "0000:3b:00.0",
                "memory_bytes": 81559 * MIB, "used_bytes": 1 * MIB, "mig": False, "mig_devices": [],
                "compute_mode": "Default", "errors_uncorrected": 0, "power_w": 74.0,
                "power_limit_w": 700.0, "temperature_c": 24.0, "utilisation": 0.0, "processes": []},
        ]),
    ],
    "table-580-b200-busy": [
        Says("nvidia-smi", driver="580.95.05", cuda="13.0", cards=[
            {"index": 0, "name": "NVIDIA B200", "pci": "0000:1b:00.0", "memory_bytes": 183359 * MIB,
                "used_bytes": 100536 * MIB, "mig": False, "mig_devices": [], "compute_mode": "Default",
                "errors_uncorrected": 0, "power_w": 187.0, "power_limit_w": 1000.0, "temperature_c": 29.0,
                "utilisation": 100.0},
            {"index": 1, "name": "NVIDIA B200", "pci": "0000:43:00.0", "memory_bytes": 183359 * MIB,
                "used_bytes": 98232 * MIB, "mig": False, "mig_devices": [], "compute_mode": "Default",
                "errors_uncorrected": 0, "power_w": 197.0, "power_limit_w": 1000.0, "temperature_c": 31.0,
                "utilisation": 100.0},
        ]),
    ],
    "table-610-new-head": [
        Says("nvidia-smi", driver="610.57.04", cuda="13.3", cards=[
            {"index": 0, "name": "NVIDIA GeForce GTX 1650", "pci": "0000:01:00.0",
                "memory_bytes": 4096 * MIB, "used_bytes": 580 * MIB, "compute_mode": "Default",
                "power_limit_w": 75.0, "temperature_c": 51.0, "utilisation": 39.0},
        ]),
    ],
    "table-a40-in-a-log": [
        Says("nvidia-smi", cards=[
            {"index": 0, "name": "NVIDIA A40", "pci": "0000:c3:00.0", "memory_bytes": 46068 * MIB,
                "used_bytes": 0, "compute_mode": "Default", "errors_uncorrected": 0, "power_w": 21.0,
                "power_limit_w": 250.0, "temperature_c": 27.0, "utilisation": 0.0},
        ]),
    ],
    "table-v100-power-err": [
        Says("nvidia-smi", cards=[
            {"index": 1, "name": "Tesla V100-PCIE...", "pci": "8ed0:00:00.0", "memory_bytes": 16160 * MIB,
                "used_bytes": 593 * MIB, "compute_mode": "Default", "errors_uncorrected": 0,
                "power_limit_w": 250.0, "temperature_c": 29.0, "utilisation": 0.0,
                "unreadable": {"power_w": "ERR!"}},
        ]),
    ],
    "topo-5090-pair": [
        Says("nvidia-smi topo -m", cards=[
            {"index": 0},
            {"index": 1},
        ]),
    ],
    "topo-h100-cut": [
        Says("nvidia-smi topo -m", cut="GPU2 NV18 NV18 X", cards=[
            {"index": 0},
            {"index": 1},
            {"index": 2},
        ]),
    ],
}
# fmt: on
