"""Faults of the kind `callable`: a function or a class of the renter's, called by the suite's own loop."""

from __future__ import annotations

from typing import Any

from fixtures.evidence.models import Application
from fixtures.evidence.trial import open_trial
from tests.pilot.bench import APP
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import all_of
from tests.pilot.entries import cards
from tests.pilot.entries import Fault
from tests.pilot.entries import limits
from tests.pilot.entries import ORDERED
from tests.pilot.entries import Twin
from tests.pilot.faults_environment import ACCESS
from tests.pilot.faults_environment import access
from tests.pilot.faults_environment import HIDDEN
from tests.pilot.faults_environment import is_nowhere

CRASH, ENDED, ACCEPTED = "results.no_crash", "results.ended_by_itself", "failures.valid_accepted"
EXPECTED, ORDER = "results.expected_category", "results.order_and_batch"


def calls(name: str, **more: Any) -> Change:
    """The application is this function or class of functions.py."""

    def change(bench: Bench) -> None:
        own = {
            key: bench.parameters["application"][key] for key in ("deadline_s", "no_progress_s", "batch_size")
        }
        target = {"callable": name if ":" in name else f"functions:{name}", "folder": str(APP.parent)}
        bench.parameters["application"] = {"kind": "callable", **own, **target, **more}

    return change


def _ten_are_kept(bench: Bench, run: Run) -> None:
    """What was done before the crash, and what came behind it."""
    assert run.decided.documents is not None
    assert len(run.decided.documents.accepted) == 10


def _four_are_kept(bench: Bench, run: Run) -> None:
    assert run.decided.documents is not None
    assert run.decided.documents.accepted == [f"doc-{number:02}" for number in range(1, 5)]


def _streams_apart(bench: Bench, run: Run) -> None:
    """What the function prints is kept, and gets into no record."""
    assert run.trial is not None
    ran = open_trial(run.trial, judging=True).read("application", Application)
    assert ran.stdout.head.count("doc-01") >= 2


def _beside(bench: Bench) -> None:
    calls("writes_beside", environment={"BESIDE": str(bench.documents / "cache.bin")})(bench)


FAULTS = [
    Fault("a-function-answers-nothing", calls("answers_nothing_for_5"), "results.allowed_category",
        ("doc-05: None",), ("doc-05",), twin="a-function"),
    Fault("a-function-refuses-a-valid-one", calls("refuses_5"), ACCEPTED,
        ("ValueError: the document is too long",), ("doc-05",), twin="a-function"),
    Fault("a-function-crashes", calls("crashes_at_5"), CRASH, ("doc-05", "SIGSEGV"), ("doc-05",),
        others=(ACCEPTED,), twin="a-function", look=_ten_are_kept),
    Fault("a-function-leaves", calls("leaves_at_5"), CRASH, ("doc-05",), ("doc-05",), others=(ACCEPTED,),
        twin="a-function", look=_ten_are_kept),
    Fault("a-crash-is-no-refusal", calls("crashes_at_what_is_invalid", gives="bytes"), CRASH, ("doc-12", "SIGSEGV"),
        ("doc-12",), twin="a-function-of-bytes"),
    Fault("a-function-hangs", all_of(limits(no_progress_s=1.5, batch_size=1), calls("hangs_at_5")), ENDED,
        ("ended because nothing moved any more",), twin="a-function", look=_four_are_kept),
    Fault("a-function-quotes-its-token", all_of(access(HIDDEN), calls("quotes_its_token", access=[ACCESS])), ACCEPTED,
        ("401 for the token $STORE_OF_MODELS",), ("doc-05",), twin="a-function", look=is_nowhere),
    Fault("a-function-computes-for-ever",
        all_of(limits(deadline_s=2.5, batch_size=1), calls("computes_for_ever")), ENDED, ("ended by the deadline",),
        twin="a-function", look=_four_are_kept),
    Fault("a-function-leaves-a-child", calls("leaves_a_child"), "results.nothing_left_behind", ("time.sleep(120)",),
        twin="a-function-that-prints"),
    Fault("a-function-writes-beside", _beside, "results.nothing_beside", ("cache.bin appeared",), twin="a-function"),
    Fault("a-function-computes-on-the-cpu", all_of(cards(ORDERED), calls("on_the_cpu")), "results.device_used",
        ("it states cpu",), device="cuda", twin="a-class-that-is-told-its-device"),
    Fault("no-such-module", calls("nowhere:classify"), ENDED, ("nowhere",), twin="a-function"),
    Fault("no-such-function", calls("clasify"), ENDED, ("clasify", "classify"), twin="a-function"),
    Fault("a-function-out-of-memory-with-one-at-a-time",
        all_of(cards(ORDERED), limits(batch_size=1), calls("out_of_memory_at_11")), ACCEPTED,
        ("CUDA out of memory",), ("doc-11",), decision="reconfigure", device="cuda",
        twin="a-class-that-is-told-its-device"),
    Fault("a-batch-with-one-answer-less", calls("loses_one_of_many", batches=True), ACCEPTED,
        ("returned 3 answers for 4 documents",), ("doc-01",), twin="a-function-of-many"),
    Fault("a-batch-turned-round", calls("turns_many_round", batches=True), EXPECTED, ("doc-01",), ("doc-01",),
        twin="a-function-of-many"),
    Fault("a-class-that-remembers", calls("Remembers"), ORDER, ("another order",), ("doc-01",),
        twin="a-class-that-is-told-its-device"),
]  # fmt: skip

TWINS = [
    Twin("a-function", calls("classify")),
    Twin("a-function-of-a-path", calls("of_a_path", gives="path")),
    Twin("a-function-of-bytes", calls("of_bytes", gives="bytes")),
    Twin("a-function-that-is-awaited", calls("awaited")),
    Twin("a-function-of-many", calls("of_many", batches=True)),
    Twin("a-function-that-prints", calls("prints_and_forks"), look=_streams_apart),
    Twin("a-class-that-is-told-its-device", all_of(cards(ORDERED), calls("Classifier")), device="cuda"),
]  # fmt: skip
