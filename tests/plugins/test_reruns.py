"""Reruns: what differs between two trials, and which evidence still holds."""

from __future__ import annotations

import dataclasses
import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fixtures import documents
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.ladder import Asked
from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import Driver
from fixtures.evidence.ladder import HostSeen
from fixtures.evidence.ladder import SecondProcess
from fixtures.evidence.models import Launch
from fixtures.evidence.models import Step
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import Trial
from plugins import reruns
from plugins.reruns import Earlier
from plugins.verdict import decide
from plugins.verdict_file import Changed
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict
from tests.evidence import making
from tests.evidence.making import Seen
from tests.plugins.making import config
from tests.report.samples import launch
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import planned

BEFORE = {
    "machine": {"driver": "1", "cards": "H200"},
    "environment": {"interpreter": "p"},
    "project": {"parameters": "a", "order": "b", "manifest": "c", "suite": "d", "model": "e"},
}
ALL = ["documents", "application"]


def factors(**moved: str | None) -> Factors:
    """As before, but for `group__name=value`."""
    groups: dict[str, dict[str, str]] = {group: dict(named) for group, named in BEFORE.items()}
    for place, value in moved.items():
        group, _, name = place.partition("__")
        if value is None:
            del groups[group][name]
        else:
            groups[group][name] = value
    return Factors(**groups)


@pytest.mark.parametrize(
    ("moved", "listed"),
    [
        ({}, []),
        ({"machine__driver": "2"}, [("machine.driver", "1", "2")]),
        ({"project__index": "x"}, [("project.index", None, "x")]),
        ({"project__model": None}, [("project.model", "e", None)]),
        (
            {"project__suite": "x", "machine__cards": "B200"},
            [("machine.cards", "H200", "B200"), ("project.suite", "d", "x")],
        ),
    ],
)
def test_what_differs_is_listed_factor_by_factor(moved: dict[str, str | None], listed: list[Any]) -> None:
    assert reruns.changed(factors(), factors(**moved)) == [
        Changed(factor=factor, before=before, after=after) for factor, before, after in listed
    ]


CHECKS = [
    planned("launch.import", evidence=("launch",)),
    planned("inputs.manifest", evidence=("documents",)),
    planned("results.file", evidence=("application",)),
    planned("results.account", evidence=("documents", "application")),
    planned("end_of_trial.references", evidence=("launch",)),
    planned("end_of_trial.copied", evidence=("copy",)),
    planned("end_of_trial.odd", evidence=("application", "copy")),
]


def verdict(**statuses: Status) -> Verdict:
    by_id = {id.replace("__", "."): status for id, status in statuses.items()}
    return decide(
        facts(plan=CHECKS, outcomes=[outcome(check, by_id.get(check.id, "passed")) for check in CHECKS])
    )


class Two:
    """An earlier trial with all its evidence, and the folder of the one that continues it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document = folder / "documents" / "a.txt"
        self.document.parent.mkdir()
        self.document.write_text("a")
        entry = {"id": "a", "file": "a.txt", "sha256": sums.of_file(self.document), "bytes": 1, "valid": True}
        manifest = folder / "documents" / "manifest.json"
        manifest.write_text(json.dumps({"documents": [entry]}))
        self.source = making.trial(folder, "20261201T100000Z-0001", factors=factors())
        self.now = launch()
        making.keep(self.source, "launch", self.now)
        for name in ("application", "copy", "inventory"):
            making.keep(self.source, name, Seen(text=name))
        making.keep(self.source, "documents", documents.observe(manifest))
        self.source.raw("application").mkdir()
        (self.source.raw("application") / "stdout.txt").write_text("printed")
        (self.source.raw("application") / "link").symlink_to("stdout.txt")

    def carry(
        self, judged: Verdict | None, moved: dict[str, str | None] | None = None, **record: Any
    ) -> list[str]:
        self.target = making.trial(
            self.folder, "20261201T110000Z-0002", factors=factors(**(moved or {})), **record
        )
        carried = reruns.carry(Earlier(self.source, judged), self.target, lambda: self.now)
        self.remade = {one.evidence: one.why for one in carried.remade}
        assert not self.remade.keys() & set(carried.names)
        return carried.names


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


MOVED: list[tuple[dict[str, str | None], list[str]]] = [
    ({}, ALL),
    ({"machine__driver": "2"}, ["documents"]),
    ({"machine__cards": None}, ["documents"]),
    ({"environment__interpreter": "q"}, ["documents"]),
    ({"environment__CUDA_VISIBLE_DEVICES": "0"}, ["documents"]),
    ({"project__parameters": "x"}, []),
    ({"project__manifest": "x"}, []),
    ({"project__order": "x"}, ["documents"]),
    ({"project__model": "x"}, ["documents"]),
    ({"project__suite": "x"}, ["documents"]),
    ({"project__application": "x"}, ["documents"]),
]


@pytest.mark.parametrize(("moved", "carried"), MOVED)
def test_evidence_is_carried_unless_a_factor_it_stands_on_has_changed(
    moved: dict[str, str | None], carried: list[str], two: Two
) -> None:
    assert two.carry(verdict(), moved) == carried


STATUSES: list[tuple[dict[str, Status], list[str]]] = [
    ({"launch__import": "failed"}, ALL),
    ({"inputs__manifest": "failed"}, []),
    ({"results__file": "failed"}, ["documents"]),
    ({"results__account": "failed"}, []),
    ({"results__file": "not_reached"}, ["documents"]),
    ({"results__file": "not_run"}, ["documents"]),
    ({"results__file": "broken"}, ["documents"]),
    ({"end_of_trial__copied": "failed"}, ALL),
    ({"end_of_trial__odd": "failed"}, ALL),
]


@pytest.mark.parametrize(("statuses", "carried"), STATUSES)
def test_evidence_is_made_afresh_when_any_check_on_it_did_not_pass(
    statuses: dict[str, Status], carried: list[str], two: Two
) -> None:
    assert two.carry(verdict(**statuses)) == carried


DIFFERENT = [
    {"driver": Driver(module_version="570.86.15")},
    {"distributions": {"torch": "2.13.0+cu130", "numpy": "2.4.0"}},
    {"torch": None},
    {"devices": []},
    {"asked_real_path": "/usr/bin/python3.12"},
    {"cuda_driver": "12.4"},
    {"steps": [Step(name="interpreter", status="failed", seconds=0.1, error="no")]},
]


@pytest.mark.parametrize("different", DIFFERENT, ids=lambda one: next(iter(one)))
def test_the_run_of_the_application_is_not_carried_to_another_environment(
    different: dict[str, Any], two: Two
) -> None:
    two.now = launch(**different)
    assert two.carry(verdict()) == ["documents"]


PASSING = [
    {"host": HostSeen(memory_available=1, clock_s=2.0)},
    {"devices": [device.model_copy(update={"free_bytes": 1 << 30}) for device in launch().devices]},
    {"driver": Driver(asked=[Asked(command=["x"], returncode=0, seconds=1.5, hung=False, error=None)])},
    {"second": [SecondProcess(device="cuda:0", error=None, seconds=0.5)]},
    {"states": [CardState(source="nvidia-smi -q", temperature_c=40.0)]},
]


@pytest.mark.parametrize("passing", PASSING, ids=lambda one: next(iter(one)))
def test_what_is_another_at_each_look_is_no_other_ground(passing: dict[str, Any]) -> None:
    same = {"driver": Driver()}
    assert reruns._other_ground(launch(**same), launch(**{**same, **passing})) is None


@pytest.mark.parametrize("at", ["copytree", "envelope", None])
def test_what_was_copied_half_is_taken_away_so_that_it_can_be_made_again(
    at: str | None, two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(source: Path, target: Path, **_: Any) -> None:
        target.mkdir()
        (target / "stdout.txt").write_text("pri")
        raise OSError(errno.ENOSPC, "No space left on device", str(source))

    write = Trial.write

    def unwritten(trial: Trial, envelope: Any) -> None:
        if envelope.name == "application":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(trial, envelope)

    if at == "copytree":
        monkeypatch.setattr(shutil, "copytree", half)
    if at == "envelope":
        monkeypatch.setattr(Trial, "write", unwritten)
    names = two.carry(verdict())
    whole = at is None
    assert names == (ALL if whole else ["documents"])
    assert (two.target.raw("application").exists(), two.target.has("application")) == (whole, whole)
    assert whole or "No space left on device" in two.remade["application"]


def test_the_launch_is_looked_at_only_when_something_depends_on_it(two: Two) -> None:
    def never() -> Launch:
        raise AssertionError("it was looked at")

    two.target = making.trial(two.folder, "20261201T110000Z-0002", factors=factors())
    judged = verdict(results__file="failed")
    assert reruns.carry(Earlier(two.source, judged), two.target, never).names == ["documents"]


def test_evidence_that_no_check_stands_on_is_made_afresh(two: Two) -> None:
    few = decide(facts(plan=CHECKS[:1]))
    assert two.carry(few) == []


def test_nothing_is_carried_from_a_trial_that_was_interrupted(two: Two) -> None:
    assert two.carry(None) == []


def test_nothing_is_carried_to_another_device(two: Two) -> None:
    assert two.carry(verdict(), device="cuda", scope="rental") == []


def test_documents_that_changed_behind_an_unchanged_manifest_are_looked_at_afresh(two: Two) -> None:
    two.document.write_text("b")
    assert two.carry(verdict()) == []


def test_carried_evidence_names_its_origin_belongs_to_the_new_trial_and_leaves_the_old_one_alone(
    two: Two,
) -> None:
    before = {name: sums.of_file(two.source.path / name) for name in sums.files_below(two.source.path)}
    assert two.carry(verdict()) == ALL
    for name in ALL:
        envelope = two.target.envelope(name)
        assert (envelope.trial, envelope.carried_from) == (two.target.name, two.source.name)
        assert envelope.observed == two.source.envelope(name).observed
    assert not two.target.has("copy")
    assert not two.target.has("launch")
    assert not two.target.has("inventory")
    assert (two.target.raw("application") / "stdout.txt").read_text() == "printed"
    assert (two.target.raw("application") / "link").is_symlink()
    assert {
        name: sums.of_file(two.source.path / name) for name in sums.files_below(two.source.path)
    } == before


def test_evidence_carried_twice_names_the_trial_that_made_it(two: Two) -> None:
    envelope = two.source.envelope("documents").model_copy(update={"carried_from": "20261201T090000Z-0000"})
    two.source.write(envelope)
    two.carry(verdict())
    assert two.target.envelope("documents").carried_from == "20261201T090000Z-0000"


#: what was changed -> why the application is run again
WHY: list[tuple[dict[str, Any], str]] = [
    ({"moved": {"machine__driver": "2"}}, "changed: machine.driver"),
    ({"moved": {"machine__driver": "2", "project__suite": "x"}}, "changed: machine.driver, project.suite"),
    ({"judged": {"results__file": "failed"}}, "results.file failed"),
    ({"judged": {"results__file": "not_reached"}}, "results.file not reached"),
    ({"judged": {"inputs__manifest": "failed"}}, "the documents are looked at again"),
    ({"device": "cuda"}, "the device is cuda, and was cpu"),
    ({"now": {"cuda_driver": "12.4"}}, "the launch shows another cuda_driver"),
]


@pytest.mark.parametrize(("change", "why"), WHY, ids=[why for _, why in WHY])
def test_what_is_made_again_says_why(change: dict[str, Any], why: str, two: Two) -> None:
    if "now" in change:
        two.now = launch(**change["now"])
    scope = {"device": "cuda", "scope": "rental"} if "device" in change else {}
    two.carry(verdict(**change.get("judged", {})), change.get("moved"), **scope)
    assert two.remade["application"] == why
    assert two.remade["launch"] == "an environment is looked at each time"


def test_what_is_carried_needs_no_reason(two: Two) -> None:
    two.carry(verdict())
    assert set(two.remade) == {"launch", "copy"}


# -- what is held against a check -----------------------------------------------------------------------------


def _held(two: Two, judged: Verdict | None, **moved: str | None) -> dict[str, str]:
    target = making.trial(two.folder, "20261201T110000Z-0003", factors=factors(**moved))
    return dict(reruns.pending(Earlier(two.source, judged), target))


def test_a_failure_is_held_against_a_check_until_a_factor_changes(two: Two) -> None:
    judged = verdict(results__file="failed")
    assert _held(two, judged) == {"results.file": "failed"}


def test_a_changed_factor_forgives_a_failure(two: Two) -> None:
    assert _held(two, verdict(results__file="failed"), project__application="x") == {}


def test_a_flaky_pass_has_to_be_repeated_whatever_was_changed(two: Two) -> None:
    flaky = decide(facts(plan=CHECKS, before={"results.file": "failed"}))
    assert _held(two, flaky, project__application="x") == {"results.file": "flaky"}
    assert two.carry(flaky) == ["documents"]
    assert two.remade["application"] == "results.file flaky"


def test_a_trial_that_was_killed_forgives_nothing(two: Two) -> None:
    """It has no verdict; the one that it continued has."""
    killed = making.trial(two.folder, "20261201T110000Z-0002", factors=factors(), continues=two.source.name)
    store.write_json(two.source.path / store.VERDICT, verdict(results__file="failed"))
    (two.source.path / sums.NAME).write_text(_sealed(two.source.path))
    target = making.trial(two.folder, "20261201T120000Z-0003", factors=factors())
    assert reruns.pending(Earlier(killed, None), target) == {"results.file": "failed"}


def _sealed(folder: Path) -> str:
    names = [name for name in sums.files_below(folder) if not name.startswith(".")]
    return sums.render([(name, sums.of_file(folder / name)) for name in names])


def spoil(how: str, source: Trial) -> None:
    path = source.envelope_path("launch")
    if how == "missing":
        path.unlink()
    elif how == "torn":
        path.write_text('{"name": "launch"')
    elif how == "another trial's":
        path.write_text(path.read_text().replace(source.name, "20261201T080000Z-9999"))
    elif how == "nothing":
        source.write(making.envelope(source, "launch", broken="it died"))


@pytest.mark.parametrize("how", ["missing", "torn", "another trial's", "nothing"])
def test_evidence_that_cannot_be_read_is_made_afresh_and_so_is_what_was_made_from_it(
    how: str, two: Two
) -> None:
    spoil(how, two.source)
    assert two.carry(verdict()) == ["documents"]


# -- which trial is continued ------------------------------------------------------------------------------


def sealed(trial: Trial, judged: Verdict) -> None:
    store.write_json(trial.path / store.VERDICT, judged)
    listed = [(name, sums.of_file(trial.path / name)) for name in sums.files_below(trial.path)]
    (trial.path / sums.NAME).write_text(sums.render(listed))
    (trial.path.parent / store.LATEST).write_text(trial.name + "\n")


def asked(two: Two, **options: Any) -> Earlier | None:
    return reruns.earlier(config(two.folder, two.folder, **options), two.source.path.parent)


def test_without_asking_nothing_is_continued(two: Two) -> None:
    sealed(two.source, verdict())
    assert asked(two, lf=False) is None


@pytest.mark.parametrize("name", ["20261201T100000Z-0001", "reports/20261201T100000Z-0001"])
def test_a_trial_is_continued_by_its_name_or_its_path(name: str, two: Two) -> None:
    sealed(two.source, verdict())
    found = asked(two, continue_trial=name)
    assert found is not None
    assert (found.trial.name, found.verdict) == (two.source.name, verdict())
    assert found.trial.judging  # nothing in it may be written


def test_the_newest_trial_is_continued_by_lf_and_with_none_there_is_nothing_to_continue(two: Two) -> None:
    assert asked(two, lf=True) is None
    sealed(two.source, verdict())
    found = asked(two, lf=True)
    assert found is not None
    assert found.trial.name == two.source.name


def test_an_interrupted_trial_is_continued_without_a_verdict(two: Two) -> None:
    found = asked(two, continue_trial=two.source.name)
    assert found is not None
    assert found.verdict is None


@pytest.mark.parametrize("how", ["altered", "added", "missing"])
def test_a_trial_that_was_altered_is_refused(how: str, two: Two) -> None:
    sealed(two.source, verdict())
    path = two.source.envelope_path("launch")
    if how == "altered":
        path.write_text(path.read_text().replace("launch", "LAUNCH"))
    elif how == "added":
        path.with_name("more.json").touch()
    else:
        path.unlink()
    with pytest.raises(InputError, match="altered after it was closed"):
        asked(two, continue_trial=two.source.name)


def test_from_a_trial_whose_sums_are_gone_nothing_is_carried(two: Two) -> None:
    sealed(two.source, verdict())
    (two.source.path / sums.NAME).unlink()
    found = asked(two, continue_trial=two.source.name)
    assert found is not None
    assert found.verdict is None


@pytest.mark.parametrize("name", ["20261201T999999Z-0000", "documents", "nowhere/at/all"])
def test_what_is_no_trial_is_refused(name: str, two: Two) -> None:
    with pytest.raises(InputError):
        asked(two, continue_trial=name)


def test_a_verdict_that_cannot_be_read_is_refused(two: Two) -> None:
    (two.source.path / store.VERDICT).write_text("{}")
    (two.source.path / sums.NAME).write_text("")
    with pytest.raises(InputError):
        asked(two, continue_trial=two.source.name)


def test_carrying_is_recorded_by_check_and_changes_no_decision() -> None:
    judged = decide(dataclasses.replace(facts(plan=CHECKS), carried={"launch.import": "t0"}))
    assert [check.id for check in judged.checks() if check.carried_from == "t0"] == ["launch.import"]
