"""Evidence is made once a trial, whoever asks and however its making ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from pydantic import ValidationError

from fixtures import instrument
from fixtures.evidence import trial as store
from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import NotReached
from fixtures.evidence.trial import Trial
from fixtures.instrument import once
from tests.evidence import making
from tests.evidence.making import Seen
from tests.instrument.making import alive
from tests.instrument.making import pid_in
from tests.instrument.making import until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return making.trial(tmp_path)


class Maker:
    """Counts how often it was asked, and then does as it was told."""

    def __init__(self, does: Callable[[Path], Seen] = lambda _: Seen()) -> None:
        self.does, self.asked = does, 0

    def __call__(self, raw: Path) -> Seen:
        self.asked += 1
        return self.does(raw)


def raising(error: BaseException) -> Callable[[Path], Seen]:
    def does(_: Path) -> Seen:
        raise error

    return does


def test_what_was_made_once_is_read_afterwards(trial: Trial) -> None:
    make = Maker()
    assert [once(trial, "launch", Seen, make) for _ in range(3)] == [Seen()] * 3
    assert make.asked == 1
    envelope = trial.envelope("launch")
    assert (envelope.name, envelope.trial, envelope.carried_from) == ("launch", trial.name, None)
    assert envelope.seconds >= 0


def test_a_maker_gets_a_folder_of_its_own_for_raw_files(trial: Trial) -> None:
    folders: list[Path] = []

    def noting(raw: Path) -> Seen:
        folders.append(raw)
        return Seen()

    for name in ("launch", "application"):
        once(trial, name, Seen, noting)
    assert folders == [trial.raw("launch"), trial.raw("application")]
    assert not any(folder.exists() for folder in folders)  # whether there is one is the maker's business


def test_what_was_not_reached_is_stored_and_raised_again(trial: Trial) -> None:
    make = Maker(raising(NotReached("launch: import", "no torch")))
    for _ in range(2):
        with pytest.raises(NotReached) as error:
            once(trial, "application", Seen, make)
        assert (error.value.step, error.value.why) == ("launch: import", "no torch")
    assert make.asked == 1
    assert trial.envelope("application").not_reached == {"step": "launch: import", "why": "no torch"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (Broken("the folder is gone"), "the folder is gone"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RecursionError("too deep"), "RecursionError"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_whatever_goes_wrong_is_broken_and_not_tried_again(
    error: Exception, words: str, trial: Trial
) -> None:
    make = Maker(raising(error))
    for _ in range(2):
        with pytest.raises(Broken, match=words):
            once(trial, "launch", Seen, make)
    assert make.asked == 1


def test_what_does_not_fit_its_model_is_broken(trial: Trial) -> None:
    make = Maker(lambda _: Seen.model_validate({"text": 5}))
    with pytest.raises(Broken, match=ValidationError.__name__):
        once(trial, "launch", Seen, make)


def test_who_waits_is_patient_enough_for_every_run_before_the_one_waited_for(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With workers each run that takes all of its deadline comes before the last, and none of that is a fault."""
    patience: list[float] = []

    def noting(path: Path, timeout: float) -> FileLock:
        patience.append(timeout)
        return FileLock(path, timeout=timeout)

    monkeypatch.setattr(instrument, "FileLock", noting)
    once(trial, "hangup", Seen, Maker())
    runs = ("application", "in another order", "to be interrupted", "going on", "hung up", "hung up again")
    assert patience[0] > len(runs) * trial.record.parameters.application.deadline_s


class Interrupted(BaseException):
    """As KeyboardInterrupt, which would end pytest itself."""


def test_an_interruption_goes_through_and_leaves_broken_evidence_for_whoever_asks_again(trial: Trial) -> None:
    make = Maker(raising(Interrupted()))
    with pytest.raises(Interrupted):
        once(trial, "launch", Seen, make)
    with pytest.raises(Broken, match="died"):
        once(trial, "launch", Seen, make)
    assert make.asked == 1


def judging(trial: Trial) -> Trial:
    return store.open_trial(trial.path, judging=True)


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.rglob("*")}


def test_judging_reads_and_never_makes_or_writes(trial: Trial) -> None:
    once(trial, "launch", Seen, Maker())
    before, make = listing(trial.path), Maker()
    assert once(judging(trial), "launch", Seen, make) == Seen()
    with pytest.raises(NotReached, match="holds no such evidence"):
        once(judging(trial), "copy", Seen, make)
    assert (make.asked, listing(trial.path)) == (0, before)


def test_judging_what_broke_is_broken(trial: Trial) -> None:
    with pytest.raises(Broken):
        once(trial, "launch", Seen, Maker(raising(ValueError("x"))))
    with pytest.raises(Broken, match="ValueError: x"):
        once(judging(trial), "launch", Seen, Maker())


#: asks for evidence whose making takes until somebody writes `end`, and says what it got
WORKER = """
import json, os, sys, time
from pathlib import Path
from fixtures.evidence import trial as store
from fixtures.instrument import once
from tests.evidence.making import Seen
folder = Path(sys.argv[1])
trial = store.open_trial(Path(sys.argv[2]), judging=False)
def make(raw):
    with open(folder / "makers", "a") as stream:
        stream.write(str(os.getpid()) + chr(10))
    while not (folder / "end").exists():
        time.sleep(0.01)
    return Seen(text=str(os.getpid()))
(folder / ("ready-" + str(os.getpid()))).touch()
try:
    print(once(trial, "launch", Seen, make).text)
except Exception as error:
    print(type(error).__name__, error)
"""


class Workers:
    def __init__(self, folder: Path, trial: Trial) -> None:
        self.folder, self.trial = folder, trial
        self.started: list[subprocess.Popen[str]] = []

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WORKER, str(self.folder), str(self.trial.path)]
        worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.started.append(worker)
        return worker

    def maker(self) -> int:
        return pid_in(self.folder / "makers")


@pytest.fixture
def workers(tmp_path: Path, trial: Trial) -> Any:
    made = Workers(tmp_path, trial)
    yield made
    for worker in made.started:
        worker.kill()
        worker.communicate()


def test_of_two_processes_one_makes_it_and_both_read_it(workers: Workers, tmp_path: Path) -> None:
    both = [workers.start(), workers.start()]
    until(lambda: len(list(tmp_path.glob("ready-*"))) == 2)
    maker = workers.maker()
    (tmp_path / "end").touch()
    said = [worker.communicate(timeout=30)[0].strip() for worker in both]
    assert said == [str(maker)] * 2
    assert (tmp_path / "makers").read_text().split() == [str(maker)]


def test_when_the_maker_is_killed_the_evidence_is_broken_and_nobody_makes_it_again(
    workers: Workers, tmp_path: Path
) -> None:
    both = {worker.pid: worker for worker in (workers.start(), workers.start())}
    until(lambda: len(list(tmp_path.glob("ready-*"))) == 2)
    maker = workers.maker()
    os.kill(maker, signal.SIGKILL)
    (other,) = (worker for pid, worker in both.items() if pid != maker)
    assert "Broken the process that was making this evidence died" in other.communicate(timeout=30)[0]
    assert (tmp_path / "makers").read_text().split() == [str(maker)]
    until(lambda: not alive(maker))
    stored = json.loads(workers.trial.envelope_path("launch").read_text())
    assert (stored["observed"], "died" in stored["broken"]) == (None, True)


def test_evidence_says_what_it_stands_on(tmp_path: Path) -> None:
    trial = making.trial(tmp_path)
    once(trial, "documents", Seen, lambda raw: Seen())
    assert trial.envelope("documents").stands_on == ["project.parameters", "project.manifest"]
