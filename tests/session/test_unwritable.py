"""Folders that cannot be written, and disks that are full: said in words, and never a go."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.evidence.trial import VERDICT
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.session import commands


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A file system of its own at `folder`; skips where this user may not mount."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def small(folder: Path, kilobytes: int) -> Iterator[Path]:
    with mounted(folder, "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs"):
        yield folder


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        yield folder


def said_in_words(run: Run) -> None:
    assert "Traceback" not in run.output, run.output
    assert "INTERNALERROR" not in run.output, run.output


@pytest.mark.parametrize("workers", [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")])
def test_a_read_only_data_folder_is_all_the_suite_needs(bench: Bench, workers: tuple[str, ...]) -> None:
    bench.write()
    before = commands.contents(bench.documents)
    with read_only(bench.documents):
        run = bench.run(*workers, device="cuda", write=False)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    assert commands.contents(bench.documents) == before


def test_a_reports_folder_that_is_read_only_is_a_usage_error(bench: Bench) -> None:
    with read_only(bench.reports):
        run = bench.run(device="cuda")
    assert run.exit_status == 4, run.output
    assert "Read-only file system" in run.output
    said_in_words(run)


#: the disk gets full while the trial begins, while evidence is made, while it is closed
SIZES = [4, 12, 28, 56, 120, 200]


@pytest.mark.parametrize("kilobytes", SIZES)
def test_a_disk_that_gets_full_is_no_go(bench: Bench, kilobytes: int) -> None:
    with small(bench.reports, kilobytes):
        run = bench.run("-n", "2" if kilobytes in (SIZES[1], SIZES[3]) else "0", device="cuda")
        trials = bench.trials()
        verdicts = [trial / VERDICT for trial in trials if (trial / VERDICT).exists()]
    said_in_words(run)
    assert run.exit_status in (4, 10, 12), run.output
    assert run.verdict is None or run.verdict.decision != "go"
    assert not verdicts or run.verdict is not None
    assert "No space left on device" in " ".join(run.output.split()), run.output


def test_a_large_enough_disk_of_the_same_kind_is_go(bench: Bench) -> None:
    with small(bench.reports, 4000):
        run = bench.run(device="cuda")
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output


def test_a_verdict_file_that_cannot_be_written_is_no_success(bench: Bench) -> None:
    run = bench.run("--verdict", str(bench.folder / "nowhere" / "verdict.json"), device="cuda")
    assert run.decided.decision == "go", "the trial itself holds the verdict"
    assert run.exit_status == 12, run.output
    assert "No such file or directory" in run.output
    said_in_words(run)


@pytest.mark.parametrize("behaviour", ["healthy", "exits 1"])
def test_a_project_that_is_read_only_changes_nothing(bench: Bench, project: Path, behaviour: str) -> None:
    """pytest's cache cannot be written there, and says so in a warning, which is no error of the renter's."""
    bench.project = project
    bench.behave(*behaviour.split())
    bench.write()
    words = [word for word in bench.command(device="cuda") if word not in ("-p", "no:cacheprovider")]
    with read_only(project):
        end = subprocess.run(
            words, cwd=bench.folder, env=bench.environ(), capture_output=True, text=True, timeout=120
        )
    run = bench.look(end.returncode, end.stdout + end.stderr, bench.trials()[-1].name)
    said_in_words(run)
    assert run.exit_status == run.decided.exit_status == {"healthy": 0, "exits 1": 10}[behaviour], run.output
