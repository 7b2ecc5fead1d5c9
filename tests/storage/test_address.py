"""An address as a place for a copy, through fsspec's local:// and so without a server: every fault has its word."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

pytest.importorskip("fsspec", reason="fsspec is not installed: it comes with the extra `test`")

from fixtures import copy
from fixtures import storage
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.trial import Trial
from plugins import closing
from tests.evidence import making as trials
from tests.storage import making
from tests.storage.making import begun
from tests.storage.making import contents
from tests.storage.making import ended
from tests.storage.making import observed
from tests.verdict.making import facts


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started to judge the copy, and nobody waits before trying again."""
    monkeypatch.setattr(copy, "reread", lambda *_: making.REREAD)
    monkeypatch.setattr(storage, "PAUSES_S", (0.0, 0.0))


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return begun(tmp_path, f"local://{tmp_path}/copies")


def there(trial: Trial) -> Path:
    return Path(str(trial.record.copy_to).removeprefix("local://"), trial.name)


def test_what_is_copied_is_read_back_and_judged_from_there_and_nothing_is_left_here(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[dict[str, str]] = []
    monkeypatch.setattr(
        copy, "reread", lambda _, folder, __: judged.append(contents(folder)) or making.REREAD
    )
    seen = observed(trial)
    assert (seen.error, seen.same_file_system) == (None, None)
    assert seen.path == f"{trial.record.copy_to}/{trial.name}"
    assert {one.path for one in seen.files} == {sums.shown(name) for name in copy.worth_copying(trial.path)}
    assert all(one.sha256 == one.copy_sha256 for one in seen.files)
    assert judged == [contents(trial.path)]
    assert not list((trial.path / store.LOCKS).iterdir())


def test_the_copy_of_a_closed_trial_is_the_trial(trial: Trial, tmp_path: Path) -> None:
    verdict = ended(trial)
    assert verdict.decision == "go"
    assert making.read_back(f"{trial.record.copy_to}/{trial.name}", tmp_path / "back") == contents(trial.path)


def test_names_that_a_storage_takes_for_something_else_are_written_otherwise_and_come_back(
    trial: Trial, tmp_path: Path
) -> None:
    observed(trial)
    written = {path.name for path in there(trial).rglob("*")}
    assert {"a %3FversionId=1%23x.txt", "100%2525%5B%2A%5D.txt", "Hợp đồng số 7.txt", "caf%E9.txt"} <= written
    back = making.read_back(f"{trial.record.copy_to}/{trial.name}", tmp_path / "back")
    assert {name: back.get(name) for name in contents(trial.path)} == contents(trial.path)


def test_the_last_folder_of_an_address_is_made_and_never_its_parents(tmp_path: Path) -> None:
    trial = begun(tmp_path, f"local://{tmp_path}/mount/copies")
    assert "no folder" in str(observed(trial).error)
    assert not (tmp_path / "mount").exists()
    (tmp_path / "mount").mkdir()
    assert observed(trial).error is None


def test_a_copy_that_is_there_already_is_left_alone(trial: Trial) -> None:
    (there(trial)).mkdir(parents=True)
    (there(trial) / store.RECORD).write_text("mine")
    assert "exists already" in str(observed(trial).error)
    assert [path.name for path in there(trial).iterdir()] == [store.RECORD]


def before_reading(do: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something to the storage when all was written and nothing is read back yet."""
    original = storage.Address.fetched

    def fetched(self: storage.Address, *given: object) -> Path:
        do()
        return original(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(storage.Address, "fetched", fetched)


def test_a_file_that_was_altered_or_lost_there_is_named(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil() -> None:
        (there(trial) / "evidence" / "launch.json").write_bytes(b"{}")
        (there(trial) / store.RECORD).unlink()

    before_reading(spoil, monkeypatch)
    wrong = {one.path: one.copy_sha256 for one in observed(trial).files if one.copy_sha256 != one.sha256}
    assert wrong == {"evidence/launch.json": sums.of_bytes(b"{}"), store.RECORD: None}


def test_what_was_taken_away_there_is_no_longer_among_the_names(tmp_path: Path) -> None:
    with storage.Address(f"local://{tmp_path}/copies/t1") as place:
        place.make()
        for name in ("a", "b"):
            place.put(name, b"x")
        assert place.names() == ["a", "b"]
        (tmp_path / "copies" / "t1" / "a").unlink()
        assert place.names() == ["b"]


def client() -> psutil.Process:
    """The process that is connected to the storage."""
    return next(one for one in psutil.Process().children() if "fixtures.storage_client" in one.cmdline())


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_one_client_that_falls_silent_or_dies_costs_a_try_and_no_more(
    how: signal.Signals, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit: list[int] = []

    def hurt() -> None:
        hit.append(client().pid)
        client().send_signal(how)

    before_reading(hurt, monkeypatch)
    # one second is for the client that is hurt; what comes after it may take its time
    waiting = iter([1.0])
    original = storage.Address._within
    monkeypatch.setattr(
        storage.Address,
        "_within",
        lambda self, s: next(waiting, original(self, s)) if hit else original(self, s),
    )
    seen = observed(trial)
    assert (seen.error, {one.copy_sha256 == one.sha256 for one in seen.files}) == (None, {True})
    assert not psutil.pid_exists(hit[0])


def test_a_storage_that_does_not_answer_is_left_at_its_deadline(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "PAUSES_S", ())

    def silent() -> None:
        client().send_signal(signal.SIGSTOP)
        monkeypatch.setattr(storage, "PATIENCE_S", 0.2)

    before_reading(silent, monkeypatch)
    clients = set(psutil.Process().children())
    where = f"{trial.record.copy_to}/{trial.name}/evidence/application/output/"
    error = str(observed(trial).error)
    assert error.startswith("no answer within ")
    assert f"s (tried 1 time): {where}" in error
    assert set(psutil.Process().children()) == clients


def test_all_of_it_has_one_deadline(trial: Trial) -> None:
    with (
        storage.Address(f"{trial.record.copy_to}/{trial.name}", 0.0) as place,
        pytest.raises(OSError, match="within 0 s"),
    ):
        place.make()


def test_what_a_library_says_shows_no_value_of_the_environment(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_PASSWORD", "correct-horse-battery")
    with (
        storage.Address(f"local://{tmp_path}/correct-horse-battery/x/y") as place,
        pytest.raises(OSError, match="no folder") as raised,
    ):
        place.make()
    assert raised.value.strerror == f"no folder {tmp_path}/$STORAGE_PASSWORD"


ENDS = {
    "the-place-is-gone": lambda folder: (shutil.rmtree(folder), folder.write_text("a file")),
    "a-file-is-altered": lambda folder: (folder / store.RECORD).write_text("{}"),
    "a-file-is-added": lambda folder: (folder / "stranger").write_text("x"),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_storage_that_fails_at_the_very_end_turns_the_verdict(how: str, trial: Trial) -> None:
    trials.keep(trial, "copy", observed(trial))
    ENDS[how](there(trial))
    verdict, unwritten = closing.close(trial, facts(), lambda verdict: verdict.decision, copying=True)
    assert (verdict.decision, unwritten) == ("fix", [])
    assert verdict.first_error is not None
    assert verdict.first_error.check == closing.COPIED
    assert (
        str(trial.record.copy_to) in verdict.first_error.message
        or "SHA256SUMS" in verdict.first_error.message
        or ("trial.json: altered" in verdict.first_error.message)
    )
    assert not (there(trial) / store.VERDICT).exists()
    assert sums.differences(trial.path) == []


def test_a_trial_that_cannot_be_written_takes_its_verdict_out_of_the_storage_too(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials.keep(trial, "copy", observed(trial))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(closing, "write_atomically", full)
    verdict, unwritten = closing.close(trial, facts(), lambda verdict: verdict.decision, copying=True)
    assert (verdict.decision, len(unwritten)) == ("undecided", 1)
    assert (there(trial) / store.REPORT).exists()
    assert not (there(trial) / store.VERDICT).exists()


def test_in_memory_a_client_writes_lists_reads_and_removes(tmp_path: Path) -> None:
    from fixtures.storage_client import Client

    client = Client(f"memory://{tmp_path.name}/trial", 5.0)
    (tmp_path / "file").write_bytes(b"words")
    client.make()
    assert client.names() == []
    client.write("evidence/a?b.json", str(tmp_path / "file"))
    assert client.names() == [("evidence/a?b.json", 5)]
    assert client.exists("evidence/a?b.json")
    client.read("evidence/a?b.json", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"words"
    client.remove("evidence/a?b.json")
    client.remove("evidence/a?b.json")
    assert not client.exists("evidence/a?b.json")
    with pytest.raises(FileNotFoundError):
        client.read("evidence/a?b.json", str(tmp_path / "back"))
