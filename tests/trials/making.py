"""Trials that ended, made by hand: closed as the suite closes them, and a command's output and exit status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.names import LATEST
from fixtures.evidence.names import RECORD
from fixtures.evidence.names import REPORT
from fixtures.evidence.names import SUMS
from fixtures.evidence.names import VERDICT
from fixtures.evidence.trial import Envelope
from plugins import console
from plugins.verdict import Claim
from plugins.verdict_file import Verdict
from tests.report import samples

NAME = samples.NAME
EARLIER = "20261130T170000Z-11aa"
BROKEN = Claim(holds=False, required="twelve", found="eleven", documents=["doc-03"])
#: what is said to samples.verdict so that the machine decides this
WAYS: dict[str, dict[str, Any]] = {
    "go": {},
    "fix": {"failing": {"results.complete": BROKEN}},
    "reconfigure": {"failing": {"launch.compute": BROKEN}},
    "undecided": {"not_reached": ("end_of_trial.copy",)},
    "rehearsal": {"scope": "rehearsal"},
}


def closed(
    reports: Path, name: str = NAME, way: str = "go", *, verdict: Verdict | None = None, **record: Any
) -> Path:
    """A trial that ended below `reports`; `verdict` instead of one of WAYS."""
    path = store.create(reports, name)
    scope = "rehearsal" if way == "rehearsal" else "rental"
    made = samples.record(**{"trial": name, "scope": scope, **record})
    store.write_json(path / RECORD, made)
    seen = samples.inventory().model_dump(mode="json")
    envelope = Envelope(name="inventory", trial=name, made=store.now(), seconds=0.0, observed=seen)
    store.write_json(path / "evidence" / "inventory.json", envelope)
    more = {"trial": name, "continues": made.continues, **WAYS[way]}
    store.write_json(path / VERDICT, verdict or samples.verdict(**more))
    (path / REPORT).write_text("<!doctype html><title>a report</title>", encoding="utf-8")
    (path / store.LOCKS).rmdir()
    seal(path)
    (reports / LATEST).write_text(f"{name}\n", encoding="utf-8")
    return path


def seal(path: Path) -> None:
    """SHA256SUMS anew over what is there."""
    listed = [(name, sums.of_file(path / name)) for name in sums.files_below(path) if name != SUMS]
    (path / SUMS).write_bytes(sums.render(listed).encode("utf-8", "surrogateescape"))


class Command:
    """A command run in this process: its exit status, and what it printed."""

    def __init__(self, main: Callable[[list[str]], int], capture: pytest.CaptureFixture[str]) -> None:
        self.main, self.capture = main, capture

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        self.capture.readouterr()
        try:
            ended = console.status(lambda: self.main([str(one) for one in arguments]))
        except SystemExit as end:
            ended = int(end.code or 0)
        printed = self.capture.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return ended, printed.out, printed.err
