"""What a trial says of a burn-in: advisories at its end, and the table of its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.evidence.burning import Burned
from fixtures.evidence.burning import BurnIn
from fixtures.evidence.burning import Rate
from fixtures.evidence.trial import Trial
from plugins import closing
from plugins import report
from tests.report import samples

H100 = "NVIDIA H100 80GB HBM3"


def write(folder: Path, tera: float, name: str | None) -> Trial:
    rate = Rate(at_s=1.0, seconds=1.0, products=10, operations=tera * 1e12, unequal=0)
    burned = Burned(device="cuda:0", dtype="bfloat16", name=name, rates=[rate], memory_bandwidth=2.8e12)
    return samples.trial(folder, {**samples.everything(), "burn_in": BurnIn(minutes=1, cards=[burned])})


@pytest.mark.parametrize(
    ("tera", "name", "told"), [(100, H100, True), (700, H100, False), (100, "NVIDIA H100 NVL", False)]
)
def test_only_what_is_far_below_public_measurements_is_an_advisory(
    tera: float, name: str, told: bool, tmp_path: Path
) -> None:
    lines = [
        line for line in closing.advisories(write(tmp_path, tera, name)) if "public measurements" in line
    ]
    assert len(lines) == told


def test_the_report_shows_it_beside_what_was_reached(tmp_path: Path) -> None:
    page = report.render(samples.verdict(), write(tmp_path, 700, H100))
    for words in ("700 TFLOP/s", "794.5 TFLOP/s", "2800 GB/s", "2970 GB/s", "mamf-finder", "BabelStream"):
        assert words in page


def test_the_report_says_where_none_is_known(tmp_path: Path) -> None:
    page = report.render(samples.verdict(), write(tmp_path, 700, "<b>card</b>"))
    assert "none is known" in page
    assert "<b>card" not in page
