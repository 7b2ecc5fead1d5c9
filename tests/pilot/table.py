"""The fault table: everything that must be caught, each beside a healthy twin that must not be."""

from __future__ import annotations

from tests.pilot import faults_again
from tests.pilot import faults_callable
from tests.pilot import faults_copy
from tests.pilot import faults_environment
from tests.pilot import faults_formats
from tests.pilot import faults_hangup
from tests.pilot import faults_inputs
from tests.pilot import faults_machine
from tests.pilot import faults_memory
from tests.pilot import faults_process
from tests.pilot import faults_results
from tests.pilot import faults_server
from tests.pilot import refusals
from tests.pilot.entries import Fault
from tests.pilot.entries import Refusal
from tests.pilot.entries import Twin

FAULTS: list[Fault] = [
    *faults_inputs.FAULTS,
    *faults_results.FAULTS,
    *faults_process.FAULTS,
    *faults_machine.FAULTS,
    *faults_copy.FAULTS,
    *faults_again.FAULTS,
    *faults_formats.FAULTS,
    *faults_memory.FAULTS,
    *faults_server.FAULTS,
    *faults_callable.FAULTS,
    *faults_hangup.FAULTS,
    *faults_environment.FAULTS,
]
REFUSALS: list[Refusal] = refusals.REFUSALS
TWINS: list[Twin] = [
    Twin("the-plain-one", lambda bench: None),
    *faults_inputs.TWINS,
    *faults_results.TWINS,
    *faults_process.TWINS,
    *faults_machine.TWINS,
    *faults_copy.TWINS,
    *faults_again.TWINS,
    *faults_formats.TWINS,
    *faults_memory.TWINS,
    *faults_server.TWINS,
    *faults_callable.TWINS,
    *faults_hangup.TWINS,
    *faults_environment.TWINS,
    *refusals.TWINS,
]

#: what the project asks for -> the entries that are it
ASKED_FOR: dict[str, tuple[str, ...]] = {
    "one document missing": ("one-document-missing",),
    "missing but count made right by a duplicate": ("the-count-made-right-by-a-duplicate",),
    "an invented id": ("an-invented-id",),
    "id with a trailing space": ("an-id-with-a-trailing-space",),
    "id in the other normalisation form": ("an-id-in-the-other-normalisation-form",),
    "two ids that collide after normalisation in the manifest": ("ids-that-collide-when-normalised",),
    "category with other case": ("a-category-with-another-case",),
    "with trailing newline": ("a-category-with-a-trailing-newline",),
    "a list of two categories": ("a-list-of-two-categories",),
    "category null": ("a-category-that-is-null",),
    "score NaN as bare NaN": ("a-score-that-is-nan",),
    "duplicate JSON key": ("a-key-twice",),
    "last line torn": ("the-last-line-torn",),
    "two records on one line": ("two-records-on-a-line",),
    "a record split by U+2028 (healthy: U+2028 inside a string)": (
        "a-record-split-by-u2028", "records-parted-by-u2028", "u2028-inside-a-string",
    ),
    "BOM": ("a-byte-order-mark",),
    "CRLF (healthy)": ("lines-that-end-as-on-windows",),
    "Latin-1 output": ("latin-1",),
    "empty results file": ("an-empty-results-file",),
    "no results file": ("no-results-file",),
    "results file from an earlier run": ("results-of-an-earlier-run", "results-that-link-to-an-old-file"),
    "results that are a directory": ("results-that-are-a-folder",),
    "exit 1 with perfect results": ("exit-1-with-perfect-results",),
    "killed by SIGKILL after eleven": ("killed-after-eleven",),
    "SIGSEGV": ("a-segmentation-fault",),
    "never ends": ("never-ends", "never-ends-and-ignores-sigterm", "computes-for-ever"),
    "ends but leaves a child running": (
        "leaves-a-child-running", "leaves-a-session-running", "leaves-a-daemon-running",
    ),
    "prints 100 MB": ("prints-a-hundred-megabytes-where-ten-are-allowed", "prints-a-hundred-megabytes"),
    "rejects everything": ("rejects-everything",),
    "accepts everything": ("accepts-everything",),
    "rejects with an empty reason": ("a-reason-that-says-nothing-empty", "a-reason-that-says-nothing-blank"),
    "accepts the invalid one": ("accepts-an-invalid-one-of-two",),
    "rejects a valid one": ("rejects-a-valid-one",),
    "right count with two categories swapped": ("two-categories-swapped",),
    "changes an input file": ("changes-its-copy-of-an-input", "changes-the-renters-own-input"),
    "writes beside its output folder": ("writes-beside-its-output-folder", "writes-into-the-project-folder"),
    "needs a module that is not installed": ("needs-a-module-that-is-not-installed",),
    "uses the CPU though told cuda": ("uses-the-cpu-though-told-cuda", "states-its-card"),
    "hidden file in data": ("a-hidden-file",),
    "symlink leaving the folder": ("a-link-that-leaves-the-folder",),
    "manifest with 11 or 13": ("eleven-documents", "thirteen-documents"),
    "duplicate id in the manifest": ("an-id-twice",),
    "file named in two entries": ("a-file-named-twice",),
    "parameters with an unknown key": ("parameters-with-an-unknown-key",),
    "a wrong type": ("a-number-written-as-text",),
    "a secret-looking value": ("a-cloud-key", "a-token-after-its-name"),
    "copy target full": ("a-full-place", "a-place-that-fills-up-at-the-very-end"),
    "read-only": ("a-read-only-place",),
    "missing": ("a-place-that-is-missing",),
    "inside the trial": ("a-place-inside-the-trial",),
}  # fmt: skip

#: what the project asks for and is no change to a renter's folder -> the module that tests it
TESTED_APART = {
    "copy altered after copying": "test_altered_copies",
    "report of another trial in the copy": "test_altered_copies",
    "HTML and script in document text, id, category and reason": "test_hostile_text",
}
