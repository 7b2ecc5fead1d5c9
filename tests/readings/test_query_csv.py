"""Tables with commas, with and without units, and texts with commas that are none."""

from __future__ import annotations

import pytest

from fixtures.readings import query_csv
from fixtures.readings import recognise

NVIDIA = """
index, name, driver_version, memory.total [MiB], memory.used [MiB], mig.mode.current, power.draw [W]
0, NVIDIA A100 80GB PCIe, 570.133.20, 81920 MiB, 1 MiB, Disabled, 64.00 W
1, NVIDIA A100 80GB PCIe, 570.133.20, 81920 MiB, 1 MiB, Disabled, [Unknown Error]
"""
AMD = """device,GPU use (%),VRAM Total Memory (B),VRAM Total Used Memory (B),Card Series,GFX Version
card1,0,21458059264,27856896,Radeon RX 7900 XT,gfx1100
"""


def test_each_line_is_a_card_and_what_it_should_have_told_is_kept() -> None:
    (reading,) = recognise.read(NVIDIA)
    first, second = reading.states
    assert (reading.kind, reading.driver_version) == ("nvidia-smi --query-gpu", "570.133.20")
    assert (first.index, first.name, first.memory_bytes, first.mig, first.power_w) == (
        0, "NVIDIA A100 80GB PCIe", 81920 << 20, False, 64.0,
    )  # fmt: skip
    assert (second.index, second.power_w, second.unreadable) == (1, None, {"power_w": "[Unknown Error]"})


def test_units_may_stand_in_the_first_line_alone() -> None:
    (reading,) = recognise.read("name, memory.total [MiB]\nNVIDIA H200, 143771\n")
    assert [(one.index, one.memory_bytes) for one in reading.states] == [(0, 143771 << 20)]


def test_amds_table_is_known_by_its_first_line() -> None:
    (reading,) = recognise.read(AMD)
    (one,) = reading.states
    assert (reading.kind, one.index, one.name, one.architecture, one.memory_bytes) == (
        "rocm-smi", 1, "Radeon RX 7900 XT", "gfx1100", 21458059264,
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "name, age, city",
        "The name, the uuid and the memory.total, all of them",
        "torch, numpy, name",
        "--query-gpu=name,memory.total",
    ],
)
def test_other_lines_with_commas_are_none(line: str) -> None:
    assert not query_csv.RECOGNISES.search(line)
