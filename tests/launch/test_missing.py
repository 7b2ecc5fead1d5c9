"""Evidence that is not there passes no check of the launch; the healthy machine beside it passes them all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.evidence.ladder import Health
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.parameters import ExtensionAsked
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import NotReached
from plugins.catalogue import Seen
from plugins.catalogue.diagnosis import Diagnosis
from plugins.criteria import ClaimFailed
from plugins.criteria import Claims
from plugins.verdict import Claim
from suites.gpu import test_compute as compute
from suites.gpu import test_health as healths
from suites.gpu import test_launch as ladder
from tests.catalogue.patched import evidence
from tests.catalogue.patched import machine
from tests.report import samples

EXTENSION = {
    "name": "flash_attn", "module": "flash_attn", "version": "2.8", "imported": True, "operation": "attention",
    "ran": True, "error": None, "ended": None, "seconds": 1.0,
}  # fmt: skip
COMPUTE = compute.test_a_small_computation_agrees_with_float64_on
TRANSFERS = compute.test_what_is_copied_to_a_card_arrives_bit_for_bit
SECOND = compute.test_a_second_process_can_use_a_card_beside_the_first
EXTENSIONS = ladder.test_every_extension_that_the_application_needs_does_its_work
HOST = ladder.test_the_machine_gives_the_application_what_it_needs
CLEAN_END = ladder.test_the_process_that_computed_ended_by_itself
HEALTH = healths.test_no_counter_of_damage_has_grown_while_the_pilot_ran


def parameters(*modules: str) -> Parameters:
    """An application that needs these beside torch."""
    made = samples.record().parameters
    asked = [ExtensionAsked(module=module) for module in modules]
    return made.model_copy(update={"application": made.application.model_copy(update={"extensions": asked})})


def said(check: Callable[..., None], seen: Seen, **more: Any) -> Claim | None:
    """What the check claims; None where what it judges was not reached."""
    claims: list[Claim] = []
    given = {
        "launch": seen.launch, "inventory": seen.inventory, "machine": Diagnosis(seen), "device": "cuda-0",
        "parameters": parameters("flash_attn"), "health": Health(after=seen.inventory.states),
    } | more  # fmt: skip
    names = [name for name in check.__code__.co_varnames[: check.__code__.co_argcount] if name != "claim"]
    with contextlib.suppress(ClaimFailed, NotReached):
        check(**{name: given[name] for name in names}, claim=Claims(claims))
    return claims[0] if claims else None


def healthy(**changed: Any) -> Seen:
    return machine(launch={"extensions": [EXTENSION]} | changed)


# fmt: off
CHECKS = (COMPUTE, TRANSFERS, SECOND, EXTENSIONS, HOST, CLEAN_END, HEALTH)
MISSING: dict[str, tuple[Callable[..., None], dict[str, Any], str | None]] = {
    "no computation": (COMPUTE, {"computations": []}, "0 computations"),
    "no copy": (TRANSFERS, {"transfers": []}, "never tried"),
    "no card to copy to": (TRANSFERS, {"transfers": [], "devices": []}, "no card to copy to"),
    "no second process": (SECOND, {"second": []}, "never tried"),
    "no card to share": (SECOND, {"second": [], "devices": []}, "no card to share"),
    "no extension": (EXTENSIONS, {"extensions": []}, "flash_attn: never tried"),
    "one that crashed after all": (EXTENSIONS, {"extensions": [
        {**EXTENSION, "operation": None, "ran": False, "ended": "killed by SIGSEGV"}]}, "after its import: killed"),
    "the first of two": (EXTENSIONS, {"extensions": [
        {**EXTENSION, "ran": False, "error": "Wrong: is off"}, EXTENSION]}, "attention: Wrong: is off"),
    "no host": (HOST, {"host": None}, None),
    "no place": (HOST, {"host": {"places": []}}, None),
    "no folder where TMPDIR leads": (HOST, {"host": {"places": [
        {"role": "TMPDIR", "path": "/nowhere", "exists": False, "errno": None}]}}, "TMPDIR /nowhere: no such folder"),
    "no step": (CLEAN_END, {"steps": []}, None),
}
# fmt: on


@pytest.mark.parametrize("check", CHECKS)
def test_a_healthy_machine_passes(check: Callable[..., None]) -> None:
    claim = said(check, healthy())
    assert claim is not None
    assert claim.holds, claim.found


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_there_passes_nothing(name: str) -> None:
    check, changed, words = MISSING[name]
    claim = said(check, healthy(**changed))
    assert (claim is None) == (words is None)
    assert claim is None or (not claim.holds and (words or "") in claim.found)


def test_a_trial_from_before_these_fields_passes_none_of_their_checks() -> None:
    """It may pass what it does hold: its computations, and the end of its process."""
    seen = healthy()
    new = ("transfers", "second", "extensions", "host")
    fields = {name: value for name, value in seen.launch.model_dump(mode="json").items() if name not in new}
    old = Launch.model_validate(fields, strict=False)
    kept = seen.inventory.model_dump(mode="json", exclude={"states", "kernel_log"})
    before = Seen(Inventory.model_validate(kept, strict=False), old, seen.order, None)
    for check in (TRANSFERS, SECOND, EXTENSIONS, HOST, HEALTH):
        claim = said(check, before)
        assert claim is None or not claim.holds


def test_cards_that_no_longer_answer_pass_nothing() -> None:
    claim = said(HEALTH, healthy(), health=Health(after=[]))
    assert claim is not None
    assert not claim.holds
    assert "0 of" in claim.found


def test_a_card_that_is_counted_and_tells_nothing_is_one_that_no_longer_answers() -> None:
    lost = [{**dict.fromkeys(one), "source": one["source"], "index": one["index"], "unreadable": {}, "lines": {}}
        for one in evidence("h100-sxm", "inventory", "states")]  # fmt: skip
    after = machine(inventory={"states": lost}).inventory.states
    assert after
    claim = said(HEALTH, healthy(), health=Health(after=after))
    assert claim is not None
    assert not claim.holds
    assert "0 of" in claim.found


def test_a_count_that_was_not_known_before_is_not_called_zero() -> None:
    states = evidence("h100-sxm", "inventory", "states")
    before = machine(inventory={"states": [{**one, "errors_uncorrected": None} for one in states]})
    after = machine(inventory={"states": [{**one, "errors_uncorrected": 3} for one in states]})
    claim = said(HEALTH, before, health=Health(after=after.inventory.states))
    assert claim is not None
    assert not claim.holds
    assert "3 uncorrected memory errors, an unknown number before" in claim.found
