"""`--lf` and `--continue`: what failed is made again, the verdict covers all, nothing earlier is touched."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.evidence import base
from fixtures.evidence.trial import Envelope
from plugins.verdict_file import Verdict
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.pilot.bench import STUBS
from tests.session import commands
from tests.session import processes
from tests.session.processes import start
from tests.session.processes import until


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


def carried(run: Run) -> dict[str, str]:
    """Evidence of a trial that was carried into it -> the trial that it was made in."""
    assert run.trial
    envelopes = [base.load(path, Envelope) for path in sorted((run.trial / "evidence").glob("*.json"))]
    return {envelope.name: envelope.carried_from for envelope in envelopes if envelope.carried_from}


def failed(bench: Bench, behaviour: str = "exits 1") -> Path:
    """A trial whose application went wrong; afterwards it is mended."""
    (bench.folder / "behaviour").write_text(behaviour)
    run = bench.run(device="cuda", forked=True)
    assert (run.decided.decision, run.exit_status) == ("fix", 10), run.output
    assert run.trial
    mend(bench)
    return run.trial


def mend(bench: Bench, *, in_secret: bool = False) -> None:
    """Have the application behave; its program is a factor, and changes with it unless that is kept secret."""
    (bench.folder / "behaviour").write_text("healthy")
    if not in_secret:
        program = bench.folder / "obeys.py"
        program.write_text(program.read_text() + "# mended\n")


@pytest.fixture(autouse=True)
def obedient(bench: Bench, project: Path) -> None:
    """An application that is mended without any factor of the trial changing, as a service behind it would be.

    The suite is a copy, so that whoever edits it while the tests run changes no factor either.
    """
    bench.project = project
    program = bench.folder / "obeys.py"
    program.write_text(
        "import pathlib, runpy, sys\n"
        f"words = pathlib.Path({str(bench.folder / 'behaviour')!r}).read_text().split()\n"
        "sys.argv = ['app.py', words[0], *sys.argv[2:], *words[1:]]\n"
        f"runpy.run_path({str(Path(__file__).parents[1] / 'pilot' / 'app.py')!r}, run_name='__main__')\n"
    )
    bench.parameters["application"]["command"][1] = str(program)


@pytest.mark.parametrize(
    ("way", "workers"),
    [
        ("--lf", ()),
        ("--lf", ("-n", "2")),
        ("--continue NAME", ()),
        ("--continue PATH", ()),
    ],
)
def test_only_the_evidence_that_failed_is_made_again(
    bench: Bench, way: str, workers: tuple[str, ...]
) -> None:
    first = failed(bench)
    before = commands.contents(first)
    options = {
        "--lf": ["--lf"],
        "--continue NAME": ["--continue", first.name],
        "--continue PATH": ["--continue", str(first)],
    }
    run = bench.run(*options[way], *workers, device="cuda")
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    assert run.decided.continues == first.name
    assert carried(run) == {"documents": first.name}
    assert {check.status for check in run.decided.checks()} == {"passed"}
    origin = {check.id: check.carried_from for check in run.decided.checks()}
    assert origin["inputs.sums"] == first.name
    assert [change.factor for change in run.decided.changed] == ["project.application"]
    assert {one.evidence: one.why for one in run.decided.remade}[
        "application"
    ] == "changed: project.application"
    assert commands.contents(first) == before
    assert run.trial
    assert bench.judge(run.trial).exit_status == 0


def test_a_pass_that_nothing_was_changed_for_is_flaky_until_it_comes_again(bench: Bench) -> None:
    first = failed(bench)
    mend(bench, in_secret=True)
    program = (bench.folder / "obeys.py").read_text().removesuffix("# mended\n")
    (bench.folder / "obeys.py").write_text(program)
    second = bench.run("--lf", device="cuda")
    assert (second.decided.decision, second.exit_status) == ("undecided", 12), second.output
    assert "results.ended_by_itself" in second.decided.reason
    assert "with nothing changed: it has to pass once more" in second.decided.reason
    assert {check.id for check in second.decided.checks() if check.flaky} >= {"results.ended_by_itself"}
    third = bench.run("--lf", device="cuda")
    assert (third.decided.decision, third.decided.continues) == ("go", second.decided.trial), third.output
    assert carried(third) == {"documents": first.name}
    assert any("passed once more" in advisory for advisory in third.decided.advisories)


def test_where_nothing_is_left_to_rerun_the_last_verdict_is_shown(bench: Bench, tmp_path: Path) -> None:
    mend(bench)
    first = bench.run(device="cuda")
    assert first.decided.decision == "go", first.output
    again = bench.run("--lf", "--verdict", str(tmp_path / "verdict.json"), device="cuda")
    assert (again.exit_status, again.trial) == (0, None), again.output
    assert bench.trials() == [first.trial]
    assert "nothing to rerun: every check passed" in again.output
    assert f"\nGO  {first.decided.reason}" in again.output
    assert base.load(tmp_path / "verdict.json", Verdict) == first.decided


@pytest.mark.parametrize("change", ["a document", "the program", "the copy is gone", "the copy was altered"])
def test_where_something_has_changed_there_is_something_to_rerun(bench: Bench, change: str) -> None:
    mend(bench)
    first = bench.run(device="cuda")
    if change == "a document":
        bench.replace("doc-05", b"Document 5. It has other words.")
    elif change == "the program":
        mend(bench)
    elif change == "the copy is gone":
        shutil.rmtree(bench.copies)
    else:
        (bench.copies / first.decided.trial / "report.html").write_text("altered")
    again = bench.run("--lf", device="cuda")
    assert (again.decided.decision, again.decided.continues) == ("go", first.decided.trial), again.output


def test_everything_that_a_failed_check_stands_on_is_made_again(bench: Bench) -> None:
    """A document that is missing may be missing from the manifest's side too."""
    first = failed(bench, "loses_one")
    run = bench.run("--lf", device="cuda")
    assert (run.decided.decision, run.decided.continues) == ("go", first.name), run.output
    assert carried(run) == {}


def test_evidence_carried_twice_names_where_it_was_made(bench: Bench) -> None:
    first = failed(bench)
    (bench.folder / "behaviour").write_text("exits 1")
    second = bench.run("--lf", device="cuda")
    assert second.exit_status == 10
    mend(bench)
    third = bench.run("--lf", device="cuda")
    assert (third.decided.decision, third.decided.continues) == ("go", second.decided.trial), third.output
    assert carried(third) == {"documents": first.name}


def test_with_no_earlier_trial_lf_runs_everything(bench: Bench) -> None:
    mend(bench)
    run = bench.run("--lf", device="cuda")
    assert (run.decided.decision, run.decided.continues) == ("go", None), run.output
    assert carried(run) == {}


def test_lf_with_pytests_own_cache_selects_nothing_away(bench: Bench) -> None:
    (bench.folder / "behaviour").write_text("exits 1")
    first = commands.run(bench, str(bench.project / "suites" / "gpu"), *commands.with_cache(bench))
    assert first.exit_status == 10, first.output
    mend(bench)
    second = commands.run(bench, str(bench.project / "suites" / "gpu"), *commands.with_cache(bench, "--lf"))
    assert (second.decided.decision, second.exit_status) == ("go", 0), second.output
    assert set(carried(second)) == {"documents"}


def test_lf_after_a_skip_does_not_forget(trapped: Bench) -> None:
    """pytest's cache drops a failure that is skipped in the next run; here it stays open until it passes."""
    mend(trapped)
    trapped.environment["TRAP"] = "skips"
    first = trapped.run(device="cuda")
    assert (first.decided.decision, first.exit_status) == ("undecided", 12), first.output
    second = trapped.run("--lf", device="cuda")
    assert (second.decided.decision, second.exit_status) == ("undecided", 12), second.output
    assert second.status("end_of_trial.skips") == "not_run"


@pytest.mark.parametrize("selection", [("-k", "launch"), ("-x",)])
def test_lf_after_a_partial_run_establishes_the_rest(bench: Bench, selection: tuple[str, ...]) -> None:
    (bench.folder / "behaviour").write_text("loses_one")
    first = bench.run(*selection, device="cuda")
    assert first.exit_status in (10, 12), first.output
    mend(bench)
    second = bench.run("--lf", device="cuda")
    assert (second.decided.decision, second.exit_status) == ("go", 0), second.output
    assert {check.status for check in second.decided.checks()} == {"passed"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_continuing_an_interrupted_trial_makes_everything_afresh(
    bench: Bench, number: signal.Signals
) -> None:
    (bench.folder / "behaviour").write_text("sleeps")
    pilot = start(bench)
    until(lambda: processes.application(bench), "the application")
    pilot.signal(number)
    pilot.end()
    interrupted = bench.trials()[-1]
    before = commands.contents(interrupted)
    mend(bench)
    run = bench.run("--continue", interrupted.name, device="cuda")
    assert (run.decided.decision, run.decided.continues) == ("go", interrupted.name), run.output
    assert "application" not in carried(run)
    assert commands.contents(interrupted) == before


def test_lf_after_a_kill_does_not_forget(bench: Bench) -> None:
    """The killed trial never became the newest one that ended; what stands is judged as if it had not been."""
    first = failed(bench)
    (bench.folder / "behaviour").write_text("sleeps")
    pilot = start(bench)
    until(lambda: processes.application(bench), "the application")
    pilot.signal(signal.SIGKILL)
    pilot.end()
    mend(bench)
    run = bench.run("--lf", device="cuda")
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    assert "application" not in carried(run)
    assert run.decided.continues in (first.name, bench.trials()[1].name)


def test_a_changed_parameter_makes_what_stands_on_it_fresh(bench: Bench) -> None:
    first = failed(bench)
    bench.parameters["application"]["batch_size"] = 2
    run = bench.run("--lf", device="cuda")
    assert (run.decided.decision, run.decided.continues) == ("go", first.name), run.output
    assert carried(run) == {}
    assert [change.factor for change in run.decided.changed] == ["project.application", "project.parameters"]


def test_a_changed_manifest_makes_what_stands_on_it_fresh(bench: Bench) -> None:
    first = failed(bench)
    bench.entry("doc-01")["reason"] = "checked again"
    run = bench.run("--lf", device="cuda")
    assert (run.decided.decision, run.decided.continues) == ("go", first.name), run.output
    assert carried(run) == {}


def test_a_document_that_changed_under_the_same_manifest_is_seen(bench: Bench) -> None:
    failed(bench)
    (bench.documents / "doc-03.txt").write_text("Document 3. Not what the manifest means any more.")
    run = bench.run("--lf", device="cuda")
    assert run.decided.decision != "go", run.output
    assert run.status("inputs.sums") == "failed"


def test_another_device_carries_nothing(bench: Bench) -> None:
    first = failed(bench)
    run = bench.run("--continue", first.name, device="cpu")
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert carried(run) == {}


def test_two_changes_at_a_time_are_an_advisory(bench: Bench) -> None:
    failed(bench)
    bench.parameters["application"]["batch_size"] = 2
    bench.order["days"] = 7
    run = bench.run("--lf", device="cuda")
    assert run.decided.decision == "go", run.output
    assert any("nobody knows which one helped" in advisory for advisory in run.decided.advisories)


@pytest.mark.parametrize("part", ["verdict.json", "evidence/launch.json", "report.html"])
def test_a_trial_that_was_altered_is_not_continued(bench: Bench, part: str) -> None:
    first = failed(bench)
    path = first / part
    path.write_bytes(path.read_bytes() + b"\n")
    run = bench.run("--continue", first.name, device="cuda")
    assert run.exit_status == 4, run.output
    assert "altered" in run.output
    assert "Traceback" not in run.output
    assert bench.trials() == [first]


def test_nothing_is_carried_from_a_trial_whose_seal_was_taken_off(bench: Bench) -> None:
    first = failed(bench)
    (first / "SHA256SUMS").unlink()
    run = bench.run("--continue", first.name, device="cuda")
    assert (run.decided.decision, run.decided.continues) == ("go", first.name), run.output
    assert carried(run) == {}


def only_the_copy_failed(bench: Bench) -> None:
    """A trial whose application did well; afterwards the copy has a place."""
    mend(bench)
    run = bench.run("--copy-to", str(bench.folder / "absent" / "place"), device="cuda", forked=True)
    assert (run.decided.decision, run.status("results.expected_category")) == ("fix", "passed"), run.output


def test_a_run_of_the_application_that_still_stands_is_carried(bench: Bench) -> None:
    only_the_copy_failed(bench)
    run = bench.run("--lf", device="cuda")
    assert (run.decided.decision, set(carried(run))) == ("go", {"documents", "application"}), run.output


def torch_is_gone(bench: Bench) -> None:
    folder = bench.folder / "broken" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "raise ImportError('libcudart.so.13: cannot open shared object file')\n"
    )
    (bench.folder / "stubs" / "torch" / "__init__.py").write_text((folder / "__init__.py").read_text())


def the_program_is_another(bench: Bench) -> None:
    program = Path(bench.parameters["application"]["command"][1])
    program.write_text("raise SystemExit('this application does not run at all')\n")


def a_module_beside_the_program_is_another(bench: Bench) -> None:
    (bench.folder / "helper.py").write_text("changed = True\n")


@pytest.mark.parametrize(
    ("change", "decision"),
    [
        (torch_is_gone, "fix"),
        (the_program_is_another, "fix"),
        (a_module_beside_the_program_is_another, "go"),
    ],
)
def test_what_passed_is_not_carried_past_a_change_of_what_it_stood_on(
    bench: Bench, change: Callable[[Bench], None], decision: str
) -> None:
    """The same path, the same names of variables, the same parameters: only looking shows the difference."""
    stubs = bench.folder / "stubs"
    shutil.copytree(STUBS / "torch", stubs / "torch")
    (bench.folder / "helper.py").write_text("changed = False\n")
    bench.environment["PYTHONPATH"] = f"{stubs}{os.pathsep}{bench.environment['PYTHONPATH']}"
    only_the_copy_failed(bench)
    change(bench)
    run = bench.run("--lf", device="cuda")
    assert run.decided.decision == decision, run.output
    assert "application" not in carried(run)
