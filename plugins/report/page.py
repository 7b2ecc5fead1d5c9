"""What the page shows, gathered from the verdict and the evidence. The templates only lay it out."""

from __future__ import annotations

from dataclasses import dataclass

from fixtures.evidence.burning import BurnIn
from fixtures.evidence.models import Application
from fixtures.evidence.models import Copy
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Output
from fixtures.evidence.trial import Record
from fixtures.evidence.trial import Scope
from fixtures.evidence.trial import Trial
from plugins.report import seen
from plugins.report import svg
from plugins.report.documents import Table
from plugins.report.documents import table
from plugins.report.repeated import Repeated
from plugins.report.repeated import repeated
from plugins.verdict_file import CheckResult
from plugins.verdict_file import CRITERIA
from plugins.verdict_file import Criterion
from plugins.verdict_file import CriterionResult
from plugins.verdict_file import Decision
from plugins.verdict_file import Fault
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict

EVIDENCE = (
    "inventory", "launch", "documents", "application", "reordered", "resumed", "hangup", "health", "burn_in", "copy",
)  # fmt: skip
#: what not every trial is asked for
ON_REQUEST = ("reordered", "resumed", "hangup", "health", "burn_in")
#: of each end of a stream, in the page; the whole is in the trial's folder
STREAM = 4000

#: a status is never told by colour alone
SYMBOLS: dict[Status, str] = {"passed": "✓", "failed": "✗", "not_reached": "…", "not_run": "○", "broken": "!"}
WORDS: dict[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "not_reached": "not reached",
    "not_run": "not run",
    "broken": "broken",
}

_MEANINGS: dict[Decision, str] = {
    "go": "Everything required was established on this machine: the planned volume may be launched.",
    "fix": "What is wrong can be put right without renting anything else. Do not launch the planned volume.",
    "reconfigure": "What was rented cannot serve as it is. Do not launch the planned volume here.",
    "undecided": "This trial neither clears the planned volume nor rules it out.",
}
_SCOPES: dict[Scope, str] = {
    "rental": "Rental: what was observed is the machine that this trial ran on.",
    "rehearsal": "Rehearsal on the CPU: nothing was established about a rented card.",
    "order": "Order read again before paying: nothing was established about a rented card.",
    "folder": "Folder examined before travelling: nothing was established about a rented card.",
}


@dataclass(frozen=True)
class Shown:
    """A check and the anchor it has on the page."""

    check: CheckResult
    anchor: str


@dataclass(frozen=True)
class CriterionRow:
    """A row of the criteria; `status` is None where no check was planned."""

    criterion: Criterion
    status: Status | None
    passed: int
    checks: tuple[Shown, ...]

    @property
    def open(self) -> list[Shown]:
        return [one for one in self.checks if one.check.status != "passed"]


@dataclass(frozen=True)
class Stream:
    """One of the application's streams, its ends capped; `tail` is empty where `head` is all of it."""

    name: str
    file: str
    bytes: int
    head: str
    tail: str


@dataclass(frozen=True)
class Asked:
    what: str
    asked: str
    found: str


@dataclass(frozen=True)
class Page:
    verdict: Verdict
    record: Record
    meaning: str
    scope: str
    all_asked_passed: bool
    criteria: tuple[CriterionRow, ...]
    first_anchor: str | None
    faults: tuple[Fault, ...]
    inventory: seen.Seen[Inventory]
    launch: seen.Seen[Launch]
    documents: seen.Seen[Documents]
    application: seen.Seen[Application]
    repeated: tuple[Repeated, ...]
    copy: seen.Seen[Copy]
    burn_in: BurnIn | None
    table: Table
    order: tuple[Asked, ...]
    pieces: tuple[seen.Piece, ...]
    remade: dict[str, str]
    durations: svg.Bars | None
    evidence_durations: svg.Bars | None
    memory: svg.Curves | None
    streams: tuple[Stream, ...]
    last_words: str | None
    not_copied: tuple[str, ...]
    reread: tuple[tuple[str, int], ...]


def build(verdict: Verdict, trial: Trial) -> Page:
    """Gather the page. Reads the trial's evidence and nothing else."""
    record = trial.record
    inventory = seen.see(trial, "inventory", Inventory)
    described = seen.see(trial, "documents", Documents)
    application = seen.see(trial, "application", Application)
    copy = seen.see(trial, "copy", Copy)
    pieces = tuple(seen.piece(trial, name) for name in EVIDENCE if trial.has(name) or name not in ON_REQUEST)
    criteria = _criteria(verdict)
    ran = application.value
    return Page(
        verdict=verdict,
        record=record,
        meaning=_MEANINGS[verdict.decision],
        scope=_SCOPES[verdict.scope],
        all_asked_passed=verdict.decision == "undecided" and verdict.exit_status == 0,
        criteria=criteria,
        first_anchor=_anchor_of(criteria, verdict),
        faults=_faults(verdict),
        inventory=inventory,
        launch=seen.see(trial, "launch", Launch),
        documents=described,
        application=application,
        repeated=repeated(trial),
        copy=copy,
        burn_in=trial.find("burn_in", BurnIn),
        table=table(described.value, ran, record.parameters.categories, verdict.documents),
        order=_order(record, inventory.value),
        pieces=pieces,
        remade={one.evidence: one.why for one in verdict.remade},
        durations=svg.bars("pilot-durations", "Seconds by stage", list(verdict.timing.items())),
        evidence_durations=svg.bars(
            "pilot-evidence-durations", "Seconds to make each piece of evidence", _made(pieces)
        ),
        memory=svg.curves("pilot-memory", "Memory of the application over time", ran.memory.samples)
        if ran
        else None,
        streams=(_stream("standard error", ran.stderr), _stream("standard output", ran.stdout))
        if ran
        else (),
        last_words=_last_words(ran) if ran else None,
        not_copied=_not_copied(copy.value),
        reread=_reread(copy.value),
    )


def _criteria(verdict: Verdict) -> tuple[CriterionRow, ...]:
    """Every criterion of the pilot, also those for which nothing was planned."""
    by_name: dict[str, CriterionResult] = {result.criterion: result for result in verdict.criteria}
    rows, number = [], 0
    for criterion in CRITERIA:
        result = by_name.get(criterion)
        shown = []
        for check in result.checks if result else []:
            number += 1
            shown.append(Shown(check, f"pilot-check-{number}"))
        passed = sum(one.check.status == "passed" for one in shown)
        rows.append(CriterionRow(criterion, result.status if result else None, passed, tuple(shown)))
    return tuple(rows)


def _faults(verdict: Verdict) -> tuple[Fault, ...]:
    """What the catalogue knows of this machine: each once, what blocks before what does not."""
    found = {fault.id: fault for check in verdict.checks() for fault in check.faults}
    return tuple(sorted(found.values(), key=lambda fault: not fault.blocks))


def _anchor_of(criteria: tuple[CriterionRow, ...], verdict: Verdict) -> str | None:
    wanted = verdict.first_error.check if verdict.first_error else None
    return next((one.anchor for row in criteria for one in row.checks if one.check.id == wanted), None)


def _order(record: Record, inventory: Inventory | None) -> tuple[Asked, ...]:
    order = record.order
    unseen = "not observed"
    names = sorted({card.name or "a card without a name" for card in inventory.cards}) if inventory else []
    return (
        Asked(
            "Card", order.card or "not written down", ", ".join(names) or ("none" if inventory else unseen)
        ),
        Asked("Cards in all", str(order.cards), str(len(inventory.cards)) if inventory else unseen),
        Asked("Lots", str(order.lots), "cannot be seen from the machine"),
        Asked("Days", str(order.days), "cannot be seen from the machine"),
        Asked("Preparation", order.preparation, "see the interpreter and torch"),
    )


def _made(pieces: tuple[seen.Piece, ...]) -> list[tuple[str, float]]:
    return [
        (f"{one.name} (carried)" if one.carried_from else one.name, one.seconds)
        for one in pieces
        if one.seconds is not None
    ]


def _stream(name: str, output: Output) -> Stream:
    whole = len(output.head.encode("utf-8", "replace")) >= output.bytes
    return Stream(
        name, output.file, output.bytes, output.head[:STREAM], "" if whole else output.tail[-STREAM:]
    )


def _last_words(ran: Application) -> str | None:
    """The end of standard error where the application did not simply end with 0; on paper nothing unfolds."""
    if ran.ended == "exit" and ran.returncode == 0:
        return None
    return "\n".join((ran.stderr.tail or ran.stderr.head).rstrip().splitlines()[-6:])[-800:] or None


def _not_copied(copy: Copy | None) -> tuple[str, ...]:
    if copy is None:
        return ()
    return tuple(
        f"{one.path}: {'altered' if one.copy_sha256 else 'missing'} in the copy"
        for one in copy.files
        if one.copy_sha256 != one.sha256
    )


def _reread(copy: Copy | None) -> tuple[tuple[str, int], ...]:
    """How many checks came to which status when the copy was judged again."""
    statuses = list(copy.reread.outcomes.values()) if copy and copy.reread else []
    return tuple((status, statuses.count(status)) for status in dict.fromkeys(statuses))
