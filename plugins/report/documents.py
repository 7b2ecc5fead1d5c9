"""The documents beside what the application made of them. Judges nothing: it only sets both side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal

from fixtures.evidence import account
from fixtures.evidence.models import Application
from fixtures.evidence.models import DocumentFile
from fixtures.evidence.models import Documents
from fixtures.evidence.models import ManifestEntry
from plugins.report import text
from plugins.verdict_file import DocumentCounts

BEGINNING = 160
#: rows that an application can make up as many of as it likes
MOST_INVENTED = 40
MOST_UNUSABLE = 20

Agreement = Literal["agrees", "differs", "unknown"]


@dataclass(frozen=True)
class Answer:
    """One record of the results: its status, the category or reason, and what else the application wrote."""

    status: str
    said: str
    extra: str | None


@dataclass(frozen=True)
class Row:
    id: str
    facts: str
    trouble: str | None
    lang: str | None
    beginning: str
    expected: str
    answers: tuple[Answer, ...]
    agreement: Agreement
    note: str


@dataclass(frozen=True)
class Table:
    rows: tuple[Row, ...]
    counts: DocumentCounts | None
    invented_left_out: int
    unusable: tuple[tuple[int, str, str], ...]
    unusable_left_out: int
    lines_left_out: int


def table(
    documents: Documents | None,
    application: Application | None,
    allowed: Sequence[str],
    counts: DocumentCounts | None,
) -> Table:
    """Every document of the manifest, then every id that the application invented."""
    entries = documents.entries if documents else []
    results = application.results if application else None
    taken = account.take(entries, results.lines if results else [])
    files = {(file.id, file.file): file for file in documents.files} if documents else {}
    rows = [
        _row(
            entry,
            files.get((entry.id, entry.file)),
            taken.records.get(entry.id, []),
            allowed,
            results is not None,
        )
        for entry in entries
    ]
    strangers = list(taken.invented)
    note = "invented: not in the manifest" if documents else "the manifest was not observed"
    for id in strangers[:MOST_INVENTED]:
        rows.append(_stranger(id, taken.records[id], note, "differs" if documents else "unknown"))
    texts = {line.number: line.text for line in results.lines} if results else {}
    unusable = [(number, problem, texts.get(number, "")) for number, problem in taken.unusable]
    return Table(
        rows=tuple(rows),
        counts=counts or (_counts(taken) if documents and application else None),
        invented_left_out=max(len(strangers) - MOST_INVENTED, 0),
        unusable=tuple(unusable[:MOST_UNUSABLE]),
        unusable_left_out=max(len(unusable) - MOST_UNUSABLE, 0),
        lines_left_out=results.lines_left_out if results else 0,
    )


def _counts(taken: account.Account) -> DocumentCounts:
    return DocumentCounts(
        expected=len(taken.expected),
        accepted=list(taken.accepted),
        rejected=list(taken.rejected),
        missing=list(taken.missing),
        duplicated=list(taken.duplicated),
        invented=list(taken.invented),
    )


def _row(
    entry: ManifestEntry,
    file: DocumentFile | None,
    records: list[dict[str, Any]],
    allowed: Sequence[str],
    ran: bool,
) -> Row:
    agreement, note = _agreement(entry, records, allowed) if ran else ("unknown", "no result was observed")
    beginning = text.oneline(file.beginning) if file else ""
    if len(beginning) > BEGINNING:
        beginning = beginning[:BEGINNING].rstrip() + " …"
    count = file.bytes if file else entry.bytes
    return Row(
        id=entry.id,
        facts=", ".join(part for part in (text.size(count), entry.language, entry.file) if part),
        trouble=_trouble(entry, file),
        lang=text.language(entry.language),
        beginning=beginning,
        expected=_expected(entry),
        answers=tuple(_answer(record) for record in records[:5]),
        agreement=agreement,
        note=note,
    )


def _stranger(id: str, records: list[dict[str, Any]], note: str, agreement: Agreement) -> Row:
    answers = tuple(_answer(record) for record in records[:5])
    return Row(text.cut(id, 200), "", None, None, "", "nothing", answers, agreement, note)


def _trouble(entry: ManifestEntry, file: DocumentFile | None) -> str | None:
    if file is None:
        return "the file was not looked at"
    if file.error:
        return f"cannot be read: {file.error}"
    if file.kind != "file":
        return {"missing": "the file is missing"}.get(file.kind, f"a {file.kind}, not a file")
    if not file.inside:
        return "the file lies outside the documents' folder"
    return "not the file that the manifest describes (other sum)" if file.sha256 != entry.sha256 else None


def _expected(entry: ManifestEntry) -> str:
    if not entry.valid:
        return f"rejected: {text.cut(entry.reason, 300)}" if entry.reason else "rejected"
    return f"accepted: {text.cut(entry.category, 200)}" if entry.category else "accepted, category not stated"


def _answer(record: dict[str, Any]) -> Answer:
    key = "category" if record["status"] == "accepted" else "reason"
    said = _plain(record[key]) if key in record else f"no {key} given"
    others = {name: value for name, value in record.items() if name not in ("id", "status", key)}
    extra = ", ".join(f"{name}: {_plain(value)}" for name, value in others.items())
    return Answer(record["status"], text.cut(said, 400), text.cut(extra, 400) or None)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _agreement(
    entry: ManifestEntry, records: list[dict[str, Any]], allowed: Sequence[str]
) -> tuple[Agreement, str]:
    if not records:
        return "differs", "missing: no result"
    if len(records) > 1:
        return "differs", f"duplicated: {len(records)} results"
    record = records[0]
    if not entry.valid:
        rejected = record["status"] == "rejected"
        return (
            ("agrees", "rejected, as it must be") if rejected else ("differs", "accepted, must be rejected")
        )
    if record["status"] == "rejected":
        return "differs", "rejected, though valid"
    category = record.get("category")
    if not isinstance(category, str) or category not in allowed:
        return "differs", "not one of the allowed categories"
    if entry.category is None:
        return "unknown", "allowed; nothing to compare with"
    return ("agrees", "same category") if category == entry.category else ("differs", "another category")
