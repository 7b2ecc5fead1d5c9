"""The application run again: in another order, interrupted, and hung up. No count finds what these claims say."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Sequence
from typing import Any

from fixtures.evidence import ties
from fixtures.evidence.account import Account
from fixtures.evidence.account import take
from fixtures.evidence.hangups import explained
from fixtures.evidence.hangups import known_to_work
from fixtures.evidence.hangups import print_fails
from fixtures.evidence.models import Application
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Hangup
from fixtures.evidence.models import Line
from fixtures.evidence.models import Reordered
from fixtures.evidence.models import Resumed
from fixtures.evidence.parameters import Parameters
from plugins.criteria import check
from plugins.criteria import Claims

#: what a further run owes beside its results; said where it is not so
NOTHING_BESIDE = ", no process left behind and every input byte for byte as before"
Records = dict[str, list[dict[str, Any]]]


def _answer(records: list[dict[str, Any]]) -> str:
    """What the records of one document come to: its category, or that it was rejected."""
    if len(records) != 1:
        return f"{len(records) or 'no'} record{'s' * (len(records) > 1)}"
    (record,) = records
    return ascii(record.get("category"))[:60] if record["status"] == "accepted" else "rejected"


def _differing(first: Records, second: Records) -> dict[str, str]:
    ids = [*first, *(i for i in second if i not in first)]
    pairs = {i: (_answer(first.get(i, [])), _answer(second.get(i, []))) for i in ids}
    return {i: f"{one}, then {other}" for i, (one, other) in pairs.items() if one != other}


def _agrees(first: Account, second: Account, share: float) -> bool:
    """Whether so few documents have another outcome; that one is lost, doubled or invented is no other outcome."""
    if not second.records or second.missing or second.duplicated or second.invented or second.unusable:
        return False
    return len(_differing(first.records, second.records)) <= share * len(first.records)


def _unlike(differing: dict[str, str], second: Account, near: Container[str] = ()) -> str:
    """How the outcomes of a further run differ from those of the first."""
    said = [f"{i}: {what}" + (" (a near tie)" if i in near else "") for i, what in differing.items()]
    said += [f"line {number}: {problem}" for number, problem in second.unusable[:6]]
    return "; ".join(said) or f"{len(second.records)} alike"


def _ending(run: Application) -> str:
    how = f"exit {run.returncode}" if run.ended == "exit" else f"{run.ended} {run.signal or ''}".strip()
    last = (run.stderr.tail or run.stderr.head).strip().rpartition("\n")[2]
    return how + (f"; its last words: {last[:200]}" if last else "")


def _beside(run: Application, prefix: Sequence[str] = ()) -> str:
    """What a further run did beside its results: processes left behind, inputs changed; begins with a separator.

    What belongs to `prefix`, as the server of tmux that it started, is none of the application's.
    """
    starter = " ".join(prefix).casefold()  # the server of screen calls itself SCREEN
    left = [one for one in run.left_behind if not starter or not one.command.casefold().startswith(starter)]
    said = [f"left behind: {one.name} ({one.pid}): {one.command[:100]}" for one in left[:6]]
    said += [f"{touch.path} {touch.change}" for touch in run.inputs_changed[:6]]
    return "".join(f"; {one}" for one in said)


@check(
    "results.order_and_batch",
    on_failure="fix",
    change="the application: how it puts results beside documents",
    needs="repeated",
)
def test_another_order_and_batch_size_give_the_same_category_for_each_document(
    account: Account, reordered: Reordered, documents: Documents, parameters: Parameters, claim: Claims
) -> None:
    """A label attached to the wrong document moves when the order does."""
    run, allowed = reordered.run, parameters.application.tolerated_share
    how = [
        "another order",
        "other file names" if reordered.renamed else "the same file names, as the command takes no manifest",
        f"batches of {reordered.batch_size} instead of {parameters.application.batch_size}"
        if reordered.batch_size != parameters.application.batch_size
        else f"the same batch size, {reordered.batch_size}",
    ]
    required = "the same outcome for each identifier" + (
        f", but for a share of {allowed:g} of them" if allowed else ""
    )
    beside = _beside(run)
    required += NOTHING_BESIDE if beside else ""
    if not run.ended_well:
        claim(False, required="exit 0 again", found=f"with {', '.join(how)}: {_ending(run)}{beside}")
    second = take(documents.entries, run.results.lines)
    one, other = account.records, second.records
    differing = _differing(one, other)
    usual = ties.usual_margin(records[0] for records in one.values())
    near = [i for i in differing if i in one and i in other and ties.is_near(one[i][0], other[i][0], usual)]
    claim(
        _agrees(account, second, allowed) and not beside,
        required=required,
        found=f"with {', '.join(how)}: {_unlike(differing, second, near)}{beside}",
        documents=differing,
        advice="near ties alone: if the application is not deterministic, state application.tolerated_share"
        if differing and len(near) == len(differing)
        else None,
    )


INTERRUPTED = "how the application goes on after an interruption"


def _went_on(resumed: Resumed) -> str:
    stopped = (
        "ended after some documents" if resumed.stopped else "all its results were there when any were seen"
    )
    return f"{stopped}; results {resumed.torn or 'not begun'}; {len(resumed.done)} done, {len(resumed.redo)} left"


def _after(resumed: Resumed, claim: Claims) -> Application:
    if resumed.after is None:
        claim.not_reached("results.resume_completes", f"nothing was left to go on with: {_went_on(resumed)}")
    return resumed.after


def _id_of(line: Line) -> str | None:
    """The identifier of a record; None where there is none, as where a list stands in its place."""
    id = line.record.get("id") if line.record else None
    return id if isinstance(id, str) else None


def _final(resumed: Resumed, documents: Documents, after: Application) -> Account:
    """What stands at the end: the one file that was continued, or what was kept and the rest that was run."""
    lines = list(after.results.lines)
    if resumed.by == "list":
        kept = set(resumed.done)
        lines = [line for line in resumed.left.lines if _id_of(line) in kept] + lines
    return take(documents.entries, lines)


@check("results.resume_completes", on_failure="fix", change=INTERRUPTED, needs="repeated")
def test_an_interrupted_run_that_goes_on_ends_with_every_document_once(
    resumed: Resumed, documents: Documents, claim: Claims
) -> None:
    after = _after(resumed, claim)
    final = _final(resumed, documents, after)
    troubles = {
        "missing": list(final.missing),
        "twice": list(final.duplicated),
        "invented": list(final.invented),
        "unreadable": [f"line {number}: {problem}" for number, problem in final.unusable],
    }
    bad = "; ".join(f"{name}: {', '.join(ids[:6])}" for name, ids in troubles.items() if ids)
    how = "its own option" if resumed.by == "option" else "a list of the rest (remaining.json)"
    # the run before was killed on purpose, and so was whatever it had started
    spoilt = [touch for touch in resumed.before.inputs_changed if touch not in after.inputs_changed]
    beside = "".join(f"; {touch.path} {touch.change}" for touch in spoilt[:6]) + _beside(after)
    claim(
        after.ended_well and not bad and not beside and len(final.records) > 0,
        required="exit 0, and one record for each document, when it goes on where it was interrupted"
        + (NOTHING_BESIDE if beside else ""),
        found=f"by {how}: {_went_on(resumed)}; "
        + "; ".join(
            filter(
                None, [None if after.ended_well else _ending(after), bad or f"{len(final.records)} records"]
            )
        )
        + beside,
        documents=[*final.missing, *final.duplicated],
    )


@check("results.resume_keeps", on_failure="fix", change=INTERRUPTED, needs="kept")
def test_finished_documents_are_not_done_again(resumed: Resumed, documents: Documents, claim: Claims) -> None:
    """What was done stays as it was written, and where the application tells what it begins, it begins none of it."""
    after = _after(resumed, claim)
    if not after.ended_well:
        claim.not_reached("results.resume_completes", _ending(after))
    if not resumed.done:
        claim.not_reached("results.resume_keeps", f"nothing was finished by then: {_went_on(resumed)}")
    done, begun = set(resumed.done), {one.document for one in after.told.begun}
    again = sorted(done & begun)
    before = take(documents.entries, resumed.left.lines).records
    now = take(documents.entries, after.results.lines).records
    if resumed.by == "option":
        # of what stands there twice the second is the torn one, which does not count
        changed = sorted(i for i in done if now.get(i, []) != before[i][:1])
        kept = f"{len(done)} records as they were"
    else:
        changed = sorted(done & now.keys())
        kept = f"only the {len(resumed.redo)} that were left"
    if begun:
        seen = "and it told of none of them"
    else:
        seen = "whether they were computed again it does not tell"
    fell_to = after.fell_to if resumed.by == "option" else None
    lost = fell_to is not None and fell_to < resumed.kept_bytes / 2
    if lost:  # and a second interruption at that moment would have lost it for good
        seen = f"its results fell to {fell_to} bytes meanwhile: what was finished was gone, and made again"
    claim(
        not again and not changed and not lost,
        required="no finished document begun again, and its record untouched",
        found=(f"begun again: {', '.join(again[:8])}; " if again else "")
        + (f"done again: {', '.join(changed[:8])}" if changed else f"{kept}, {seen}"),
        documents=sorted({*again, *changed}),
    )


@check("results.resume_agrees", on_failure="fix", change=INTERRUPTED, needs="repeated")
def test_the_results_after_an_interruption_are_those_of_an_undisturbed_run(
    account: Account, resumed: Resumed, documents: Documents, parameters: Parameters, claim: Claims
) -> None:
    after = _after(resumed, claim)
    if not after.ended_well:
        claim.not_reached("results.resume_completes", _ending(after))
    second = _final(resumed, documents, after)
    differing = _differing(account.records, second.records)
    claim(
        _agrees(account, second, parameters.application.tolerated_share),
        required="the same outcome for each identifier",
        found=_unlike(differing, second),
        documents=differing,
    )


@check("results.survives_hangup", on_failure="fix", change="application.detached", needs="detached")
def test_the_application_finishes_when_its_terminal_is_hung_up(
    account: Account, hangup: Hangup, documents: Documents, parameters: Parameters, claim: Claims
) -> None:
    """Started by the renter's own prefix, as over ssh, and the connection drops while it works."""
    run, prefix = hangup.run, " ".join(hangup.prefix or [])
    if run is None:
        claim.not_reached("results.survives_hangup", "it was not started behind a prefix")
    if run.ended_well and hangup.hung_up_after_s is None:
        claim.not_reached("results.survives_hangup", "it was too quick to be hung up while it ran, twice")
    second = take(documents.entries, run.results.lines)
    differing = _differing(account.records, second.records) if run.ended_well else {}
    when = (
        "before its terminal was hung up"
        if hangup.hung_up_after_s is None
        else f"hung up {hangup.hung_up_after_s:.1f} s after its start"
    )
    beside = _beside(run, hangup.prefix or ())
    if run.ended_well:
        found = _unlike(differing, second) + print_fails(hangup)
    else:
        found = hangup.error or _ending(run) + explained(hangup)
    claim(
        run.ended_well and not beside and _agrees(account, second, parameters.application.tolerated_share),
        required=f"behind `{prefix}` exit 0 and the same outcome for each identifier, hung up or not"
        + (NOTHING_BESIDE if beside else ""),
        found=f"{when}: {found}" + (", outside the watched tree" if hangup.outside else "") + beside,
        documents=differing,
        advice=None if run.ended_well else known_to_work(hangup),
    )
