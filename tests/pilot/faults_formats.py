"""Results as renters have them: CSV and TSV, JSON documents, and names and words of their own."""

from __future__ import annotations

from typing import Any

from tests.pilot.bench import APP
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.entries import all_of
from tests.pilot.entries import Fault
from tests.pilot.entries import Twin

FORMS = APP.with_name("app_formats.py")
OWN: dict[str, Any] = {
    "format": "csv",
    "fields": {"id": "name", "status": "state", "category": "label", "reason": "error"},
    "accepted": ["ok"],
    "rejected": ["failed"],
}
BY_IDENTIFIER: dict[str, Any] = {"format": "json", "inside": "run.documents"}
WELL_FORMED = "results.well_formed"
RECORDS = "results.records"


def written(form: str, results: dict[str, Any], *replaced: str) -> Change:
    """The application writes in this form of app_formats.py; the configuration says `results`."""

    def change(bench: Bench) -> None:
        command = ["{python}", str(FORMS), form, "{manifest}", "{results}", "{device}", *replaced]
        bench.parameters["application"].update(command=command, results=results)

    return change


def _numbered(bench: Bench) -> None:
    """Identifiers that a reader of tables takes for something else."""
    for old, new in (
        ("doc-01", "007"),
        ("doc-02", "NA"),
        ("doc-03", "1e5"),
        ("doc-04", "1234567890123456789"),
    ):
        bench.rename(old, new)


FAULTS = [
    Fault("leading-zeros-lost", all_of(_numbered, written("comma", {"format": "csv"}, "007,=7,")),
        "results.no_invented_identifier", ("'7'",), ("7", "007"), ("failures.none_missing",),
        twin="identifiers-that-look-like-numbers"),
    Fault("a-word-that-nobody-named", written("own_words", OWN, "doc-03,ok=doc-03,done"), RECORDS,
        ("the status is 'done'",), twin="columns-and-words-of-its-own"),
    Fault("a-column-by-another-name", written("own_words", OWN, "label=class"), WELL_FORMED,
        ("no column 'label'", "'class'"), twin="columns-and-words-of-its-own"),
    Fault("a-row-with-a-field-too-many", written("comma", {"format": "csv"}, "doc-05,accepted=doc-05,accepted,x"),
        WELL_FORMED, ("line 6: 5 fields, and the header has 4",), twin="comma-separated"),
    Fault("a-mark-before-the-header", written("comma", {"format": "csv"}, "id,status=\ufeffid,status"), WELL_FORMED,
        ("byte order mark",), twin="comma-separated"),
    Fault("commas-where-tabs-are-named", written("comma", {"format": "tsv"}), WELL_FORMED, ("no column 'id'",),
        twin="tab-separated"),
    Fault("a-document-torn", written("array", {"format": "json"}, "}\n]=}\n"), WELL_FORMED, ("line",),
        twin="a-json-array"),
    Fault("an-identifier-twice-in-an-object", written("by_identifier", BY_IDENTIFIER, "doc-05=doc-06"), WELL_FORMED,
        ("doc-06", "twice"), twin="a-json-object-by-identifier"),
    Fault("records-somewhere-else", written("by_identifier", BY_IDENTIFIER, "documents=results"), WELL_FORMED,
        ("results",), twin="a-json-object-by-identifier"),
    Fault("lines-where-a-document-is-named", written("truth_values", {"format": "json"}), WELL_FORMED, ("line 2",),
        twin="truth-values"),
    Fault("texts-where-truth-values-are-named", written("truth_values", {"accepted": ["true"], "rejected": ["false"]}),
        RECORDS, ("the status is True",), twin="truth-values"),
    Fault("neither-category-nor-reason",
        written("without_a_status", {"format": "csv", "fields": {"status": None}}, "doc-05,invoice,=doc-05,,"),
        WELL_FORMED, ("neither a category nor a reason",), twin="no-status-at-all"),
]  # fmt: skip

TWINS = [
    Twin("comma-separated", written("comma", {"format": "csv"})),
    Twin("tab-separated", written("tab", {"format": "tsv", "file": "answers.txt"})),
    Twin("identifiers-that-look-like-numbers", all_of(_numbered, written("comma", {"format": "csv"}))),
    Twin("columns-and-words-of-its-own", written("own_words", OWN)),
    Twin("no-status-at-all", written("without_a_status", {"format": "csv", "fields": {"status": None}})),
    Twin("a-json-array", written("array", {"format": "json"})),
    Twin("a-json-object-by-identifier", written("by_identifier", BY_IDENTIFIER)),
    Twin("truth-values", written("truth_values", {"accepted": [True], "rejected": [False]})),
]  # fmt: skip
