"""Sequences of trials: whatever happens in between, no rerun is more optimistic than a full run would have been."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures import documents
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Launch
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import Trial
from plugins import reruns
from plugins.reruns import Earlier
from plugins.verdict import decide
from plugins.verdict import PlannedCheck
from plugins.verdict_file import Status
from plugins.verdict_file import Verdict
from tests.evidence import making
from tests.evidence.making import Seen
from tests.report.samples import launch
from tests.verdict.making import BADNESS
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import planned

#: factor -> the group it stands in; each may be good or bad, and what stands on a bad one fails
FACTORS = {
    "driver": "machine", "interpreter": "environment", "parameters": "project", "application": "project",
    "model": "project",
}  # fmt: skip
CHECKS = [
    planned("launch.import", evidence=("launch",)),
    planned("inputs.sums", evidence=("documents",)),
    planned("results.file", evidence=("application",)),
    planned("results.account", evidence=("documents", "application")),
    planned("results.again", evidence=("application", "reordered")),
    planned("failures.reason", evidence=("application",)),
    planned("memory.peak", evidence=("application",)),
    planned("end_of_trial.copied", evidence=("copy",)),
]
ADDED = planned("results.added", evidence=("application",))


@dataclass
class World:
    """A renter's machine and folder, and the trials made there."""

    folder: Path
    state: dict[str, str] = field(default_factory=lambda: dict.fromkeys(FACTORS, "good"))
    torch: str = "2.13"
    plan: list[PlannedCheck] = field(default_factory=lambda: list(CHECKS))
    last: Earlier | None = None
    count: int = 0

    def __post_init__(self) -> None:
        self.document = self.folder / "documents" / "a.txt"
        self.document.parent.mkdir()
        self.document.write_text("good")
        entry = {"id": "a", "file": "a.txt", "sha256": "0" * 64, "bytes": 4, "valid": True}
        self.manifest = self.document.with_name("manifest.json")
        self.manifest.write_text(json.dumps({"documents": [entry]}))

    def factors(self) -> Factors:
        groups: dict[str, dict[str, str]] = {"machine": {}, "environment": {}, "project": {}}
        for name, group in FACTORS.items():
            groups[group][name] = self.state[name]
        groups["project"]["suite"] = str(len(self.plan))
        return Factors(**groups)

    def look(self) -> Launch:
        return launch(distributions={"torch": self.torch})

    def run(self, *, continuing: bool, selected: int | None = None, killed: bool = False) -> Verdict | None:
        """A trial in this world; the verdict, None where it was killed."""
        self.count += 1
        name = f"20261201T10{self.count:04}Z-0000"
        before = self.last if continuing else None
        more: dict[str, Any] = {"factors": self.factors(), "continues": before.trial.name if before else None}
        trial = making.trial(self.folder, name, **more)
        held = reruns.pending(before, trial) if before else {}
        if before:
            reruns.carry(before, trial, self.look)
        if killed:
            self.last = Earlier(trial, None)
            return None
        self._make(trial)
        chosen = self.plan[: selected or len(self.plan)]
        outcomes = [outcome(check, self._status(trial, check)) for check in chosen]
        verdict = decide(facts(plan=self.plan, outcomes=outcomes, before=held, trial=name))
        self._close(trial, verdict)
        self.last = Earlier(trial, verdict)
        return verdict

    def _make(self, trial: Trial) -> None:
        """What was not carried is observed now; an application that ran shows the whole state of the world."""
        whole = json.dumps([self.state, self.torch, self.document.read_text()])
        pieces: dict[str, Any] = {
            "launch": self.look(),
            "documents": documents.observe(self.manifest),
            **{name: Seen(text=whole) for name in ("application", "reordered", "copy")},
        }
        for name, seen in pieces.items():
            if not trial.has(name):
                making.keep(trial, name, seen)

    def _status(self, trial: Trial, check: PlannedCheck) -> Status:
        texts = [
            trial.read(name, Seen).text
            for name in check.evidence
            if name in ("application", "reordered", "copy")
        ]
        if "documents" in check.evidence:
            texts.append(trial.read("documents", Documents).files[0].beginning)
        return "failed" if any("bad" in text for text in texts) else "passed"

    def _close(self, trial: Trial, verdict: Verdict) -> None:
        shutil.rmtree(trial.path / store.LOCKS)
        store.write_json(trial.path / store.VERDICT, verdict)
        listed = [(name, sums.of_file(trial.path / name)) for name in sums.files_below(trial.path)]
        (trial.path / sums.NAME).write_text(sums.render(listed))


SETS = st.tuples(st.just("set"), st.sampled_from(sorted(FACTORS)), st.sampled_from(["good", "bad", "other"]))
OPERATIONS = st.lists(
    st.one_of(
        SETS,
        st.tuples(st.just("document"), st.sampled_from(["good", "bad", "else"])),
        st.tuples(st.just("torch"), st.sampled_from(["2.13", "bad"])),
        st.tuples(st.just("run"), st.booleans()),
        st.tuples(st.just("select"), st.integers(1, len(CHECKS))),
        st.tuples(st.just("kill")),
        st.tuples(st.just("rename")),
        st.tuples(st.just("add")),
        st.tuples(st.just("remove")),
    ),
    max_size=7,
)


def apply(world: World, operation: tuple[Any, ...]) -> None:
    what, *given_ = operation
    if what == "set":
        world.state[given_[0]] = given_[1]
    elif what == "document":
        world.document.write_text(given_[0])
    elif what == "torch":
        world.torch = given_[0]
    elif what == "run":
        world.run(continuing=given_[0])
    elif what == "select":
        world.run(continuing=True, selected=given_[0])
    elif what == "kill":
        world.run(continuing=True, killed=True)
    elif what == "rename" and world.last:
        moved = world.last.trial.path.with_name(f"moved-{world.count}")
        if not moved.exists():
            world.last.trial.path.rename(moved)
            world.last = Earlier(Trial(moved, world.last.trial.record, judging=True), world.last.verdict)
    elif what == "add" and ADDED not in world.plan:
        world.plan.append(ADDED)
    elif what == "remove" and ADDED in world.plan:
        world.plan.remove(ADDED)


@settings(max_examples=60, deadline=None)
@given(OPERATIONS)
def test_a_rerun_is_never_more_optimistic_than_a_full_run_of_the_same_world(operations: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.run(continuing=False)
        for operation in operations:
            apply(world, operation)
        rerun = world.run(continuing=True)
        whole = world.run(continuing=False)
    assert rerun is not None
    assert whole is not None
    assert BADNESS[rerun.decision] >= BADNESS[whole.decision]
    failed = {check.id for check in whole.checks() if check.status == "failed"}
    assert failed <= {check.id for check in rerun.checks() if check.status == "failed"}


@settings(max_examples=30, deadline=None)
@given(OPERATIONS)
def test_rerunning_until_nothing_changes_ends_where_a_full_run_ends(operations: list[Any]) -> None:
    """The twin: a rerun is not so careful that it never comes to an end."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.run(continuing=False)
        for operation in operations:
            apply(world, operation)
        reached = [world.run(continuing=True) for _ in range(3)]
        whole = world.run(continuing=False)
    assert reached[-1] is not None
    assert whole is not None
    assert reached[-1].decision == whole.decision
