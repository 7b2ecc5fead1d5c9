"""A selection of checks reports what it found and is never a go; the exit status is the same with workers."""

from __future__ import annotations

import pytest

from tests.pilot.bench import Bench
from tests.session import commands
from tests.session.commands import SUITE

SERIAL_AND_WORKERS = [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")]

LAUNCH = str(SUITE / "test_launch.py")
DELIVERY = str(SUITE / "test_delivery.py")
IMPORT = "test_torch_imports_in_that_interpreter"


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


@pytest.mark.parametrize("workers", SERIAL_AND_WORKERS)
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((str(SUITE), "-k", "interpreter"), id="a keyword"),
        pytest.param((str(SUITE), "-k", "nothing_of_that_name"), id="a keyword of nothing"),
        pytest.param((str(SUITE), "-m", "slow"), id="a marker"),
        pytest.param((LAUNCH, "-k", "import"), id="a file"),
        pytest.param((f"{LAUNCH}::{IMPORT}",), id="a check"),
    ],
)
def test_a_selection_is_undecided(bench: Bench, arguments: tuple[str, ...], workers: tuple[str, ...]) -> None:
    run = commands.run(bench, *arguments, *commands.options(bench), *workers)
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert "did not run" in run.decided.reason or "was selected" in run.decided.reason
    assert "failed" not in {check.status for check in run.decided.checks()}


@pytest.mark.parametrize("workers", SERIAL_AND_WORKERS)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--deselect", f"suites/gpu/test_launch.py::{IMPORT}"), id="one check left out"),
        pytest.param(("--ignore", str(SUITE / "test_failures.py")), id="one file left out"),
    ],
)
def test_all_but_one_part_is_undecided_though_everything_passed(
    bench: Bench, options: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    run = bench.run(*options, *workers, device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert {check.status for check in run.decided.checks()} <= {"passed", "not_run"}


def test_a_single_file_with_a_failure_in_it_says_what_failed(bench: Bench) -> None:
    bench.order["card"] = "NVIDIA B200"
    run = commands.run(bench, DELIVERY, *commands.options(bench))
    assert (run.decided.decision, run.exit_status) == ("reconfigure", 11), run.output
    assert run.status("launch.card_model") == "failed"
    assert "open: only" in " ".join(run.decided.conditions)


@pytest.mark.parametrize("workers", SERIAL_AND_WORKERS)
@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_stopping_at_the_first_failure_decides_and_leaves_the_rest_open(
    bench: Bench, option: str, workers: tuple[str, ...]
) -> None:
    bench.order["card"] = "NVIDIA B200"
    run = bench.run(option, *workers, device="cuda")
    assert (run.decided.decision, run.exit_status) == ("reconfigure", 11), run.output
    assert run.status("launch.card_model") == "failed"
    assert run.status("end_of_trial.judged_alike") == "not_run"
    assert "interrupted" not in " ".join(run.decided.conditions)


def test_without_a_failure_stopping_at_the_first_one_changes_nothing(bench: Bench) -> None:
    run = bench.run("-x", device="cuda")
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output


def test_stepwise_goes_on_from_a_failure_and_is_no_go(bench: Bench) -> None:
    """--sw remembers one check and takes for granted what stands before it; a verdict must not."""
    bench.behave("loses_one")
    first = commands.run(bench, str(SUITE), *commands.with_cache(bench, "--sw"))
    assert (first.decided.decision, first.exit_status) == ("fix", 10), first.output
    bench.behave("healthy")
    second = commands.run(bench, str(SUITE), *commands.with_cache(bench, "--sw"))
    assert (second.decided.decision, second.exit_status) == ("undecided", 12), second.output
    assert second.status("launch.interpreter") == "not_run"


def test_collecting_only_makes_no_trial(bench: Bench) -> None:
    run = bench.run("--co", "-q", device="cuda")
    assert run.exit_status == 0, run.output
    assert f"test_launch.py::{IMPORT}" in run.output
    assert not bench.reports.exists()
    assert "undecided" not in run.output.lower()


def test_collecting_only_leaves_the_reports_of_others_alone(bench: Bench) -> None:
    assert bench.run("-k", "interpreter", device="cuda").trial
    before = commands.contents(bench.reports)
    run = bench.run("--co", "-n", "2", device="cuda")
    assert run.exit_status == 0, run.output
    assert commands.contents(bench.reports) == before


def test_an_empty_selection_by_lf_is_none(bench: Bench) -> None:
    """pytest's cache may know of failures or not: what is rerun is what the newest trial did not establish."""
    run = commands.run(bench, str(SUITE), *commands.with_cache(bench, "--lf", "--lfnf", "none"))
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
