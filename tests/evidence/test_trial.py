"""The trial folder: whole files or none, and evidence that belongs to it or is none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import NotReached
from fixtures.evidence.trial import Trial
from tests.evidence import making
from tests.evidence.making import Seen


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return making.trial(tmp_path)


class Interrupted(BaseException):
    """As KeyboardInterrupt, which would end pytest itself."""


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), Interrupted()])
@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "verdict.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        store.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["verdict.json"]


def test_a_write_into_a_folder_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        store.write_atomically(tmp_path / "no" / "file", b"new")
    assert os.listdir(tmp_path) == []


def test_a_write_replaces_the_whole_file_and_syncs_it_before_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, calls = tmp_path / "x", list[str]()
    path.write_bytes(b"a longer old text")

    def noting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any) -> Any:
            calls.append(name)
            return original(*given)

        return noted

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, noting(name, getattr(os, name)))
    store.write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert calls == ["fsync", "replace", "fsync"]


def test_an_unfinished_file_is_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(os, "replace", lambda old, new: names.append(str(old)))
    store.write_atomically(tmp_path / "copy.json", b"x")
    assert store.TEMPORARY.search(names[0])
    for name in ("copy.json", "evidence/copy.json", ".hidden", "a/.b/c.json", ".copy.json.0123"):
        assert not store.TEMPORARY.search(name)


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}])
def test_what_is_no_json_is_not_written(value: Any, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError)):
        store.write_json(tmp_path / "x.json", value)
    assert os.listdir(tmp_path) == []


def test_evidence_is_read_as_it_was_observed(trial: Trial) -> None:
    seen = Seen(text="U+2028 \u2028, 😀, \0, <b>", number=1e-300)
    making.keep(trial, "launch", seen)
    assert trial.has("launch")
    assert trial.read("launch", Seen) == trial.find("launch", Seen) == seen
    assert not trial.has("copy")


def test_what_was_not_reached_comes_back_with_its_step_and_reason(trial: Trial) -> None:
    trial.write(making.envelope(trial, "copy", not_reached={"step": "launch: import", "why": "no torch"}))
    with pytest.raises(NotReached) as error:
        trial.read("copy", Seen)
    assert (error.value.step, error.value.why) == ("launch: import", "no torch")
    assert trial.find("copy", Seen) is None


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "that broke": ({"broken": "IndexError in line 5"}, "IndexError in line 5"),
    "that holds nothing": ({}, "holds nothing"),
    "of another form": ({"observed": {"text": 5, "number": 1.0}}, "text"),
    "with an unknown key": ({"observed": {"text": "a", "extra": 1}}, "extra"),
    "that broke and observed all the same": ({"broken": "x", "observed": {"text": "a", "number": 1.0}}, "x"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_evidence_is_broken(case: str, trial: Trial) -> None:
    outcome, words = BROKEN[case]
    trial.write(making.envelope(trial, "copy", **outcome))
    with pytest.raises(Broken, match=words):
        trial.read("copy", Seen)
    assert trial.find("copy", Seen) is None


UNREADABLE: dict[str, bytes] = {
    "empty": b"",
    "torn": b'{"name": "copy", "trial": "2026',
    "no UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "with a key twice": b'{"name": "copy", "name": "copy"}',
    "without a trial": b'{"name": "copy", "made": "now", "seconds": 0.0}',
    "of a later form": b'{"name": "copy", "trial": "20261201T103000Z-7f3a", "made": "x", "seconds": 0.0, "new": 1}',
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_evidence_that_cannot_be_read_is_broken(case: str, trial: Trial) -> None:
    trial.envelope_path("copy").write_bytes(UNREADABLE[case])
    with pytest.raises(Broken, match=r"copy\.json"):
        trial.read("copy", Seen)


def test_evidence_that_is_missing_is_broken(trial: Trial) -> None:
    with pytest.raises(Broken, match="No such file"):
        trial.read("copy", Seen)


def test_evidence_of_another_trial_is_broken(trial: Trial, tmp_path: Path) -> None:
    other = making.trial(tmp_path, "20261201T110000Z-0000")
    making.keep(other, "copy", Seen())
    trial.envelope_path("copy").write_bytes(other.envelope_path("copy").read_bytes())
    with pytest.raises(Broken, match=f"belongs to trial {other.name}, not to {trial.name}"):
        trial.read("copy", Seen)


@pytest.mark.parametrize("reason", [{}, {"step": "launch"}, {"why": "no torch"}])
def test_a_reason_that_is_not_whole_is_not_reached_all_the_same(reason: dict[str, str], trial: Trial) -> None:
    trial.write(making.envelope(trial, "copy", not_reached=reason))
    with pytest.raises(NotReached):
        trial.read("copy", Seen)


def test_a_trial_is_opened_as_it_was_made(trial: Trial) -> None:
    opened = store.open_trial(trial.path, judging=True)
    assert (opened.record, opened.name, opened.judging) == (trial.record, trial.name, True)


def test_a_folder_that_is_no_trial_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        store.open_trial(tmp_path / "gone", judging=True)
    with pytest.raises(InputError, match=r"trial\.json"):
        store.open_trial(tmp_path, judging=True)


@pytest.mark.parametrize(("key", "value"), [("schema", "gpu-pilot/trial/2"), ("device", "tpu"), ("extra", 1)])
def test_a_record_of_another_form_is_refused(key: str, value: object, trial: Trial) -> None:
    path = trial.path / store.RECORD
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError, match=key):
        store.open_trial(trial.path, judging=True)


def test_a_trial_folder_is_never_used_twice(tmp_path: Path) -> None:
    store.create(tmp_path, "one")
    with pytest.raises(InputError, match="File exists"):
        store.create(tmp_path, "one")


def test_a_trial_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        store.create(tmp_path / "file", "one")


def test_names_of_trials_differ_and_sort_by_time() -> None:
    names = [store.new_name() for _ in range(50)]
    assert len(set(names)) >= 49  # 16 random bits a second; a folder that exists is refused
    assert all(len(name) == len("20261201T103000Z-7f3a") for name in names)
    stamps = [name.partition("-")[0] for name in names]
    assert stamps == sorted(stamps)


def test_factors_are_named_by_group() -> None:
    factors = Factors(machine={"a": "1"}, environment={"a": "2"}, project={"b": "3"})
    assert factors.flat() == {"machine.a": "1", "environment.a": "2", "project.b": "3"}
