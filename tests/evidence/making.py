"""A trial folder made by hand, for tests that need a store and nothing that fills it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixtures.evidence import trial as store
from fixtures.evidence.base import Model
from fixtures.evidence.order import Order
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import Envelope
from fixtures.evidence.trial import Factors
from fixtures.evidence.trial import Record
from fixtures.evidence.trial import Trial

PARAMETERS: dict[str, Any] = {
    "documents": {"manifest": "documents/manifest.json", "expected": 12},
    "categories": ["invoice", "contract"],
    "application": {"kind": "command", "command": ["{python}", "app.py", "{manifest}", "{results}"]},
}
ORDER: dict[str, Any] = {"card": "NVIDIA H200", "lots": 1, "cards": 1, "days": 3, "preparation": "PyTorch"}
FACTORS = Factors(machine={"driver": "1"}, environment={"interpreter": "p"}, project={"parameters": "s"})


class Seen(Model):
    """A piece of evidence with next to nothing in it."""

    text: str = "seen"
    number: float = 1.5


def record(name: str, project: Path, **more: Any) -> Record:
    usual: dict[str, Any] = {
        "continues": None,
        "suite": "gpu",
        "scope": "rehearsal",
        "device": "cpu",
        "created": store.now(),
        "command": ["pytest", "suites/gpu"],
        "copy_to": None,
        "interpreter": "/usr/bin/python3",
        "parameters": Parameters.model_validate(PARAMETERS),
        "order": Order.model_validate(ORDER),
        "references": {},
        "factors": FACTORS,
    }
    return Record.model_validate(
        {"trial": name, "project": str(project), "folder": str(project), **usual, **more}
    )


def trial(folder: Path, name: str = "20261201T103000Z-7f3a", **more: Any) -> Trial:
    """A new trial below `folder`/reports, its record written."""
    path = store.create(folder / "reports", name)
    written = record(name, folder, **more)
    store.write_json(path / store.RECORD, written)
    return Trial(path, written, judging=False)


def envelope(of: Trial, name: str, **outcome: Any) -> Envelope:
    return Envelope(name=name, trial=of.name, made=store.now(), seconds=0.0, **outcome)


def keep(of: Trial, name: str, seen: Model) -> None:
    of.write(envelope(of, name, observed=seen.model_dump(mode="json")))
