"""How a trial ends: verdict, report and sums written, and the copy brought up to them.

Runs in the controlling process, last. The copy gets the verdict before the trial itself does, so that a
`go` in the trial folder is never without its copy; a copy that fails turns the verdict first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from fixtures import storage
from fixtures.copy import contradictions
from fixtures.copy import worth_copying
from fixtures.evidence import account
from fixtures.evidence import hangups
from fixtures.evidence import sums
from fixtures.evidence.base import InputError
from fixtures.evidence.base import load
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.ladder import Health
from fixtures.evidence.ladder import Unseen
from fixtures.evidence.models import Application
from fixtures.evidence.models import Copy
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Hangup
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Resumed
from fixtures.evidence.trial import CHECKS
from fixtures.evidence.trial import LATEST
from fixtures.evidence.trial import LOCKS
from fixtures.evidence.trial import REPORT
from fixtures.evidence.trial import Trial
from fixtures.evidence.trial import VERDICT
from fixtures.evidence.trial import write_atomically
from plugins import rereading
from plugins.catalogue.reachable import slow
from plugins.machine import files as machine
from plugins.verdict import decide
from plugins.verdict import Facts
from plugins.verdict import Objection
from plugins.verdict_file import Artefact
from plugins.verdict_file import DocumentCounts
from plugins.verdict_file import Verdict

COPIED = "end_of_trial.copied"
SUMS_AGREE = "end_of_trial.sums_agree"
JUDGED_ALIKE = "end_of_trial.judged_alike"
#: what can be left out of a trial, in words
AGAIN = "another order and batch size, and going on after an interruption (--once)"
HANGUP = "whether the long run survives a hang-up"
DONE_AGAIN = (
    "whether finished documents are done again: results in one JSON document are whole only at the end of a run, so an "
    "interruption loses everything"
)

Render = Callable[[Verdict], str]
Place = storage.Folder | storage.Address


def counts(trial: Trial) -> DocumentCounts | None:
    """Documents counted over identifiers; None where there was nothing to count: no manifest, or no run."""
    documents, application = trial.find("documents", Documents), trial.find("application", Application)
    if documents is None or documents.manifest_error or application is None:
        return None
    taken = account.take(documents.entries, application.results.lines)
    return DocumentCounts(
        expected=trial.record.parameters.documents.expected,
        accepted=list(taken.accepted),
        rejected=list(taken.rejected),
        missing=list(taken.missing),
        duplicated=list(taken.duplicated),
        invented=list(taken.invented),
    )


def advisories(trial: Trial) -> list[str]:
    """What a person should know and what does not decide."""
    said = []
    if trial.judging and (trial.path / VERDICT).exists():
        said.append(_recorded(trial.path / VERDICT))
    copy = trial.find("copy", Copy)
    if copy and copy.same_file_system:
        said.append(f"the copy in {copy.target} is on the same file system as the trial: that is no backup")
    application = trial.find("application", Application)
    if application:
        for stream, name in ((application.stdout, "stdout"), (application.stderr, "stderr")):
            if stream.bytes > 10 << 20:
                said.append(
                    f"the application printed {stream.bytes >> 20} MiB to {name}; the planned volume multiplies that"
                )
    if trial.record.scope == "rehearsal":
        said.append("a rehearsal asks nothing about the number and the model of the cards")
    said += [f"not examined: {what}" for what in _not_asked(trial)]
    said += _of_the_interruption(trial)
    if launch := trial.find("launch", Launch):
        health = trial.find("health", Health)
        said += (
            _unseen([*launch.unseen, *(health.unseen if health else [])]) if launch.device != "cpu" else []
        )
        said += slow(launch, trial.find("burn_in", BurnIn))
    if (hung := trial.find("hangup", Hangup)) and hung.prefix is None:
        said.append(hangups.advice(hung))
    said.append("twelve documents verify a procedure; they do not predict a campaign")
    return said


def _unseen(unseen: list[Unseen]) -> list[str]:
    """In one line; why, and who could see it, stands in the report."""
    names = "; ".join(dict.fromkeys(one.what for one in unseen))
    return [f"cannot be seen from here: {names} (the report says why, and who could)"] if names else []


def _not_asked(trial: Trial) -> list[str]:
    """What nothing can be said about, because the parameters or the options left it out."""
    parameters, once, left_out = trial.record.parameters, trial.record.once, []
    asked = parameters.application
    if once:
        left_out.append(AGAIN)
    elif asked.results_file.format == "json":
        left_out.append(DONE_AGAIN)
    if once:
        left_out.append(f"{HANGUP} (--once)")
    elif asked.detached is None and trial.record.scope == "rehearsal":
        # on a rental the ways are tried, and named below
        left_out.append(f"{HANGUP} (application.detached)")
    if parameters.planned is None:
        left_out.append("the longest document of the planned volume (`planned` is not in the parameters)")
    if not trial.record.expects:
        left_out.append(
            "whether a category is the right one: the manifest expects none (fixtures.manifest --expect)"
        )
    return [*left_out, "training"]


def _of_the_interruption(trial: Trial) -> list[str]:
    """What was not seen of a run that was interrupted and went on."""
    resumed, said = trial.find("resumed", Resumed), []
    if resumed and resumed.together:
        said.append(
            "all results were there when any were first seen: an application that writes only at its end loses "
            "everything in an interruption"
        )
    if resumed and resumed.by == "option" and resumed.after and not resumed.after.told.begun:
        said.append(
            "whether finished documents were computed again is only seen where the application tells what it begins "
            "(fixtures/tell.py)"
        )
    return said


def _recorded(path: Path) -> str:
    """The decision that the trial itself came to; it stays, whatever judging again says."""
    try:
        verdict = load(path, Verdict)
    except InputError as error:
        return f"the recorded verdict cannot be read: {error}"
    return f"recorded when the trial ended: {verdict.decision} ({verdict.reason})"


def objections(trial: Trial, facts: Facts) -> list[Objection]:
    """What only shows when every check has its outcome: results that changed, a copy that is judged otherwise."""
    changed = [] if trial.judging else contradictions(trial)  # judging again, the check itself says so
    return [*[Objection(SUMS_AGREE, why) for why in changed], *_judged_otherwise(trial, facts)]


def _judged_otherwise(trial: Trial, facts: Facts) -> list[Objection]:
    """Checks that the copy, judged again, brought to another outcome than this run did."""
    copy = trial.find("copy", Copy)
    if trial.judging and copy is not None and copy.target is None:
        return _judged_otherwise_then(trial, facts)
    if copy is None or copy.reread is None or copy.reread.error:
        return []  # the check of the copy itself says so
    ours = {outcome.nodeid: outcome.status for outcome in facts.outcomes}
    differing = []
    for check in facts.plan:
        here, there = ours.get(check.nodeid), copy.reread.outcomes.get(check.nodeid)
        if "copy" not in check.evidence and here in ("passed", "failed", "not_reached") and here != there:
            differing.append(f"{check.id}: {here} here, {there or 'absent'} there")
    if not differing:
        return []
    more = f"; and {len(differing) - 5} more" if len(differing) > 5 else ""
    return [Objection(JUDGED_ALIKE, f"judging the copy differs: {'; '.join(differing[:5])}{more}", "reread")]


def _judged_otherwise_then(trial: Trial, facts: Facts) -> list[Objection]:
    """As above for a trial that was fetched: its own verdict says what each check had come to where it was made."""
    then = rereading.recorded(trial)
    if then is None:
        return []
    statuses: dict[str, str] = {outcome.nodeid: outcome.status for outcome in facts.outcomes}
    here = {check.id for check in facts.plan if "copy" not in check.evidence}
    both = here & {check.id for check in then.checks()}
    different = rereading.differences(then, facts.plan, statuses)
    said = [f"{id}: {what}" for id, what in different.items() if id in both]
    return (
        [Objection(JUDGED_ALIKE, f"judging it here differs: {'; '.join(said[:5])}", "reread")] if said else []
    )


def close(trial: Trial, facts: Facts, render: Render, *, copying: bool) -> tuple[Verdict, list[str]]:
    """Write everything; the verdict that holds, and what could not be written."""
    copy = trial.find("copy", Copy)
    target = storage.at(copy.path) if copying and copy and copy.path and not copy.error else None
    with target or contextlib.nullcontext():
        return _close(trial, facts, render, target)


def _close(trial: Trial, facts: Facts, render: Render, target: Place | None) -> tuple[Verdict, list[str]]:
    try:
        verdict, files = _prepare(trial, facts, render)
        if target is not None and (obstacle := _complete_copy(trial, target, files)) is not None:
            objection = Objection(COPIED, f"the copy could not be completed: {obstacle}")
            facts = dataclasses.replace(facts, objections=[*facts.objections, objection])
            verdict, files = _prepare(trial, facts, render)
        for name, data in files.items():
            write_atomically(trial.path / name, data)
        write_atomically(trial.path.parent / LATEST, trial.name.encode() + b"\n")
        shutil.rmtree(trial.path / LOCKS, ignore_errors=True)
        return verdict, []
    except OSError as error:
        places: list[Place] = [storage.Folder(trial.path), *([target] if target else [])]
        for place in places:
            with contextlib.suppress(OSError):  # a copy's go without the trial's is none either
                place.remove(VERDICT)
        trouble = f"the verdict could not be written: {error.strerror or error}"
        facts = dataclasses.replace(facts, trouble=[*facts.trouble, trouble])
        return decide(facts), [trouble]


def _prepare(trial: Trial, facts: Facts, render: Render) -> tuple[Verdict, dict[str, bytes]]:
    """The verdict, and the closing files in the order in which they are written."""
    begun = time.monotonic()
    closing = (VERDICT, REPORT, *machine.NAMES, sums.NAME)
    there = [name for name in worth_copying(trial.path) if name not in closing]
    if (trial.path / CHECKS).exists():
        there.append(CHECKS)
    artefacts = {name: _artefact(trial.path / name, name) for name in sorted(there)}
    verdict = decide(dataclasses.replace(facts, artefacts=list(artefacts.values())))
    report = render(verdict).encode("utf-8", "backslashreplace")
    files = {REPORT: report, **machine.closing(verdict)}
    own = {
        name: Artefact(path=name, sha256=sums.of_bytes(data), bytes=len(data)) for name, data in files.items()
    }
    timing = {**verdict.timing, "report": round(time.monotonic() - begun, 3)}
    verdict = verdict.model_copy(update={"artefacts": [*verdict.artefacts, *own.values()], "timing": timing})
    text = json.dumps(verdict.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=2)
    written = text.encode("utf-8", "backslashreplace") + b"\n"
    listed = {name: artefact.sha256 for name, artefact in {**artefacts, **own}.items()}
    listed[VERDICT] = sums.of_bytes(written)
    seal = sums.render(sorted(listed.items())).encode("utf-8", "surrogateescape")
    return verdict, {**files, VERDICT: written, sums.NAME: seal}


def _artefact(path: Path, name: str) -> Artefact:
    return Artefact(path=sums.shown(name), sha256=sums.of_file(path), bytes=path.stat().st_size)


def _complete_copy(trial: Trial, target: Place, files: dict[str, bytes]) -> str | None:
    """Bring the copy up to the closed trial, byte for byte, and read it all back; why not, or None."""
    here = [name for name in [*worth_copying(trial.path), CHECKS] if (trial.path / name).exists()]
    try:
        for name in here:
            if not target.exists(name):
                target.write(trial.path / name, name)
        # the verdict last: where one lies, everything else was written
        for name in sorted(files, key=lambda name: name == VERDICT):
            target.put(name, files[name])
        obstacle = "; ".join(target.differences({*here, *files}, trial.path / LOCKS / "read-back")[:3])
    except OSError as error:
        obstacle = f"{error.strerror}: {error.filename2 or error.filename or target}"
    if obstacle:
        # a verdict in a copy that does not hold together must not be read as one
        try:
            target.remove(VERDICT)
        except OSError:
            obstacle += f"; a {VERDICT} that does not count may lie there"
    return obstacle or None
