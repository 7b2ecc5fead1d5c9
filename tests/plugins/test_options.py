"""Which suite the arguments name, and whether they take the whole of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plugins import options
from plugins.options import Asked
from tests.plugins.making import config

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "suites" / "gpu"

WHOLE: list[tuple[Path, list[str]]] = [
    (ROOT, ["suites/gpu"]), (ROOT, ["suites/gpu/"]), (ROOT, ["./suites/../suites/gpu"]), (ROOT, [str(SUITE)]),
    (SUITE, ["."]), (SUITE, [".."+"/gpu"]), (ROOT / "tests", ["../suites/gpu"]),
    (ROOT, ["suites/gpu", "suites/gpu/test_launch.py"]),
]  # fmt: skip


@pytest.mark.parametrize(("here", "args"), WHOLE)
def test_the_whole_suite_is_asked_for_however_it_is_written(here: Path, args: list[str]) -> None:
    assert options.asked(config(here, ROOT, *args)) == Asked("gpu", None)


def test_a_link_to_the_suite_is_the_suite(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(SUITE)
    assert options.asked(config(tmp_path, ROOT, "link")) == Asked("gpu", None)


PARTS: list[list[str]] = [
    ["suites/gpu/test_launch.py"],
    ["suites/gpu/test_launch.py::test_the_driver_answers"],
    ["suites/gpu/test_launch.py", "suites/gpu/test_inputs.py"],
    ["suites/gpu::x"],
]


@pytest.mark.parametrize("args", PARTS)
def test_a_part_of_the_suite_is_a_selection_and_named(args: list[str]) -> None:
    asked = options.asked(config(ROOT, ROOT, *args))
    assert asked is not None
    assert asked.suite == "gpu"
    assert asked.narrowed == f"only {', '.join(args)} was selected"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ignore": ["suites/gpu/test_launch.py"]}, "--ignore suites/gpu/test_launch.py left something out"),
        ({"ignore_glob": ["*launch*"]}, "--ignore-glob *launch* left something out"),
    ],
)
def test_what_is_ignored_is_a_selection(given: dict[str, Any], words: str) -> None:
    assert options.asked(config(ROOT, ROOT, "suites/gpu", **given)) == Asked("gpu", words)


@pytest.mark.parametrize("args", [["tests"], ["tests/verdict", "tests/pilot"], []])
def test_arguments_that_name_no_suite_are_none_of_our_business(args: list[str]) -> None:
    assert options.asked(config(ROOT, ROOT, *args)) is None


@pytest.mark.parametrize("args", [["suites/gpu", "tests"], ["tests/verdict", "suites/gpu/test_launch.py"]])
def test_a_suite_and_something_else_is_a_usage_error(args: list[str]) -> None:
    with pytest.raises(pytest.UsageError, match="wanted one suite alone"):
        options.asked(config(ROOT, ROOT, *args))


@pytest.mark.parametrize(
    "argument", ["suites/gpus", "suites/gpu/test_gone.py", "suites/gpu/test_gone.py::test_x"]
)
def test_what_is_not_there_is_a_usage_error(argument: str) -> None:
    with pytest.raises(pytest.UsageError, match="found nothing there"):
        options.asked(config(ROOT, ROOT, argument))


@pytest.mark.parametrize("argument", ["suites", ".", "..", "/"])
def test_a_folder_above_a_suite_is_a_usage_error_and_never_a_run_without_a_verdict(argument: str) -> None:
    with pytest.raises(pytest.UsageError, match="wanted suites/gpu"):
        options.asked(config(ROOT, ROOT, argument))
