"""The end of a trial: a verdict in the trial and its copy that says the same, or none in either."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures import copy
from fixtures import storage
from fixtures.evidence import base
from fixtures.evidence import models as m
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.models import Reread
from fixtures.evidence.parameters import ResultsFile
from fixtures.evidence.trial import Trial
from plugins import closing
from plugins.verdict import decide
from plugins.verdict import Objection
from plugins.verdict_file import Verdict
from tests.evidence import making
from tests.evidence.making import Seen
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import plan_of
from tests.verdict.making import planned
from tests.verdict.making import result
from tests.verdict.making import with_outcome


def render(verdict: Verdict) -> str:
    return (
        f"<p>{verdict.decision} \ud800</p>"  # half a surrogate pair must not keep a report from being written
    )


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """A trial at its end: evidence, a copy, and the journal."""
    reread = Reread(trial="t", exit_status=12, seconds=0.0, error=None, outcomes={})
    monkeypatch.setattr(copy, "reread", lambda *_: reread)
    made = making.trial(tmp_path, copy_to=str(tmp_path / "copies"))
    making.keep(made, "launch", Seen())
    (made.raw("application") / "output").mkdir(parents=True)
    (made.raw("application") / "output" / os.fsdecode(b"caf\xe9\n.txt")).write_bytes(b"x")
    making.keep(made, "copy", copy.observe(made, lambda _: None))
    (made.path / store.CHECKS).write_text("{}\n")
    (made.path / store.JUNIT).write_text("<testsuites/>")
    return made


def target(trial: Trial) -> Path:
    return Path(str(trial.record.copy_to), trial.name)


def stored(folder: Path) -> Verdict | None:
    path = folder / store.VERDICT
    return base.load(path, Verdict) if path.exists() else None


def test_a_go_is_written_into_the_trial_and_its_copy_byte_for_byte(trial: Trial) -> None:
    verdict, unwritten = closing.close(trial, facts(), render, copying=True)
    assert (verdict.decision, unwritten) == ("go", [])
    assert stored(trial.path) == stored(target(trial)) == verdict
    here = {name: sums.of_file(trial.path / name) for name in sums.files_below(trial.path)}
    there = {name: sums.of_file(target(trial) / name) for name in sums.files_below(target(trial))}
    assert here == there
    assert {store.REPORT, store.VERDICT, store.CHECKS, store.JUNIT, sums.NAME} <= set(here)


def test_the_sums_verify_and_name_all_but_themselves(trial: Trial) -> None:
    verdict, _ = closing.close(trial, facts(), render, copying=True)
    assert sums.differences(trial.path) == sums.differences(target(trial)) == []
    listed = sums.parse((trial.path / sums.NAME).read_bytes().decode("utf-8", "surrogateescape"))
    assert set(listed) == set(sums.files_below(trial.path)) - {sums.NAME}
    shown = {artefact.path for artefact in verdict.artefacts}
    assert shown == {sums.shown(name) for name in listed} - {store.VERDICT}


def test_the_newest_trial_is_named_and_the_locks_are_gone(trial: Trial) -> None:
    closing.close(trial, facts(), render, copying=True)
    assert (trial.path.parent / store.LATEST).read_text() == f"{trial.name}\n"
    assert not (trial.path / store.LOCKS).exists()


@pytest.mark.parametrize("copying", [True, False])
def test_without_a_copy_the_trial_is_closed_alone(copying: bool, trial: Trial) -> None:
    if copying:
        trial.envelope_path("copy").unlink()
    before = sums.files_below(target(trial))
    verdict, unwritten = closing.close(trial, facts(interruption="SIGTERM"), render, copying=copying)
    assert (verdict.decision, unwritten) == ("undecided", [])
    assert stored(trial.path) == verdict
    assert sums.files_below(target(trial)) == before


def test_a_copy_that_had_failed_is_left_alone(trial: Trial) -> None:
    failed = trial.read("copy", m.Copy).model_copy(update={"error": "No space left on device"})
    making.keep(trial, "copy", failed)
    closing.close(trial, facts(), render, copying=True)
    assert stored(target(trial)) is None


def failing(where: Path | None, name: str | None = None) -> Callable[..., None]:
    """In place of a function whose first argument is a path below `where`, and ends in `name`."""

    def fail(path: Path, *_: object) -> None:
        if where is None or (path.is_relative_to(where) and name in (None, path.name)):
            raise OSError(errno.EIO, "Input/output error", str(path))

    return fail


def failing_always(*_: object) -> None:
    raise OSError(errno.EIO, "Input/output error", "the file")


def at(original: Callable[..., Any], fail: Callable[..., None]) -> Callable[..., Any]:
    def first(path: Path, *rest: Any) -> Any:
        fail(path, *rest)
        return original(path, *rest)

    return first


def break_the_copy(how: str, trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    there, (what, _, name) = target(trial), how.partition(" ")
    if what == "write":
        monkeypatch.setattr(store, "write_atomically", at(store.write_atomically, failing(there, name)))
    elif what == "sync":
        monkeypatch.setattr(storage, "sync", at(storage.sync, failing(there, name)))
    elif what == "transfer":
        monkeypatch.setattr(storage.Folder, "write", failing_always)
    elif what == "unreadable":
        monkeypatch.setattr(sums, "differences", failing(there))
    elif what == "differs":
        monkeypatch.setattr(sums, "differences", lambda folder: ["report.html: altered"])
    elif what == "altered":
        (there / "trial.json").write_text("altered since")
    elif what == "added":
        (there / "stranger").write_text("x")
    elif what == "gone":
        __import__("shutil").rmtree(there)


WAYS = [
    "write report.html", "write verdict.json", "write SHA256SUMS", "sync report.html", "sync verdict.json",
    "sync SHA256SUMS", "transfer", "unreadable", "differs", "altered", "added",
]  # fmt: skip


@pytest.mark.parametrize("how", WAYS)
def test_when_the_last_copy_fails_it_is_fix_and_the_copy_holds_no_verdict(
    how: str, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_the_copy(how, trial, monkeypatch)
    verdict, unwritten = closing.close(trial, facts(), render, copying=True)
    monkeypatch.undo()
    assert (verdict.decision, verdict.exit_status, unwritten) == ("fix", 10, [])
    assert verdict.first_error is not None
    assert verdict.first_error.check == closing.COPIED
    assert "the copy could not be completed" in verdict.first_error.message
    assert stored(trial.path) == verdict
    assert stored(target(trial)) is None
    assert sums.differences(trial.path) == []


def test_when_the_copy_is_gone_the_folder_that_it_was_in_keeps_no_go(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_the_copy("gone", trial, monkeypatch)
    verdict, _ = closing.close(trial, facts(), render, copying=True)
    # transferred anew, it holds together again; otherwise it must not say go
    assert verdict.decision == "go" if stored(target(trial)) else verdict.decision == "fix"
    assert stored(trial.path) == verdict


@pytest.mark.parametrize("copying", [True, False])
@pytest.mark.parametrize("name", [store.REPORT, store.VERDICT, sums.NAME, store.LATEST])
def test_when_the_trial_cannot_be_written_there_is_no_verdict_anywhere(
    name: str, copying: bool, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail = failing(trial.path.parent, name)
    monkeypatch.setattr(closing, "write_atomically", at(store.write_atomically, fail))
    verdict, unwritten = closing.close(trial, facts(), render, copying=copying)
    assert (verdict.decision, verdict.exit_status) == ("undecided", 12)
    assert unwritten == ["the verdict could not be written: Input/output error"]
    assert unwritten[0] in verdict.reason
    assert (stored(trial.path), stored(target(trial))) == (None, None)


def test_when_a_file_of_the_trial_cannot_be_read_there_is_no_verdict(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "of_file", at(sums.of_file, failing(trial.path, "launch.json")))
    verdict, unwritten = closing.close(trial, facts(), render, copying=True)
    assert (verdict.decision, bool(unwritten), stored(trial.path)) == ("undecided", True, None)


def test_a_failure_stays_a_failure_when_it_cannot_be_written(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "write_atomically", failing(None))
    given = with_outcome(facts(), "inputs.manifest", outcome(plan_of("inputs.manifest"), "failed"))
    verdict, unwritten = closing.close(trial, given, render, copying=False)
    assert (verdict.decision, len(unwritten)) == ("fix", 1)


# -- what the verdict is told -----------------------------------------------------------------------------

ONE, TWO, OF_COPY = (
    planned("inputs.one"),
    planned("inputs.two"),
    planned("end_of_trial.copied", evidence=("copy",)),
)


def judged_again(trial: Trial, here: dict[str, str], there: dict[str, str], **more: Any) -> list[str]:
    plan = [ONE, TWO, OF_COPY]
    ids = {check.id: check for check in plan}
    reread = {"trial": trial.name, "exit_status": 0, "seconds": 0.0, "error": None, **more}
    seen = Reread.model_validate(
        {**reread, "outcomes": {ids[id].nodeid: status for id, status in there.items()}}
    )
    making.keep(trial, "copy", trial.read("copy", m.Copy).model_copy(update={"reread": seen}))
    outcomes = [outcome(ids[id], status) for id, status in here.items()]  # type: ignore[arg-type]
    return [objection.message for objection in closing.objections(trial, facts(plan=plan, outcomes=outcomes))]


BOTH = {"inputs.one": "passed", "inputs.two": "failed", "end_of_trial.copied": "passed"}
AGREEING = [
    BOTH, {**BOTH, "end_of_trial.copied": "failed"}, {id: BOTH[id] for id in ("inputs.one", "inputs.two")},
]  # fmt: skip


@pytest.mark.parametrize("there", AGREEING)
def test_outcomes_that_agree_raise_no_objection_nor_do_checks_of_the_copy_itself(
    there: dict[str, str], trial: Trial
) -> None:
    assert judged_again(trial, BOTH, there) == []


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ({**BOTH, "inputs.one": "failed"}, "inputs.one: passed here, failed there"),
        ({**BOTH, "inputs.two": "passed"}, "inputs.two: failed here, passed there"),
        ({**BOTH, "inputs.one": "not_run"}, "inputs.one: passed here, not_run there"),
        ({"inputs.two": "failed"}, "inputs.one: passed here, absent there"),
        ({}, "inputs.one: passed here, absent there; inputs.two: failed here, absent there"),
    ],
)
def test_outcomes_that_differ_are_named(there: dict[str, str], words: str, trial: Trial) -> None:
    assert judged_again(trial, BOTH, there) == [f"judging the copy differs: {words}"]


def test_what_did_not_run_here_says_nothing_about_the_copy(trial: Trial) -> None:
    assert judged_again(trial, {"inputs.one": "not_run", "inputs.two": "broken"}, BOTH) == []


def test_a_copy_that_was_not_judged_is_left_to_its_own_check(trial: Trial) -> None:
    assert judged_again(trial, BOTH, {}, error="it did not end") == []
    trial.envelope_path("copy").unlink()
    assert closing.objections(trial, facts()) == []


def test_an_objection_of_the_copy_fails_the_check_that_judges_alike() -> None:
    objection = Objection(closing.JUDGED_ALIKE, "differs", "reread")
    check = planned(closing.JUDGED_ALIKE)
    verdict = decide(dataclasses.replace(facts(plan=[check]), objections=[objection]))
    assert result(verdict, check.id).status == "failed"


def documents(entries: list[str], error: str | None = None) -> m.Documents:
    return m.Documents(
        folder="/d", manifest="/d/manifest.json", manifest_sha256=None, manifest_error=error, files=[], unnamed=[],
        entries=[m.ManifestEntry(id=id, file=id, sha256="", bytes=1, valid=True) for id in entries],
    )  # fmt: skip


def application(lines: list[dict[str, Any]], printed: int = 0) -> m.Application:
    empty = {"file": "x", "bytes": printed, "head": "", "tail": ""}
    return m.Application.model_validate(
        {
            "command": [], "batch_size": 1, "device": "cpu", "folder": "/", "executable": None, "interpreters": [],
            "ended": "exit", "error": None, "returncode": 0, "signal": None, "seconds": 1.0, "output_was_empty": True,
            "output_files": [], "left_behind": [], "stdout": empty, "stderr": {**empty, "bytes": 0},
            "inputs_changed": [], "touched": [],
            "results": {
                "kind": "file", "error": None, "bytes": 1, "sha256": None, "written_during_run": True,
                "lines_left_out": 0,
                "lines": [{"number": n, "record": r, "problem": None, "text": ""} for n, r in enumerate(lines, 1)],
            },
            "memory": {"peak_resident_bytes": 0, "cards": [], "cards_unread": "x", "interval_s": 0.1, "samples": []},
        }
    )  # fmt: skip


def test_documents_are_counted_from_what_was_written(trial: Trial) -> None:
    making.keep(trial, "documents", documents(["a", "b", "c"]))
    lines = [
        {"id": "a", "status": "accepted"},
        {"id": "a", "status": "rejected"},
        {"id": "x", "status": "accepted"},
    ]
    making.keep(trial, "application", application(lines))
    counted = closing.counts(trial)
    assert counted is not None
    assert json.loads(counted.model_dump_json()) == {
        "expected": 12, "accepted": ["a"], "rejected": ["a"], "missing": ["b", "c"], "duplicated": ["a"],
        "invented": ["x"],
    }  # fmt: skip


def test_without_a_run_of_the_application_nothing_is_counted(trial: Trial) -> None:
    making.keep(trial, "documents", documents(["a", "b"]))
    assert closing.counts(trial) is None


@pytest.mark.parametrize("seen", [None, documents([], error="no JSON")])
def test_without_a_manifest_nothing_is_counted(seen: m.Documents | None, trial: Trial) -> None:
    if seen:
        making.keep(trial, "documents", seen)
    assert closing.counts(trial) is None


@pytest.mark.parametrize(("printed", "noted"), [(0, False), (11 << 20, True)])
def test_an_application_that_prints_a_lot_is_an_advisory(printed: int, noted: bool, trial: Trial) -> None:
    making.keep(trial, "application", application([], printed))
    assert any("MiB to stdout" in line for line in closing.advisories(trial)) is noted


def test_a_copy_on_the_same_file_system_is_an_advisory(trial: Trial) -> None:
    assert any("that is no backup" in line for line in closing.advisories(trial))
    elsewhere = trial.read("copy", m.Copy).model_copy(update={"same_file_system": False})
    making.keep(trial, "copy", elsewhere)
    assert not any("that is no backup" in line for line in closing.advisories(trial))


# -- what was left out -----------------------------------------------------------------------------------------

#: options, scope, and what the parameters of the application say -> what is said to be not examined
LEFT_OUT: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "a rehearsal": ({}, {}, {f"{closing.HANGUP} (application.detached)"}),
    "a rehearsal of the way it will be started": ({}, {"detached": ["nohup"]}, set()),
    "a rental, where the ways are tried": ({"scope": "rental"}, {}, set()),
    "once": ({"once": True, "scope": "rental"}, {}, {closing.AGAIN, f"{closing.HANGUP} (--once)"}),
    "once, in the way it will be started": (
        {"once": True, "scope": "rental"},
        {"detached": ["nohup"]},
        {closing.AGAIN, f"{closing.HANGUP} (--once)"},
    ),
    "rows": ({"scope": "rental"}, {"results": ResultsFile(format="csv")}, set()),
    "a JSON document": ({"scope": "rental"}, {"results": ResultsFile(format="json")}, {closing.DONE_AGAIN}),
    "a JSON document, once": (
        {"scope": "rental", "once": True},
        {"results": ResultsFile(format="json")},
        {closing.AGAIN, f"{closing.HANGUP} (--once)"},
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_was_not_examined_is_said_with_what_left_it_out(case: str, tmp_path: Path) -> None:
    more, asked, wanted = LEFT_OUT[case]
    parameters = making.record("t", tmp_path).parameters
    own = parameters.application.model_copy(update=asked)
    changed = parameters.model_copy(update={"application": own}).model_dump(mode="json")
    made = making.trial(tmp_path, parameters=changed, **more)
    said = {line.removeprefix("not examined: ") for line in closing.advisories(made)}
    always = {closing.AGAIN, closing.DONE_AGAIN}
    assert {line for line in said if line in always or line.startswith(closing.HANGUP)} == wanted
