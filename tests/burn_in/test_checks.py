"""The checks of a burn-in over made-up evidence: each fault beside its healthy twin."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.evidence.burning import Burned
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.burning import Rate
from fixtures.evidence.burning import Warmth
from fixtures.evidence.trial import NotReached
from plugins.criteria import ClaimFailed
from plugins.criteria import Claims
from plugins.verdict import Claim
from suites.gpu import test_burn_in as checks

RIGHT = checks.test_under_load_every_product_has_the_bits_of_the_first_time_on
STEADY = checks.test_the_last_third_is_as_quick_as_the_first_on
ALIKE = checks.test_a_card_is_as_quick_as_its_sisters_on


def rates(*tera: float, unequal: int = 0) -> list[Rate]:
    return [
        Rate(at_s=float(number), seconds=1.0, products=10, operations=rate * 1e12, unequal=unequal)
        for number, rate in enumerate(tera, 1)
    ]


def card(number: int, *tera: float, unequal: int = 0, **other: Any) -> Burned:
    return Burned(device=f"cuda:{number}", dtype="bfloat16", rates=rates(*tera, unequal=unequal), **other)


def burned(*cards: Burned, reasons: tuple[tuple[str, ...], ...] = ()) -> BurnIn:
    warmth = [Warmth(at_s=float(at), card=0, throttling=list(one)) for at, one in enumerate(reasons)]
    return BurnIn(minutes=10, cards=list(cards), warmth=warmth)


def said(check: Callable[..., None], seen: BurnIn, device: str = "cuda-0") -> Claim:
    claims: list[Claim] = []
    with contextlib.suppress(ClaimFailed):
        check(seen, device, Claims(claims))
    return claims[0]


STEADY_700 = (700.0,) * 9
# fmt: off
FAULTS: dict[str, tuple[Callable[..., None], BurnIn, str]] = {
    "a product with another bit": (RIGHT, burned(card(0, *STEADY_700, unequal=1)), "9 unequal"),
    "nothing computed": (RIGHT, burned(card(0)), "0 products"),
    "it broke off": (RIGHT, burned(card(0, *STEADY_700, error="CUDA error: unspecified launch failure")),
        "broke off: CUDA error"),
    "killed": (RIGHT, burned(card(0, *STEADY_700, ended="killed by SIGBUS")), "SIGBUS"),
    "slower when warm": (STEADY, burned(card(0, 700, 700, 700, 650, 650, 650, 600, 600, 600)), "then 600 TFLOP/s"),
    "lowered by heat": (STEADY, burned(card(0, *STEADY_700), reasons=(("hw_thermal_slowdown",),) * 3),
        "hw_thermal_slowdown in 100%"),
    "slower than its sister": (ALIKE, burned(card(0, *(600.0,) * 9), card(1, *STEADY_700)), "600 TFLOP/s"),
}
TWINS: dict[str, tuple[Callable[..., None], BurnIn]] = {
    "all equal": (RIGHT, burned(card(0, *STEADY_700))),
    "a little slower when warm": (STEADY, burned(card(0, 700, 700, 700, 690, 690, 690, 680, 680, 680))),
    "a power cap at full power": (STEADY, burned(card(0, *STEADY_700), reasons=(("sw_power_cap",),) * 9)),
    "one moment of slowdown": (STEADY, burned(card(0, *STEADY_700), reasons=((),) * 39 + (("hw_slowdown",),))),
    "nothing known of its reasons": (STEADY, burned(card(0, *STEADY_700))),
    "as its sister": (ALIKE, burned(card(0, *(680.0,) * 9), card(1, *STEADY_700))),
    "no sister": (ALIKE, burned(card(0, *STEADY_700))),
}
# fmt: on


@pytest.mark.parametrize("name", FAULTS)
def test_a_card_that_suffers_under_load_is_found(name: str) -> None:
    check, seen, words = FAULTS[name]
    claim = said(check, seen)
    assert not claim.holds
    assert words in claim.found


@pytest.mark.parametrize("name", TWINS)
def test_its_healthy_twin_is_not(name: str) -> None:
    check, seen = TWINS[name]
    assert said(check, seen).holds


@pytest.mark.parametrize("check", [RIGHT, STEADY, ALIKE])
def test_a_card_that_was_not_burned_in_passes_nothing(check: Callable[..., None]) -> None:
    with pytest.raises(NotReached, match="cuda:1 was not burned in"):
        check(burned(card(0, *STEADY_700)), "cuda-1", Claims([]))


@pytest.mark.parametrize("check", [STEADY, ALIKE])
def test_a_card_that_computed_nothing_has_no_rate(check: Callable[..., None]) -> None:
    with pytest.raises(NotReached, match="out of memory"):
        check(burned(card(0, error="out of memory")), "cuda-0", Claims([]))


@pytest.mark.parametrize("check", [STEADY, ALIKE])
@pytest.mark.parametrize("how", [{"error": "no end within 720 s"}, {"ended": "killed by SIGKILL"}])
def test_a_card_that_broke_off_is_neither_steady_nor_alike(
    check: Callable[..., None], how: dict[str, str]
) -> None:
    with pytest.raises(NotReached, match=r"no end|SIGKILL"):
        check(burned(card(0, *STEADY_700, **how)), "cuda-0", Claims([]))


def test_one_stretch_is_not_held_against_itself() -> None:
    with pytest.raises(NotReached, match="too short"):
        STEADY(burned(card(0, 700)), "cuda-0", Claims([]))
    assert said(STEADY, burned(card(0, 700, 700))).holds


def test_a_card_whose_sisters_all_broke_off_is_held_against_none() -> None:
    with pytest.raises(NotReached, match="none of the other cards"):
        ALIKE(burned(card(0, *STEADY_700), card(1, error="out of memory")), "cuda-0", Claims([]))


def test_reasons_that_nobody_tells_are_not_called_none() -> None:
    words = "why its clocks are lowered could not be seen"
    assert words in said(STEADY, burned(card(0, *STEADY_700))).found
    assert words not in said(STEADY, burned(card(0, *STEADY_700), reasons=((),) * 9)).found


def test_what_broke_off_without_a_wrong_bit_is_no_proof_against_the_card() -> None:
    assert said(RIGHT, burned(card(0, *STEADY_700, error="no kernel image"))).decision == "fix"
    assert said(RIGHT, burned(card(0, *STEADY_700, unequal=2, error="no kernel image"))).decision is None


def test_beside_the_rate_stands_what_public_measurements_reach() -> None:
    found = said(STEADY, burned(card(0, *STEADY_700, name="NVIDIA H100 80GB HBM3"))).found
    assert "700 TFLOP/s, then 700 TFLOP/s; in bfloat16 public measurements reach 794.5 TFLOP/s (" in found
    assert "https://" in found


@pytest.mark.parametrize("name", [None, "NVIDIA H100 NVL", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"])
def test_where_none_is_known_nothing_stands_beside_it(name: str | None) -> None:
    assert "public" not in said(STEADY, burned(card(0, *STEADY_700, name=name))).found


def test_a_rate_far_below_public_measurements_decides_nothing() -> None:
    slow = burned(*(card(number, *(1.0,) * 9, name="NVIDIA H100 80GB HBM3") for number in (0, 1)))
    assert all(said(check, slow).holds for check in (RIGHT, STEADY, ALIKE))
