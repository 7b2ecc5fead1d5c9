"""`python -m plugins.trials show A`: the verdict as the terminal ended with it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from plugins import terminal
from plugins.trials import __main__ as command
from tests.pilot.bench import Bench
from tests.report import samples
from tests.trials.making import closed
from tests.trials.making import Command
from tests.trials.making import NAME


@pytest.fixture
def trials(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(command.main, capsys)


@pytest.mark.parametrize("coloured", ["0", "1"])
@pytest.mark.parametrize("columns", ["80", "133", "20"])
@pytest.mark.parametrize("name", samples.SAMPLES)
def test_without_pytest_the_same_is_written(
    name: str,
    columns: str,
    coloured: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("PY_COLORS", coloured)
    verdict, _ = samples.SAMPLES[name](tmp_path / "trial")
    theirs, ours = io.StringIO(), io.StringIO()
    reporter = pytest.TerminalReporter(request.config, theirs)
    reporter._tw.hasmarkup = coloured == "1"  # what --color of this run says is another matter
    terminal.write(reporter, verdict, Path("/a/report.html"), ["x: no space"])
    terminal.write(terminal.Plain(ours), verdict, Path("/a/report.html"), ["x: no space"])
    assert ours.getvalue() == theirs.getvalue()


def test_a_pilot_is_shown_as_it_ended(bench: Bench, trials: Command) -> None:
    bench.always = ("--once",)
    run = bench.run(device="cpu", forked=True)
    assert run.trial
    status, out, err = trials("show", "latest", "--reports", bench.reports)
    assert (status, err) == (0, "")
    ended = run.output.replace("\r\n", "\n")
    assert out.split("\n", 1)[1] in ended
    assert out.splitlines()[0].strip("= ") == f"gpu-pilot: {run.trial.name}"


def test_a_trial_that_has_no_verdict_is_not_shown(trials: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    assert trials("show", path, "--reports", tmp_path)[0] == 0
    (path / "verdict.json").unlink()
    status, out, err = trials("show", path, "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert "interrupted" in err
