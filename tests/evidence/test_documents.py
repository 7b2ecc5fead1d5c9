"""The documents as found: every odd thing in a folder is an observation, and none of them is opened."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from fixtures import documents
from fixtures.evidence import sums
from fixtures.evidence.models import DocumentFile
from fixtures.evidence.models import Documents
from fixtures.evidence.models import ManifestEntry
from fixtures.evidence.trial import write_json

TEXT = "Dear Sir or Madam,\n"


class Folder:
    """A folder with a manifest, and what the manifest says of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.entries = path, list[dict[str, Any]]()
        path.mkdir()

    def name(self, file: str, **more: Any) -> None:
        entry = {
            "id": f"doc-{len(self.entries)}",
            "file": file,
            "sha256": "0" * 64,
            "bytes": 1,
            "valid": True,
        }
        self.entries.append({**entry, **more})

    def add(self, file: str, data: bytes = TEXT.encode()) -> None:
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.name(file, sha256=sums.of_bytes(data), bytes=len(data))

    def observe(self) -> Documents:
        (self.path / "manifest.json").write_text(json.dumps({"documents": self.entries}))
        observed = documents.observe(self.path / "manifest.json")
        write_json(self.path.parent / "evidence.json", observed)  # whatever was seen can be written down
        return observed

    def only(self) -> DocumentFile:
        return self.observe().files[0]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "documents")


def test_a_document_is_seen_with_its_size_sum_and_beginning(folder: Folder) -> None:
    folder.add("deep/ä.txt", ("é" * 400).encode())
    seen, whole = folder.only(), folder.observe()
    assert (seen.kind, seen.inside, seen.error, seen.bytes) == ("file", True, None, 800)
    assert (seen.sha256, seen.beginning) == (
        folder.entries[0]["sha256"],
        "é" * documents.BEGINNING_CHARACTERS,
    )
    assert (whole.manifest_error, whole.unnamed) == (None, [])
    assert whole.manifest_sha256 == sums.of_file(folder.path / "manifest.json")


def test_a_document_that_is_no_text_is_shown_with_its_bytes_replaced(folder: Folder) -> None:
    folder.add("broken.bin", b"\xff\xfeA\0")
    assert folder.only().beginning == "\ufffd\ufffdA\0"


def test_an_empty_document_is_a_file_of_no_bytes(folder: Folder) -> None:
    folder.add("empty.txt", b"")
    assert (folder.only().bytes, folder.only().beginning) == (0, "")


def place(kind: str, path: Path, outside: Path) -> None:
    outside.write_text(TEXT)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link inside":
        path.with_name("other.txt").write_text(TEXT)
        path.symlink_to("other.txt")
    elif kind == "link outside":
        path.symlink_to(outside)
    elif kind == "link to nothing":
        path.symlink_to("nothing")
    elif kind == "link to itself":
        path.symlink_to(path.name)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = os.getcwd()
            os.chdir(path.parent)  # the name of a socket is short
            try:
                one.bind(path.name)
            finally:
                os.chdir(here)


ODD = [
    ("pipe", "other", True), ("socket", "other", True), ("folder", "folder", True), ("missing", "missing", True),
    ("link inside", "link", True), ("link outside", "link", False), ("link to nothing", "link", True),
]  # fmt: skip


@pytest.mark.parametrize(("what", "kind", "inside"), ODD)
def test_what_is_no_regular_file_is_named_and_not_opened(
    what: str, kind: str, inside: bool, folder: Folder
) -> None:
    folder.name("doc.txt")
    place(what, folder.path / "doc.txt", folder.path.parent / "outside.txt")
    seen = folder.only()
    assert (seen.kind, seen.inside) == (kind, inside)
    assert (seen.sha256, seen.bytes, seen.beginning) == (None, None, "")


def test_a_link_to_itself_is_a_link(folder: Folder) -> None:
    folder.name("doc.txt")
    place("link to itself", folder.path / "doc.txt", folder.path.parent / "outside.txt")
    assert (folder.only().kind, folder.only().sha256) == ("link", None)


@pytest.mark.parametrize("name", ["../outside.txt", "a/../../outside.txt", "/etc/hostname", "//etc/hostname"])
def test_a_name_that_leaves_the_folder_is_not_opened(name: str, folder: Folder) -> None:
    (folder.path.parent / "outside.txt").write_text(TEXT)
    (folder.path / "a").mkdir()
    folder.name(name)
    assert (folder.only().inside, folder.only().sha256) == (False, None)


def test_the_absolute_name_of_a_file_inside_is_outside_all_the_same(folder: Folder) -> None:
    folder.add("doc.txt")
    folder.name(str(folder.path / "doc.txt"))
    assert (folder.observe().files[1].inside, folder.observe().files[1].sha256) == (False, None)


def test_a_file_behind_a_linked_folder_is_outside_and_not_opened(folder: Folder) -> None:
    (folder.path.parent / "elsewhere").mkdir()
    (folder.path.parent / "elsewhere" / "doc.txt").write_text(TEXT)
    (folder.path / "sub").symlink_to(folder.path.parent / "elsewhere")
    folder.name("sub/doc.txt")
    assert (folder.only().inside, folder.only().sha256) == (False, None)
    assert folder.observe().unnamed == ["sub"]


@pytest.mark.parametrize("name", ["a\0b.txt", "\0", "x" * 5000, ".", "..", ""])
def test_a_name_that_no_file_can_have_is_an_observation(name: str, folder: Folder) -> None:
    folder.name(name)
    assert (folder.only().kind in ("missing", "folder"), folder.only().sha256) == (True, None)


def test_a_file_that_cannot_be_read_says_why(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.add("doc.txt")
    folder.observe()
    entry = ManifestEntry.model_validate(folder.entries[0])

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")  # root is not stopped by modes

    monkeypatch.setattr(Path, "read_bytes", refuse)
    seen = documents.look_at(folder.path, entry)
    assert (seen.kind, seen.error, seen.sha256) == ("file", "Permission denied", None)


def test_files_that_nobody_named_are_listed_hidden_ones_links_and_pipes_too(folder: Folder) -> None:
    folder.add("named.txt")
    for name in (".hidden", "extra.txt", "sub/.deep/x"):
        (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.path / name).touch()
    os.mkfifo(folder.path / "pipe")
    (folder.path / "link").symlink_to("named.txt")
    (folder.path / "linked folder").symlink_to("sub")
    assert folder.observe().unnamed == [
        ".hidden",
        "extra.txt",
        "link",
        "linked folder",
        "pipe",
        "sub/.deep/x",
    ]


def test_a_name_that_is_no_utf8_is_listed_escaped(folder: Folder) -> None:
    (folder.path / os.fsdecode(b"caf\xe9.txt")).touch()
    assert folder.observe().unnamed == ["caf\\xe9.txt"]


def test_a_name_in_the_other_normalisation_form_is_another_file(folder: Folder) -> None:
    (folder.path / "caf\u00e9.txt").touch()
    folder.name("cafe\u0301.txt")
    observed = folder.observe()
    assert (observed.files[0].kind, observed.unnamed) == ("missing", ["caf\u00e9.txt"])


NO_MANIFEST: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "expecting value"),
    "no JSON": (b"doc-01.txt", "expecting value"),
    "no UTF-8": (b"\xff", "not UTF-8"),
    "a list": (b"[]", "a list"),
    "a key twice": (b'{"documents": [], "documents": []}', "twice"),
    "an unknown key": (b'{"documents": [], "version": 1}', "version"),
    "a missing key": (b'{"documents": [{"id": "a"}]}', "documents.0.file"),
    "a number as an id": (
        b'{"documents": [{"id": 7, "file": "a", "sha256": "", "bytes": 1, "valid": true}]}', "documents.0.id",
    ),
    "bytes as text": (
        b'{"documents": [{"id": "a", "file": "a", "sha256": "", "bytes": "1", "valid": true}]}', "documents.0.bytes",
    ),
    "valid as a number": (
        b'{"documents": [{"id": "a", "file": "a", "sha256": "", "bytes": 1, "valid": 1}]}', "documents.0.valid",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_MANIFEST)
def test_a_manifest_that_is_not_what_it_must_be_says_so(case: str, folder: Folder) -> None:
    data, words = NO_MANIFEST[case]
    (folder.path / "manifest.json").write_bytes(data)
    observed = documents.observe(folder.path / "manifest.json")
    assert words in (observed.manifest_error or "")
    assert (observed.entries, observed.files) == ([], [])
    assert observed.manifest_sha256 == sums.of_bytes(data)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "missing folder"])
def test_a_manifest_that_cannot_be_read_says_so_and_nothing_waits(kind: str, folder: Folder) -> None:
    path = folder.path / "manifest.json"
    if kind == "missing folder":
        path = folder.path / "no" / "manifest.json"
    else:
        place(kind, path, folder.path.parent / "outside.txt")
    observed = documents.observe(path)
    assert observed.manifest_error
    assert (observed.manifest_sha256, observed.entries, observed.unnamed) == (None, [], [])
