"""Files as people save and send them: encodings, sizes, and what is no text."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import pytest

from fixtures.evidence.errors import InputError
from plugins.diagnose import given

TEXT = "RuntimeError: No CUDA GPUs are available — here\r\nsecond line\r\n"


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode("utf-8"),
        codecs.BOM_UTF8 + TEXT.encode("utf-8"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.encode("cp1252"),
    ],
    ids=["utf-8", "utf-8-mark", "powershell", "utf-16-be", "utf-16-le-bare", "utf-16-be-bare", "cp1252"],
)
def test_a_text_is_the_same_in_every_encoding(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "paste.txt"
    path.write_bytes(content)
    assert given.read(str(path)) == given.Given(str(path), TEXT, 0)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "found nothing;"),
        (b" \r\n\t\n", "5 bytes of nothing"),
        (bytes(range(256)) * 4, "bytes that are no text"),
        (b"\x1f\x8b\x08\x00abc", "a file compressed by gzip"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"PK\x03\x04....", "a zip archive"),
    ],
    ids=["empty", "blank", "binary", "gzip", "picture", "zip"],
)
def test_a_file_without_text_is_named_with_what_it_holds_and_what_is_wanted(
    tmp_path: Path, content: bytes, found: str
) -> None:
    path = tmp_path / "paste.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        given.read(str(path))
    assert str(raised.value).startswith(str(path))
    assert found in str(raised.value)
    assert str(raised.value).endswith(f"wanted {given.WANTED}")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not-there: found No such file or directory; wanted a file"):
        given.read(str(tmp_path / "not-there"))
    with pytest.raises(InputError, match=r"found a folder; wanted a file"):
        given.read(str(tmp_path))


def test_of_a_big_file_the_ends_and_what_speaks_of_errors_are_looked_at() -> None:
    filler = b"step 1 loss 0.25 some words\n" * 100_000
    error = b"RuntimeError: CUDA error: no kernel image is available\n"
    content = b"the first line\n" + filler + error + filler + b"the last line\n"
    one = given.of("big.log", io.BytesIO(content))
    assert len(one.text) < len(content) // 4
    assert one.text.startswith("the first line\n")
    assert one.text.endswith("the last line\n")
    assert one.text.splitlines().count(error.decode().strip()) == 1
    assert set(one.text.splitlines()) <= {"", *content.decode().splitlines()}  # no line was cut in two
    assert one.left_out == len(content) - len(one.text.encode()) > 0


def test_a_file_that_is_not_big_is_read_whole() -> None:
    content = b"step 1 loss 0.25 some words\n" * 1000
    assert given.of("small.log", io.BytesIO(content)) == given.Given("small.log", content.decode(), 0)
