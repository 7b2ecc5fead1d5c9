"""The application started behind a prefix, on a terminal that is hung up: what it lives through, and what is said."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.kinds import terminal
from tests.instrument.making import alive
from tests.instrument.making import gone
from tests.instrument.making import pid_in
from tests.instrument.making import until

ROOT = Path(__file__).resolve().parents[2]
HANGUP = ROOT / "fixtures" / "kinds" / "hangup.py"
CANDIDATES = ROOT / "fixtures" / "kinds" / "candidates.py"

#: shows that it works, and goes on when it has been noted that the hang-up found it at work
WORKS = """
import os, sys, time
open("sign", "w").write("x")
while not os.path.exists("../report.json"):
    time.sleep(0.005)
"""
PRINTS = WORKS + "print('the last word', flush=True)\n"
#: as torchrun does: a handler of its own, which ends it; at once, for the kernel's SIGHUP follows upon the shell's
HANDLES = "import os, signal\nsignal.signal(signal.SIGHUP, lambda *_: os._exit(3))\n" + WORKS
FORGETS = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n" + WORKS
FOR_EVER = """
import os, time
with open("pid", "w") as stream:
    stream.write(f"{os.getpid()}\\n")
open("sign", "w").write("x")
time.sleep(600)
"""
WAITS = (
    WORKS
    + """
open("on", "w")
while not os.path.exists("go"):
    time.sleep(0.01)
sys.exit(5)
"""
)


@dataclass
class Ended:
    status: int
    out: str
    err: str
    report: dict[str, Any]


class Desk:
    """A folder with a request in it, the sockets of a tmux of its own, and hangup.py started on it."""

    def __init__(self, folder: Path, sockets: str) -> None:
        self.folder, self.application = folder, folder / "application"
        self.application.mkdir()
        self.environment = {**os.environ, "TMUX_TMPDIR": sockets}

    def start(self, prefix: list[str], code: str, **more: Any) -> subprocess.Popen[str]:
        request = {
            "prefix": prefix,
            "command": [sys.executable, "-c", code],
            "folder": str(self.application),
            "environment": {"ADDED": "to it"},
            "status": str(self.folder / "status.json"),
            "started": str(self.folder / "started.json"),
            "report": str(self.folder / "report.json"),
            "signs": [str(self.application / "sign")],
            "after_s": 60.0,
            "deadline_s": 60.0,
            **more,
        }
        (self.folder / "request.json").write_text(json.dumps(request))
        return subprocess.Popen(
            [sys.executable, str(HANGUP), str(self.folder / "request.json")], cwd=self.folder, text=True,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, prefix: list[str], code: str, **more: Any) -> Ended:
        process = self.start(prefix, code, **more)
        out, err = process.communicate(timeout=60)
        return Ended(process.returncode, out, err, json.loads((self.folder / "report.json").read_text()))

    def living(self) -> list[str]:
        """Command lines that name this folder."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                line = " ".join(process.cmdline())
                if str(self.folder) in line and alive(process.pid):
                    found.append(line)
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Whatever is tried on it leaves no process behind."""
    sockets = tempfile.mkdtemp(prefix="hu-")  # the path of a socket must be short
    desk = Desk(tmp_path, sockets)
    yield desk
    with contextlib.suppress(OSError):
        subprocess.run(["tmux", "kill-server"], env=desk.environment, stderr=subprocess.DEVNULL)
    shutil.rmtree(sockets)
    until(lambda: not desk.living())


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program} on this machine")


TMUX = pytest.param(["tmux", "-f", "/dev/null", "new", "-d"], marks=needs("tmux"))


# -- what survives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", [["nohup"], ["setsid", "nohup"], TMUX])
def test_a_program_that_prints_finishes_behind_what_protects_it(prefix: list[str], desk: Desk) -> None:
    ended = desk.run(prefix, PRINTS)
    assert (ended.status, ended.err) == (0, "")
    assert ended.report["hung_up_after_s"] is not None
    assert (ended.report["error"], ended.report["undone_by"], ended.report["outside"]) == (None, None, False)


def test_a_program_behind_nothing_is_killed_by_the_hangup(desk: Desk) -> None:
    ended = desk.run(["env"], WORKS)
    assert ended.status == -signal.SIGHUP
    assert ended.report["hung_up_after_s"] is not None
    assert ended.report["ignored"] is False


def test_setsid_alone_saves_a_program_that_prints_nothing(desk: Desk) -> None:
    ended = desk.run(["setsid"], WORKS)
    assert ended.status == 0
    assert ended.report["hung_up_after_s"] is not None


def test_behind_setsid_alone_a_print_fails_and_it_is_said_where_it_went(desk: Desk) -> None:
    ended = desk.run(["setsid"], PRINTS)
    assert ended.status == 1
    assert ended.report["lost_streams"] == ["stdin", "stdout", "stderr"]


@pytest.mark.parametrize(("code", "status"), [(HANDLES, 3), (FORGETS, -signal.SIGHUP)])
def test_nohup_does_not_save_a_program_that_undoes_it_and_the_program_is_named(
    code: str, status: int, desk: Desk
) -> None:
    """The known trap: nohup torchrun."""
    ended = desk.run(["nohup"], code)
    assert ended.status == status
    assert ended.report["ignored"] is True
    assert ended.report["undone_by"].startswith("python")


@pytest.mark.parametrize("prefix", [["setsid", "nohup"], TMUX])
def test_a_session_of_its_own_saves_such_a_program(prefix: list[str], desk: Desk) -> None:
    assert desk.run(prefix, HANDLES).status == 0


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_status_is_the_application_s_own(code: int, desk: Desk) -> None:
    assert desk.run(["nohup"], f"{WORKS}sys.exit({code})").status == code


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_the_signal_is_the_application_s_own(name: str, desk: Desk) -> None:
    code = WORKS + "import resource, signal\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    assert desk.run(["nohup"], f"{code}os.kill(os.getpid(), signal.{name})").status == -getattr(signal, name)


# -- what the application is given -----------------------------------------------------------------------


def test_it_runs_in_its_own_folder_with_its_own_variables(desk: Desk) -> None:
    code = "import os; open('seen', 'w').write(os.environ['ADDED'] + ' ' + os.getcwd())"
    desk.run(["nohup"], code)
    assert (desk.application / "seen").read_text() == f"to it {desk.application}"


def test_what_it_printed_is_kept_once_and_nohup_litters_nobodys_folder(desk: Desk) -> None:
    ended = desk.run(["nohup"], "print('the first word', flush=True)\n" + PRINTS)
    assert ended.out.count("the first word\n") == ended.out.count("the last word\n") == 1
    assert {path.name for path in desk.application.iterdir()} == {"sign"}
    assert {path.name for path in desk.folder.iterdir()} == {
        "application", "request.json", "report.json", "started.json", "status.json",
    }  # fmt: skip


def test_what_it_printed_on_the_terminal_is_kept_until_the_hangup(desk: Desk) -> None:
    ended = desk.run(["setsid"], "print('one', flush=True)\nprint('two', flush=True)\n" + WORKS)
    assert ended.out == "one\ntwo\n"


def test_a_suite_that_ignores_hangups_itself_hides_nothing(desk: Desk) -> None:
    """As when pytest was started with nohup: a login over ssh begins without it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ended = desk.run(["env"], WORKS)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert ended.status == -signal.SIGHUP


# -- what is no run --------------------------------------------------------------------------------------


def test_a_prefix_that_does_not_exist_is_named(desk: Desk) -> None:
    ended = desk.run(["no-such-program", "-x"], WORKS)
    assert ended.status == 127
    assert ended.err == "hangup: the prefix cannot be started: No such file or directory: no-such-program\n"


@pytest.mark.parametrize("prefix", ["true", "false"])
def test_a_prefix_that_swallows_the_command_is_named(prefix: str, desk: Desk) -> None:
    ended = desk.run([prefix], WORKS, start_s=0.1)
    assert ended.status == 125
    assert ended.report["began"] is False
    how = f"{prefix} ended with exit {int(prefix == 'false')} and did not start the application"
    assert ended.report["error"] == how
    assert ended.err == f"hangup: {how}\n"


def test_a_program_that_does_not_exist_is_named(desk: Desk) -> None:
    ended = desk.run(["nohup"], "", command=["/no/such/program"])
    assert ended.status == 127
    assert "the application cannot be started: No such file or directory: /no/such/program" in ended.err


def test_one_that_ended_before_the_hangup_has_not_lived_through_one(desk: Desk) -> None:
    ended = desk.run(["nohup"], "pass")
    assert ended.status == 0
    assert ended.report["began"] is True
    assert ended.report["hung_up_after_s"] is None


def test_one_that_never_ends_is_ended_by_the_deadline(desk: Desk) -> None:
    ended = desk.run(["setsid", "nohup"], FOR_EVER, deadline_s=1.0)
    assert ended.status == 124
    assert "ended by the deadline of 1 s" in ended.err
    assert gone(pid_in(desk.application / "pid"))


# -- outside of the tree ---------------------------------------------------------------------------------


@pytest.fixture
def server(desk: Desk) -> int:
    """The pid of a tmux server that ran before, with a session of somebody's in it."""
    session = ["tmux", "-f", "/dev/null", "new", "-d", "-P", "-F", "#{pid}", "sleep", "600"]
    return int(subprocess.run(session, env=desk.environment, stdout=subprocess.PIPE, check=True).stdout)


@needs("tmux")
def test_in_a_tmux_that_ran_already_it_is_outside_the_tree_and_said_to_be(desk: Desk, server: int) -> None:
    ended = desk.run(["tmux", "new", "-d"], PRINTS)
    assert ended.status == 0
    assert ended.report["outside"] is True
    assert alive(server)


@needs("tmux")
@pytest.mark.parametrize("how", ["the deadline", "SIGTERM", "SIGKILL"])
def test_what_runs_outside_the_tree_is_ended_and_the_server_is_not(how: str, desk: Desk, server: int) -> None:
    process = desk.start(["tmux", "new", "-d"], FOR_EVER, deadline_s=1.0 if how == "the deadline" else 60.0)
    pid = pid_in(desk.application / "pid")
    if how != "the deadline":
        process.send_signal(getattr(signal, how))
    process.communicate(timeout=30)
    until(lambda: gone(pid))
    assert alive(server)


def test_when_the_witness_is_killed_the_application_s_end_is_seen_all_the_same(desk: Desk) -> None:
    process = desk.start(["nohup"], WAITS)
    until((desk.application / "on").exists)
    os.kill(json.loads((desk.folder / "started.json").read_text())["witness"], signal.SIGKILL)
    (desk.application / "go").touch()
    process.communicate(timeout=30)
    assert process.returncode == 5


# -- the candidates --------------------------------------------------------------------------------------


def test_the_candidates_are_told_apart_and_a_bare_program_dies(tmp_path: Path) -> None:
    end = subprocess.run([sys.executable, str(CANDIDATES), str(tmp_path)], stdout=subprocess.PIPE, check=True)
    tried = {" ".join(one["prefix"]): (one["survives"], one["prints"]) for one in json.loads(end.stdout)}
    assert tried[""] == (False, False)
    assert tried["nohup"] == tried["setsid nohup"] == (True, True)
    assert tried["setsid"] == (True, False)
    assert tried.get("tmux new -d", (True, True)) == (True, True)


def test_only_programs_that_are_there_are_candidates(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nohup").symlink_to(str(shutil.which("nohup")))
    end = subprocess.run(
        [sys.executable, str(CANDIDATES), str(tmp_path)], stdout=subprocess.PIPE, check=True,
        env={**os.environ, "PATH": str(tmp_path / "bin")},
    )  # fmt: skip
    assert [one["prefix"] for one in json.loads(end.stdout)] == [[], ["nohup"]]


def test_a_fresh_login_is_in_no_other_terminals_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    monkeypatch.delenv("TERM", raising=False)
    assert "TMUX" not in terminal.login_environment()
    assert terminal.login_environment()["TERM"] == "xterm"
