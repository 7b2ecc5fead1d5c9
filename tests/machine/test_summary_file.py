"""Where the summary goes: to the file that a GitHub runner names, and nowhere else; and it decides nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from plugins.machine import step_summary
from plugins.machine.files import append_summary
from plugins.machine.files import SUMMARY
from plugins.verdict import decide
from tests.machine import reading
from tests.pilot.bench import Bench
from tests.verdict.making import facts

VERDICT = decide(facts())


@pytest.mark.parametrize("environment", [{}, {SUMMARY: ""}, {"GITHUB_OUTPUT": "out"}])
def test_nothing_is_written_where_no_runner_asks(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert append_summary(VERDICT, environment) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", [None, "", "What another tool wrote\n", "no end of line"])
def test_it_is_appended_as_a_block_of_its_own(before: str | None, tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    if before is not None:
        file.write_text(before)
    assert append_summary(VERDICT, {SUMMARY: str(file)}) is None
    assert append_summary(VERDICT, {SUMMARY: str(file)}) is None
    text = file.read_text()
    assert text.startswith(before or "<h3>")
    assert len(re.findall(r"(?:\n\n|\A)<h3>gpu-pilot: GO</h3>\n", text)) == 2


def test_what_others_wrote_counts_against_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    whole = len(step_summary.render(VERDICT).encode())
    file.write_bytes(b"x" * (step_summary.LIMIT - whole + 200))
    assert append_summary(VERDICT, {SUMMARY: str(file)}) is None
    assert file.stat().st_size <= step_summary.LIMIT
    assert b"Left out for want of room" in file.read_bytes()


def test_a_file_without_room_is_left_as_it_is_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (step_summary.LIMIT - 10))
    assert "has no room left" in (append_summary(VERDICT, {SUMMARY: str(file)}) or "")
    assert file.stat().st_size == step_summary.LIMIT - 10


def _folder(tmp_path: Path) -> Path:
    return tmp_path


def _no_folder(tmp_path: Path) -> Path:
    return tmp_path / "nowhere" / "summary.md"


def _pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def _device(tmp_path: Path) -> Path:
    return Path(os.devnull)


@pytest.mark.parametrize("make", [_folder, _no_folder, _pipe, _device])
def test_a_file_that_cannot_be_written_is_said_without_its_name(tmp_path: Path, make: object) -> None:
    path = make(tmp_path)  # type: ignore[operator]
    said = append_summary(VERDICT, {SUMMARY: str(path)})
    assert said
    assert SUMMARY in said
    assert str(path) not in said


def test_a_name_that_no_file_can_have_is_said_too() -> None:
    assert append_summary(VERDICT, {SUMMARY: "a\0b"})


# -- whole pilots ------------------------------------------------------------------------------------------


@pytest.fixture
def rehearsal(bench: Bench) -> Bench:
    bench.always = ("--once",)
    return bench


def test_a_pilot_has_all_three_and_they_are_in_the_copy_and_sealed(rehearsal: Bench) -> None:
    file, own = rehearsal.folder / "summary.md", rehearsal.folder / "own.xml"
    rehearsal.environment[SUMMARY] = str(file)
    run = rehearsal.run("--junit-xml", str(own), forked=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert run.trial
    ids = {check.id for check in run.decided.checks()}
    root = reading.junit((run.trial / "junit.xml").read_bytes())
    document = reading.ctrf((run.trial / "ctrf.json").read_bytes())
    assert (
        {name for _, name in reading.junit_cases(root)}
        == {name for _, name in reading.ctrf_tests(document)}
        == ids
    )
    listed = {artefact.path for artefact in run.decided.artefacts}
    sealed = (run.trial / "SHA256SUMS").read_text()
    for name in ("report.html", "junit.xml", "ctrf.json"):
        assert name in listed
        assert f"  {name}\n" in sealed
        assert (rehearsal.copies / run.trial.name / name).read_bytes() == (run.trial / name).read_bytes()
    text = file.read_text()
    assert {row.check for row in reading.Summary(text).rows} == ids
    assert text.count("<h3>") == 1, "whoever judges the copy writes none"
    assert b"nodeid" not in own.read_bytes()
    assert {case.get("classname") for case in reading.junit(own.read_bytes()).iter("testcase")} != {
        case.get("classname") for case in root.iter("testcase")
    }, "the person's own file is pytest's"


def test_a_summary_that_cannot_be_written_changes_no_decision(rehearsal: Bench) -> None:
    rehearsal.environment[SUMMARY] = str(rehearsal.folder / "nowhere" / "summary.md")
    run = rehearsal.run(forked=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert f"the file named by {SUMMARY} could not be written" in " ".join(run.output.split())
    assert "Traceback" not in run.output
