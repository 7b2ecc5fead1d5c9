"""The verdict: a pure function of what was planned, what was reported and what was seen at the end.

Imports neither pytest nor torch. It counts the checks that were planned against those that reported; a
check that is missing, skipped, not reached or broken is never a pass, and no pass is worth anything when
another check failed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from dataclasses import field
from typing import Literal

from pydantic import Field

from fixtures.evidence.base import Model
from fixtures.evidence.models import STEPS
from fixtures.evidence.trial import Scope
from plugins.verdict_file import Artefact
from plugins.verdict_file import Changed
from plugins.verdict_file import CheckResult
from plugins.verdict_file import Commands
from plugins.verdict_file import CRITERIA
from plugins.verdict_file import Criterion
from plugins.verdict_file import CriterionResult
from plugins.verdict_file import Decision
from plugins.verdict_file import DocumentCounts
from plugins.verdict_file import FailureDecision
from plugins.verdict_file import Fault
from plugins.verdict_file import FirstError
from plugins.verdict_file import NextChange
from plugins.verdict_file import Pending
from plugins.verdict_file import Remade
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict

EXIT_STATUS: dict[Decision, int] = {"go": 0, "fix": 10, "reconfigure": 11, "undecided": 12}

#: what must have passed, on this machine, before anybody launches anything
NEEDED: tuple[Criterion, ...] = ("launch", "inputs", "results", "failures", "memory", "end of trial")

#: worst first: the status of a criterion is the worst of its checks
_WORST: tuple[Status, ...] = ("failed", "broken", "not_reached", "not_run", "passed")


class PlannedCheck(Model):
    """A check as declared; `id` holds the parameter where there is one, as in `launch.compute[cuda-0]`."""

    id: str
    nodeid: str
    title: str
    criterion: Criterion
    step: str | None
    on_failure: FailureDecision
    change: str
    evidence: list[str]


class Claim(Model):
    """What a check said: the value that was required, the one that was found, and whether the claim holds."""

    holds: bool
    required: str
    found: str
    documents: list[str]
    decision: FailureDecision | None = None
    change: str | None = None
    advice: str | None = None
    faults: list[Fault] = Field(default_factory=list)


class Outcome(Model):
    """What one check came to, folded from its reports."""

    nodeid: str
    status: Status
    claims: list[Claim]
    message: str | None
    step: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Objection:
    """Something seen after the checks had run that turns a check's pass into a failure."""

    check: str
    message: str
    kind: Literal["copy", "reread"] = "copy"


@dataclass(frozen=True)
class Facts:
    """Everything a verdict stands on.

    `selection`, `interruption` and `trouble` say why not everything was asked, or why what was asked is not
    to be trusted; `carried` is check id -> the trial its evidence was carried from, and `before`
    check id -> what is held against it since the trial that is continued.
    """

    trial: str
    scope: Scope
    plan: list[PlannedCheck]
    outcomes: list[Outcome]
    continues: str | None = None
    selection: str | None = None
    interruption: str | None = None
    trouble: list[str] = field(default_factory=list)
    objections: list[Objection] = field(default_factory=list)
    documents: DocumentCounts | None = None
    factors: dict[str, str] = field(default_factory=dict)
    changed: list[Changed] = field(default_factory=list)
    remade: list[Remade] = field(default_factory=list)
    before: dict[str, Pending] = field(default_factory=dict)
    advisories: list[str] = field(default_factory=list)
    artefacts: list[Artefact] = field(default_factory=list)
    timing: dict[str, float] = field(default_factory=dict)
    carried: dict[str, str] = field(default_factory=dict)
    repeat: str = ""
    rerun: str = ""


@dataclass(frozen=True)
class _Judged:
    plan: PlannedCheck
    result: CheckResult
    change: str
    advice: str | None
    step: str | None


def decide(facts: Facts) -> Verdict:
    """The verdict on `facts`."""
    judged = sorted((_judge(check, facts) for check in facts.plan), key=_order)
    failed = [one for one in judged if one.result.status == "failed"]
    doubts = _doubts(facts, judged)
    decision: Decision
    if failed:
        decision = _failure_decision(facts.scope, failed)
    elif doubts or facts.scope != "rental":
        decision = "undecided"
    else:
        decision = "go"
    first = failed[0] if failed else next((one for one in judged if one.result.status == "broken"), None)
    asked_and_passed = decision == "undecided" and not doubts
    return Verdict(
        trial=facts.trial,
        continues=facts.continues,
        scope=facts.scope,
        decision=decision,
        exit_status=0 if asked_and_passed else EXIT_STATUS[decision],
        reason=_reason(decision, facts, judged, failed, doubts),
        first_error=_first_error(first),
        step_reached=_step_reached(judged),
        next_change=_next_change(failed, doubts, facts),
        conditions=_conditions(judged, doubts),
        criteria=_criteria(judged),
        documents=facts.documents,
        factors=facts.factors,
        changed=facts.changed,
        remade=facts.remade,
        advisories=_advisories(facts, judged),
        artefacts=facts.artefacts,
        timing={stage: round(max(seconds, 0.0), 3) for stage, seconds in facts.timing.items()},
        command=Commands(repeat=facts.repeat, rerun=facts.rerun if failed or doubts else None),
    )


def _judge(check: PlannedCheck, facts: Facts) -> _Judged:
    """One planned check beside everything that was reported for it; the worst report counts."""
    reported = [_earned(outcome) for outcome in facts.outcomes if outcome.nodeid == check.nodeid]
    outcome = min(reported, key=lambda one: _badness(one, check), default=None)
    status: Status = outcome.status if outcome else "not_run"
    message = (outcome.message or "no reason was given") if outcome else "no report reached the verdict"
    claims = outcome.claims if outcome else []
    broken_claims = [claim for claim in claims if not claim.holds]
    objections = [objection.message for objection in facts.objections if objection.check == check.id]
    objected = bool(objections) and status in ("passed", "not_reached", "not_run")
    if objected:
        status, message, broken_claims = "failed", "; ".join(objections), []
    shown = broken_claims if status == "failed" and broken_claims else claims
    overriding = next((claim for claim in broken_claims if claim.decision), None)
    result = CheckResult(
        id=check.id,
        nodeid=check.nodeid,
        title=check.title,
        status=status,
        required="; ".join(claim.required for claim in shown) or None,
        found=(message if objected else "; ".join(claim.found for claim in shown)) or None,
        message=None if status == "passed" else message,
        documents=sorted({document for claim in broken_claims for document in claim.documents}),
        decision=(overriding.decision if overriding else check.on_failure) if status == "failed" else None,
        carried_from=facts.carried.get(check.id),
        evidence=check.evidence,
        seconds=round(outcome.seconds, 4) if outcome else 0.0,
        flaky=status == "passed" and facts.before.get(check.id) == "failed",
        pending=_pending(status, facts.before.get(check.id)),
        faults=_faults(claims),
    )
    change = next((claim.change for claim in broken_claims if claim.change), None) or check.change
    advice = next((claim.advice for claim in broken_claims if claim.advice), None)
    return _Judged(check, result, change, advice, outcome.step if outcome and outcome.step else check.step)


def _faults(claims: list[Claim]) -> list[Fault]:
    """What the catalogue knows, each entry once."""
    return list({fault.id: fault for claim in claims for fault in claim.faults}.values())


def _pending(status: Status, before: Pending | None) -> Pending | None:
    """What is held against a check afterwards; one that did not run still owes what it owed."""
    if status == "failed":
        return "failed"
    if status == "passed":
        return "flaky" if before == "failed" else None
    return before


def _earned(outcome: Outcome) -> Outcome:
    """A pass that no claim earned is the suite's own fault."""
    if outcome.status != "passed" or (outcome.claims and all(claim.holds for claim in outcome.claims)):
        return outcome
    unearned = {"status": "broken", "message": "reported as passed without a claim that holds"}
    return outcome.model_copy(update=unearned)


def _badness(outcome: Outcome, check: PlannedCheck) -> tuple[int, bool, str]:
    """Smallest is worst; by text in the end, so that the order of the reports decides nothing."""
    stated = (claim.decision for claim in outcome.claims if not claim.holds)
    overriding = next(filter(None, stated), None)
    dear = (overriding or check.on_failure) == "reconfigure"
    return _WORST.index(outcome.status), not dear, outcome.model_dump_json()


def _order(one: _Judged) -> tuple[int, int]:
    """By criterion, inside launch by rung; sorting is stable, so the order of declaration decides the rest."""
    step = STEPS.index(one.plan.step) if one.plan.step in STEPS else len(STEPS)
    return CRITERIA.index(one.plan.criterion), step


def _failure_decision(scope: Scope, failed: list[_Judged]) -> Decision:
    if scope == "rental" and any(one.result.decision == "reconfigure" for one in failed):
        return "reconfigure"
    return "fix"  # a rehearsal has seen nothing that was rented


def _doubts(facts: Facts, judged: list[_Judged]) -> list[str]:
    """Why the checks, though none failed, do not add up to everything that must be established."""
    doubts = []
    if facts.interruption:
        doubts.append(facts.interruption)
    doubts += facts.trouble
    if facts.selection:
        doubts.append(facts.selection)
    open_checks = [one for one in judged if one.result.status in ("not_run", "not_reached", "broken")]
    for status, words in (("broken", "broke"), ("not_run", "did not run"), ("not_reached", "not reached")):
        names = [one.plan.id for one in open_checks if one.result.status == status]
        if names:
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            doubts.append(f"{shown} {words}")
    if flaky := [one.plan.id for one in judged if one.result.flaky]:
        shown = ", ".join(flaky[:3]) + (f" and {len(flaky) - 3} more" if len(flaky) > 3 else "")
        doubts.append(f"{shown} failed before and passed now with nothing changed: it has to pass once more")
    spoken_of = {one.plan.criterion for one in judged if one.result.status in ("passed", "failed")}
    absent = [criterion for criterion in NEEDED if criterion not in spoken_of]
    if absent and not open_checks:
        doubts.append("nothing was established about " + ", ".join(absent))
    planned = {one.plan.id for one in judged}
    doubts += [objection.message for objection in facts.objections if objection.check not in planned]
    nodes = {one.plan.nodeid for one in judged}
    if stray := sorted({outcome.nodeid for outcome in facts.outcomes} - nodes):
        doubts.append(f"reported without being planned: {', '.join(stray[:3])}")
    return doubts


def _reason(
    decision: Decision, facts: Facts, judged: list[_Judged], failed: list[_Judged], doubts: list[str]
) -> str:
    if failed:
        more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
        return f"{failed[0].plan.title}: no: {failed[0].result.message}{more}"
    if decision == "go":
        return f"all {len(judged)} checks passed on this machine"
    if doubts:
        return f"nothing is decided: {'; '.join(doubts)}"
    return (
        f"all {len(judged)} checks of this {facts.scope} passed; nothing was established about a rented card"
    )


def _first_error(first: _Judged | None) -> FirstError | None:
    if first is None:
        return None
    message = first.result.message or ""
    return FirstError(check=first.plan.id, criterion=first.plan.criterion, step=first.step, message=message)


def _step_reached(judged: list[_Judged]) -> str | None:
    """The last criterion or launch step with a pass before the first error.

    What passed behind it, as a count over the inputs can, is no step further: a launch that broke at the driver
    got as far as the import.
    """
    passed = list(itertools.takewhile(lambda one: one.result.status not in ("failed", "broken"), judged))
    passed = [one for one in passed if one.result.status == "passed"]
    if not passed:
        return None
    last = passed[-1].plan
    return f"{last.criterion}: {last.step}" if last.step else last.criterion


def _next_change(failed: list[_Judged], doubts: list[str], facts: Facts) -> NextChange | None:
    """One factor at a time: that of the first error."""
    if failed:
        first = failed[0]
        advice = first.advice or (f"required: {first.result.required}" if first.result.required else "")
        return NextChange(factor=first.change, advice=advice or first.result.message or "")
    if doubts:
        return NextChange(factor="nothing yet", advice=f"run the rest first: {facts.rerun}")
    if facts.scope == "rehearsal":
        return NextChange(factor="the machine", advice="run pytest suites/gpu on the rented card")
    return None


def _conditions(judged: list[_Judged], doubts: list[str]) -> list[str]:
    lines = [f"{one.plan.id}: {one.result.message}" for one in judged if one.result.status == "failed"]
    return lines + [f"open: {doubt}" for doubt in doubts]


def _criteria(judged: list[_Judged]) -> list[CriterionResult]:
    result = []
    for criterion in CRITERIA:
        checks = [one.result for one in judged if one.plan.criterion == criterion]
        if checks:
            worst = min((check.status for check in checks), key=_WORST.index)
            result.append(CriterionResult(criterion=criterion, status=worst, checks=checks))
    return result


def _advisories(facts: Facts, judged: list[_Judged]) -> list[str]:
    advisories = list(facts.advisories)
    if len(facts.changed) > 1:
        named = ", ".join(change.factor for change in facts.changed)
        advisories.append(
            f"{len(facts.changed)} factors changed at a time ({named}): nobody knows which one helped"
        )
    passed = [one.plan.id for one in judged if one.result.status == "passed"]
    again = [id for id in passed if facts.before.get(id) == "flaky"]
    if again:
        advisories.append(f"flaky, and passed once more with nothing changed: {', '.join(again)}")
    known = [fault for one in judged for fault in one.result.faults if not fault.blocks]
    advisories += dict.fromkeys(f"{fault.cause} ({fault.id}); what helps: {fault.change}" for fault in known)
    return advisories
