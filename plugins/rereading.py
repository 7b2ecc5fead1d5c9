"""A closed trial that was judged again, on a laptop for instance: that it was, by which version, and what came of it.

The recorded verdict stays. What this version of the suite judges otherwise is listed check by check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from fixtures.evidence import base
from fixtures.evidence.base import InputError
from fixtures.evidence.base import Model
from fixtures.evidence.names import REREAD
from fixtures.evidence.trial import now
from fixtures.evidence.trial import Trial
from fixtures.evidence.trial import VERDICT
from fixtures.evidence.trial import write_json
from plugins import factors
from plugins.verdict import PlannedCheck
from plugins.verdict_file import Decision
from plugins.verdict_file import Verdict


class Reading(Model):
    """One judging again, by the suite of this revision and sum. `elsewhere`: not on the machine where it was made."""

    when: str
    by: str
    elsewhere: bool
    decision: Decision
    exit_status: int
    recorded: Decision
    differences: list[str]


class Readings(Model):
    """reread.json beside the verdict: every judging again, oldest first."""

    schema_: Literal["gpu-pilot/reread/1"] = Field(default="gpu-pilot/reread/1", alias="schema")
    trial: str
    readings: list[Reading]


def recorded(trial: Trial) -> Verdict | None:
    """The verdict that was written when the trial ended; None where there is none that can be read."""
    try:
        return base.load(trial.path / VERDICT, Verdict)
    except InputError:
        return None


def differences(before: Verdict, plan: list[PlannedCheck], statuses: dict[str, str]) -> dict[str, str]:
    """Check id -> what is judged otherwise than it was recorded; `statuses` are by node id."""
    then = {check.id: str(check.status) for check in before.checks()}
    here = {check.id: statuses.get(check.nodeid, "not_run") for check in plan}
    known = {id: f"{then[id]} then, {here[id]} now" for id in then if id in here and then[id] != here[id]}
    gone = {id: f"{status} then, not in the suite now" for id, status in then.items() if id not in here}
    added = {id: f"not in the suite then, {status} now" for id, status in here.items() if id not in then}
    return {**known, **gone, **added}


def read(path: Path) -> Readings | None:
    """What stands in a trial's reread.json; None where it was never judged again.

    Raises:
        InputError: it cannot be read.
    """
    return base.load(path / REREAD, Readings) if (path / REREAD).exists() else None


def write(trial: Trial, project: Path, verdict: Verdict, elsewhere: bool, different: list[str]) -> str | None:
    """Add a line to reread.json; why it could not be, or None."""
    before = recorded(trial)
    if before is None:
        return None
    reading = Reading(
        when=now(),
        by=f"{factors.revision(project)}, suite {factors.suite_sum(project)[:12]}",
        elsewhere=elsewhere,
        decision=verdict.decision,
        exit_status=verdict.exit_status,
        recorded=before.decision,
        differences=different,
    )
    try:
        earlier = read(trial.path)
        readings = [*(earlier.readings if earlier else []), reading]
        write_json(trial.path / REREAD, Readings(trial=trial.name, readings=readings))
    except InputError as error:
        return f"{REREAD} is left as it is: {error}"
    except OSError as error:
        return f"{trial.path / REREAD}: {error.strerror}"
    return None
