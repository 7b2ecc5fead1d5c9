"""Outputs of NVIDIA's tools and of the kernel that people posted, healthy and broken ones, read value by value."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fixtures.readings import kernel_log
from fixtures.readings import nvidia_smi
from fixtures.readings import nvidia_smi_errors
from fixtures.readings import nvidia_smi_l
from fixtures.readings import nvidia_smi_q
from fixtures.readings import nvlink
from fixtures.readings import recognise
from fixtures.readings import text as texts
from fixtures.readings import topo
from fixtures.readings.reading import Reading
from tests.readings.nvidia import MIB
from tests.readings.nvidia import NVIDIA
from tests.readings.nvidia import Says

OUTPUTS = Path(__file__).with_name("outputs")
#: those of whole outputs in which no field is cut out of the middle of a card
LONG = (
    "q-535-h100-passthrough",
    "q-570-rtx5090-idle",
    "q-530-t4-exclusive",
    "table-535-a100-mig",
    "table-525-a40-err",
)


def output(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def read(text: str) -> list[Reading]:
    """What NVIDIA's tools and the kernel say in it; an error's text may be more than one kind of thing."""
    own = {
        one.KIND
        for one in (nvidia_smi, nvidia_smi_q, nvidia_smi_l, nvlink, topo, nvidia_smi_errors, kernel_log)
    }
    return [reading for reading in recognise.read(text) if reading.kind in own]


def known(state: Any) -> dict[str, Any]:
    """The fields of a card that are known, but for where they come from."""
    facts = state.model_dump(exclude={"source", "lines"})
    return {name: value for name, value in facts.items() if value is not None and value != {}}


def says(reading: Reading) -> Says:
    return Says(
        kind=reading.kind,
        driver=reading.driver_version,
        cuda=reading.cuda_driver,
        cut=reading.cut,
        modules=reading.modules,
        said=[one.text for one in reading.said],
        events=[(event.kind, event.number, event.pci) for event in reading.events],
        cards=[known(state) for state in reading.states],
    )


@pytest.mark.parametrize("name", NVIDIA)
def test_an_output_says_this_and_nothing_else(name: str) -> None:
    found = [asdict(says(reading)) for reading in read(output(name))]
    assert found == [asdict(wanted) for wanted in NVIDIA[name]]


def test_every_output_has_its_source_named_and_every_named_one_is_there() -> None:
    lines = (OUTPUTS / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    named = {line.split("`")[1] for line in lines if line.startswith("- `")}
    assert named == {path.name for path in OUTPUTS.glob("*.txt")}
    assert set(NVIDIA) <= {name.removesuffix(".txt") for name in named}
    assert [
        line for line in lines if line.startswith("- `") and not ("https://" in line or "no address" in line)
    ] == []


@pytest.mark.parametrize("name", [name for name in NVIDIA if name.startswith(("q-", "table-"))])
def test_a_value_comes_with_the_line_that_says_so(name: str) -> None:
    """All but the card's place in the list, its address in the heading, and what a whole section says."""
    text = " ".join(output(name).split())
    for reading in read(output(name)):
        for state in reading.states:
            of_sections = {"index", "pci", "mig_devices", "throttling", "processes", "unreadable"}
            assert set(known(state)) - of_sections <= set(state.lines)
            quoted = [" ".join(part.split()) for line in state.lines.values() for part in line.split("; ")]
            assert [
                part
                for part in quoted
                if part not in text.replace("(sky-cmd, pid=63073) ", "").replace("> ", "")
            ] == []


@pytest.mark.parametrize("name", LONG)
def test_an_output_that_breaks_off_anywhere_says_less_and_nothing_else(name: str) -> None:
    """Whatever is still read of a card is what the whole output says of it: nothing is guessed from a part."""
    lines = output(name).splitlines()
    whole = [state for reading in read(output(name)) for state in reading.states]
    for end in range(0, len(lines), 3):
        states = [state for reading in read("\n".join(lines[:end])) for state in reading.states]
        assert len(states) <= len(whole)
        for state, complete in zip(states, whole, strict=False):
            kept, all_of_it = known(state), known(complete)
            for field in ("processes", "mig_devices", "throttling", "unreadable"):  # lists grow line by line
                grown = [_of(one) for one in kept.pop(field, [])]
                assert grown == [_of(one) for one in all_of_it.get(field, [])][: len(grown)]
                assert grown or field not in kept or not all_of_it[field]
            assert {key: value for key, value in kept.items() if all_of_it.get(key) != value} == {}


def _of(one: Any) -> Any:
    """What tells an entry of a list from the others: a process is listed before its name and memory are."""
    return one["pid"] if isinstance(one, dict) else one


@pytest.mark.parametrize("name", NVIDIA)
def test_colours_windows_line_ends_and_quotation_marks_change_nothing(name: str) -> None:
    plain = [says(reading) for reading in read(output(name))]
    lines = output(name).splitlines()
    for changed in (
        "\r\n".join(lines),
        "\n".join(f"\x1b[1;32m{line}\x1b[0m" for line in lines),
        "\n".join(f"> {line}" for line in lines),
        "\n".join(f"# {line}" for line in lines),
        "\ufeff" + "\n".join(line.replace("    ", "\u00a0\u00a0\u00a0\u00a0") for line in lines),
        "\n".join(f"(task, pid=4711) {line}" for line in lines),
    ):
        assert [says(reading) for reading in read(changed)] == plain


@pytest.mark.parametrize("name", ["q-570-rtx5090-idle", "q-530-t4-exclusive", "q-535-h100-power-brake"])
def test_a_paste_that_lost_its_indents_says_the_same(name: str) -> None:
    flat = "\n".join(line.strip() for line in output(name).splitlines())
    assert [says(reading).cards for reading in read(flat)] == [one.cards for one in NVIDIA[name]]


def test_a_divided_card_whose_paste_lost_its_indents_has_no_memory_rather_than_that_of_a_part() -> None:
    text = """
GPU 00000000:21:00.0
Product Name                          : NVIDIA A100-PCIE-40GB
MIG Mode
Current                           : Enabled
Pending                           : Enabled
MIG Device
Index                             : 0
FB Memory Usage
Total                             : 9856 MiB
Used                              : 12 MiB
FB Memory Usage
Total                             : 40960 MiB
Used                              : 50 MiB
Processes                             : None
"""
    [state] = read(text)[0].states
    assert (state.memory_bytes, state.used_bytes, state.mig) == (None, None, True)
    indented = text.replace("\nTotal", "\n        Total").replace("\nUsed", "\n        Used")
    indented = indented.replace("\nMIG Device\nIndex", "\n    MIG Device\n        Index").replace(
        "        Index                             : 0\nFB Memory Usage\n        Total",
        "        Index                             : 0\n        FB Memory Usage\n            Total",
    )
    indented = indented.replace(
        "MiB\n        Used                              : 12", "MiB\n            Used : 12"
    )
    for heading in ("MIG Mode", "FB Memory Usage", "Processes", "Product Name"):
        indented = indented.replace(f"\n{heading}", f"\n    {heading}")
    for name in ("Current", "Pending"):
        indented = indented.replace(f"\n{name}", f"\n        {name}")
    [state] = read(indented)[0].states
    assert (state.memory_bytes, state.used_bytes) == (40960 << 20, 50 << 20)
    assert state.mig_devices == ["MIG device 0, 9856 MiB"]


def test_several_outputs_in_one_paste_are_read_as_if_each_stood_alone() -> None:
    names = [
        "table-550-h100",
        "list-a100-mig",
        "q-570-rtx5090-idle",
        "nvlink-v100-inactive",
        "topo-5090-pair",
    ]
    together = "\n\n$ cat next\n".join(output(name) for name in names)
    found = [says(reading) for reading in read(together)]
    assert found == [one for name in names for one in NVIDIA[name]]


def test_what_no_module_knows_is_not_read_at_all() -> None:
    assert recognise.read("") == []
    assert read("GPU 0: NVIDIA H100 80GB HBM3\nCUDA Version: 12.4 of the container\n| a | table |\n") == []


def test_a_table_of_prose_is_not_a_card() -> None:
    assert recognise.read("| GPU | Memory |\n|---|---|\n| 0 | 80GB |\n| NVIDIA B200     | 192 GB |\n") == []


#: what nvidia-smi says in the place of an answer, in the words of different releases
SAID = [
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.",
    "Failed to initialize NVML: Unknown Error",
    "Failed to initialize NVML: GPU access blocked by the operating system",
    "Failed to initialize NVML: Insufficient Permissions",
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver "
    "is properly installed and present in your system.",
    "No devices were found",
    "Unable to determine the device handle for GPU0000:65:00.0: GPU is lost.  Reboot the system to recover this GPU",
    "Unable to determine the device handle for gpu 0000:B3:00.0: GPU requires reset",
    "bash: nvidia-smi: command not found",
    "zsh: command not found: nvidia-smi",
    "WARNING: infoROM is corrupted at gpu 0000:3B:00.0",
]


@pytest.mark.parametrize("text", SAID)
def test_an_error_of_nvidia_smi_is_said_as_it_was_printed(text: str) -> None:
    [reading] = read(f"$ nvidia-smi\n{text}\n$ \n")
    assert [(one.step, one.source, one.text) for one in reading.said] == [("driver", "nvidia-smi", text)]


def test_an_error_beside_a_table_is_said_once_and_the_table_is_read() -> None:
    text = output("table-550-h100") + SAID[6] + "\n" + SAID[6] + "\n"
    table, errors = read(text)
    assert len(table.states) == 2
    assert [one.text for one in errors.said] == [SAID[6]]


@pytest.mark.parametrize(
    "value",
    ["N/A", "[N/A]", "[Not Supported]", "Not Available", "", "Requested functionality has been deprecated"],
)
def test_a_value_that_is_not_there_is_unknown_and_not_zero(value: str) -> None:
    assert texts.known(value) is None
    assert (texts.number(value), texts.whole(value), texts.size(value), texts.yes(value)) == (
        None,
        None,
        None,
        None,
    )
    assert not texts.unreadable(value)


@pytest.mark.parametrize("value", ["ERR!", "[Unknown Error]", "GPU is lost", "[GPU requires reset]"])
def test_a_value_that_could_not_be_read_is_neither_unknown_without_a_word_nor_a_value(value: str) -> None:
    assert texts.unreadable(value)
    assert texts.known(value) is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:53:00.0", "0000:53:00.0"),
        ("0000:53:00.0", "0000:53:00.0"),
        ("53:00.0", "0000:53:00.0"),
        ("00008ED0:00:00.0", "8ed0:00:00.0"),
        ("03F8CFDD:00:00.0", "3f8cfdd:00:00.0"),
        ("N/A", None),
        ("ERR!", None),
    ],
)
def test_an_address_is_written_as_the_kernel_writes_it(text: str, address: str | None) -> None:
    assert texts.address(text) == address


def test_a_card_that_cannot_be_read_is_not_a_card_without_values() -> None:
    [state] = read("""
==============NVSMI LOG==============
Attached GPUs                             : 1
GPU 00000000:65:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU UUID                              : GPU is lost
    GPU Reset Status
        Reset Required                    : Yes
        Drain and Reset Recommended       : N/A
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : [GPU requires reset]
    Temperature
        GPU Current Temp                  : Unknown Error
    Processes                             : None
""")[0].states
    assert (state.name, state.memory_bytes) == ("NVIDIA A100-SXM4-80GB", 81920 * MIB)
    assert (state.uuid, state.used_bytes, state.temperature_c) == (None, None, None)
    assert state.unreadable == {
        "uuid": "GPU is lost",
        "used_bytes": "[GPU requires reset]",
        "temperature_c": "Unknown Error",
        "reset": "Reset Required                    : Yes",
    }


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("    GPU Recovery Action                   : None", None),
        (
            "    GPU Recovery Action                   : Reset",
            "GPU Recovery Action                   : Reset",
        ),
        ("    GPU Recovery Action                   : N/A", None),
    ],
)
def test_newer_drivers_say_what_would_bring_a_card_back(line: str, wanted: str | None) -> None:
    text = f"GPU 00000000:65:00.0\n    Product Name                          : NVIDIA B200\n{line}\n"
    assert read(text)[0].states[0].unreadable.get("reset") == wanted


#: before Ampere; the counts of each kind of memory stand above their total
OLD_ERRORS = """
GPU 00000000:15:00.0
    Product Name                    : Tesla V100-SXM2-32GB
    ECC Errors
        Volatile
            Single Bit
                Device Memory       : 3
                Register File       : 0
                L1 Cache            : 0
                Total               : 3
            Double Bit
                Device Memory       : 1
                CBU                 : 0
                Total               : 1
        Aggregate
            Single Bit
                Total               : 70
            Double Bit
                Total               : 80
    Retired Pages
        Single Bit ECC              : 0
        Double Bit ECC              : 2
        Pending                     : Yes
    Processes                       : None
"""


def test_errors_of_an_old_layout_are_the_totals_since_the_driver_was_loaded() -> None:
    [state] = read(OLD_ERRORS)[0].states
    assert (state.errors_corrected, state.errors_uncorrected, state.retired_pending) == (3, 1, True)
    flat = "\n".join(line.strip() for line in OLD_ERRORS.splitlines())
    assert known(read(flat)[0].states[0]) == known(state)


def test_errors_of_which_only_a_part_is_left_are_not_added_up() -> None:
    cut = OLD_ERRORS.partition("            Double Bit\n                Device")[0]
    [state] = read(cut)[0].states
    assert (state.errors_corrected, state.errors_uncorrected) == (3, None)
    new = """
GPU 00000000:19:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 1
            SRAM Uncorrectable SEC-DED    : 2
"""
    [state] = read(new)[0].states
    assert (state.errors_corrected, state.errors_uncorrected) == (None, None)
    dram = ("            DRAM Correctable              : 5", "            DRAM Uncorrectable            : 4")
    whole = "\n".join((new.rstrip(), *dram))
    [state] = read(whole)[0].states
    assert (state.errors_corrected, state.errors_uncorrected) == (5, 7)
