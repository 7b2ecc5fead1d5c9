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
from typing import Any

import pytest

from fixtures import addresses
from fixtures import documents
from fixtures.evidence import base
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.models import Copy
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Launch
from fixtures.evidence.standing import STANDS_ON
from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import LATEST
from fixtures.evidence.trial import NotReached
from fixtures.evidence.trial import Trial
from plugins.verdict_file import Changed
from plugins.verdict_file import Pending
from plugins.verdict_file import Remade
from plugins.verdict_file import Verdict

#: evidence that can be carried, in the order in which it is looked at
CARRIED = ("documents", "application", "reordered", "resumed", "hangup")


@dataclass(frozen=True)
class Earlier:
    """The trial that is continued; `verdict` is None where it was interrupted."""

    trial: Trial
    verdict: Verdict | None


@dataclass(frozen=True)
class Carried:
    """What became of the earlier trial's evidence: names carried, and what was made again and why."""

    names: list[str]
    remade: list[Remade]


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
    return _opened(path)


def _opened(path: Path) -> Earlier:
    """The trial at `path` with its verdict.

    Raises:
        InputError: it cannot be read, or was altered after it was closed.
    """
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


def pending(source: Earlier, target: Trial) -> dict[str, Pending]:
    """Check id -> what is held against it in `target`.

    A trial that was interrupted has no verdict, so what it continued is asked: a kill forgives nothing. A check that
    failed is forgiven once a factor has changed since, or the place of the copy.
    """
    while source.verdict is None and source.trial.record.continues is not None:
        before = source.trial.path.parent / source.trial.record.continues
        try:
            source = _opened(before)
        except InputError:
            break  # moved away, or altered
    if source.verdict is None:
        return {}
    then, now = source.trial.record, target.record
    moved = bool(changed(then.factors, now.factors)) or then.copy_to != now.copy_to
    held = {check.id: check.pending for check in source.verdict.checks() if check.pending}
    return {id: what for id, what in held.items() if not (what == "failed" and moved)}


def carry(source: Earlier, target: Trial, look: Callable[[], Launch]) -> Carried:
    """Copy the evidence that still holds into `target`; the names carried, and why the rest is made again.

    `look` makes the launch of `target`; it is called only when the application's run could be carried.
    """
    moved = [change.factor for change in changed(source.trial.record.factors, target.record.factors)]
    carried: list[str] = []
    remade: list[Remade] = []
    ground: list[str] = []

    def same_ground() -> str | None:
        if not ground:
            before, now = source.trial.read("launch", Launch), look()
            ground.append(_other_ground(before, now) or "")
        return ground[0] or None

    def after_the_application() -> str | None:
        # what repeats the application's run is held against it, and stands and falls with it
        return None if "application" in carried else "the application is run again"

    reasons: dict[str, list[Callable[[], str | None]]] = {
        "documents": [lambda: _other_documents(source.trial, target)],
        "application": [
            lambda: None if "documents" in carried else "the documents are looked at again",
            same_ground,
        ],
        "reordered": [after_the_application],
        "resumed": [after_the_application],
        "hangup": [after_the_application],
    }
    for name, further in reasons.items():
        if not source.trial.has(name):
            continue
        try:
            stale = [
                _other_device(source.trial, target),
                _moved(name, moved),
                _not_passed(source.verdict, name),
            ]
            why = next(filter(None, stale), None) or next(filter(None, (ask() for ask in further)), None)
            if why is None:
                _copy(source.trial, target, name)
                carried.append(name)
        except shutil.Error:  # its text is a list of every path
            why = "it cannot be carried: what lies beside it cannot be copied, a pipe perhaps"
        except (Broken, NotReached, OSError) as error:
            why = f"it cannot be carried: {str(error)[:200]}"
        if why:
            remade.append(Remade(evidence=name, why=why))
    always = {"launch": "an environment is looked at each time", "copy": "it is a copy of this trial"}
    remade += [Remade(evidence=name, why=why) for name, why in always.items() if source.trial.has(name)]
    return Carried(carried, remade)


def nothing_left(source: Earlier, target: Trial, carried: Carried) -> bool:
    """Whether a rerun would only repeat what holds: everything passed for good, and all of it could be carried."""
    verdict = source.verdict
    if verdict is None or verdict.exit_status != 0:
        return False
    checks = verdict.checks()
    stand_on = {name for check in checks for name in check.evidence if name in CARRIED}
    settled = all(check.status == "passed" and check.pending is None for check in checks)
    same = not changed(source.trial.record.factors, target.record.factors)
    alike = (
        source.trial.record.once == target.record.once
        and source.trial.record.copy_to == target.record.copy_to
    )
    return settled and same and alike and stand_on <= set(carried.names) and _copy_holds(source.trial)


def _copy_holds(source: Trial) -> bool:
    """Whether the copy of a trial is still where it was put, byte for byte; one in a storage is made again instead."""
    copy = source.find("copy", Copy)
    if copy is None or copy.path is None or addresses.is_address(copy.path):
        return False
    try:
        return not sums.differences(Path(copy.path))
    except OSError:
        return False


def _other_device(source: Trial, target: Trial) -> str | None:
    if source.record.device == target.record.device:
        return None
    return f"the device is {target.record.device}, and was {source.record.device}"


def _moved(name: str, moved: list[str]) -> str | None:
    """The factors that `name` stands on and that have changed."""
    concerned = [factor for factor in moved if factor.startswith(STANDS_ON[name])]
    more = f" and {len(concerned) - 3} more" if len(concerned) > 3 else ""
    return f"changed: {', '.join(concerned[:3])}{more}" if concerned else None


#: what of a launch is another at each look, on the same ground: how each step ended is held against the other apart
_PASSING: Any = {
    **dict.fromkeys(("steps", "end", "computations", "transfers", "second", "extensions"), True),
    **dict.fromkeys(("states", "said", "retried", "host", "unseen"), True),
    "devices": {"__all__": {"free_bytes"}},
    "driver": {"asked"},
}


def _other_ground(before: Launch, now: Launch) -> str | None:
    """What of torch, its environment and its cards looks otherwise than it did, times and rounding apart."""
    ways = [[(step.name, step.status) for step in launch.steps] for launch in (before, now)]
    if ways[0] != ways[1]:
        return "the launch takes another way"
    old, new = before.model_dump(exclude=_PASSING), now.model_dump(exclude=_PASSING)
    different = [name for name in old if old[name] != new[name]]
    return f"the launch shows another {', '.join(different)}" if different else None


def _other_documents(source: Trial, target: Trial) -> str | None:
    """Whether the documents are still those of `source`: a manifest can stay while a file behind it changes."""
    manifest = Path(target.record.project, target.record.parameters.documents.manifest)
    same = source.read("documents", Documents) == documents.observe(manifest)
    return None if same else "a file among the documents has changed"


def _not_passed(verdict: Verdict | None, name: str) -> str | None:
    """The checks on `name` that did not pass for good; those on the copy as well say nothing about it."""
    if verdict is None:
        return "the earlier trial was interrupted"
    checks = [check for check in verdict.checks() if name in check.evidence and "copy" not in check.evidence]
    if not checks:
        return "no check stood on it"
    bad = [
        f"{check.id} {'flaky' if check.flaky else check.status.replace('_', ' ')}"
        for check in checks
        if check.status != "passed" or check.pending
    ]
    more = f" and {len(bad) - 2} more" if len(bad) > 2 else ""
    return f"{', '.join(bad[:2])}{more}" if bad else None


def _copy(source: Trial, target: Trial, name: str) -> None:
    envelope = source.envelope(name)
    if envelope.observed is None:
        raise Broken(f"evidence {name!r} holds nothing")
    origin = envelope.carried_from or source.name
    try:
        if source.raw(name).is_dir():
            shutil.copytree(source.raw(name), target.raw(name), symlinks=True)
        target.write(envelope.model_copy(update={"trial": target.name, "carried_from": origin}))
    except BaseException:
        # a remnant would be in the way of making it again
        shutil.rmtree(target.raw(name), ignore_errors=True)
        raise
