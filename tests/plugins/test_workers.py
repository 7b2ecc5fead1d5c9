"""One worker for each card, bound to it by a lock that a replacement can take over."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures import environment
from fixtures.evidence.models import Card
from fixtures.evidence.models import Host
from fixtures.evidence.models import Inventory
from fixtures.evidence.trial import LOCKS
from fixtures.evidence.trial import Trial
from plugins import workers
from tests.evidence import making

HOST = Host(
    system="Linux", kernel="6", machine="x86_64", cpus=2, memory_bytes=1, boot_id=None, container=None
)


def machine(*vendors: Any, uuids: bool = True) -> Inventory:
    cards = [
        Card(index=index, vendor=vendor, name="a card", uuid=f"GPU-{index}" if uuids else None, pci=None,
            memory_bytes=1, source="nvml")
        for index, vendor in enumerate(vendors)
    ]  # fmt: skip
    return Inventory(cards=cards, driver=None, witnesses=[], host=HOST)


@pytest.fixture(autouse=True)
def unbound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller who hid nothing; and what a test binds is forgotten after it."""
    monkeypatch.setattr(environment, "_CALLERS", {})
    for names in workers.VISIBLE.values():
        for name in names:
            monkeypatch.setenv(name, "")  # so that it is put back
            monkeypatch.delenv(name)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    made = making.trial(tmp_path, device="cuda", scope="rental")
    (made.path / LOCKS).mkdir(exist_ok=True)
    return made


# fmt: off
USABLE: dict[str, tuple[Inventory, str, dict[str, str], list[tuple[str, str]]]] = {
    "two cards": (machine("nvidia", "nvidia"), "cuda", {}, [("cuda-0", "GPU-0"), ("cuda-1", "GPU-1")]),
    "cards without identifiers": (machine("nvidia", "nvidia", uuids=False), "auto", {},
        [("cuda-0", "0"), ("cuda-1", "1")]),
    "cards of AMD, by number": (machine("amd", "amd"), "rocm", {}, [("rocm-0", "0"), ("rocm-1", "1")]),
    "a rehearsal": (machine("nvidia", "nvidia"), "cpu", {}, []),
    "no card": (machine(), "auto", {}, []),
    "those that the caller names": (machine("nvidia", "nvidia", "nvidia"), "cuda",
        {"CUDA_VISIBLE_DEVICES": "2, GPU-0"}, [("cuda-0", "2"), ("cuda-1", "GPU-0")]),
    "what the caller hides": (machine("nvidia", "nvidia"), "cuda", {"CUDA_VISIBLE_DEVICES": "1,-1,0"},
        [("cuda-0", "1")]),
    "all hidden": (machine("nvidia", "nvidia"), "cuda", {"CUDA_VISIBLE_DEVICES": ""}, []),
    "AMD's own variable first": (machine("amd", "amd"), "rocm",
        {"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0,1"}, [("rocm-0", "1")]),
    "the other vendor's card is not counted": (machine("amd", "nvidia"), "cuda", {}, [("cuda-0", "GPU-1")]),
}
# fmt: on


@pytest.mark.parametrize("name", USABLE)
def test_the_cards_that_may_be_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, device, given, wanted = USABLE[name]
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    assert workers.usable(seen, device) == wanted


class Worker:
    """A process that binds itself and then waits to be ended."""

    def __init__(self, trial: Trial, seen: Inventory, name: str) -> None:
        answer, self._asked = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            lock = workers.bind(trial, seen, name)
            given = environment.environment().get("CUDA_VISIBLE_DEVICES", "unset")
            os.write(
                self._asked, f"{os.environ.get('CUDA_VISIBLE_DEVICES')} {given} {lock is not None}".encode()
            )
            signal.pause()
            os._exit(0)
        os.close(self._asked)
        self.said = os.read(answer, 1000).decode().split()
        os.close(answer)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def started() -> Iterator[list[Worker]]:
    alive: list[Worker] = []
    yield alive
    for worker in alive:
        worker.kill()


def test_each_worker_gets_a_card_of_its_own_and_what_it_starts_sees_them_all(
    trial: Trial, started: list[Worker]
) -> None:
    for name in ("gw0", "gw1", "gw2"):
        started.append(Worker(trial, machine("nvidia", "nvidia"), name))
    assert [worker.said for worker in started] == [
        ["GPU-0", "unset", "True"],
        ["GPU-1", "unset", "True"],
        ["None", "unset", "False"],  # one more than there are cards
    ]
    assert [workers.held_by(trial, name) for name in ("gw0", "gw1", "gw2")] == ["cuda-0", "cuda-1", None]


def test_the_card_of_a_worker_that_died_is_named_and_taken_over(trial: Trial, started: list[Worker]) -> None:
    seen = machine("nvidia", "nvidia")
    first, second = Worker(trial, seen, "gw0"), Worker(trial, seen, "gw1")
    started.append(second)
    first.kill()
    assert workers.held_by(trial, "gw0") == "cuda-0"
    started.append(Worker(trial, seen, "gw2"))
    assert started[-1].said == ["GPU-0", "unset", "True"]
    assert (workers.held_by(trial, "gw0"), workers.held_by(trial, "gw2")) == (None, "cuda-0")


def test_what_the_caller_had_set_is_what_programs_get(
    trial: Trial, started: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    started.append(Worker(trial, machine("nvidia", "nvidia"), "gw0"))
    assert started[0].said == ["1", "1,0", "True"]
