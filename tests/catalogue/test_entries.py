"""Every entry of the catalogue against every recorded machine: each is led by its own fault, and no other is seen."""

from __future__ import annotations

import functools
import re

import pytest

from fixtures.evidence.models import STEPS
from plugins.catalogue import CATALOGUE
from plugins.catalogue import check_of
from plugins.catalogue import Fault
from plugins.catalogue import matches
from tests.machines import records
from tests.machines.records import Recorded

HEALTHY, FAULTY = records.healthy(), records.faulty()
by_id = pytest.mark.parametrize("fault", CATALOGUE, ids=lambda fault: fault.id)


@functools.cache
def shown(machine: int) -> list[str]:
    """The faults of one of the faulty machines, the leading one first."""
    return [match.fault.id for match in matches(FAULTY[machine].seen)]


def _one(id: str) -> Fault:
    return next(fault for fault in CATALOGUE if fault.id == id)


def test_no_id_is_given_twice() -> None:
    ids = [fault.id for fault in CATALOGUE]
    assert sorted(set(ids)) == sorted(ids)


def test_the_catalogue_climbs_the_ladder() -> None:
    rungs = [STEPS.index(fault.step) for fault in CATALOGUE]
    assert rungs == sorted(rungs)


@by_id
def test_an_entry_says_what_a_person_needs(fault: Fault) -> None:
    assert re.fullmatch(r"[A-Z]{3}-\d\d(?:-[A-Z]+)?", fault.id)
    assert not fault.cause.endswith("."), "one sentence, for others to end"
    assert ". " not in fault.cause
    assert len(fault.cause) <= 160
    for answer in (fault.root, fault.container):
        assert answer.decision in ("fix", "reconfigure")
        assert 3 < len(answer.change) <= 120
        assert not answer.change.endswith(".")
    assert fault.confirm
    assert re.match(r"https://\S+\.\S+/\S+$", fault.source)
    assert check_of(fault).startswith("launch.")


@by_id
def test_every_entry_has_a_recorded_machine(fault: Fault) -> None:
    assert any(machine.fault == fault.id for machine in FAULTY)


@pytest.mark.parametrize("machine", HEALTHY, ids=str)
def test_a_healthy_machine_shows_no_fault(machine: Recorded) -> None:
    assert [(match.fault.id, match.lines) for match in matches(machine.seen)] == []


@pytest.mark.parametrize("number", range(len(FAULTY)), ids=lambda number: str(FAULTY[number]))
def test_a_machine_is_led_by_its_own_fault_and_shows_no_other(number: int) -> None:
    machine = FAULTY[number]
    also = records.load(records.MACHINES / "faults" / f"{machine.name}.json").get("also", [])
    assert shown(number) == [machine.fault, *also]


@pytest.mark.parametrize("machine", FAULTY, ids=str)
def test_what_a_record_expects_is_what_its_entry_answers(machine: Recorded) -> None:
    assert machine.fault is not None
    assert machine.expected is not None
    fault, wanted = _one(machine.fault), machine.expected
    answer = fault.answer(machine.seen)
    name = wanted["check"].partition("[")[0]
    assert name in (check_of(fault), "launch.health")  # which reads the counters once more, after the pilot
    assert bool(wanted.get("advisory")) is not fault.blocks
    assert wanted["change"].casefold() in answer.change.casefold()
    if fault.blocks:
        assert wanted["decision"] == answer.decision


@pytest.mark.parametrize("machine", FAULTY, ids=str)
def test_the_lines_that_a_match_rests_on_can_be_read(machine: Recorded) -> None:
    for match in matches(machine.seen):
        assert match.lines
        assert all(line.strip() for line in match.lines)


@pytest.mark.parametrize(
    "path", sorted((records.MACHINES / "faults").glob("*.json")), ids=lambda path: path.stem
)
def test_a_record_says_where_it_comes_from_and_that_nobody_measured_it(path: records.Path) -> None:
    record = records.load(path)
    assert record["name"] == path.stem
    assert path.stem.startswith(record["fault"].lower()[:6])
    assert record["measured"] is False
    assert record["sources"]
    assert "by us" in record["built"] or "healthy record" in record["built"]
