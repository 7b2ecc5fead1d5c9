"""The supervisor, watching small real programs: how each ended, what it left, what it needed."""

from __future__ import annotations

import functools
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures import watch
from tests.instrument.making import alive
from tests.instrument.making import gone
from tests.instrument.making import NEVER
from tests.instrument.making import pid_in
from tests.instrument.making import python
from tests.instrument.making import request
from tests.instrument.making import run
from tests.instrument.making import until

ROOT = Path(__file__).resolve().parents[2]
WAIT = "import time; time.sleep(600)"


def saying_pid(name: str, then: str = WAIT) -> str:
    return f"import os; open('{name}', 'w').write(str(os.getpid()) + chr(10)); {then}"


def ending(report: dict[str, Any]) -> tuple[str, int | None, str | None]:
    return report["ended"], report["returncode"], report["signal"]


@pytest.mark.parametrize("code", [0, 1, 3, 137, 255])
def test_an_exit_code_is_reported_as_it_was(code: int, tmp_path: Path) -> None:
    report = run(request(tmp_path, "/bin/sh", "-c", f"exit {code}"))
    assert ending(report) == ("exit", code, None)
    assert (report["error"], report["left_behind"]) == (None, [])


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT", "SIGBUS"])
def test_a_signal_is_reported_by_name(name: str, tmp_path: Path) -> None:
    report = run(request(tmp_path, "/bin/sh", "-c", f"ulimit -c 0; kill -{name.removeprefix('SIG')} $$"))
    assert ending(report) == ("signal", None, name)


def test_a_realtime_signal_has_a_number_for_a_name(tmp_path: Path) -> None:
    report = run(request(tmp_path, "/bin/sh", "-c", "kill -40 $$"))
    assert ending(report) == ("signal", None, "signal 40")


def not_executable(folder: Path) -> str:
    path = folder / "script.sh"
    path.write_text("#!/bin/sh\n")
    path.chmod(stat.S_IRUSR)
    return str(path)


def without_interpreter(folder: Path) -> str:
    path = folder / "script.py"
    path.write_text("#!/no/such/python\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda folder: str(folder / "gone"), "No such file or directory"),
        (lambda folder: "no-such-program-on-the-path", "No such file or directory"),
        (lambda folder: str(folder), "Permission denied"),
        (not_executable, "Permission denied"),
        (without_interpreter, "No such file or directory"),
    ],
    ids=["missing", "not on the path", "folder", "not executable", "no interpreter"],
)
def test_a_program_that_cannot_be_started_is_named(program: Any, words: str, tmp_path: Path) -> None:
    command = program(tmp_path)
    report = run(request(tmp_path, command))
    assert ending(report) == ("not_started", None, None)
    assert words in report["error"]
    assert command in report["error"]


def test_it_runs_in_the_folder_asked_for_with_nothing_on_stdin(tmp_path: Path) -> None:
    report = run(python(tmp_path, "import os, sys; print(os.getcwd()); print(repr(sys.stdin.read()))"))
    assert ending(report) == ("exit", 0, None)
    assert (tmp_path / "stdout.txt").read_text() == f"{tmp_path}\n''\n"


def test_it_gets_arguments_as_they_are_and_no_shell(tmp_path: Path) -> None:
    arguments = ["$HOME", "*", "a b", ";exit 3", '{"a": {"b": 1}}', "`id`", ""]
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    report = run(request(tmp_path, sys.executable, "-I", "-c", code, *arguments))
    assert ending(report) == ("exit", 0, None)
    assert __import__("json").loads((tmp_path / "stdout.txt").read_text()) == arguments


def test_stdout_and_stderr_go_to_files_of_their_own(tmp_path: Path) -> None:
    run(request(tmp_path, "/bin/sh", "-c", "echo out; echo err >&2"))
    assert (tmp_path / "stdout.txt").read_text() == "out\n"
    assert (tmp_path / "stderr.txt").read_text() == "err\n"


def test_a_hundred_thousand_lines_on_both_streams_do_not_block_it(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(100_000): print(n); print(n, file=sys.stderr)"
    report = run(python(tmp_path, code))
    assert ending(report) == ("exit", 0, None)
    for stream in ("stdout.txt", "stderr.txt"):
        assert (tmp_path / stream).read_bytes().count(b"\n") == 100_000


def test_a_closed_stdout_does_not_disturb(tmp_path: Path) -> None:
    report = run(
        python(tmp_path, "import os; os.close(1); os.close(2); open('results.jsonl', 'w').write('{}')")
    )
    assert ending(report) == ("exit", 0, None)


@pytest.mark.parametrize("stubborn", [False, True])
def test_the_deadline_ends_what_does_not_end(stubborn: bool, tmp_path: Path) -> None:
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if stubborn else ""
    report = run(python(tmp_path, ignore + saying_pid("pid"), deadline_s=1.5))
    assert ending(report) == ("deadline", None, "SIGKILL" if stubborn else "SIGTERM")
    assert report["seconds"] >= 1.5
    assert not alive(pid_in(tmp_path / "pid"))


def test_a_quiet_sleeper_makes_no_progress(tmp_path: Path) -> None:
    report = run(python(tmp_path, saying_pid("pid"), no_progress_s=1.0))
    assert ending(report) == ("no_progress", None, "SIGTERM")
    assert not alive(pid_in(tmp_path / "pid"))


def test_a_busy_program_makes_progress_until_the_deadline(tmp_path: Path) -> None:
    report = run(python(tmp_path, "while True: pass", no_progress_s=0.7, deadline_s=2.0))
    assert report["ended"] == "deadline"


@pytest.mark.parametrize("file", ["results.jsonl", "stdout.txt", "stderr.txt"])
def test_a_program_that_writes_now_and_then_makes_progress(file: str, tmp_path: Path) -> None:
    code = f"""
        import time
        for n in range(14):
            with open({file!r}, "a") as stream: stream.write("x\\n")
            time.sleep(0.15)
    """
    report = run(python(tmp_path, textwrap.dedent(code), no_progress_s=1.5))
    assert ending(report) == ("exit", 0, None)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_beyond_the_limit_ends_it(stream: str, tmp_path: Path) -> None:
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"
    report = run(python(tmp_path, code, output_limit_bytes=1 << 20))
    assert report["ended"] == "output_limit"


def test_output_below_the_limit_does_not(tmp_path: Path) -> None:
    report = run(python(tmp_path, "print('x' * (1 << 20))", output_limit_bytes=2 << 20))
    assert ending(report) == ("exit", 0, None)


CHILD = f"[sys.executable, '-I', '-c', {saying_pid('child')!r}]"
LEAVERS = {
    "a child": f"subprocess.Popen({CHILD})",
    "a child in a session of its own": f"subprocess.Popen({CHILD}, start_new_session=True)",
    "a child that ignores SIGTERM": (
        "subprocess.Popen([sys.executable, '-I', '-c', "
        f"{'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); ' + saying_pid('child')!r}])"
    ),
    "an orphan by double fork": f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, {CHILD})
            os._exit(0)
        os.wait()
    """,
}


@pytest.mark.parametrize("how", LEAVERS)
def test_what_is_left_behind_is_named_and_ended(how: str, tmp_path: Path) -> None:
    wait = "\nwhile not os.path.exists('child'): time.sleep(0.01)"
    code = "import os, subprocess, sys, time\n" + textwrap.dedent(LEAVERS[how]).strip() + wait
    report = run(python(tmp_path, code))
    assert ending(report) == ("exit", 0, None)
    child = pid_in(tmp_path / "child")
    assert [left["pid"] for left in report["left_behind"]] == [child]
    assert "time.sleep(600)" in report["left_behind"][0]["command"]
    assert not alive(child)


def test_a_child_that_ends_with_its_parent_is_not_left_behind(tmp_path: Path) -> None:
    report = run(request(tmp_path, "/bin/sh", "-c", "sleep 0.05 & exit 0"))
    assert ending(report) == ("exit", 0, None)
    assert report["left_behind"] == []


def test_the_deadline_ends_the_whole_tree_also_what_left_its_session(tmp_path: Path) -> None:
    orphan = textwrap.dedent(LEAVERS["an orphan by double fork"])
    other = f"subprocess.Popen({CHILD.replace('child', 'other')}, start_new_session=True)"
    code = f"import os, subprocess, sys, time\n{other}{orphan}\ntime.sleep(600)"
    report = run(python(tmp_path, code, deadline_s=2.5))
    assert report["ended"] == "deadline"
    assert not alive(pid_in(tmp_path / "child"))
    assert not alive(pid_in(tmp_path / "other"))


PARENT = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.instrument.making import python, run
run(python(Path({folder!r}), {code!r}))
"""


def whole_family(folder: Path, code: str) -> subprocess.Popen[bytes]:
    """A suite of straw in a process of its own, which has the supervisor run `code`."""
    parent = PARENT.format(root=str(ROOT), folder=str(folder), code=code)
    return subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_suite_is_killed_the_whole_tree_dies(number: signal.Signals, tmp_path: Path) -> None:
    code = (
        f"import os, subprocess, sys, time\nsubprocess.Popen({CHILD}, start_new_session=True)\n"
        + saying_pid("pid")
    )
    suite = whole_family(tmp_path, code)
    application, child = pid_in(tmp_path / "pid"), pid_in(tmp_path / "child")
    supervisor = psutil.Process(application).ppid()
    suite.send_signal(number)
    suite.wait(30)
    for pid in (application, child, supervisor):
        until(functools.partial(gone, pid))


def test_when_the_supervisor_is_killed_the_application_dies_and_the_report_says_so(tmp_path: Path) -> None:
    def kill() -> None:
        os.kill(psutil.Process(pid_in(tmp_path / "pid")).ppid(), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = run(python(tmp_path, saying_pid("pid")))
    killer.join()
    assert report["ended"] == "watcher_died"
    assert report["error"].startswith("the supervising process died")
    assert (report["returncode"], report["left_behind"], report["memory"]["samples"]) == (None, [], [])
    until(lambda: not alive(pid_in(tmp_path / "pid")))


def test_when_the_supervisor_is_killed_what_the_application_had_started_dies_too(tmp_path: Path) -> None:
    code = (
        f"import os, subprocess, sys, time\nsubprocess.Popen({CHILD}, start_new_session=True)\n"
        + saying_pid("pid")
    )
    own = psutil.Process()
    before = {process.pid for process in own.children(recursive=True)}

    def kill() -> None:
        pid_in(tmp_path / "child")
        os.kill(psutil.Process(pid_in(tmp_path / "pid")).ppid(), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = run(python(tmp_path, code))
    killer.join()
    assert report["ended"] == "watcher_died"
    for name in ("pid", "child"):
        assert not alive(pid_in(tmp_path / name))
    assert {process.pid for process in own.children(recursive=True)} <= before


def test_when_the_supervisor_is_stopped_it_is_not_waited_for_and_the_application_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SILENCE_S", 1.0)
    code = (
        f"import os, subprocess, sys, time\nsubprocess.Popen({CHILD}, start_new_session=True)\n"
        "while not os.path.exists('child'): time.sleep(0.01)\n"
        f"os.kill(os.getppid(), {int(signal.SIGSTOP)})\n" + saying_pid("pid")
    )
    report = run(python(tmp_path, code))
    assert (report["ended"], report["error"]) == (
        "watcher_died",
        "the supervising process stopped answering",
    )
    for name in ("pid", "child"):
        assert not alive(pid_in(tmp_path / name))


def test_a_supervisor_that_speaks_is_waited_for_longer_than_it_may_be_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SILENCE_S", 4.0)
    report = run(python(tmp_path, "import time; time.sleep(4.5)"))
    assert ending(report) == ("exit", 0, None)


def test_processes_that_were_there_before_are_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-I", "-c", WAIT])
    try:
        assert ending(run(request(tmp_path, "/bin/true"))) == ("exit", 0, None)
        assert alive(bystander.pid)
    finally:
        bystander.kill()
        bystander.wait()


def test_when_whoever_shows_progress_fails_nothing_stays_behind(tmp_path: Path) -> None:
    def fail(_: dict[str, Any]) -> None:
        raise RuntimeError("the terminal went away")

    with pytest.raises(RuntimeError, match="went away"):
        run(python(tmp_path, saying_pid("pid")), fail)
    assert not alive(pid_in(tmp_path / "pid"))


def test_a_command_that_no_process_can_have_is_a_report_too(tmp_path: Path) -> None:
    report = run(request(tmp_path, "/bin/echo", "a\0b"))
    assert report["ended"] == "not_started"
    assert "null byte" in report["error"]


@pytest.mark.parametrize("where", ["itself", "a child"])
def test_the_peak_of_memory_is_at_least_what_was_used(where: str, tmp_path: Path) -> None:
    use = "data = bytearray(150 << 20); import time; time.sleep(0.5)"
    code = (
        use
        if where == "itself"
        else f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {use!r}])"
    )
    memory = run(python(tmp_path, code))["memory"]
    assert 150 << 20 <= memory["peak_resident_bytes"] < 600 << 20
    assert memory["samples"]
    assert (memory["cards"], memory["cards_unread"]) == ([], "no card was asked for")


def test_a_peak_between_two_samples_is_seen_all_the_same(tmp_path: Path) -> None:
    report = run(python(tmp_path, "bytearray(150 << 20)", interval_s=NEVER))
    assert report["memory"]["peak_resident_bytes"] >= 150 << 20


def test_progress_counts_whole_lines_of_the_results(tmp_path: Path) -> None:
    code = """
        import time
        with open("results.jsonl", "w") as stream:
            for n in range(5):
                stream.write("{}" + chr(10)); stream.flush()
            stream.write("{"); stream.flush()
            time.sleep(1.3)
    """
    seen: list[dict[str, Any]] = []
    run(python(tmp_path, textwrap.dedent(code)), seen.append)
    assert [one["lines"] for one in seen][-1] == 5
    assert [one["lines"] for one in seen] == sorted(one["lines"] for one in seen)
    assert all(one["resident"] > 0 for one in seen)


def test_the_program_file_and_every_interpreter_are_noted(tmp_path: Path) -> None:
    child = "import time; time.sleep(0.4)"
    report = run(request(tmp_path, "/bin/sh", "-c", f"{sys.executable} -I -c '{child}'; exit 0"))
    assert report["executable"] == os.path.realpath("/bin/sh")
    ran = {"executable": os.path.realpath(sys.executable), "prefix": os.path.realpath(sys.prefix)}
    assert report["interpreters"] == [ran]


def test_a_program_that_is_no_python_has_no_interpreter(tmp_path: Path) -> None:
    report = run(request(tmp_path, "/bin/sh", "-c", "sleep 0.1"))
    assert (report["executable"], report["interpreters"]) == (os.path.realpath("/bin/sh"), [])


def test_the_samples_of_a_long_run_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run(python(tmp_path, "import time; time.sleep(1.5)", interval_s=0.001))
    assert len(report["memory"]["samples"]) < 400
    times = [sample["at"] for sample in report["memory"]["samples"]]
    assert times == sorted(times)


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_cards_that_cannot_be_read_say_why(device: str, tmp_path: Path) -> None:
    memory = run(request(tmp_path, "/bin/true", device=device))["memory"]
    assert bool(memory["cards"]) != bool(memory["cards_unread"])


def test_streams_that_are_there_already_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "stdout.txt").write_text("earlier")
    report = run(request(tmp_path, "/bin/echo", "new"))
    assert report["ended"] == "not_started"
    assert (tmp_path / "stdout.txt").read_text() == "earlier"
