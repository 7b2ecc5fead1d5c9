"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pilot.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A renter's folder with twelve documents, parameters, an order and a healthy application."""
    return Bench(tmp_path / "renter")
