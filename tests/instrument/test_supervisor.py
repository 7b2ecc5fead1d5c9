"""What a run may be asked beside its command: to be stopped, to tell, to be driven by a loop of the suite's own."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures import processes
from fixtures import supervisor
from tests.instrument.making import alive
from tests.instrument.making import NEVER
from tests.instrument.making import pid_in
from tests.instrument.making import python
from tests.instrument.making import request
from tests.instrument.making import run

WRITER = """
    import os, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(600)"], start_new_session=True)
    open("child", "w").write(f"{child.pid}\\n")
    for n in range(2000):
        with open("results.jsonl", "a") as stream: stream.write("{}\\n")
        time.sleep(0.01)
"""


def test_a_run_is_stopped_at_so_many_lines_and_its_whole_tree_dies(tmp_path: Path) -> None:
    report = run(python(tmp_path, textwrap.dedent(WRITER), stop_after=5, interval_s=NEVER))
    assert (report["ended"], report["signal"], report["left_behind"]) == ("stopped", "SIGKILL", [])
    assert 5 <= (tmp_path / "results.jsonl").read_bytes().count(b"\n") < 2000
    assert not alive(pid_in(tmp_path / "child"))


def test_one_that_asks_to_be_spared_is_stopped_all_the_same(tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, lambda *_: open('asked', 'w'))\n"
    report = run(python(tmp_path, code + textwrap.dedent(WRITER), stop_after=1, interval_s=NEVER))
    assert (report["ended"], report["signal"]) == ("stopped", "SIGKILL")
    assert not (tmp_path / "asked").exists()


def test_one_that_is_through_before_ended_by_itself(tmp_path: Path) -> None:
    report = run(python(tmp_path, "open('results.jsonl', 'w').write('{}\\n' * 3)", stop_after=4))
    assert (report["ended"], report["returncode"]) == ("exit", 0)


def test_lines_of_an_earlier_run_count(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("{}\n" * 9)
    report = run(python(tmp_path, "import time; time.sleep(600)", stop_after=9))
    assert report["ended"] == "stopped"


def test_variables_are_added_to_the_applications_environment_and_not_to_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_RENTER", "stays")
    monkeypatch.setenv("GPU_PILOT_TOLD", "/of/another/pilot")
    code = """
        import json, os
        own = dict(os.environ)
        with open(f"/proc/{os.getppid()}/environ", "rb") as stream: ours = stream.read().split(b"\\0")
        added = [name for name in ("NEW", "OF_THE_RENTER") if f"{name}={own[name]}".encode() not in ours]
        told = own.get("GPU_PILOT_TOLD")
        print(json.dumps({"told": told, "new": own["NEW"], "old": own["OF_THE_RENTER"], "added": added}))
    """
    report = run(python(tmp_path, textwrap.dedent(code), environment={"NEW": "é ="}))
    assert report["returncode"] == 0
    said = json.loads((tmp_path / "stdout.txt").read_text())
    assert said == {"told": None, "new": "é =", "old": "stays", "added": ["NEW"]}


TELLER = """
    import json, os, time
    for n in range(10):
        told = json.dumps({"document": f"doc-{n}"})
        with open(os.environ["GPU_PILOT_TOLD"], "a") as stream: stream.write(told + "\\n")
        time.sleep(0.15)
"""


def test_telling_is_progress(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    asked = python(tmp_path, textwrap.dedent(TELLER), told=str(tmp_path / "told.jsonl"), no_progress_s=1.0)
    assert run(asked, seen.append)["ended"] == "exit"
    assert seen[-1]["document"] in {f"doc-{n}" for n in range(1, 10)}
    assert set(seen[-1]) == {"at", "lines", "resident", "card", "document"}
    assert seen[-1]["card"] is None


def test_when_it_was_started_is_told_from_when_the_supervisor_was(tmp_path: Path) -> None:
    """What the application tells has the time of day, and is held against samples that count from its start."""
    code = """
        import os, time, psutil
        print(psutil.Process(os.getppid()).create_time(), time.time())
    """
    report = run(request(tmp_path, sys.executable, "-c", textwrap.dedent(code)))
    supervisor_began, application_began = map(float, (tmp_path / "stdout.txt").read_text().split())
    assert supervisor_began < report["began_at"] <= application_began


def test_what_never_started_has_no_start(tmp_path: Path) -> None:
    assert run(request(tmp_path, str(tmp_path / "nothing")))["began_at"] is None


def test_the_same_without_a_word_is_none(tmp_path: Path) -> None:
    code = textwrap.dedent(TELLER).replace("stream.write", "len")
    asked = python(tmp_path, code, told=str(tmp_path / "told.jsonl"), no_progress_s=1.0)
    assert run(asked)["ended"] == "no_progress"


@pytest.mark.parametrize(("name", "ended"), [("told.jsonl", "exit"), ("other.jsonl", "output_limit")])
def test_what_is_told_is_no_output(name: str, ended: str, tmp_path: Path) -> None:
    told = str(tmp_path / "told.jsonl")
    code = f"open({name!r}, 'w').write('x' * (1 << 21))"
    assert run(python(tmp_path, code, told=told, output_limit_bytes=1 << 20))["ended"] == ended


@pytest.mark.parametrize(
    ("change", "fell_to"),
    [
        ("open('results.jsonl', 'a').write('{}\\n')", None),
        ("os.truncate('results.jsonl', 3)", 3),
        ("os.unlink('results.jsonl')", 0),
        ("open('new', 'w').write('{}\\n' * 9); os.replace('new', 'results.jsonl')", 27),
        ("pass", None),
    ],
)
def test_results_that_lost_bytes_are_seen(change: str, fell_to: int | None, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("{}\n{}\n")
    assert run(python(tmp_path, f"import os; {change}"))["fell_to"] == fell_to


def test_results_that_are_new_have_not_shrunk(tmp_path: Path) -> None:
    assert run(python(tmp_path, "open('results.jsonl', 'w').write('{}\\n')"))["fell_to"] is None


SHELL = os.path.realpath("/bin/sh")
DRIVER = """
    import subprocess
    held = bytearray(200 << 20)
    subprocess.run(["/bin/sh", "-c", "sleep 0.5; exit 0"])
"""


@pytest.mark.parametrize("driver", [True, False])
def test_the_suites_own_loop_is_no_part_of_the_application(driver: bool, tmp_path: Path) -> None:
    report = run(python(tmp_path, textwrap.dedent(DRIVER), driver=driver))
    assert report["executable"] == (SHELL if driver else os.path.realpath(sys.executable))
    assert [one["executable"] for one in report["interpreters"]] == (
        [] if driver else [os.path.realpath(sys.executable)]
    )
    assert (report["memory"]["peak_resident_bytes"] > 200 << 20) is not driver


def test_an_application_that_the_loop_forked_is_seen_in_its_own_interpreter(tmp_path: Path) -> None:
    code = "import os, time\nif os.fork() == 0: time.sleep(0.5); os._exit(0)\nos.wait()"
    report = run(python(tmp_path, code, driver=True))
    assert report["executable"] == os.path.realpath(sys.executable)
    assert len(report["interpreters"]) == 1


@pytest.mark.parametrize("there", [True, False])
def test_of_a_process_that_ended_between_two_looks_no_environment_is_guessed(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program file is that of every environment made from it."""
    watch = supervisor.Watch({**asdict(python(tmp_path, "")), "wakeup": os.pipe()[0]})
    monkeypatch.setattr(processes, "program", lambda pid: sys.executable)
    monkeypatch.setattr(processes, "command", lambda pid: [sys.executable] if there else [])
    watch._note(os.getpid())
    assert {prefix for _, prefix in watch.interpreters} == ({sys.prefix} if there else set())


def test_what_the_loop_leaves_behind_is_named(tmp_path: Path) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '600'])"
    report = run(python(tmp_path, code, driver=True))
    assert [left["name"] for left in report["left_behind"]] == ["sleep"]


def test_the_limit_of_the_hosts_memory_and_the_kernels_kills_are_reported(tmp_path: Path) -> None:
    memory = run(request(tmp_path, "/bin/sh", "-c", "sleep 0.3"))["memory"]
    assert memory["limit_bytes"] > memory["peak_resident_bytes"] > 0
    assert memory["limit_from"].startswith("/")
    assert memory["oom_kills"] in (0, None)
    assert 0 <= memory["peak_at"] < 60


def test_no_bytecode_appears_in_the_folder_that_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    own = Path(__file__).resolve().parents[2] / "fixtures"
    before = {path: path.stat().st_mtime_ns for path in own.rglob("*.pyc")}
    run(request(tmp_path, "/bin/true"))
    assert {path: path.stat().st_mtime_ns for path in own.rglob("*.pyc")} == before


def test_a_process_that_is_about_to_become_another_does_not_count_its_parents_memory_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between fork and exec it is its parent once more; a worker that stays so is seen again."""
    watch = supervisor.Watch({**asdict(request(tmp_path, "program")), "wakeup": 0})
    watch.child, watch.begun = SimpleNamespace(pid=10), time.monotonic()  # type: ignore[assignment]
    programs = {10: ["program"], 11: ["program"], 12: ["other"]}
    there = [processes.Process(pid, 10 if pid > 10 else 1, 1.0, 0.0, 100, False) for pid in programs]
    monkeypatch.setattr(watch.tree, "look", lambda: there)
    monkeypatch.setattr(processes, "command", lambda pid: programs.get(pid, []))
    monkeypatch.setattr(processes, "program", lambda pid: None)
    monkeypatch.setattr(processes, "largest_resident", lambda pid: 100)
    counted = []
    for _ in range(2):
        watch._look(time.monotonic())
        counted.append(watch._resident)
    assert counted == [200, 300]


def test_where_memory_becomes_short_shared_pages_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = supervisor.Watch({**asdict(request(tmp_path, "program")), "wakeup": 0})
    there = [processes.Process(pid, 1, 1.0, 0.0, 400, False) for pid in (1, 2)]
    monkeypatch.setattr(processes, "proportional", lambda pid: 250)
    watch.limit = 1600 + 1
    assert watch._without_shared(800, there, 0.0) == 800  # half of it is not short
    watch.limit = 1600
    assert watch._without_shared(800, there[:1], 0.0) == 800  # nobody to share with
    assert watch._without_shared(800, there, 0.0) == 500
    monkeypatch.setattr(processes, "proportional", lambda pid: 0)
    assert watch._without_shared(1600, there, supervisor.SHARED_S - 1) == 1000  # not asked again so soon
    assert watch._without_shared(800, there, supervisor.SHARED_S) == 800  # cannot be read


def test_workers_that_were_forked_and_stay_count(tmp_path: Path) -> None:
    code = """
        import os, time
        if os.fork() == 0:
            held = bytearray(150 << 20)
            time.sleep(0.6)
            os._exit(0)
        held = bytearray(150 << 20)
        os.wait()
    """
    report = run(python(tmp_path, textwrap.dedent(code)))
    assert report["memory"]["peak_resident_bytes"] >= 300 << 20


def test_a_short_peak_is_seen_however_much_memory_the_suite_itself_had(tmp_path: Path) -> None:
    """The kernel hands on the peak of what forked a process; that of the suite is no figure of the application's."""
    held = bytearray(300 << 20)
    report = run(python(tmp_path, "bytearray(150 << 20)", interval_s=NEVER))
    assert 150 << 20 <= report["memory"]["peak_resident_bytes"] < len(held)
