"""Reports folded into one outcome a check, and written down at once. Runs in the controlling process.

pytest, xdist and pytest-html each lose some crashed test; so a check has passed only when all three of its
phases were seen to pass and it stated a claim that holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plugins.criteria import SAID
from plugins.verdict import Claim
from plugins.verdict import Outcome
from plugins.verdict_file import Status

_PHASES = ("setup", "call", "teardown")


class Outcomes:
    """Every report of the run by node id, and checks.jsonl, one line a finished check."""

    def __init__(self, journal: Path | None) -> None:
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._journal = journal

    def add(self, report: pytest.TestReport) -> None:
        """Called by the hook `pytest_runtest_logreport`."""
        self._reports.setdefault(report.nodeid, []).append(report)
        if self._journal and report.when not in _PHASES[:2]:  # a crash is reported as the phase "???"
            line = fold(report.nodeid, self._reports[report.nodeid]).model_dump_json()
            with self._journal.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")

    def all(self) -> list[Outcome]:
        return [fold(nodeid, reports) for nodeid, reports in self._reports.items()]


def fold(nodeid: str, reports: list[pytest.TestReport]) -> Outcome:
    """What the reports of one check come to; what is not plainly a pass is none."""
    said = [json.loads(getattr(report, SAID)) for report in reports if hasattr(report, SAID)]
    claims: list[dict[str, Any]] = max((one["claims"] for one in said), key=len, default=[])
    status, message = _status(reports, said)
    if status == "passed" and not claims:
        status, message = "broken", "the check claimed nothing"
    return Outcome(
        nodeid=nodeid,
        status=status,
        claims=[Claim.model_validate(claim) for claim in claims],
        message=message,
        step=next((one["step"] for one in said if one["step"]), None),
        seconds=sum(report.duration for report in reports),
    )


def _status(reports: list[pytest.TestReport], said: list[dict[str, Any]]) -> tuple[Status, str | None]:
    for one in said:
        if one["kind"] == "failed":
            return "failed", one["message"]
    for one in said:
        if one["kind"] in ("broken", "not_reached", "not_run"):
            return one["kind"], one["message"]
    for report in reports:
        if report.when not in _PHASES:
            return "broken", "the process that ran this check died"
        if report.failed:
            return "broken", str(report.longrepr).strip().rpartition("\n")[2][:500]
        if not report.passed:
            return "not_run", "skipped"
    seen = {report.when for report in reports}
    if not seen.issuperset(_PHASES):
        return "not_run", f"only {', '.join(sorted(map(str, seen)))} of its phases was reported"
    return "passed", None
