"""ctrf.json, in the Common Test Report Format (https://ctrf.io).

That format has no word for a check that broke by the suite's own fault; readers hold only `failed` against a run,
so it is `failed` here, and `rawStatus` says which. One that was not reached waits for something: `pending`.
"""

from __future__ import annotations

import json
import uuid

from plugins.machine.cases import Case
from plugins.machine.cases import cases
from plugins.machine.cases import shown
from plugins.machine.cases import started
from plugins.machine.cases import TOOL
from plugins.verdict_file import CheckResult
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict

SPECIFICATION = "0.0.0"
STATUSES: dict[Status, str] = {
    "passed": "passed", "failed": "failed", "broken": "failed", "not_run": "skipped", "not_reached": "pending",
}  # fmt: skip


def render(verdict: Verdict) -> str:
    """The whole verdict; what the format has no key for stands in `extra`, under the names of verdict.json."""
    all_cases = cases(verdict)
    document = {
        "reportFormat": "CTRF",
        "specVersion": SPECIFICATION,
        "reportId": _identifier(verdict.trial),
        "generatedBy": TOOL,
        "extra": _visible(_extra(verdict)),
        "results": {
            "tool": {"name": TOOL},
            "summary": _summary(verdict, all_cases),
            "tests": [_test(case) for case in all_cases],
        },
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _summary(verdict: Verdict, all_cases: list[Case]) -> dict[str, object]:
    """`start` is in the trial's name (0 where it is not), `stop` that and the seconds by stage."""
    words = [STATUSES[case.status] for case in all_cases]
    own = [check.status for check in verdict.checks()]
    begun = started(verdict)
    start, lasted = int(begun.timestamp()) * 1000 if begun else 0, _milliseconds(sum(verdict.timing.values()))
    return {
        "tests": len(all_cases),
        **{word: words.count(word) for word in ("passed", "failed", "skipped", "pending", "other")},
        "flaky": sum(check.flaky for check in verdict.checks()),
        "suites": len({case.suite for case in all_cases}),
        "start": start,
        "stop": start + lasted,
        "duration": lasted,
        "extra": {"checks": {status: own.count(status) for status in STATUSES}},
    }


def _test(case: Case) -> dict[str, object]:
    test: dict[str, object] = {
        "id": _identifier(case.name),
        "name": shown(case.name),
        "status": STATUSES[case.status],
        "rawStatus": case.status,
        "duration": _milliseconds(case.seconds),
        "suite": [shown(case.suite)],
    }
    if case.status != "passed":
        test["message"] = shown(case.message or "no reason was given")
    if check := case.result:
        test["filePath"] = shown(check.nodeid.partition("::")[0])
        test["flaky"] = check.flaky
        test["extra"] = _visible(_stated(check))
    return test


def _stated(check: CheckResult) -> dict[str, object]:
    kept = {
        "nodeid", "title", "status", "required", "found", "documents", "decision", "carried_from", "evidence",
    }  # fmt: skip
    return check.model_dump(mode="json", include=kept)


def _extra(verdict: Verdict) -> dict[str, object]:
    kept = {
        "trial", "continues", "scope", "decision", "exit_status", "reason", "first_error", "step_reached",
        "next_change", "conditions", "documents", "command",
    }  # fmt: skip
    return verdict.model_dump(mode="json", include=kept)


def _visible(value: object) -> object:
    """The same JSON value with every text in it as `shown` has it."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(key): _visible(item) for key, item in value.items()}
    return [_visible(item) for item in value] if isinstance(value, list) else value


def _identifier(name: str) -> str:
    """The same UUID for the same name on every machine."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{TOOL}:{shown(name)}"))


def _milliseconds(seconds: float) -> int:
    return round(max(seconds, 0.0) * 1000)
