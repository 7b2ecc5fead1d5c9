"""`python -m plugins.bundle` and `--provider-bundle`, as people use them."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.evidence.trial import write_json
from plugins.bundle.__main__ import main
from tests.bundle import opened
from tests.pilot.bench import Bench
from tests.pilot.bench import ROOT
from tests.report import samples


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """One trial that failed, and the name of the newest."""
    verdict, trial = samples.fix(tmp_path / "reports" / samples.NAME)
    write_json(trial.path / "verdict.json", verdict)
    (tmp_path / "reports" / "latest").write_text(f"{samples.NAME}\n")
    return tmp_path / "reports"


@pytest.mark.parametrize("named", [samples.NAME, "latest", "folder"])
def test_a_trial_is_found_by_its_name_as_the_latest_or_as_a_folder(
    reports: Path, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = str(reports / samples.NAME) if named == "folder" else named
    assert main([words, "--reports", str(reports)]) == 0
    file = reports / f"{samples.NAME}-provider.tar.gz"
    assert str(file) in capsys.readouterr().out
    assert opened.read(file).json("verdict.json")["decision"] == "fix"
    assert not list((reports / samples.NAME).glob("*.gz"))


def test_as_a_command_from_another_folder_it_says_where_it_wrote(reports: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "plugins.bundle", "latest", "mine.tar.gz", "--reports", str(reports)]
    for status in (0, 4):
        end = subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60
        )
        assert end.returncode == status, end.stderr
        assert "Traceback" not in end.stderr
    assert "mine.tar.gz: found a file that is there already; wanted a new name" in end.stderr
    assert stat.S_IMODE((tmp_path / "mine.tar.gz").stat().st_mode) == 0o600


def test_it_needs_neither_torch_nor_pytest() -> None:
    code = (
        "import sys, plugins.bundle, plugins.bundle.__main__; "
        "print(*{'torch', 'pytest', 'jinja2'} & set(sys.modules))"
    )
    end = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert end.stdout.split() == []


def test_a_verdict_that_cannot_be_read_is_said_and_the_rest_is_packed(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reports / samples.NAME / "verdict.json").write_text("{")
    assert main(["latest", "--reports", str(reports)]) == 0
    assert "packed without its verdict" in capsys.readouterr().err
    assert "checks.json" in opened.read(reports / f"{samples.NAME}-provider.tar.gz").content


def test_the_option_packs_the_trial_that_was_run_and_one_that_is_judged(bench: Bench) -> None:
    bench.always = ("--once",)
    run = bench.run("--provider-bundle", "mine.tar.gz", forked=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert "mine.tar.gz" in run.output
    first = opened.read(bench.folder / "mine.tar.gz")
    assert first.json("verdict.json")["trial"] == run.decided.trial
    assert "It has several words" not in first.whole
    assert first.json("manifest.json")["sums"] == "they agree"
    assert run.trial
    bench.judge(run.trial, "--provider-bundle", forked=True)
    beside = bench.reports / f"{run.decided.trial}-provider.tar.gz"
    assert opened.read(beside).json("verdict.json")["decision"] == "undecided"


def test_an_option_that_takes_the_suite_for_its_file_is_told_so_before_anything_runs(bench: Bench) -> None:
    suite = str(ROOT / "suites" / "gpu")
    words = [word for word in bench.command() if word != suite]
    bench.write()
    end = subprocess.run(
        [*words, "--provider-bundle", suite],
        cwd=ROOT,
        env=bench.environ(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert end.returncode == 4, end.stdout
    assert "write --provider-bundle=FILE" in end.stderr + end.stdout
    assert not bench.reports.exists()
