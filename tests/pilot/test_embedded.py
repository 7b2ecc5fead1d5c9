"""The pilot as it comes: the embedded classifier over the twelve documents of data/pilot, with the real torch."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import dataclass

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


#: written into a folder of its own: each process of pytest tells at its end whether torch is in it
WITNESS = """
import pathlib, sys
def pytest_unconfigure():
    with pathlib.Path(__file__).with_name("seen").open("a") as stream:
        stream.write(str("torch" in sys.modules) + " ")
"""


def _as_it_comes(bench: Bench) -> Bench:
    """The parameters of the repository, with an interpreter that has torch."""
    bench.parameters = json.loads((ROOT / "config" / "pilot.json").read_text(encoding="utf-8"))
    bench.parameters["application"]["python"] = TORCH_PYTHON
    bench.parameters["copy_to"] = str(bench.copies)
    return bench


@pytest.fixture
def as_it_comes(bench: Bench) -> Bench:
    return _as_it_comes(bench)


@dataclass
class Whole:
    """A whole pilot, the times of the twelve documents before and after it, and what its processes witnessed."""

    run: Run
    before: dict[str, int]
    after: dict[str, int]
    seen: list[str]


def _times() -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (ROOT / "data" / "pilot").iterdir()}


@pytest.fixture(scope="module", params=["serial", "workers"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Made once for all that is asked of it: nothing here takes longer."""
    bench = _as_it_comes(Bench(tmp_path_factory.mktemp("whole") / "renter"))
    witness = tmp_path_factory.mktemp("witness")
    (witness / "witness.py").write_text(WITNESS)
    bench.environment["PYTHONPATH"] = str(witness)
    options = {"serial": ("-p", "witness"), "workers": ("-p", "witness", "-n", "2")}[request.param]
    before = _times()
    run = bench.run(*options, real_torch=True)
    return Whole(run, before, _times(), (witness / "seen").read_text().split())


def test_the_pilot_passes_wholly_on_the_cpu(whole: Whole) -> None:
    run = whole.run
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert {check.status for check in run.decided.checks()} == {"passed"}
    counts = run.decided.documents
    assert counts is not None
    assert (len(counts.accepted), counts.rejected) == (11, ["doc-12"])
    _what_the_issue_asks_of_the_documents(run)


def test_the_twelve_documents_are_never_written_to(whole: Whole) -> None:
    assert whole.before == whole.after
    assert whole.after.keys() == {f"doc-{n:02}.txt" for n in range(1, 13)} | {"manifest.json"}


def test_torch_is_in_no_process_of_pytest(whole: Whole, request: pytest.FixtureRequest) -> None:
    workers = 2 if "workers" in request.node.name else 0
    assert len(whole.seen) >= 1 + workers, "the controlling process and its workers"
    assert set(whole.seen) == {"False"}


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
    run = as_it_comes.run(real_torch=True, device="cuda", forked=True)
    error = run.decided.first_error
    assert (run.decided.decision, run.exit_status) == ("reconfigure", 11), run.output
    assert error is not None
    assert error.criterion == "launch"
    assert run.status("results.ended_by_itself") == "not_reached"


def test_auto_never_becomes_cpu(as_it_comes: Bench) -> None:
    run = as_it_comes.run(real_torch=True, device="auto", forked=True)
    assert (run.decided.scope, run.decided.decision) == ("rental", "reconfigure"), run.output
