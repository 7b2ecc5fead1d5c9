"""A finished copy in which something was altered afterwards is never taken for what it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.evidence import sums
from tests.pilot.bench import Bench
from tests.pilot.counted import FAULT
from tests.pilot.counted import TWIN

SUMS_AGREE = "end_of_trial.sums_agree"
Record = Callable[[str, object], None]

#: one file of every kind that a copy holds
KINDS = (
    "trial.json",
    "plan.json",
    "checks.jsonl",
    "junit.xml",
    "ctrf.json",
    "report.html",
    "verdict.json",
    "SHA256SUMS",
    "evidence/inventory.json",
    "evidence/launch.json",
    "evidence/documents.json",
    "evidence/application.json",
    "evidence/copy.json",
    "evidence/launch/steps.jsonl",
    "evidence/application/stdout.txt",
    "evidence/application/documents/doc-01.txt",
    "evidence/application/output/results.jsonl",
)
#: those in which a turned bit can change what is judged, and not only its sum
READ_WHEN_JUDGING = ("trial.json", "verdict.json", "SHA256SUMS", *KINDS[7:12])


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A go and its copy, and a second trial beside them; made once, altered in copies of the copy."""
    bench = Bench(tmp_path_factory.mktemp("finished") / "renter")
    bench.pretend_cards("NVIDIA H200")
    for _ in range(2):
        run = bench.run(device="cuda", forked=True)
        assert run.decided.decision == "go", run.output
    return bench


@pytest.fixture
def copy(finished: Bench, bench: Bench) -> Path:
    first = bench.copies / finished.trials()[0].name
    shutil.copytree(finished.copies / first.name, first)
    return first


def _other(finished: Bench) -> Path:
    return finished.trials()[1]


def test_an_untouched_copy_judged_again_comes_to_the_same(
    finished: Bench, copy: Path, record_property: Record
) -> None:
    record_property(TWIN, "an-untouched-copy")
    run = finished.judge(copy)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    original = finished.look(0, "", copy.name).decided
    assert [(check.id, check.status) for check in run.decided.checks()] == [
        (check.id, check.status) for check in original.checks()
    ]


@pytest.mark.parametrize("file", KINDS)
def test_a_copy_with_one_more_byte_is_not_what_it_was(
    finished: Bench, copy: Path, file: str, record_property: Record
) -> None:
    """White space at the end: every file still says the same, and only its sum tells."""
    record_property(FAULT, f"one more byte in {file}")
    with (copy / file).open("a") as stream:
        stream.write(" " if file != "SHA256SUMS" else "0" * 64 + "  nothing\n")
    _is_found(finished, copy, "nothing: missing" if file == "SHA256SUMS" else f"{file}: altered")


@pytest.mark.parametrize("file", READ_WHEN_JUDGING)
def test_a_copy_with_a_bit_turned_is_never_a_go(
    finished: Bench, copy: Path, file: str, record_property: Record
) -> None:
    """In the middle, so that it may be a torn file, another value, or a sum that is wrong."""
    record_property(FAULT, f"a bit turned in {file}")
    data = bytearray((copy / file).read_bytes())
    data[len(data) // 2] ^= 4
    (copy / file).write_bytes(data)
    run = finished.judge(copy, forked=True)
    assert run.exit_status in (4, 10, 11, 12), run.output
    assert run.verdict is None or run.verdict.decision != "go"
    assert "Traceback" not in run.output


def _added(copy: Path, other: Path) -> None:
    (copy / "evidence" / "notes.txt").write_text("looks fine")


def _without_results(copy: Path, other: Path) -> None:
    (copy / "evidence" / "application" / "output" / "results.jsonl").unlink()


def _without_its_verdict(copy: Path, other: Path) -> None:
    (copy / "verdict.json").unlink()


def _without_its_sums(copy: Path, other: Path) -> None:
    (copy / "SHA256SUMS").unlink()


def _without_verdict_and_sums(copy: Path, other: Path) -> None:
    """As a trial that was interrupted at the very end looks."""
    (copy / "verdict.json").unlink()
    (copy / "SHA256SUMS").unlink()


def _linked(copy: Path, other: Path) -> None:
    """The same bytes, but not in the copy."""
    report = copy / "report.html"
    shutil.move(report, copy.parent / "report.html")
    report.symlink_to(copy.parent / "report.html")


def _report_of_another(copy: Path, other: Path) -> None:
    shutil.copy(other / "report.html", copy)


def _raw_files_of_another(copy: Path, other: Path) -> None:
    shutil.copy(other / "evidence" / "launch" / "steps.jsonl", copy / "evidence" / "launch")


def _results_and_sums(copy: Path, other: Path) -> None:
    """Another answer, sealed again by whoever changed it: the evidence still speaks of the first one."""
    results = copy / "evidence" / "application" / "output" / "results.jsonl"
    results.write_text(results.read_text().replace("not UTF-8", "not ASCII"))
    names = [name for name in sums.files_below(copy) if name != sums.NAME]
    (copy / sums.NAME).write_text(sums.render((name, sums.of_file(copy / name)) for name in names))


ALTERATIONS: list[tuple[Callable[[Path, Path], None], str]] = [
    (_added, "evidence/notes.txt: not in SHA256SUMS"),
    (_without_results, "evidence/application/output/results.jsonl: missing"),
    (_results_and_sums, "evidence/application/output/results.jsonl: altered, though"),
    (_without_its_verdict, "verdict.json: missing"),
    (_without_its_sums, "no SHA256SUMS"),
    (_without_verdict_and_sums, "no SHA256SUMS"),
    (_linked, "report.html: "),
    (_report_of_another, "report.html: altered"),
    (_raw_files_of_another, "evidence/launch/steps.jsonl: altered"),
]


@pytest.mark.parametrize(
    ("alter", "words"), ALTERATIONS, ids=[alter.__name__.strip("_") for alter, _ in ALTERATIONS]
)
def test_a_copy_that_is_not_whole_is_found(
    finished: Bench, copy: Path, alter: Callable[[Path, Path], None], words: str, record_property: Record
) -> None:
    record_property(FAULT, f"a copy {alter.__name__}")
    alter(copy, _other(finished))
    _is_found(finished, copy, words)


def test_evidence_of_another_trial_is_nobodys_evidence(
    finished: Bench, copy: Path, record_property: Record
) -> None:
    record_property(FAULT, "evidence of another trial in the copy")
    shutil.copy(_other(finished) / "evidence" / "application.json", copy / "evidence")
    run = finished.judge(copy, forked=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert {run.status("results.ended_by_itself"), run.status(SUMS_AGREE)} == {"broken"}
    assert f"belongs to trial {_other(finished).name}" in run.message("results.ended_by_itself")


def _is_found(finished: Bench, copy: Path, words: str) -> None:
    run = finished.judge(copy, forked=True)
    assert (run.decided.decision, run.exit_status) == ("fix", 10), run.output
    assert run.decided.first_error is not None
    assert run.decided.first_error.check == SUMS_AGREE
    assert "required the same sha256 for every file" in run.message(SUMS_AGREE)
    assert words in run.message(SUMS_AGREE)
