"""Forked functions and started programs: how each ends is told, and nothing of it stays."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.probe import children
from fixtures.probe.lines import Absent


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang() -> None:
    time.sleep(60)


def leave() -> None:
    os._exit(3)


def be_absent() -> None:
    raise Absent("no driver", source="cuInit", number=802, number_of="cuda")


def open_nothing() -> None:
    os.close(os.open("/no/such/file", os.O_RDONLY))


def exit_with_4() -> None:
    sys.exit(4)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def becomes(condition: Callable[[], bool]) -> bool:
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_what_a_function_returns_comes_back() -> None:
    ended = children.fork(lambda left, right: {"sum": left + right}, 2, 3, deadline=20).wait()
    assert (ended.status, ended.error, ended.value, ended.returncode) == ("ok", None, {"sum": 5}, 0)


@pytest.mark.parametrize(
    ("function", "status", "error", "number"),
    [
        (crash, "crashed", "killed by SIGSEGV, at File ", (signal.SIGSEGV, "signal")),
        (leave, "crashed", "in the middle of it the process ended with status 3", (3, "exit")),
        (be_absent, "failed", "no driver", (802, "cuda")),
        (open_nothing, "failed", "FileNotFoundError: ", (errno.ENOENT, "errno")),
        (exit_with_4, "failed", "SystemExit: 4", (4, "exit")),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_how_a_function_ends_is_told_with_its_number(
    function: Callable[[], None], status: str, error: str, number: tuple[int, str]
) -> None:
    ended = children.fork(function, deadline=20).wait()
    assert (ended.status, (ended.number, ended.number_of)) == (status, number)
    assert (ended.error or "").startswith(error)


def test_the_place_of_a_crash_is_the_innermost_python_line(capfd: pytest.CaptureFixture[str]) -> None:
    ended = children.fork(crash, deadline=20).wait()
    assert "test_children.py" in (ended.error or "")
    assert (ended.error or "").endswith("in crash")
    assert "most recent call first" in capfd.readouterr().err


def test_each_of_several_has_its_own_deadline() -> None:
    hung, quick = children.wait([children.fork(hang, deadline=0.5), children.fork(os.getpid, deadline=20)])
    assert (hung.status, quick.status) == ("hung", "ok")
    assert (hung.error or "").startswith("no end within 0.5 s, at File ")


def test_a_child_that_tells_where_it_is_gets_more_time_and_is_named_by_it() -> None:
    def stages() -> None:
        children.tell("first", 30)
        time.sleep(0.6)
        children.tell("second", 0.3)
        hang()

    child = children.fork(stages, deadline=0.4)
    ended = child.wait()
    assert (ended.status, child.stage) == ("hung", "second")
    assert (ended.error or "").startswith("no end within 0.3 s")


def test_one_that_is_deaf_is_killed_with_all_that_it_began(tmp_path: Path) -> None:
    def deaf() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        inner = children.start(["sleep", "60"], deadline=60)
        (tmp_path / "pids").write_text(f"{os.getpid()} {inner.pid}")
        hang()

    child = children.fork(deaf, deadline=0.5)
    assert child.wait().status == "hung"
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert becomes(lambda pid=pid: gone(pid))


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    def parent() -> None:
        inner = children.fork(hang, deadline=60)
        (tmp_path / "pid").write_text(str(inner.pid))
        os.kill(os.getpid(), signal.SIGKILL)

    assert children.fork(parent, deadline=20).wait().number == signal.SIGKILL
    assert becomes(lambda: gone(int((tmp_path / "pid").read_text())))


def test_no_core_file_may_be_left() -> None:
    ended = children.fork(resource.getrlimit, resource.RLIMIT_CORE, deadline=20).wait()
    assert ended.value[0] == 0


def test_the_whole_end_of_an_interpreter_is_taken_where_it_is_asked_for(tmp_path: Path) -> None:
    def register() -> None:
        import atexit

        atexit.register(crash)

    short = children.fork(register, deadline=20).wait()
    whole = children.fork(register, deadline=20, whole_end=True).wait()
    assert (short.status, short.returncode) == ("ok", 0)
    assert (whole.status, whole.returncode) == ("ok", -signal.SIGSEGV)


@pytest.mark.parametrize(
    ("command", "status", "error", "returncode"),
    [
        (["true"], "ok", None, 0),
        (["sh", "-c", "exit 7"], "failed", "the process ended with status 7", 7),
        (["sh", "-c", "kill -9 $$"], "crashed", "killed by SIGKILL", -9),
        (["no-such-program-here"], "failed", "no-such-program-here: No such file or directory", 0),
    ],
)
def test_how_a_program_ends_is_told(
    command: list[str], status: str, error: str | None, returncode: int
) -> None:
    ended = children.start(command, deadline=20).wait()
    assert (ended.status, ended.error, ended.returncode) == (status, error, returncode)


def test_the_streams_of_a_program_go_where_they_are_asked_for(tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    command = ["sh", "-c", "echo one; echo two >&2; echo $MINE"]
    given: dict[str, Any] = {"output": path, "errors": path, "variables": {**os.environ, "MINE": "three"}}
    assert children.start(command, deadline=20, **given).wait().status == "ok"
    assert Path(path).read_text() == "one\ntwo\nthree\n"


def test_a_program_that_leaves_a_child_behind_has_ended_all_the_same(tmp_path: Path) -> None:
    command = ["sh", "-c", f"sleep 60 & echo $! > {tmp_path / 'pid'}"]
    assert children.start(command, deadline=30).wait().status == "ok"
    assert becomes(lambda: gone(int((tmp_path / "pid").read_text())))
