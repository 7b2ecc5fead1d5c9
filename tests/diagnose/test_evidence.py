"""Readings as the evidence that the catalogue judges: what is not known stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.readings import recognise
from plugins.catalogue import Seen
from plugins.diagnose import evidence

OUTPUTS = Path(__file__).parents[1] / "readings" / "outputs"


def seen(*texts: str) -> Seen:
    return evidence.seen([reading for text in texts for reading in recognise.read(text)])


def output(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def test_of_a_bare_error_nothing_else_is_known() -> None:
    launch, inventory = seen("ValueError: the moon is full\n").launch, seen("ValueError: x y\n").inventory
    assert (launch.torch, launch.interpreter, launch.driver, launch.host, launch.variables) == (None,) * 5
    assert (launch.steps, launch.devices, launch.states, launch.device) == ([], [], [], None)
    assert (inventory.cards, inventory.driver, inventory.kernel_log) == ([], None, None)
    assert (inventory.host.cpus, inventory.host.memory_bytes, inventory.host.container) == (None, None, None)
    assert seen("ValueError: x y\n").in_charge is None


def test_collect_env_shows_the_steps_that_went_well() -> None:
    launch = seen(output("env-2.7-mi300x-vllm")).launch
    assert [(step.name, step.status) for step in launch.steps] == [
        ("interpreter", "ok"),
        ("driver", "ok"),
        ("import", "ok"),
        ("device", "ok"),
    ]
    assert launch.device == "rocm"
    assert [(device.name, device.capability, device.memory_bytes) for device in launch.devices] == [
        ("AMD Instinct MI300X", "gfx942:sramecc+:xnack-", None)
    ]


def test_a_torch_that_sees_no_card_failed_at_the_device() -> None:
    launch = seen(output("env-1.13-a10g-cpu-build")).launch
    assert [(step.name, step.status) for step in launch.steps][-1] == ("device", "failed")
    assert [one.text for one in launch.said] == [evidence.NOT_AVAILABLE]


def test_a_torch_that_sees_no_card_is_not_told_beside_the_error_that_says_why() -> None:
    launch = seen(">>> torch.cuda.is_available()\nFalse\nRuntimeError: No CUDA GPUs are available\n").launch
    assert [one.text for one in launch.said] == ["RuntimeError: No CUDA GPUs are available"]


def test_errors_stand_in_the_order_of_the_ladder_and_the_first_of_a_step_is_its_own() -> None:
    launch = seen(
        "OSError: [Errno 28] No space left on device\n"
        "RuntimeError: No CUDA GPUs are available\nRuntimeError: CUDA error: unknown error\n"
        "ModuleNotFoundError: No module named 'torch'\n"
    ).launch
    assert [one.step for one in launch.said] == ["import", "device", "compute", "host"]
    assert [(step.name, step.status) for step in launch.steps] == [
        (name, "failed") for name in ("import", "device", "compute", "host")
    ]


def test_a_process_that_was_killed_crashed() -> None:
    (step,) = seen("bash: line 1:  4711 Killed                  python train.py\n").launch.steps
    assert (step.name, step.status) == ("host", "crashed")


def test_a_torch_of_an_unknown_build_is_not_taken_for_one_for_the_cpu() -> None:
    assert seen("torch==2.3.0\nnumpy==1.26.4\nfilelock==3.16.1\n").launch.torch is None
    assert seen("torch==2.3.0\n").launch.distributions == {"torch": "2.3.0"}
    assert seen("PyTorch version: 2.3.0\n").launch.torch is None
    known = seen("torch==2.3.0+rocm6.1\n").launch.torch
    assert known
    assert (known.cuda, known.hip) == (None, "6.1")


def test_what_a_reader_of_its_own_has_read_is_not_repeated_as_a_line_of_a_log() -> None:
    texts = [one.text for one in seen(output("rocminfo-not-loaded")).launch.said]
    assert len(texts) == len(set(texts)) == 3


def test_cards_of_several_outputs_are_put_together_by_their_number() -> None:
    inventory = seen(output("rocm-smi-6.3-mi300x-spx"), output("amd-smi-static-partition")).inventory
    assert [(card.index, card.vendor, card.name, card.memory_bytes) for card in inventory.cards] == [
        (0, "amd", "AMD Instinct MI300X OAM", 206141652992),
        (1, "amd", None, None),
    ]


def test_a_card_that_a_torch_for_rocm_names_is_of_amd_whatever_its_name() -> None:
    assert [card.vendor for card in seen(output("env-1.7-rocm")).inventory.cards] == ["amd"]
    assert [card.vendor for card in seen(output("env-1.13-a10g-cpu-build")).inventory.cards] == ["nvidia"]


@pytest.mark.parametrize(("place", "in_charge"), [("root", True), ("container", False), (None, None)])
def test_the_place_is_what_was_said_and_nothing_else(
    place: evidence.Place | None, in_charge: bool | None
) -> None:
    assert evidence.seen(recognise.read("ValueError: x y\n"), place).in_charge is in_charge


def test_the_kernels_log_is_known_where_lines_of_it_were_given() -> None:
    assert seen(output("log-xid-79")).events
    assert seen("ValueError: x y\n").events == []
