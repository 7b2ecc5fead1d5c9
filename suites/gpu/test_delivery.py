"""Is what was delivered what was ordered? Several cards are never one memory, and a slice is no card."""

from __future__ import annotations

from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.order import Order
from fixtures.evidence.rules import need_rung
from plugins.catalogue.cards import is_model
from plugins.catalogue.cards import SLACK
from plugins.catalogue.cards import visible_bytes
from plugins.catalogue.diagnosis import Diagnosis
from plugins.criteria import check
from plugins.criteria import Claims


@check(
    "launch.cards_ordered",
    on_failure="reconfigure",
    change="the delivery: the number of cards",
    step="device",
    scopes=("rental",),
)
def test_there_are_as_many_cards_as_the_order_says(
    launch: Launch, inventory: Inventory, order: Order, machine: Diagnosis, claim: Claims
) -> None:
    need_rung(launch, "compute")  # what torch could not reach is no fault of the delivery
    seen, there = len(launch.devices), len(inventory.cards)
    hidden = there == order.cards != seen
    # a card that only torch sees would be in no parametrised check; one may, where no library answers
    right = seen == order.cards and seen <= max(there, 1)
    claim(
        right,
        required=f"{order.cards} card{'' if order.cards == 1 else 's'}",
        found=f"{seen} in the application's interpreter, {there} on the machine",
        decision="fix" if hidden or seen > order.cards else None,
        change="CUDA_VISIBLE_DEVICES or its like" if hidden else None,
        faults=machine.known("launch.cards_ordered", "device", holds=right),
    )


@check(
    "launch.card_model",
    on_failure="reconfigure",
    change="the delivery: the card model",
    step="device",
    scopes=("rental",),
)
def test_every_card_is_the_model_that_was_ordered(
    launch: Launch, order: Order, machine: Diagnosis, claim: Claims
) -> None:
    need_rung(launch, "compute")
    names = [device.name for device in launch.devices]
    if order.card is None:
        claim(
            False,
            required="the model that was ordered, written in the order",
            found=f"no card in the order; on the machine: {', '.join(names)}",
            decision="fix",
            change="config/order.json: write down which card was ordered",
        )
        return
    others = [
        why for device in launch.devices if (why := is_model(order.card, device.name, device.memory_bytes))
    ]
    right = bool(names) and not others
    claim(
        right,
        required=order.card,
        found=", ".join(names) + (f" ({'; '.join(others)})" if others else ""),
        faults=machine.known("launch.card_model", "device", holds=right),
    )


@check(
    "launch.card_memory",
    on_failure="reconfigure",
    change="the delivery: the memory of a card",
    step="device",
    scopes=("rental",),
)
def test_every_card_has_the_memory_of_the_model_that_was_ordered(
    launch: Launch, order: Order, machine: Diagnosis, claim: Claims
) -> None:
    """Each card by itself: two cards of 40 GB are not one of 80."""
    need_rung(launch, "compute")
    wanted = visible_bytes(order.card or "")
    if order.memory_gb is not None:
        wanted = [order.memory_gb * 10**9, order.memory_gb << 30]  # sellers mean either
    if not wanted:
        claim(
            False,
            required="memory of one card, known from its model or written in the order",
            found=f"{order.card or 'no card'} in the order, a model that is not known here, and no memory_gb",
            decision="fix",
            change="config/order.json: memory_gb, the memory of one card as the offer says",
        )
        return
    sizes = {f"cuda:{device.index}": device.memory_bytes for device in launch.devices}
    wrong = [
        f"{card}: {'unknown' if size is None else f'{size / 2**30:.1f} GiB'}"
        for card, size in sizes.items()
        if size is None or not any(abs(size - one) <= SLACK * one for one in wanted)
    ]
    right = bool(sizes) and not wrong
    usual = " or ".join(f"{size / 2**30:.1f}" for size in sorted(set(wanted)))
    claim(
        right,
        required=f"{usual} GiB on each card, within {SLACK:.0%}",
        found="; ".join(wrong) or ", ".join(f"{(size or 0) / 2**30:.1f} GiB" for size in sizes.values()),
        faults=machine.known("launch.card_memory", "device", holds=right),
    )
