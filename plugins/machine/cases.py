"""What the formats for machines share: which cases there are, and their texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from datetime import timezone

from plugins.report import text
from plugins.trials.listing import NAMED
from plugins.verdict_file import CheckResult
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict

TOOL = "gpu-pilot"
#: the case that stands for the verdict itself; no criterion has this name, and no check this id
OWN = "verdict"
#: no text of an application is longer than this in a file for machines
MOST = text.MOST


@dataclass(frozen=True)
class Case:
    """A check, or the verdict itself. `result` is None for the latter."""

    suite: str
    name: str
    status: Status
    message: str | None
    seconds: float
    result: CheckResult | None


def cases(verdict: Verdict) -> list[Case]:
    """Every check once; then the verdict itself, where it is no success and no check says so."""
    found = [
        Case(row.criterion, check.id, check.status, check.message, check.seconds, check)
        for row in verdict.criteria
        for check in row.checks
    ]
    red = any(case.status in ("failed", "broken") for case in found)
    if verdict.exit_status != 0 and not red:
        found.append(Case(OWN, OWN, "broken", f"{verdict.decision}: {verdict.reason}", 0.0, None))
    return found


def shown(value: object) -> str:
    """Any text as one that XML, JSON and people can read: what is unseen or no character is written out."""
    return text.visible(text.cut(value, MOST))


def started(verdict: Verdict) -> datetime | None:
    """When the trial began, in UTC, as its name says it."""
    if not NAMED.fullmatch(verdict.trial):
        return None
    try:
        moment = datetime.strptime(verdict.trial.partition("-")[0], "%Y%m%dT%H%M%SZ")
    except ValueError:
        return None
    return moment.replace(tzinfo=timezone.utc)


def facts(check: CheckResult) -> dict[str, str]:
    """What a person asks about a check, in this order; what there is nothing to say about is left out."""
    named = {
        "title": check.title,
        "required": check.required,
        "found": check.found,
        "documents": ", ".join(check.documents),
        "decision": check.decision,
        "evidence": ", ".join(check.evidence),
        "carried from": check.carried_from,
        "flaky": "failed before and passed now, though nothing had changed" if check.flaky else None,
    }
    return {name: value for name, value in named.items() if value}
