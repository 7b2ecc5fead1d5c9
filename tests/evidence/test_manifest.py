"""`python -m fixtures.manifest`: a manifest for somebody's own documents, or a refusal that says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import documents
from fixtures import manifest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    "letter.txt",
    "with space.txt",
    'quote".txt',
    "line\nbreak.txt",
    "漢字.txt",
    "sub/deep.txt",
    "broken.pdf",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    for number, name in enumerate(FILES):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"\xff" * number)
    (path / ".DS_Store").touch()
    return path


def test_what_it_makes_is_accepted_as_it_is(folder: Path) -> None:
    (folder / ".DS_Store").unlink()
    given = [
        str(folder),
        "--invalid",
        "broken.pdf",
        "--expect",
        "letter.txt=contract",
        "--expect",
        "sub/deep.txt=a=b",
    ]
    assert manifest.main(given) == 0
    observed = documents.observe(folder / "manifest.json")
    assert (observed.manifest_error, observed.unnamed) == (None, [])
    assert {entry.file for entry in observed.entries} == set(FILES)
    assert [entry.id for entry in observed.entries] == [
        f"doc-{number:02}" for number in range(1, len(FILES) + 1)
    ]
    files = {file.id: file for file in observed.files}
    for entry in observed.entries:
        assert (files[entry.id].sha256, files[entry.id].bytes) == (entry.sha256, entry.bytes)
        assert entry.valid == (entry.file != "broken.pdf")
        assert entry.category == {"letter.txt": "contract", "sub/deep.txt": "a=b"}.get(entry.file)


def test_as_a_command_it_says_what_it_wrote(folder: Path) -> None:
    command = [sys.executable, "-m", "fixtures.manifest", str(folder), "--invalid", "broken.pdf"]
    end = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (end.returncode, end.stderr) == (0, "")
    assert end.stdout == f"{folder}/manifest.json: 7 documents, 1 of them reserved as invalid\n"


def test_without_an_invalid_case_it_reminds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert manifest.main([str(folder)]) == 0
    assert "--invalid" in capsys.readouterr().err


def test_a_manifest_that_is_there_is_replaced_only_when_told_so(folder: Path) -> None:
    (folder / "manifest.json").write_text("mine")
    assert manifest.main([str(folder)]) == 2
    assert (folder / "manifest.json").read_text() == "mine"
    assert manifest.main([str(folder), "--force"]) == 0
    assert len(json.loads((folder / "manifest.json").read_text())["documents"]) == len(FILES)


def test_no_key_is_written_that_nothing_was_said_about(folder: Path) -> None:
    manifest.main([str(folder)])
    entries = json.loads((folder / "manifest.json").read_text())["documents"]
    assert {key for entry in entries for key in entry} == {"id", "file", "sha256", "bytes", "valid"}


def test_hidden_files_are_left_out_and_a_hundred_identifiers_keep_their_order(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:03}.txt").touch()
    ids = [entry.id for entry in manifest.make(tmp_path, [], {}).documents]
    assert (ids[0], ids[-1], sorted(ids)) == ("doc-001", "doc-100", ids)


REFUSED: dict[str, tuple[list[str], str]] = {
    "a folder that is none": (["no such folder"], "found no folder"),
    "a file": (["mine/letter.txt"], "found no folder"),
    "an empty folder": (["empty"], "found no file, wanted documents"),
    "an invalid file that is not there": (["mine", "--invalid", "gone.txt"], "found no file 'gone.txt'"),
    "an expected file that is not there": (["mine", "--expect", "gone.txt=a"], "found no file 'gone.txt'"),
    "a hidden file by name": (["mine", "--invalid", ".DS_Store"], "found no file '.DS_Store'"),
    "a file both invalid and expected": (
        ["mine", "--invalid", "letter.txt", "--expect", "letter.txt=a"], "both invalid and an expected category",
    ),
    "an expectation without a category": (["mine", "--expect", "letter.txt"], "wanted FILE=CATEGORY"),
    "an expectation of nothing": (["mine", "--expect", "letter.txt="], "wanted FILE=CATEGORY"),
    "a name that cannot be written in JSON": (["latin"], "caf\\xe9.txt"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_refuses(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder.parent / "empty").mkdir()
    (folder.parent / "latin").mkdir()
    (folder.parent / "latin" / os.fsdecode(b"caf\xe9.txt")).touch()
    monkeypatch.chdir(folder.parent)
    arguments, words = REFUSED[case]
    assert manifest.main(arguments) == 2
    assert words in capsys.readouterr().err
    assert not list(folder.parent.rglob("manifest.json"))


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_stands_in_the_place_of_the_manifest_is_not_followed(kind: str, folder: Path) -> None:
    other = folder.parent / "other.json"
    other.write_text("other")
    if kind == "link":
        (folder / "manifest.json").symlink_to(other)
    else:
        (folder / "manifest.json").mkdir()
    assert manifest.main([str(folder)]) == 2
    assert manifest.main([str(folder), "--force"]) == (0 if kind == "link" else 2)
    assert other.read_text() == "other"
