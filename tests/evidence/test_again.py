"""The checks of further runs over made-up evidence: what is tolerated there, and what never is."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.evidence import account as accounts
from fixtures.evidence.models import Application
from fixtures.evidence.models import Hangup
from fixtures.evidence.models import LeftBehind
from fixtures.evidence.models import Reordered
from fixtures.evidence.models import Resumed
from fixtures.evidence.models import Touched
from fixtures.evidence.parameters import Parameters
from plugins.verdict import Claim
from suites.gpu import test_results_again as again
from tests.memory.test_checks import not_reached
from tests.memory.test_checks import said
from tests.report import samples


def parameters(share: float) -> Parameters:
    standing = samples.record().parameters
    asked = standing.application.model_copy(update={"tolerated_share": share})
    return standing.model_copy(update={"application": asked})


def in_another_order(run: Application, share: float) -> Claim:
    documents = samples.documents()
    first = accounts.take(documents.entries, samples.application().results.lines)
    reordered = Reordered(order=[one.id for one in documents.entries], renamed=True, batch_size=2, run=run)
    check = again.test_another_order_and_batch_size_give_the_same_category_for_each_document
    return said(check, first, reordered, documents, parameters(share))


def hung_up(run: Application, share: float) -> Claim:
    documents = samples.documents()
    first = accounts.take(documents.entries, samples.application().results.lines)
    hangup = Hangup(prefix=["nohup"], run=run, began=True, hung_up_after_s=1.0)
    check = again.test_the_application_finishes_when_its_terminal_is_hung_up
    return said(check, first, hangup, documents, parameters(share))


ANSWERS = samples.answers()
OTHER = {**ANSWERS[0], "category": "another"}
#: what a further run wrote, whether that agrees where one in ten may differ, and what is said of it
WROTE: dict[str, tuple[list[dict[str, Any]], bool, str]] = {
    "the same": (ANSWERS, True, f"{len(ANSWERS)} alike"),
    "another category": ([OTHER, *ANSWERS[1:]], True, ", then 'another'"),
    "one lost": (ANSWERS[1:], False, "then no record"),
    "one twice": ([*ANSWERS, OTHER], False, "then 2 records"),
    "one invented": ([*ANSWERS, {**OTHER, "id": "doc-99"}], False, "doc-99: no record, then 'another'"),
    "one without a status": ([*ANSWERS, {"id": "doc-01"}], False, "no status"),
    "nothing": ([], False, "then no record"),
}


@pytest.mark.parametrize("check", [in_another_order, hung_up])
@pytest.mark.parametrize("case", WROTE)
def test_a_tolerated_share_is_of_other_outcomes_and_of_nothing_lost_or_added(case: str, check: Any) -> None:
    records, holds, words = WROTE[case]
    claim = check(samples.application(records), 0.1)
    assert claim.holds is holds
    assert words in claim.found


@pytest.mark.parametrize("check", [in_another_order, hung_up])
def test_without_a_tolerated_share_no_outcome_may_differ(check: Any) -> None:
    assert not check(samples.application([OTHER, *ANSWERS[1:]]), 0.0).holds
    assert check(samples.application(ANSWERS), 0.0).holds


# -- what a further run did beside its results ----------------------------------------------------------------

STAYS = LeftBehind(pid=7, name="python", command="python -c time.sleep(120)")
WROTE_TO = Touched(path="/staged/doc-05.txt", change="changed")


def gone_on(after: Application, before: Application | None = None, **other: Any) -> Resumed:
    """Three of the documents were done when it was interrupted, and `after` did the rest."""
    done = [one["id"] for one in ANSWERS[:3]]
    made: dict[str, Any] = {
        "by": "list", "stopped": True, "torn": "cut in the middle of line 4", "done": done,
        "left": samples.application(ANSWERS[:3]).results, "redo": [one["id"] for one in ANSWERS[3:]],
        "before": before or samples.application(ended="stopped", returncode=None), "after": after,
        "kept_bytes": 300, "together": False,
    }  # fmt: skip
    return Resumed(**{**made, **other})


def completes(resumed: Resumed) -> Claim:
    check = again.test_an_interrupted_run_that_goes_on_ends_with_every_document_once
    return said(check, resumed, samples.documents())


def after_an_interruption(run: Application, _: float) -> Claim:
    return completes(gone_on(run.model_copy(update={"results": samples.application(ANSWERS[3:]).results})))


@pytest.mark.parametrize("check", [in_another_order, hung_up, after_an_interruption])
@pytest.mark.parametrize(
    ("did", "words"),
    [
        ({}, ()),
        ({"left_behind": [STAYS]}, ("left behind: python (7): python -c time.sleep(120)",)),
        ({"inputs_changed": [WROTE_TO]}, ("/staged/doc-05.txt changed",)),
        ({"left_behind": [STAYS], "inputs_changed": [WROTE_TO]}, ("time.sleep(120)", "doc-05.txt changed")),
    ],
    ids=["nothing", "left a process", "changed an input", "both"],
)
def test_what_a_further_run_leaves_behind_or_changes_is_named_and_fails_its_check(
    did: dict[str, Any], words: tuple[str, ...], check: Any
) -> None:
    claim = check(samples.application(ANSWERS).model_copy(update=did), 0.0)
    assert claim.holds is not bool(did)
    assert [one for one in words if one not in claim.found] == []
    assert ("no process left behind" in claim.required) == bool(did)


@pytest.mark.parametrize(
    ("command", "holds"),
    [("tmux new -d python witness.py", True), ("SCREEN -dm python", False), ("python -m http.server", False)],
)
def test_the_server_of_the_prefix_is_none_of_the_applications(command: str, holds: bool) -> None:
    documents = samples.documents()
    left = LeftBehind(pid=7, name="some", command=command)
    run = samples.application(ANSWERS).model_copy(update={"left_behind": [left]})
    hangup = Hangup(prefix=["tmux", "new", "-d"], run=run, began=True, hung_up_after_s=1.0)
    first = accounts.take(documents.entries, samples.application().results.lines)
    check = again.test_the_application_finishes_when_its_terminal_is_hung_up
    assert said(check, first, hangup, documents, parameters(0.0)).holds is holds


def test_of_the_run_that_was_killed_on_purpose_only_changed_inputs_count() -> None:
    rest = samples.application(ANSWERS[3:])
    killed = samples.application(ended="stopped", returncode=None)
    assert completes(gone_on(rest, killed.model_copy(update={"left_behind": [STAYS]}))).holds
    spoilt = completes(gone_on(rest, killed.model_copy(update={"inputs_changed": [WROTE_TO]})))
    assert not spoilt.holds
    assert "doc-05.txt changed" in spoilt.found


# -- what was done before an interruption ---------------------------------------------------------------------


def test_nothing_that_was_finished_is_nothing_that_could_have_been_kept() -> None:
    check = again.test_finished_documents_are_not_done_again
    assert said(check, gone_on(samples.application(ANSWERS[3:])), samples.documents()).holds
    nothing = gone_on(samples.application(ANSWERS), done=[], redo=[one["id"] for one in ANSWERS])
    assert "nothing was finished" in not_reached(check, nothing, samples.documents())


@pytest.mark.parametrize("id", [["doc-01"], {"a": 1}, 5, None])
def test_an_identifier_that_is_no_text_is_no_obstacle(id: Any) -> None:
    """A list cannot be looked for among those that are done."""
    left = samples.application([*ANSWERS[:3], {**ANSWERS[0], "id": id}]).results
    assert completes(gone_on(samples.application(ANSWERS[3:]), left=left)).holds
    agrees = again.test_the_results_after_an_interruption_are_those_of_an_undisturbed_run
    documents = samples.documents()
    first = accounts.take(documents.entries, samples.application().results.lines)
    resumed = gone_on(samples.application(ANSWERS[3:]), left=left)
    assert said(agrees, first, resumed, documents, parameters(0.0)).holds
