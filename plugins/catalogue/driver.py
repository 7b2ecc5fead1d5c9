"""DRV: the kernel's driver, its libraries, and what of it reaches the process."""

from __future__ import annotations

from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import cuda_error
from plugins.catalogue.signatures import said

FAULTS = [
    Fault(
        id="DRV-02",
        step="driver",
        signature=any_of(cuda_error(802), said(r"system not yet initialized")),
        cause="the switches that join the cards (NVSwitch) are not set up: fabric manager is missing, of another "
        "version than the driver, or still starting",
        root=Answer("fix", "the fabric manager: install and start the one of the driver's own version"),
        container=Answer("reconfigure", "the host: its fabric manager is the provider's"),
        confirm="nvidia-smi -q shows Fabric, State: Completed and Status: Success on every card",
        source="https://github.com/pytorch/pytorch/issues/35710",
    ),
]
