"""How a trial begins: the device, the interpreter, the paths and the references."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures.evidence import sums
from fixtures.evidence.base import InputError
from fixtures.evidence.parameters import Parameters
from plugins import opening
from tests.evidence import making
from tests.plugins.making import config
from tests.plugins.making import inventory

NVIDIA, AMD = ("nvidia", "NVIDIA H200"), ("amd", "AMD Instinct MI300X")
RESOLVED: list[tuple[Any, list[tuple[str, str]], str]] = [
    ("auto", [NVIDIA], "cuda"),
    ("auto", [NVIDIA, NVIDIA], "cuda"),
    ("auto", [AMD], "rocm"),
    ("auto", [], "auto"),
    ("auto", [NVIDIA, AMD], "auto"),
    ("cuda", [], "cuda"),
    ("cuda", [AMD], "cuda"),
    ("rocm", [NVIDIA], "rocm"),
    ("cpu", [NVIDIA], "cpu"),
    ("cpu", [], "cpu"),
]


@pytest.mark.parametrize(("asked", "cards", "device"), RESOLVED)
def test_auto_takes_the_vendor_that_is_there_and_anything_else_stays(
    asked: Any, cards: list[tuple[str, str]], device: str
) -> None:
    assert opening.resolve(asked, inventory(*cards)) == device


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.sampled_from(["auto", "cuda", "rocm"]), st.lists(st.sampled_from([NVIDIA, AMD]), max_size=4))
def test_nothing_but_cpu_becomes_a_rehearsal(asked: Any, cards: list[tuple[str, str]]) -> None:
    assert opening.scope_of(opening.resolve(asked, inventory(*cards))) == "rental"
    assert opening.scope_of(opening.resolve("cpu", inventory(*cards))) == "rehearsal"


def parameters(**application: Any) -> Parameters:
    given = {**making.PARAMETERS, "application": {**making.PARAMETERS["application"], **application}}
    return Parameters.model_validate(given)


def test_the_interpreter_is_the_suites_own_unless_another_is_named(tmp_path: Path) -> None:
    assert opening._interpreter(parameters(), tmp_path) == sys.executable


@pytest.mark.parametrize("asked", ["env/bin/python", "./env/bin/python", "../x/python"])
def test_a_path_to_an_interpreter_is_relative_to_the_project_and_its_links_are_kept(
    asked: str, tmp_path: Path
) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    assert opening._interpreter(parameters(python=asked), tmp_path) == os.path.normpath(tmp_path / asked)


def test_a_bare_name_is_looked_up_and_one_that_is_not_there_stays(tmp_path: Path) -> None:
    assert opening._interpreter(parameters(python="sh"), tmp_path) == shutil.which("sh")
    assert opening._interpreter(parameters(python="no-such-python"), tmp_path) == "no-such-python"


def test_the_place_of_the_copy_is_relative_to_the_project_or_to_where_the_option_was_given(
    tmp_path: Path,
) -> None:
    here, project = tmp_path / "here", tmp_path / "project"
    given = Parameters.model_validate({**making.PARAMETERS, "copy_to": "../copies"})
    assert opening._copy_to(config(here, project), given) == str(tmp_path / "copies")
    assert opening._copy_to(config(here, project, copy_to="mine"), given) == str(here / "mine")
    assert opening._copy_to(config(here, project, copy_to="/mine"), given) == "/mine"
    assert opening._copy_to(config(here, project), parameters()) is None


def test_reports_are_in_the_project_or_where_the_option_says(tmp_path: Path) -> None:
    here, project = tmp_path / "here", tmp_path / "project"
    assert opening.reports_folder(config(here, project)) == project / "reports"
    assert opening.reports_folder(config(here, project, reports="mine")) == here / "mine"


def test_a_reference_is_the_sum_of_its_file_or_one_over_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_bytes(b"w")
    assert opening._reference(folder / "weights") == sums.of_bytes(b"w")
    before = opening._reference(folder)
    for name in ("b", os.fsdecode(b"caf\xe9")):
        (folder / name).write_bytes(b"x")
        after = opening._reference(folder)
        assert len(after) == 64
        assert after != before
        before = after
    (folder / "b").rename(folder / "c")
    assert opening._reference(folder) != before


@pytest.mark.parametrize("kind", ["missing", "pipe"])
def test_a_reference_that_cannot_be_read_says_why_and_nothing_waits(kind: str, tmp_path: Path) -> None:
    if kind == "pipe":
        os.mkfifo(tmp_path / "model")
    assert opening._reference(tmp_path / "model").startswith("unreadable: ")


@pytest.mark.parametrize(
    ("target", "refused"), [("documents", True), ("documents/copies", True), ("copies", False)]
)
def test_a_place_among_the_documents_is_refused(target: str, refused: bool, tmp_path: Path) -> None:
    """What is copied there would be taken for documents by the next trial."""
    parameters = making.record("t", tmp_path).parameters
    (tmp_path / "documents").mkdir()
    wanted = pytest.raises(InputError) if refused else contextlib.nullcontext()
    with wanted:
        opening._apart(tmp_path / "pilot.json", "copy_to", str(tmp_path / target), tmp_path, parameters)
