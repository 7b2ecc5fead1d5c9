"""A rerun costs only what failed: evidence, not a test, is its unit.

Evidence on which any check did not pass is made afresh; evidence whose checks all passed is carried into the
new trial if nothing it stands on has changed. Whether an environment has changed, only looking at it tells:
so the launch is always made afresh, and the application's run is carried only where it looks the same. The
copy is always made afresh, because it is a copy of this trial. Runs in the controlling process.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures import documents
from fixtures.evidence import base
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Launch
from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import LATEST
from fixtures.evidence.trial import NotReached
from fixtures.evidence.trial import Trial
from plugins.verdict_file import Changed
from plugins.verdict_file import Verdict

#: evidence that can be carried -> the groups of factors that it stands on
STANDS_ON = {
    "documents": ("project.parameters", "project.manifest"),
    "application": ("machine", "environment", "project"),
    "reordered": ("machine", "environment", "project"),
    "resumed": ("machine", "environment", "project"),
    "hangup": ("machine", "environment", "project"),
}


@dataclass(frozen=True)
class Earlier:
    """The trial that is continued; `verdict` is None where it was interrupted."""

    trial: Trial
    verdict: Verdict | None


def earlier(config: pytest.Config, reports: Path) -> Earlier | None:
    """The trial that --continue or --lf names.

    Raises:
        InputError: --continue names none, its folder was altered, or its verdict cannot be read.
    """
    named = config.getoption("continue_trial")
    if named:
        path = config.invocation_params.dir / named
        path = path if path.is_dir() else reports / named
    elif getattr(config.option, "lf", False):
        latest = reports / LATEST
        if not latest.is_file():
            return None
        path = reports / base.text_of(latest).strip()
    else:
        return None
    trial = store.open_trial(path, judging=True)
    file = path / store.VERDICT
    if not file.exists():
        return Earlier(trial, None)
    if not (path / sums.NAME).exists():
        return Earlier(trial, None)  # killed before it was closed, or taken apart: nothing of it is carried
    if different := sums.differences(path):
        raise InputError(
            path, different[0], "a trial that was altered after it was closed", "a whole trial to continue"
        )
    return Earlier(trial, base.load(file, Verdict))


def changed(before: Factors, after: Factors) -> list[Changed]:
    """Factor by factor, what differs between two trials."""
    old, new = before.flat(), after.flat()
    return [
        Changed(factor=name, before=old.get(name), after=new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def carry(source: Earlier, target: Trial, look: Callable[[], Launch]) -> list[str]:
    """Copy the evidence that still holds into `target`; the names carried.

    `look` makes the launch of `target`; it is called only when the application's run could be carried.
    """
    moved = {change.factor for change in changed(source.trial.record.factors, target.record.factors)}
    if source.trial.record.device != target.record.device:
        return []
    carried: list[str] = []
    holds: dict[str, Callable[[], bool]] = {
        "documents": lambda: _as_they_were(source.trial, target),
        "application": lambda: (
            "documents" in carried and _same_ground(source.trial.read("launch", Launch), look())
        ),
    }
    # what repeats the application's run is held against it, and stands and falls with it
    holds |= dict.fromkeys(("reordered", "resumed", "hangup"), lambda: "application" in carried)
    for name, still in holds.items():
        try:
            if (
                not any(factor.startswith(STANDS_ON[name]) for factor in moved)
                and _all_passed(source.verdict, name)
                and still()
            ):
                _copy(source.trial, target, name)
                carried.append(name)
        except (Broken, NotReached, OSError):
            continue  # evidence that cannot be carried is made afresh
    return carried


def _same_ground(before: Launch, now: Launch) -> bool:
    """Whether torch, its environment and its cards look as they did, times and rounding apart."""
    passing = {"steps", "end", "computations"}
    ways = [[(step.name, step.status) for step in launch.steps] for launch in (before, now)]
    return ways[0] == ways[1] and before.model_dump(exclude=passing) == now.model_dump(exclude=passing)


def _as_they_were(source: Trial, target: Trial) -> bool:
    """Whether the documents are still those of `source`: a manifest can stay while a file behind it changes."""
    manifest = Path(target.record.project, target.record.parameters.documents.manifest)
    return source.read("documents", Documents) == documents.observe(manifest)


def _all_passed(verdict: Verdict | None, name: str) -> bool:
    """Whether checks stand on `name` and every one passed; those on the copy as well say nothing about it."""
    if verdict is None:
        return False
    checks = [check for check in verdict.checks() if name in check.evidence and "copy" not in check.evidence]
    return bool(checks) and all(check.status == "passed" for check in checks)


def _copy(source: Trial, target: Trial, name: str) -> None:
    envelope = source.envelope(name)
    if envelope.observed is None:
        raise Broken(f"evidence {name!r} holds nothing")
    if source.raw(name).is_dir():
        shutil.copytree(source.raw(name), target.raw(name), symlinks=True)
    origin = envelope.carried_from or source.name
    target.write(envelope.model_copy(update={"trial": target.name, "carried_from": origin}))
