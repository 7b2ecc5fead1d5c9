"""Which card is which: what an order says against what a driver prints, both ways."""

from __future__ import annotations

import pytest

from plugins.catalogue import cards
from plugins.catalogue.cards import is_model
from plugins.catalogue.cards import MIB
from plugins.catalogue.cards import MODELS
from tests.machines import records

# ordered, name, memory in MiB as nvidia-smi or torch shows it (None: not known)
# fmt: off
WHAT_WAS_ORDERED = [
    ("H100 SXM", "NVIDIA H100 80GB HBM3", 81559),
    ("H100 SXM5 80GB", "NVIDIA H100 80GB HBM3", 81007),  # torch's total
    ("H100SXM5", "NVIDIA H100 80GB HBM3", None),
    ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", 81559),
    ("8x HGX H100", "NVIDIA H100 80GB HBM3", 81559),
    ("H100", "NVIDIA H100 PCIe", 81559),  # left open
    ("H100", "NVIDIA H100 NVL", 95830),
    ("H100 NVL", "NVIDIA H100 NVL", 95330),
    ("H100 94GB", "NVIDIA H100 NVL", 95830),
    ("H200", "NVIDIA H200", 143771),
    ("H200 141 GB", "NVIDIA H200 NVL", 143771),
    ("B200", "NVIDIA B200", 182631),
    ("B200 192GB", "NVIDIA B200", 183359),
    ("B200 SXM 180GB", "NVIDIA B200", 183359),
    ("B300", "NVIDIA B300 SXM6 AC", 275040),
    ("GB200 NVL72", "NVIDIA GB200", 189471),
    ("GH200", "NVIDIA GH200 480GB", 97871),
    ("GH200 96GB", "NVIDIA GH200 120GB", 97871),
    ("GH200", "NVIDIA GH200 144G HBM3e", 146831),
    ("H20", "NVIDIA H20", 97871),
    ("H20 141GB", "NVIDIA H20-3e", 143771),
    ("H800", "NVIDIA H800", 81559),
    ("A800 80GB", "NVIDIA A800-SXM4-80GB", 81920),
    ("A100 80GB", "NVIDIA A100-SXM4-80GB", 81920),
    ("A100 80GB", "NVIDIA A100 80GB PCIe", 81920),
    ("A100-SXM4 40GB", "NVIDIA A100-SXM4-40GB", 40960),
    ("A100 40 GiB PCIe", "NVIDIA A100-PCIE-40GB", 40326),
    ("A10", "NVIDIA A10", 23028),
    ("L4", "NVIDIA L4", 23034),
    ("L40S 48GB", "NVIDIA L40S", 46068),
    ("T4", "Tesla T4", 14930),
    ("Tesla T4 16GB", "Tesla T4", 15360),
    ("V100 16GB", "Tesla V100-SXM2-16GB", 16160),
    ("V100 32GB", "Tesla V100-PCIE-32GB", 32510),
    ("P100", "Tesla P100-PCIE-16GB", 16280),
    ("A6000", "NVIDIA RTX A6000", 49140),
    ("RTX A6000", "NVIDIA RTX A6000", 46068),  # with error correction
    ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", 49140),
    ("RTX PRO 6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887),
    ("RTX PRO 6000 Max-Q", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887),
    ("RTX 4090", "NVIDIA GeForce RTX 4090", 24217),
    ("RTX4090", "NVIDIA GeForce RTX 4090", 24564),
    ("GeForce RTX 4090 24GB", "NVIDIA GeForce RTX 4090", 24564),
    ("RTX 5090 32GB", "NVIDIA GeForce RTX 5090", 32607),
    ("3090", "NVIDIA GeForce RTX 3090", 24576),
    ("MI210", "AMD Instinct MI210", 65520),
    ("MI250X", "AMD Instinct MI250X/MI250", 65520),  # one of its two halves
    ("MI250X 128GB", "AMD Instinct MI250X", 65520),
    ("MI300A", "AMD Instinct MI300A", 128720),
    ("MI300X", "AMD Instinct MI300X VF", 196288),
    ("AMD Instinct MI300X 192GB", "AMD Instinct MI300X", 196592),
    ("MI308X", "AMD Instinct MI308X", 196592),
    ("MI325X", "AMD Instinct MI325X", 262128),
    ("MI355X", "AMD Instinct MI355X", 294896),
    # a slice or a profile that was ordered as one
    ("A100 MIG 3g.20gb", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", 19968),
    ("GRID V100D-8C", "GRID V100D-8C", 8192),
    # in no table: by words
    ("GTX 1080 Ti", "NVIDIA GeForce GTX 1080 Ti", 11264),
    ("Titan RTX 24GB", "NVIDIA TITAN RTX", 24220),
]

# and a word of the reason
SOMETHING_ELSE = [
    ("H100", "NVIDIA H100X", None, "H100X"),
    ("H100", "NVIDIA H100 CNX", None, "CNX"),
    ("H100", "NVIDIA H800", 81559, "H800"),
    ("H100", "NVIDIA H20", 97871, "H20"),
    ("H100", "NVIDIA GH200 480GB", None, "GH200"),
    ("H800", "NVIDIA H100 80GB HBM3", 81559, "H100"),
    ("H200", "NVIDIA GH200 480GB", 97871, "GH200"),
    ("B200", "NVIDIA GB200", 189471, "GB200"),
    ("H100 SXM", "NVIDIA H100 PCIe", 81559, "PCIe variant"),
    ("H100 SXM5", "NVIDIA H100 NVL", 95830, "NVL variant"),
    ("NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", 81559, "PCIe variant"),
    ("H100 80GB", "NVIDIA H100 NVL", 95830, "NVL"),
    ("H100 NVL", "NVIDIA H100 80GB HBM3", 81559, "SXM variant"),
    ("A100 SXM 80GB", "NVIDIA A100 80GB PCIe", 81920, "PCIe variant"),
    ("A100 80GB", "NVIDIA A100-SXM4-40GB", 40960, "40 GB"),
    ("A100 80GB", "NVIDIA A100-SXM4-80GB", 40960, "40.0 GiB"),
    ("A100", "NVIDIA A800-SXM4-80GB", 81920, "A800"),
    ("V100 32GB", "Tesla V100-SXM2-16GB", 16160, "16 GB"),
    ("V100", "Tesla V100S-PCIE-32GB", 32510, "V100S"),
    ("L40S", "NVIDIA L40", 46068, "L40"),
    ("L4", "NVIDIA L40S", 46068, "L40S"),
    ("A10", "NVIDIA A10G", 23028, "A10G"),
    ("RTX 6000 Ada", "Quadro RTX 6000", 24576, "Quadro"),
    ("RTX 6000 Ada", "NVIDIA RTX A6000", 49140, "A6000"),
    ("RTX PRO 6000", "NVIDIA RTX 6000 Ada Generation", 49140, "Ada"),
    ("RTX PRO 6000 Server", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, "Workstation"),
    ("RTX 4090", "NVIDIA GeForce RTX 4090 D", 24564, "4090 D"),
    ("RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU", None, "Laptop"),
    ("RTX 4090", "NVIDIA GeForce RTX 4090", 49140, "48.0 GiB"),  # with other memory soldered on
    ("RTX 3090", "NVIDIA GeForce RTX 3090 Ti", 24564, "Ti"),
    ("MI300X", "AMD Instinct MI308X", 196592, "MI308X"),
    ("MI300X", "AMD Instinct MI325X", 262128, "MI325X"),
    ("MI300X", "AMD Instinct MI300A", 128720, "MI300A"),
    ("MI300X", "AMD Instinct MI300X", 24574, "24.0 GiB"),  # a partition of it
    ("MI300X", "gfx942", 196592, "names no model"),
    ("MI300X", "AMD Radeon Graphics", 196592, "names no model"),
    ("H100 SXM", "", None, "names no model"),
    # pieces of a card
    ("H100", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40448, "MIG slice"),
    ("A100 40GB", "NVIDIA A100-SXM4-40GB MIG 7g.40gb", 40192, "MIG slice"),
    ("A10", "NVIDIA A10-24Q", 24576, "vGPU"),
    ("V100", "GRID V100D-8C", 8192, "vGPU"),
    ("H100", "NVIDIA H100-1-10C", 10240, "vGPU"),
    ("A100 MIG 3g.20gb", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864, "MIG slice"),
    ("A100 MIG 3g.20gb", "NVIDIA A100-SXM4-40GB", 40960, "instead of"),
    # in no table: by words
    ("GTX 1080 Ti", "NVIDIA GeForce GTX 1080", 8192, "1080"),
    ("Titan RTX 24GB", "NVIDIA TITAN RTX", 12288, "24gb"),
    ("Titan RTX 24GB", "NVIDIA TITAN RTX", None, "not known"),
    ("RTX 3080", "NVIDIA GeForce RTX 3080", None, "not known"),  # made with 10 and with 12
]
# fmt: on


@pytest.mark.parametrize(("ordered", "name", "mebibytes"), WHAT_WAS_ORDERED)
def test_a_card_is_what_was_ordered(ordered: str, name: str, mebibytes: int | None) -> None:
    assert is_model(ordered, name, mebibytes and mebibytes * MIB) is None


@pytest.mark.parametrize(("ordered", "name", "mebibytes", "why"), SOMETHING_ELSE)
def test_another_card_is_not(ordered: str, name: str, mebibytes: int | None, why: str) -> None:
    assert why in (is_model(ordered, name, mebibytes and mebibytes * MIB) or "")


@pytest.mark.parametrize("machine", records.healthy(), ids=str)
def test_every_healthy_machine_has_the_card_of_its_order(machine: records.Recorded) -> None:
    ordered = machine.order["card"]
    for device in machine.evidence["launch"]["devices"]:
        assert is_model(ordered, device["name"], device["memory_bytes"]) is None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model}-{model.sold_gb}")
def test_every_model_is_known_by_each_of_its_own_names_and_by_what_it_is_sold_as(model: cards.Model) -> None:
    for name in model.names:
        ordered = f"{model} {model.sold_gb}GB"
        assert is_model(ordered, f"NVIDIA {name}", model.visible_mib * MIB) is None, name
        assert is_model(name, name, model.visible_mib * MIB) is None, name


def test_the_memory_of_two_cards_is_never_that_of_one() -> None:
    both = 2 * 24564 * MIB
    assert is_model("RTX 4090", "NVIDIA GeForce RTX 4090", both)
    assert is_model("A6000", "NVIDIA GeForce RTX 4090", both)


def test_the_room_is_eight_hundredths_of_what_is_visible() -> None:
    shown = 81559 * MIB
    assert is_model("H100 SXM", "NVIDIA H100 80GB HBM3", int(shown * 0.921)) is None
    assert "GiB" in (is_model("H100 SXM", "NVIDIA H100 80GB HBM3", int(shown * 0.919)) or "")
    assert cards.visible_bytes("H100 SXM") == [shown]


@pytest.mark.parametrize(
    ("ordered", "gibibytes"),
    [
        ("RTX 5090", [32607 / 1024]),
        ("H100", [81559 / 1024, 81559 / 1024, 95830 / 1024]),
        ("A100 MIG 3g.20gb", [20]),
        ("GRID V100D-8C", [8]),
        ("NVIDIA A40-48Q", [48]),
        ("something new", []),
        ("GRID", []),
    ],
)
def test_what_an_order_will_show(ordered: str, gibibytes: list[float]) -> None:
    assert cards.visible_bytes(ordered) == [size * (1 << 30) for size in gibibytes]
