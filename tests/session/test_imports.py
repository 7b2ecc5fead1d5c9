"""Imports run one way, and what judges has no hands: read from the source of every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pilot.bench import ROOT

#: a module's folder -> what it may import of ours; the first that fits counts, and the rest is the outside world
ARROWS: list[tuple[str, tuple[str, ...]]] = [
    ("fixtures/evidence", ("fixtures.evidence",)),
    # what it tells through is given to renters: the standard library, in a file that travels with the folder
    ("fixtures/classifier", ("fixtures.classifier", "fixtures.tell")),
    ("fixtures/probe", ("fixtures.probe",)),
    # a process of its own, which must start soon and need nothing: what it is made of imports nothing of ours
    (
        "fixtures/supervisor.py",
        (
            "fixtures.cards",
            "fixtures.cgroup",
            "fixtures.clocks",
            "fixtures.growing",
            "fixtures.orphans",
            "fixtures.processes",
            "fixtures.tell",
        ),
    ),
    ("fixtures/cards.py", ("fixtures.clocks",)),
    ("fixtures/cgroup.py", ()),
    ("fixtures/clocks.py", ()),
    ("fixtures/growing.py", ()),
    ("fixtures/orphans.py", ()),
    ("fixtures/processes.py", ()),
    ("fixtures/storage_client.py", ()),
    # runs in the renter's program
    ("fixtures/tell.py", ()),
    ("fixtures", ("fixtures",)),
    ("plugins", ("plugins", "fixtures")),
    ("suites", ("plugins.criteria", "plugins.catalogue", "fixtures.evidence")),
    ("conftest.py", ()),
]
OURS = ("fixtures", "plugins", "suites", "tests")
#: the one program of ours that computes, and the one that runs in the application's interpreter
TORCH = ("fixtures/classifier", "fixtures/probe/")
#: with these a check could look for itself, start something, or ask the time
HANDS = {
    "asyncio", "ctypes", "datetime", "glob", "importlib", "io", "json", "multiprocessing", "os", "pathlib", "psutil",
    "requests", "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
TOUCHES = {"read_text", "read_bytes", "write_text", "is_file", "is_dir", "glob", "iterdir", "stat", "environ"}
CALLS = {"open", "exec", "eval", "compile", "__import__", "input", "print"}


def modules(*folders: str) -> list[Path]:
    found = [ROOT / "conftest.py"] if "." in folders else []
    for folder in folders:
        if folder != ".":
            found += sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


def imported(path: Path) -> Iterator[str]:
    """Every module that `path` imports anywhere, inside functions and for types too, dotted; relative ones resolved."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            # `from fixtures import sums` names a module, `from fixtures.sums import NAME` does not
            yield from (f"{base}.{alias.name}" for alias in node.names)


def is_or_is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def allowed(path: Path) -> tuple[str, ...]:
    return next(may for place, may in ARROWS if named(path) == place or named(path).startswith(place + "/"))


@pytest.mark.parametrize("path", modules(".", "fixtures", "plugins", "suites"), ids=named)
def test_no_import_runs_back_up(path: Path) -> None:
    ours = [name for name in imported(path) if name.partition(".")[0] in OURS]
    wrong = [name for name in ours if not any(is_or_is_below(name, may) for may in allowed(path))]
    assert wrong == []


def test_torch_is_imported_by_the_probe_and_the_classifier_alone() -> None:
    importing = {named(path) for path in modules(".", "fixtures", "plugins", "suites") for name in imported(path)
                 if is_or_is_below(name, "torch") or is_or_is_below(name, "safetensors")}  # fmt: skip
    assert [name for name in sorted(importing) if not name.startswith(TORCH)] == []
    assert "fixtures/probe/torch_import.py" in importing, "or this test no longer sees what it looks for"


def test_the_verdict_knows_neither_pytest_nor_the_file_system() -> None:
    for path in (ROOT / "plugins" / "verdict.py", ROOT / "plugins" / "verdict_file.py"):
        outside = {name.partition(".")[0] for name in imported(path)} - set(OURS)
        assert outside <= {
            "__future__",
            "dataclasses",
            "itertools",
            "typing",
            "collections",
            "pydantic",
            "re",
            "shlex",
        }, named(path)


@pytest.mark.parametrize("path", modules("suites"), ids=named)
def test_a_check_has_no_hands(path: Path) -> None:
    assert HANDS & {name.partition(".")[0] for name in imported(path)} == set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert CALLS & called == set()
    touched = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert TOUCHES & touched == set()


@pytest.mark.parametrize("path", modules("suites"), ids=named)
def test_every_test_of_a_suite_is_declared_and_claims(path: Path) -> None:
    tests = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    assert tests
    for test in tests:
        declared = [
            node.func.id
            for node in test.decorator_list
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        assert declared == ["check"], test.name
        assert "claim" in {argument.arg for argument in test.args.args}, test.name
        assert not [node for node in ast.walk(test) if isinstance(node, ast.Assert)], (
            f"{test.name}: an assert shows values"
        )
