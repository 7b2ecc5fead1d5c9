"""The environment held against a file of exact versions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures import requirements
from fixtures.evidence.ladder import Requirements
from fixtures.evidence.models import Interpreter

OLD = Interpreter(
    executable="python",
    real_path="python",
    version="3.8.18",
    prefix="/",
    base_prefix="/",
    implementation="cpython",
)
INSTALLED = {"torch": "2.8.0+cu130", "numpy": "2.3.4", "pip": "25.0", "typing-extensions": "4.12"}


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., Requirements]:
    """Holds what is installed against lines of a file."""

    def run(
        *lines: str, installed: dict[str, str] | None = None, interpreter: Interpreter | None = OLD
    ) -> Requirements:
        file = tmp_path / "requirements.txt"
        file.write_text("\n".join(lines), encoding="utf-8")
        return requirements.compare(file, "requirements.txt", installed or INSTALLED, interpreter)

    return run


def test_the_same_versions_differ_in_nothing_and_tools_are_not_extra(compare: Callable) -> None:
    same = compare(
        "torch==2.8.0+cu130", "NumPy == 2.3.4  # why", "", "# a comment", "typing_extensions==4.12"
    )
    assert same == Requirements(file="requirements.txt", missing={}, other={}, extra=[])


@pytest.mark.parametrize(
    ("wanted", "found", "met"),
    [
        ("==2.8.0", "2.8.0", True),
        ("==2.8.0", "2.8.0+cu130", True),
        ("==2.8", "2.8.0", True),
        ("==2.8.0+cu130", "2.8.0+cu130", True),
        ("==2.8.0+cu130", "2.8.0+cpu", False),
        ("==2.8.0+cu130", "2.8.0", False),
        ("==2.8.0", "2.8.1", False),
        ("==2.9.0.dev20251201", "2.9.0.dev20251201", True),
        (">=2.8", "2.9.0rc1", True),
        (">=2.8", "2.8.0rc1", False),
        ("", "anything at all", True),
        ("==2.8.0", "2.6.0 and 2.8.0", False),
        ("===2024-patched", "2024-patched", True),
        ("===2024-patched", "2024", False),
    ],
)
def test_versions_are_compared_as_pip_does(wanted: str, found: str, met: bool, compare: Callable) -> None:
    seen = compare(f"torch{wanted}", installed={"torch": found})
    assert (seen.missing, bool(seen.other)) == ({}, not met)


def test_what_is_missing_other_or_extra_is_told_in_words(compare: Callable) -> None:
    seen = compare("torch==2.8.0+cpu", "flash-attn==2.7.4")
    assert seen.missing == {"flash-attn": "2.7.4"}
    assert seen.other == {"torch": "wanted 2.8.0+cpu, found 2.8.0+cu130"}
    assert seen.extra == ["numpy", "typing-extensions"]


@pytest.mark.parametrize(
    ("marker", "counts"),
    [
        ('python_version < "3.9"', True),
        ('python_version >= "3.9"', False),
        ('python_full_version == "3.8.18"', True),
        ('platform_python_implementation == "CPython"', True),
        ('platform_python_implementation == "PyPy"', False),
        ('sys_platform == "win32"', False),
        ('extra == "dev"', False),
    ],
)
def test_markers_are_those_of_the_applications_python(marker: str, counts: bool, compare: Callable) -> None:
    assert bool(compare(f"absent==1; {marker}").missing) == counts


def test_options_hashes_and_addresses_are_read_as_pip_reads_them(compare: Callable, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("numpy==1.26\n")
    seen = compare(
        "--extra-index-url https://download.pytorch.org/whl/cu130",
        "-c constraints.txt",
        "-r more.txt",
        "torch==2.8.0 \\",
        "    --hash=sha256:00",
        "typing-extensions @ https://example.org/typing_extensions-4.12-py3-none-any.whl",
        "-e git+https://example.org/mine.git#egg=my_own",
        "./a/folder",
    )
    assert seen.problem is None
    assert seen.other == {"numpy": "wanted 1.26, found 2.3.4"}
    assert list(seen.missing) == ["my-own"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "requirements.txt: No such file or directory"),
        (b"torch==2.8.0\n!!\n", "requirements.txt, line 2: no requirement: !!"),
        (b"torch=2.8.0\n", "requirements.txt, line 1: no requirement: torch=2.8.0"),
        (b"\x80\n", "requirements.txt: bytes that are no UTF-8"),
        (b"# nothing yet\n", "requirements.txt: names no package"),
        (
            b"numpy; python_version < '2'\n",
            "requirements.txt: no package in it is for this Python and system",
        ),
        (b"-r requirements.txt\n", "more than 8 files that name one another"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_problem_with_its_place(
    data: bytes | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "requirements.txt"
    if data is not None:
        file.write_bytes(data)
    seen = requirements.compare(file, "requirements.txt", INSTALLED, None)
    assert words in (seen.problem or "")
    assert (seen.missing, seen.other, seen.extra) == ({}, {}, [])


def test_the_file_that_powershell_writes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.8.0+cu130\r\n", encoding="utf-16")
    seen = requirements.compare(file, "requirements.txt", INSTALLED, OLD)
    assert (seen.problem, seen.other, seen.missing) == (None, {}, {})


def test_a_pipe_is_no_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "requirements.txt")
    seen = requirements.compare(tmp_path / "requirements.txt", "requirements.txt", INSTALLED, None)
    assert seen.problem == "requirements.txt: a folder, a pipe or a device, and no regular file"


@pytest.mark.parametrize("line", ["absent @ https://user:secretpw@x/a.whl", "https://user:secretpw@x/a !!"])
def test_the_password_in_an_address_is_not_kept(line: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"numpy\n{line}\nalso-absent\n")
    seen = requirements.compare(file, "requirements.txt", INSTALLED, None)
    assert "secretpw" not in seen.model_dump_json()
