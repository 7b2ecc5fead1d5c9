"""Trials by hand that are copied to a storage, and what must hold of every storage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fixtures import copy
from fixtures import storage
from fixtures.evidence import models as m
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.models import Copy
from fixtures.evidence.trial import Trial
from plugins import closing
from plugins import copy as command
from plugins.verdict_file import Verdict
from tests.evidence import making
from tests.evidence.making import Seen
from tests.verdict.making import facts

REREAD = m.Reread(trial="t", exit_status=12, seconds=0.0, error=None, outcomes={})
#: names that some storage or client takes for something else than a name
AWKWARD = (
    "a ?versionId=1#x.txt",
    "100%25[*].txt",
    "Hợp đồng số 7.txt",
    "back\\slash",
    "two\nlines",
    b"caf\xe9.txt",
)


def begun(folder: Path, target: str | None) -> Trial:
    """A trial that has been observed, and is about to be copied to `target`."""
    trial = making.trial(folder, copy_to=target)
    making.keep(trial, "launch", Seen())
    output = trial.raw("application") / "output"
    output.mkdir(parents=True)
    for name in AWKWARD:
        (output / os.fsdecode(name)).write_bytes(os.fsencode(name))
    (output / "empty").touch()
    (output / "large").write_bytes(os.urandom(200_000))
    return trial


def closed(folder: Path, target: str | None = None) -> Trial:
    """A trial that ended, and was never copied."""
    trial = begun(folder, target)
    (trial.path / store.CHECKS).write_text("{}\n")
    closing.close(trial, facts(), lambda verdict: verdict.decision, copying=False)
    return trial


def observed(trial: Trial) -> Copy:
    return copy.observe(trial, lambda _: None)


def ended(trial: Trial) -> Verdict:
    """Observe the copy and close the trial, as a pilot does."""
    making.keep(trial, "copy", observed(trial))
    (trial.path / store.CHECKS).write_text("{}\n")
    verdict, unwritten = closing.close(trial, facts(), lambda verdict: verdict.decision, copying=True)
    assert unwritten == []
    return verdict


def contents(folder: Path) -> dict[str, str]:
    return {name: sums.of_file(folder / name) for name in sums.files_below(folder)}


def read_back(address: str, scratch: Path) -> dict[str, str]:
    """Everything at `address`, by a client of its own."""
    with storage.Address(address) as place:
        return contents(place.fetched(place.names(), scratch))


def put(address: str, name: str, data: bytes) -> None:
    """Alter a file behind the suite's back."""
    with storage.Address(address) as place:
        place.put(name, data)


def remove(address: str, name: str) -> None:
    with storage.Address(address) as place:
        place.remove(name)


def continued(trial: Trial, *more: str) -> int:
    """`python -m plugins.copy`, in this process."""
    return command.main([str(trial.path), *more])


def as_copied(trial: Trial) -> dict[str, Any]:
    return contents(trial.path)
