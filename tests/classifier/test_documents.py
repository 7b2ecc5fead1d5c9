"""Reading and refusing, without torch."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from fixtures.classifier.documents import LARGEST
from fixtures.classifier.documents import read_document
from fixtures.classifier.documents import read_manifest
from fixtures.classifier.documents import Refused
from fixtures.classifier.errors import Failure
from fixtures.classifier.errors import USAGE

LETTERS = b"twelve letters and more"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\t\xe3\x80\x80 ", "empty: only white space", id="white-space"),
        pytest.param(b"\xef\xbb\xbf", "empty", id="only-a-byte-order-mark"),
        pytest.param(b"plain text at first \xff then not", "not valid UTF-8 at byte 20", id="bad-byte"),
        pytest.param(LETTERS + b"\xe4\xb8", "not valid UTF-8 at byte 23", id="cut-in-a-character"),
        pytest.param("überwiesen wurden".encode("utf-16"), "not valid UTF-8 at byte 0", id="utf-16"),
        pytest.param(b"\xed\xa0\x80" + LETTERS, "not valid UTF-8 at byte 0", id="surrogate"),
        pytest.param(LETTERS + b"\0rest", "binary: NUL at byte 23", id="nul"),
        pytest.param(b"12.50 + 7 = only 6", "too short: 4 letters, at least 12 are needed", id="few-letters"),
        pytest.param(b"1" * 50, "too short: 0 letters, at least 12 are needed", id="digits"),
        pytest.param(
            b"a" * (LARGEST + 5), f"too large: {LARGEST + 5} bytes, at most {LARGEST} are read", id="large"
        ),
    ],
)
def test_a_document_that_is_no_text_is_refused_with_the_reason(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "document.txt"
    path.write_bytes(data)
    with pytest.raises(Refused) as refused:
        read_document(path)
    assert str(refused.value) == reason


def test_the_largest_document_and_the_shortest_are_read(tmp_path: Path) -> None:
    path = tmp_path / "document.txt"
    path.write_bytes(b"a" * LARGEST)
    assert len(read_document(path)) == LARGEST
    path.write_bytes("\ufeff发票号码合计金额请于月底前付款".encode())
    assert read_document(path) == "发票号码合计金额请于月底前付款"


def test_what_is_not_a_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_bytes(LETTERS)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))
        reasons = {
            name: _reason(tmp_path / name)
            for name in (
                "pipe",
                "folder",
                "socket",
                "circle",
                "absent",
                "file/below",
                "a" * 300,
                "n\0l",
                "\ud800",
            )
        }
    assert reasons == {
        "pipe": "not a regular file",
        "folder": "not a regular file",
        "socket": "not a regular file",
        "circle": "unreadable: Too many levels of symbolic links",
        "absent": "missing: no such file",
        "file/below": "missing: no such file",
        "a" * 300: "unreadable: File name too long",
        "n\0l": "unreadable: not a possible file name",
        "\ud800": "unreadable: not a possible file name",
    }


def test_a_file_that_cannot_be_opened_or_read_is_refused_with_the_systems_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "document.txt"
    path.write_bytes(LETTERS)

    def broken(*arguments: object, **named: object) -> None:
        raise OSError(5, "Input/output error")

    def forbidden(*arguments: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", broken)
        assert _reason(path) == "unreadable: Input/output error"
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", forbidden)
        assert _reason(path) == "unreadable: Permission denied"


def _reason(path: Path) -> str:
    with pytest.raises(Refused) as refused:
        read_document(path)
    return str(refused.value)


def test_a_manifest_is_read_in_order_and_other_keys_are_ignored(tmp_path: Path) -> None:
    entries = [{"id": "b", "file": "../x/b.txt", "sha256": 3}, {"id": "a/../a", "file": "/abs/a.txt"}]
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"documents": entries, "more": []}))
    assert [(document.id, document.path) for document in read_manifest(path)] == [
        ("b", tmp_path / "../x/b.txt"),
        ("a/../a", Path("/abs/a.txt")),
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param("{", "not JSON in UTF-8", id="not-json"),
        pytest.param("[" * 100_000, "not JSON in UTF-8", id="deep"),
        pytest.param("[]", "an object with a list 'documents'", id="a-list"),
        pytest.param('{"documents": {}}', "an object with a list 'documents'", id="no-list"),
        pytest.param('{"documents": ["a"]}', "document 1: 'id' should be a text", id="no-object"),
        pytest.param('{"documents": [{"id": 1, "file": "a"}]}', "document 1: 'id' should be a text", id="id"),
        pytest.param('{"documents": [{"id": "a"}]}', "document 1: 'file' should be a text", id="no-file"),
        pytest.param(
            '{"documents": [{"id": "a", "file": "a"}, {"id": "a", "file": "b"}]}',
            "document 2: id 'a' is there twice",
            id="twice",
        ),
    ],
)
def test_a_broken_manifest_is_one_line_that_says_where(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(Failure) as failure:
        read_manifest(path)
    assert failure.value.code == USAGE
    assert str(path) in str(failure.value)
    assert what in str(failure.value)
    assert "\n" not in str(failure.value)


def test_an_absent_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"absent\.json: No such file"):
        read_manifest(tmp_path / "absent.json")
