"""Every recorded machine through `--trial`: decision, first error, step and change.

A machine that was put together from public outputs proves that the suite understands what people see; that it was
never measured stands in its record. What the catalogue alone says of each in both places is held in
tests/catalogue/test_entries.py.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator

import pytest

from tests.machines import records
from tests.machines.judging import healthy_pilot
from tests.machines.judging import judge
from tests.machines.records import Recorded
from tests.pilot.bench import Bench
from tests.pilot.counted import ILL
from tests.pilot.counted import WELL


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One healthy pilot, the documents and results of which every machine gets."""
    bench = healthy_pilot(tmp_path_factory.mktemp("machines") / "renter")
    yield bench
    bench.close()


@pytest.mark.parametrize("machine", records.healthy(), ids=str)
def test_a_healthy_machine_raises_no_false_alarm(
    machine: Recorded, pilot: Bench, record_property: Callable[[str, object], None]
) -> None:
    record_property(WELL, str(machine))
    verdict = judge(pilot, machine).decided
    assert {one.id: one.message for one in verdict.checks() if one.status != "passed"} == {}
    assert (verdict.decision, verdict.first_error) == ("go", None), verdict.reason
    assert [fault.id for one in verdict.checks() for fault in one.faults] == []


@pytest.mark.parametrize("machine", records.told_apart(), ids=str)
def test_a_fault_is_named_with_its_step_and_the_one_change(
    machine: Recorded, pilot: Bench, record_property: Callable[[str, object], None]
) -> None:
    record_property(ILL, str(machine))
    wanted = machine.expected
    assert wanted is not None
    verdict = judge(pilot, machine).decided
    if wanted["decision"] == "go":  # an advisory
        assert (verdict.decision, verdict.first_error) == ("go", None), verdict.reason
        assert any(f"({machine.fault})" in line for line in verdict.advisories)
        return
    first = verdict.first_error
    assert first is not None, verdict.reason
    assert (verdict.decision, first.check, first.step) == (
        wanted["decision"],
        wanted["check"],
        wanted["step"],
    )
    assert wanted["error"].casefold() in first.message.casefold()
    assert verdict.next_change is not None
    assert wanted["change"].casefold() in verdict.next_change.factor.casefold()
    leading = next(one for one in verdict.checks() if one.id == first.check).faults[0]
    assert leading.id == machine.fault
    assert leading.lines
