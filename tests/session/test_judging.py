"""`--trial`: a trial judged again from its folder alone; whatever is wrong with the folder is no go."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import sums
from fixtures.evidence.names import REREAD
from fixtures.evidence.trial import VERDICT
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.session import commands
from tests.session import processes
from tests.session.commands import SUITE


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial that ended in go, made once; each test spoils a copy of it."""
    bench = Bench(tmp_path_factory.mktemp("made") / "renter")
    bench.environment[processes.MARK] = "made once"
    bench.pretend_cards("NVIDIA H200")
    run = bench.run(device="cuda", forked=True)
    assert run.decided.decision == "go", run.output
    assert run.trial
    return run.trial


@pytest.fixture
def trial(bench: Bench, made: Path) -> Path:
    """A copy of the trial, on a machine without a card: judging needs none."""
    bench.environment["STUB_CARDS"] = ""
    return Path(shutil.copytree(made, bench.folder / made.name))


def evidence(trial: Path, name: str) -> Path:
    return trial / "evidence" / f"{name}.json"


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def seal(trial: Path) -> None:
    """Make the sums agree again, as somebody does who wants to be believed."""
    listed = [(name, sums.of_file(trial / name)) for name in sums.files_below(trial) if name != sums.NAME]
    (trial / sums.NAME).write_text(sums.render(listed))


@pytest.mark.parametrize("workers", [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")])
def test_a_whole_trial_comes_to_the_same_and_only_that_it_was_judged_is_written(
    bench: Bench, trial: Path, workers: tuple[str, ...]
) -> None:
    before = commands.contents(bench.folder)
    run = bench.judge(trial, *workers)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    after = commands.contents(bench.folder)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == {
        f"judged-{trial.name}.json", f"{trial.name}/{REREAD}",
    }  # fmt: skip
    (reading,) = json.loads((trial / REREAD).read_text())["readings"]
    assert (reading["decision"], reading["recorded"], reading["differences"]) == ("go", "go", [])
    ours = json.loads((trial / VERDICT).read_text())
    assert [(check.id, check.status) for check in run.decided.checks()] == [
        (check["id"], check["status"]) for criterion in ours["criteria"] for check in criterion["checks"]
    ]


def test_a_whole_trial_is_judged_from_a_read_only_folder(bench: Bench, trial: Path) -> None:
    mounted = subprocess.run(["mount", "--bind", str(trial), str(trial)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(trial)], check=True)
        run = bench.judge(trial)
    finally:
        subprocess.run(["umount", "--lazy", str(trial)], check=True)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output


# -- a trial that is fetched from the rental -------------------------------------------------------------------


def _from_another_machine(trial: Path) -> None:
    """As if it had been made on a machine that was booted otherwise; its cards are not here."""
    change(
        evidence(trial, "inventory"), lambda envelope: envelope["observed"]["host"].update(boot_id="another")
    )
    seal(trial)


@pytest.fixture(scope="module")
def without_a_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial that ended in fix on the rental because no place for a copy was named, and in which all else passed."""
    bench = Bench(tmp_path_factory.mktemp("open") / "renter")
    bench.pretend_cards("NVIDIA H200")
    del bench.parameters["copy_to"]
    run = bench.run(device="cuda", forked=True)
    assert run.decided.first_error is not None
    assert run.decided.first_error.check == "end_of_trial.copied", run.output
    assert run.trial
    return run.trial


@pytest.fixture
def fetched(bench: Bench, without_a_copy: Path) -> Path:
    bench.environment["STUB_CARDS"] = ""
    return Path(shutil.copytree(without_a_copy, bench.folder / without_a_copy.name))


def test_an_end_of_trial_that_was_left_open_is_closed_from_home(bench: Bench, fetched: Path) -> None:
    _from_another_machine(fetched)
    before = (fetched / VERDICT).read_bytes()
    run = bench.judge(fetched)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output
    assert "here on another machine" in (run.decided.criteria[-1].checks[-3].found or "")
    assert (fetched / VERDICT).read_bytes() == before
    (reading,) = json.loads((fetched / REREAD).read_text())["readings"]
    assert (reading["elsewhere"], reading["decision"], reading["recorded"]) == (True, "go", "fix")
    assert bench.judge(fetched).exit_status == 0
    assert len(json.loads((fetched / REREAD).read_text())["readings"]) == 2


def test_on_the_machine_where_it_was_made_it_stays_open(bench: Bench, fetched: Path) -> None:
    """A second folder on the same disk is no copy that outlives the rental."""
    run = bench.judge(fetched)
    assert (run.decided.decision, run.exit_status) == ("fix", 10), run.output
    assert not json.loads((fetched / REREAD).read_text())["readings"][0]["elsewhere"]


def test_what_was_altered_on_the_way_closes_nothing(bench: Bench, fetched: Path) -> None:
    _from_another_machine(fetched)
    (fetched / "evidence" / "application" / "stdout.txt").write_text("altered")
    run = bench.judge(fetched)
    assert (run.decided.decision, run.exit_status) == ("fix", 10), run.output
    assert not (fetched / REREAD).exists()


def test_what_another_version_judges_otherwise_is_listed_and_what_was_recorded_stays(
    bench: Bench, trial: Path
) -> None:
    """As if the suite that made it had known another check, and had judged one otherwise."""

    def otherwise(verdict: dict[str, Any]) -> None:
        checks = verdict["criteria"][1]["checks"]
        checks[0].update(status="not_reached")
        checks[1].update(id="inputs.of_then")

    change(trial / VERDICT, otherwise)
    seal(trial)
    run = bench.judge(trial)
    said = [line for line in run.decided.advisories if line.startswith("judged otherwise than recorded: ")]
    assert len(said) == 3
    assert any("not_reached then, passed now" in line for line in said)
    assert any("inputs.of_then: passed then, not in the suite now" in line for line in said)
    assert any("not in the suite then, passed now" in line for line in said)


# -- folders that no verdict can stand on ------------------------------------------------------------------


def torn_record(trial: Path) -> None:
    path = trial / "trial.json"
    path.write_bytes(path.read_bytes()[:200])


def missing_record(trial: Path) -> None:
    (trial / "trial.json").unlink()


def unknown_schema(trial: Path) -> None:
    change(trial / "trial.json", lambda record: record.update(schema="gpu-pilot/trial/2"))


def missing_inventory(trial: Path) -> None:
    evidence(trial, "inventory").unlink()


def torn_inventory(trial: Path) -> None:
    evidence(trial, "inventory").write_text('{"name": "inventory", ')


def inventory_of_another(trial: Path) -> None:
    change(evidence(trial, "inventory"), lambda envelope: envelope.update(trial="20260101T000000Z-0000"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (torn_record, "trial.json"),
        (missing_record, "trial.json"),
        (unknown_schema, "gpu-pilot/trial/1"),
        (missing_inventory, "inventory"),
        (torn_inventory, "inventory"),
        (inventory_of_another, "belongs to trial 20260101T000000Z-0000"),
    ],
)
def test_a_folder_that_is_no_trial_any_more_is_a_usage_error(
    bench: Bench, trial: Path, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(trial)
    before = commands.contents(trial)
    run = bench.judge(trial, forked=True)
    assert (run.verdict, run.exit_status) == (None, 4), run.output
    assert words in " ".join(run.output.split())
    assert "Traceback" not in run.output
    assert commands.contents(trial) == before


# -- folders that a verdict of undecided or fix stands on --------------------------------------------------


def torn_evidence(trial: Path) -> None:
    path = evidence(trial, "application")
    path.write_bytes(path.read_bytes()[:-40])


def evidence_of_another(trial: Path) -> None:
    change(evidence(trial, "application"), lambda envelope: envelope.update(trial="20260101T000000Z-0000"))


def evidence_with_an_unknown_key(trial: Path) -> None:
    change(evidence(trial, "launch"), lambda envelope: envelope["observed"].update(mood="good"))


def evidence_that_holds_nothing(trial: Path) -> None:
    change(evidence(trial, "documents"), lambda envelope: envelope.update(observed=None))


def evidence_that_is_empty(trial: Path) -> None:
    evidence(trial, "copy").write_bytes(b"")


def evidence_that_is_a_folder(trial: Path) -> None:
    evidence(trial, "launch").unlink()
    evidence(trial, "launch").mkdir()


def missing_evidence(trial: Path) -> None:
    evidence(trial, "application").unlink()


def a_count_made_right(trial: Path) -> None:
    def edit(envelope: dict[str, Any]) -> None:
        envelope["observed"]["results"]["lines"].pop()

    change(evidence(trial, "application"), edit)


def an_exit_made_wrong(trial: Path) -> None:
    change(evidence(trial, "application"), lambda envelope: envelope["observed"].update(returncode=1))


SPOILT: list[tuple[Callable[[Path], None], str, str]] = [
    (torn_evidence, "results.ended_by_itself", "broken"),
    (evidence_of_another, "results.ended_by_itself", "broken"),
    (evidence_with_an_unknown_key, "launch.interpreter", "broken"),
    (evidence_that_holds_nothing, "inputs.manifest", "broken"),
    (evidence_that_is_empty, "end_of_trial.copied", "broken"),
    (evidence_that_is_a_folder, "launch.interpreter", "not_reached"),
    (missing_evidence, "results.ended_by_itself", "not_reached"),
    (a_count_made_right, "failures.none_missing", "failed"),
    (an_exit_made_wrong, "results.ended_by_itself", "failed"),
]


@pytest.mark.parametrize(("spoil", "check", "status"), SPOILT, ids=[spoil.__name__ for spoil, _, _ in SPOILT])
def test_spoilt_evidence_is_no_go_even_where_the_sums_were_made_to_agree(
    bench: Bench, trial: Path, spoil: Callable[[Path], None], check: str, status: str
) -> None:
    spoil(trial)
    seal(trial)
    run = bench.judge(trial, forked=True)
    assert run.status(check) == status, run.output
    # evidence that is not there leaves checks unreached that had passed when the copy was judged: it was altered
    fix = status in ("failed", "not_reached")
    assert (run.decided.decision, run.exit_status) == (("fix", 10) if fix else ("undecided", 12)), run.output
    assert "Traceback" not in run.output


def test_altered_evidence_is_found_by_the_sums(bench: Bench, trial: Path) -> None:
    change(evidence(trial, "application"), lambda envelope: envelope["observed"].update(seconds=1.0))
    run = bench.judge(trial)
    assert (run.decided.decision, run.exit_status) == ("fix", 10), run.output
    assert "evidence/application.json: altered" in run.message("end_of_trial.sums_agree")


def test_a_missing_or_torn_plan_does_not_matter_to_whoever_judges(bench: Bench, trial: Path) -> None:
    """Who judges collects by itself: what a trial says was planned could leave something out."""
    (trial / "plan.json").write_text('{"checks": [')
    seal(trial)
    run = bench.judge(trial)
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output


# -- --verdict and --require-go ----------------------------------------------------------------------------


def test_the_verdict_is_written_where_it_was_asked_for(bench: Bench) -> None:
    run = bench.run("--verdict", "verdict-beside.json", "-k", "interpreter", device="cuda")
    assert run.trial
    assert (bench.folder / "verdict-beside.json").read_bytes() == (run.trial / VERDICT).read_bytes()


def test_a_rehearsal_is_no_go_for_who_requires_one(bench: Bench) -> None:
    plain = bench.run(device="cpu")
    assert (plain.decided.decision, plain.exit_status) == ("undecided", 0), plain.output
    assert plain.trial
    strict = bench.judge(plain.trial, "--require-go")
    assert (strict.decided.decision, strict.exit_status) == ("undecided", 12), strict.output


def test_a_go_is_one_for_who_requires_it(bench: Bench, trial: Path) -> None:
    assert bench.judge(trial, "--require-go").exit_status == 0


@pytest.mark.parametrize("arguments", [("-k", "interpreter"), ("--deselect", "suites/gpu/test_failures.py")])
def test_a_selection_judged_again_is_no_go(bench: Bench, trial: Path, arguments: tuple[str, ...]) -> None:
    run: Run = commands.run(bench, str(SUITE), "--trial", str(trial), "-p", "no:cacheprovider", *arguments)
    assert run.exit_status == 12, run.output
