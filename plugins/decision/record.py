"""Recording a decision: what is refused, and in which order the files are written.

The trial's own files stay as they were closed. decision.json and decision.md are written first and the line of the
chain last: a decision that no line records is found by `verify`, and a line never speaks of files that never were.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.base import load
from fixtures.evidence.names import DECISION
from fixtures.evidence.names import DECISION_PAGE
from fixtures.evidence.names import REPORT
from fixtures.evidence.names import REREAD
from fixtures.evidence.names import VERDICT
from fixtures.evidence.trial import Trial
from plugins import rereading
from plugins.decision import chain
from plugins.decision import page
from plugins.decision import reasons
from plugins.decision.chain import Line
from plugins.decision.file import CriterionCount
from plugins.decision.file import Decided
from plugins.decision.file import decisions
from plugins.decision.file import Machine
from plugins.decision.file import more_optimistic
from plugins.decision.file import PersonsDecision
from plugins.verdict_file import Artefact
from plugins.verdict_file import Verdict

#: what a line of the chain holds the sums of, besides the decisions themselves
_SEALED = (REPORT, VERDICT, sums.NAME)
_KEPT = re.compile(r"decision-(\d+)\.")


@dataclass(frozen=True)
class Asked:
    """What a person gave on the command line."""

    decision: PersonsDecision
    because: str
    by: str | None = None
    override: bool = False
    again: bool = False


def record(reports: Path, path: Path, asked: Asked) -> tuple[Decided, Line]:
    """Record a decision on the trial at `path`, which stands in `reports`.

    Raises:
        InputError: it is refused, and nothing was written.
        OSError: it cannot be written, and what was there is as it was.
    """
    reason, by = reasons.checked(asked.because), reasons.checked_by(asked.by)
    if path.parent.resolve() != reports.resolve():
        raise InputError(
            path, "", "a trial elsewhere", f"one in {reports}, beside {chain.NAME} (see --reports)"
        )
    trial = store.open_trial(path, judging=True)
    with chain.locked(reports):
        verdict = _whole(trial)
        machine = _machines(trial, verdict)
        override = _allowed(asked, machine, verdict.trial)
        so_far = chain.read(reports / chain.NAME)
        if so_far.broken:
            raise so_far.broken
        replaced = _replaced(trial, so_far.lines, again=asked.again)
        decided = Decided(
            trial=trial.name,
            scope=verdict.scope,
            decision=asked.decision,
            override=override,
            reason=reason,
            by=by,
            when=store.now(),
            machine=machine,
            first_error=verdict.first_error,
            conditions=verdict.conditions,
            criteria=_counted(verdict),
            order=trial.record.order,
            documents=verdict.documents,
            sums=_decided_on(trial.path),
            number=len(so_far.lines) + 1,
            before=so_far.last,
            replaces=replaced,
        )
        return decided, _write(reports, trial, decided)


def _whole(trial: Trial) -> Verdict:
    """The verdict of a trial that ended and that nobody altered since."""
    for name in (VERDICT, sums.NAME):
        if not (trial.path / name).is_file():
            raise InputError(trial.path, "", f"no {name}, the trial did not end", "a trial that ended")
    from fixtures.copy import contradictions  # late: it brings pytest along

    try:
        different = sums.differences(trial.path) or contradictions(trial)
    except OSError as error:
        different = [f"{sums.NAME}: {error.strerror}"]
    if different:
        more = f" and {len(different) - 1} more" if len(different) > 1 else ""
        raise InputError(
            trial.path, f"{different[0]}{more}", "a trial that was altered", "one that nobody altered"
        )
    verdict = load(trial.path / VERDICT, Verdict)
    if verdict.trial != trial.name:
        raise InputError(trial.path / VERDICT, "trial", verdict.trial, f"{trial.name}, as in {store.RECORD}")
    return verdict


def _machines(trial: Trial, verdict: Verdict) -> Machine:
    """What the machine decided; where the trial was fetched and judged again elsewhere, what that came to.

    Raises:
        InputError: reread.json cannot be read.
    """
    readings = rereading.read(trial.path)
    closed = [one for one in readings.readings if one.elsewhere] if readings else []
    if not closed or closed[-1].decision == verdict.decision:
        return Machine(decision=verdict.decision, reason=verdict.reason)
    last = closed[-1]
    reason = (
        f"judged again elsewhere at {last.when}; when the trial ended: {verdict.decision} ({verdict.reason})"
    )
    return Machine(decision=last.decision, reason=reason)


def _allowed(asked: Asked, machine: Machine, trial: str) -> bool:
    """Whether the decision is an override; refused where it would be and nobody said so."""
    override = more_optimistic(asked.decision, machine.decision)
    if override and not asked.override:
        found = f"{asked.decision}, which is more optimistic than the machine's {machine.decision}"
        raise InputError(f"decision on {trial}", "", found, f"{machine.decision}, or --override")
    return override


def _replaced(trial: Trial, lines: list[Line], *, again: bool) -> str | None:
    """The sum of the decision that stands now; refused where there is one and nobody asked for another."""
    there = decisions(trial.path)
    recorded = [line.number for line in lines if line.trial == trial.name]
    if (there or recorded) and not again:
        found = (
            f"a decision already, line {recorded[-1]} of {chain.NAME}" if recorded else f"{there[0]} already"
        )
        raise InputError(trial.path, "", found, "a trial without one, or --again, which keeps it")
    current = trial.path / DECISION
    return sums.of_file(current) if current.is_file() else None


def _counted(verdict: Verdict) -> list[CriterionCount]:
    return [
        CriterionCount(
            criterion=one.criterion,
            status=one.status,
            passed=sum(check.status == "passed" for check in one.checks),
            checks=len(one.checks),
            open={check.id: check.status for check in one.checks if check.status != "passed"},
        )
        for one in verdict.criteria
    ]


def _decided_on(folder: Path) -> list[Artefact]:
    """Every file of the trial as it was closed, and where there is one, how it was judged again since."""
    # as `_whole` found them to be a moment ago: a trial may hold what takes long to read
    listed = sums.parse((folder / sums.NAME).read_bytes().decode("utf-8", "surrogateescape"))
    for name in (sums.NAME, REREAD):
        if (folder / name).is_file():
            listed[name] = sums.of_file(folder / name)
    return [
        Artefact(path=sums.shown(name), sha256=digest, bytes=(folder / name).stat().st_size)
        for name, digest in listed.items()
    ]


def _write(reports: Path, trial: Trial, decided: Decided) -> Line:
    """The files, then the line; whatever fails, what was there before is there again."""
    folder = trial.path
    files = {
        DECISION: _json(decided),
        DECISION_PAGE: page.render(decided).encode("utf-8", "backslashreplace"),
    }
    before = {name: (folder / name).read_bytes() for name in files if (folder / name).is_file()}
    number = 1 + max((int(found[1]) for name in decisions(folder) if (found := _KEPT.match(name))), default=0)
    kept = {name.replace(".", f"-{number}."): data for name, data in before.items()}
    try:
        for name, data in {**kept, **files}.items():
            store.write_atomically(folder / name, data)
        line = Line(
            number=decided.number,
            before=decided.before,
            trial=decided.trial,
            folder=folder.name,
            decision=decided.decision,
            override=decided.override,
            machine=decided.machine.decision,
            reason=decided.reason,
            by=decided.by,
            when=decided.when,
            files={name: sums.of_file(folder / name) for name in [*decisions(folder), *_SEALED]},
        )
        chain.append(reports / chain.NAME, line)
    except BaseException:
        with contextlib.suppress(OSError):
            for name in {**kept, **files}:
                if name in before:
                    store.write_atomically(folder / name, before[name])
                else:
                    (folder / name).unlink(missing_ok=True)
        raise
    return line


def _json(decided: Decided) -> bytes:
    text = json.dumps(decided.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=2)
    return text.encode("utf-8", "backslashreplace") + b"\n"
