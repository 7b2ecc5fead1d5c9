"""Machines and configurations of straw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fixtures.evidence.models import Card
from fixtures.evidence.models import Host
from fixtures.evidence.models import Inventory


def inventory(*cards: tuple[str, str], **host: Any) -> Inventory:
    """A machine with cards of these vendors and names."""
    usual = {"system": "Linux", "kernel": "6.1", "machine": "x86_64", "cpus": 2, "memory_bytes": 1 << 34}
    seen = [
        {
            "index": n,
            "vendor": vendor,
            "name": name,
            "uuid": f"GPU-{n}",
            "pci": None,
            "memory_bytes": None,
            "source": "x",
        }
        for n, (vendor, name) in enumerate(cards)
    ]
    return Inventory(
        cards=[Card.model_validate(one) for one in seen],
        driver="550.1" if cards else None,
        witnesses=[],
        host=Host.model_validate({**usual, "boot_id": "b", "container": None, **host}),
    )


def config(here: Path, root: Path, *args: str, **options: Any) -> Any:
    """As much of pytest's configuration as a plugin asks for."""
    given = {
        "continue_trial": None,
        "reports": None,
        "copy_to": None,
        "pilot": None,
        "order": None,
        **options,
    }
    return SimpleNamespace(
        args=list(args),
        rootpath=root,
        invocation_params=SimpleNamespace(dir=here, args=args),
        option=SimpleNamespace(**given),
        getoption=lambda name, default=None: given.get(name, default),
    )
