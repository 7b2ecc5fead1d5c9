"""The pilot as it comes: the embedded classifier over the twelve documents of data/pilot, with the real torch."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from fixtures.evidence.models import Application
from fixtures.evidence.models import Documents
from fixtures.evidence.trial import open_trial
from tests.pilot.bench import Bench
from tests.pilot.bench import ROOT
from tests.pilot.bench import Run

TORCH_PYTHON = os.environ.get("GPU_PILOT_TORCH_PYTHON") or (
    sys.executable if importlib.util.find_spec("torch") else None
)
pytestmark = pytest.mark.skipif(
    TORCH_PYTHON is None, reason="no torch in this interpreter, and GPU_PILOT_TORCH_PYTHON names no other"
)


@pytest.fixture
def as_it_comes(bench: Bench) -> Bench:
    """The parameters of the repository, with an interpreter that has torch."""
    bench.parameters = json.loads((ROOT / "config" / "pilot.json").read_text(encoding="utf-8"))
    bench.parameters["application"]["python"] = TORCH_PYTHON
    bench.parameters["copy_to"] = str(bench.copies)
    return bench


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["serial", "workers"])
def test_the_pilot_passes_wholly_on_the_cpu(as_it_comes: Bench, options: tuple[str, ...]) -> None:
    run = as_it_comes.run(*options, real_torch=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert {check.status for check in run.decided.checks()} == {"passed"}
    counts = run.decided.documents
    assert counts is not None
    assert (len(counts.accepted), counts.rejected) == (11, ["doc-12"])
    _what_the_issue_asks_of_the_documents(run)


def _what_the_issue_asks_of_the_documents(run: Run) -> None:
    assert run.trial
    trial = open_trial(run.trial, judging=True)
    documents, application = trial.read("documents", Documents), trial.read("application", Application)
    assert {entry.language for entry in documents.entries} >= {"en", "zh", "it", "vi", "es", "fr"}
    sizes = sorted(entry.bytes for entry in documents.entries)
    assert sizes[-1] > 50 * sizes[0]
    staged = json.loads((run.trial / "evidence" / "application" / "documents" / "manifest.json").read_text())
    assert {key for entry in staged["documents"] for key in entry} == {"id", "file"}, (
        "it was told what is expected"
    )
    assert application.memory.peak_resident_bytes > 50 << 20


def test_an_absent_card_is_reconfigure_and_nothing_is_computed(as_it_comes: Bench) -> None:
    run = as_it_comes.run(real_torch=True, device="cuda")
    error = run.decided.first_error
    assert (run.decided.decision, run.exit_status) == ("reconfigure", 11), run.output
    assert error is not None
    assert error.criterion == "launch"
    assert run.status("results.ended_by_itself") == "not_reached"


def test_auto_never_becomes_cpu(as_it_comes: Bench) -> None:
    run = as_it_comes.run(real_torch=True, device="auto")
    assert (run.decided.scope, run.decided.decision) == ("rental", "reconfigure"), run.output


def test_the_twelve_documents_are_never_written_to(as_it_comes: Bench) -> None:
    folder = ROOT / "data" / "pilot"
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    as_it_comes.run("--once", real_torch=True)
    assert before == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {path.name for path in folder.iterdir()} == {f"doc-{n:02}.txt" for n in range(1, 13)} | {
        "manifest.json"
    }


def test_torch_is_in_no_process_of_pytest(as_it_comes: Bench, tmp_path: Path) -> None:
    plugin = tmp_path / "witness.py"
    plugin.write_text(
        "import pathlib, sys\n"
        "def pytest_unconfigure():\n"
        "    with pathlib.Path(__file__).with_name('seen').open('a') as stream:\n"
        "        stream.write(str('torch' in sys.modules) + ' ')\n"
    )
    as_it_comes.environment["PYTHONPATH"] = str(tmp_path)
    as_it_comes.run("-p", "witness", "-n", "2", "--once", real_torch=True)
    seen = (tmp_path / "seen").read_text().split()
    assert len(seen) >= 3, "the controlling process and two workers"
    assert set(seen) == {"False"}
