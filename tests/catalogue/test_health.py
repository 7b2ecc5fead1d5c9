"""HWH: counters, the kernel's log and what was read under load, each beside the healthy machine that looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalogue.patched import evidence
from tests.catalogue.patched import lines
from tests.catalogue.patched import logged
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import saying
from tests.catalogue.patched import states


def loaded(base: str = "h100-sxm", **facts: Any) -> dict[str, Any]:
    """Health after the pilot, with one card that was looked at while it ran."""
    one = {
        "card": 0,
        "samples": 100,
        "link_generation": 5,
        "link_width": 16,
        "temperature_c": 60.0,
        "power_w": 600.0,
    }
    return {
        "after": evidence(base, "inventory", "states"),
        "under_load": [{**one, "throttling": {"idle": 0.1}} | facts],
    }


# -- errors of the memory, and the log


@pytest.mark.parametrize(
    ("facts", "id"),
    [
        ({"errors_uncorrected": 1}, "HWH-01"),
        ({"errors_uncorrected": 0}, None),
        (
            {"errors_uncorrected": None, "errors_corrected": None},
            None,
        ),  # not supported is not zero, and no error
        ({"errors_corrected": 40000}, None),
        ({"remap_pending": True}, "HWH-02"),
        ({"remap_pending": False, "remap_failed": False}, None),
        ({"remap_pending": None}, None),
        ({"retired_pending": True}, "HWH-02"),
        ({"remap_failed": True, "remap_pending": True, "errors_uncorrected": 3}, "HWH-02-FAILED"),
        ({"remap_pending": True, "errors_uncorrected": 3}, "HWH-02"),  # the same error, told twice
        ({"unreadable": {"reset": "GPU Reset Status / Reset Required: Yes"}}, "HWH-06"),
        ({"unreadable": {"power_w": "GPU is lost"}}, "HWH-03"),
        ({"unreadable": {"power_w": "Unknown Error"}}, None),
        ({"unreadable": {"power_w": "ERR!", "temperature_c": "ERR!"}}, None),
        ({"unreadable": {"power_w": "ERR!", "temperature_c": "ERR!", "utilisation": "ERR!"}}, "HWH-03"),
    ],
    ids=str,
)
def test_a_counter_is_a_fault_only_where_it_says_so(facts: dict[str, Any], id: str | None) -> None:
    assert named(machine(**states("h100-sxm", **facts))) == ([id] if id else [])


@pytest.mark.parametrize(
    ("number", "id"),
    [
        (48, "HWH-01"), (63, "HWH-02"), (64, "HWH-02-FAILED"), (74, "MGP-04"), (79, "HWH-03"), (94, "HWH-06"),
        (95, "HWH-06"), (119, "HWH-05"), (120, "HWH-05"), (13, "HWH-07"), (31, "HWH-07"), (43, "HWH-07"),
        (45, "HWH-07"), (62, None),
    ],
)  # fmt: skip
def test_a_line_of_the_drivers_is_known_by_its_number(number: int, id: str | None) -> None:
    assert named(machine(inventory=logged(number))) == ([id] if id else [])


@pytest.mark.parametrize("number", [48, 63, 64, 74, 79, 94, 95, 119])
def test_an_application_is_not_blamed_beside_what_speaks_of_the_card(number: int) -> None:
    assert "HWH-07" not in named(machine(inventory=logged(31, number)))


def test_one_error_that_the_driver_tells_in_three_lines_has_one_entry() -> None:
    told = logged(48, 63, 94)
    assert named(machine(inventory=told | states("h100-sxm", errors_uncorrected=1)["inventory"])) == [
        "HWH-02"
    ]


def test_what_an_application_caused_does_not_stop_the_long_run() -> None:
    from plugins.catalogue import matches

    assert [match.fault.blocks for match in matches(machine(inventory=logged(31)))] == [False]


@pytest.mark.parametrize("pci", ["0000:53:00", "0000:53:00.0", "00000000:53:00.0", "0000:53:00.1"])
def test_a_line_about_our_card_counts_however_its_address_is_written(pci: str) -> None:
    assert named(machine(inventory=logged(79, pci=pci))) == ["HWH-03"]


def test_a_line_about_a_neighbours_card_does_not_count_unless_a_card_is_missing() -> None:
    assert named(machine(inventory=logged(79, pci="0000:9b:00"))) == []
    (first, _) = evidence("b200", "inventory", "cards")
    lost = logged(79, pci="0000:9b:00") | {"cards": [first]}
    assert "HWH-03" in named(machine("b200", inventory=lost))  # two were ordered
    assert "HWH-03" in named(machine(inventory=logged(79, pci="0000:9b:00") | {"cards": []}))


def test_errors_of_amds_memory_are_told_by_its_own_words() -> None:
    event = {
        "kind": "ras",
        "number": None,
        "pci": None,
        "text": "amdgpu: 1 uncorrectable hardware errors detected in umc",
    }
    assert named(machine("mi300x", inventory={"kernel_log": {"error": None, "events": [event]}})) == [
        "HWH-01"
    ]


@pytest.mark.parametrize(
    ("text", "number", "id"),
    [
        ("RuntimeError: CUDA error: uncorrectable ECC  error encountered", None, "HWH-01"),
        ("AcceleratorError: CUDA error 214", 214, "HWH-01"),
        ("Unable to determine the device handle for GPU0000:53:00.0: Unknown Error", None, "HWH-03"),
        (
            "Unable to determine the device handle for GPU 0000:53:00.0: GPU is lost.  Reboot the system",
            None,
            "HWH-03",
        ),
        ("NVRM: Timeout after 45s of waiting for RPC response from GPU0 GSP!", None, "HWH-05"),
        ("Timeout waiting for RPC from GSP0! Expected function 76", None, "HWH-05"),
        ("corrected ECC error", None, None),
    ],
)
def test_what_programs_say_of_a_sick_card(text: str, number: int | None, id: str | None) -> None:
    said = saying(text, "driver", number=number, number_of="cuda" if number else None)
    assert named(machine(launch=said)) == ([id] if id else [])


# -- the driver that does not answer


def asked(**facts: Any) -> dict[str, Any]:
    one = {
        "command": ["nvidia-smi", "-q"],
        "returncode": 0,
        "signal": None,
        "seconds": 1.0,
        "hung": False,
        "error": None,
    }
    return {"driver": {"asked": [one | facts]}}


def test_nvidia_smi_that_hangs_is_a_fault_only_where_the_driver_hangs_as_well() -> None:
    hangs = asked(hung=True, returncode=None, error="no end within 30 s")
    assert named(machine(launch=hangs)) == ["HWH-05-SLOW"]
    hangs["driver"]["cuda"] = {"error": "cuInit: no end within 50 s", "code": None}
    assert named(machine(launch=hangs)) == ["HWH-05"]


@pytest.mark.parametrize(("seconds", "ids"), [(9.9, []), (10.0, ["HWH-05-SLOW"])])
def test_nvidia_smi_that_is_slow_is_told_and_stops_nothing(seconds: float, ids: list[str]) -> None:
    from plugins.catalogue import matches

    seen = machine(launch=asked(seconds=seconds))
    assert [match.fault.id for match in matches(seen)] == ids
    assert not any(match.fault.blocks for match in matches(seen))
    other = asked(seconds=seconds, command=["rocminfo"])
    assert named(machine(launch=other)) == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, diff 6070 timeout 5200", ["HWH-05"]),
        ("amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE", ["HWH-05"]),
        ("amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!", []),
    ],
)
def test_firmware_that_is_silent_is_told_by_the_kernel_without_a_number(text: str, ids: list[str]) -> None:
    event = {"kind": "other", "number": None, "pci": None, "text": text}
    assert named(machine(inventory={"kernel_log": {"error": None, "events": [event]}})) == ids


@pytest.mark.parametrize(("status", "ids"), [(15, ["HWH-03"]), (0, []), (9, [])])
def test_the_exit_status_of_nvidia_smi_tells_that_a_card_is_lost(status: int, ids: list[str]) -> None:
    found = named(machine(launch=asked(returncode=status)))
    assert [id for id in found if id.startswith("HWH")] == ids


# -- under load


@pytest.mark.parametrize(
    ("power", "share", "held"),
    [
        (310.0, 0.9, True),
        (489.9, 0.5, True),
        (490.0, 0.9, False),  # 0.7 of 700 W
        (310.0, 0.49, False),
        (310.0, 0.0, False),  # a small application: nothing holds the card
        (699.0, 1.0, False),  # at full power that is what a limit is for
    ],
)
def test_a_power_cap_is_a_fault_far_below_the_limit_only(power: float, share: float, held: bool) -> None:
    health = loaded(power_w=power, throttling={"sw_power_cap": share})
    assert named(machine(health=health)) == (["HWH-08"] if held else [])


@pytest.mark.parametrize(("limit", "unlike"), [(1000.0, False), (910.0, False), (890.0, True), (500.0, True)])
def test_a_power_limit_is_held_against_the_sisters(limit: float, unlike: bool) -> None:
    found = evidence("b200", "inventory", "states")
    patch = [one | {"power_limit_w": limit if one["index"] == 1 else 1000.0} for one in found]
    rest = [one | {"power_limit_w": None} for one in evidence("b200", "launch", "states")]
    seen = machine("b200", inventory={"states": patch}, launch={"states": rest})
    assert named(seen) == (["HWH-08"] if unlike else [])


@pytest.mark.parametrize(
    ("facts", "held"),
    [
        (
            {"throttling": ["sw_power_cap"], "utilisation": 100.0, "power_w": 150.0, "power_limit_w": 300.0},
            True,
        ),
        (
            {"throttling": ["sw_power_cap"], "utilisation": 0.0, "power_w": 60.0, "power_limit_w": 300.0},
            False,
        ),
        (
            {"throttling": ["sw_power_cap"], "utilisation": 100.0, "power_w": 298.0, "power_limit_w": 300.0},
            False,
        ),
        ({"throttling": ["idle"], "utilisation": 100.0, "power_w": 150.0, "power_limit_w": 300.0}, False),
    ],
)
def test_a_cap_that_one_reading_shows_needs_a_card_at_work(facts: dict[str, Any], held: bool) -> None:
    assert named(machine(**states("h100-sxm", **facts))) == (["HWH-08"] if held else [])


@pytest.mark.parametrize(
    ("throttling", "samples", "slowed"),
    [
        ({"hw_thermal_slowdown": 0.1}, 100, True),
        ({"hw_thermal_slowdown": 0.09}, 100, False),
        ({"sw_thermal_slowdown": 0.5}, 100, True),
        ({"hw_power_brake_slowdown": 1.0}, 3, True),
        ({"hw_slowdown": 1.0}, 2, False),  # chance
        ({"sync_boost": 1.0, "applications_clocks_setting": 1.0}, 100, False),
    ],
)
def test_heat_counts_by_the_share_of_samples(
    throttling: dict[str, float], samples: int, slowed: bool
) -> None:
    assert named(machine(health=loaded(samples=samples, throttling=throttling))) == (
        ["HWH-09"] if slowed else []
    )


@pytest.mark.parametrize(
    ("facts", "narrow"),
    [
        ({"link_generation": 1}, True),
        ({"link_generation": 4}, True),
        ({"link_width": 8}, True),
        ({}, False),
        ({"link_generation": None, "link_width": None}, False),
        ({"link_generation": 1, "throttling": {"idle": 1.0}}, False),  # it never worked
        ({"link_generation": 1, "samples": 2}, False),
    ],
)
def test_a_link_is_judged_by_what_it_was_under_load(facts: dict[str, Any], narrow: bool) -> None:
    assert named(machine(health=loaded(**facts))) == (["HWH-10"] if narrow else [])


def test_a_link_at_generation_1_is_well_on_an_idle_card() -> None:
    assert named(machine(**states("h100-sxm", link_generation=1, link_width=1))) == []


def test_a_board_of_an_older_generation_is_no_fault_of_the_link() -> None:
    seen = machine(**states("h100-sxm", link_generation_max=4), health=None)
    health = loaded(link_generation=4)
    health["after"] = [one | {"link_generation_max": 4} for one in health["after"]]
    assert named(machine(**states("h100-sxm", link_generation_max=4), health=health)) == named(seen) == []


# -- nothing to go by

NONE = {"errors_corrected": None, "errors_uncorrected": None, "remap_pending": None, "retired_pending": None}


def test_health_that_nobody_tells_is_said_and_does_not_stop_the_long_run() -> None:
    blind = states("h100-sxm", **NONE, remap_failed=None)
    assert lines("HWH-11", machine(place="container", **blind))
    assert lines("HWH-11", machine(place="root", **blind)) == []  # there the log can be read
    assert (
        lines("HWH-11", machine(place="container", **states("h100-sxm", **NONE | {"remap_pending": False})))
        == []
    )
    later = {"after": [], "kernel_log": {"error": None, "events": []}}
    assert lines("HWH-11", machine(place="container", **blind, health=later)) == []


def test_a_card_for_games_keeps_no_counters_and_is_well_without() -> None:
    assert lines("HWH-11", machine("rtx-4090", "container", **states("rtx-4090", **NONE))) == []
    older = states("rtx-4090", **NONE, name="NVIDIA GeForce GTX 1080 Ti")
    assert lines("HWH-11", machine("rtx-4090", "container", **older)) == []
