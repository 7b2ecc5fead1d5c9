"""The page shows what the probe saw and the faults that are known, as facts: unknown is never zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import ladder
from fixtures.evidence.burning import Burned
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.burning import Rate
from fixtures.evidence.models import Launch
from plugins.report import render
from plugins.verdict_file import Fault
from plugins.verdict_file import Verdict
from tests.machines import records
from tests.report import samples
from tests.report.parsed import flat
from tests.report.parsed import parse

HOSTILE = "<script>alert(1)</script>\x1b[31m"
ASKED = ladder.Asked(command=[HOSTILE], returncode=1, seconds=1.0, hung=False, error=HOSTILE)
FAULT = Fault(
    id="DRV-02", step="driver", cause="the switches are not set up", decision="reconfigure", change="the host",
    confirm="nvidia-smi -q shows Fabric", source="https://example.org/802", blocks=True,
    lines=["cuInit gives 802 CUDA_ERROR_SYSTEM_NOT_READY"],
)  # fmt: skip


def page(folder: Path, launch: Launch, verdict: Verdict | None = None, **evidence: Any) -> str:
    everything = {**samples.everything(), "launch": launch, **evidence}
    return render(verdict or samples.verdict(), samples.trial(folder / "t", everything))


@pytest.fixture
def launch() -> Launch:
    """Of a recorded machine in a container."""
    return records.machine("h100-sxm", "container").seen.launch


def with_faults(*faults: Fault) -> Verdict:
    verdict = samples.verdict()
    first, *rest = verdict.criteria
    check = first.checks[0].model_copy(update={"faults": list(faults)})
    changed = first.model_copy(update={"checks": [check, *first.checks[1:]]})
    return verdict.model_copy(update={"criteria": [changed, *rest]})


def test_driver_cards_copies_host_and_places_are_shown(launch: Launch, tmp_path: Path) -> None:
    text = flat(parse(page(tmp_path, launch)).text)
    assert launch.driver
    assert launch.host
    assert "What the probe saw" in text
    assert f"Kernel module{launch.driver.module_version}" in text
    assert "libcuda.so.1" in text
    assert f"{launch.host.cpus_system}, of which the container allows" in text
    assert "exact" in text
    for place in launch.host.places:
        assert place.path in text
    for one in launch.unseen:
        assert one.what in text


def test_a_trial_of_an_earlier_version_has_no_such_section(tmp_path: Path) -> None:
    assert "What the probe saw" not in page(tmp_path, samples.launch())


def test_what_a_card_does_not_tell_is_unknown(launch: Launch, tmp_path: Path) -> None:
    silent = launch.model_copy(update={"states": [ladder.CardState(source="nvml", index=0)]})
    (row,) = [line for line in parse(page(tmp_path, silent)).all("tr") if line.text.startswith("0: no name")]
    assert flat(row.text).count("unknown") == 8
    idle = launch.model_copy(
        update={"states": [ladder.CardState(source="nvml", index=0, throttling=[], errors_uncorrected=0)]}
    )
    (row,) = [
        line for line in parse(page(tmp_path / "b", idle)).all("tr") if line.text.startswith("0: no name")
    ]
    assert "nothing" in row.text


def test_copies_that_did_not_arrive_are_told(launch: Launch, tmp_path: Path) -> None:
    wrong = [
        ladder.Transfer(source="cuda:0", target="cuda:1", bytes=4097, exact=False, error=None),
        ladder.Transfer(
            source="cuda:1", target="cuda:0", bytes=4097, exact=None, error="peer access is lost"
        ),
    ]
    text = flat(parse(page(tmp_path, launch.model_copy(update={"transfers": wrong}))).text)
    assert "NOT the bits that were sent" in text
    assert "not: peer access is lost" in text


def test_a_known_fault_stands_with_cause_change_and_what_it_rests_on(launch: Launch, tmp_path: Path) -> None:
    advisory = FAULT.model_copy(update={"id": "STO-04", "blocks": False, "cause": "it is lost at a stop"})
    text = flat(parse(page(tmp_path, launch, with_faults(advisory, FAULT))).text)
    assert "DRV-02, at driver: the switches are not set up Meansreconfigure Changethe host" in text
    assert "Rests oncuInit gives 802 CUDA_ERROR_SYSTEM_NOT_READY Described inhttps://example.org/802" in text
    assert "STO-04, at driver, an advisory: it is lost at a stop" in text
    assert text.index("DRV-02") < text.index("STO-04")


def test_without_a_known_fault_there_is_no_such_heading(launch: Launch, tmp_path: Path) -> None:
    assert "Known faults" not in page(tmp_path, launch)


def test_whatever_a_machine_says_stays_text(launch: Launch, tmp_path: Path) -> None:
    assert launch.driver
    hostile = launch.model_copy(
        update={
            "states": [ladder.CardState(source=HOSTILE, name=HOSTILE, throttling=[HOSTILE])],
            "extensions": [
                ladder.Extension(name=HOSTILE, module="m", version=HOSTILE, imported=False, operation=None,
                    ran=False, error=HOSTILE, seconds=1.0),
            ],
            "driver": launch.driver.model_copy(update={"asked": [ASKED]}),
            "unseen": [ladder.Unseen(what=HOSTILE, why=HOSTILE, who=HOSTILE)],
        }
    )  # fmt: skip
    faults = [FAULT.model_copy(update={"cause": HOSTILE, "lines": [HOSTILE], "change": HOSTILE})]
    shown = page(tmp_path, hostile, with_faults(*faults))
    assert "<script>alert" not in shown
    assert "\x1b" not in shown
    assert shown.count("&lt;script&gt;alert(1)") >= 10


def test_a_burn_in_is_shown_with_its_rates(launch: Launch, tmp_path: Path) -> None:
    rates = [Rate(at_s=float(n), seconds=1.0, products=10, operations=7e14, unequal=0) for n in range(1, 7)]
    burned = BurnIn(
        minutes=10, cards=[Burned(device="cuda:0", dtype="bfloat16", held_bytes=64 << 30, rates=rates)]
    )
    text = flat(parse(page(tmp_path, launch, burn_in=burned)).text)
    assert "Burn-in, 10 minutes" in text
    assert "700 TFLOP/s" in text
