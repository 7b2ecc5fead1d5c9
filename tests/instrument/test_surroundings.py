"""What an application has no business with, compared before and after; and who else may write there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import surroundings
from fixtures.evidence import trial as store
from tests.instrument.making import until


def _changes(
    folder: Path, change: str, name: str, *, complete: bool = False
) -> dict[str, surroundings.Change]:
    """What is seen when a file below `folder` appears, changes or vanishes."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if change != "appeared":
        path.write_text("before")
    before = surroundings.snapshot(folder, set(), complete=complete)
    path.unlink() if change == "vanished" else path.write_text("and after")
    return surroundings.changes(before, surroundings.snapshot(folder, set(), complete=complete))


SEEN = [
    "data.csv",
    "folder/data.csv",
    "module.py",
    "README.md",
    "pyproject.toml",
    ".hidden",
    "venv-like/pyvenv.txt",
]


@pytest.mark.parametrize("change", ["appeared", "changed", "vanished"])
@pytest.mark.parametrize("name", SEEN)
def test_a_file_that_is_no_longer_as_it_was_is_seen(name: str, change: str, tmp_path: Path) -> None:
    assert _changes(tmp_path, change, name) == {str(tmp_path / name): change}


PASSED_OVER = [".git/index", "__pycache__/module.pyc", "node_modules/x/y.js", "README.md~", ".README.md.swp"]


@pytest.mark.parametrize("name", PASSED_OVER)
def test_what_others_write_is_passed_over_unless_all_is_compared(name: str, tmp_path: Path) -> None:
    assert _changes(tmp_path / "project", "appeared", name) == {}
    assert list(_changes(tmp_path / "documents", "appeared", name, complete=True)) == [
        str(tmp_path / "documents" / name)
    ]


def test_an_environment_is_passed_over_and_a_project_that_is_one_is_not(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "venv"):
        folder.mkdir(exist_ok=True)
        (folder / "pyvenv.cfg").touch()
    assert _changes(tmp_path, "appeared", "venv/bin/tool") == {}
    assert list(_changes(tmp_path, "appeared", "data.csv")) == [str(tmp_path / "data.csv")]


def test_a_link_is_seen_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path / "elsewhere")
    assert list(surroundings.snapshot(project, set())) == [str(project / "link")]


def test_every_file_of_a_large_folder_is_compared(tmp_path: Path) -> None:
    """More than any limit that somebody set to save time, the last folder included."""
    for name, number in (("a", 50_001), ("b", 1)):
        (tmp_path / name).mkdir()
        for n in range(number):
            os.mknod(tmp_path / name / f"{n}")
    assert len(surroundings.snapshot(tmp_path, set())) == 50_002


def test_a_source_may_change_and_not_appear_or_vanish() -> None:
    found: dict[str, surroundings.Change] = {
        "/p/a.py": "changed", "/p/b.py": "appeared", "/p/c.md": "vanished", "/p/d.csv": "changed",
    }  # fmt: skip
    assert set(surroundings.not_edited(found)) == {"/p/b.py", "/p/c.md", "/p/d.csv"}


@pytest.mark.parametrize(("mode", "held"), [("w", True), ("a", True), ("r", False)])
def test_a_file_is_held_by_whoever_can_write_to_it(mode: str, held: bool, tmp_path: Path) -> None:
    path, other = tmp_path / "run.log", tmp_path / "other.log"
    path.touch()
    other.touch()
    code = f"f = open({str(path)!r}, {mode!r}); print(flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert surroundings.held_open([str(path), str(other)]) == ({str(path)} if held else set())
    finally:
        holder.communicate()
    until(lambda: surroundings.held_open([str(path)]) == set())


def test_a_file_is_held_under_whatever_name_its_folder_has(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with (tmp_path / "real" / "run.log").open("w"):
        assert surroundings.held_open([str(tmp_path / "link" / "run.log")]) == {
            str(tmp_path / "link" / "run.log")
        }


def _trial(folder: Path) -> Path:
    for name in (
        "trial.json",
        "evidence/launch.json",
        "evidence/application/stdout.txt",
        ".locks/x",
        store.CHECKS,
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    return folder


def test_what_is_known_when_the_application_starts_is_sealed(tmp_path: Path) -> None:
    trial = _trial(tmp_path)
    sealed = surroundings.seal(trial, trial / "evidence" / "application")
    assert set(sealed) == {str(trial / "trial.json"), str(trial / "evidence" / "launch.json")}


def test_a_sealed_file_with_the_old_time_and_size_has_changed(tmp_path: Path) -> None:
    trial = _trial(tmp_path)
    before = surroundings.seal(trial, trial / "evidence" / "application")
    path, times = trial / "trial.json", (trial / "trial.json").stat()
    path.write_text("[]")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    (trial / "evidence" / "copy.json").symlink_to("launch.json")
    after = surroundings.seal(trial, trial / "evidence" / "application")
    assert surroundings.changes(before, after) == {
        str(path): "changed", str(trial / "evidence" / "copy.json"): "appeared",
    }  # fmt: skip
