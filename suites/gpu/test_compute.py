"""Does every card compute what a processor computes, and do bits arrive as they were sent?"""

from __future__ import annotations

import itertools

from fixtures.evidence.models import Computation
from fixtures.evidence.models import Launch
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.rules import counted
from fixtures.evidence.rules import need_rung
from fixtures.evidence.rules import rung
from plugins.catalogue.diagnosis import Diagnosis
from plugins.criteria import check
from plugins.criteria import Claims

#: how many computations are shown
MOST = 6
#: where nothing may differ, as of operations that only move bits
EXACT = 1e-9


def _wrong(one: Computation) -> str | None:
    """What is wrong with a computation. Unequal repeats are: a card that answers differently is no card."""
    what = f"{one.operation} in {one.dtype}"
    if one.raised is not None:
        return f"{what}: {one.raised}"
    if not one.finite or one.error is None:
        return f"{what}: not finite"
    if not one.error <= one.tolerance:
        return f"{what}: {one.error}"
    if not one.reference_norm > 0:
        return f"{what}: nothing to compare with"
    return f"{what}: {one.repeats} repeats, not all the same" if one.equal is False else None


def _tolerances(done: list[Computation]) -> str:
    sizes = sorted({one.tolerance for one in done if one.tolerance > EXACT})
    if not sizes:
        return "a stated tolerance"
    return (
        f"{sizes[0]:.1e}"
        if len(sizes) == 1
        else f"{sizes[0]:.1e} to {sizes[-1]:.1e}, as the operation has it"
    )


@check("launch.compute", on_failure="fix", change="the torch build, or the card", step="compute")
def test_a_small_computation_agrees_with_float64_on(
    launch: Launch, parameters: Parameters, machine: Diagnosis, device: str, claim: Claims
) -> None:
    need_rung(launch, "compute")
    own = device if device == "cpu" else f"cuda:{device.rpartition('-')[2]}"
    done = [one for one in launch.computations if one.device == own]
    wrong = [problem for one in done if (problem := _wrong(one))]
    untried = {"float32", *parameters.application.dtypes} - {one.dtype for one in done}
    worst = sorted(
        (one for one in done if one.error is not None), key=lambda one: -(one.error or 0) / one.tolerance
    )
    computed = bool(done) and not wrong and not untried and rung(launch, "compute") == "ok"
    calculated = any(one.raised is None and _wrong(one) for one in done)
    id = f"launch.compute[{device}]"
    faults = machine.known(id, "compute", holds=computed)
    claim(
        computed,
        required=f"finite, and within {_tolerances(done)}"
        + (
            f", in {', '.join(parameters.application.dtypes)}"
            if len(parameters.application.dtypes) > 1
            else ""
        ),
        found="; ".join(wrong[:MOST])
        or (f"nothing computed in {', '.join(sorted(untried))}" if done and untried else "")
        or ("" if rung(launch, "compute") == "ok" else rung(launch, "compute"))
        or f"{len(done)} computations{', ' if worst else ''}"
        + "; ".join(f"{one.operation}: {one.error:.1e}" for one in worst[:2]),
        decision="reconfigure" if calculated and device != "cpu" and not faults else None,
        faults=faults,
    )


@check(
    "launch.transfers",
    on_failure="reconfigure",
    change="the machine: its cards do not get what is sent to them",
    step="compute",
    scopes=("rental",),
)
def test_what_is_copied_to_a_card_arrives_bit_for_bit(
    launch: Launch, machine: Diagnosis, claim: Claims
) -> None:
    """From the host to each card and back, and between every ordered pair of cards."""
    need_rung(launch, "compute")
    cards = [f"cuda:{device.index}" for device in launch.devices]
    ways = [("host", card) for card in cards] + list(itertools.permutations(cards, 2))
    seen = {way: [one for one in launch.transfers if (one.source, one.target) == way] for way in ways}
    wrong = [
        f"{one.source} to {one.target}, {one.bytes} bytes: {one.error or 'not the bits that were sent'}"
        for copies in seen.values()
        for one in copies
        if one.exact is not True
    ]
    untried = [
        f"{source} to {target}: never tried" for (source, target), copies in seen.items() if not copies
    ]
    arrived = bool(ways) and not wrong and not untried
    claim(
        arrived,
        required=f"every bit, on {len(ways)} ways",
        found="; ".join([*wrong, *untried][:MOST])
        or (f"{sum(map(len, seen.values()))} copies, all exact" if ways else "no card to copy to"),
        faults=machine.known("launch.transfers", "compute", holds=arrived),
    )


@check(
    "launch.second_process",
    on_failure="fix",
    change="the compute mode of the card, or whoever holds it",
    step="compute",
    scopes=("rental",),
)
def test_a_second_process_can_use_a_card_beside_the_first(
    launch: Launch, machine: Diagnosis, claim: Claims
) -> None:
    need_rung(launch, "compute")
    cards = [f"cuda:{device.index}" for device in launch.devices]
    tried = {one.device: one.error for one in launch.second}
    wrong = [
        f"{card}: {tried.get(card) or 'never tried'}" for card in cards if card not in tried or tried[card]
    ]
    usable = bool(cards) and not wrong
    claim(
        usable,
        required="two processes on each card at the same time",
        found="; ".join(wrong[:MOST])
        or (f"{counted(len(cards), 'card')}, each by two at a time" if cards else "no card to share"),
        faults=machine.known("launch.second_process", "compute", holds=usable),
    )
