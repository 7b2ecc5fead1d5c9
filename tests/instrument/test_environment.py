"""A renter's program gets the renter's environment, less what pytest put into it."""

from __future__ import annotations

import os

import pytest

from fixtures.environment import environment


@pytest.mark.parametrize(
    "name", ["PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID"]
)
def test_what_pytest_sets_is_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "x")
    assert name not in environment()


@pytest.mark.parametrize(
    "name", ["HOME", "PYTEST_ADDOPTS", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "MY_PYTEST_VERSION"]
)
def test_what_the_renter_set_is_there_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "of the renter's")
    assert environment()[name] == "of the renter's"


def test_nothing_is_added_and_it_is_a_copy() -> None:
    given = environment()
    assert given.items() <= dict(os.environ).items()
    given["GPU_PILOT_TEST"] = "x"
    assert "GPU_PILOT_TEST" not in os.environ
