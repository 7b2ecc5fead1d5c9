"""Faults in what the application writes: its records, and the file that holds them."""

from __future__ import annotations

import json

from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import all_of
from tests.pilot.entries import altered
from tests.pilot.entries import Fault
from tests.pilot.entries import told
from tests.pilot.entries import Twin

VALID = tuple(f"doc-{number:02}" for number in range(1, 12))
ALL = (*VALID, "doc-12")
#: one identifier in the two forms of Unicode; they look the same everywhere
COMPOSED, DECOMPOSED = "r\u00e9sum\u00e9-05", "re\u0301sume\u0301-05"
ACCEPTED = {"status": "accepted", "category": "invoice"}


def _named(new: str, old: str = "doc-05") -> Change:
    return lambda bench: bench.rename(old, new)


def _line(text: str) -> Change:
    """The record of doc-05 reads so; the rest are healthy."""
    return told("replaces_line", "doc-05", text)


def _score(text: str) -> str:
    return f'{{"id": "doc-05", "status": "accepted", "category": "invoice", "score": {text}}}'


def _added(*records: dict[str, object]) -> Change:
    return told("adds", *(json.dumps(record, ensure_ascii=False) for record in records))


def _second_invalid(bench: Bench) -> None:
    bench.replace("doc-11", b"\xff\xfe also broken")
    entry = bench.entry("doc-11")
    entry["valid"] = False
    del entry["category"]


def _linked(bench: Bench) -> None:
    bench.behave("link_to_a_file", str(bench.folder / "elsewhere.jsonl"))


def _keys_are_shown(bench: Bench, run: Run) -> None:
    assert run.trial is not None
    assert "model_version" in (run.trial / "report.html").read_text()


_RECORDS = [
    Fault("one-document-missing", told("loses_one"), "failures.none_missing",
        ("a record for each of 12", "1 without one"), ("doc-05",), ("end_of_trial.accounted",)),
    Fault("a-worker-dies-and-nobody-says-so", told("loses_a_worker"), "failures.invalid_rejected",
        ("no record",), ("doc-12",), ("failures.none_missing", "end_of_trial.accounted")),
    Fault("the-count-made-right-by-a-duplicate", altered(doc_05={"id": "doc-04"}),
        "results.no_identifier_twice", ("one record for each", "doc-04: 2 records"), ("doc-04", "doc-05"),
        ("failures.none_missing", "end_of_trial.accounted")),
    Fault("an-invented-id", _added({"id": "doc-13", **ACCEPTED}), "results.no_invented_identifier",
        ("only identifiers of the manifest", "'doc-13'"), ("doc-13",)),
    Fault("an-id-with-a-trailing-space", altered(doc_05={"id": "doc-05 "}), "results.no_invented_identifier",
        ("character for character", "'doc-05 '"), ("doc-05 ", "doc-05"), ("failures.none_missing",)),
    Fault("an-id-in-the-other-normalisation-form",
        all_of(_named(COMPOSED), told("alters", json.dumps({COMPOSED: {"id": DECOMPOSED}}))),
        "results.no_invented_identifier", (r"re\u0301sume\u0301-05",), (COMPOSED, DECOMPOSED),
        ("failures.none_missing",), twin="an-id-outside-ascii"),
    Fault("an-id-without-its-zeros", all_of(_named("007"), told("alters", '{"007": {"id": "7"}}')),
        "results.no_invented_identifier", ("'7'",), ("7", "007"), ("failures.none_missing",),
        twin="ids-that-readers-change"),
    Fault("an-id-become-a-number", all_of(_named("007"), told("alters", '{"007": {"id": 7}}')),
        "results.records", ("an id as text", "line 5: the id is a number"), ("007",),
        ("failures.none_missing",), twin="ids-that-readers-change"),
    Fault("an-id-become-null", all_of(_named("NA"), told("alters", '{"NA": {"id": null}}')),
        "results.records", ("line 5: the id is null",), ("NA",), ("failures.none_missing",),
        twin="ids-that-readers-change"),
    Fault("a-record-without-an-id", altered(doc_05={"id": "__absent__"}), "results.records",
        ("line 5: no id",), ("doc-05",)),
    Fault("a-status-in-capitals", altered(doc_05={"status": "ACCEPTED"}), "results.records",
        ("accepted or rejected", "'ACCEPTED'"), ("doc-05",), ("failures.none_missing",)),
    Fault("every-record-twice", told("writes_each_twice"), "results.no_identifier_twice",
        ("one record for each identifier",), ALL),
    Fault("accepted-and-rejected",
        _added({"id": "doc-05", "status": "rejected", "reason": "too long for the model"}),
        "results.no_identifier_twice", ("doc-05: 2 records",), ("doc-05",),
        ("failures.valid_accepted", "end_of_trial.accounted")),
    Fault("a-category-with-another-case", altered(doc_05={"category": "Invoice"}), "results.allowed_category",
        ("exactly one of invoice, contract", "'Invoice'"), ("doc-05",), ("results.expected_category",)),
    Fault("a-category-with-a-trailing-newline", altered(doc_05={"category": "invoice\n"}),
        "results.allowed_category", (r"'invoice\n'",), ("doc-05",)),
    Fault("a-category-with-a-carriage-return", altered(doc_05={"category": "invoice\r"}),
        "results.allowed_category", (r"'invoice\r'",), ("doc-05",), twin="lines-that-end-as-on-windows"),
    Fault("a-list-of-two-categories", altered(doc_05={"category": ["invoice", "contract"]}),
        "results.allowed_category", ("exactly one of", "['invoice', 'contract']"), ("doc-05",)),
    Fault("a-category-that-is-null", altered(doc_05={"category": None}), "results.allowed_category",
        ("None",), ("doc-05",)),
    Fault("no-category", altered(doc_05={"category": "__absent__"}), "results.allowed_category",
        ("no category",), ("doc-05",)),
    Fault("a-category-outside-the-list", altered(doc_05={"category": "I cannot answer that."}),
        "results.allowed_category", ("'I cannot answer that.'",), ("doc-05",)),
    Fault("two-categories-swapped", altered(doc_05={"category": "contract"}, doc_06={"category": "invoice"}),
        "results.expected_category",
        ("doc-05: invoice; doc-06: contract", "doc-05: 'contract'; doc-06: 'invoice'"), ("doc-05", "doc-06")),
]  # fmt: skip

_LINES = [
    Fault("a-score-that-is-nan", _line(_score("NaN")), "results.well_formed",
        ("no NaN", "line 5: the bare word NaN"), ("doc-05",), ("failures.none_missing",),
        twin="a-score-that-is-null"),
    Fault("a-number-too-large", _line(_score("1e999")), "results.well_formed", ("line 5: the number 1e999",),
        ("doc-05",), twin="a-score-that-is-a-number"),
    Fault("a-key-twice",
        _line('{"id": "doc-05", "status": "accepted", "category": "contract", "category": "invoice"}'),
        "results.well_formed", ("no key twice", "line 5: the key 'category' twice"), ("doc-05",)),
    Fault("half-a-surrogate-pair", _line(_score(r'"\\ud83d"')), "results.well_formed",
        ("line 5: half of a surrogate pair",), ("doc-05",), twin="a-whole-surrogate-pair"),
    Fault("a-nul-byte-in-a-line", _line(_score(r'"a\x00b"')), "results.well_formed",
        ("line 5: ", "control character"), ("doc-05",)),
    Fault("a-line-of-nul-bytes", _line(r"\x00" * 40), "results.well_formed", ("line 5: ",), ("doc-05",)),
    Fault("deep-nesting", told("deeply_nested", "200000"), "results.well_formed",
        ("line 5: nesting too deep",), ("doc-05",), twin="some-nesting"),
    Fault("the-last-line-torn", told("torn"), "results.well_formed", ("line 12: torn",), ("doc-12",),
        twin="a-last-line-without-its-end"),
    Fault("two-records-on-a-line", told("two_on_a_line"), "results.well_formed",
        ("on every line one whole JSON object", "line 1: more than one JSON value"), ("doc-01", "doc-02")),
    Fault("records-parted-by-u2028", told("separated_by", r"\u2028"), "results.well_formed",
        ("line 1: more than one JSON value",), ALL, twin="u2028-inside-a-string"),
    Fault("a-record-split-by-u2028", told("splits_its_lines"), "results.well_formed",
        ("line 12: torn", "line 13: "), ("doc-12",), twin="u2028-inside-a-string"),
    Fault("records-parted-by-a-carriage-return", told("separated_by", r"\r"), "results.well_formed",
        ("line 1: more than one JSON value",), ALL, twin="lines-that-end-as-on-windows"),
    Fault("a-byte-order-mark", told("with_bom"), "results.well_formed", ("line 1: a byte order mark",),
        ("doc-01",)),
    Fault("latin-1", told("accented", "latin-1"), "results.well_formed",
        ("in UTF-8", "line 1: not UTF-8 at byte"), ALL, twin="letters-outside-ascii"),
    Fault("a-blank-line-at-the-end", told("blank_line", "12"), "results.well_formed",
        ("line 13: an empty line",), twin="a-last-line-without-its-end"),
    Fault("a-blank-line-in-the-middle", told("blank_line", "5"), "results.well_formed",
        ("line 6: an empty line",)),
    Fault("one-array-instead-of-lines", told("one_array", "0"), "results.well_formed",
        ("line 1: a JSON list, not an object",), ALL),
    Fault("one-array-over-many-lines", told("one_array", "2"), "results.well_formed",
        ("line 1: ", "line 2: torn", "more"), ALL),
]  # fmt: skip

_FILE = [
    Fault("an-empty-results-file", told("empty_file"), "results.file",
        ("at least one record", "file, 0 bytes"), ALL),
    Fault("no-results-file", told("no_file"), "results.file", ("a readable file", "missing, 0 bytes")),
    Fault("results-under-another-name", told("another_name"), "results.file",
        ("in its folder: results.json",), twin="more-files-in-the-output-folder"),
    Fault("results-of-an-earlier-run", told("old_file"), "results.fresh",
        ("results written during it", "results older than the run"), twin="results-renamed-when-whole"),
    Fault("results-that-link-to-an-old-file", _linked, "results.file", ("a readable file", "link"),
        twin="results-renamed-when-whole"),
    Fault("results-that-are-a-folder", told("folder"), "results.file",
        ("folder", "results.jsonl/part-00000.jsonl")),
    Fault("results-that-are-a-pipe", told("pipe"), "results.file", ("found other",)),
    Fault("a-giant-line", told("long_note", "65"), "results.file", ("more than the 67108864 that are read",),
        twin="a-long-line"),
]  # fmt: skip

_FAILURES = [
    Fault("rejects-everything", told("rejects_everything"), "failures.valid_accepted",
        ("no valid document rejected", "doc-10, doc-11: 'the model is not sure"), VALID),
    Fault("accepts-everything", told("accepts_everything"), "failures.invalid_rejected",
        ("rejected: doc-12", "doc-12: accepted"), ("doc-12",)),
    Fault("accepts-an-invalid-one-of-two",
        all_of(_second_invalid, altered(doc_12={**ACCEPTED, "reason": "__absent__"})),
        "failures.invalid_rejected", ("rejected: doc-11, doc-12", "doc-12: accepted"), ("doc-12",),
        twin="two-invalid-documents"),
    Fault("rejects-a-valid-one", altered(doc_05={"status": "rejected", "reason": "longer than 512 tokens"}),
        "failures.valid_accepted", ("no valid document rejected", "doc-05: 'longer than 512 tokens'"),
        ("doc-05",)),
    *(
        Fault(f"a-reason-that-says-nothing-{name}", altered(doc_12={"reason": reason}), "failures.reason",
              ("a reason in words", found), ("doc-12",), twin="a-short-reason")
        for name, reason, found in (
            ("empty", "", "''"), ("blank", " \t", r"' \t'"), ("error", "Error.", "'Error.'"),
            ("none", "None", "'None'"), ("null-word", "null", "'null'"), ("na", "N/A", "'N/A'"),
            ("absent", "__absent__", "no reason"), ("null", None, "None"), ("number", 5, "5"),
            ("unknown-reason", "Unknown reason", "'Unknown reason'"),
            ("could-not-process", "could not process", "'could not process'"), ("see-logs", "see logs", "'see logs'"),
            ("bad-document", "Bad document!", "'Bad document!'"), ("question", "?", "'?'"),
            ("zero-width", "\u200b", r"'\u200b'"),
        )
    ),
]  # fmt: skip

FAULTS = [*_RECORDS, *_LINES, *_FILE, *_FAILURES]

TWINS = [
    Twin("an-id-outside-ascii", _named(COMPOSED)),
    Twin("ids-that-readers-change", all_of(
        _named("007", "doc-07"), _named("NA", "doc-05"), _named("null", "doc-06"),
        _named("None", "doc-08"), _named("1e5", "doc-09"), _named("=1+1", "doc-10"),
    )),
    Twin("lines-that-end-as-on-windows", told("separated_by", r"\r\n")),
    Twin("a-score-that-is-null", _line(_score("null"))),
    Twin("a-score-that-is-a-number", _line(_score("9.7e-1"))),
    Twin("a-whole-surrogate-pair", _line(_score(r'"\\ud83d\\ude00"'))),
    Twin("some-nesting", told("deeply_nested", "40")),
    Twin("a-last-line-without-its-end", told("unterminated")),
    Twin("u2028-inside-a-string", altered(doc_05={"note": "one\u2028two\u2029three\u0085four"})),
    Twin("letters-outside-ascii", told("accented", "utf-8")),
    Twin("more-files-in-the-output-folder", told("writes_to", "<output>/metrics.json", "<output>/log.txt")),
    Twin("results-renamed-when-whole", told("renames_when_done")),
    Twin("a-long-line", told("long_note", "1")),
    Twin("keys-of-its-own", altered(doc_05={"model_version": "7b-2", "pages": [1, 2]}), look=_keys_are_shown),
    Twin("two-invalid-documents", _second_invalid),
    Twin("a-short-reason", altered(doc_12={"reason": "no text in it"})),
]  # fmt: skip
