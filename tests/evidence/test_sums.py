"""Sums as GNU sha256sum writes and reads them, whatever a file is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures.evidence import sums

NAMES = [
    "plain.txt", "with spaces  twice.txt", " leading", "trailing ", "new\nline.txt", "carriage\rreturn", "back\\slash",
    "not a\\nline break", "\\\\double", "quote'\"", "*star", "-dash", "ünïcödé.txt", "漢字", "e\u0301 and \u00e9",
    "separator\u2028inside", "next\x85line", "form\x0cfeed", "tab\tbed", "deep/er/file.txt", ".hidden", "# comment",
]  # fmt: skip
NOT_UTF8 = os.fsdecode(b"caf\xe9.txt")


def filled(folder: Path, names: list[str]) -> Path:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"content {number}".encode())
    return folder


def sealed(folder: Path, names: list[str]) -> Path:
    filled(folder, names)
    listed = [(name, sums.of_file(folder / name)) for name in sums.files_below(folder)]
    (folder / sums.NAME).write_bytes(sums.render(listed).encode("utf-8", "surrogateescape"))
    return folder


def test_every_name_survives_writing_and_reading() -> None:
    listed = [(name, sums.of_bytes(name.encode())) for name in NAMES]
    assert sums.parse(sums.render(listed)) == dict(listed)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(names | st.text("\\nr\n\r a", min_size=1, max_size=8), unique=True, max_size=5))
def test_any_names_survive_writing_and_reading(listed: list[str]) -> None:
    pairs = [(name, sums.of_bytes(name.encode())) for name in listed]
    assert sums.parse(sums.render(pairs)) == dict(pairs)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum on this machine")
def test_gnu_sha256sum_verifies_the_folder(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "trial", [*NAMES, NOT_UTF8])
    end = subprocess.run(
        ["sha256sum", "-c", "--strict", "--quiet", sums.NAME], cwd=folder, capture_output=True
    )
    assert (end.returncode, end.stdout, end.stderr) == (0, b"", b"")


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum on this machine")
def test_what_gnu_sha256sum_writes_is_read(tmp_path: Path) -> None:
    folder = filled(tmp_path / "trial", [*NAMES, NOT_UTF8])
    written = subprocess.check_output(["sha256sum", "--", *sums.files_below(folder)], cwd=folder)
    (folder / sums.NAME).write_bytes(written)
    assert sums.differences(folder) == []


def test_a_folder_that_nobody_touched_has_no_difference(tmp_path: Path) -> None:
    assert sums.differences(sealed(tmp_path, [*NAMES, NOT_UTF8])) == []


def test_differences_name_what_was_altered_what_is_missing_and_what_was_added(tmp_path: Path) -> None:
    folder = sealed(tmp_path, ["altered\n", "missing", "same", "b/replaced by a link"])
    (folder / "altered\n").write_bytes(b"content x")
    (folder / "missing").unlink()
    (folder / "b" / "added").write_bytes(b"")
    (folder / "b" / "replaced by a link").unlink()
    (folder / "b" / "replaced by a link").symlink_to(folder / "same")
    assert sums.differences(folder) == [
        "altered\n: altered", f"b/added: not in {sums.NAME}", "b/replaced by a link: missing", "missing: missing",
    ]  # fmt: skip


def test_a_file_whose_name_is_no_utf8_is_named_so_that_it_can_be_written_down(tmp_path: Path) -> None:
    folder = sealed(tmp_path, [])
    (folder / NOT_UTF8).write_bytes(b"")
    assert sums.differences(folder) == [f"caf\\xe9.txt: not in {sums.NAME}"]


@pytest.mark.parametrize(
    "line", ["no sum at all", "abc  short", "f" * 64, "f" * 64 + " one space", "\\", "  "]
)
def test_a_line_of_another_form_never_agrees(line: str, tmp_path: Path) -> None:
    folder = sealed(tmp_path, ["same"])
    with (folder / sums.NAME).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    assert len(sums.differences(folder)) == 1


def test_a_path_that_leaves_the_folder_never_agrees(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    folder = sealed(tmp_path / "trial", ["same"])
    (folder / sums.NAME).write_text(sums.render([("../outside", sums.of_bytes(b"x"))]), encoding="utf-8")
    assert "../outside: missing" in sums.differences(folder)


def test_sums_of_binary_rubbish_are_all_differences(tmp_path: Path) -> None:
    folder = sealed(tmp_path, ["same"])
    (folder / sums.NAME).write_bytes(b"\xff\xfe\x00\n")
    assert len(sums.differences(folder)) == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sealed(tmp_path, ["one"])

    def refuse(path: Path) -> str:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(sums, "of_file", refuse)
    assert sums.differences(folder) == ["one: cannot be read"]


def test_without_sums_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sums.differences(tmp_path)


def test_the_sum_of_a_file_is_that_of_its_bytes_also_beyond_one_read(tmp_path: Path) -> None:
    data = os.urandom(1 << 10) * 2100
    (tmp_path / "large").write_bytes(data)
    assert sums.of_file(tmp_path / "large") == sums.of_bytes(data)
    assert sums.of_bytes(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "missing"])
def test_what_is_no_regular_file_has_no_sum_and_does_not_wait(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    with pytest.raises(OSError, match=r".+"):
        sums.of_file(path)
