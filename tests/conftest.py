"""What all tests share."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pilot.bench import Bench
from tests.pilot.counted import pytest_terminal_summary as pytest_terminal_summary


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors; signals are heeded; and with -n tests that share something long stay together.

    A CI in the background ignores Ctrl-C and hang-ups, and so would every pilot that a test interrupts.
    """
    if getattr(config.option, "dist", "no") == "load":  # what -n alone means: each worker would make it again
        config.option.dist = "worksteal"
    for line in (
        "error",
        "ignore:Failed to initialize NumPy",
    ):  # torch without numpy says so; nothing here needs it
        config.addinivalue_line("filterwarnings", line)
    for number, heeded in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # not in the main thread of this worker
                signal.signal(number, heeded)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A renter's folder with twelve documents, parameters, an order and a healthy application."""
    bench = Bench(tmp_path / "renter")
    yield bench
    bench.close()
