"""What must hold of the verdict whatever was planned and reported."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from plugins.verdict import Claim
from plugins.verdict import decide
from plugins.verdict import Facts
from plugins.verdict import NEEDED
from plugins.verdict import Objection
from plugins.verdict import Outcome
from plugins.verdict import PlannedCheck
from plugins.verdict_file import Status
from tests.verdict.making import BADNESS
from tests.verdict.making import PLAN
from tests.verdict.making import planned

quick = settings(derandomize=True, max_examples=150, deadline=None)

STATUSES: tuple[Status, ...] = ("passed", "failed", "not_reached", "not_run", "broken")
FOREIGN = planned("results.stranger")

claims = st.builds(
    Claim,
    holds=st.booleans(),
    required=st.sampled_from(["", "twelve"]),
    found=st.sampled_from(["", "eleven"]),
    documents=st.lists(st.sampled_from(["doc-01", "doc-02"]), max_size=2),
    decision=st.sampled_from([None, "fix", "reconfigure"]),
)


def outcomes_of(check: PlannedCheck, statuses: tuple[Status, ...] = STATUSES) -> st.SearchStrategy[Outcome]:
    return st.builds(
        Outcome,
        nodeid=st.just(check.nodeid),
        status=st.sampled_from(statuses),
        claims=st.lists(claims, max_size=2),
        message=st.sampled_from([None, "why"]),
    )


def earned(check: PlannedCheck) -> Outcome:
    return Outcome(
        nodeid=check.nodeid,
        status="passed",
        claims=[Claim(holds=True, required="a", found="a", documents=[])],
        message=None,
    )


@st.composite
def healthy_but_for_a_few(draw: st.DrawFn) -> Facts:
    """Mostly passes: from purely random outcomes a go would never come."""
    plan = [check for check in PLAN if draw(st.integers(0, 15)) > 0]
    outcomes = [earned(check) for check in plan]
    for check in [*plan, FOREIGN]:
        if draw(st.integers(0, 20)) == 0:
            outcomes = [one for one in outcomes if one.nodeid != check.nodeid]
            outcomes += draw(st.lists(outcomes_of(check), max_size=2))
    rare = st.integers(0, 8).map(lambda number: number == 0)
    objected = st.builds(Objection, st.sampled_from([check.id for check in PLAN]), st.just("objected"))
    return Facts(
        trial="t1",
        scope=draw(st.sampled_from(["rental", "rental", "rehearsal"])),
        plan=plan,
        outcomes=outcomes,
        selection="a part" if draw(rare) else None,
        interruption="SIGTERM" if draw(rare) else None,
        trouble=["trouble"] if draw(rare) else [],
        objections=draw(st.lists(objected, max_size=1)) if draw(rare) else [],
        rerun="rerun",
    )


def assert_no_better(before: Facts, after: Facts) -> None:
    one, other = decide(before), decide(after)
    assert BADNESS[other.decision] >= BADNESS[one.decision]
    assert not (one.exit_status != 0 and other.exit_status == 0)


@quick
@given(healthy_but_for_a_few(), st.data())
def test_taking_away_a_pass_never_improves_it(given_facts: Facts, data: st.DataObject) -> None:
    passes = [
        one
        for one in given_facts.outcomes
        if one.status == "passed" and one.claims and all(claim.holds for claim in one.claims)
    ]
    if passes:
        gone = data.draw(st.sampled_from(passes))
        left = [one for one in given_facts.outcomes if one != gone]
        assert_no_better(given_facts, replace(given_facts, outcomes=left))


@quick
@given(healthy_but_for_a_few(), st.data())
def test_adding_a_report_that_is_no_pass_never_improves_it(given_facts: Facts, data: st.DataObject) -> None:
    check = data.draw(st.sampled_from([*PLAN, FOREIGN]))
    added = data.draw(outcomes_of(check, ("failed", "broken", "not_run", "not_reached")))
    where = data.draw(st.integers(0, len(given_facts.outcomes)))
    outcomes = [*given_facts.outcomes[:where], added, *given_facts.outcomes[where:]]
    assert_no_better(given_facts, replace(given_facts, outcomes=outcomes))


@quick
@given(healthy_but_for_a_few(), st.data())
def test_turning_a_pass_into_anything_else_never_improves_it(given_facts: Facts, data: st.DataObject) -> None:
    passes = [one for one in given_facts.outcomes if one == earned_again(one)]
    if passes:
        turned = data.draw(st.sampled_from(passes))
        status = data.draw(st.sampled_from(STATUSES[1:]))
        outcomes = [
            one.model_copy(update={"status": status}) if one == turned else one
            for one in given_facts.outcomes
        ]
        assert_no_better(given_facts, replace(given_facts, outcomes=outcomes))


def earned_again(one: Outcome) -> Outcome:
    return earned(next(check for check in [*PLAN, FOREIGN] if check.nodeid == one.nodeid))


DOUBTS = {
    "selection": "a part",
    "interruption": "SIGINT",
    "trouble": ["a worker died"],
    "objections": [Objection("inputs.manifest", "seen later")],
}


@quick
@given(healthy_but_for_a_few(), st.sampled_from(sorted(DOUBTS)))
def test_adding_an_objection_trouble_a_selection_or_an_interruption_never_improves_it(
    given_facts: Facts, kind: str
) -> None:
    there = getattr(given_facts, kind)
    added = DOUBTS[kind]
    more = [*there, *added] if isinstance(added, list) else added
    assert_no_better(given_facts, Facts(**{**given_facts.__dict__, kind: more}))


@quick
@given(healthy_but_for_a_few(), st.randoms(use_true_random=False))
def test_the_order_of_the_reports_changes_nothing(given_facts: Facts, random: object) -> None:
    shuffled = list(given_facts.outcomes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert decide(replace(given_facts, outcomes=shuffled)) == decide(given_facts)


@quick
@given(healthy_but_for_a_few())
def test_a_go_means_that_every_planned_check_passed_with_a_claim_that_holds(given_facts: Facts) -> None:
    verdict = decide(given_facts)
    whole = _established(given_facts)
    assert (verdict.decision == "go") == (whole and given_facts.scope == "rental")
    assert (verdict.exit_status == 0) == whole


def _established(given_facts: Facts) -> bool:
    """The same question asked without the code under test."""
    reports = {check.nodeid: [] for check in given_facts.plan}  # type: dict[str, list[Outcome]]
    for one in given_facts.outcomes:
        if one.nodeid not in reports:
            return False
        reports[one.nodeid].append(one)
    nothing_said = not (
        given_facts.selection or given_facts.interruption or given_facts.trouble or given_facts.objections
    )
    all_passed = all(
        many
        and all(one.status == "passed" and one.claims and all(c.holds for c in one.claims) for one in many)
        for many in reports.values()
    )
    return nothing_said and all_passed and set(NEEDED) <= {check.criterion for check in given_facts.plan}


@quick
@given(healthy_but_for_a_few())
def test_exit_statuses_belong_to_decisions(given_facts: Facts) -> None:
    verdict = decide(given_facts)
    allowed = {"go": {0}, "fix": {10}, "reconfigure": {11}, "undecided": {0, 12}}
    assert verdict.exit_status in allowed[verdict.decision]
    assert {check.id for check in verdict.checks()} == {check.id for check in given_facts.plan}
