"""A stand-in for NVIDIA's library that shows the cards in STUB_CARDS; on PYTHONPATH where a test wants a card."""

import os
import types

_cards = [name for name in os.environ.get("STUB_CARDS", "").split(",") if name]
MEMORY = 141 * 10**9


class NVMLError(Exception):
    pass


class NVMLError_NoPermission(NVMLError):
    pass


def nvmlInit():
    if not _cards:
        raise NVMLError("Driver Not Loaded")


def nvmlShutdown():
    pass


def nvmlDeviceGetCount():
    return len(_cards)


def nvmlSystemGetDriverVersion():
    return "580.65.06"


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetName(handle):
    return _cards[handle]


def nvmlDeviceGetUUID(handle):
    return f"GPU-0000000{handle}-stub"


def nvmlDeviceGetMemoryInfo(handle):
    return types.SimpleNamespace(total=MEMORY, used=0, free=MEMORY)


def nvmlDeviceGetPciInfo(handle):
    return types.SimpleNamespace(busId=f"00000000:0{handle}:00.0")


def nvmlDeviceGetPciInfo_v3(handle):
    return nvmlDeviceGetPciInfo(handle)


def nvmlDeviceGetUtilizationRates(handle):
    return types.SimpleNamespace(gpu=0, memory=0)


def nvmlDeviceGetComputeRunningProcesses(handle):
    return []
