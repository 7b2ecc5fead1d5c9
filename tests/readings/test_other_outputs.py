"""Outputs of AMD's tools, torch, pip and of programs that failed, as people posted them, read value by value."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from fixtures.readings import amd_smi
from fixtures.readings import collect_env
from fixtures.readings import environment
from fixtures.readings import errors
from fixtures.readings import pip_list
from fixtures.readings import recognise
from fixtures.readings import rocm_smi
from fixtures.readings import rocminfo
from fixtures.readings.reading import Reading
from tests.readings.others import OTHERS
from tests.readings.others import Says

OUTPUTS = Path(__file__).with_name("outputs")
OWN = {one.KIND for one in (rocminfo, rocm_smi, amd_smi, collect_env, pip_list, environment, errors)}
BEGINNING = 62  # characters of what was said


def output(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def read(text: str) -> list[Says]:
    """Without the parts that say nothing, and without what other modules read."""
    found = [says(reading) for reading in recognise.read(text) if reading.kind in OWN]
    return [one for one in found if one.facts or one.cards or one.said]


def says(reading: Reading) -> Says:
    facts: dict[str, Any] = {}
    for one in dataclasses.fields(reading):
        value = getattr(reading, one.name)
        if one.name not in ("kind", "states", "said") and value not in (None, [], {}):
            facts[one.name] = [(node.path, node.errno) for node in value] if one.name == "nodes" else value
    return Says(
        kind=reading.kind,
        facts=facts,
        cards=[known(state) for state in reading.states],
        said=[(one.step, one.number, one.number_of, one.text[:BEGINNING]) for one in reading.said],
    )


def known(state: Any) -> dict[str, Any]:
    facts = state.model_dump(exclude={"source", "lines"})
    return {name: value for name, value in facts.items() if value is not None and value != {}}


@pytest.mark.parametrize("name", OTHERS)
def test_an_output_says_this_and_nothing_else(name: str) -> None:
    assert read(output(name)) == OTHERS[name]


@pytest.mark.parametrize("name", OTHERS)
def test_colours_and_ends_of_windows_lines_change_nothing(name: str) -> None:
    coloured = "".join(f"\x1b[0;32m{line}\x1b[0m\r\n" for line in output(name).splitlines())
    assert read(coloured) == read(output(name))


@pytest.mark.parametrize("name", OTHERS)
def test_a_value_comes_with_the_line_that_says_so(name: str) -> None:
    text = " ".join(output(name).split())
    for reading in recognise.read(output(name)):
        if reading.kind in OWN and not name.startswith("amd-smi-table"):  # which quotes without the frame
            lines = [" ".join(line.split()) for state in reading.states for line in state.lines.values()]
            assert [line for line in lines if line not in text] == []
            for state in reading.states:
                assert set(known(state)) - {"index", "mig"} <= set(state.lines)


@pytest.mark.parametrize("name", [name for name in OTHERS if name.startswith(("rocm", "amd", "env"))])
def test_an_output_that_breaks_off_anywhere_says_less_and_nothing_else(name: str) -> None:
    """Of a card, and of torch: nothing is guessed from a part."""
    lines = output(name).splitlines()
    whole = [card for one in read(output(name)) for card in one.cards]
    torch: dict[str, Any] = next(
        (one.facts["torch"] for one in read(output(name)) if "torch" in one.facts), {}
    )
    for end in range(1, len(lines)):
        part = read("\n".join(lines[:end]))
        for card, complete in zip([card for one in part for card in one.cards], whole, strict=False):
            parts = card.pop("mig_devices", [])
            assert parts == complete.get("mig_devices", [])[: len(parts)]
            assert {key: value for key, value in card.items() if complete.get(key) != value} == {}
        for one in part:
            seen = one.facts.get("torch", {})
            assert {key: value for key, value in seen.items() if torch[key] != value} == {}


# -- what stands in no output above -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "number"),
    [("No such file or directory", 2), ("Permission denied", 13), ("Invalid argument", 22)],
)
def test_the_device_that_cannot_be_opened_has_the_errors_number(why: str, number: int) -> None:
    found = rocminfo.read(f"ROCk module is loaded\nUnable to open /dev/kfd read-write: {why}\n")
    assert [(node.path, node.errno) for node in found.nodes] == [("/dev/kfd", number)]
    assert [(one.step, one.number, one.number_of) for one in found.said] == [("driver", number, "errno")]


def test_words_that_are_no_error_of_the_system_give_no_number() -> None:
    found = rocminfo.read("Unable to open /dev/kfd read-write: the moon is full\n")
    assert (found.nodes, [one.number for one in found.said]) == ([], [None])


def test_a_user_outside_the_group_is_told_of_and_one_inside_is_not() -> None:
    outside = (
        'bob is not member of "render" group, the default DRM access group. Users must be a member of it.'
    )
    assert [one.text for one in rocminfo.read(outside).said] == [outside]
    assert rocminfo.read("bob is member of render group").said == []


def test_a_module_that_is_said_not_to_be_loaded_is_no_error_where_cards_are_listed() -> None:
    """As in a container, where its state cannot be read."""
    text = (
        "ROCk module is NOT loaded, possibly no GPU devices\n" + output("rocminfo-gfx1151").split("\n", 1)[1]
    )
    found = rocminfo.read(text)
    assert (len(found.states), found.said) == (1, [])


def test_a_card_of_rocminfo_has_the_number_of_its_agent_among_the_cards() -> None:
    agent = (
        "*******\nAgent {0}\n*******\n  Name:  gfx942\n  Uuid:  GPU-A30C8C2B7A14D1F{0}\n  Device Type:  GPU\n"
    )
    found = rocminfo.read("HSA Agents\n" + agent.format(9) + agent.format(8) + "*** Done ***\n")
    assert [(state.index, state.uuid) for state in found.states] == [
        (0, "GPU-a30c8c2b7a14d1f9"),
        (1, "GPU-a30c8c2b7a14d1f8"),
    ]
    assert found.cut is None


def test_the_errors_of_a_cards_blocks_are_summed() -> None:
    text = (
        "GPU[1]\t\t: \n         Block       Status    Correctable Error  Uncorrectable Error\n"
        "           UMC      ENABLED                    3                    1\n"
        "          SDMA      ENABLED                    2                    0\n"
        "          MMHUB    DISABLED                    0                    0\n"
    )
    (state,) = rocm_smi.read(text).states
    assert (state.index, state.errors_corrected, state.errors_uncorrected) == (1, 5, 1)
    assert state.lines["errors_uncorrected"].startswith("UMC")


def test_a_card_without_errors_counts_none_and_one_without_the_list_counts_nothing() -> None:
    text = "GPU[0]\t\t: \n           UMC      ENABLED                    0                    0\n"
    assert rocm_smi.read(text).states[0].errors_uncorrected == 0
    assert rocm_smi.read("GPU[0]\t\t: PCI Bus: 0000:2F:00.0\n").states[0].errors_uncorrected is None


def test_a_driver_that_is_not_there_is_said_by_rocm_smi() -> None:
    found = rocm_smi.read("ERROR:root:Driver not initialized (amdgpu not found in modules)\n")
    assert [(one.step, one.text) for one in found.said] == [
        ("driver", "Driver not initialized (amdgpu not found in modules)")
    ]


def test_amd_smi_tells_a_divided_card_in_every_layout() -> None:
    layouts = (
        "GPU: 0\n    PARTITION:\n        COMPUTE_PARTITION: CPX\n        MEMORY_PARTITION: NPS4\n",
        "GPU: 0\n    PARTITION:\n        ACCELERATOR_PARTITION: CPX\n        MEMORY_PARTITION: NPS4\n",
        "GPU_ID  MEMORY  ACCELERATOR_TYPE  ACCELERATOR_PROFILE_INDEX  PARTITION_ID\n0  NPS4  CPX  3  0\n",
        "| 0000:05:00.0    AMD Instinct MI300X | 0 %   38 °C   0   135/750 W |\n"
        "|   0       0       7        CPX/NPS4 | 0 %     N/A   285/196592 MB |\n",
    )
    for text in layouts:
        (state,) = amd_smi.read(text).states
        assert (state.partition_compute, state.partition_memory) == ("CPX", "NPS4")


def test_the_kilobytes_of_amd_smi_are_those_of_rocm_smi() -> None:
    listed = (
        "GPU: 0\n    VRAM:\n        SIZE: 196592 MB\n    ASIC:\n        ASIC_SERIAL: 0xA30C8C2B7A14D1F6\n"
    )
    (state,) = amd_smi.read(listed).states
    assert (state.memory_bytes, state.uuid) == (206141652992, "GPU-a30c8c2b7a14d1f6")


def test_a_torch_of_which_the_build_is_not_told_has_none() -> None:
    """Where the output broke off before the lines that tell it; a build for the CPU says so."""
    assert collect_env.read("PyTorch version: 2.3.0\n").torch == {"version": "2.3.0"}
    assert collect_env.read("PyTorch version: 2.3.0+cu121\n").torch == {
        "version": "2.3.0+cu121",
        "cuda": "12.1",
        "hip": None,
    }
    for build in (
        "PyTorch version: 2.3.0+cpu\n",
        "PyTorch version: 2.3.0\nCUDA used to build PyTorch: None\nROCM used to build PyTorch: N/A\n",
    ):
        found = collect_env.read(build).torch
        assert (found["cuda"], found["hip"]) == (None, None)


def test_a_torch_that_cannot_be_imported_is_said_at_its_step() -> None:
    found = collect_env.read("PyTorch version: N/A\nIs debug build: N/A\nIs CUDA available: N/A\n")
    assert [(one.step, one.text) for one in found.said] == [("import", "PyTorch version: N/A")]
    assert (found.torch, found.available) == ({}, None)


@pytest.mark.parametrize(
    "text",
    [
        "Package    Version\n---------- -----------\ntorch      2.3.0+cu121\nflash_attn 2.5.8\n",
        "Package    Version     Editable project location\n---------- ----------- ---\n"
        "torch      2.3.0+cu121\nflash-attn 2.5.8  /x\n",
        "torch==2.3.0+cu121\nflash-attn==2.5.8  # via vllm\n",
        "# packages in environment at /opt/conda:\n#\n# Name   Version   Build  Channel\n"
        "torch    2.3.0+cu121  pypi_0    pypi\nflash-attn    2.5.8   pypi_0    pypi\n",
        "Using Python 3.12.3 environment at: v\nPackage      Version\n------------ -------\n"
        "torch 2.3.0+cu121\nflash-attn 2.5.8\n",
        "Successfully installed flash-attn-2.5.8 torch-2.3.0+cu121\n",
        "flash_attn @ https://example.org/v2.5.8/flash_attn-2.5.8+cu122torch2.3cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n"
        "torch==2.3.0+cu121\n",
    ],
    ids=["pip-list", "editable", "freeze", "conda", "uv", "installed", "from-a-file"],
)  # fmt: skip
def test_a_list_of_packages_is_read_in_each_of_its_layouts(text: str) -> None:
    (found,) = [one for one in recognise.read(text) if one.kind == pip_list.KIND]
    assert found.distributions.pop("flash-attn").startswith("2.5.8")
    assert found.distributions == {"torch": "2.3.0+cu121"}


def test_a_list_ends_where_its_lines_do() -> None:
    text = (
        "Package    Version\n---------- -------\ntorch      2.3.0\n\nThis worked in 2.1 for me\nstep 3 of 7\n"
    )
    assert pip_list.read(text).distributions == {"torch": "2.3.0"}


def test_variables_are_read_as_shells_and_python_set_them() -> None:
    text = (
        "export CUDA_VISIBLE_DEVICES=0,1\nLD_LIBRARY_PATH=/usr/local/cuda/lib64\nHOME=/root\n"
        "root@machine:~# HIP_VISIBLE_DEVICES=2 HSA_OVERRIDE_GFX_VERSION='11.0.0' python train.py\n"
        'os.environ["ROCR_VISIBLE_DEVICES"] = "3"\nCUDA_HOME=\n'
    )
    assert environment.read(text).variables == {
        "CUDA_HOME": "",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "HIP_VISIBLE_DEVICES": "2",
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
        "ROCR_VISIBLE_DEVICES": "3",
    }


def test_what_could_be_a_secret_is_not_kept() -> None:
    token = "hf_" + "a1" * 12
    text = f"HF_TOKEN={token}\nRuntimeError: 401 for token={token} at https://user:{token}@example.org/x\n"
    readings = recognise.read(text)
    assert token not in repr(readings)
    assert next(one for one in readings if one.kind == environment.KIND).variables == {"HF_TOKEN": None}
