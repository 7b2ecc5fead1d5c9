"""Faults that only a second run shows: in another order, in other batches, or after an interruption."""

from __future__ import annotations

from tests.pilot.bench import APP
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import all_of
from tests.pilot.entries import Fault
from tests.pilot.entries import limits
from tests.pilot.entries import Twin

AGAIN = APP.with_name("app_again.py")
ORDER = "results.order_and_batch"
COMPLETES, KEEPS, AGREES = "results.resume_completes", "results.resume_keeps", "results.resume_agrees"


def again(behaviour: str, *more: str, resume: bool = False) -> Change:
    """The application behaves as this function of app_again.py does; `resume`: it has an option to go on."""

    def change(bench: Bench) -> None:
        command = [
            "{python}",
            str(AGAIN),
            behaviour,
            "{manifest}",
            "{results}",
            "{device}",
            "{batch_size}",
            *more,
        ]
        bench.parameters["application"]["command"] = command
        if resume:
            bench.parameters["application"]["resume"] = ["--resume"]

    return change


def _once_only(bench: Bench) -> None:
    again("runs_once_only", str(bench.folder / "lock"))(bench)


def _by_its_folder(bench: Bench) -> None:
    """A program that is told the folder alone; only the names of the files can say which document is which."""
    command = [
        "{python}",
        str(AGAIN),
        "labels_by_file_name",
        "{documents}/manifest.json",
        "{results}",
        "{device}",
        "4",
    ]
    bench.parameters["application"]["command"] = command


def _remaining(bench: Bench, run: Run) -> None:
    assert run.trial is not None
    assert "doc-12" in (run.trial / "evidence" / "resumed" / "remaining.json").read_text()


FAULTS = [
    Fault("labels-by-position", again("labels_by_position"), ORDER,
        ("the same outcome for each identifier", "another order, other file names", "batches of 2 instead of 4",
         "'contract', then"), ("doc-02",)),
    Fault("labels-by-the-name-of-the-file", again("labels_by_file_name"), ORDER, ("other file names",),
        ("doc-01",), twin="knows-its-documents-by-their-files-alone"),
    Fault("another-category-in-another-batch", again("depends_on_the_batch", "doc-02"), ORDER,
        ("batches of 2 instead of 4", "doc-02: 'support_ticket', then 'invoice'"), ("doc-02",),
        twin="one-in-twelve-is-tolerated"),
    Fault("more-than-is-tolerated",
        all_of(again("depends_on_the_batch", "doc-02", "doc-03"), limits(tolerated_share=0.1)), ORDER,
        ("but for a share of 0.1", "doc-03"), ("doc-02", "doc-03"), twin="one-in-twelve-is-tolerated"),
    Fault("a-near-tie", again("hesitates", "0.001"), ORDER, ("doc-05: 'invoice', then 'contract' (a near tie)",),
        ("doc-05",), twin="one-in-twelve-is-tolerated"),
    Fault("runs-once-only", _once_only, ORDER, ("required exit 0 again", "exit 1", "FileExistsError"),
        twin="goes-on-by-a-list"),
    Fault("does-everything-again", again("does_everything_again", resume=True), COMPLETES,
        ("by its own option", "twice: doc-01"), ("doc-01",), others=(KEEPS,), twin="goes-on-by-its-own-option"),
    Fault("begins-anew", again("begins_anew", resume=True), KEEPS, ("begun again: doc-01",), ("doc-01",),
        twin="goes-on-by-its-own-option"),
    Fault("begins-anew-in-silence", again("begins_anew_in_silence", resume=True), KEEPS,
        ("its results fell to 0 bytes meanwhile",), twin="goes-on-by-its-own-option"),
    Fault("forgets-what-was-done", again("forgets_what_was_done", resume=True), COMPLETES, ("missing: doc-01",),
        ("doc-01",), others=(KEEPS, AGREES), twin="goes-on-by-its-own-option"),
    Fault("goes-on-behind-the-torn-line", again("goes_on_behind_the_torn_line", resume=True), COMPLETES,
        ("unreadable: line", "missing: doc-0"), others=(AGREES,), twin="goes-on-by-its-own-option"),
    Fault("leaves-the-torn-line", again("does_the_torn_one_again_and_leaves_it", resume=True), COMPLETES,
        ("unreadable: line",), twin="goes-on-by-its-own-option"),
    Fault("computes-again-what-is-done", again("computes_again_what_is_done", resume=True), KEEPS,
        ("begun again: doc-01",), ("doc-01",), twin="goes-on-by-its-own-option"),
    Fault("goes-on-with-another-model", again("goes_on_with_another_model", resume=True), AGREES,
        ("then 'invoice'",), ("doc-11",), twin="goes-on-by-its-own-option"),
    Fault("cannot-go-on", again("cannot_go_on", resume=True), COMPLETES,
        ("exit 1; its last words: error: results exist already",), twin="goes-on-by-its-own-option"),
    Fault("wants-all-twelve", again("wants_all_twelve"), COMPLETES,
        ("by a list of the rest (remaining.json)", "error: expected 12 documents"), twin="goes-on-by-a-list"),
    Fault("fills-up-to-twelve", again("fills_up_to_twelve"), COMPLETES, ("twice: doc-01",), ("doc-01",),
        others=(KEEPS,), twin="goes-on-by-a-list"),
]  # fmt: skip


def _says_what_is_lost(bench: Bench, run: Run) -> None:
    assert any("writes only at its end loses everything" in advisory for advisory in run.decided.advisories)


TWINS = [
    Twin("goes-on-by-a-list", again("goes_on"), look=_remaining),
    Twin("goes-on-by-its-own-option", again("goes_on", resume=True), look=_remaining),
    Twin("knows-its-documents-by-their-files-alone", _by_its_folder),
    Twin("one-in-twelve-is-tolerated",
        all_of(again("depends_on_the_batch", "doc-02"), limits(tolerated_share=0.1))),
    Twin("writes-only-at-its-end", again("writes_only_at_its_end"), look=_says_what_is_lost),
    Twin("what-it-adds-differs", again("writes_when_it_was", resume=True)),
]  # fmt: skip
