"""HWH: what the cards and the kernel's log say of their own state, before the pilot, under load, and after it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import UnderLoad
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import card
from plugins.catalogue.signatures import cuda_error
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import kernel
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import unless
from plugins.catalogue.signatures import xid

#: those that an application causes by what it does: an illegal access, a fault of its own, its channel ended
BY_THE_APPLICATION = (13, 31, 43, 45)
#: those that speak of the card, its memory, its links or its firmware
BY_THE_CARD = (48, 63, 64, 74, 79, 94, 95, 119, 120)

NVML_GPU_IS_LOST = 15

#: cards for games and drawing, on which errors are not counted or counting is switched off
_WITHOUT_COUNTERS = re.compile(r"geforce|titan|\brtx\b|quadro|radeon", re.IGNORECASE)

#: a cap below this share of the limit is no card at full power; at full power it is what a limit is for
CAPPED = 0.7
#: of the samples under load in which a reason must be active
OFTEN = 0.5
#: the same for those that the hardware itself gives: a moment is one too many, one sample may be chance
THROTTLED = 0.1
#: a power limit below this share of a sister's
UNLIKE = 0.9
#: fewer samples under load say nothing of a link
SAMPLES = 3
#: percent: a card that one source found at work
AT_WORK = 50
#: from that many seconds on nvidia-smi is slow
SLOW_S = 10.0
_SILENT = re.compile(
    r"HeartbeatTimedOut|\bGSP Timeout\b|timeout.{0,40}rpc.{0,40}\bgsp|\bMES (?:failed to respon|might be in unrecov)",
    re.IGNORECASE,
)
BY_HARDWARE = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
BY_HEAT = (*BY_HARDWARE, "sw_thermal_slowdown")

#: figures of one card that cannot be read: temperature, power and use
ALL_UNREADABLE = 3


def loaded(seen: Seen) -> Iterator[tuple[UnderLoad, list[CardState]]]:
    """The cards while the application ran, each with what else is known of it."""
    for one in seen.health.under_load if seen.health else []:
        yield one, [state for state in seen.states if state.index == one.card]


def low_power(seen: Seen) -> Iterator[str]:
    """Held by a cap far below the card's limit, under load."""
    for one, states in loaded(seen):
        limit = max((state.power_limit_w for state in states if state.power_limit_w), default=None)
        share = one.throttling.get("sw_power_cap", 0.0)
        if limit and one.power_w is not None and share >= OFTEN and one.power_w < CAPPED * limit:
            yield (
                f"card {one.card} under load: power cap in {share:.0%} of the samples, at most {one.power_w:g} W of "
                f"{limit:g} W"
            )


def low_limit(seen: Seen) -> Iterator[str]:
    """Less power allowed than a sister of the same name has in the same account."""
    highest: dict[tuple[str, str | None], float] = {}
    for state in seen.states:
        if state.power_limit_w:
            key = (state.source, state.name)
            highest[key] = max(highest.get(key, 0.0), state.power_limit_w)
    for state in seen.states:
        sister = highest.get((state.source, state.name), 0.0)
        if state.power_limit_w and state.power_limit_w < UNLIKE * sister:
            yield f"{state.source}, card {state.index}: limit {state.power_limit_w:g} W, another card's {sister:g} W"


def _capped_at_work(state: CardState) -> bool:
    return bool(
        "sw_power_cap" in (state.throttling or [])
        and (state.utilisation or 0) >= AT_WORK
        and state.power_w is not None
        and state.power_limit_w
        and state.power_w < CAPPED * state.power_limit_w
    )


def throttled(seen: Seen) -> Iterator[str]:
    """For heat, or by the hardware itself, in many of the samples under load."""
    for one, _ in loaded(seen):
        for reason in BY_HEAT:
            share = one.throttling.get(reason, 0.0)
            if one.samples >= SAMPLES and share >= THROTTLED:
                hot = "" if one.temperature_c is None else f", at most {one.temperature_c:g} °C"
                yield f"card {one.card} under load: {reason} in {share:.0%} of the samples{hot}"


def narrow_link(seen: Seen) -> Iterator[str]:
    """The best that the link was while the card worked, below what card and board can; idle it says nothing."""
    for one, states in loaded(seen):
        if one.samples < SAMPLES or one.throttling.get("idle", 0.0) >= 1:
            continue
        for what, found, wanted in (
            ("generation", one.link_generation, [state.link_generation_max for state in states]),
            ("lanes", one.link_width, [state.link_width_max for state in states]),
        ):
            known = [number for number in wanted if number]
            if found and known and found < min(known):
                yield f"card {one.card} under load: PCIe {what} {found}, and {min(known)} is possible"


def nothing_to_go_by(seen: Seen) -> str | None:
    """Neither the kernel's log nor one counter of a card that keeps such can be read."""
    after = seen.health.kernel_log if seen.health else None
    logs = [log for log in (seen.inventory.kernel_log, seen.host.kernel_log, after) if log]
    refused = next((log.error for log in logs if log.error), None)
    keeping = [state for state in seen.states if state.name and not _WITHOUT_COUNTERS.search(state.name)]
    if refused is None or any(log.error is None for log in logs) or not keeping:
        return None
    counters = [
        counter
        for state in seen.states
        for counter in (state.errors_uncorrected, state.remap_pending, state.retired_pending)
        if counter is not None
    ]
    return None if counters else f"{refused}; and {keeping[0].name} tells of no errors in its memory"


def _needs_reset(state: CardState) -> bool:
    return any("reset" in text.casefold() or "drain" in text.casefold() for text in state.unreadable.values())


def _is_lost(state: CardState) -> bool:
    """A single figure that reads ERR! passes by itself; one of which nothing can be read any more is gone."""
    wrong = [text.casefold() for text in state.unreadable.values()]
    return any("is lost" in text for text in wrong) or sum("err" in text for text in wrong) >= ALL_UNREADABLE


def no_answer(seen: Seen) -> list[str]:
    """nvidia-smi did not come back, and neither did a library of the driver when it was asked without it."""
    programs = [
        f"{' '.join(one.command)}: {one.error or 'no end'}"
        for one in seen.driver.asked
        if one.hung and one.command[0] == "nvidia-smi"
    ]
    libraries = [
        f"{one.library}: {one.error}"
        for one in (seen.driver.cuda, seen.driver.nvml)
        if one and one.error and "no end within" in one.error
    ]
    return [*programs, *libraries] if programs and libraries else []


def slow_answer(seen: Seen) -> list[str]:
    """nvidia-smi is slow or never ends, and the libraries that programs use answer."""
    answering = [one for one in (seen.driver.cuda, seen.driver.nvml) if one and one.error is None]
    return [
        f"{' '.join(one.command)}: {one.error or 'no end'}"
        if one.hung
        else f"{' '.join(one.command)}: {one.seconds:.0f} s"
        for one in seen.driver.asked
        if answering and one.command[0] == "nvidia-smi" and (one.hung or one.seconds >= SLOW_S)
    ]


def firmware_silent(seen: Seen) -> list[str]:
    """The kernel's log says so without a number: GSP is NVIDIA's, MES AMD's."""
    return kernel(lambda event: event.kind == "other" and _SILENT.search(event.text))(seen)


def exit_of_nvidia_smi(number: int) -> Signature:
    """Its exit status is NVML's number of what went wrong."""
    return lambda seen: [
        f"{' '.join(one.command)}: exit status {number}"
        for one in seen.driver.asked
        if one.returncode == number and one.command[0] == "nvidia-smi"
    ]


_GONE = any_of(
    kernel(lambda event: event.kind == "fell_off"),
    xid(79),
    exit_of_nvidia_smi(NVML_GPU_IS_LOST),
    said(
        r"fallen off the bus|gpu is lost|unable to determine the device handle.{0,80}(?:unknown error|gpu is lost)"
    ),
    card("the driver has lost the card", _is_lost),
)
_FAILED = any_of(
    card("rows of its memory could not be remapped", lambda state: state.remap_failed, "remap_failed"),
    xid(64),
)
_PENDING = any_of(
    card("rows of its memory wait to be remapped", lambda state: state.remap_pending, "remap_pending"),
    card("pages of its memory wait to be retired", lambda state: state.retired_pending, "retired_pending"),
    xid(63),
)
_CONTAINED = any_of(
    xid(94, 95),
    card("the driver wants the card to be reset", _needs_reset, "reset"),
    said(r"gpu requires reset"),
)
_UNCORRECTED = any_of(
    card(
        "{0.errors_uncorrected} errors in its memory that could not be corrected",
        lambda state: (state.errors_uncorrected or 0) > 0,
        "errors_uncorrected",
    ),
    xid(48),
    kernel(lambda event: event.kind == "ras"),
    cuda_error(214),
    said(r"uncorrectable ecc error"),
)

FAULTS = [
    Fault(
        id="HWH-03",
        step="driver",
        signature=_GONE,
        cause="a card is gone from its bus: power, heat, its riser or its firmware",
        root=Answer("reconfigure", "the host: one of its cards falls off the bus"),
        container=Answer("reconfigure", "the host: one of its cards falls off the bus"),
        confirm="the kernel's log says Xid 79, and nvidia-smi lists fewer cards than lspci",
        source="https://github.com/NVIDIA/open-gpu-kernel-modules/issues/888",
    ),
    Fault(
        id="HWH-05",
        step="driver",
        signature=unless(
            any_of(
                xid(119, 120),
                said(r"timeout.{0,40}waiting for rpc.{0,40}gsp"),
                facts(no_answer),
                facts(firmware_silent),
            ),
            _GONE,
        ),
        cause="the card's own firmware (GSP; AMD's MES) does not answer its driver any more, a defect of some "
        "releases: what asks or uses the card hangs",
        root=Answer("fix", "the driver and its firmware: another release, after a restart"),
        container=Answer("reconfigure", "the host: its driver's release"),
        confirm="nvidia-smi takes more than 10 s again and again, and the kernel's log says Xid 119",
        source="https://github.com/NVIDIA/open-gpu-kernel-modules/issues/446",
    ),
    Fault(
        id="HWH-05-SLOW",
        step="driver",
        signature=unless(facts(slow_answer), facts(no_answer), facts(firmware_silent), xid(119, 120), _GONE),
        cause="nvidia-smi takes 10 s and more or does not end, while the driver's libraries answer: the driver is "
        "loaded anew each time, or a card is slow",
        root=Answer("fix", "persistence: nvidia-smi -pm 1, or the service nvidia-persistenced"),
        container=Answer(
            "reconfigure", "the provider: persistence on the host; another host if it stays slow"
        ),
        confirm="nvidia-smi once more, five times: with persistence each takes less than 2 s",
        source="https://github.com/Azure/aks-gpu/pull/105",
        blocks=False,  # what computes does not ask nvidia-smi
    ),
    Fault(
        id="HWH-02-FAILED",
        step="host",
        signature=_FAILED,
        cause="defective rows of the card's memory could not be replaced: there are no spare ones left",
        root=Answer("reconfigure", "the host: the memory of its card is worn out"),
        container=Answer("reconfigure", "the host: the memory of its card is worn out"),
        confirm="nvidia-smi -q shows Remapping Failure Occurred: Yes, or the kernel's log Xid 64",
        source="https://github.com/leptonai/gpud/pull/987",
    ),
    Fault(
        id="HWH-02",
        step="host",
        signature=unless(_PENDING, _FAILED),
        cause="the card has found defective memory, and replaces it only when it is reset",
        root=Answer("fix", "a reset of the card or a restart of the machine; then read it again"),
        container=Answer("reconfigure", "the host: its card needs a reset, and no container may do that"),
        confirm="nvidia-smi -q shows Pending: Yes under Remapped Rows or Retired Pages, and No after a reset",
        source="https://docs.nvidia.com/deploy/dynamic-page-retirement/visibility.html",
    ),
    Fault(
        id="HWH-06",
        step="host",
        signature=unless(_CONTAINED, _FAILED, _PENDING),
        cause="the card had an error in its memory that ended one process (Xid 94) or all of them (Xid 95)",
        root=Answer("reconfigure", "the host, if it comes back after one start of the application"),
        container=Answer("reconfigure", "the host, if it comes back after one start of the application"),
        confirm="the kernel's log says Xid 94 (contained) or 95 (not contained)",
        source="https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
    ),
    Fault(
        id="HWH-01",
        step="host",
        signature=unless(_UNCORRECTED, _FAILED, _PENDING, _CONTAINED),
        cause="the card's memory had errors that could not be corrected",
        root=Answer("reconfigure", "the host, if it comes back after one further trial"),
        container=Answer("reconfigure", "the host, if it comes back after one further trial"),
        confirm="the counter of uncorrectable ECC errors is above 0, or grows in the next trial",
        source="https://github.com/vllm-project/vllm/issues/5222",
    ),
    Fault(
        id="HWH-08",
        step="host",
        signature=any_of(
            facts(low_power),
            facts(low_limit),
            card(
                "power cap at {0.power_w:g} W of {0.power_limit_w:g} W, at work {0.utilisation:g} %",
                _capped_at_work,
                "throttling",
                "power_w",
                "power_limit_w",
            ),
        ),
        cause="the board or its power supply holds the card far below its own limit",
        root=Answer("reconfigure", "the host: it does not give the card its power"),
        container=Answer("reconfigure", "the host: it does not give the card its power"),
        confirm="a product that runs for a minute stays below 70 % of the power limit, or its sisters take more",
        source="https://github.com/Azure/azurehpc/pull/595",
    ),
    Fault(
        id="HWH-09",
        step="host",
        signature=any_of(
            facts(throttled),
            card(
                "its clocks are lowered: {0.throttling}",
                lambda state: set(state.throttling or []) & set(BY_HARDWARE),
                "throttling",
            ),
        ),
        cause="the card lowers its clocks because of heat or of its power supply: the rate falls after minutes",
        root=Answer("reconfigure", "the host: its cooling or power supply is too weak"),
        container=Answer("reconfigure", "the host: its cooling or power supply is too weak"),
        confirm="in a burn-in of 15 minutes the last third computes less than nine tenths of the first",
        source="https://github.com/leptonai/gpud/pull/330",
    ),
    Fault(
        id="HWH-10",
        step="host",
        signature=facts(narrow_link),
        cause="under load the card's link to the host stays below what both can do: the slot, a riser, the board",
        root=Answer("reconfigure", "the host: the slot or riser of its card"),
        container=Answer("reconfigure", "the host: the slot or riser of its card"),
        confirm="nvidia-smi -q shows the lower generation or width during a copy, and the copy is as slow as that",
        source="https://github.com/Syllo/nvtop/issues/6",
    ),
    Fault(
        id="HWH-07",
        step="host",
        signature=unless(xid(*BY_THE_APPLICATION), xid(*BY_THE_CARD), _UNCORRECTED, _PENDING, _FAILED),
        cause="the kernel's log has errors that an application causes by itself, an illegal access mostly: the card is "
        "innocent as long as it computes right",
        root=Answer("fix", "the application: its release, or the kernel that it called"),
        container=Answer("fix", "the application: its release, or the kernel that it called"),
        confirm="compute-sanitizer names the access; a burn-in without the application leaves no such line",
        source="https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        blocks=False,  # it may have been somebody else's application, before us
    ),
    Fault(
        id="HWH-11",
        step="host",
        signature=fact(nothing_to_go_by),
        cause="the health of the cards is not known: the kernel's log may not be read here, and they tell no counters",
        root=Answer("fix", "the rights: the kernel's log, read as root"),
        container=Answer(
            "reconfigure", "the provider: ask for the kernel's log and the counters of the cards"
        ),
        confirm="dmesg says Operation not permitted, and nvidia-smi -q shows N/A under ECC Errors and Remapped Rows",
        source="https://facebookresearch.github.io/gcm/docs/GCM_Health_Checks/health_checks/check-syslogs/xid",
        blocks=False,  # not known is not broken
    ),
]
