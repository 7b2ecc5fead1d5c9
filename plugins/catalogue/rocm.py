"""ROC: AMD's driver, and torch for it."""

from __future__ import annotations

import re

from fixtures.evidence.models import Launch
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import all_of
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import errno_of
from plugins.catalogue.signatures import extension
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import on_a_card
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless

#: cards of data centres, for which no other name may be claimed
INSTINCT = re.compile(r"\bMI\d{2,3}[AX]?\b|\bgfx(?:90[68a]|94\d|950)\b", re.IGNORECASE)
#: HIP takes both for the same list
HIP_LISTS = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def _vendors(seen: Seen) -> set[str]:
    return {one.vendor for one in seen.inventory.cards}


def _is_rocm(seen: Seen) -> str | None:
    torch = seen.launch.torch
    return f"torch {torch.version} is built for ROCm {torch.hip}" if torch and torch.hip else None


def _wants_kfd(seen: Seen) -> str | None:
    """AMD's cards are what was asked for, or all that there is."""
    amd = seen.launch.asked_device == "rocm" or _vendors(seen) == {"amd"}
    return "AMD's cards are asked for" if amd else None


def _for_the_other(seen: Seen) -> str | None:
    """torch is built for one vendor, and all cards are the other's."""
    torch, vendors = seen.launch.torch, _vendors(seen)
    if torch is None:
        return None
    if torch.cuda and not torch.hip and vendors == {"amd"}:
        return f"torch {torch.version} is built for CUDA {torch.cuda}, and the cards are AMD's"
    if torch.hip and not torch.cuda and vendors == {"nvidia"}:
        return f"torch {torch.version} is built for ROCm {torch.hip}, and the cards are NVIDIA's"
    return None


def _overridden(seen: Seen) -> str | None:
    """A card of a data centre is made to pass for another."""
    if "HSA_OVERRIDE_GFX_VERSION" not in seen.variables:
        return None
    value = seen.variables["HSA_OVERRIDE_GFX_VERSION"]
    names = [one.name for one in seen.inventory.cards if one.name]
    names += [one.name for one in seen.launch.devices] + [one.name for one in seen.states if one.name]
    known = next((name for name in [*names, *seen.architectures] if INSTINCT.search(name)), None)
    return f"HSA_OVERRIDE_GFX_VERSION={value}, on {known}" if known else None


def _no_binary(launch: Launch) -> bool:
    text = " ".join(step.error or "" for step in launch.steps) + " ".join(one.text for one in launch.said)
    return bool(re.search(r"hipErrorNoBinaryForGpu|invalid device function", text, re.IGNORECASE))


def _overridden_in_vain(seen: Seen) -> str | None:
    """On any other card the override is a workaround, unless nothing runs with it."""
    value = seen.variables.get("HSA_OVERRIDE_GFX_VERSION")
    return f"HSA_OVERRIDE_GFX_VERSION={value}" if value and _no_binary(seen.launch) else None


def _two_lists(seen: Seen) -> str | None:
    """ROCm shows only some cards, and HIP counts among those."""
    outer = seen.variables.get("ROCR_VISIBLE_DEVICES")
    if not outer or "amd" not in _vendors(seen) | ({"amd"} if _is_rocm(seen) else set()):
        return None
    left = len([part for part in outer.split(",") if part.strip()])
    for name in HIP_LISTS:
        inner = (seen.variables.get(name) or "").strip()
        numbers = [int(part) for part in inner.split(",") if part.strip().isdigit()]
        if numbers and max(numbers) >= left:
            return f"ROCR_VISIBLE_DEVICES={outer} leaves {left}, and {name}={inner} counts among these from 0"
    return None


def _shown_all_the_same(seen: Seen) -> str | None:
    empty = seen.variables.get("HIP_VISIBLE_DEVICES") == ""
    count = len(seen.launch.devices)
    return (
        f"HIP_VISIBLE_DEVICES is empty, and torch sees {count}"
        if empty and count and _is_rocm(seen)
        else None
    )


def _from_rocminfo(seen: Seen) -> bool:
    return any(state.source == "rocminfo" for state in seen.states)


def _of_amd(signature: Signature) -> Signature:
    """`signature`, where torch is built for ROCm."""
    return all_of(fact(_is_rocm), signature)


#: rocminfo's first line where the kernel has no amdgpu; where it lists cards all the same, it could not tell
_not_loaded = unless(
    said(r"ROCk module is NOT loaded"),
    fact(lambda seen: "cards" if seen.launch.devices or _from_rocminfo(seen) else None),
)

FAULTS = [
    Fault(
        id="ROC-03",
        step="driver",
        signature=on_a_card(any_of(errno_of("/dev/kfd", 22), said(r"/dev/kfd.{0,40}invalid argument"))),
        cause="the host's AMD driver refuses this container the compute device, though node and rights are there",
        root=Answer("reconfigure", "the host: its kernel driver refuses /dev/kfd"),
        container=Answer("reconfigure", "the host: its kernel driver refuses /dev/kfd"),
        confirm="opening /dev/kfd gives errno 22, and rocminfo says Invalid argument",
        source="https://github.com/ROCm/legacy-rocm-build/issues/4043",
    ),
    Fault(
        id="ROC-02",
        step="driver",
        signature=on_a_card(
            any_of(errno_of("/dev/kfd", 13, 1), said(r"/dev/kfd.{0,40}(?:permission denied|not permitted)"))
        ),
        cause="the process may not open /dev/kfd: it is not in the group that owns it (render), by its number",
        root=Answer("fix", "the group: usermod -aG render,video for this user, and a new session"),
        container=Answer(
            "fix",
            "the group: --group-add with /dev/kfd's number for the container, or an administrator adds this user",
        ),
        confirm="stat -c %g /dev/kfd is not among the numbers of id -G",
        source="https://github.com/ROCm/ROCm-docker/issues/116",
    ),
    Fault(
        id="ROC-01",
        step="driver",
        signature=on_a_card(
            unless(
                any_of(
                    all_of(fact(_wants_kfd), errno_of("/dev/kfd", 2)),
                    said(r"unable to open /dev/kfd.{0,40}no such file"),
                ),
                _not_loaded,
            )
        ),
        cause="AMD's compute device /dev/kfd is not here: the container started without it, or amdgpu is not loaded",
        root=Answer("fix", "the kernel module amdgpu: installed for this kernel and loaded"),
        container=Answer("fix", "the container's start: --device /dev/kfd --device /dev/dri"),
        confirm="ls /dev/kfd /dev/dri finds nothing in the container, and both on the host",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1798",
    ),
    Fault(
        id="ROC-01-MODULE",
        step="driver",
        signature=on_a_card(_not_loaded),
        cause="the kernel has no amdgpu loaded, the driver of AMD's cards: it is not installed for this kernel, or it "
        "failed to start",
        root=Answer("fix", "the kernel module amdgpu: installed for this kernel and loaded"),
        container=Answer("reconfigure", "the host: its kernel has no amdgpu loaded"),
        confirm="lsmod | grep amdgpu finds nothing, and rocminfo says ROCk module is NOT loaded",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1798",
    ),
    Fault(
        id="ROC-05",
        step="import",
        signature=on_a_card(fact(_for_the_other)),
        cause="torch was built for the cards of the other vendor: pip took it from its usual index",
        root=Answer("fix", "torch: from the index for these cards, with a Python that it has wheels for"),
        container=Answer(
            "fix", "torch: from the index for these cards, with a Python that it has wheels for"
        ),
        confirm="torch.version.hip is None on AMD's cards, or torch.version.cuda on NVIDIA's",
        source="https://github.com/vllm-project/vllm/issues/39378",
    ),
    Fault(
        id="ROC-09",
        step="device",
        signature=on_a_card(fact(_two_lists)),
        cause="two variables hide cards one after the other: HIP counts from 0 among those that ROCR has left",
        root=Answer("fix", "ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES: one of the two not set"),
        container=Answer("fix", "ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES: one of the two not set"),
        confirm="with only one of them set torch sees the card",
        source="https://github.com/Parsl/parsl/issues/3858",
    ),
    Fault(
        id="ROC-10",
        step="device",
        signature=fact(_shown_all_the_same),
        cause="an empty HIP_VISIBLE_DEVICES hides nothing on AMD's cards, unlike CUDA_VISIBLE_DEVICES on NVIDIA's",
        root=Answer("fix", "the run without a card: the device cpu in the program, and the variable not set"),
        container=Answer(
            "fix", "the run without a card: the device cpu in the program, and the variable not set"
        ),
        confirm="HIP_VISIBLE_DEVICES= python -c 'import torch; print(torch.cuda.device_count())' prints more than 0",
        source="https://github.com/ROCm/hip/issues/3001",
        blocks=False,  # the cards are there and work
    ),
    Fault(
        id="ROC-04",
        step="compute",
        signature=on_a_card(any_of(fact(_overridden), fact(_overridden_in_vain))),
        cause="HSA_OVERRIDE_GFX_VERSION lets the card pass for another one, whose code it cannot run",
        root=Answer("fix", "HSA_OVERRIDE_GFX_VERSION: not set"),
        container=Answer("fix", "HSA_OVERRIDE_GFX_VERSION: not set"),
        confirm="env -u HSA_OVERRIDE_GFX_VERSION rocminfo shows another gfx name",
        source="https://github.com/ROCm/legacy-rocm-build/issues/2061",
    ),
    Fault(
        id="ROC-06",
        step="extensions",
        signature=_of_amd(
            any_of(
                extension(
                    r"gfx\w*.{0,60}(?:invalid|not supported).{0,40}flash|nvcc was not found", "flash_attn"
                ),
                extension(r"no module named|cannot import|undefined symbol", "flash_attn"),
                said(r"gfx\w*.{0,60}(?:invalid|not supported) (?:or not supported )?by flash-?attention"),
            )
        ),
        cause="flash-attn from the usual index is made for CUDA; AMD's own is made for MI200 and MI300 cards only",
        root=Answer("fix", "the attention: torch's own (SDPA), or AMD's build of flash-attn"),
        container=Answer("fix", "the attention: torch's own (SDPA), or AMD's build of flash-attn"),
        confirm="pip install flash-attn asks for nvcc or CUDA_HOME; rocminfo's gfx name is not gfx90a, gfx942, gfx950",
        source="https://github.com/Dao-AILab/flash-attention/issues/1635",
    ),
    Fault(
        id="ROC-07",
        step="extensions",
        signature=_of_amd(
            extension(
                r"libbitsandbytes|compiled without gpu support|native library|no module named"
                r"|not (?:yet )?(?:available|supported).{0,40}(?:rocm|hip)|rocm binary not found",
                "bitsandbytes",
            )
        ),
        cause="this bitsandbytes has no library for ROCm: 8 and 4 bits are not there on this card",
        root=Answer("fix", "the quantisation: bfloat16 or another backend, or AMD's build of bitsandbytes"),
        container=Answer(
            "fix", "the quantisation: bfloat16 or another backend, or AMD's build of bitsandbytes"
        ),
        confirm="python -m bitsandbytes; its folder holds no libbitsandbytes_rocm*.so",
        source="https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1519",
    ),
]
