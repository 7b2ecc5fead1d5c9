"""Files that another process writes to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.growing import Growing
from fixtures.growing import Telling


def test_lines_are_counted_as_they_are_added(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    file = Growing(str(path))
    assert (file.found, file.count) == (False, 0)
    path.write_text("{}\n{}\n{")
    assert file.look() == b"{}\n{}\n{"
    with path.open("a") as stream:
        stream.write("}\n")
    assert file.look() == b"}\n"
    assert (file.look(), file.count, file.fell_to) == (b"", 3, None)


def test_a_file_that_is_there_already_is_found_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("{}\n{}\n")
    file = Growing(str(path))
    assert (file.found, file.count, file.fell_to) == (True, 2, None)


def cut(path: Path) -> None:
    os.truncate(path, 3)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("{}\n" * 9)
    os.replace(other, path)


@pytest.mark.parametrize(("change", "lines", "fell_to"), [(cut, 1, 3), (replace, 9, 27), (Path.unlink, 0, 0)])
def test_a_file_that_lost_something_is_seen_and_counted_anew(
    change: object, lines: int, fell_to: int, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("{}\n" * 4)
    file = Growing(str(path))
    assert callable(change)
    change(path)
    file.look()
    file.look()
    path.exists() or path.write_text("")
    file.look()
    assert (file.count, file.fell_to) == (lines, fell_to)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert Growing(str(tmp_path / "pipe")).look() == b""


def test_the_document_told_last_is_known_also_when_its_line_comes_in_two(tmp_path: Path) -> None:
    path = tmp_path / "told.jsonl"
    told = Telling(str(path))
    assert told.document is None
    for text, document in (
        ('{"document": "doc-01"}\n{"docu', "doc-01"),
        ('ment": "doc-02"}\n', "doc-02"),
        ('{"parts": {"weights": 5}}\n', "doc-02"),
        ('no JSON, "document"\n{"document": 5}\n["document"]\n', "doc-02"),
        ('{"document": "doc-03"}\n{"document": null}\n', "doc-03"),
    ):
        with path.open("a") as stream:
            stream.write(text)
        assert told.look() == text.encode()
        assert told.document == document
