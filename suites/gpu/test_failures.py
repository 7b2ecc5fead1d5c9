"""A reason for each rejected document; nothing disappears silently."""

from __future__ import annotations

from typing import Any

from fixtures.evidence import exhaustion
from fixtures.evidence.account import Account
from fixtures.evidence.models import Application
from fixtures.evidence.rules import says_something
from plugins.criteria import check
from plugins.criteria import Claims


@check("failures.reason", on_failure="fix", change="the application: it must say why it rejects")
def test_every_rejected_document_has_a_reason_that_says_something(account: Account, claim: Claims) -> None:
    rejected = [(i, record) for i in account.records for record in account.of(i, "rejected")]
    if not rejected:
        claim.not_reached("failures.invalid_rejected", "no document was rejected")
    mute = {
        i: ascii(record["reason"])[:80] if "reason" in record else "no reason"
        for i, record in rejected
        if not says_something(record.get("reason"))
    }
    claim(
        not mute,
        required="a reason in words for each rejected document",
        found="; ".join(f"{i}: {value}" for i, value in mute.items())
        or "; ".join(f"{i}: {r['reason']:.80}" for i, r in rejected),
        documents=mute,
    )


@check("failures.invalid_rejected", on_failure="fix", change="the application: it accepts what is invalid")
def test_every_document_reserved_as_invalid_was_rejected(account: Account, claim: Claims) -> None:
    invalid = [entry.id for entry in account.expected if not entry.valid]
    if not invalid:
        claim.not_reached("inputs.invalid_reserved", "no document is reserved as invalid")
    unmoved = [i for i in invalid if i not in account.rejected or i in account.accepted]
    claim(
        not unmoved,
        required=f"rejected: {', '.join(invalid)}",
        found="; ".join(f"{i}: {'accepted' if i in account.accepted else 'no record'}" for i in unmoved)
        or "rejected",
        documents=unmoved,
    )


#: how the suite's client says that the answer of a server lacks what `application.answer` names
NOT_WHERE_IT_SHOULD_BE = "the answer has no "


def _by_reason(reasons: dict[str, Any]) -> str:
    """Each reason once, with the documents that it was given for."""
    grouped: dict[str, list[str]] = {}
    for identifier, reason in reasons.items():
        grouped.setdefault(f"{reason!r:.80}", []).append(identifier)
    return "; ".join(f"{', '.join(ids)}: {reason}" for reason, ids in grouped.items())


@check("failures.valid_accepted", on_failure="fix", change="the application: it rejects what is valid")
def test_every_valid_document_was_accepted(application: Application, account: Account, claim: Claims) -> None:
    valid = [entry.id for entry in account.expected if entry.valid]
    if not valid:
        claim.not_reached("inputs.invalid_reserved", "no document is valid")
    if not account.records:
        claim.not_reached("results.records", "there is no usable record")
    refused = [i for i in valid if i in account.rejected]
    reasons = {i: account.of(i, "rejected")[0].get("reason") for i in refused}
    starved = exhaustion.of(application, [str(reason) for reason in reasons.values()]) if refused else None
    change = starved.change(application.batch_size) if starved else None
    if refused and all(str(reason).startswith(NOT_WHERE_IT_SHOULD_BE) for reason in reasons.values()):
        change = "application.answer: where the category stands in the server's answer"
    claim(
        not refused and any(i in account.accepted for i in valid),
        required="no valid document rejected",
        found=_by_reason(reasons) or f"{len(account.accepted)} accepted",
        documents=refused,
        decision=starved.decision(application.batch_size) if starved else None,
        change=change,
    )


@check("failures.none_missing", on_failure="fix", change="the application: it loses documents")
def test_no_document_of_the_manifest_is_missing_from_the_results(account: Account, claim: Claims) -> None:
    expected = len({entry.id for entry in account.expected})
    claim(
        not account.missing and expected > 0,
        required=f"a record for each of {expected} identifiers",
        found=f"{len(account.missing)} without one" if account.missing else f"{expected} records",
        documents=account.missing,
    )
