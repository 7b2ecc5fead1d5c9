"""What an application tells, and what is read of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures import told
from fixtures.evidence.models import Allocator
from fixtures.evidence.models import Begun
from fixtures.evidence.models import Crash
from fixtures.evidence.models import Told

TELL = Path(told.__file__).with_name("tell.py")


def read(path: Path, *lines: dict[str, Any] | str, begun: float = 1000.0) -> Told:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return told.read(path, begun)


def allocator(
    allocated: int, reserved: int, at: float, process: int = 1, device: str = "cuda:0"
) -> dict[str, Any]:
    said = {"device": device, "peak_allocated_bytes": allocated, "peak_reserved_bytes": reserved}
    return {"allocator": said, "at": at, "process": process}


def test_every_kind_of_line_is_read(tmp_path: Path) -> None:
    seen = read(
        tmp_path / "told",
        {"document": "doc-01", "at": 1000.5},
        {"document": "doc-02", "at": 1002},
        {"crash": "doc-02", "how": "killed by SIGSEGV"},
        allocator(5, 7, 1003.0),
        {"parts": {"weights": 4}, "at": 1001.0, "process": 1},
        {"parts": {"inputs": 3, "weights": 2}},
        {"placed": {"lm_head": "cpu"}},
    )
    assert seen.begun == [Begun(document="doc-01", at=0.5), Begun(document="doc-02", at=2.0)]
    assert seen.crashes == [Crash(document="doc-02", how="killed by SIGSEGV")]
    assert seen.allocators == [Allocator(device="cuda:0", peak_allocated_bytes=5, peak_reserved_bytes=7)]
    assert (seen.parts, seen.placed) == ({"weights": 4, "inputs": 3}, {"lm_head": "cpu"})
    assert seen.problem is None


def test_nothing_told_is_nothing_told(tmp_path: Path) -> None:
    assert told.read(tmp_path / "gone", 0.0) == Told()
    assert read(tmp_path / "empty") == Told()


@pytest.mark.parametrize(
    ("lines", "reserved"),
    [
        ([allocator(1, 10, 1.0), allocator(1, 30, 2.0), allocator(1, 20, 3.0)], 30),
        ([allocator(1, 10, 1.0, 1), allocator(1, 30, 2.0, 2), allocator(1, 10, 3.0, 1)], 40),
        ([allocator(1, 10, 1.0, 1), allocator(1, 30, 2.0, 2)], 30),
    ],
    ids=["one process", "two at a time", "one after the other"],
)
def test_processes_that_share_a_device_are_added_up(
    lines: list[dict[str, Any]], reserved: int, tmp_path: Path
) -> None:
    (seen,) = read(tmp_path / "told", *lines).allocators
    assert seen.peak_reserved_bytes == reserved


@pytest.mark.parametrize(
    "line",
    [
        "no JSON", "[]", "5", "{}", '{"other": 1}', '{"document": 5}', '{"document": "x", "at": "now"}',
        '{"document": "x", "at": NaN}', '{"document": "x", "document": "y"}', '{"crash": null}', "[" * 9000,
        '{"parts": {"weights": ' + "9" * 400 + "}}",
        '{"parts": {"weights": -1}}', '{"parts": {"weights": 1.5}}', '{"parts": {"weights": true}}', '{"parts": 7}',
        '{"placed": {"x": 0}}', '{"placed": []}', '{"allocator": {}}', '{"allocator": null, "process": []}',
        '{"document": "x", "at": ' + "9" * 400 + "}", '{"document": "\\ud800"}', "\xff",
    ],
)  # fmt: skip
def test_a_line_that_says_nothing_is_named_and_the_others_count(line: str, tmp_path: Path) -> None:
    path = tmp_path / "told"
    path.write_bytes(b'{"document": "a"}\n' + line.encode("latin-1") + b'\n{"document": "b"}\nrubbish\n')
    seen = told.read(path, 0.0)
    assert [one.document for one in seen.begun] == ["a", "b"]
    assert seen.problem is not None
    assert seen.problem.startswith("line 2: ")
    assert Told.model_validate_json(seen.model_dump_json()) == seen


def test_a_last_line_that_was_not_finished_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "told").write_text('{"document": "a"}\n{"docum')
    assert told.read(tmp_path / "told", 0.0) == Told(begun=[Begun(document="a", at=0.0)])


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "MOST_EVENTS", 3)
    seen = read(
        tmp_path / "told", *({"document": str(n), "at": 1000 + n} for n in range(9)), {"parts": {"inputs": 4}}
    )
    assert ([one.document for one in seen.begun], seen.parts) == (["0", "1", "2"], {"inputs": 4})
    assert "of which the first are kept" in str(seen.problem)
    monkeypatch.setattr(told, "MOST_BYTES", 30)
    assert "more than 30 bytes" in str(read(tmp_path / "told", *[{"parts": {"x": 1}}] * 9).problem)
    monkeypatch.setattr(told, "LONGEST_LINE", 20)
    assert "longer than 20 bytes" in str(read(tmp_path / "told", "x" * 21).problem)


#: a line that says a number, the limit on how many are kept, and what is then kept of them
BOUNDED: dict[str, tuple[Callable[[int], dict[str, Any]], str, Callable[[Told], int]]] = {
    "processes": (
        lambda n: allocator(1, 1, 1000.0, process=n),
        "MOST_PROCESSES",
        lambda seen: seen.allocators[0].peak_reserved_bytes,  # one byte each, all at the same time
    ),
    "devices": (
        lambda n: allocator(1, 1, 1000.0, device=f"cuda:{n}"),
        "MOST_PARTS",
        lambda seen: len(seen.allocators),
    ),
    "parts": (lambda n: {"parts": {f"part {n}": 1}}, "MOST_PARTS", lambda seen: len(seen.parts)),
}


@pytest.mark.parametrize("what", BOUNDED)
@pytest.mark.parametrize(("told_of", "kept", "whole"), [(3, 3, True), (9, 3, False)])
def test_what_is_held_against_each_other_is_bounded(
    what: str, told_of: int, kept: int, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, limit, count = BOUNDED[what]
    monkeypatch.setattr(told, limit, 3)
    seen = read(tmp_path / "told", *map(line, range(told_of)))
    assert count(seen) == kept
    assert (seen.problem is None) is whole
    assert whole or "of which the first are kept" in str(seen.problem)


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_not_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "told"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    else:
        os.mkfifo(path)
    seen = told.read(path, 0.0)
    assert seen.problem == ("Too many levels of symbolic links" if kind == "link" else "it is no file")
    assert seen.begun == []


TORCH = """
    class cuda:
        is_initialized = staticmethod(lambda: True)
        device_count = staticmethod(lambda: 2)
        max_memory_allocated = staticmethod(lambda index: 5 if index == 1 else 0)
        max_memory_reserved = staticmethod(lambda index: 7 if index == 1 else 0)
"""
MODEL = """
    class Tensor:
        def __init__(self, at, count, device="cuda:0"):
            self.at, self.count, self.device = at, count, device
        data_ptr = lambda self: self.at
        numel = lambda self: self.count
        element_size = lambda self: 2
    class Model:
        held = {"embed.weight": Tensor(8, 10), "head.weight": Tensor(8, 10), "layer.weight": Tensor(9, 5, "cpu"),
                "far.weight": Tensor(0, 99, "meta")}
        parameters = lambda self: self.held.values()
        buffers = lambda self: [Tensor(10, 1)]
        named_parameters = lambda self: self.held.items()
"""


def telling(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program that has the helper beside it, as renters would."""
    folder.joinpath("tell.py").write_bytes(TELL.read_bytes())
    whole = "\n".join(textwrap.dedent(part) for part in ("import sys, tell", MODEL, code))
    program = folder / "program.py"
    program.write_text(whole)
    return subprocess.run(
        [sys.executable, "-B", str(program)], env=environment, capture_output=True, text=True, check=False
    )


EVERYTHING = f"""
import types
exec({textwrap.dedent(TORCH)!r})
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
tell.model(Model())
tell.document("dóc-01")
tell.parts(inputs=4)
"""


def test_a_program_tells_and_what_it_told_is_read(tmp_path: Path) -> None:
    begun = time.time()
    done = telling(tmp_path, EVERYTHING, GPU_PILOT_TOLD=str(tmp_path / "told.jsonl"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    seen = told.read(tmp_path / "told.jsonl", begun)
    assert [one.document for one in seen.begun] == ["dóc-01"]
    assert 0 <= seen.begun[0].at <= time.time() - begun
    assert seen.parts == {"weights": 2 * (10 + 5 + 1), "inputs": 4}
    assert seen.placed == {"embed": "cuda:0", "head": "cuda:0", "layer": "cpu", "far": "meta"}
    # by itself, at the end of the program
    assert seen.allocators == [Allocator(device="cuda:1", peak_allocated_bytes=5, peak_reserved_bytes=7)]
    assert seen.problem is None


@pytest.mark.parametrize(
    "chosen", [{"": 0}, {"embed": 0, "head": "disk"}, {"embed": "cuda:1", "layer": "cpu"}]
)
def test_a_device_map_says_where_the_parts_are(chosen: dict[str, Any], tmp_path: Path) -> None:
    code = f"m = Model(); m.hf_device_map = {chosen!r}; tell.model(m)"
    telling(tmp_path, code, GPU_PILOT_TOLD=str(tmp_path / "told.jsonl"))
    expected = {key or "the whole": "cuda:0" if device == 0 else device for key, device in chosen.items()}
    assert told.read(tmp_path / "told.jsonl", 0.0).placed == expected


def test_without_a_pilot_it_does_nothing(tmp_path: Path) -> None:
    before = {"tell.py", "program.py"}
    done = telling(tmp_path, EVERYTHING)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", ["no/such/folder/told", "."])
def test_where_it_cannot_tell_the_program_goes_on(place: str, tmp_path: Path) -> None:
    done = telling(tmp_path, EVERYTHING, GPU_PILOT_TOLD=str(tmp_path / place))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_it_is_given_cannot_make_the_program_fail(tmp_path: Path) -> None:
    code = """
        class Bad:
            def __getattr__(self, name): raise RuntimeError(name)
            def __str__(self): raise RuntimeError
        tell.document(Bad()); tell.parts(weights="many"); tell.parts(inputs=None); tell.model(None); tell.model(Bad())
        sys.modules["torch"] = Bad(); tell.memory()
        print("through")
    """
    done = telling(tmp_path, code, GPU_PILOT_TOLD=str(tmp_path / "told.jsonl"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "through\n", "")
    assert told.read(tmp_path / "told.jsonl", 0.0).problem is None


def test_the_helper_is_of_python_3_8_and_needs_nothing() -> None:
    import ast

    tree = ast.parse(TELL.read_text(), feature_version=(3, 8))
    names = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert names <= sys.stdlib_module_names
