"""DRV: the kernel's driver, its libraries, and what of it reaches the process."""

from __future__ import annotations

import re

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import LibraryAsked
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.order import no_card
from plugins.catalogue.order import no_licence
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import all_of
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import card
from plugins.catalogue.signatures import cuda_error
from plugins.catalogue.signatures import errno_of
from plugins.catalogue.signatures import extension
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import left
from plugins.catalogue.signatures import on_a_card
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless

#: what NVML's first call gives
NVML_MISMATCH, NVML_UNKNOWN = 18, 999
#: CUDA's errors
NO_DEVICE, NO_SUCH_DEVICE = 100, 101
NVIDIA = "0x10de"
#: one of these is enough to hide every card from torch
HIDING = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
#: a list of cards is worth counting where the vendor's own library or driver made it, and not the bus
COUNTED = ("nvml", "amdsmi", "kfd")


def _answers(asked: LibraryAsked | None) -> bool:
    return asked is not None and asked.error is None and asked.code == 0


def _nvml(seen: Seen, code: int) -> str | None:
    asked = seen.driver.nvml
    return f"nvmlInit gives {code} {asked.name or ''}".rstrip() if asked and asked.code == code else None


def _major(version: str | None) -> int | None:
    found = re.match(r"\d+", version or "")
    return int(found[0]) if found else None


def _older_than_torch(seen: Seen) -> str | None:
    """The driver serves an older major release of CUDA than torch was built for, and torch sees no card.

    Within one major release any driver will do.
    """
    built = seen.launch.torch.cuda if seen.launch.torch else None
    wanted, served = _major(built), _major(seen.launch.cuda_driver)
    if wanted is None or served is None or seen.launch.devices or wanted <= served:
        return None
    return f"torch is built for CUDA {built}, and the driver serves CUDA up to {seen.launch.cuda_driver}"


def _two_versions(seen: Seen) -> str | None:
    """Of the loaded module and of the libraries, where NVML does not answer: beside a libcuda of the image it does."""
    driver = seen.driver
    if not driver.module_version or not driver.library_version or _answers(driver.nvml):
        return None
    if driver.module_version == driver.library_version or driver.nvml is None or driver.nvml.error:
        return None
    if driver.modules is not None and "nvidia" not in driver.modules:
        return None  # the module is AMD's, and the libraries a leftover
    return f"kernel module {driver.module_version}, libraries {driver.library_version}"


def _computes(seen: Seen) -> bool:
    """torch has found a card: whatever is not set up, the card can be used."""
    return bool(seen.launch.devices) or any(
        one.name in ("device", "compute") and one.status == "ok" for one in seen.launch.steps
    )


def _waits_for_its_fabric(state: CardState) -> bool:
    """A card behind switches that nobody has registered with them; a card without switches says N/A."""
    return (state.fabric_state or "").strip().casefold() in ("in progress", "not started")


def _no_uvm(seen: Seen) -> str | None:
    """/dev/nvidia-uvm, or the module behind it; also where nobody looked at either."""
    driver = seen.driver
    node = next((one for one in driver.nodes if one.path == "/dev/nvidia-uvm"), None)
    if node is not None and node.errno is not None:
        return f"/dev/nvidia-uvm: errno {node.errno}"
    if driver.modules and "nvidia" in driver.modules and "nvidia_uvm" not in driver.modules:
        return "the kernel module nvidia_uvm is not loaded"
    return "/dev/nvidia-uvm was not looked at" if node is None and not driver.modules else None


def _no_libcuda(seen: Seen) -> str | None:
    """The card's nodes can be opened, and the library that uses them is not found."""
    asked = seen.driver.cuda
    missing = asked and re.search(r"cannot open shared object|no such file", asked.error or "", re.IGNORECASE)
    usable = any(node.path == "/dev/nvidiactl" and node.errno is None for node in seen.driver.nodes)
    return f"/dev/nvidiactl can be opened; {asked.error}" if asked and missing and usable else None


def _another_module(seen: Seen) -> list[str]:
    """NVIDIA's cards on the bus, none of which NVIDIA's kernel module has."""
    cards = [
        one
        for one in seen.driver.pci or []
        if one.vendor == NVIDIA and (one.class_ or "0x03").startswith("0x03")
    ]
    unasked = seen.launch.asked_device == "rocm" or bool(seen.launch.devices)
    if unasked or _answers(seen.driver.cuda) or any(one.module == "nvidia" for one in cards):
        return []
    return [f"{one.address}: driven by {one.module or 'no kernel module'}" for one in cards]


def hidden(seen: Seen) -> list[str]:
    """A variable that names cards which are not there, or none, where torch sees fewer cards than the machine has.

    Two such variables on an AMD machine are ROC-09.
    """
    there = [one for one in seen.inventory.cards if one.source in COUNTED]
    if seen.launch.devices and len(seen.launch.devices) >= len(there):
        return []
    names = HIDING["amd" if {one.vendor for one in seen.inventory.cards} == {"amd"} else "nvidia"]
    given = [(name, seen.variables[name]) for name in names if name in seen.variables]
    if len(given) != 1:
        return []
    (name, value), *_ = given
    asked = seen.driver.cuda
    if asked and asked.count and not seen.launch.devices:
        return []  # CUDA sees cards, and torch does not: ORD-05
    problem = _wrong_list(value, seen, empty_hides="HIP" not in name) if value is not None else None
    found = [f"{name}={value}: {problem}"] if problem else []
    # the library's count is the same with and without, so it speaks only where CUDA itself saw none
    saw_none = any(re.search(r"device_count\W{0,3}0\b", one.text) for one in seen.said)
    if (asked and asked.code in (NO_DEVICE, NO_SUCH_DEVICE)) or saw_none:
        found += [
            f"without {', '.join(one.without)} torch sees {one.count}"
            for one in seen.launch.retried
            if one.step == "device" and one.count and name in one.without
        ]
    return found


def _wrong_list(value: str, seen: Seen, empty_hides: bool) -> str | None:
    """What is wrong with a list of cards. A list ends at the first of them that is not there."""
    parts = [part.strip() for part in value.split(",")]
    if not value.strip():
        return "names no card" if empty_hides else None
    counted = [one for one in seen.inventory.cards if one.source in COUNTED]
    divided = any(state.mig for state in seen.states)
    for part in parts:
        if part.startswith("-"):
            return f"{part} names no card"
        if part.isdigit() and counted and not divided and int(part) >= len(counted):
            return f"there is no card {part}, there are {len(counted)}"
        known = [one.uuid for one in counted if one.uuid]
        if part.startswith("GPU-") and known and not any(one.startswith(part) for one in known):
            return f"no card is called {part}"
    return "the same card twice" if len(set(parts)) < len(parts) else None


def _alone(state: CardState) -> bool:
    """The compute mode in which a card serves one process, or none."""
    return bool(
        re.search(
            r"exclusive|prohibited|^\s*e\.\s*(?:process|thread)", state.compute_mode or "", re.IGNORECASE
        )
    )


#: old and new words of CUDA's error 46
_BUSY = r"CUDA-capable devices? ?(?:\(s\))? ?(?:is/are|are) busy or unavailable"

#: NVML: "Driver/library version mismatch"; cuInit: 803
_mismatch = any_of(
    said(r"driver ?/ ?library version mismatch"),
    fact(lambda seen: _nvml(seen, NVML_MISMATCH)),
    fact(_two_versions),
)
#: a node that is there and that the container's rules forbid: EPERM, where a file's own rights would give EACCES
_taken_away = any_of(
    said(r"failed to initialize nvml:? unknown error"),
    fact(lambda seen: _nvml(seen, NVML_UNKNOWN)),
    errno_of(r"/dev/nvidia(?:ctl|\d+|-uvm)", 1),
)

FAULTS = [
    Fault(
        id="DRV-08",
        step="interpreter",
        signature=any_of(
            left(r"could not select device driver .*capabilities"),
            said(r"could not select device driver .*capabilities"),
        ),
        cause="docker cannot give a container the card: NVIDIA's container toolkit is missing or not configured",
        root=Answer(
            "fix", "nvidia-container-toolkit: install it, and nvidia-ctk runtime configure --runtime=docker"
        ),
        container=Answer(
            "fix", "nvidia-container-toolkit: install it, and nvidia-ctk runtime configure --runtime=docker"
        ),
        confirm="docker info names no runtime nvidia; a docker from snap never has one",
        source="https://github.com/NVIDIA/nvidia-docker/issues/1034",
    ),
    Fault(
        id="DRV-02",
        step="driver",
        signature=on_a_card(
            any_of(
                cuda_error(802),
                said(
                    r"system not yet initialized|fabric ?manager\b.{0,80}version.{0,40}do(?:n.?|es not|esn.?)t? match"
                ),
                unless(
                    card("Fabric: State {0.fabric_state}", _waits_for_its_fabric, "fabric_state"),
                    lambda seen: ["it computes"] if _computes(seen) else [],
                ),
            )
        ),
        cause="the switches that join the cards (NVSwitch) are not set up: fabric manager is missing, of another "
        "version than the driver, or still starting",
        root=Answer("fix", "the fabric manager: install and start the one of the driver's own version"),
        container=Answer("reconfigure", "the host: its fabric manager is the provider's"),
        confirm="nvidia-smi -q shows Fabric, State: Completed and Status: Success on every card",
        source="https://github.com/pytorch/pytorch/issues/35710",
    ),
    Fault(
        id="DRV-05",
        step="driver",
        signature=on_a_card(_mismatch),
        cause="the driver's libraries were replaced by an update while the old kernel module is still loaded",
        root=Answer("fix", "a reboot, so that module and libraries are of one version; then apt-mark hold"),
        container=Answer("reconfigure", "the host: its kernel module and its libraries are of two versions"),
        confirm="/proc/driver/nvidia/version has another number than the file behind libnvidia-ml.so.1",
        source="https://github.com/NVIDIA/ubuntu-packaging-nvidia-driver/issues/3",
    ),
    Fault(
        id="DRV-06",
        step="driver",
        signature=on_a_card(_taken_away),
        cause="the container has lost its cards while it ran: the host's systemd has reset what it may open",
        root=Answer(
            "fix", "the container: made anew, with the devices named (--device) or the cgroupfs driver"
        ),
        container=Answer("reconfigure", "the container: made anew on its host, which the provider has to do"),
        confirm="nvidia-smi works on the host, and in the container it says Failed to initialize NVML: Unknown Error",
        source="https://github.com/NVIDIA/nvidia-docker/issues/1671",
    ),
    Fault(
        id="DRV-04",
        step="driver",
        signature=on_a_card(
            any_of(
                cuda_error(804), said(r"forward compatibility was attempted on non supported (?:hw|hardware)")
            )
        ),
        cause="the image brings a newer CUDA than the driver serves, with a compatibility library that works on data "
        "centre cards only",
        root=Answer("fix", "the driver: one that serves the CUDA of the image"),
        container=Answer("fix", "the image: one whose CUDA the host's driver serves"),
        confirm="nvidia-smi shows a lower CUDA Version than the image's; /usr/local/cuda/compat holds a libcuda",
        source="https://github.com/vllm-project/vllm/issues/4940",
    ),
    Fault(
        id="DRV-03",
        step="driver",
        signature=on_a_card(
            unless(
                any_of(
                    cuda_error(803),
                    said(r"unsupported display driver ?/ ?cuda driver combination"),
                ),
                _mismatch,
                _taken_away,
            )
        ),
        cause="libcuda is not the kernel driver's own: a compatibility library of the image or a leftover is first",
        root=Answer(
            "fix", "libcuda: the driver's own first (no compat folder in LD_LIBRARY_PATH and ldconfig)"
        ),
        container=Answer(
            "fix", "libcuda: the driver's own first (no compat folder in LD_LIBRARY_PATH and ldconfig)"
        ),
        confirm="nvidia-smi works; ldconfig -p shows a libcuda.so.1 in a folder named compat",
        source="https://github.com/NVIDIA/nvidia-docker/issues/1256",
    ),
    Fault(
        id="DRV-07",
        step="driver",
        signature=on_a_card(
            unless(
                all_of(any_of(cuda_error(999), said(r"cuda unknown error")), fact(_no_uvm)),
                _taken_away,
                _mismatch,
            )
        ),
        cause="the part of the driver that computing needs (nvidia_uvm) is not loaded, or its node is not here",
        root=Answer("fix", "/dev/nvidia-uvm: nvidia-modprobe -c 0 -u"),
        container=Answer(
            "reconfigure", "/dev/nvidia-uvm: the container's start has to pass it in, or another host"
        ),
        confirm="nvidia-smi works, and ls /dev/nvidia-uvm finds nothing",
        source="https://github.com/pytorch/pytorch/issues/49081",
    ),
    Fault(
        id="DRV-10",
        step="driver",
        signature=on_a_card(
            unless(
                any_of(
                    facts(_another_module),
                    said(
                        r"couldn'?t communicate with the nvidia driver|nvml error: driver not loaded"
                        r"|initialization error: load library failed: libnvidia-ml"
                    ),
                ),
                no_card,
                _mismatch,
            )
        ),
        cause="NVIDIA's kernel module does not drive the card: nouveau has it, or a new kernel came without the module",
        root=Answer(
            "fix", "the kernel module: nouveau on the blacklist, and the driver installed for this kernel"
        ),
        container=Answer("reconfigure", "the host: its kernel does not drive the card"),
        confirm="lspci -k shows another kernel driver in use than nvidia, or none; dkms status has not this kernel",
        source="https://github.com/Oneflow-Inc/oneflow/issues/3106",
    ),
    Fault(
        id="DRV-09",
        step="driver",
        signature=on_a_card(
            any_of(
                fact(_no_libcuda),
                said(
                    r"couldn'?t find libnvidia-ml|could(?: not|n'?t) load (?:the )?nvml library"
                    r"|libcuda\.so\S* (?:cannot|can ?not be|not) found"
                ),
            )
        ),
        cause="the card is here and the driver's library is not found: it was not passed in, or ldconfig did not run",
        root=Answer("fix", "the driver's libraries: those of the module's version installed, then ldconfig"),
        container=Answer(
            "fix", "NVIDIA_DRIVER_CAPABILITIES=compute,utility for the container; then ldconfig"
        ),
        confirm="ldconfig -p has no libcuda.so.1, while /dev/nvidiactl can be opened",
        source="https://github.com/NVIDIA/nvidia-docker/issues/1163",
    ),
    Fault(
        id="DRV-11",
        step="driver",
        signature=on_a_card(unless(facts(hidden), no_card)),
        cause="a variable hides the cards from the process: it is empty, or names cards that are not there",
        root=Answer(
            "fix", "CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES): not set, or set to cards that are there"
        ),
        container=Answer(
            "fix", "CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES): not set, or set to cards that are there"
        ),
        confirm="env -u with the variable's name before the command, and torch sees the cards",
        source="https://github.com/pytorch/pytorch/pull/92315",
    ),
    Fault(
        id="DRV-01",
        step="driver",
        signature=on_a_card(
            any_of(
                cuda_error(35),
                said(
                    r"driver on your system is too old|driver version is insufficient for cuda runtime"
                    r"|nvidia driver too old"
                ),
                fact(_older_than_torch),
            )
        ),
        cause="torch was built for a newer CUDA than the driver serves",
        root=Answer(
            "fix", "torch: a build for the CUDA that the driver serves (index-url), or a newer driver"
        ),
        container=Answer(
            "reconfigure",
            "the host: one with a newer driver, unless an older torch will do for the application",
        ),
        confirm="nvidia-smi's header shows a lower CUDA Version than torch.version.cuda",
        source="https://github.com/lllyasviel/Fooocus/issues/1313",
    ),
    Fault(
        id="DRV-12",
        step="compute",
        check="launch.second_process",
        signature=on_a_card(
            unless(
                any_of(
                    card("compute mode {0.compute_mode}", _alone, "compute_mode"),
                    cuda_error(46),
                    said(_BUSY),
                ),
                no_licence,
            )
        ),
        cause="the card serves one process at a time (compute mode Exclusive_Process): a second one finds it busy",
        root=Answer("fix", "the compute mode: nvidia-smi -c DEFAULT"),
        container=Answer(
            "fix", "the application: one process for each card, or the provider sets compute mode DEFAULT"
        ),
        confirm="nvidia-smi --query-gpu=compute_mode --format=csv shows Exclusive_Process",
        source="https://github.com/NVIDIA/DIGITS/issues/2005",
    ),
    Fault(
        id="DRV-13",
        step="extensions",
        signature=any_of(
            extension(r"cannot re-?initialize cuda in forked subprocess"),
            said(r"cannot re-?initialize cuda in forked subprocess"),
        ),
        cause="the program used CUDA before it forked its workers, and a card cannot be used on both sides of a fork",
        root=Answer("fix", "the start of the workers: spawn in place of fork, or no CUDA call before"),
        container=Answer("fix", "the start of the workers: spawn in place of fork, or no CUDA call before"),
        confirm="torch.cuda.is_initialized() is True just before the workers start",
        source="https://github.com/vllm-project/vllm/issues/7151",
    ),
]
