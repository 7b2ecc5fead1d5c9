"""JUnit XML, CTRF JSON and the summary of a step: each says what the verdict says, whatever stands in it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.machine import ctrf
from plugins.machine import files
from plugins.machine import junit
from plugins.machine import step_summary
from plugins.machine.cases import OWN
from plugins.report.page import WORDS
from plugins.verdict import decide
from plugins.verdict import Facts
from plugins.verdict_file import CheckResult
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict
from tests.machine import reading
from tests.verdict.making import claimed
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import plan_of
from tests.verdict.making import with_outcome
from tests.verdict.test_properties import healthy_but_for_a_few
from tests.verdict.test_properties import quick
from tests.verdict.test_properties import STATUSES

VERDICT = (OWN, OWN)
#: every control character, halves of surrogate pairs, what is no character, the ends of CDATA and comments, markup
HOSTILE = (
    "".join(map(chr, [*range(32), 0x7F, 0x85, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x202E, 0x1FFFF]))
    + "]]> <![CDATA[ --> <script>x()</script> \"' & &#0; \r\n\n\n# h\n* b\n```\n"
    + "@team #1 :bug: $$x$$ |a|b| www.x.org a@b.cd"
)
#: what becomes of a check, and of its carrying
SEEN: dict[str, Status] = {
    "launch.import": "broken", "launch.device": "not_reached", "inputs.manifest": "passed",
    "results.file": "failed", "failures.reasons": "not_run",
}  # fmt: skip


def files_of(verdict: Verdict) -> tuple[Any, Any]:
    """Both files as their schemas accept them."""
    written = files.closing(verdict)
    return reading.junit(written["junit.xml"]), reading.ctrf(written["ctrf.json"])


def of_each_status() -> Verdict:
    given_facts: Facts = replace(facts(), carried={"inputs.manifest": "t0"}, continues="t0")
    for id, status in SEEN.items():
        given_facts = with_outcome(given_facts, id, outcome(plan_of(id), status))
    return decide(given_facts)


def saying(words: str) -> Verdict:
    """A verdict of which every text that can come from elsewhere is `words`."""
    claim = claimed(
        False, **dict.fromkeys(("found", "required", "change", "advice"), "WORDS"), documents=["WORDS"]
    )
    said = outcome(plan_of("results.file"), "failed", claim, message="WORDS")
    given_facts = replace(with_outcome(facts(), "results.file", said), rerun="WORDS", continues="WORDS")
    return Verdict.model_validate(_put(decide(given_facts).model_dump(), words))


def _put(value: Any, words: str) -> Any:
    if isinstance(value, str):
        return value.replace("WORDS", words)
    if isinstance(value, dict):
        return {key: _put(item, words) for key, item in value.items()}
    return [_put(item, words) for item in value] if isinstance(value, list) else value


def named(verdict: Verdict) -> dict[tuple[str, str], CheckResult]:
    return {(row.criterion, check.id): check for row in verdict.criteria for check in row.checks}


# -- whatever was decided ----------------------------------------------------------------------------------


@quick
@given(healthy_but_for_a_few())
def test_every_check_is_named_once_and_counted_as_the_verdict_counts_it(given_facts: Facts) -> None:
    verdict = decide(given_facts)
    counts = Counter(check.status for check in verdict.checks())
    root, document = files_of(verdict)
    cases, tests = reading.junit_cases(root), reading.ctrf_tests(document)
    own = len(cases.keys() - named(verdict))
    assert set(cases) - {VERDICT} == set(tests) - {VERDICT} == set(named(verdict))
    assert (VERDICT in cases) == (VERDICT in tests)
    suite = root.find("testsuite")
    assert int(suite.get("failures")) == len(root.findall(".//failure")) == counts["failed"]
    assert int(suite.get("errors")) == len(root.findall(".//error")) == counts["broken"] + own
    assert int(suite.get("skipped")) == len(root.findall(".//skipped"))
    assert int(suite.get("skipped")) == counts["not_run"] + counts["not_reached"]
    assert int(suite.get("tests")) == int(root.get("tests")) == len(cases)
    summary = document["results"]["summary"]
    assert summary["extra"]["checks"] == {status: counts[status] for status in STATUSES}
    assert summary["failed"] == counts["failed"] + counts["broken"] + own
    assert {word: summary[word] for word in reading.counted(document)} == reading.counted(document)
    rows = reading.Summary(step_summary.render(verdict)).rows
    assert Counter(row.check for row in rows) == Counter(name for _, name in cases)
    for check in verdict.checks():
        assert next(row.status for row in rows if row.check == check.id) == WORDS[check.status]


@quick
@given(healthy_but_for_a_few())
def test_a_reader_that_only_counts_sees_green_where_the_verdict_is_a_success(given_facts: Facts) -> None:
    verdict = decide(given_facts)
    root, document = files_of(verdict)
    red = int(root.get("failures")) + int(root.get("errors"))
    assert (red == 0) == (document["results"]["summary"]["failed"] == 0) == (verdict.exit_status == 0)


@quick
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=60))
def test_any_text_is_valid_in_each(any_text: str) -> None:
    verdict = saying(any_text)
    root, document = files_of(verdict)
    assert len(reading.junit_cases(root)) == len(reading.ctrf_tests(document)) == len(verdict.checks())
    text = step_summary.render(verdict)
    assert len(reading.Summary(text).rows) == len(verdict.checks())
    assert all(line.strip() for line in text.splitlines())


# -- each status, by name ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "element", "status"),
    [
        ("launch.import", "error", "failed"),
        ("launch.device", "skipped", "pending"),
        ("failures.reasons", "skipped", "skipped"),
        ("results.file", "failure", "failed"),
        ("inputs.manifest", None, "passed"),
    ],
)
def test_a_check_has_the_word_of_each_format_for_its_status(
    id: str, element: str | None, status: str
) -> None:
    verdict = of_each_status()
    key = (plan_of(id).criterion, id)
    root, document = files_of(verdict)
    case, test = reading.junit_cases(root)[key], reading.ctrf_tests(document)[key]
    children = {child.tag: child for child in case if child.tag != "system-out"}
    assert set(children) == ({element} if element else set())
    assert (test["status"], test["rawStatus"], test["extra"]["status"]) == (status, SEEN[id], SEEN[id])
    if element:
        assert children[element].get("type") == SEEN[id]
        assert children[element].get("message") == test["message"] == f"{SEEN[id]} message of {id}"
    else:
        assert "message" not in test


def test_what_was_carried_is_named_in_each() -> None:
    verdict = of_each_status()
    root, document = files_of(verdict)
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert properties["carried_from.inputs.manifest"] == "t0"
    assert "carried from: t0" in reading.junit_cases(root)["inputs", "inputs.manifest"].findtext("system-out")
    tests = reading.ctrf_tests(document)
    assert tests["inputs", "inputs.manifest"]["extra"]["carried_from"] == "t0"
    assert tests["results", "results.file"]["extra"]["carried_from"] is None
    rows = {row.check: row.carried for row in reading.Summary(step_summary.render(verdict)).rows}
    assert (rows["inputs.manifest"], rows["results.file"]) == ("t0", "")


def test_the_decision_stands_in_each() -> None:
    verdict = of_each_status()
    root, document = files_of(verdict)
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    stated = {"decision": "reconfigure", "trial": "t1", "scope": "rental", "reason": verdict.reason}
    assert {name: properties[name] for name in stated} == stated
    assert {name: document["extra"][name] for name in stated} == stated
    assert document["results"]["tool"]["name"] == "gpu-pilot"
    assert "RECONFIGURE" in reading.Summary(step_summary.render(verdict)).outside


def test_a_verdict_that_withholds_its_go_though_no_check_failed_is_a_case_of_its_own() -> None:
    doubted = decide(facts(interruption="it was interrupted SIGTERM"))
    root, document = files_of(doubted)
    error = reading.junit_cases(root)[VERDICT].find("error")
    assert error.get("message") == f"undecided: {doubted.reason}"
    assert reading.ctrf_tests(document)[VERDICT]["status"] == "failed"
    for healthy in (decide(facts()), decide(facts(scope="rehearsal")), of_each_status()):
        root, document = files_of(healthy)
        assert VERDICT not in reading.junit_cases(root)
        assert VERDICT not in reading.ctrf_tests(document)


def test_a_trial_without_a_single_check_is_not_green() -> None:
    root, document = files_of(decide(facts(plan=[], trouble=["the suite could not be collected"])))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    assert document["results"]["summary"]["failed"] == 1


def test_the_time_of_the_trial_is_taken_from_its_name() -> None:
    timed = decide(facts(trial="20261201T103000Z-7f3a", timing={"launch": 1.5, "pilot": 2.0}))
    root, document = files_of(timed)
    summary = document["results"]["summary"]
    assert (summary["start"], summary["stop"] - summary["start"]) == (1_796_121_000_000, 3500)
    assert root.find("testsuite").get("timestamp") == "2026-12-01T10:30:00+00:00"


@pytest.mark.parametrize("name", ["t1", "20261399T103000Z-7f3a", "20261201T103000Z-7f3a/.."])
def test_a_name_that_holds_no_time_gives_none(name: str) -> None:
    root, document = files_of(decide(facts(trial=name)))
    assert root.find("testsuite").get("timestamp") is None
    assert document["results"]["summary"]["start"] == 0


def test_a_check_has_the_same_identifier_in_every_trial() -> None:
    _, one = files_of(decide(facts(trial="t1")))
    _, other = files_of(decide(facts(trial="t2")))
    ids = [[test["id"] for test in document["results"]["tests"]] for document in (one, other)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0])
    assert one["reportId"] != other["reportId"]


# -- hostile text ------------------------------------------------------------------------------------------


def test_hostile_text_leaves_the_files_valid_and_readable() -> None:
    root, document = files_of(saying(HOSTILE))
    message = reading.junit_cases(root)["results", "results.file"].find("failure").get("message")
    assert message == reading.ctrf_tests(document)["results", "results.file"]["message"]
    for words in ("[U+0000]", "[U+001B]", "[U+D800]", "[U+FFFE]", "]]> <![CDATA[", "<script>x()</script>"):
        assert words in message


def test_hostile_text_is_only_ever_code_in_the_summary() -> None:
    text = step_summary.render(saying(HOSTILE))
    page = reading.Summary(text)
    assert page.tags == {"h3", "p", "table", "tr", "th", "td", "code", "details", "summary"}
    assert page.attributes == []
    assert "script" not in page.outside
    assert sum("<script>x()</script>" in code for code in page.code) >= 5
    assert all(line.startswith("<") for line in text.splitlines()), (
        "one block of HTML, in which no Markdown is read"
    )
    assert not re.search(r"[^\n\x20-\x7e…✓✗○—]", text.replace(chr(0x1FFFF), ""))


# -- the size that GitHub takes ----------------------------------------------------------------------------


def large() -> Verdict:
    plan = [
        plan_of("results.file").model_copy(update={"id": f"results.file[{n}]", "nodeid": f"x.py::test[{n}]"})
        for n in range(2500)
    ]
    outcomes = [
        outcome(one, "failed" if n % 10 == 0 else "passed", message="wide … " * 90)
        for n, one in enumerate(plan)
    ]
    outcomes = [
        one.model_copy(update={"claims": [claimed(one.status == "passed", found="y" * 590)]})
        for one in outcomes
    ]
    return decide(replace(facts(plan=plan), outcomes=outcomes))


def test_a_large_verdict_leaves_out_what_passed_first() -> None:
    verdict = large()
    text = step_summary.render(verdict)
    assert len(text.encode()) <= step_summary.LIMIT
    rows = reading.Summary(text).rows
    assert {row.status for row in rows} == {"failed"}
    assert len(rows) == 250
    assert "Left out for want of room: 2250 checks" in text


@pytest.mark.parametrize("most", [5000, 20_000, 100_000])
def test_what_still_does_not_fit_is_counted(most: int) -> None:
    text = step_summary.render(large(), most)
    assert 0 < len(text.encode()) <= most
    left_out = re.search(r"Left out for want of room: (\d+) checks", text)
    assert left_out
    assert int(left_out[1]) + len(reading.Summary(text).rows) == 2500


@pytest.mark.parametrize("most", [0, -5, 300])
def test_no_half_of_a_summary_is_given(most: int) -> None:
    assert step_summary.render(large(), most) == ""


def test_the_functions_are_pure() -> None:
    verdict = of_each_status()
    for render in (junit.render, ctrf.render, step_summary.render):
        assert render(verdict) == render(verdict)
