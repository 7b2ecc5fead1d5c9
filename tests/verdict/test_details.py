"""The rest of the verdict as a table: first error, step reached, next change, checks, criteria, advisories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.evidence.models import STEPS
from plugins.verdict import decide
from plugins.verdict_file import Artefact
from plugins.verdict_file import Changed
from plugins.verdict_file import CRITERIA
from plugins.verdict_file import DocumentCounts
from plugins.verdict_file import Status
from tests.verdict.making import claimed
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import PLAN
from tests.verdict.making import plan_of
from tests.verdict.making import planned
from tests.verdict.making import result
from tests.verdict.making import with_outcome

ORDERED = [check.id for check in PLAN]


def failing(*checks: str, status: Status = "failed") -> list[str]:
    """The checks' own order of being first, by taking away the first one each time."""
    given = facts()
    for check in checks:
        given = with_outcome(given, check, outcome(plan_of(check), status))
    first = decide(given).first_error
    return (
        []
        if first is None
        else [first.check, *failing(*(c for c in checks if c != first.check), status=status)]
    )


@pytest.mark.parametrize("status", ["failed", "broken"])
def test_the_first_error_is_first_by_criterion_and_inside_launch_by_rung(status: Status) -> None:
    assert failing(*reversed(ORDERED), status=status) == ORDERED


def test_the_first_error_does_not_depend_on_where_the_plan_names_it() -> None:
    plan = list(reversed(PLAN))
    given = facts(plan=plan, outcomes=[outcome(check, "failed") for check in plan])
    assert decide(given).first_error == decide(replace(given, plan=PLAN)).first_error


def test_a_rung_outside_launch_comes_after_all_of_launch() -> None:
    early, late = planned("results.odd", step="interpreter"), planned("launch.late")
    given = facts(plan=[early, late], outcomes=[outcome(early, "failed"), outcome(late, "failed")])
    first = decide(given).first_error
    assert first is not None
    assert first.check == "launch.late"


def test_launch_checks_without_a_rung_come_after_the_ladder_in_the_order_of_declaration() -> None:
    last, later = planned("launch.zz"), planned("launch.aa")
    given = facts(plan=[last, later, *PLAN])
    listed = [check.id for check in decide(given).criteria[0].checks]
    assert listed == [*(f"launch.{step}" for step in STEPS), "launch.zz", "launch.aa"]


def test_a_failure_is_the_first_error_even_when_something_broke_before_it() -> None:
    given = with_outcome(facts(), "launch.import", outcome(plan_of("launch.import"), "broken"))
    given = with_outcome(given, "results.file", outcome(plan_of("results.file"), "failed"))
    first = decide(given).first_error
    assert first is not None
    assert (first.check, first.criterion) == ("results.file", "results")


@pytest.mark.parametrize("status", ["not_run", "not_reached"])
def test_what_did_not_run_or_was_not_reached_is_no_error(status: Status) -> None:
    given = with_outcome(facts(), "inputs.manifest", outcome(plan_of("inputs.manifest"), status))
    assert decide(given).first_error is None


def test_the_first_error_names_the_rung_that_was_declared_or_the_step_that_was_reported() -> None:
    on_a_rung = with_outcome(facts(), "launch.driver", outcome(plan_of("launch.driver"), "failed"))
    reported = with_outcome(
        facts(), "inputs.manifest", outcome(plan_of("inputs.manifest"), "failed", step="launch: import")
    )
    steps = [error.step for error in (decide(on_a_rung).first_error, decide(reported).first_error) if error]
    assert steps == ["driver", "launch: import"]


@pytest.mark.parametrize(
    ("passing", "reached"),
    [
        ([], None),
        (["launch.interpreter"], "launch: interpreter"),
        (["launch.interpreter", "launch.driver"], "launch: driver"),
        (["inputs.manifest", "launch.host"], "inputs"),
        (["end_of_trial.copied"], "end of trial"),
    ],
)
def test_the_step_reached_is_the_last_one_with_a_pass(passing: list[str], reached: str | None) -> None:
    outcomes = [outcome(check, "passed" if check.id in passing else "not_reached") for check in PLAN]
    assert decide(facts(outcomes=outcomes)).step_reached == reached


@pytest.mark.parametrize(
    ("stated", "factor", "advice"),
    [
        ({}, "the factor of inputs.manifest", "required: twelve"),
        ({"change": "the batch size"}, "the batch size", "required: twelve"),
        ({"advice": "halve it"}, "the factor of inputs.manifest", "halve it"),
        ({"advice": "halve it", "required": ""}, "the factor of inputs.manifest", "halve it"),
        ({"required": ""}, "the factor of inputs.manifest", "failed message of inputs.manifest"),
    ],
)
def test_the_next_change_is_that_of_the_first_error(stated: dict[str, str], factor: str, advice: str) -> None:
    check = plan_of("inputs.manifest")
    given = with_outcome(facts(), check.id, outcome(check, "failed", claimed(False, **stated)))
    given = with_outcome(given, "failures.reasons", outcome(plan_of("failures.reasons"), "failed"))
    change = decide(given).next_change
    assert change is not None
    assert (change.factor, change.advice) == (factor, advice)


def test_every_failure_is_a_condition_and_the_reason_counts_the_others() -> None:
    given = facts()
    for id in ("inputs.manifest", "results.file", "failures.reasons"):
        given = with_outcome(given, id, outcome(plan_of(id), "failed"))
    verdict = decide(given)
    assert verdict.conditions == [
        f"{id}: failed message of {id}" for id in ("inputs.manifest", "results.file", "failures.reasons")
    ]
    assert verdict.reason == "title of inputs.manifest: no: failed message of inputs.manifest (2 more failed)"


def test_failures_and_what_stayed_open_beside_them_are_both_conditions() -> None:
    given = replace(
        with_outcome(facts(), "results.file", outcome(plan_of("results.file"), "failed")), trouble=["t"]
    )
    given = with_outcome(given, "memory.peak")
    assert decide(given).conditions == [
        "results.file: failed message of results.file", "open: t", "open: memory.peak did not run",
    ]  # fmt: skip


def test_a_failed_check_shows_the_claims_that_do_not_hold_and_names_their_documents_once() -> None:
    check = plan_of("results.file")
    claims = [
        claimed(required="a", found="a"),
        claimed(False, required="b", found="c", documents=["doc-02", "doc-01"]),
        claimed(False, required="d", found="e", documents=["doc-02"]),
    ]
    shown = result(decide(with_outcome(facts(), check.id, outcome(check, "failed", *claims))), check.id)
    assert (shown.required, shown.found, shown.documents) == ("b; d", "c; e", ["doc-01", "doc-02"])
    assert shown.message == "failed message of results.file"


def test_a_passed_check_shows_all_its_claims_and_no_message() -> None:
    check = plan_of("results.file")
    passed = outcome(
        check, "passed", claimed(required="a", found="b"), claimed(required="c", found="d"), message="x"
    )
    shown = result(decide(with_outcome(facts(), check.id, passed)), check.id)
    assert (shown.required, shown.found, shown.message, shown.decision) == ("a; c", "b; d", None, None)


def test_a_check_without_a_report_says_so() -> None:
    shown = result(decide(with_outcome(facts(), "results.file")), "results.file")
    assert (shown.status, shown.message) == ("not_run", "no report reached the verdict")
    assert (shown.required, shown.found, shown.seconds, shown.decision) == (None, None, 0.0, None)


WORST_OF_TWO = [
    ("passed", "passed", "passed"),
    ("passed", "not_run", "not_run"),
    ("not_run", "not_reached", "not_reached"),
    ("not_reached", "broken", "broken"),
    ("broken", "failed", "failed"),
    ("passed", "failed", "failed"),
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("one", "other", "worst"), WORST_OF_TWO)
def test_of_two_reports_of_one_node_the_worst_counts(
    one: Status, other: Status, worst: Status, turned: bool
) -> None:
    check = plan_of("results.file")
    reports = [outcome(check, one), outcome(check, other)]
    given = with_outcome(facts(), check.id, *(reversed(reports) if turned else reports))
    assert result(decide(given), check.id).status == worst


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_failures_of_one_node_the_one_that_means_reconfigure_counts(turned: bool) -> None:
    check = plan_of("inputs.manifest")
    reports = [outcome(check, "failed"), outcome(check, "failed", claimed(False, decision="reconfigure"))]
    given = with_outcome(facts(), check.id, *(reversed(reports) if turned else reports))
    assert decide(given).decision == "reconfigure"


@pytest.mark.parametrize("turned", [False, True])
def test_a_pass_that_was_not_earned_spoils_one_that_was(turned: bool) -> None:
    check = plan_of("inputs.manifest")
    unearned = outcome(check).model_copy(update={"claims": []})
    reports = [outcome(check), unearned]
    given = with_outcome(facts(), check.id, *(reversed(reports) if turned else reports))
    assert result(decide(given), check.id).status == "broken"


@pytest.mark.parametrize("status", ["failed", "broken", "not_reached", "not_run", "passed"])
def test_the_status_of_a_criterion_is_the_worst_of_its_checks(status: Status) -> None:
    given = with_outcome(facts(), "launch.device", outcome(plan_of("launch.device"), status))
    assert decide(given).criteria[0].status == status


def test_criteria_stand_in_the_order_of_the_table_and_only_those_with_checks() -> None:
    verdict = decide(facts(plan=list(reversed(PLAN))))
    listed = [criterion.criterion for criterion in verdict.criteria]
    assert listed == [criterion for criterion in CRITERIA if criterion != "training"]


def test_carried_evidence_is_named_at_the_checks_that_stand_on_it() -> None:
    verdict = decide(facts(carried={"launch.driver": "t0"}))
    assert verdict.decision == "go"
    assert {check.id: check.carried_from for check in verdict.checks() if check.carried_from} == {
        "launch.driver": "t0"
    }


def test_one_change_at_a_time_needs_no_advisory_and_two_are_named_in_one() -> None:
    moved = [Changed(factor=name, before="1", after="2") for name in ("machine.driver", "project.model")]
    assert decide(facts(changed=moved[:1], advisories=["known"])).advisories == ["known"]
    advisories = decide(facts(changed=moved, advisories=["known"])).advisories
    assert advisories[0] == "known"
    assert "machine.driver, project.model" in advisories[1]


def test_what_it_was_given_to_show_is_shown() -> None:
    counts = DocumentCounts(
        expected=2, accepted=["a"], rejected=["b"], missing=[], duplicated=["a"], invented=["c"]
    )
    artefact = Artefact(path="x", sha256="0" * 64, bytes=1)
    verdict = decide(
        facts(documents=counts, artefacts=[artefact], factors={"machine.driver": "1"}, repeat="again",
              timing={"copy": 1.23456, "start": -0.5})
    )  # fmt: skip
    assert (verdict.documents, verdict.artefacts, verdict.command.repeat) == (counts, [artefact], "again")
    assert verdict.factors == {"machine.driver": "1"}
    assert verdict.timing == {"copy": 1.235, "start": 0.0}


def test_decisions_are_shown_for_failures_alone() -> None:
    given = with_outcome(facts(), "results.file", outcome(plan_of("results.file"), "failed"))
    given = with_outcome(
        given, "inputs.manifest", outcome(plan_of("inputs.manifest"), "broken", claimed(False))
    )
    decisions = {check.id: check.decision for check in decide(given).checks() if check.decision}
    assert decisions == {"results.file": "reconfigure"}
