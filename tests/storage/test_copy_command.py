"""`python -m plugins.copy`: a copy is continued, nothing is written twice, and what is wrong is named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import storage
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.errors import InputError
from fixtures.evidence.names import DECISION
from fixtures.evidence.trial import Trial
from plugins import console
from plugins import copy as command
from tests.pilot.bench import ROOT
from tests.storage.making import begun
from tests.storage.making import closed
from tests.storage.making import contents
from tests.storage.making import continued


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return closed(tmp_path, str(tmp_path / "copies"))


def there(trial: Trial) -> Path:
    return Path(str(trial.record.copy_to), trial.name)


def times(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in sums.files_below(folder)}


Printed = pytest.CaptureFixture[str]


def test_a_trial_that_was_not_copied_is_and_another_time_nothing_is_written(
    trial: Trial, capsys: Printed
) -> None:
    files = contents(trial.path)
    assert continued(trial) == 0
    assert f"0 of {len(files)} files were there, {len(files)} written" in capsys.readouterr().out
    assert contents(there(trial)) == files
    before = times(there(trial))
    assert continued(trial) == 0
    printed = capsys.readouterr().out
    assert f"{len(files)} of {len(files)} files were there, 0 written" in printed
    assert "the copy is the trial, byte for byte" in printed
    assert times(there(trial)) == before


def test_half_a_copy_is_gone_on_with(trial: Trial, capsys: Printed) -> None:
    (there(trial) / "evidence").mkdir(parents=True)
    for name in (store.RECORD, "evidence/launch.json"):
        shutil.copy(trial.path / name, there(trial) / name)
    (there(trial) / store.JUNIT).write_text("torn")
    before = times(there(trial))
    assert continued(trial) == 0
    printed = capsys.readouterr().out
    assert "2 of " in printed
    assert f"corrupted, written: {store.JUNIT}" in printed
    assert f"missing, written: {store.VERDICT}" in printed
    after = times(there(trial))
    assert [after[name] for name in (store.RECORD, "evidence/launch.json")] == [
        before[name] for name in (store.RECORD, "evidence/launch.json")
    ]
    assert contents(there(trial)) == contents(trial.path)


def test_a_look_writes_nothing_and_names_what_is_wrong(trial: Trial, capsys: Printed) -> None:
    assert continued(trial, "--check") == 10
    assert f"missing: {store.VERDICT}" in capsys.readouterr().out
    assert not there(trial).parent.exists()
    assert continued(trial) == continued(trial, "--check") == 0
    (there(trial) / store.RECORD).unlink()
    (there(trial) / "evidence" / "launch.json").write_text("{}")
    (there(trial) / "stranger").write_text("x")
    before = contents(there(trial))
    capsys.readouterr()
    assert continued(trial, "--check") == 10
    printed = capsys.readouterr().out
    for words in (
        "corrupted: evidence/launch.json",
        f"missing: {store.RECORD}",
        "not of this trial: stranger",
    ):
        assert words in printed
    assert "byte for byte" not in printed
    assert contents(there(trial)) == before


def test_a_file_that_is_not_of_the_trial_is_named_and_left_alone(trial: Trial, capsys: Printed) -> None:
    assert continued(trial) == 0
    (there(trial) / "stranger").write_text("x")
    assert continued(trial) == 10
    assert "not of this trial: stranger" in capsys.readouterr().out
    assert (there(trial) / "stranger").read_text() == "x"


def test_what_was_added_to_either_since_is_no_difference(trial: Trial) -> None:
    (trial.path / DECISION).write_text("{}")
    assert continued(trial) == 0
    assert not (there(trial) / DECISION).exists()
    (there(trial) / "reread.json").write_text("{}")
    assert continued(trial) == 0


def test_another_place_can_be_named(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert continued(trial, "--to", "elsewhere") == 0
    assert contents(tmp_path / "elsewhere" / trial.name) == contents(trial.path)
    assert not there(trial).exists()


def test_a_link_in_the_copy_is_not_written_through(trial: Trial, tmp_path: Path, capsys: Printed) -> None:
    assert continued(trial) == 0
    (tmp_path / "mine").write_text("mine")
    (there(trial) / store.RECORD).unlink()
    (there(trial) / store.RECORD).symlink_to(tmp_path / "mine")
    assert continued(trial) == 10
    assert "broke off: a link, not written through" in capsys.readouterr().out
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_file_that_reads_back_otherwise_keeps_the_verdict_from_being_written(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    original = storage.Folder.sum_of
    monkeypatch.setattr(
        storage.Folder, "sum_of", lambda self, name: "0" if name == store.RECORD else original(self, name)
    )
    assert continued(trial) == 10
    printed = capsys.readouterr().out
    assert f"missing, not right when written: {store.RECORD}" in printed
    assert f"missing: {store.VERDICT}" in printed
    assert not (there(trial) / store.VERDICT).exists()


def refused(trial: Trial, *more: str) -> str:
    with pytest.raises(InputError) as error:
        continued(trial, *more)
    return str(error.value)


def test_a_trial_that_never_ended_has_no_copy_to_be_completed(tmp_path: Path) -> None:
    open_still = begun(tmp_path, str(tmp_path / "copies"))
    assert "no SHA256SUMS: it never ended; wanted a trial that was closed" in refused(open_still)
    assert not (tmp_path / "copies").exists()


def test_a_trial_that_is_no_longer_what_it_was_is_not_copied(trial: Trial) -> None:
    (trial.path / store.REPORT).write_text("looks fine")
    assert f"{store.REPORT}: altered; wanted a trial that is as it was closed" in refused(trial)
    assert not there(trial).exists()


def test_a_place_is_needed(tmp_path: Path) -> None:
    trial = closed(tmp_path, None)
    assert "no place for a copy; wanted one, here or as --to PLACE" in refused(trial)
    assert "no place for a copy" in refused(trial, "--to", "")
    assert "does not exist (is the storage mounted?)" in refused(trial, "--to", str(tmp_path / "a" / "b"))
    assert "inside the trial itself" in refused(trial, "--to", str(trial.path))
    assert "gone when the process ends" in refused(trial, "--to", "memory://copies")
    password = "correct-horse-battery"
    said = refused(trial, "--to", f"s3://me:{password}@storage/copies")
    assert said.startswith("--to: found what looks like a password in an address (not shown)")
    assert password not in said


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon"])
def test_a_deadline_is_a_number_of_seconds(seconds: str, trial: Trial, capsys: Printed) -> None:
    with pytest.raises(SystemExit) as ended:
        continued(trial, "--deadline", seconds)
    assert ended.value.code == console.BAD_INPUT
    assert "--deadline" in capsys.readouterr().err


def test_it_is_a_command_that_ends_with_a_status_and_no_traceback(trial: Trial, tmp_path: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        given = [sys.executable, "-m", "plugins.copy", *words, "--reports", str(trial.path.parent)]
        return subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=False)

    good, bad = run(trial.name), run("20260101T000000Z-0000")
    assert (good.returncode, good.stderr) == (0, "")
    assert str(there(trial)) in good.stdout
    assert (bad.returncode, bad.stdout) == (4, "")
    assert "Traceback" not in bad.stderr


def test_the_verdict_is_the_last_of_what_is_written(trial: Trial) -> None:
    names = list(command.sealed(trial.path))
    assert names[-2:] == [sums.NAME, store.VERDICT]
