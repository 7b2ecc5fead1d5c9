"""The copy as an instrument: every obstacle is an observation, and what was written is read back from there."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from typing import cast

import psutil
import pytest

from fixtures import copy
from fixtures import reader
from fixtures import storage
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.models import Copy
from fixtures.evidence.models import Reread
from fixtures.evidence.trial import Trial
from tests.evidence import making
from tests.evidence.making import Seen
from tests.pilot.bench import ROOT
from tests.plugins.making import inventory

REREAD = Reread(trial="t", exit_status=0, seconds=0.0, error=None, outcomes={"a": "passed"})


def begun(folder: Path, target: str | None = "copies") -> Trial:
    trial = making.trial(folder, copy_to=None if target is None else str(folder / target))
    making.keep(trial, "launch", Seen())
    (trial.raw("application") / "output").mkdir(parents=True)
    (trial.raw("application") / "output" / "results.jsonl").write_bytes(b"{}\n")
    return trial


def silent(_: str) -> None:
    pass


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started to judge the copy."""
    monkeypatch.setattr(copy, "reread", lambda *_: REREAD)


@pytest.mark.usefixtures("unjudged")
def test_the_copy_holds_the_trial_byte_for_byte(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    observed = copy.observe(trial, silent)
    assert (observed.error, observed.path) == (None, str(tmp_path / "copies" / trial.name))
    assert {file.path for file in observed.files} == {
        "trial.json", "evidence/launch.json", "evidence/application/output/results.jsonl",
    }  # fmt: skip
    for file in observed.files:
        assert file.sha256 == file.copy_sha256 == sums.of_file(Path(str(observed.path), file.path))
        assert file.bytes == (trial.path / file.path).stat().st_size
    assert observed.reread == REREAD
    assert observed.same_file_system is True


@pytest.mark.usefixtures("unjudged")
def test_whoever_waits_is_told_where_it_is_written(tmp_path: Path) -> None:
    said: list[str] = []
    copy.observe(begun(tmp_path), said.append)
    assert str(tmp_path / "copies") in said[0]
    assert "judging" in said[1]


@pytest.mark.usefixtures("unjudged")
def test_files_whose_names_are_no_utf8_are_copied_too(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    name = os.fsdecode(b"caf\xe9.txt")
    (trial.raw("application") / "output" / name).write_bytes(b"x")
    observed = copy.observe(trial, silent)
    assert "evidence/application/output/caf\\xe9.txt" in {file.path for file in observed.files}
    assert (Path(str(observed.path), "evidence/application/output", name)).read_bytes() == b"x"
    making.keep(trial, "copy", observed)
    assert trial.read("copy", Copy) == observed


def test_without_a_target_there_is_none_and_nothing_happens(tmp_path: Path) -> None:
    observed = copy.observe(begun(tmp_path, None), silent)
    assert (observed.target, observed.path, observed.error, observed.files) == (None, None, None, [])


def a_file(_: Trial, target: Path) -> None:
    target.write_text("mine")


def below_a_file(_: Trial, target: Path) -> None:
    target.parent.write_text("mine")


def linked_into_the_trial(trial: Trial, target: Path) -> None:
    target.symlink_to(trial.path / "evidence")


def linked_to_the_trial(trial: Trial, target: Path) -> None:
    target.symlink_to(trial.path)


def copied_already(trial: Trial, target: Path) -> None:
    (target / trial.name).mkdir(parents=True)
    (target / trial.name / store.RECORD).write_text("mine")


def taken(trial: Trial, target: Path) -> None:
    (target / trial.name).mkdir(parents=True)


def a_dead_link(_: Trial, target: Path) -> None:
    target.symlink_to("nowhere/at/all")


def unmounted(_: Trial, target: Path) -> None:
    pass


OBSTACLES: list[tuple[str, Callable[[Trial, Path], None], str]] = [
    ("copies", a_file, "is not a folder"),
    ("mount/copies", unmounted, "mount does not exist (is the storage mounted?)"),
    ("file/copies", below_a_file, "does not exist"),
    ("copies", linked_into_the_trial, "lies inside the trial itself"),
    ("copies", linked_to_the_trial, "lies inside the trial itself"),
    ("copies", copied_already, "exists already"),
    ("copies", taken, "File exists"),
    ("copies", a_dead_link, "File exists"),
]


@pytest.mark.parametrize(
    ("target", "make", "words"), OBSTACLES, ids=lambda value: getattr(value, "__name__", "")
)
def test_an_obstacle_is_said_and_nothing_of_anybodys_is_touched(
    target: str, make: Callable[[Trial, Path], None], words: str, tmp_path: Path
) -> None:
    trial = begun(tmp_path, target)
    make(trial, tmp_path / target)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    observed = copy.observe(trial, silent)
    assert words in str(observed.error)
    assert (observed.files, observed.reread) == ([], None)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_target_directly_inside_the_trial_is_an_obstacle(tmp_path: Path) -> None:
    trial = begun(tmp_path, f"reports/{making.trial.__defaults__[0]}/copies")  # type: ignore[index]
    assert "inside the trial" in str(copy.observe(trial, silent).error)


def test_the_last_folder_of_a_target_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "reread", lambda *_: REREAD)
    (tmp_path / "mount").mkdir()
    assert copy.observe(begun(tmp_path, "mount/copies"), silent).error is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("where", ["copyfile", "fsync", "mkdir"])
def test_what_goes_wrong_while_writing_is_said(
    where: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = begun(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "the file")

    monkeypatch.setattr({"copyfile": shutil, "fsync": os, "mkdir": Path}[where], where, fail)
    observed = copy.observe(trial, silent)
    assert os.strerror(number) in str(observed.error)
    assert "the file" in str(observed.error)
    assert (observed.files, observed.reread) == ([], None)


def test_a_full_place_is_named_and_not_the_file_that_was_to_be_copied_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    trial = begun(tmp_path)
    monkeypatch.setattr(shutil, "copyfile", full)
    error = str(copy.observe(trial, silent).error)
    assert error.startswith(f"No space left on device: {tmp_path / 'copies' / trial.name}")


@pytest.mark.usefixtures("unjudged")
def test_a_copy_that_reads_back_differently_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = begun(tmp_path)

    def rotten(path: Path) -> None:
        with path.open("r+b") as stream:
            stream.write(b"#")

    monkeypatch.setattr(storage, "sync", rotten)
    observed = copy.observe(trial, silent)
    assert observed.files
    assert all(file.copy_sha256 not in (None, file.sha256) for file in observed.files)


@pytest.mark.usefixtures("unjudged")
def test_a_copy_that_vanishes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "sync", Path.unlink)
    observed = copy.observe(begun(tmp_path), silent)
    assert {file.copy_sha256 for file in observed.files} == {None}


def test_locks_the_journal_and_unfinished_files_are_not_copied(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    for name in (".locks/copy.lock", ".locks/reread.json", store.CHECKS, "evidence/.copy.json.0123abcd"):
        (trial.path / name).touch()
    (trial.path / "link").symlink_to("trial.json")
    assert copy.worth_copying(trial.path) == [
        "evidence/application/output/results.jsonl", "evidence/launch.json", "trial.json",
    ]  # fmt: skip


class Ended:
    """A process of straw that judges: what it writes as its verdict, and how it ends."""

    stdin = stdout = None

    def __init__(self, answer: str | None, status: int = 0, says: bytes = b"") -> None:
        self.answer, self.returncode, self.says = answer, status, says

    def __call__(self, command: list[str], **options: Any) -> Ended:
        self.command, self.options = command, options
        return self

    def communicate(self, told: bytes, timeout: float) -> tuple[bytes, None]:
        self.told, self.timeout = json.loads(told), timeout
        if self.answer is not None:
            Path(self.told[self.told.index("--verdict") + 1]).write_text(self.answer)
        return self.says, None

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int | None:
        return self.returncode


class Hanging(Ended):
    """One that does not end until it is killed."""

    killed = False

    def communicate(self, told: bytes, timeout: float) -> tuple[bytes, None]:
        raise subprocess.TimeoutExpired("pytest", timeout)

    def poll(self) -> int | None:
        return None

    def kill(self) -> None:
        self.killed, self.returncode = True, -9


ANSWER = json.dumps({"trial": "t", "criteria": [{"checks": [{"nodeid": "a::b", "status": "passed"}]}]})


def read_again(ended: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Reread:
    trial = begun(folder)
    monkeypatch.setattr(subprocess, "Popen", ended)
    seen = copy.reread(trial, folder / "copies" / trial.name)
    assert not (trial.path / store.LOCKS / "reread.json").exists()
    return seen


def test_the_copy_is_judged_by_a_new_process_from_there_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    ended = Ended(ANSWER, 12)
    seen = read_again(ended, tmp_path, monkeypatch)
    assert (seen.trial, seen.exit_status, seen.error, seen.outcomes) == ("t", 12, None, {"a::b": "passed"})
    assert ended.told[ended.told.index("--trial") + 1].startswith(str(tmp_path / "copies"))
    assert "-k nothing" not in ended.options["env"].values()
    assert ended.timeout == reader.DEADLINE_S


@pytest.mark.parametrize("answer", ["", "{", "no json", '{"trial":'])
def test_an_answer_that_is_no_json_is_an_error(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = read_again(Ended(answer), tmp_path, monkeypatch)
    assert seen.error
    assert (seen.trial, seen.outcomes) == (None, {})


def test_a_judge_that_gives_no_answer_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = read_again(Ended(None, 4, b"usage\nERROR: no such trial\n"), tmp_path, monkeypatch)
    assert (seen.exit_status, seen.error) == (4, "it ended with 4 and no verdict: ERROR: no such trial")


def test_a_judge_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging(None)
    seen = read_again(hanging, tmp_path, monkeypatch)
    assert "did not end within 120 s" in str(seen.error)
    assert (hanging.killed, seen.outcomes) == (True, {})


def test_a_judge_that_does_not_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    seen = read_again(fail, tmp_path, monkeypatch)
    assert "Cannot allocate memory" in str(seen.error)
    assert (seen.exit_status, seen.outcomes) == (None, {})


def test_a_judge_that_was_started_ahead_ends_when_it_is_not_needed() -> None:
    ahead = reader.Reader(ROOT)
    process = psutil.Process(ahead._process.pid if ahead._process else 0)
    ahead.stop()
    assert not process.is_running()


#: options, the prefix of the long run, and what is made before the copy
BEFORE_THE_COPY: list[tuple[dict[str, Any], list[str] | None, list[str]]] = [
    ({}, None, ["reordered", "resumed"]),
    ({}, ["nohup"], ["reordered", "resumed", "hangup"]),
    ({"once": True}, None, []),
    ({"once": True}, ["nohup"], []),
]


@pytest.mark.parametrize(("options", "detached", "wanted"), BEFORE_THE_COPY)
def test_every_further_run_that_was_asked_for_is_made_before_the_copy(
    options: dict[str, Any], detached: list[str] | None, wanted: list[str], tmp_path: Path
) -> None:
    parameters = making.record("t", tmp_path).parameters.model_dump(mode="json")
    parameters["application"]["detached"] = detached
    trial = making.trial(tmp_path, parameters=parameters, **options)
    made: list[str] = []
    copy._observe_the_rest(trial, cast(pytest.FixtureRequest, SimpleNamespace(getfixturevalue=made.append)))
    assert made == wanted


#: where the trial was made, where it is now (system, boot, cards), and whether that is another machine
PLACES: list[tuple[tuple[str, str | None, int], tuple[str, str | None, int], bool]] = [
    (("Linux", "one", 1), ("Linux", "one", 1), False),
    (("Linux", "one", 1), ("Linux", "two", 1), False),  # after a reboot
    (("Linux", "one", 1), ("Linux", "two", 0), True),
    (("Linux", "one", 0), ("Linux", "two", 0), True),
    (("Linux", "one", 1), ("Darwin", None, 0), True),
    (("Linux", "one", 1), ("Linux", None, 0), False),
    (("Linux", None, 1), ("Linux", "two", 0), False),
]


@pytest.mark.parametrize(("made", "now", "another"), PLACES)
def test_another_machine_is_told_by_its_boot_and_its_cards(
    made: tuple[str, str | None, int],
    now: tuple[str, str | None, int],
    another: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    then, here = (
        inventory(*[("nvidia", "H200")] * cards, system=system, boot_id=boot)
        for system, boot, cards in (made, now)
    )
    trial = making.trial(tmp_path)
    making.keep(trial, "inventory", then)
    monkeypatch.setattr(copy.inventory, "observe", lambda: here)
    assert copy.elsewhere(trial) is another
