"""Memory of cards from outside, with libraries of straw in place of the vendors'."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures import cards
from fixtures.cards import Cards

OWN = {11, 12}


class NVMLError(Exception):
    pass


class Straw:
    """What both libraries are asked; a test changes `used`, `running` and `raises` between two looks."""

    def __init__(self, *used: int, total: int = 1000) -> None:
        self.used, self.total = list(used), total
        self.running: dict[Any, list[tuple[int, Any]]] = {}
        self.raises: set[str] = set()
        self.asked: list[str] = []
        self.busy = 0
        self.parts: dict[int, list[int]] = {}

    def answer(self, name: str, value: Any) -> Any:
        self.asked.append(name)
        if name in self.raises:
            raise NVMLError(f"{name}: not supported")
        return value


def nvml(straw: Straw) -> SimpleNamespace:
    def running(handle: int) -> Any:
        told = straw.running.get(handle, [])
        found = [SimpleNamespace(pid=pid, usedGpuMemory=share) for pid, share in told]
        return straw.answer("processes", found)

    def part(handle: int, number: int) -> int:
        return straw.parts[handle][number]  # IndexError: a place that no instance takes

    return SimpleNamespace(
        nvmlInit=lambda: straw.answer("init", None),
        nvmlDeviceGetCount=lambda: len(straw.used) - sum(map(len, straw.parts.values())),
        nvmlDeviceGetHandleByIndex=lambda index: straw.answer(f"handle {index}", index),
        nvmlDeviceGetName=lambda handle: f"card of straw {handle}".encode(),
        nvmlDeviceGetMemoryInfo=lambda handle: straw.answer(
            f"memory {handle}", SimpleNamespace(total=straw.total, used=straw.used[handle])
        ),
        nvmlDeviceGetUtilizationRates=lambda handle: straw.answer("busy", SimpleNamespace(gpu=straw.busy)),
        nvmlDeviceGetComputeRunningProcesses=running,
        nvmlDeviceGetMigMode=lambda handle: straw.answer("mig", (int(handle in straw.parts), 0)),
        nvmlDeviceGetMaxMigDeviceCount=lambda handle: 7,
        nvmlDeviceGetMigDeviceHandleByIndex=part,
    )


def amdsmi(straw: Straw) -> SimpleNamespace:
    def processes(handle: int) -> Any:
        told = straw.running.get(handle, [])
        return straw.answer(
            "processes", [{"pid": pid, "memory_usage": {"vram_mem": share}} for pid, share in told]
        )

    return SimpleNamespace(
        AmdSmiMemoryType=SimpleNamespace(VRAM="vram"),
        amdsmi_init=lambda: straw.answer("init", None),
        amdsmi_get_processor_handles=lambda: range(len(straw.used)),
        amdsmi_get_gpu_asic_info=lambda handle: {"market_name": f"card of straw {handle}"},
        amdsmi_get_gpu_memory_total=lambda handle, kind: straw.total,
        amdsmi_get_gpu_memory_usage=lambda handle, kind: straw.answer(f"memory {handle}", straw.used[handle]),
        amdsmi_get_gpu_activity=lambda handle: straw.answer("busy", {"gfx_activity": straw.busy}),
        amdsmi_get_gpu_process_list=processes,
    )


@pytest.fixture(params=["cuda", "rocm"])
def wanted(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def watched(monkeypatch: pytest.MonkeyPatch, wanted: str, straw: Straw) -> Cards:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(straw))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "amdsmi", amdsmi(straw))  # type: ignore[arg-type]
    return Cards(wanted)


def test_the_peak_of_each_card_and_when_it_was(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    straw = Straw(100, 50)
    seen = watched(monkeypatch, wanted, straw)
    for at, used in enumerate(([100, 50], [400, 50], [300, 80])):
        straw.used = list(used)
        assert seen.sample(OWN, float(at)) == sum(used)
    first, second = seen.report()
    assert (first["index"], first["total_bytes"], first["name"]) == (0, 1000, "card of straw 0")
    assert (first["before_bytes"], first["peak_bytes"], first["peak_at"]) == (100, 400, 1.0)
    assert (second["before_bytes"], second["peak_bytes"], second["peak_at"]) == (50, 80, 2.0)
    assert seen.unread is None


@pytest.mark.parametrize(
    ("running", "seen", "most"),
    [
        ([(11, 200), (12, 100), (99, 500)], True, 300),
        ([(11, None), (12, 100)], True, None),
        ([(99, 500)], False, None),
        ([], False, None),
    ],
    ids=["its own, added up", "seen without its share", "somebody else's", "hidden by a container"],
)
def test_its_own_processes_are_told_from_others(
    running: list[Any], seen: bool, most: int | None, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    straw = Straw(0)
    straw.running = {0: running}
    watch = watched(monkeypatch, wanted, straw)
    straw.used = [800]
    watch.sample(OWN, 0.5)
    (card,) = watch.report()
    assert (card["processes_seen"], card["processes_bytes"], card["peak_bytes"]) == (seen, most, 800)


def test_a_share_in_nvmls_word_for_unknown_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    straw = Straw(0)
    straw.running = {0: [(11, cards.UNKNOWN)]}
    watch = watched(monkeypatch, "cuda", straw)
    watch.sample(OWN, 0.0)
    assert watch.report()[0]["processes_bytes"] is None


def test_the_processes_are_asked_for_when_memory_changed_and_else_seldom(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    straw = Straw(0)
    watch = watched(monkeypatch, wanted, straw)
    for tenth in range(10):
        watch.sample(OWN, tenth / 10)
    assert straw.asked.count("processes") == 1
    watch.sample(OWN, 1.1)
    straw.used = [5]
    watch.sample(OWN, 1.2)
    assert straw.asked.count("processes") == 3


def test_processes_and_activity_that_are_not_told_leave_the_total(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    straw = Straw(0)
    straw.raises = {"processes", "busy", "mig"}
    watch = watched(monkeypatch, wanted, straw)
    straw.used = [700]
    assert (watch.sample(OWN, 0.1), watch.busy(), watch.unread) == (700, False, None)


def test_a_card_is_busy_where_the_application_has_memory_on_it(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    straw = Straw(100)
    straw.busy = 90
    watch = watched(monkeypatch, wanted, straw)
    watch.sample(OWN, 0.1)
    assert not watch.busy()
    straw.used = [200]
    watch.sample(OWN, 0.2)
    assert watch.busy()
    straw.busy = 0
    assert not watch.busy()


def test_a_card_that_falls_off_the_bus_leaves_what_was_read(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    straw = Straw(100)
    watch = watched(monkeypatch, wanted, straw)
    straw.used = [600]
    watch.sample(OWN, 1.0)
    straw.raises = {"memory 0"}
    assert watch.sample(OWN, 2.0) is None
    assert watch.unread is not None
    assert watch.unread.startswith("stopped answering after 2.0 s: NVMLError")
    assert watch.report()[0]["peak_bytes"] == 600
    assert not watch.busy()


@pytest.mark.parametrize("raises", ["handle 0", "memory 0"])
def test_a_card_that_belongs_to_somebody_else_is_passed_over(
    raises: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    straw = Straw(100, 200)
    straw.raises = {raises}
    watch = watched(monkeypatch, "cuda", straw)
    assert [card["before_bytes"] for card in watch.report()] == [200]


def test_the_parts_of_a_divided_card_are_cards_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    straw = Straw(0, 10, 20)
    straw.parts = {0: [1, 2]}
    watch = watched(monkeypatch, "cuda", straw)
    straw.used = [0, 300, 20]
    watch.sample(OWN, 0.1)
    assert [(card["index"], card["peak_bytes"]) for card in watch.report()] == [(0, 300), (1, 20)]


@pytest.mark.parametrize(("wanted", "name"), [("cuda", "NVML"), ("rocm", "AMD SMI")])
def test_a_library_that_does_not_begin_says_why(
    wanted: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    straw = Straw(0)
    straw.raises = {"init"}
    monkeypatch.setattr(cards.glob, "glob", lambda pattern: [])
    watch = watched(monkeypatch, wanted, straw)
    assert f"{name}: NVMLError: init: not supported" in str(watch.unread)
    assert (watch.sample(OWN, 0.0), watch.report()) == (None, [])


def test_a_library_that_shows_no_card_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watched(monkeypatch, "cuda", Straw())
    assert watch.unread == "NVML shows no card whose memory can be read"


def test_a_run_on_the_processor_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    straw = Straw(0)
    watch = watched(monkeypatch, "cpu", straw)
    assert (watch.unread, watch.report(), straw.asked) == ("no card was asked for", [], [])


def amdgpu(root: Path) -> Path:
    """/sys and /proc of a machine with one AMD card, as the kernel has them; the folder of the card."""
    device = root / "sys/devices/pci0000:00/0000:03:00.0"
    device.mkdir(parents=True)
    for name, text in (
        ("mem_info_vram_total", "1000"), ("mem_info_vram_used", "100"), ("gpu_busy_percent", "0"),
    ):  # fmt: skip
        (device / name).write_text(text + "\n")
    shown = root / "sys/class/drm/card0"
    shown.mkdir(parents=True)
    (shown / "device").symlink_to(device)
    for pid, number, client in ((11, 5, 1), (11, 6, 1), (11, 7, 2), (12, 5, 3), (99, 5, 4)):
        for folder in ("fd", "fdinfo"):
            (root / "proc" / str(pid) / folder).mkdir(parents=True, exist_ok=True)
        (root / f"proc/{pid}/fd/{number}").symlink_to("/dev/dri/renderD128")
        (root / f"proc/{pid}/fdinfo/{number}").write_text(
            f"pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t0000:03:00.0\n"
            f"drm-memory-vram:\t{client * 10} KiB\n"
        )
    (root / "proc/11/fd/3").symlink_to("/tmp/x")
    return device


def test_the_kernels_own_files_serve_for_amd(tmp_path: Path) -> None:
    device = amdgpu(tmp_path)
    notes: list[str] = []
    (card,) = cards._amdgpu(notes, root=f"{tmp_path}/")
    assert (card.name, card.total, card.used(), card.busy(), notes) == (
        "amdgpu 0000:03:00.0",
        1000,
        100,
        False,
        [],
    )
    # a handle that was copied is counted once
    assert card.shares(OWN) == {11: (10 + 20) << 10, 12: 30 << 10}
    (device / "mem_info_vram_used").write_text("700\n")
    (device / "gpu_busy_percent").write_text("35\n")
    assert (card.look(OWN, 2.0), card.busy()) == (700, True)
    assert (card.peak, card.seen, card.own_peak) == (700, True, 60 << 10)


def test_a_card_of_amd_whose_files_cannot_be_read_is_noted(tmp_path: Path) -> None:
    (amdgpu(tmp_path) / "mem_info_vram_total").write_text("many\n")
    notes: list[str] = []
    assert cards._amdgpu(notes, root=f"{tmp_path}/") == []
    assert "0000:03:00.0" in notes[0]
