"""MGP: several cards in one machine, and what lies between them.

What the application's own collectives do cannot be seen before it runs; the copies between every two cards can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Iterator

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import Transfer
from plugins.catalogue.cards import named
from plugins.catalogue.extensions import told
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import all_of
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import card
from plugins.catalogue.signatures import cuda_error
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import kernel
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless
from plugins.catalogue.signatures import xid

#: bytes a second of one lane of PCIe by its generation, after its coding
LANE = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.56e9}
#: below this share of the link's rate a copy between two cards did not go over the link alone
SLOW = 0.25
#: smaller copies show the time of a call and not a rate
LARGE_BYTES = 16 << 20
#: a card of which more than this is free is not what the memory was missing on
EMPTY = 0.9

#: switches that programs look for by name: any value turns them on, and 0 too
BY_PRESENCE = ("GGML_CUDA_P2P", "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "PYTORCH_NO_CUDA_MEMORY_CACHING")
OFF = ("", "0", "false", "off", "no")


def number_of_cards(seen: Seen) -> int:
    """As many as any source shows; none where nothing is known."""
    shown: dict[str, int] = {}
    for state in seen.inventory.states + seen.launch.states:
        # of several that were shown maybe one was pasted, with its number
        shown[state.source] = max(shown.get(state.source, 0) + 1, (state.index or 0) + 1)
    return max(len(seen.launch.devices), len(seen.inventory.cards), *shown.values(), 0)


def several(seen: Seen) -> str | None:
    count = number_of_cards(seen)
    return f"{count} cards" if count > 1 else None


def among_several(signature: Signature) -> Signature:
    """`signature`, on a machine with more than one card."""
    return lambda seen: signature(seen) if several(seen) else []


def between_cards(seen: Seen) -> list[Transfer]:
    return [one for one in seen.launch.transfers if "host" not in (one.source, one.target)]


def hung_copies(seen: Seen) -> list[str]:
    return [
        f"{one.source} to {one.target}, {one.bytes} bytes: {one.error}"
        for one in between_cards(seen)
        if one.exact is None and one.error and "no end within" in one.error
    ]


def wrong_copies(seen: Seen) -> list[str]:
    """Between cards, where the copies between the host and these cards are right."""
    to_host = [one for one in seen.launch.transfers if "host" in (one.source, one.target)]
    if any(one.exact is not True for one in to_host):
        return []
    return [
        f"{one.source} to {one.target}, {one.bytes} bytes: not the bits that were sent"
        for one in between_cards(seen)
        if one.exact is False
    ]


def slow_copies(seen: Seen) -> list[str]:
    """Between cards of a kind whose driver lets none read another's memory, at a small part of the link's rate."""
    names = {device.name for device in seen.launch.devices}
    if not names or not all("geforce" in name.casefold() for name in names):
        return []
    links = [
        LANE[state.link_generation_max] * state.link_width_max
        for state in seen.states
        if state.link_generation_max in LANE and state.link_width_max
    ]
    return [
        f"{one.source} to {one.target}: {one.bytes / one.seconds / 1e9:.1f} GB/s of the link's {min(links) / 1e9:.0f}"
        for one in between_cards(seen)
        if links
        and one.exact
        and one.seconds
        and one.bytes >= LARGE_BYTES
        and one.bytes / one.seconds < SLOW * min(links)
    ]


def lost_links(seen: Seen) -> list[str]:
    """A card with fewer NVLinks than its sister, or with some down where board or switches join them all.

    All down on every card is a machine without NVLink, and some down on cards in slots may be its bridges.
    """
    found = [
        f"{one.source}, card {one.index}: {one.nvlinks_active} links active, {one.nvlinks_inactive} inactive, on a "
        "board that uses them all"
        for one in seen.states
        if one.nvlinks_active and one.nvlinks_inactive and is_on_a_board(one.name or "")
    ]
    for sisters in _sisters(seen.states):
        known = [one for one in sisters if one.nvlinks_active is not None]
        most = max((one.nvlinks_active or 0 for one in known), default=0)
        for one in known:
            down = one.nvlinks_inactive or 0
            switched = (one.fabric_state or "N/A").casefold() not in ("n/a", "not supported")
            if (one.nvlinks_active or 0) < most or (switched and down and most):
                found.append(
                    f"{one.source}, card {one.index}: {one.nvlinks_active} links active, {down} inactive; "
                    f"the most on a card are {most}"
                )
    return found


def is_on_a_board(name: str) -> bool:
    """Whether its name is only of cards that are soldered to a board of several: SXM, of which every link is used."""
    models = named(name)
    return bool(re.search(r"\bSXM", name)) or (bool(models) and all(model.form == "SXM" for model in models))


def _sisters(states: Iterable[CardState]) -> Iterator[list[CardState]]:
    """The states of cards of one name from one source, where they are several."""
    groups: dict[tuple[str, str | None], list[CardState]] = {}
    for state in states:
        groups.setdefault((state.source, state.name), []).append(state)
    return (group for group in groups.values() if len({(one.index, one.uuid) for one in group}) > 1)


def _unregistered(state: CardState) -> bool:
    """The links are up, and the fabric manager refused the card."""
    status = (state.fabric_status or "").strip().casefold()
    completed = (state.fabric_state or "").strip().casefold() == "completed"
    return completed and status not in ("", "success", "n/a", "not supported")


def the_others_are_empty(seen: Seen) -> str | None:
    """Cards beside the first whose memory is free."""
    free = [
        device.index
        for device in seen.launch.devices[1:]
        if device.free_bytes and device.memory_bytes and device.free_bytes >= EMPTY * device.memory_bytes
    ]
    return f"{len(free)} other cards with nearly all of their memory free" if free else None


def switched_on_by_off(seen: Seen) -> list[str]:
    return [
        f"{name}={value}: set, and so on"
        for name, value in seen.variables.items()
        if name in BY_PRESENCE and value is not None and value.strip().casefold() in OFF
    ]


FAULTS = [
    Fault(
        id="MGP-01",
        step="compute",
        check="launch.transfers",
        signature=facts(hung_copies),
        cause="copies between two cards never arrive: the board sends them through its IOMMU or access control (ACS)",
        root=Answer(
            "fix", "the kernel's command line: iommu=pt, and access control (ACS) off on the cards' bridges"
        ),
        container=Answer("reconfigure", "the host; with NCCL_P2P_DISABLE=1 it runs, and slower"),
        confirm="the same all-reduce of two ranks ends with NCCL_P2P_DISABLE=1 and hangs without it",
        source="https://github.com/NVIDIA/nccl/issues/2079",
    ),
    Fault(
        id="MGP-02",
        step="compute",
        check="launch.transfers",
        signature=facts(wrong_copies),
        cause="what is copied from card to card arrives as zeros or as something else, and no call says so: direct "
        "access between the cards (P2P) is broken on this machine",
        root=Answer("reconfigure", "the host: its cards do not get what they send each other"),
        container=Answer("reconfigure", "the host: its cards do not get what they send each other"),
        confirm="the same copy by way of the host's memory is exact; with P2P off (NCCL_P2P_DISABLE=1) so is the first",
        source="https://github.com/pytorch/pytorch/issues/84803",
    ),
    Fault(
        id="MGP-04",
        step="compute",
        check="launch.transfers",
        signature=any_of(
            among_several(facts(lost_links)),
            xid(74),
            kernel(lambda event: event.kind == "xgmi"),
            said(r"p2p is disabled between nvlink connected gpus"),
        ),
        cause="links between the cards (NVLink, or XGMI on AMD's) are down or report errors",
        root=Answer("reconfigure", "the host: a link between its cards is down"),
        container=Answer("reconfigure", "the host: a link between its cards is down"),
        confirm="nvidia-smi nvlink -s shows an inactive link on a card, or fewer than on its sisters",
        source="https://github.com/Azure/azhpc-diagnostics/issues/73",
    ),
    Fault(
        id="MGP-05",
        step="compute",
        check="launch.transfers",
        signature=unless(
            among_several(
                card(
                    "Fabric: State {0.fabric_state}, Status {0.fabric_status}",
                    _unregistered,
                    "fabric_state",
                    "fabric_status",
                )
            ),
            cuda_error(802),  # then nothing computes at all: DRV-02
        ),
        cause="the cards' links are up and their registration with the switches was refused: each computes, and what "
        "they do together is 10 to 100 times slower",
        root=Answer(
            "reconfigure", "the host: its fabric (NVSwitch, fabric manager) did not accept the cards"
        ),
        container=Answer(
            "reconfigure", "the host: its fabric (NVSwitch, fabric manager) did not accept the cards"
        ),
        confirm="nvidia-smi -q shows Fabric with State: Completed and a Status that is not Success",
        source="https://github.com/Azure/azhpc-images/pull/506",
    ),
    Fault(
        id="MGP-06",
        step="compute",
        check="launch.transfers",
        signature=facts(slow_copies),
        cause="GeForce cards may not read each other's memory: what goes from card to card takes the way of the host",
        root=Answer(
            "reconfigure", "the plan: independent jobs, one a card, or cards with direct access to each other"
        ),
        container=Answer(
            "reconfigure", "the plan: independent jobs, one a card, or cards with direct access to each other"
        ),
        confirm="torch.cuda.can_device_access_peer(0, 1) is False",
        source="https://github.com/NVIDIA/nccl/issues/1309",
        blocks=False,  # each card by itself is as good as it would be alone
    ),
    Fault(
        id="MGP-09",
        step="environment",
        signature=facts(switched_on_by_off),
        cause="a variable is set to 0 to turn something off, and its program only asks whether it is set: it is on",
        root=Answer("fix", "the variable: not set at all, instead of set to 0"),
        container=Answer("fix", "the variable: not set at all, instead of set to 0"),
        confirm="the program behaves otherwise under env -u with the variable's name",
        source="https://github.com/unslothai/unsloth/issues/10613",
        blocks=False,  # what is then on may work
    ),
    Fault(
        id="MGP-03",
        step="extensions",
        signature=all_of(
            told(r"out of memory.{0,200}\bGPU 0\b|\bGPU 0\b.{0,200}out of memory"),
            fact(several),
            fact(the_others_are_empty),
        ),
        cause="the model does not fit on one card, and the application puts all of it on the first: the memory of "
        "several cards is not one memory",
        root=Answer(
            "reconfigure", "the card: one with more memory, or an application that divides the model"
        ),
        container=Answer(
            "reconfigure", "the card: one with more memory, or an application that divides the model"
        ),
        confirm="while it loads, nvidia-smi shows card 0 full and the others empty",
        source="https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/193",
    ),
    Fault(
        id="MGP-07",
        step="extensions",
        signature=told(r"watchdog caught collective operation timeout"),
        cause="the processes of a distributed run do not have the same number of batches: one has left, and the others "
        "wait for it until the watchdog ends them",
        root=Answer("fix", "the batches: as many for each process (drop_last, padding or join)"),
        container=Answer("fix", "the batches: as many for each process (drop_last, padding or join)"),
        confirm="len(loader) differs between the ranks, and one of them logs its last batch before the others",
        source="https://github.com/microsoft/PyMarlin/issues/80",
    ),
]
