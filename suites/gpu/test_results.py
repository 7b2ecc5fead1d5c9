"""One allowed category for each accepted document; no invented identifier; and the run that they came from."""

from __future__ import annotations

from fixtures.evidence import exhaustion
from fixtures.evidence.account import Account
from fixtures.evidence.models import Application
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Launch
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.rules import EVIDENT_GROWTH_BYTES
from fixtures.evidence.rules import is_allowed
from fixtures.evidence.rules import place
from fixtures.evidence.rules import WELL_FORMED
from plugins.criteria import check
from plugins.criteria import Claims

APPLICATION = "the application"


def _ending(application: Application) -> str:
    if application.ended == "exit":
        return f"exit {application.returncode} after {application.seconds:.1f} s"
    if application.ended == "signal":
        return f"killed by {application.signal} after {application.seconds:.1f} s"
    words = {
        "deadline": "ended by the deadline",
        "no_progress": "ended because nothing moved any more",
        "output_limit": "ended because it wrote more than the output limit",
        "not_started": "it could not be started",
        "stopped": "ended by the suite",
    }
    return f"{words[application.ended]} after {application.seconds:.1f} s" + (
        f": {application.error}" if application.error else ""
    )


#: what to do about an ending that was not its own
_ADVICE = {
    "exit": "run the command of the trial by hand and read what it says; stdout.txt and stderr.txt are in the trial",
    "signal": "find out who ended it: dmesg shows the kernel's killer, stderr.txt in the trial its last words",
    "deadline": "look into stderr.txt of the trial; raise application.deadline_s only if it was still working",
    "no_progress": "look into stderr.txt of the trial for where it stands still, or run it by hand under py-spy dump; "
    "raise application.no_progress_s only if it was still working",
    "output_limit": "have it print less, or raise application.output_limit_mb",
    "not_started": "check the paths in application.command before anything else",
}


def _last_words(application: Application) -> str:
    """The last line it printed to stderr, for whoever has to find out why."""
    lines = (application.stderr.tail or application.stderr.head).strip().splitlines()
    return f"; its last words: {lines[-1][:200]}" if lines else ""


@check("results.ended_by_itself", on_failure="fix", change=APPLICATION)
def test_the_application_ended_by_itself_with_exit_0(
    application: Application, parameters: Parameters, claim: Claims
) -> None:
    ended_well = application.ended_well
    starved = None if ended_well else exhaustion.of(application)
    short = f"; out of memory: {starved.words}" if starved else ""
    claim(
        ended_well,
        required=f"exit 0 before the deadline of {parameters.application.deadline_s:g} s",
        found=_ending(application) + ("" if ended_well else _last_words(application) + short),
        decision=starved.decision(application.batch_size) if starved else None,
        change=starved.change(application.batch_size) if starved else None,
        advice=None if starved or ended_well else _ADVICE.get(application.ended),
    )


@check("results.no_crash", on_failure="fix", change="the application: it breaks down at a document")
def test_no_document_brought_the_application_down(application: Application, claim: Claims) -> None:
    if application.ended == "not_started":
        claim.not_reached("results.ended_by_itself", _ending(application))
    how = {crash.document: crash.how for crash in application.told.crashes}
    starved = exhaustion.of(application) if how else None
    claim(
        not how,
        required="an answer for each document from a process that goes on",
        found="; ".join(f"{document}: {text:.160}" for document, text in list(how.items())[:6])
        + (f" and {len(how) - 6} more" if len(how) > 6 else "")
        + (f"; out of memory: {starved.words}" if starved else "")
        or "none that was seen",
        documents=how,
        decision=starved.decision(application.batch_size) if starved else None,
        change=starved.change(application.batch_size) if starved else None,
    )


@check("results.nothing_left_behind", on_failure="fix", change="the application: it leaves processes behind")
def test_no_process_is_left_behind(application: Application, claim: Claims) -> None:
    if application.ended == "not_started":
        claim.not_reached("results.ended_by_itself", _ending(application))
    left = [f"{one.name} ({one.pid}): {one.command[:100]}" for one in application.left_behind]
    claim(
        not left, required="no process of the application when it has ended", found="; ".join(left) or "none"
    )


@check("results.file", on_failure="fix", change="the application's output path")
def test_there_is_a_results_file(application: Application, parameters: Parameters, claim: Claims) -> None:
    if application.ended == "not_started":
        claim.not_reached("results.ended_by_itself", _ending(application))
    results = application.results
    wanted = parameters.application.results_file.name
    others = [name for name in application.output_files if name != wanted]
    beside = f"; in its folder: {', '.join(others[:5])}" if others else ""
    claim(
        results.kind == "file"
        and results.error is None
        and results.bytes > 0
        and len(results.lines) > 0
        and results.lines_left_out == 0,
        required=f"a readable file {wanted} with at least one record",
        found=(results.error or f"{results.kind}, {results.bytes} bytes, {len(results.lines)} records")
        + beside,
    )


@check("results.fresh", on_failure="fix", change="the application: it must write new results")
def test_the_results_were_written_during_this_run_into_an_empty_folder(
    application: Application, claim: Claims
) -> None:
    if application.results.kind != "file":
        claim.not_reached("results.file", f"the results file is: {application.results.kind}")
    claim(
        application.output_was_empty and application.results.written_during_run,
        required="an empty folder before the run, and results written during it",
        found=("an empty folder" if application.output_was_empty else "a folder with files in it")
        + (
            ", written during it"
            if application.results.written_during_run
            else ", results older than the run"
        ),
    )


@check("results.well_formed", on_failure="fix", change="how the application writes its results")
def test_every_line_is_one_json_object(
    application: Application, account: Account, parameters: Parameters, claim: Claims
) -> None:
    """Or one record of the JSON document, or one row, in the format that the configuration names."""
    lines, format = application.results.lines, parameters.application.results_file.format
    if not lines:
        claim.not_reached("results.file", "the results file is empty")
    bad = [f"{place(line.number, format)}: {line.problem}" for line in lines if line.record is None]
    claim(
        not bad and application.results.lines_left_out == 0,
        required=WELL_FORMED[format],
        found="; ".join(bad[:6]) + (f" and {len(bad) - 6} more" if len(bad) > 6 else "")
        or f"{len(lines)} objects",
    )


@check("results.records", on_failure="fix", change="how the application writes its results")
def test_every_record_has_an_identifier_and_a_status(
    application: Application, account: Account, parameters: Parameters, claim: Claims
) -> None:
    format = parameters.application.results_file.format
    objects = {line.number for line in application.results.lines if line.record is not None}
    if not objects:
        claim.not_reached("results.well_formed", "there is no object to look at")
    bad = [f"{place(number, format)}: {problem}" for number, problem in account.unusable if number in objects]
    claim(
        not bad,
        required="an id as text and a status, accepted or rejected, in each",
        found="; ".join(bad[:6]) or f"{len(objects)} records",
    )


def _need_records(account: Account, claim: Claims) -> None:
    if not account.records:
        claim.not_reached("results.records", "there is no usable record")


@check(
    "results.no_invented_identifier",
    on_failure="fix",
    change="the application: identifiers must come from the manifest",
)
def test_no_identifier_is_invented(account: Account, claim: Claims) -> None:
    _need_records(account, claim)
    claim(
        not account.invented,
        required="only identifiers of the manifest, character for character",
        found=", ".join(ascii(one) for one in account.invented[:12]) or f"{len(account.records)} known ones",
        documents=account.invented,
    )


@check(
    "results.no_identifier_twice", on_failure="fix", change="the application: one record for each document"
)
def test_no_identifier_occurs_twice(account: Account, claim: Claims) -> None:
    _need_records(account, claim)
    claim(
        not account.duplicated,
        required="one record for each identifier",
        found=", ".join(f"{one}: {len(account.records[one])} records" for one in account.duplicated[:12])
        or "one each",
        documents=account.duplicated,
    )


@check("results.allowed_category", on_failure="fix", change="the application's label mapping")
def test_every_accepted_document_has_one_allowed_category(
    account: Account, parameters: Parameters, claim: Claims
) -> None:
    _need_records(account, claim)
    accepted = [(i, record) for i in account.records for record in account.of(i, "accepted")]
    if not accepted:
        claim.not_reached("failures.valid_accepted", "no document was accepted")
    wrong = {
        i: ascii(record["category"]) if "category" in record else "no category"
        for i, record in accepted
        if not is_allowed(record.get("category"), parameters.categories)
    }
    claim(
        not wrong,
        required=f"exactly one of {', '.join(parameters.categories)}",
        found="; ".join(f"{i}: {value[:80]}" for i, value in wrong.items()) or f"{len(accepted)} allowed",
        documents=wrong,
    )


@check(
    "results.expected_category",
    on_failure="fix",
    change="the application: its answer for these documents",
    needs="expected",
)
def test_the_categories_are_the_expected_ones(account: Account, claim: Claims) -> None:
    expected = {entry.id: entry.category for entry in account.expected if entry.category is not None}
    compared = {i: account.of(i, "accepted") for i in expected if account.of(i, "accepted")}
    if not compared:
        claim.not_reached("failures.valid_accepted", "no document with an expected category was accepted")
    wrong = {
        i: records[0].get("category")
        for i, records in compared.items()
        if any(record.get("category") != expected[i] for record in records)
    }
    claim(
        not wrong,
        required="; ".join(f"{i}: {expected[i]}" for i in wrong) or "the categories of the manifest",
        found="; ".join(f"{i}: {value!r:.60}" for i, value in wrong.items()) or f"{len(compared)} agree",
        documents=wrong,
    )


@check("results.device_used", on_failure="fix", change="the device that the application computes on")
def test_the_run_used_the_device_it_was_asked_to_use(
    application: Application, account: Account, launch: Launch, claim: Claims
) -> None:
    """Seen in the application's own statement and in the card's memory from outside.

    It states a device in its records (`device`), or in telling what torch's allocator had there. A server can do
    neither, and a container may hide its process: then much more memory in use on the card shows it.
    """
    asked = application.device
    own_word = {"rocm": "cuda"}.get(asked, asked)
    stated = {str(r["device"]) for records in account.records.values() for r in records if r.get("device")}
    stated |= {one.device for one in application.told.allocators}
    others = sorted(word for word in stated if word.partition(":")[0].casefold() not in (own_word, asked))
    grown = [card for card in application.memory.cards if card.growth_bytes > 0]
    on_card = any(card.processes_seen for card in application.memory.cards)
    by_growth = not on_card and any(card.growth_bytes >= EVIDENT_GROWTH_BYTES for card in grown)
    seen = []
    if stated:
        seen.append(f"it states {', '.join(sorted(stated)[:4])}")
    if application.memory.cards:
        growth = sum(card.growth_bytes for card in grown) >> 20
        whose = ", with its process seen there" if on_card else ", with no process of it seen there"
        whose += ", so that this alone shows it" if by_growth and not stated else ""
        seen.append(f"memory of the card grew by {growth} MiB{whose}")
    elif application.memory.cards_unread:
        seen.append(f"the card's memory could not be read ({application.memory.cards_unread})")
    if asked == "cpu":
        # nothing was rented that could have been left idle; a statement of another device is still wrong
        holds, required = not others, "cpu, or no statement of another device"
    else:
        evident = bool(stated) or on_card or by_growth
        untouched = bool(application.memory.cards) and not grown and not on_card
        holds = evident and not others and not untouched
        required = (
            f"{asked}, stated by the application or seen as its process on the card, or, where no process is seen, "
            f"in {EVIDENT_GROWTH_BYTES >> 20} MiB more in use"
        )
    claim(holds, required=required, found="; ".join(seen) or "no statement")


@check(
    "results.nothing_beside", on_failure="fix", change="the application: it writes beside its output folder"
)
def test_nothing_was_written_beside_the_output_folder(
    application: Application, documents: Documents, claim: Claims
) -> None:
    if application.ended == "not_started":
        claim.not_reached("results.ended_by_itself", _ending(application))
    inputs = {touch.path for touch in application.inputs_changed}
    touched = [touch for touch in application.touched if touch.path not in inputs]
    claim(
        not touched,
        required="files only in the output folder it was given",
        found="; ".join(f"{touch.path} {touch.change}" for touch in touched[:8])
        or "nothing else in the project folder, hidden folders and edited sources left out, nor beside the documents",
    )
