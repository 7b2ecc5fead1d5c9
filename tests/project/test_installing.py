"""Installing replaces no torch, and puts none of our modules on anybody's path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.readme import ROOT

pytestmark = pytest.mark.slow
OURS = ("plugins", "fixtures", "suites", "tests", "conftest")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as it is carried: what git tracks, without git."""
    target = tmp_path_factory.mktemp("carried") / "gpu-pilot"
    left = shutil.ignore_patterns(
        ".git", ".venv*", "reports", "__pycache__", "*.egg-info", ".*_cache", "corpus"
    )
    shutil.copytree(ROOT, target, ignore=left)
    return target


@pytest.fixture(scope="module")
def rental(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a rental that came with a torch of its own, after the suite was installed into it."""
    folder = tmp_path_factory.mktemp("rental") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = _out(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
    (Path(site) / "torch").mkdir()
    (Path(site) / "torch" / "__init__.py").write_text("__version__ = '2.7.0+rental'\n")
    information = Path(site) / "torch-2.7.0+rental.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.7.0+rental\n")
    (information / "RECORD").write_text("torch/__init__.py,,\n")
    (information / "INSTALLER").write_text("provider\n")
    for extras in ("", "[embedded]"):
        command = [str(python), "-m", "pip", "install", "--quiet", "-e", f"{project}{extras}"]
        end = subprocess.run(command, capture_output=True, text=True)
        assert end.returncode == 0, end.stderr
    return python


def test_the_torch_that_was_there_is_untouched(rental: Path) -> None:
    assert _out(rental, "import torch; print(torch.__version__)") == "2.7.0+rental"
    listed = _out(
        rental, "from importlib.metadata import distributions as d; print(*[x.name for x in d()])"
    ).split()
    assert listed.count("torch") == 1
    assert not [name for name in listed if name.startswith("nvidia-c")], "a CUDA runtime came along"


@pytest.mark.parametrize("module", OURS)
def test_no_module_of_ours_can_be_imported_from_elsewhere(rental: Path, tmp_path: Path, module: str) -> None:
    code = f"import importlib.util as u; print(u.find_spec({module!r}))"
    assert _out(rental, code, tmp_path) == "None"


@pytest.mark.parametrize("module", OURS[:3])
def test_a_package_of_the_renter_with_that_name_keeps_working(
    rental: Path, tmp_path: Path, module: str
) -> None:
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text("mine = True\n")
    assert _out(rental, f"import {module}; print({module}.mine)", tmp_path) == "True"


def test_the_suite_works_beside_installed_packages_of_the_same_names(rental: Path, project: Path) -> None:
    site = Path(_out(rental, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    for module in OURS[:3]:
        (site / module).mkdir()
        (site / module / "__init__.py").write_text("raise ImportError('the wrong package')\n")
    try:
        command = [str(rental.parent / "pytest"), "suites/gpu", "--co", "-q", "--device", "cpu"]
        end = subprocess.run(command, cwd=project, capture_output=True, text=True, env=_clean())
        assert end.returncode == 0, end.stdout + end.stderr
        assert "test_no_identifier_is_invented" in end.stdout
    finally:
        for module in OURS[:3]:
            shutil.rmtree(site / module)


def _out(python: Path, code: str, folder: Path | None = None) -> str:
    end = subprocess.run(
        [str(python), "-c", code], cwd=folder or python.parent, capture_output=True, text=True, env=_clean()
    )
    assert end.returncode == 0, end.stderr
    return end.stdout.strip()


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
