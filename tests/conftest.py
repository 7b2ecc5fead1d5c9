"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pilot.bench import Bench
from tests.pilot.counted import pytest_terminal_summary as pytest_terminal_summary


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A renter's folder with twelve documents, parameters, an order and a healthy application."""
    bench = Bench(tmp_path / "renter")
    yield bench
    bench.close()
