"""Does a card stay right, cool and quick when it works for long? Only where a burn-in was asked for."""

from __future__ import annotations

import statistics

from fixtures.evidence.burning import Burned
from fixtures.evidence.burning import BurnIn
from plugins.catalogue.reachable import beside
from plugins.criteria import check
from plugins.criteria import Claims

#: the last third against the first, and a card against its sisters
LEAST = 0.9
#: why a card's own protection lowers its clocks; a power cap at full power is how cards are meant to work
_PROTECTION = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
#: in more of the looks than this; one look is a moment
_OFTEN = 0.05


def _card(burn_in: BurnIn, device: str, claim: Claims) -> Burned:
    """What the card of a parameter, cuda-1, did."""
    own = device if device == "cpu" else f"cuda:{device.rpartition('-')[2]}"
    card = next((one for one in burn_in.cards if one.device == own), None)
    if card is None:
        claim.not_reached("burn-in", f"{own} was not burned in")
    return card


def _thirds(card: Burned, claim: Claims) -> tuple[float, float]:
    """Its rates, where it worked to the end: one that broke off was not loaded for as long as was asked."""
    broken, thirds = card.error or card.ended, card.thirds()
    if broken or thirds is None:
        claim.not_reached("burn-in", broken or "nothing was computed")
    return thirds


def _rate(operations: float) -> str:
    return f"{operations / 1e12:.4g} TFLOP/s"


@check(
    "launch.burn_in_right", on_failure="reconfigure", change="the machine: its card computes wrongly under load",
    needs="burn_in",
)  # fmt: skip
def test_under_load_every_product_has_the_bits_of_the_first_time_on(
    burn_in: BurnIn, device: str, claim: Claims
) -> None:
    card = _card(burn_in, device, claim)
    broken = card.error or card.ended
    claim(
        card.compared > 0 and card.unequal == 0 and not broken,
        required=f"{burn_in.minutes:g} minutes of products in {card.dtype}, all equal to their first time",
        found=f"{card.compared} products, {card.unequal} unequal, over {card.held_bytes / 2**30:.1f} GiB"
        + (f"; it broke off: {broken}" if broken else ""),
        decision="fix" if broken and not card.unequal else None,
        change="see how it broke off, and burn in again" if broken and not card.unequal else None,
    )


@check(
    "launch.burn_in_steady", on_failure="reconfigure", change="the machine: its card slows down when it is warm",
    needs="burn_in",
)  # fmt: skip
def test_the_last_third_is_as_quick_as_the_first_on(burn_in: BurnIn, device: str, claim: Claims) -> None:
    card = _card(burn_in, device, claim)
    first, last = _thirds(card, claim)
    if len(card.rates) < 2:
        claim.not_reached("burn-in", "it was too short to have a first and a last third")
    index = -1 if device == "cpu" else int(device.rpartition("-")[2])
    looks = [one for one in burn_in.warmth if one.card == index and one.throttling is not None]
    often = {
        reason: share
        for reason in _PROTECTION
        if (share := sum(reason in (one.throttling or ()) for one in looks) / max(len(looks), 1)) > _OFTEN
    }
    slowed = device != "cpu" and bool(often)  # a processor has neighbours, and no such protection is seen
    public = next((one.public for one in beside(card) if one.what == card.dtype), None)
    temperatures = [
        one.temperature_c for one in burn_in.warmth if one.card == index and one.temperature_c is not None
    ]
    warm = f", up to {max(temperatures):.0f} °C" if temperatures else ""
    claim(
        (last >= LEAST * first or device == "cpu") and not slowed,
        required=f"at least {LEAST:g} of the rate of the first third, and no clocks lowered by its protection",
        found=f"{_rate(first)}, then {_rate(last)}{warm}"
        + (f"; in {card.dtype} public measurements reach {public}" if public else "")
        + "".join(f"; {reason} in {share:.0%} of the looks" for reason, share in often.items())
        + ("" if looks or device == "cpu" else "; why its clocks are lowered could not be seen"),
    )


@check(
    "launch.burn_in_alike", on_failure="reconfigure", change="the machine: one of its cards is slower than the others",
    needs="burn_in",
)  # fmt: skip
def test_a_card_is_as_quick_as_its_sisters_on(burn_in: BurnIn, device: str, claim: Claims) -> None:
    card = _card(burn_in, device, claim)
    own, others = _thirds(card, claim), [one.thirds() for one in burn_in.cards if one is not card]
    known = [thirds[1] for thirds in others if thirds is not None]
    if others and not known:
        claim.not_reached("burn-in", "none of the other cards computed anything")
    usual = statistics.median(known) if known else own[1]
    claim(
        own[1] >= LEAST * usual,
        required=f"at least {LEAST:g} of {_rate(usual)}" if known else "there is no other card",
        found=_rate(own[1]),
    )
