"""ORD: what was ordered, and what is there instead."""

from __future__ import annotations

import re
from collections.abc import Callable

from fixtures.evidence.ladder import CardState
from plugins.catalogue.cards import difference
from plugins.catalogue.cards import SLACK
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import all_of
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import card
from plugins.catalogue.signatures import cuda_error
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import kernel
from plugins.catalogue.signatures import left
from plugins.catalogue.signatures import on_a_card
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless

#: classes of PCI devices that compute: display controllers, and accelerators as AMD's
_COMPUTING = ("0x03", "0x12")
#: what a card that is whole says of its partitions
_WHOLE = {"spx", "nps1", "n/a", ""}


def _cards(seen: Seen) -> list[tuple[int, str, int | None]]:
    """Index, name and memory of each card, as torch has them, else the vendor's library."""
    if seen.launch.devices:
        return [(one.index, one.name, one.memory_bytes) for one in seen.launch.devices]
    return [(one.index, one.name, one.memory_bytes) for one in seen.inventory.cards if one.name]


def _not_as_ordered(*kinds: str) -> Callable[[Seen], list[str]]:
    """The cards that differ from the order in one of these ways."""

    def find(seen: Seen) -> list[str]:
        if seen.order is None or seen.order.card is None:
            return []
        found = []
        for index, name, memory in _cards(seen):
            other = difference(seen.order.card, name, memory)
            if other and other.kind in kinds:
                found.append(f"cuda:{index}: {other.says}")
        return found

    return find


def _unlike(seen: Seen) -> list[str]:
    """Cards of one machine that have not the same name, or not the same memory."""
    cards = _cards(seen)
    sizes = [memory for _, _, memory in cards if memory]
    unequal = bool(sizes) and min(sizes) < (1 - SLACK) * max(sizes)
    if len({name for _, name, _ in cards}) < 2 and not unequal:
        return []
    return [
        f"cuda:{index}: {name}" + (f", {memory / (1 << 30):.1f} GiB" if memory else "")
        for index, name, memory in cards
    ]


def no_card_came(seen: Seen) -> list[str]:
    """A machine that has a place for cards and none in it: nothing on the bus, or in a container nothing let in."""
    driver = seen.driver
    counted = [asked.count for asked in (driver.cuda, driver.nvml) if asked and asked.count]
    # what stands on the bus of a container's host may be its neighbours'
    listed = [one for one in seen.inventory.cards if one.source != "pci"]
    witnessed = [
        state for state in seen.states if state.name
    ]  # where the bus is hidden, nvidia-smi may still see them
    if seen.order is None or driver.pci is None or seen.launch.devices or listed or counted or witnessed:
        return []
    computing = [one for one in driver.pci if (one.class_ or "0x03").startswith(_COMPUTING)]
    if not computing:
        return [f"no card on the bus, and {seen.order.cards} ordered"]
    nodes = [node for node in driver.nodes if node.path.startswith("/dev/nvidia")]
    nothing = bool(nodes) and all(node.errno == 2 for node in nodes)
    loaded = any(asked and asked.error is None for asked in (driver.cuda, driver.nvml))
    bound = any(one.module == "nvidia" for one in computing)
    if seen.in_charge or not nothing or loaded or not bound:
        return []
    count = len([one for one in computing if one.vendor == "0x10de"])
    return [f"{count} cards on the host's bus, no /dev/nvidiactl and no driver library in this container"]


def _uncounted(seen: Seen) -> str | None:
    """torch counts no card, and the driver does."""
    asked = seen.driver.cuda
    if seen.launch.devices or not asked or not asked.count:
        return None
    step = next((one for one in seen.launch.steps if one.name == "device" and one.status == "failed"), None)
    counted = step and re.search(r"device_count\W{0,3}0\b", step.error or "")
    return f"torch counts 0 cards, the driver {asked.count}" if counted else None


def _misdirected(seen: Seen) -> list[str]:
    """Cards chosen by a number that means another card to CUDA than to nvidia-smi."""
    if (seen.variables.get("CUDA_DEVICE_ORDER") or "").strip().upper() == "PCI_BUS_ID":
        return []
    numbers = [part.strip() for part in (seen.variables.get("CUDA_VISIBLE_DEVICES") or "").split(",")]
    if not all(part.isdigit() for part in numbers):
        return []
    listed: dict[int, CardState] = {}
    for state in seen.states:
        if state.source.startswith(("nvidia-smi", "nvml")) and state.index is not None and state.uuid:
            listed.setdefault(state.index, state)
    found = []
    for device in seen.launch.devices:
        place = device.index
        if numbers and place >= len(numbers):
            continue
        meant = listed.get(int(numbers[place]) if numbers else place)
        if meant and device.uuid and (meant.uuid or "").startswith("GPU-") and device.uuid != meant.uuid:
            found.append(
                f"cuda:{place} is {device.name}; card {meant.index} of {meant.source} is {meant.name}"
            )
    return found


def _is_vgpu(state: CardState) -> bool:
    return (state.virtual or "").casefold().replace("-", "") == "vgpu" or bool(
        re.search(r"^\s*(?:NVIDIA\s+)?GRID\b|-\d+[ABCQ]$", state.name or "")
    )


def _unlicensed(state: CardState) -> bool:
    """Only a vGPU has a licence to lose; a card that says that it is none, or what it is, is none."""
    lost = re.search(r"unlicensed|expired|error", state.licence or "", re.IGNORECASE)
    return bool(lost) and (_is_vgpu(state) or (state.virtual is None and state.name is None))


def _holds_no_slice(seen: Seen) -> list[str]:
    """Cards that were prepared for division and then not divided: as they are, no process can use them."""
    states = [state for state in seen.states if state.mig and state.mig_devices == []]
    counted = seen.driver.cuda and seen.driver.cuda.count
    if counted or len(seen.launch.devices) >= max(len(seen.inventory.cards), 1):
        return []
    found = (state.lines.get("mig_devices") or state.lines.get("mig") for state in states)
    which = (
        state.source if state.index is None else f"{state.source}, card {state.index}" for state in states
    )
    return [
        f"{one}: {line or 'MIG is enabled'}, and no MIG device"
        for one, line in zip(which, found, strict=True)
    ]


def _divided(state: CardState) -> bool:
    modes = (state.partition_compute or "", state.partition_memory or "")
    return any(mode.strip().casefold() not in _WHOLE for mode in modes)


def _is_mig(seen: Seen) -> str | None:
    divided = [state for state in seen.states if state.mig]
    return f"{divided[0].source}: card {divided[0].index} is divided (MIG)" if divided else None


#: what looks like a fault of the driver, and is one of these
no_licence = any_of(
    card("vGPU {0.name}, licence: {0.licence}", _unlicensed, "licence", "virtual"),
    all_of(card("vGPU {0.name}", _is_vgpu, "virtual"), cuda_error(46)),
)
no_card = any_of(facts(no_card_came), said(r"^no devices were found\.?$"))

FAULTS = [
    Fault(
        id="ORD-07",
        step="interpreter",
        signature=any_of(
            left(r"unsatisfied condition:? *cuda *[>=<]"), said(r"unsatisfied condition:? *cuda *[>=<]")
        ),
        cause="the container does not start: its image asks for a newer CUDA than the host's driver serves",
        root=Answer("fix", "the host's driver, or an image for the CUDA that it serves"),
        container=Answer(
            "reconfigure", "the host: one whose driver serves the image's CUDA (the offer's CUDA filter)"
        ),
        confirm="the image's NVIDIA_REQUIRE_CUDA names a higher CUDA than the header of nvidia-smi on the host",
        source="https://github.com/Nerogar/OneTrainer/issues/981",
    ),
    Fault(
        id="ORD-03",
        step="driver",
        signature=on_a_card(
            unless(
                no_card,
                kernel(lambda event: event.kind == "fell_off" or event.number == 79),
            )
        ),
        cause="the machine has no card at all: it was started without one, as after a stop whose cards went to others",
        root=Answer(
            "reconfigure", "the rented machine: it shows no card; move the data and take another host"
        ),
        container=Answer(
            "reconfigure", "the rented machine: it shows no card; move the data and take another host"
        ),
        confirm="nvidia-smi -L lists nothing, and the order's page says how many cards this instance has now",
        source="https://github.com/runpod/runpod-python/issues/168",
    ),
    Fault(
        id="ORD-04-EMPTY",
        step="driver",
        signature=on_a_card(facts(_holds_no_slice)),
        cause="the card is set to be divided (MIG) and has no slice: nvidia-smi shows it, and nothing can compute",
        root=Answer(
            "fix", "MIG: off (nvidia-smi -mig 0, then a reset), or slices made (nvidia-smi mig -cgi 0 -C)"
        ),
        container=Answer("reconfigure", "the delivery: a whole card, or a slice of it that exists"),
        confirm="nvidia-smi shows MIG as Enabled and No MIG devices found",
        source="https://github.com/wilicc/gpu-burn/issues/36",
    ),
    Fault(
        id="ORD-05",
        step="device",
        signature=on_a_card(all_of(fact(_is_mig), fact(_uncounted))),
        cause="this release of torch counts no card where one is divided (MIG), though it can compute there",
        root=Answer(
            "fix",
            "torch: a release that counts MIG slices, or CUDA_VISIBLE_DEVICES with the slice's MIG- name",
        ),
        container=Answer(
            "fix",
            "torch: a release that counts MIG slices, or CUDA_VISIBLE_DEVICES with the slice's MIG- name",
        ),
        confirm="torch.rand(1).cuda() works while torch.cuda.device_count() is 0",
        source="https://github.com/pytorch/pytorch/issues/95784",
    ),
    Fault(
        id="ORD-10",
        step="device",
        check="launch.card_model",
        signature=on_a_card(facts(_misdirected)),
        cause="the card that computes is not the one chosen: CUDA numbers the fastest first, nvidia-smi by place",
        root=Answer("fix", "CUDA_DEVICE_ORDER=PCI_BUS_ID, or the card chosen by its UUID"),
        container=Answer("fix", "CUDA_DEVICE_ORDER=PCI_BUS_ID, or the card chosen by its UUID"),
        confirm="torch.cuda.get_device_properties(i).uuid is another than that of card i in nvidia-smi -L",
        source="https://github.com/unslothai/unsloth/issues/6352",
    ),
    Fault(
        id="ORD-08",
        step="device",
        check="launch.cards_ordered",
        signature=on_a_card(
            card(
                "compute partition {0.partition_compute}, memory partition {0.partition_memory}",
                _divided,
                "partition_compute",
                "partition_memory",
            )
        ),
        cause="the card is divided into partitions, each with a part of its memory, as somebody before left it",
        root=Answer("reconfigure", "the host: its cards undivided, SPX and NPS1"),
        container=Answer("reconfigure", "the host: its cards undivided, SPX and NPS1"),
        confirm="amd-smi static --partition shows another mode than SPX or NPS1, and torch more cards than ordered",
        source="https://github.com/ROCm/legacy-rocm-build/issues/4750",
    ),
    Fault(
        id="ORD-04",
        step="device",
        check="launch.card_model",
        signature=on_a_card(facts(_not_as_ordered("slice"))),
        cause="a slice of a card (MIG) was delivered in place of a card, and one process can use only one slice",
        root=Answer("reconfigure", "the delivery: a whole card"),
        container=Answer("reconfigure", "the delivery: a whole card"),
        confirm="nvidia-smi -L shows MIG under the card",
        source="https://github.com/pytorch/pytorch/issues/102715",
    ),
    Fault(
        id="ORD-09",
        step="device",
        check="launch.card_model",
        signature=on_a_card(unless(facts(_unlike), facts(_misdirected))),
        cause="the cards of this machine are not alike: what is divided evenly among them must fit the smallest",
        root=Answer("reconfigure", "the delivery: cards of one kind, or a plan for the smallest of them"),
        container=Answer(
            "reconfigure", "the delivery: cards of one kind, or a plan for the smallest of them"
        ),
        confirm="nvidia-smi --query-gpu=name,memory.total --format=csv shows two kinds",
        source="https://github.com/vllm-project/vllm/issues/2317",
    ),
    Fault(
        id="ORD-01",
        step="device",
        check="launch.card_model",
        signature=on_a_card(unless(facts(_not_as_ordered("form")), facts(_unlike))),
        cause="the card is of the right family and another variant: SXM, PCIe and NVL differ in memory, links, power",
        root=Answer("reconfigure", "the delivery: the variant that was ordered"),
        container=Answer("reconfigure", "the delivery: the variant that was ordered"),
        confirm="nvidia-smi --query-gpu=name,memory.total,power.max_limit --format=csv",
        source="https://github.com/dstackai/gpuhunt/pull/93",
    ),
    Fault(
        id="ORD-02",
        step="device",
        check="launch.card_model",
        signature=on_a_card(
            unless(
                facts(_not_as_ordered("memory")),
                facts(_unlike),
                card("", _divided),
            )
        ),
        cause="a card has not the memory that was ordered: another size of it, or the order named the machine's own",
        root=Answer("reconfigure", "the delivery: cards with the memory that was ordered"),
        container=Answer("reconfigure", "the delivery: cards with the memory that was ordered"),
        confirm="torch.cuda.get_device_properties(0).total_memory, of one card and never the sum",
        source="https://github.com/gridai/gridai/issues/151",
    ),
    Fault(
        id="ORD-06",
        step="compute",
        signature=on_a_card(no_licence),
        cause="the card is a vGPU whose licence has lapsed at the provider: nvidia-smi is content, nothing computes",
        root=Answer("reconfigure", "the host: its vGPU licence is the provider's"),
        container=Answer("reconfigure", "the host: its vGPU licence is the provider's"),
        confirm="nvidia-smi -q shows License Status: Unlicensed",
        source="https://github.com/DDMAL/Rodan/issues/1332",
    ),
]
