"""One worker of pytest-xdist for each card, and each worker bound to one card before anything imports torch.

Only what runs in a worker's own process is bound: programs that the suite starts get the environment of whoever
started the pilot, so the launch and the application see every card. The lock of a card is freed by the kernel when
its worker dies, and a replacement takes it over.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from filelock import FileLock
from filelock import Timeout

from fixtures import environment
from fixtures.evidence.models import Inventory
from fixtures.evidence.trial import LOCKS
from fixtures.evidence.trial import Trial
from plugins import opening
from plugins import options
from plugins import plan

#: what hides cards from a process, by the kind of card; the first is the one that is set
VISIBLE = {"cuda": ("CUDA_VISIBLE_DEVICES",), "rocm": ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")}
#: pytest-xdist's own way to say how many
_ASKED = "PYTEST_XDIST_AUTO_NUM_WORKERS"


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """`-n auto`: as many as there are cards that may be used, and one where there is none."""
    if options.asked(config) is None or os.environ.get(_ASKED):
        return None
    seen = opening.inventory(config)
    return max(len(usable(seen, opening.resolve(config.getoption("device"), seen))), 1)


def usable(seen: Inventory, device: str) -> list[tuple[str, str]]:
    """(Name of the card in the ids of checks, value that makes it the only visible one) for each that may be used.

    Where the caller has named the visible ones, these and no others, as they named them.
    """
    names = [name for name in plan.devices(seen, device) if name != "cpu"] if seen.cards else []
    if not names:
        return []
    kind = names[0].partition("-")[0]
    given = next((os.environ[name] for name in VISIBLE[kind] if name in os.environ), None)
    if given is not None:
        shown = [part.strip() for part in given.split(",")]
        shown = shown[: shown.index("-1")] if "-1" in shown else shown  # what follows is not visible either
        return [(f"{kind}-{number}", one) for number, one in enumerate(filter(None, shown))]
    vendor = {"cuda": "nvidia", "rocm": "amd"}[kind]
    cards = [card for card in seen.cards if card.vendor == vendor]
    by_index = kind == "rocm" or not all(card.uuid for card in cards)
    return [
        (f"{kind}-{number}", str(number) if by_index else str(card.uuid)) for number, card in enumerate(cards)
    ]


def bind(trial: Trial, seen: Inventory, worker: str) -> FileLock | None:
    """Bind this process to a card that no other worker holds; None where there is none left.

    The lock is held as long as the process lives; who keeps a reference to it keeps the card.
    """
    for name, value in usable(seen, trial.record.device):
        lock = FileLock(trial.path / LOCKS / f"{name}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            continue
        environment.bind(VISIBLE[name.partition("-")[0]][0], value)
        with contextlib.suppress(OSError):  # only for the words about a worker that dies
            _holder(trial, name).write_text(worker, encoding="utf-8")
        return lock
    return None


def held_by(trial: Trial, worker: str) -> str | None:
    """The card that a worker was bound to, by its name in the ids of checks."""
    for path in sorted((trial.path / LOCKS).glob("*.worker")):
        with contextlib.suppress(OSError):
            if path.read_text(encoding="utf-8") == worker:
                return path.stem
    return None


def _holder(trial: Trial, name: str) -> Path:
    return trial.path / LOCKS / f"{name}.worker"
