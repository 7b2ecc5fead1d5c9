"""Reports folded into one outcome: what is not plainly a pass is none."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import NotReached
from plugins import criteria
from plugins.criteria import ClaimFailed
from plugins.criteria import Claims
from plugins.criteria import SAID
from plugins.outcomes import fold
from plugins.outcomes import Outcomes
from plugins.verdict import Claim

NODE = "suites/gpu/test_x.py::test_y"
HOLDS = {"holds": True, "required": "a", "found": "a", "documents": []}
FAILS = {**HOLDS, "holds": False, "found": "b", "documents": ["doc-01"]}


def report(
    when: Any = "call", outcome: Any = "passed", longrepr: Any = None, *, said: bool = True, **more: Any
) -> pytest.TestReport:
    made = pytest.TestReport(
        NODE,
        ("test_x.py", 1, "test_y"),
        {},
        outcome,
        longrepr,
        when,
        duration=0.5,
    )
    if said:
        claims = more.pop("claims", [HOLDS] if when != "setup" else [])
        setattr(
            made, SAID, json.dumps({"kind": None, "message": None, "step": None, "claims": claims, **more})
        )
    return made


SETUP, CALL, TEARDOWN = (report(when) for when in ("setup", "call", "teardown"))
TABLE: dict[str, tuple[list[pytest.TestReport], str, str | None]] = {
    "all three phases": ([SETUP, CALL, TEARDOWN], "passed", None),
    "no report": ([], "not_run", "of its phases was reported"),
    "setup alone": ([SETUP], "not_run", "only setup"),
    "setup and call": ([SETUP, CALL], "not_run", "only call, setup"),
    "no call": ([SETUP, TEARDOWN], "not_run", "only setup, teardown"),
    "a call alone": ([CALL], "not_run", "only call"),
    "a crash that xdist reports": (
        [SETUP, report("???", "failed", "worker 'gw0' crashed", said=False)],
        "broken",
        "died",
    ),
    "a crash after all three": (
        [SETUP, CALL, TEARDOWN, report("???", "failed", said=False)],
        "broken",
        "died",
    ),
    "a crash that calls itself a pass": (
        [SETUP, CALL, TEARDOWN, report("???", said=False)],
        "broken",
        "died",
    ),
    "a phase without a name": ([SETUP, CALL, TEARDOWN, report(None, said=False)], "broken", "died"),
    "no claim": ([SETUP, report(claims=[]), report("teardown", claims=[])], "broken", "claimed nothing"),
    "reports of somebody else's": (
        [report(when, said=False) for when in ("setup", "call", "teardown")],
        "broken",
        "claimed nothing",
    ),
    "a claim that fails": (
        [
            SETUP,
            report("call", "failed", "x", kind="failed", message="found b", claims=[HOLDS, FAILS]),
            TEARDOWN,
        ],
        "failed",
        "found b",
    ),
    "a skip": (
        [report("setup", "skipped", kind="not_run", message="no card"), TEARDOWN],
        "not_run",
        "no card",
    ),
    "a skip that nobody explained": (
        [report("setup", "skipped", said=False), TEARDOWN],
        "not_run",
        "skipped",
    ),
    "a skip in the call": ([SETUP, report("call", "skipped", said=False), TEARDOWN], "not_run", "skipped"),
    "not reached": (
        [report("setup", "skipped", kind="not_reached", message="launch", step="launch: import"), TEARDOWN],
        "not_reached",
        "launch",
    ),
    "a fault of the suite": (
        [SETUP, report("call", "failed", "x", kind="broken", message="KeyError"), TEARDOWN],
        "broken",
        "KeyError",
    ),
    "a failure without a word": (
        [SETUP, report("call", "failed", "line\nE last", said=False), TEARDOWN],
        "broken",
        "E last",
    ),
    "a failure without anything": ([SETUP, report("call", "failed", None), TEARDOWN], "broken", "None"),
    "an expected failure": (
        [SETUP, report("call", "skipped", "x", kind="failed", message="found b", claims=[FAILS]), TEARDOWN],
        "failed",
        "found b",
    ),
    "a pass that was not expected": (
        [SETUP, report("call", "failed", "[XPASS(strict)] x"), TEARDOWN],
        "broken",
        "XPASS",
    ),
    "a teardown that breaks": (
        [SETUP, CALL, report("teardown", "failed", "x", kind="broken", message="in teardown")],
        "broken",
        "in teardown",
    ),
    "a setup that breaks": (
        [report("setup", "failed", "x", kind="broken", message="in setup", claims=[]), TEARDOWN],
        "broken",
        "in setup",
    ),
    "a failure and a broken teardown": (
        [
            SETUP,
            report("call", "failed", "x", kind="failed", message="found b", claims=[FAILS]),
            report("teardown", "failed", "x", kind="broken", message="in teardown"),
        ],
        "failed",
        "found b",
    ),
    "a check that ran twice and failed once": (
        [
            SETUP,
            CALL,
            TEARDOWN,
            SETUP,
            report("call", "failed", "x", kind="failed", message="found b", claims=[FAILS]),
            TEARDOWN,
        ],
        "failed",
        "found b",
    ),
    "a check that ran twice and was skipped once": (
        [SETUP, CALL, TEARDOWN, report("setup", "skipped", said=False), TEARDOWN],
        "not_run",
        "skipped",
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_reports_of_one_check_come_to(case: str) -> None:
    reports, status, words = TABLE[case]
    outcome = fold(NODE, reports)
    assert (outcome.nodeid, outcome.status) == (NODE, status)
    assert outcome.message is None if words is None else words in (outcome.message or "")
    assert outcome.seconds == 0.5 * len(reports)


def test_claims_are_taken_once_though_every_phase_repeats_them() -> None:
    reports = [SETUP, report(claims=[HOLDS, FAILS]), report("teardown", claims=[HOLDS, FAILS])]
    assert fold(NODE, reports).claims == [Claim.model_validate(HOLDS), Claim.model_validate(FAILS)]


def test_the_step_that_was_not_reached_is_kept() -> None:
    outcome = fold(
        NODE, [report("setup", "skipped", kind="not_reached", message="m", step="launch: import"), TEARDOWN]
    )
    assert outcome.step == "launch: import"
    assert fold(NODE, [SETUP, CALL, TEARDOWN]).step is None


def test_long_words_of_somebody_else_are_cut() -> None:
    assert len(fold(NODE, [report("call", "failed", "x" * 9000, said=False)]).message or "") == 500


kinds = st.sampled_from([None, None, None, "failed", "broken", "not_reached", "not_run"])
reports = st.builds(
    lambda when, outcome, said, kind, claims: report(
        when, outcome, "x", said=said, kind=kind, message="m", claims=claims
    ),
    st.sampled_from(["setup", "call", "teardown", "???"]),
    st.sampled_from(["passed", "passed", "failed", "skipped"]),
    st.booleans(),
    kinds,
    st.lists(st.sampled_from([HOLDS, FAILS]), max_size=2),
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(reports, max_size=3), st.permutations([SETUP, CALL, TEARDOWN]))
def test_a_pass_needs_all_three_phases_to_pass_and_nothing_else_to_be_said(
    odd: list[pytest.TestReport], usual: list[pytest.TestReport]
) -> None:
    outcome = fold(NODE, [*usual, *odd])
    spoiled = any(
        one.outcome != "passed"
        or str(one.when) == "???"
        or json.loads(getattr(one, SAID, '{"kind": null}'))["kind"]
        for one in odd
    )
    assert (outcome.status == "passed") == (not spoiled)


# -- what a check says, and how it travels ----------------------------------------------------------------


class Text(str):
    """As numpy's str_ is one."""


class Number(float):
    """As numpy's float64 is one."""


class Truth:
    """As numpy's bool_ is one: true, and no bool."""

    def __bool__(self) -> bool:
        return True


NO_BOOLS: list[Any] = [None, 1, 0, 1.0, math.nan, "yes", "", [], [1], {}, (), Truth(), Number(1), object]


@pytest.mark.parametrize("holds", NO_BOOLS, ids=lambda value: type(value).__name__)
def test_a_claim_must_be_true_or_false(holds: Any) -> None:
    said: list[Claim] = []
    with pytest.raises(TypeError, match="must be True or False, not"):
        Claims(said)(holds, required="a", found="a")
    assert said == []


def test_a_claim_that_holds_is_kept_and_one_that_does_not_is_raised_as_well() -> None:
    said: list[Claim] = []
    claim = Claims(said)
    claim(True, required="a", found="a")
    with pytest.raises(ClaimFailed, match=r"^required twelve; found eleven \(doc-05\)$"):
        claim(
            False, required="twelve", found="eleven", documents=["doc-05"], decision="reconfigure", advice="x"
        )
    assert [one.holds for one in said] == [True, False]
    assert (said[1].documents, said[1].decision, said[1].advice, said[1].change) == (
        ["doc-05"],
        "reconfigure",
        "x",
        None,
    )


def test_many_documents_are_all_kept_and_some_of_them_shown() -> None:
    said: list[Claim] = []
    with pytest.raises(ClaimFailed, match=r"doc-11 and 8 more\)$"):
        Claims(said)(False, required="a", found="b", documents=(f"doc-{n}" for n in range(20)))
    assert len(said[0].documents) == 20


@pytest.mark.parametrize(
    "text", [Text("\ud800"), "\ud800", Number(math.nan), 5, None, Text("é"), "\0\x1b[31m"]
)
def test_whatever_was_found_travels_as_plain_text(text: Any) -> None:
    said: list[Claim] = []
    with pytest.raises(ClaimFailed) as error:
        Claims(said)(False, required=text, found=text, documents=[text])
    (claim,) = said
    for value in (claim.required, claim.found, *claim.documents):
        assert type(value) is str
        assert value.encode("utf-8")
    assert str(error.value).encode("utf-8")
    assert Claim.model_validate_json(json.dumps(claim.model_dump(mode="json"))) == claim


def test_half_a_surrogate_pair_is_shown_escaped() -> None:
    said: list[Claim] = []
    Claims(said)(True, required="\ud800", found="a")
    assert said[0].required == "\\ud800"


def test_a_check_can_say_that_it_was_not_reached() -> None:
    with pytest.raises(NotReached) as error:
        Claims([]).not_reached("launch: import", "no torch")
    assert (error.value.step, error.value.why) == ("launch: import", "no torch")


def made_report(
    error: BaseException | None, *, marked: bool = True, claims: tuple[Claim, ...] = ()
) -> pytest.TestReport:
    """What pytest reports of a call that raised `error`, after the hook of criteria.py has seen it."""

    def raising() -> None:
        if error is not None:
            raise error

    call = pytest.CallInfo.from_call(raising, "call")
    item: Any = SimpleNamespace(
        get_closest_marker=lambda name: object() if marked else None, path=Path("x.py"), location=("x.py", 3, "x"),
        stash=pytest.Stash(),
    )  # fmt: skip
    item.stash[criteria._CLAIMS] = list(claims)
    hook = criteria.pytest_runtest_makereport(item, call)
    next(hook)
    outcome = "passed" if error is None else "failed"
    with pytest.raises(StopIteration) as stop:
        hook.send(report("call", outcome, "a traceback with password=hunter2", said=False))
    return stop.value.value  # type: ignore[no-any-return]


RAISED: list[tuple[BaseException | None, str | None, str | None]] = [
    (None, None, None),
    (ClaimFailed("required a; found b"), "failed", "required a; found b"),
    (NotReached("launch", "no torch"), "not_reached", "not reached: launch: no torch"),
    (pytest.skip.Exception("no card"), "not_run", "no card"),
    (Broken("it died"), "broken", "it died"),
    (pytest.fail.Exception("enough"), "broken", "Failed: enough"),
    (pytest.xfail.Exception("not yet"), "broken", "not yet"),
    (KeyError("doc-05"), "broken", "KeyError: 'doc-05' at test_outcomes.py:"),
    (AssertionError("assert {'SECRET': 'hunter2'} == {}"), "broken", "a plain assert"),
    (ClaimFailed("half a pair \ud800"), "failed", "half a pair \\ud800"),
    (ValueError("\ud800"), "broken", "\\ud800"),
]


@pytest.mark.parametrize(("error", "kind", "words"), RAISED)
def test_what_ended_a_check_is_said_in_words_that_hold_no_values(
    error: BaseException | None, kind: str | None, words: str | None
) -> None:
    made = made_report(error, claims=(Claim.model_validate(HOLDS),))
    said = json.loads(getattr(made, SAID))
    assert said["kind"] == kind
    assert said["claims"] == [Claim.model_validate(HOLDS).model_dump(mode="json")]
    assert words is None or words in said["message"]
    if kind in ("failed", "broken", "not_reached"):
        assert "hunter2" not in str(made.longrepr) + getattr(made, SAID)


def test_what_was_not_reached_counts_as_skipped_for_pytest_and_names_its_step() -> None:
    made = made_report(NotReached("launch: import", "no torch"))
    assert made.outcome == "skipped"
    assert json.loads(getattr(made, SAID))["step"] == "launch: import"
    assert fold(NODE, [SETUP, made, TEARDOWN]).status == "not_reached"


def test_a_test_that_is_no_check_is_left_alone() -> None:
    made = made_report(KeyError("x"), marked=False)
    assert not hasattr(made, SAID)
    assert made.longrepr == "a traceback with password=hunter2"


@pytest.mark.parametrize("id", ["result.x", "", "x", "Results.file", "end of.x", "results_x.file"])
def test_a_check_of_no_criterion_is_refused_where_it_is_declared(id: str) -> None:
    with pytest.raises(ValueError, match="begins with none of the criteria"):
        criteria.check(id, on_failure="fix", change="x")


@pytest.mark.parametrize(
    ("id", "criterion"),
    [("launch.x", "launch"), ("end_of_trial.x.y", "end of trial"), ("memory.peak[card0]", "memory")],
)
def test_the_criterion_of_an_id_is_its_beginning(id: str, criterion: str) -> None:
    assert criteria.criterion_of(id) == criterion


# -- the journal -------------------------------------------------------------------------------------------


def test_every_finished_check_is_written_down_at_once(tmp_path: Path) -> None:
    journal = tmp_path / "checks.jsonl"
    outcomes = Outcomes(journal)
    for one in (SETUP, CALL):
        outcomes.add(one)
        assert not journal.exists()
    outcomes.add(TEARDOWN)
    (line,) = journal.read_text(encoding="utf-8").splitlines()
    assert (json.loads(line)["nodeid"], json.loads(line)["status"]) == (NODE, "passed")
    outcomes.add(report("???", "failed", said=False))
    assert json.loads(journal.read_text(encoding="utf-8").splitlines()[1])["status"] == "broken"
    assert [one.status for one in outcomes.all()] == ["broken"]


def test_without_a_journal_nothing_is_written() -> None:
    outcomes = Outcomes(None)
    outcomes.add(SETUP)
    assert [one.status for one in outcomes.all()] == ["not_run"]
