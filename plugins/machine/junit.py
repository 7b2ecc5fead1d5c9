"""junit.xml, as the schema of Jenkins' xUnit plugin has it (junit-10.xsd).

A failed check is a failure, one that broke an error, one that was not run or not reached is skipped. That schema
lets a case have no properties, so what was carried, required and found stands in the case's `system-out`.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.etree.ElementTree import SubElement

from plugins.machine.cases import Case
from plugins.machine.cases import cases
from plugins.machine.cases import facts
from plugins.machine.cases import shown
from plugins.machine.cases import started
from plugins.machine.cases import TOOL
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict

ELEMENTS: dict[Status, str | None] = {
    "passed": None, "failed": "failure", "broken": "error", "not_run": "skipped", "not_reached": "skipped",
}  # fmt: skip


def render(verdict: Verdict) -> str:
    """The whole verdict as one suite; `classname` is the criterion, `name` the check's id."""
    all_cases = cases(verdict)
    elements = [ELEMENTS[case.status] for case in all_cases]
    counts = {
        "tests": str(len(all_cases)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
    }
    time = _time(sum(case.seconds for case in all_cases))
    root = Element("testsuites", {"name": TOOL, "time": time, **counts})
    suite = SubElement(root, "testsuite", {"name": TOOL, "time": time, **counts})
    suite.set("skipped", str(elements.count("skipped")))
    if begun := started(verdict):
        suite.set("timestamp", begun.isoformat())
    properties = SubElement(suite, "properties")
    for name, value in _properties(verdict).items():
        SubElement(properties, "property", {"name": shown(name), "value": shown(value)})
    for case in all_cases:
        _add(suite, case)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _properties(verdict: Verdict) -> dict[str, str]:
    named = {
        "decision": verdict.decision,
        "trial": verdict.trial,
        "continues": verdict.continues,
        "scope": verdict.scope,
        "reason": verdict.reason,
        "step_reached": verdict.step_reached,
        "first_error": verdict.first_error and verdict.first_error.check,
        "next_change": verdict.next_change and verdict.next_change.factor,
        "rerun": verdict.command.rerun,
    }
    carried = {
        f"carried_from.{check.id}": check.carried_from for check in verdict.checks() if check.carried_from
    }
    return {name: value for name, value in {**named, **carried}.items() if value}


def _add(suite: Element, case: Case) -> None:
    named = {"classname": shown(case.suite), "name": shown(case.name), "time": _time(case.seconds)}
    element = SubElement(suite, "testcase", named)
    if outcome := ELEMENTS[case.status]:
        message = shown(case.message or "no reason was given")
        SubElement(element, outcome, {"type": case.status, "message": message}).text = message
    if case.result:
        lines = [f"{name}: {shown(value)}" for name, value in facts(case.result).items()]
        SubElement(element, "system-out").text = "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{max(seconds, 0.0):.3f}"
