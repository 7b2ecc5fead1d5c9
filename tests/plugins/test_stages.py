"""Where a trial's time went."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plugins import stages
from tests.evidence import making
from tests.evidence.making import Seen
from tests.pilot.bench import ROOT


def test_the_age_of_a_process_counts_from_its_start_and_not_from_whole_seconds() -> None:
    code = "from plugins import stages; print(stages.process_age())"
    end = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 0.0 < float(end.stdout) < stages.process_age()


def test_without_the_kernels_figures_the_age_is_still_none_below_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "nothing of the kind")
    assert stages.process_age() >= 0.0


def test_each_stage_is_as_long_as_its_evidence_took(tmp_path: Path) -> None:
    trial = making.trial(tmp_path)
    making.keep(trial, "launch", Seen())
    trial.write(trial.envelope("launch").model_copy(update={"seconds": 2.5}))
    assert stages.seconds(trial, 0.5) == {"start": 0.5, "launch": 2.5}
