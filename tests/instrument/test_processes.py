"""The tree of processes, from a /proc made by hand and from the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fixtures import processes
from tests.instrument.making import until

ROOT = 100
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Proc:
    """A /proc that can be changed between two looks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for pid, parent in ((1, 0), (ROOT, 1), (50, 1)):
            self.add(pid, parent)
        (folder / "meminfo").touch()

    def add(
        self,
        pid: int,
        parent: int,
        *,
        state: str = "S",
        name: str = "python",
        started: int = 7,
        pages: int = 3,
    ) -> None:
        fields = [
            state,
            str(parent),
            *["0"] * 9,
            str(2 * TICKS),
            str(TICKS),
            *["0"] * 6,
            str(started),
            "0",
            str(pages),
        ]
        (self.folder / str(pid)).mkdir(exist_ok=True)
        (self.folder / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)} 0 0\n")

    def remove(self, pid: int) -> None:
        (self.folder / str(pid) / "stat").unlink()
        (self.folder / str(pid)).rmdir()


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def seen(tree: processes.Tree, whole: bool = False) -> list[int]:
    return [process.pid for process in tree.look(whole)]


def test_descendants_at_any_depth_are_seen_and_others_are_not(proc: Proc) -> None:
    for pid, parent in ((201, ROOT), (150, 201), (250, 150), (60, 50)):
        proc.add(pid, parent)
    assert seen(processes.Tree(ROOT, str(proc.folder))) == [150, 201, 250]


def test_what_a_process_is_called_does_not_matter(proc: Proc) -> None:
    proc.add(201, ROOT, name="a) S 1 (b) R")
    (process,) = processes.Tree(ROOT, str(proc.folder)).look()
    assert process == processes.Process(201, ROOT, 7.0, 3.0, 3 * PAGE, False, b"(a) S 1 (b) R 0")


def test_an_orphan_stays_in_the_tree_whoever_gets_it(proc: Proc) -> None:
    tree = processes.Tree(ROOT, str(proc.folder))
    proc.add(201, ROOT)
    proc.add(202, 201)
    assert seen(tree) == [201, 202]
    proc.remove(201)
    proc.add(202, 1)
    assert seen(tree) == [202]
    assert seen(tree, whole=True) == [202]


def test_an_orphan_that_was_adopted_before_it_was_seen_is_in_the_tree(proc: Proc) -> None:
    tree = processes.Tree(ROOT, str(proc.folder))
    assert seen(tree) == []
    proc.add(301, ROOT)
    assert seen(tree) == [301]


def test_a_process_whose_parent_has_just_gone_is_looked_at_again(proc: Proc) -> None:
    tree = processes.Tree(ROOT, str(proc.folder))
    proc.add(302, 301)
    assert seen(tree) == []
    proc.add(302, ROOT)
    assert seen(tree) == [302]


def test_a_dead_process_that_nobody_collected_does_not_live(proc: Proc) -> None:
    proc.add(201, ROOT, state="Z")
    proc.add(202, 201)
    assert seen(processes.Tree(ROOT, str(proc.folder))) == [202]


def test_a_number_that_a_stranger_got_is_his(proc: Proc) -> None:
    tree = processes.Tree(ROOT, str(proc.folder))
    proc.add(201, ROOT, started=7)
    assert seen(tree) == [201]
    proc.add(201, 50, started=9)
    assert seen(tree) == []


def test_a_number_that_a_stranger_had_is_found_at_the_next_whole_look(proc: Proc) -> None:
    tree = processes.Tree(ROOT, str(proc.folder))
    proc.add(201, 50, started=7)
    assert seen(tree) == []
    proc.add(201, ROOT, started=9)
    assert seen(tree, whole=True) == [201]


def test_strangers_are_read_once_and_not_at_every_look(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = processes.Tree(ROOT, str(proc.folder))
    proc.add(201, ROOT)
    tree.look()
    read: list[str] = []
    original = processes.read
    monkeypatch.setattr(processes, "read", lambda path: read.append(path) or original(path))
    tree.look()
    assert read == [f"{proc.folder}/201/stat"]


@pytest.mark.parametrize("by", ["/proc", "/no/such/proc"])
def test_the_real_tree_is_the_same_by_both_ways(by: str) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        own = psutil.Process(child.pid)
        until(lambda: len(own.children()) == 1)
        expected = sorted([child.pid, own.children()[0].pid])
        tree = processes.Tree(os.getpid(), by)
        assert [pid for pid in seen(tree) if pid in expected] == expected
        one = next(process for process in tree.look() if process.pid == child.pid)
        assert one.resident > 1 << 20
        assert os.path.realpath(processes.program(child.pid) or "") == os.path.realpath(sys.executable)
        assert processes.command(child.pid)[1:] == ["-c", code]
        assert processes.largest_resident(child.pid) >= one.resident // 2
    finally:
        child.communicate()


def test_a_process_that_is_gone_has_nothing(proc: Proc) -> None:
    gone = 2**22 + 1  # more than the kernel gives
    assert processes.program(gone) is None
    assert processes.command(gone) == []
    assert (processes.largest_resident(gone), processes.proportional(gone)) == (0, 0)


def test_shared_pages_are_divided_by_those_who_have_them() -> None:
    code = "import os; held = bytearray(b'x' * (64 << 20)); os.fork(); print(1, flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    try:
        resident = psutil.Process(child.pid).memory_info().rss
        assert 0 < processes.proportional(child.pid) < resident - (16 << 20)
    finally:
        child.communicate()
