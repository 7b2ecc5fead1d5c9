"""Is what was delivered what was ordered? Several cards are never one memory, and a slice is no card."""

from __future__ import annotations

import re

from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.models import TorchDevice
from fixtures.evidence.order import Order
from fixtures.evidence.rules import need_rung
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
    launch: Launch, inventory: Inventory, order: Order, claim: Claims
) -> None:
    need_rung(launch, "compute")  # what torch could not reach is no fault of the delivery
    seen, there = len(launch.devices), len(inventory.cards)
    hidden = there == order.cards != seen
    # a card that only torch sees would be in no parametrised check; one may, where no library answers
    claim(
        seen == order.cards and seen <= max(there, 1),
        required=f"{order.cards} card{'' if order.cards == 1 else 's'}",
        found=f"{seen} in the application's interpreter, {there} on the machine",
        decision="fix" if hidden or seen > order.cards else None,
        change="CUDA_VISIBLE_DEVICES or its like" if hidden else None,
    )


@check(
    "launch.card_model",
    on_failure="reconfigure",
    change="the delivery: the card model",
    step="device",
    scopes=("rental",),
)
def test_every_card_is_the_model_that_was_ordered(launch: Launch, order: Order, claim: Claims) -> None:
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
    others = [device.name for device in launch.devices if not _is_model(device, order.card)]
    claim(bool(names) and not others, required=order.card, found=", ".join(names))


#: words of a price list that a card's own name leaves out
_SELLERS_WORDS = {
    "nvidia",
    "amd",
    "instinct",
    "geforce",
    "tesla",
    "gpu",
    "card",
    "sxm",
    "sxm4",
    "sxm5",
    "hbm2e",
    "hbm3",
    "hbm3e",
}
#: the driver and error correction keep some of the memory that is sold
_MEMORY_SLACK = 0.15


def _is_model(device: TorchDevice, ordered: str) -> bool:
    """Whether a card is what the order names: every word of the order in the card's name, sizes by its memory.

    H100 is neither H100X nor H800; an order for SXM is not met by PCIe or NVL.
    """
    name = set(re.findall(r"[a-z0-9]+", device.name.casefold()))
    text = re.sub(r"(\d+)\s*gi?b\b", r"\1gb", ordered.casefold())
    wanted = set(re.findall(r"[a-z0-9]+", text))
    if any(word.startswith("sxm") for word in wanted) and name & {"pcie", "nvl"}:
        return False
    for size in [word for word in wanted if re.fullmatch(r"\d+gb", word)]:
        wanted.discard(size)
        sold = int(size[:-2]) * 10**9
        if device.memory_bytes is None or abs(device.memory_bytes - sold) > _MEMORY_SLACK * sold:
            return False
    return wanted - _SELLERS_WORDS <= name
