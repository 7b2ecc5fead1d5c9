"""The checks of further runs over made-up evidence: what is tolerated there, and what never is."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.evidence import account as accounts
from fixtures.evidence.models import Application
from fixtures.evidence.models import Hangup
from fixtures.evidence.models import Reordered
from fixtures.evidence.parameters import Parameters
from plugins.verdict import Claim
from suites.gpu import test_results_again as again
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
