"""Faults in the place where the copy should go."""

from __future__ import annotations

from pathlib import Path

from fixtures.evidence.trial import VERDICT
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import Fault
from tests.pilot.entries import mounted
from tests.pilot.entries import Twin
from tests.pilot.entries import written

COPIED = "end_of_trial.copied"


def _to(place: str) -> Change:
    """`place` is below the renter's folder."""
    return lambda bench: bench.parameters.update(copy_to=str(bench.folder / place))


def _nowhere(bench: Bench) -> None:
    del bench.parameters["copy_to"]


def _a_file(bench: Bench) -> None:
    written(bench, "copies", "a file")


def _below_a_file(bench: Bench) -> None:
    written(bench, "storage", "a file")
    _to("storage/copies")(bench)


def _a_link_to_nothing(bench: Bench) -> None:
    bench.copies.symlink_to(bench.folder / "unmounted")


def _a_link_into_the_trial(bench: Bench) -> None:
    """Only the application knows the trial's name beforehand."""
    bench.behave("links_to_the_trial", str(bench.copies))


def _a_link_to_a_folder(bench: Bench) -> None:
    (bench.folder / "storage").mkdir()
    bench.copies.symlink_to(bench.folder / "storage")


def _no_verdict_there(bench: Bench, run: Run) -> None:
    """What is in the place of the copy cannot be taken for a trial that was decided."""
    assert not list(bench.copies.rglob(VERDICT))


def _complete(bench: Bench, run: Run) -> None:
    assert run.trial is not None
    copy = Path(bench.copies, run.trial.name)
    ours = {p.relative_to(run.trial): p.read_bytes() for p in run.trial.rglob("*") if p.is_file()}
    theirs = {p.relative_to(copy): p.read_bytes() for p in copy.rglob("*") if p.is_file()}
    assert theirs == ours


FAULTS = [
    Fault("no-place-for-the-copy", _nowhere, COPIED,
        ("a copy of the whole trial in copy_to", "no copy target configured")),
    Fault("a-full-place", mounted("copies", "size=48k"), COPIED,
        ("a copy of the whole trial", "No space left on device", "/copies/"), twin="a-place-on-another-file-system",
        look=_no_verdict_there),
    Fault("a-place-that-fills-up-at-the-very-end", mounted("copies", "size=180k"), COPIED,
        ("No space left on device",), twin="a-place-on-another-file-system", look=_no_verdict_there),
    Fault("a-place-without-room-for-more-names", mounted("copies", "nr_inodes=8"), COPIED,
        ("No space left on device",), twin="a-place-on-another-file-system", look=_no_verdict_there),
    Fault("a-read-only-place", mounted("copies", "ro"), "launch.host", ("errno 30", "STO-07: "), others=(COPIED,),
        twin="a-place-on-another-file-system", look=_no_verdict_there),
    Fault("a-place-that-is-missing", _to("storage/copies"), COPIED, ("storage does not exist",)),
    Fault("a-place-that-is-a-file", _a_file, COPIED, ("copies is not a folder",)),
    Fault("a-place-below-a-file", _below_a_file, COPIED, ("storage does not exist",)),
    Fault("a-place-that-is-a-dangling-link", _a_link_to_nothing, COPIED, ("copies",),
        twin="a-place-behind-a-link"),
    Fault("a-place-inside-the-trial", _a_link_into_the_trial, COPIED, ("lies inside the trial itself",),
        twin="a-place-behind-a-link"),
]  # fmt: skip

TWINS = [
    Twin("a-place-on-another-file-system", mounted("copies", "size=4m"), look=_complete),
    Twin("a-place-behind-a-link", _a_link_to_a_folder, look=_complete),
]
