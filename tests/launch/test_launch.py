"""The launch as it is watched from outside, and the evidence that comes of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fixtures import environment
from fixtures import launch as launching
from fixtures.evidence.models import Host
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import Launch
from fixtures.evidence.order import Order
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import create
from fixtures.evidence.trial import Envelope
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import Record
from fixtures.evidence.trial import Trial
from fixtures.inventory import inventory  # noqa: F401  a fixture, used by the next
from fixtures.launch import launch  # noqa: F401  the fixture under test
from tests.launch.written import program

NOBODY = Host(
    system="Linux", kernel="6", machine="x86_64", cpus=2, memory_bytes=1, boot_id=None, container=None
)


@pytest.fixture
def observe(project: Path, tmp_path: Path) -> Callable[..., Launch]:
    """Launches in the project, as the session fixture would."""

    def run(device: str = "cuda", interpreter: str = sys.executable) -> Launch:
        return launching.observe(interpreter, device, project, tmp_path / "raw")

    return run


def statuses(seen: Launch) -> dict[str, str]:
    return {step.name: step.status for step in seen.steps}


def test_a_healthy_machine_climbs_every_step(observe: Callable, straw: Callable) -> None:
    straw()
    seen = observe("auto")
    assert statuses(seen) == dict.fromkeys(launching.PROBE_STEPS, "ok")
    assert seen.first_failure() is None
    assert (seen.asked_device, seen.device, seen.cuda_driver) == ("auto", "cuda", "12.4")
    assert [card.index for card in seen.devices] == [0, 1]
    assert {one.device for one in seen.computations} == {"cuda:0", "cuda:1"}
    assert [card.free_bytes for card in seen.devices] == [79 << 30] * 2
    assert {(one.source, one.target) for one in seen.transfers} == {
        ("host", "cuda:0"), ("host", "cuda:1"), ("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"),
    }  # fmt: skip
    assert {one.device: one.error for one in seen.second} == {"cuda:0": None, "cuda:1": None}
    assert seen.driver is not None
    assert (seen.driver.cuda.code, seen.driver.cuda.version) == (0, "12.4")
    assert seen.host is not None
    assert (seen.torch.version, seen.torch.cuda, seen.torch.hip) == ("9.9.9", "12.8", None)
    assert seen.interpreter.executable == seen.asked_interpreter == sys.executable
    assert seen.interpreter.real_path == seen.asked_real_path
    assert (seen.end.returncode, seen.end.signal, seen.end.timed_out) == (0, None, False)


def test_a_step_that_fails_leaves_the_rest_not_reached(observe: Callable, straw: Callable) -> None:
    straw(at_import="raise ImportError('undefined symbol')")
    seen = observe()
    assert statuses(seen) == {
        **dict.fromkeys(launching.PROBE_STEPS, "not_reached"),
        **dict.fromkeys(("interpreter", "environment", "driver", "host"), "ok"),
        "import": "failed",
    }
    assert seen.first_failure().name == "import"
    assert seen.first_failure().error == "ImportError: undefined symbol"
    assert (seen.torch, seen.device, seen.end.returncode) == (None, None, 1)
    assert seen.distributions


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "No such file or directory"),
        (lambda path: path.write_text("#!/bin/sh"), "Permission denied"),
        (lambda path: path.mkdir(), "Permission denied"),
        (lambda path: (path.write_bytes(b"\x7fELF"), path.chmod(0o755)), "Exec format error"),
    ],
    ids=["missing", "not executable", "a folder", "for another machine"],
)
def test_an_interpreter_that_cannot_start_is_an_observation(
    make: Callable, words: str, observe: Callable, tmp_path: Path
) -> None:
    path = tmp_path / "python"
    make(path)
    seen = observe(interpreter=str(path))
    assert statuses(seen)["interpreter"] == "failed"
    assert set(list(statuses(seen).values())[1:]) == {"not_reached"}
    assert words in seen.first_failure().error
    assert str(path) in seen.first_failure().error
    assert (seen.end.returncode, seen.end.signal, seen.end.timed_out) == (None, None, False)


@pytest.mark.parametrize("body", ["exit 0", "echo Python is not for you >&2; exit 3"], ids=["quiet", "loud"])
def test_a_program_that_is_no_python_fails_the_first_step(
    body: str, observe: Callable, tmp_path: Path
) -> None:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    failure = observe(interpreter=str(path)).first_failure()
    assert (failure.name, failure.status) == ("interpreter", "failed")
    assert (
        failure.error
        == {
            "exit 0": "before the first step the process ended with status 0",
            "echo Python is not for you >&2; exit 3": (
                "before the first step the process ended with status 3: Python is not for you"
            ),
        }[body]
    )


def test_a_wrapper_around_python_is_an_interpreter(
    observe: Callable, straw: Callable, tmp_path: Path
) -> None:
    straw()
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    seen = observe(interpreter=str(path))
    assert seen.first_failure() is None
    assert seen.asked_real_path == str(path)
    assert seen.interpreter.executable == sys.executable


def test_a_crash_names_the_signal_the_step_and_the_place(observe: Callable, straw: Callable) -> None:
    straw(at_import="os.kill(os.getpid(), signal.SIGSEGV)")
    seen = observe()
    failure = seen.first_failure()
    assert (failure.name, failure.status) == ("import", "crashed")
    assert failure.error.startswith("killed by SIGSEGV, at File ")
    assert "torch/__init__.py" in failure.error
    assert (seen.end.returncode, seen.end.signal) == (1, None)
    assert "torch/__init__.py" in seen.end.stderr_tail
    assert seen.interpreter is not None


def test_a_crash_on_the_second_card_keeps_what_the_first_computed(observe: Callable, straw: Callable) -> None:
    straw(fault="dies")
    seen = observe()
    assert statuses(seen)["compute"] == "crashed"
    assert "cuda:0" in {one.device for one in seen.computations}
    assert seen.first_failure().error.startswith("cuda:1: killed by SIGSEGV, at File ")
    assert len(seen.devices) == 2


def test_leaving_in_the_middle_of_a_step_is_a_crash_whatever_the_status(
    observe: Callable, straw: Callable
) -> None:
    straw(at_import="os._exit(0)")
    seen = observe()
    assert seen.first_failure().status == "crashed"
    assert seen.first_failure().error == "in the middle of it the process ended with status 0"


def test_a_crash_at_the_very_end_is_seen_in_the_end(observe: Callable, straw: Callable) -> None:
    straw(at_import="import atexit; atexit.register(lambda: os.kill(os.getpid(), signal.SIGABRT))")
    seen = observe()
    assert seen.first_failure() is None
    assert seen.end.signal == "SIGABRT"


@pytest.mark.parametrize("deaf", [False, True], ids=["heeds TERM", "needs KILL"])
def test_a_hang_is_ended_at_the_deadline_with_all_its_children(
    deaf: bool, observe: Callable, straw: Callable, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(launching.DEADLINES, "import", 1.0)
    straw(
        at_import=(
            "import subprocess; child = subprocess.Popen(['sleep', '60'])\n"
            "open('child', 'w').write(str(child.pid))\n"
            + ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if deaf else "")
            + "time.sleep(60)"
        )
    )
    seen = observe()
    failure = seen.first_failure()
    assert (failure.name, failure.status) == ("import", "hung")
    assert failure.error.startswith("no end within 1 s")
    assert deaf or "torch/__init__.py" in failure.error
    assert 0 < failure.seconds < seen.end.seconds
    assert (seen.end.timed_out, seen.end.returncode) == (False, 1)
    assert statuses(seen)["host"] == "ok"
    assert gone(int((project / "child").read_text()))


def test_a_hang_before_the_first_step_is_the_interpreters(
    observe: Callable, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "START_S", 0.5)
    (project / "sitecustomize.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(project))
    seen = observe()
    failure = seen.first_failure()
    assert (failure.name, failure.status) == ("interpreter", "hung")
    assert failure.error.startswith("no end within 0.5 s")
    assert (seen.end.timed_out, seen.end.signal) == (True, "SIGTERM")


@pytest.mark.parametrize("how", ["killed", "hung"])
def test_when_the_probe_itself_is_lost_the_steps_that_ran_are_cut_short(
    how: str, observe: Callable, straw: Callable, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel's out-of-memory killer may have it; everything that it had begun goes with it."""
    monkeypatch.setattr(launching, "_whole", lambda asked: 2.0)
    end = (
        "os.kill(os.getppid(), signal.SIGKILL)"
        if how == "killed"
        else "os.kill(os.getppid(), signal.SIGSTOP)"
    )
    straw(at_import=f"open('child', 'w').write(str(os.getpid()))\n{end}\ntime.sleep(60)")
    monkeypatch.setattr(launching, "GRACE_S", 0.3)
    monkeypatch.setattr(launching, "START_S", 1.0)
    seen = observe()
    assert statuses(seen)["import"] == ("crashed" if how == "killed" else "hung")
    assert statuses(seen)["interpreter"] == "ok"
    assert statuses(seen)["device"] == "not_reached"
    assert seen.end.signal == "SIGKILL"
    assert gone(int((project / "child").read_text()))


def test_what_a_healthy_launch_leaves_running_is_ended_too(
    observe: Callable, straw: Callable, project: Path
) -> None:
    straw(
        at_import=(
            "import subprocess; child = subprocess.Popen(['sleep', '60'])\n"
            "open('child', 'w').write(str(child.pid))"
        )
    )
    assert observe().first_failure() is None
    assert gone(int((project / "child").read_text()))


def gone(pid: int) -> bool:
    """Killed processes stay in the table until their new parent looks."""
    for _ in range(100):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_noise_on_the_streams_does_no_harm(
    observe: Callable, straw: Callable, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straw(at_import="print('{\"end\": \"compute\"}'); sys.stderr.write('careful\\n')")
    (project / "sitecustomize.py").write_text("print('welcome to this machine')")
    monkeypatch.setenv("PYTHONPATH", str(project))
    seen = observe()
    assert seen.first_failure() is None
    assert "welcome" in (tmp_path / "raw" / "stdout.txt").read_text()
    assert seen.end.stderr_tail == "careful\n"


def test_no_value_of_a_variable_stays_in_the_streams(
    observe: Callable, straw: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hush-hush")
    straw(at_import="print(dict(os.environ)); sys.stderr.write(os.environ['HUB_TOKEN'])")
    seen = observe()
    assert seen.end.stderr_tail == "$HUB_TOKEN"
    kept = [path.read_text() for path in (tmp_path / "raw").iterdir()]
    assert len(kept) == 4
    assert not any("hush-hush" in text for text in kept)


def test_what_several_processes_found_is_put_together(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_text(
        '{"found": {"driver": {"pci": []}}}\n{"add": {"driver.asked": 1}}\n{"add": {"said": "a"}}\n'
        '{"found": {"driver": {"cuda": 2}}}\n{"add": {"said": "b"}}\n{"found": {"device": "cuda"}}\n'
    )
    assert launching._read(path).found == {
        "driver": {"pci": [], "asked": [1], "cuda": 2}, "said": ["a", "b"], "device": "cuda",
    }  # fmt: skip


def test_the_error_with_which_a_step_ended_is_said_first(
    observe: Callable, straw: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    straw(driver=802)
    seen = observe()
    first = seen.said[0]
    assert first.text == seen.first_failure().error
    assert (first.step, first.source, first.number, first.number_of) == ("driver", "cuInit", 802, "cuda")


def test_a_witness_is_read(
    observe: Callable, straw: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straw()
    line = "GPU 0: NVIDIA H200 (UUID: GPU-12345678-1234-1234-1234-123456789abc)"
    program(tmp_path / "bin", "nvidia-smi", f'[ "$1" = -L ] && echo "{line}"; exit 0')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    seen = observe()
    assert [state.name for state in seen.states] == ["NVIDIA H200"]
    assert ["nvidia-smi", "-L"] in [one.command for one in seen.driver.asked]


def test_lines_that_are_torn_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(
        b'{"begin": "interpreter"}\n'
        b'{"end": "interpreter", "status": "ok", "seconds": 0.1, "error": null}\n'
        b'{"found": {"dev{"begin": "environment"}\n\xff\n'
        b'{"begin": "environment"}\n{"end": "environ'
    )
    said = launching._read(path)
    assert said.begun == {"interpreter", "environment"}
    assert list(said.ended) == ["interpreter"]


def test_a_launch_that_wrote_nothing_reads_as_nothing(tmp_path: Path) -> None:
    assert launching._read(tmp_path / "none").begun == set()


@pytest.mark.parametrize("name", ["PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER"])
def test_the_program_does_not_see_that_pytest_started_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "x")
    assert name not in environment.environment()


def test_the_program_sees_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q")
    given = environment.environment()
    assert (given["PYTHONPATH"], given["PYTEST_ADDOPTS"]) == ("/somewhere", "-q")
    assert given == {name: value for name, value in os.environ.items() if name in given}


@pytest.fixture(scope="session")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """A trial whose inventory is stored and whose interpreter is missing."""
    folder = tmp_path_factory.mktemp("launch")
    asked = {"kind": "command", "command": ["x", "{manifest}", "{results}"]}
    record = Record(
        trial="t",
        continues=None,
        suite="gpu",
        scope="rental",
        device="auto",
        created="",
        command=[],
        project=str(folder),
        folder=str(folder),
        copy_to=None,
        interpreter=str(folder / "python"),
        parameters=Parameters.model_validate(
            {"documents": {}, "categories": ["a", "b"], "application": asked}
        ),
        order=Order(card=None, lots=1, cards=1, days=3, preparation="Ubuntu"),
        references={},
        factors=Factors(machine={}, environment={}, project={}),
    )
    trial = Trial(create(folder / "reports", "t"), record, judging=False)
    seen = Inventory(cards=[], driver=None, witnesses=[], host=NOBODY)
    trial.write(Envelope(name="inventory", trial="t", made="", seconds=0, observed=seen.model_dump()))
    return trial


@pytest.fixture(scope="session")
def told() -> list[str]:
    return []


@pytest.fixture(scope="session")
def progress(told: list[str]) -> Callable[[str], None]:
    return told.append


def test_the_fixture_stores_what_it_saw_and_says_what_it_does(
    launch: Launch,  # noqa: F811
    trial: Trial,
    told: list[str],
) -> None:
    assert launch.first_failure().name == "interpreter"
    assert trial.read("launch", Launch) == launch
    assert told == [f"launch: torch in {trial.record.interpreter}, device auto, 0 cards in the inventory"]


def test_the_inventory_is_only_read(inventory: Inventory, trial: Trial) -> None:  # noqa: F811
    assert inventory == trial.read("inventory", Inventory)
