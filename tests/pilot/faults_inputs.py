"""Faults in the documents and in the manifest that names them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from typing import Any

from tests.pilot.bench import Bench
from tests.pilot.bench import CATEGORIES
from tests.pilot.bench import Change
from tests.pilot.entries import all_of
from tests.pilot.entries import Fault
from tests.pilot.entries import raw
from tests.pilot.entries import Twin
from tests.pilot.entries import written
from tests.pilot.faults_results import COMPOSED
from tests.pilot.faults_results import DECOMPOSED

MANIFEST = "documents/manifest.json"


def _named(**new: str) -> Change:
    """doc_05="another-id" and so on."""

    def change(bench: Bench) -> None:
        for old, name in new.items():
            bench.rename(old.replace("_", "-"), name)

    return change


def _entry(identifier: str, **keys: Any) -> Change:
    return lambda bench: bench.entry(identifier).update(keys)


def _without_valid(bench: Bench) -> None:
    del bench.entry("doc-05")["valid"]


def _manifest(edit: Callable[[str], str]) -> Change:
    """The manifest as it would be written, edited as text."""

    def change(bench: Bench) -> None:
        text = json.dumps({"documents": bench.entries}, ensure_ascii=False)
        edited = edit(text)
        assert edited != text
        bench.raw[MANIFEST] = edited.encode()

    return change


def _eleven(bench: Bench) -> None:
    (bench.documents / bench.entries.pop(4)["file"]).unlink()


def _thirteen(bench: Bench) -> None:
    bench.add("doc-13", b"Document 13. One more.", CATEGORIES[13 % 5])


def _expected(number: int) -> Change:
    return lambda bench: bench.parameters["documents"].update(expected=number)


def _file_named_twice(bench: Bench) -> None:
    (bench.documents / "doc-06.txt").unlink()
    one = bench.entry("doc-05")
    bench.entry("doc-06").update({key: one[key] for key in ("file", "sha256", "bytes", "category")})


def _outside(bench: Bench) -> None:
    """The same bytes, but not in the folder: a link leads out of it."""
    path = bench.documents / "doc-05.txt"
    outside = bench.folder / "doc-05.txt"
    shutil.move(path, outside)
    path.symlink_to(outside)


def _dotted(bench: Bench) -> None:
    shutil.move(bench.documents / "doc-05.txt", bench.folder)
    bench.entry("doc-05")["file"] = "../doc-05.txt"


def _absolute(bench: Bench) -> None:
    shutil.move(bench.documents / "doc-05.txt", bench.folder)
    bench.entry("doc-05")["file"] = str(bench.folder / "doc-05.txt")


def _inward_link(bench: Bench) -> None:
    """A link, though inside: it would come out of a copy as a second document, or dangling."""
    shutil.move(bench.documents / "doc-05.txt", bench.documents / "real.txt")
    (bench.documents / "doc-05.txt").symlink_to("real.txt")


def _linked_folder(bench: Bench) -> None:
    written(bench, "elsewhere/private.txt", "not a document")
    (bench.documents / "more").symlink_to(bench.folder / "elsewhere")


def _unlink(bench: Bench) -> None:
    (bench.documents / "doc-05.txt").unlink()


def _become_a_folder(bench: Bench) -> None:
    _unlink(bench)
    (bench.documents / "doc-05.txt").mkdir()


def _become_a_pipe(bench: Bench) -> None:
    _unlink(bench)
    os.mkfifo(bench.documents / "doc-05.txt")


def _edited(bench: Bench) -> None:
    """One letter, and the size stays the same."""
    path = bench.documents / "doc-05.txt"
    path.write_bytes(path.read_bytes().replace(b"several", b"Several", 1))


def _all_valid(bench: Bench) -> None:
    bench.replace("doc-12", b"Document 12. Readable like the others.")
    bench.entry("doc-12").update(valid=True, category=CATEGORIES[12 % 5])


def _all_invalid(bench: Bench) -> None:
    for entry in bench.entries:
        entry["valid"] = False
        entry.pop("category", None)


def _same_length(bench: Bench) -> None:
    for number in range(1, 12):
        bench.replace(f"doc-{number:02}", f"Document {number}.".ljust(400, "x").encode())


def _in_folders(bench: Bench) -> None:
    """Documents may lie in folders below the manifest."""
    (bench.documents / "italian").mkdir()
    shutil.move(bench.documents / "doc-05.txt", bench.documents / "italian" / "doc-05.txt")
    bench.entry("doc-05")["file"] = "italian/doc-05.txt"


def _called_manifest(bench: Bench) -> None:
    """A document has the name under which manifests are staged; the manifest itself is called otherwise."""
    document, manifest = bench.documents / "manifest.json", bench.documents / "list.json"
    entry = bench.entry("doc-05")
    bench.raw[MANIFEST] = (bench.documents / entry["file"]).read_bytes()
    (bench.documents / entry["file"]).unlink()
    entry["file"] = document.name
    bench.raw["documents/list.json"] = json.dumps({"documents": bench.entries}).encode()
    bench.parameters["documents"]["manifest"] = str(manifest)


def _hidden(name: str) -> Change:
    def change(bench: Bench) -> None:
        written(bench, f"documents/{name}", "Document 99. Nobody named it.")

    return change


READABLE = "inputs.readable_files"
_FILES = [
    Fault("a-hidden-file", _hidden(".DS_Store"), "inputs.nothing_unnamed", ("no other file", ".DS_Store")),
    Fault("a-file-in-a-hidden-folder", _hidden(".git/config"), "inputs.nothing_unnamed", (".git/config",)),
    Fault("a-file-that-nobody-named", _hidden("doc-13.txt"), "inputs.nothing_unnamed", ("doc-13.txt",)),
    Fault("a-link-to-a-folder", _linked_folder, "inputs.nothing_unnamed", ("found more",)),
    Fault("a-link-that-leaves-the-folder", _outside, READABLE,
        ("regular files inside", "doc-05.txt leaves the folder"), ("doc-05",)),
    Fault("a-path-that-leaves-the-folder", _dotted, READABLE, ("../doc-05.txt leaves the folder",),
        ("doc-05",), twin="documents-in-folders"),
    Fault("an-absolute-path", _absolute, READABLE, ("doc-05.txt leaves the folder",), ("doc-05",),
        twin="documents-in-folders"),
    Fault("a-link-inside-the-folder", _inward_link, READABLE, ("doc-05.txt is: link",), ("doc-05",)),
    Fault("a-file-that-is-missing", _unlink, READABLE, ("12 regular files", "doc-05.txt is: missing"),
        ("doc-05",)),
    Fault("a-document-that-is-a-folder", _become_a_folder, READABLE, ("doc-05.txt is: folder",), ("doc-05",)),
    Fault("a-document-that-is-a-pipe", _become_a_pipe, READABLE, ("doc-05.txt is: other",), ("doc-05",)),
    Fault("a-file-name-that-holds-nul", _entry("doc-05", file="doc-05\x00.txt"), READABLE,
        ("leaves the folder",), ("doc-05",)),
    Fault("another-document-than-the-manifest-means", _edited, "inputs.sums",
        ("sha256 and size as in", "1 differ"), ("doc-05",)),
    Fault("all-documents-of-one-length", _same_length, "inputs.several_lengths",
        ("at least three lengths", "1 lengths from 400 to 400 bytes")),
]  # fmt: skip

_MANIFEST = [
    Fault("eleven-documents", _eleven, "inputs.expected_number", ("12 documents", "11 in the manifest"),
        twin="eleven-as-expected"),
    Fault("thirteen-documents", _thirteen, "inputs.expected_number", ("12 documents", "13 in the manifest"),
        twin="thirteen-as-expected"),
    Fault("no-documents", raw(MANIFEST, b'{"documents": []}'), "inputs.expected_number",
        ("12 documents", "0 in the manifest")),
    Fault("an-id-twice", _named(doc_05="doc-04"), "inputs.unique_identifiers",
        ("12 different", "11 different"), ("doc-04",)),
    Fault("ids-that-collide-when-normalised", _named(doc_05=COMPOSED, doc_06=DECOMPOSED),
        "inputs.distinct_identifiers",
        ("stay different after NFKC", r"'re\u0301sume\u0301-05' = 'r\xe9sum\xe9-05'"), (COMPOSED, DECOMPOSED),
        twin="an-id-outside-ascii"),
    Fault("ids-that-differ-by-case", _named(doc_05="Doc-04"), "inputs.distinct_identifiers",
        ("'Doc-04' = 'doc-04'",), ("Doc-04", "doc-04")),
    Fault("ids-that-differ-by-a-space", _named(doc_05="doc-04 "), "inputs.distinct_identifiers",
        ("'doc-04' = 'doc-04 '",), ("doc-04", "doc-04 ")),
    Fault("a-file-named-twice", _file_named_twice, "inputs.each_file_once",
        ("a file of its own", "doc-05.txt"), ("doc-05", "doc-06")),
    Fault("no-invalid-case-reserved", _all_valid, "inputs.invalid_reserved",
        ("at least one document reserved as invalid", "0 invalid, 12 valid")),
    Fault("nothing-but-invalid-cases", _all_invalid, "inputs.invalid_reserved",
        ("at least one valid", "12 invalid, 0 valid")),
    Fault("an-expected-category-outside-the-list", _entry("doc-05", category="memo"),
        "inputs.categories_allowed", ("one of invoice, contract", "found memo"), ("doc-05",)),
    Fault("a-category-expected-of-the-invalid-case", _entry("doc-12", category="invoice"),
        "inputs.categories_allowed", ("for invalid ones none", "invoice"), ("doc-12",)),
]  # fmt: skip

READ = "inputs.manifest"
_TEXT = [
    Fault("a-manifest-that-is-missing",
        lambda bench: bench.parameters["documents"].update(manifest="/nonexistent/manifest.json"), READ,
        ("/nonexistent/manifest.json as strict JSON", "No such file or directory")),
    Fault("a-manifest-that-is-no-json", raw(MANIFEST, b"id;file\ndoc-01;doc-01.txt\n"), READ,
        ("strict JSON", "line 1 column 1")),
    Fault("a-manifest-with-a-key-twice",
        _manifest(lambda text: text.replace('"valid"', '"id": "doc-99", "valid"', 1)), READ,
        ("the key 'id' twice",)),
    Fault("a-manifest-with-an-unknown-key", _entry("doc-05", label="invoice"), READ,
        ("documents.4.label", "a key that is not known here")),
    Fault("a-manifest-without-a-key", _without_valid, READ, ("documents.4.valid", "found nothing")),
    Fault("a-manifest-with-a-number-for-an-id", _entry("doc-05", id=5), READ,
        ("documents.4.id", "found 5", "a valid string")),
    Fault("a-manifest-with-text-for-valid", _entry("doc-05", valid="true"), READ,
        ("documents.4.valid", "found 'true'")),
]  # fmt: skip

FAULTS = [*_FILES, *_MANIFEST, *_TEXT]

TWINS = [
    Twin("documents-in-folders", _in_folders),
    Twin("a-document-called-manifest", _called_manifest),
    Twin("eleven-as-expected", all_of(_eleven, _expected(11))),
    Twin("thirteen-as-expected", all_of(_thirteen, _expected(13))),
]  # fmt: skip
