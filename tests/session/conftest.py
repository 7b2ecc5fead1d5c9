"""A bench whose processes can be found and are ended, and a project folder that tests add checks to."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pilot.bench import Bench
from tests.pilot.bench import ROOT
from tests.session import processes

#: what the suite consists of; `fixtures` without the embedded application, which no test here starts
_PARTS = ("conftest.py", "pyproject.toml", "fixtures", "plugins", "suites", "config")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A renter's folder on a machine that has the card it ordered, so that `go` is within reach of every run.

    Its application runs once; tests that are about all runs set `always` to ().
    """
    made = Bench(tmp_path / "renter")
    made.environment[processes.MARK] = uuid.uuid4().hex
    made.pretend_cards("NVIDIA H200")
    made.always = ("--once",)
    yield made
    processes.end_all(made)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite copied, with the checks of ./checks in it as far as TRAP names them."""
    folder = tmp_path_factory.mktemp("project")
    for part in _PARTS:
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "classifier"))
        else:
            shutil.copy2(source, target)
    for check in Path(__file__).parent.glob("checks/*.py"):
        shutil.copy2(check, folder / "suites" / "gpu" / f"test_zz_{check.name}")
    return folder


@pytest.fixture
def trapped(bench: Bench, project: Path) -> Bench:
    """A bench whose suite holds the checks that TRAP in its environment names."""
    bench.project = project
    return bench
