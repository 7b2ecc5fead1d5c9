"""The verdict as a table: what was planned, reported and seen, and the decision and exit status it comes to."""

from __future__ import annotations

import pytest

from plugins.verdict import decide
from plugins.verdict import Facts
from plugins.verdict import NEEDED
from plugins.verdict import Objection
from plugins.verdict_file import Decision
from plugins.verdict_file import Pending
from plugins.verdict_file import Status
from tests.verdict.making import claimed
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import PLAN
from tests.verdict.making import plan_of
from tests.verdict.making import planned
from tests.verdict.making import result
from tests.verdict.making import with_outcome


def turned(check: str, status: Status, **more: str | None) -> Facts:
    return with_outcome(facts(), check, outcome(plan_of(check), status, **more))


def overridden(check: str, decision: str, **more: str) -> Facts:
    failed = outcome(plan_of(check), "failed", claimed(False, decision=decision, **more))
    return with_outcome(facts(), check, failed)


REHEARSAL = facts(scope="rehearsal")
TABLE: dict[str, tuple[Facts, Decision, int]] = {
    "everything passed": (facts(), "go", 0),
    "everything passed without a memory check": (
        facts(plan=[c for c in PLAN if c.criterion != "memory"]), "undecided", 12,
    ),
    "everything passed without a training check": (
        facts(plan=[c for c in PLAN if c.criterion != "training"]), "go", 0,
    ),
    "a pass that nothing was changed for": (facts(before={"inputs.manifest": "failed"}), "undecided", 12),
    "such a pass, once more": (facts(before={"inputs.manifest": "flaky"}), "go", 0),
    "a rehearsal with such a pass": (facts(scope="rehearsal", before={"inputs.manifest": "failed"}), "undecided", 12),
    "a rehearsal in which everything passed": (REHEARSAL, "undecided", 0),
    "an order in which everything passed": (facts(scope="order"), "undecided", 0),
    "a folder in which everything passed": (facts(scope="folder"), "undecided", 0),
    "a failure that means fix": (turned("inputs.manifest", "failed"), "fix", 10),
    "a failure that means reconfigure": (turned("results.file", "failed"), "reconfigure", 11),
    "a failure of the memory": (turned("memory.peak", "failed"), "fix", 10),
    "an observation that makes it reconfigure": (overridden("inputs.manifest", "reconfigure"), "reconfigure", 11),
    "an observation that makes it fix": (overridden("results.file", "fix"), "fix", 10),
    "a rehearsal never says reconfigure": (
        with_outcome(REHEARSAL, "results.file", outcome(plan_of("results.file"), "failed")), "fix", 10,
    ),
    "a check that did not run": (turned("inputs.manifest", "not_run"), "undecided", 12),
    "a check that was not reached": (turned("inputs.manifest", "not_reached"), "undecided", 12),
    "a check that broke": (turned("inputs.manifest", "broken"), "undecided", 12),
    "a check without any report": (with_outcome(facts(), "inputs.manifest"), "undecided", 12),
    "a check of memory without any report": (with_outcome(facts(), "memory.peak"), "undecided", 12),
    "a rehearsal with a check that did not run": (with_outcome(REHEARSAL, "inputs.manifest"), "undecided", 12),
    "a failure weighs more than a broken check": (
        with_outcome(turned("failures.reasons", "broken"), "inputs.manifest",
                     outcome(plan_of("inputs.manifest"), "failed")), "fix", 10,
    ),
    "an empty plan": (facts(plan=[]), "undecided", 12),
    "an empty plan in a rehearsal": (facts(plan=[], scope="rehearsal"), "undecided", 12),
    "a selection": (facts(selection="only test_launch.py was selected"), "undecided", 12),
    "an interruption": (facts(interruption="it was interrupted SIGTERM"), "undecided", 12),
    "trouble": (facts(trouble=["a worker died"]), "undecided", 12),
    "trouble in a rehearsal": (facts(scope="rehearsal", trouble=["a worker died"]), "undecided", 12),
    "an objection to a pass": (facts(objections=[Objection("end_of_trial.copied", "the disk is full")]), "fix", 10),
    "an objection to nothing that was planned": (facts(objections=[Objection("no.check", "odd")]), "undecided", 12),
    "a report of a check that nobody planned": (
        with_outcome(facts(), "inputs.manifest", outcome(plan_of("inputs.manifest")),
                     outcome(planned("inputs.stranger"), "failed")), "undecided", 12,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_the_decision_and_the_exit_status_are(case: str) -> None:
    given, decision, status = TABLE[case]
    verdict = decide(given)
    assert (verdict.decision, verdict.exit_status) == (decision, status)
    assert verdict.reason


@pytest.mark.parametrize("criterion", NEEDED)
def test_without_any_check_of_a_needed_criterion_there_is_no_go(criterion: str) -> None:
    verdict = decide(facts(plan=[check for check in PLAN if check.criterion != criterion]))
    assert (verdict.decision, verdict.exit_status) == ("undecided", 12)
    assert f"nothing was established about {criterion}" in verdict.reason


def test_a_go_says_how_many_checks_passed_and_leaves_nothing_open() -> None:
    verdict = decide(facts())
    assert verdict.reason == f"all {len(PLAN)} checks passed on this machine"
    assert (verdict.first_error, verdict.next_change, verdict.conditions) == (None, None, [])
    assert verdict.command.rerun is None
    assert verdict.step_reached == "end of trial"


def test_a_rehearsal_says_that_nothing_was_established_about_a_card_and_sends_to_one() -> None:
    verdict = decide(REHEARSAL)
    assert "nothing was established about a rented card" in verdict.reason
    assert verdict.next_change is not None
    assert verdict.next_change.factor == "the machine"
    assert (verdict.conditions, verdict.command.rerun) == ([], None)


@pytest.mark.parametrize("scope", ["order", "folder"])
def test_beside_a_rehearsal_nothing_that_passed_wholly_names_a_change(scope: str) -> None:
    assert decide(facts(scope=scope)).next_change is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (facts(interruption="it was interrupted SIGTERM"), "it was interrupted SIGTERM"),
        (facts(selection="only test_launch.py was selected"), "only test_launch.py was selected"),
        (facts(trouble=["a worker died"]), "a worker died"),
        (turned("inputs.manifest", "broken"), "inputs.manifest broke"),
        (turned("inputs.manifest", "not_run"), "inputs.manifest did not run"),
        (turned("inputs.manifest", "not_reached"), "inputs.manifest not reached"),
        (facts(objections=[Objection("no.check", "odd")]), "odd"),
        (facts(outcomes=[]), "launch.interpreter, launch.environment, launch.driver and 10 more did not run"),
    ],
)
def test_what_leaves_it_undecided_is_named_in_reason_and_conditions(given: Facts, words: str) -> None:
    verdict = decide(given)
    assert words in verdict.reason
    assert any(line.startswith("open: ") and words in line for line in verdict.conditions)
    assert verdict.next_change is not None
    assert "the rerun command" in verdict.next_change.advice
    assert verdict.command.rerun == "the rerun command"


def test_an_objection_fails_its_check_with_its_own_words() -> None:
    verdict = decide(
        facts(objections=[Objection("end_of_trial.copied", "one"), Objection("end_of_trial.copied", "two")])
    )
    check = result(verdict, "end_of_trial.copied")
    assert (check.status, check.message, check.decision) == ("failed", "one; two", "fix")
    assert verdict.first_error is not None
    assert (verdict.first_error.check, verdict.first_error.message) == ("end_of_trial.copied", "one; two")


@pytest.mark.parametrize(
    ("status", "becomes"),
    [
        ("passed", "failed"),
        ("not_run", "failed"),
        ("not_reached", "failed"),
        ("broken", "broken"),
        ("failed", "failed"),
    ],
)
def test_an_objection_turns_what_had_not_failed_and_leaves_what_broke(
    status: Status, becomes: Status
) -> None:
    given = turned("inputs.manifest", status)
    objected = Facts(**{**given.__dict__, "objections": [Objection("inputs.manifest", "seen later")]})
    check = result(decide(objected), "inputs.manifest")
    assert check.status == becomes
    assert (check.message == "seen later") == (status in ("passed", "not_run", "not_reached"))


UNEARNED = {
    "no claim": [],
    "a claim that does not hold": [claimed(False)],
    "one that holds and one that does not": [claimed(), claimed(False)],
}


@pytest.mark.parametrize("case", UNEARNED)
def test_a_report_of_passed_is_broken_with(case: str) -> None:
    check = plan_of("inputs.manifest")
    unearned = outcome(check).model_copy(update={"claims": UNEARNED[case]})
    verdict = decide(with_outcome(facts(), check.id, unearned))
    assert verdict.decision == "undecided"
    assert result(verdict, check.id).status == "broken"
    assert "without a claim that holds" in (result(verdict, check.id).message or "")


def test_a_failure_without_a_message_still_gives_a_reason() -> None:
    verdict = decide(turned("inputs.manifest", "failed", message=None))
    assert verdict.first_error is not None
    assert verdict.first_error.message == "no reason was given"
    assert "None" not in verdict.reason


def test_scopes_other_than_a_rental_keep_their_scope_and_what_they_continue() -> None:
    verdict = decide(facts(scope="rehearsal", continues="t0"))
    assert (verdict.trial, verdict.continues, verdict.scope) == ("t1", "t0", "rehearsal")


#: what is held against a check, what it comes to, whether that is flaky, and what is held against it afterwards
HELD: list[tuple[Pending | None, Status, bool, Pending | None]] = [
    (None, "passed", False, None),
    (None, "failed", False, "failed"),
    (None, "not_run", False, None),
    ("failed", "passed", True, "flaky"),
    ("failed", "failed", False, "failed"),
    ("failed", "not_run", False, "failed"),
    ("failed", "not_reached", False, "failed"),
    ("failed", "broken", False, "failed"),
    ("flaky", "passed", False, None),
    ("flaky", "failed", False, "failed"),
    ("flaky", "not_reached", False, "flaky"),
]


@pytest.mark.parametrize(("before", "status", "flaky", "after"), HELD)
def test_what_is_held_against_a_check_goes_on_until_it_is_settled(
    before: Pending | None, status: Status, flaky: bool, after: Pending | None
) -> None:
    given = facts(before={"inputs.manifest": before} if before else {})
    verdict = decide(with_outcome(given, "inputs.manifest", outcome(plan_of("inputs.manifest"), status)))
    one = result(verdict, "inputs.manifest")
    assert (one.flaky, one.pending) == (flaky, after)
