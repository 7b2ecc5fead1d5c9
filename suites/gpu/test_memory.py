"""Do the card and the host have room for what the pilot took, and was the pilot as hard as the volume will be?"""

from __future__ import annotations

import re

from fixtures.evidence.exhaustion import OCCUPIED
from fixtures.evidence.models import Application
from fixtures.evidence.models import CardMemory
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Launch
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.rules import EVIDENT_GROWTH_BYTES
from plugins.criteria import check
from plugins.criteria import Claims

#: what a program prints whose model did not fit where it was wanted
_OFFLOADED = re.compile(
    r"some parameters are on the meta device"
    r"|(?:offloaded|dispatched) (?:to|on) (?:the )?(?:cpu|disk)\b"
    r"|(?:parameters|modules|weights|layers) will be offloaded"
    r"|buffer for offloaded layers",
    re.IGNORECASE,
)
#: llama.cpp counts the layers that it put on the card
_LAYERS = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
#: devices of a part that is on no card
_NOT_A_CARD = ("cpu", "disk", "meta")


def _size(count: float) -> str:
    """Bytes for people; exact where they are few."""
    for unit, step in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << step:
            return f"{count / (1 << step):.2f} {unit}"
    return f"{count:.0f} bytes"


def _need_a_run(application: Application, claim: Claims) -> None:
    if application.ended == "not_started":
        claim.not_reached("results.ended_by_itself", application.error or "it could not be started")


def _at(application: Application, at: float | None) -> str:
    """The document that was begun last before the peak."""
    if at is None:
        return ""
    begun = [one for one in application.told.begun if one.at <= at]
    if not begun:
        return f" after {at:.1f} s"
    many = f", up to {application.batch_size} at a time" if application.batch_size > 1 else ""
    return f" after {at:.1f} s, at {begun[-1].document}{many}"


def _parts(application: Application) -> str:
    """What it was for, as far as the application told."""
    told = application.told
    parts = dict(told.parts)
    allocated = max((one.peak_allocated_bytes for one in told.allocators), default=None)
    if allocated is not None and "weights" in parts and "working" not in parts:
        # what torch had at its peak beside the weights and the inputs is what it computed with
        parts["working"] = max(0, allocated - parts["weights"] - parts.get("inputs", 0))
    words = [f"{name} {_size(size)}" for name, size in parts.items()]
    words += [
        f"torch on {one.device}: {_size(one.peak_allocated_bytes)} allocated, {_size(one.peak_reserved_bytes)} reserved"
        for one in told.allocators
    ]
    return f" ({'; '.join(words)})" if words else ""


def _not_understood(application: Application) -> str:
    """Beside what it told: why that is not all."""
    problem = application.told.problem
    return f"; not all that it told was understood ({problem})" if problem else ""


def _used(application: Application) -> list[CardMemory]:
    """The cards that it was on. Where its processes can be seen, another card must have grown by more than a little."""
    cards = application.memory.cards
    visible = any(card.processes_seen for card in cards)
    enough = EVIDENT_GROWTH_BYTES if visible else 1
    return [card for card in cards if card.processes_seen or card.growth_bytes >= enough]


def _card(card: CardMemory, application: Application) -> str:
    name = f"card {card.index} {card.name}"
    if card not in _used(application):
        return f"{name}: nothing of the application was seen on it"
    own = f", {_size(card.processes_bytes)} its own processes'" if card.processes_bytes is not None else ""
    peak = f"peak {_size(card.peak_bytes)} of {_size(card.total_bytes)}{_at(application, card.peak_at)}"
    return f"{name}: {peak}; {_size(card.before_bytes)} before the start{own}"


def _fits(peak: int, total: int, margin: float) -> bool:
    return 0 < peak <= (1 - margin) * total


@check(
    "memory.card_peak",
    on_failure="fix",
    change="application.batch_size",
    scopes=("rental",),
)
def test_the_peak_with_its_margin_fits_each_card(
    application: Application, launch: Launch, parameters: Parameters, claim: Claims
) -> None:
    """From outside; torch's own figures where the cards cannot be read. Several cards are never one memory."""
    _need_a_run(application, claim)
    margin, cards, used = parameters.memory.margin, application.memory.cards, _used(application)
    over = [card for card in used if not _fits(card.peak_bytes, card.total_bytes, margin)]
    whole = bool(cards) and application.memory.cards_unread is None
    if over or whole:
        if not used:
            claim.not_reached("results.device_used", "nothing of the application was seen on any card")
        holds = not over
        found = "; ".join(_card(card, application) for card in cards) + _parts(application)
    else:
        holds, found = _by_torch(application, launch, margin, claim)
    # another program's memory is in the way where the application alone would have had room
    crowded = bool(over) and all(_fits(card.growth_bytes, card.total_bytes, margin) for card in over)
    alone = application.batch_size == 1 and not crowded
    claim(
        holds,
        required=f"on each card at most {1 - margin:.0%} of its memory in use",
        found=found,
        decision=None if holds else "reconfigure" if alone else "fix",
        change=OCCUPIED if crowded else "a card with more memory" if alone and not holds else None,
    )


def _by_torch(application: Application, launch: Launch, margin: float, claim: Claims) -> tuple[bool, str]:
    """Judge by what torch said of itself, which is less than the whole: other libraries allocate beside it."""
    unread = f"the cards could not be read ({application.memory.cards_unread or 'none is there'})"
    totals = {f"cuda:{device.index}": device.memory_bytes for device in launch.devices}
    told = {one.device: one.peak_reserved_bytes for one in application.told.allocators}
    if not told:
        nothing = f"{unread}, and the application told nothing of its own{_not_understood(application)}"
        claim.not_reached("memory of the cards", nothing)
    unknown = [device for device in told if not totals.get(device)]
    if unknown:
        claim.not_reached(
            "memory of the cards", f"{unread}, and how much {', '.join(unknown)} has is not known"
        )
    fits = all(_fits(peak, totals[device] or 0, margin) for device, peak in told.items())
    if fits and application.told.problem:  # another device, or a higher peak, may stand in what was lost
        claim.not_reached("memory of the cards", f"{unread}{_not_understood(application)}")
    of = "; ".join(
        f"{device}: {_size(peak)} of {_size(totals[device] or 0)}" for device, peak in told.items()
    )
    return fits, f"{unread}; as torch has it, {of}{_parts(application)}"


@check("memory.host_peak", on_failure="fix", change="application.batch_size")
def test_the_peak_with_its_margin_fits_the_hosts_memory(
    application: Application, parameters: Parameters, claim: Claims
) -> None:
    _need_a_run(application, claim)
    memory, margin = application.memory, parameters.memory.margin
    if memory.limit_bytes is None:
        claim.not_reached("memory of the host", "neither the machine's memory nor a limit could be read")
    if memory.peak_resident_bytes == 0:
        claim.not_reached("memory of the host", "the application was not seen in memory")
    holds = _fits(memory.peak_resident_bytes, memory.limit_bytes, margin)
    alone = application.batch_size == 1
    claim(
        holds,
        required=f"at most {1 - margin:.0%} of {_size(memory.limit_bytes)} resident ({memory.limit_from})",
        found=f"{_size(memory.peak_resident_bytes)} resident in all its processes{_at(application, memory.peak_at)}",
        decision=None if holds else "reconfigure" if alone else "fix",
        change="a machine with more memory" if alone and not holds else None,
    )


@check(
    "memory.longest_document",
    on_failure="fix",
    change="the documents of the pilot: the longest of the planned volume belongs in them",
    needs="planned",
)
def test_the_longest_document_of_the_planned_volume_was_in_the_pilot(
    documents: Documents, parameters: Parameters, claim: Claims
) -> None:
    """What the pilot took of the card says nothing about a document that is longer than all of its own."""
    planned = parameters.planned
    if planned is None:
        claim.not_reached("planned", "config/pilot.json does not say what is planned")
    valid = {entry.id for entry in documents.entries if entry.valid}
    sizes = {
        file.id: file.bytes
        for file in documents.files
        if file.id in valid and file.bytes is not None and file.error is None and file.sha256 is not None
    }
    if not sizes:
        claim.not_reached("inputs.files", "no valid document could be read")
    longest = max(sizes, key=lambda one: sizes[one])
    holds = planned.longest_bytes <= sizes[longest]
    gap = f"; from {sizes[longest] + 1} to {planned.longest_bytes} bytes nothing is covered"
    claim(
        holds,
        required=f"a valid document of at least {planned.longest_bytes} bytes, the longest that is planned",
        found=f"the longest is {longest} with {sizes[longest]} bytes" + ("" if holds else gap),
        advice=None if holds else "add it to the manifest in place of the longest one there",
    )


@check(
    "memory.not_offloaded",
    on_failure="fix",
    change="device_map: the whole model on the card",
    scopes=("rental",),
)
def test_no_part_of_the_model_waits_in_memory_or_on_disk(application: Application, claim: Claims) -> None:
    """A model that does not fit loads all the same where a device map may offload it, and runs many times slower."""
    _need_a_run(application, claim)
    placed = application.told.placed
    away = {part: device for part, device in placed.items() if device.partition(":")[0] in _NOT_A_CARD}
    printed = _printed(application)
    where = f"{len(placed)} parts that it told the places of" if placed else "it told no places of its parts"
    nothing = f"nothing of it at either end of what it printed; {where}{_not_understood(application)}"
    shown = ", ".join(f"{part} on {device}" for part, device in list(away.items())[:6])
    claim(
        not away and not printed,
        required="every part of the model on a card",
        found=shown + (f" and {len(away) - 6} more" if len(away) > 6 else "")
        or (f"it printed: {printed}" if printed else nothing),
        advice='device_map={"": 0} fails at once where the model does not fit' if away or printed else None,
    )


def _printed(application: Application) -> str | None:
    """The line in which a library says that it offloads; the beginning is where a model is loaded."""
    for stream in (application.stderr, application.stdout):
        for line in [*stream.head.splitlines(), *stream.tail.splitlines()]:
            layers = _LAYERS.search(line)
            if _OFFLOADED.search(line) or (layers and layers[1] != layers[2]):
                return line.strip()[:200]
    return None
