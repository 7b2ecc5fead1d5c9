"""Facts made by hand: a plan with a check or more for each criterion, and outcomes for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fixtures.evidence.models import STEPS
from plugins.verdict import Claim
from plugins.verdict import Facts
from plugins.verdict import Outcome
from plugins.verdict import PlannedCheck
from plugins.verdict_file import CheckResult
from plugins.verdict_file import Criterion
from plugins.verdict_file import Decision
from plugins.verdict_file import FailureDecision
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict

#: how far a decision is from launching; the word of a property test for "improves" is "smaller"
BADNESS: dict[Decision, int] = {"go": 0, "undecided": 1, "fix": 2, "reconfigure": 3}


def planned(
    id: str,
    *,
    step: str | None = None,
    on_failure: FailureDecision = "fix",
    criterion: Criterion | None = None,
    evidence: tuple[str, ...] = (),
) -> PlannedCheck:
    named: Any = criterion or id.partition(".")[0].replace("_", " ")
    return PlannedCheck(
        id=id,
        nodeid=f"suites/gpu/test_x.py::test_{id.replace('.', '_')}",
        title=f"title of {id}",
        criterion=named,
        step=step,
        on_failure=on_failure,
        change=f"the factor of {id}",
        evidence=list(evidence),
    )


#: every needed criterion once, launch with the whole ladder
PLAN: list[PlannedCheck] = [
    *(planned(f"launch.{step}", step=step) for step in STEPS),
    planned("inputs.manifest"),
    planned("results.file", on_failure="reconfigure"),
    planned("failures.reasons"),
    planned("memory.peak"),
    planned("end_of_trial.copied"),
]


def claimed(holds: bool = True, **more: Any) -> Claim:
    stated = {"required": "twelve", "found": "twelve" if holds else "eleven", "documents": [], **more}
    return Claim.model_validate({"holds": holds, **stated})


def outcome(check: PlannedCheck, status: Status = "passed", *claims: Claim, **more: Any) -> Outcome:
    """As folded: a pass states a claim that holds, a failure one that does not, the others none."""
    usual = {"passed": [claimed()], "failed": [claimed(False)]}.get(status, [])
    message = None if status == "passed" else f"{status} message of {check.id}"
    return Outcome(
        nodeid=check.nodeid,
        status=status,
        claims=list(claims) or usual,
        message=more.pop("message", message),
        **more,
    )


def facts(**more: Any) -> Facts:
    """A rental in which everything passed, but for what is said in `more`."""
    plan = more.pop("plan", PLAN)
    healthy = Facts(trial="t1", scope="rental", plan=plan, outcomes=[outcome(check) for check in plan])
    return replace(healthy, rerun="the rerun command", **more)


def with_outcome(of: Facts, check: str, *instead: Outcome) -> Facts:
    """The same facts with another outcome, or none, for one check."""
    nodeid = next(one.nodeid for one in of.plan if one.id == check)
    others = [one for one in of.outcomes if one.nodeid != nodeid]
    return replace(of, outcomes=[*others, *instead])


def plan_of(check: str) -> PlannedCheck:
    return next(one for one in PLAN if one.id == check)


def result(verdict: Verdict, check: str) -> CheckResult:
    return next(one for one in verdict.checks() if one.id == check)
