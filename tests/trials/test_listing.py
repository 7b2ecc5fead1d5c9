"""`python -m plugins.trials`: every trial on a line, whatever state it is in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plugins.trials import __main__ as command
from plugins.verdict_file import Changed
from tests.report import samples
from tests.trials.making import BROKEN
from tests.trials.making import closed
from tests.trials.making import Command
from tests.trials.making import EARLIER
from tests.trials.making import NAME
from tests.trials.making import seal

ROOT = Path(__file__).resolve().parents[2]
CHANGED = [Changed(factor="machine.driver", before="1", after="2")]


@pytest.fixture
def trials(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(command.main, capsys)


def listed(trials: Command, reports: Path, *more: str) -> list[dict[str, Any]]:
    status, out, _ = trials("--reports", reports, "--json", *more)
    assert status == 0
    return json.loads(out)  # type: ignore[no-any-return]


def test_a_line_says_what_a_trial_came_to_oldest_first(trials: Command, tmp_path: Path) -> None:
    verdict = samples.verdict(
        continues=EARLIER, changed=CHANGED, trial=NAME, failing={"results.complete": BROKEN}
    )
    closed(tmp_path, NAME, verdict=verdict, continues=EARLIER)
    closed(tmp_path, EARLIER, "rehearsal")
    status, out, err = trials("--reports", tmp_path)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"{EARLIER}  2026-11-30 17:00:00  rehearsal  undecided",
        f"{NAME}  2026-12-01 10:30:00  rental     fix          first error results.complete  "
        f"continues {EARLIER}  changed machine.driver",
    ]


def test_the_list_as_json_holds_the_same(trials: Command, tmp_path: Path) -> None:
    closed(tmp_path, NAME, "fix", continues=EARLIER)
    (row,) = listed(trials, tmp_path)
    assert row.pop("reason").startswith("Every document has exactly one result: no")
    assert row == {
        "folder": NAME, "trial": NAME, "when": "2026-12-01T10:30:00Z", "scope": "rental", "decision": "fix",
        "first_error": "results.complete", "continues": EARLIER, "changed": [], "person": None,
    }  # fmt: skip


def test_a_renamed_folder_is_listed_by_its_trial(trials: Command, tmp_path: Path) -> None:
    closed(tmp_path, NAME).rename(tmp_path / "the good one")
    (row,) = listed(trials, tmp_path)
    assert (row["trial"], row["folder"], row["when"]) == (NAME, "the good one", "2026-12-01T10:30:00Z")
    assert "in the folder the good one" in trials("--reports", tmp_path)[1]


def no_verdict(path: Path) -> None:
    (path / "verdict.json").unlink()


def no_sums(path: Path) -> None:
    (path / "SHA256SUMS").unlink()


def no_record(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


@pytest.mark.parametrize("take", [no_verdict, no_sums, no_record])
def test_a_trial_that_did_not_end_is_interrupted(
    take: Callable[[Path], None], trials: Command, tmp_path: Path
) -> None:
    take(closed(tmp_path, NAME))
    closed(tmp_path, EARLIER)
    whole, row = listed(trials, tmp_path)
    assert (row["trial"], row["decision"], row["when"]) == (NAME, "interrupted", "2026-12-01T10:30:00Z")
    assert "verdict.json" in row["reason"]
    assert (whole["trial"], whole["decision"]) == (EARLIER, "go")


def of_verdict(**changed: Any) -> Callable[[Path], None]:
    """A verdict with other values, and sums that agree with it."""

    def spoil(path: Path) -> None:
        verdict = json.loads((path / "verdict.json").read_text())
        (path / "verdict.json").write_text(json.dumps({**verdict, **changed}))
        seal(path)

    return spoil


def text(data: bytes, name: str = "verdict.json") -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        (path / name).write_bytes(data)
        seal(path)

    return spoil


def altered(path: Path) -> None:
    data = (path / "verdict.json").read_bytes()
    (path / "verdict.json").write_bytes(data.replace(b'"decision": "go"', b'"decision": "no"', 1) + b"\n")


def only_a_blank(path: Path) -> None:
    (path / "verdict.json").write_bytes((path / "verdict.json").read_bytes() + b" ")


def a_pipe(path: Path) -> None:
    (path / "verdict.json").unlink()
    os.mkfifo(path / "verdict.json")


def a_folder(path: Path) -> None:
    (path / "verdict.json").unlink()
    (path / "verdict.json").mkdir()


def a_dead_link(path: Path) -> None:
    (path / "verdict.json").unlink()
    (path / "verdict.json").symlink_to("nowhere")


def interrupted_with(data: bytes) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        (path / "verdict.json").unlink()
        (path / "trial.json").write_bytes(data)

    return spoil


SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "no JSON": (text(b"not json"), "no JSON"),
    "torn": (text(b'{"schema": "gpu-pilot/verdict/1", "tri'), "no JSON"),
    "no text": (text(b"\xff\xfe\x00"), "no JSON"),
    "empty": (text(b""), "no JSON"),
    "an array": (text(b"[1]"), "no JSON object"),
    "too deep": (text(b"[" * 100_000), "no JSON"),
    "another schema": (of_verdict(schema="gpu-pilot/verdict/2"), "gpu-pilot/verdict/2"),
    "no schema": (text(b"{}"), "schema"),
    "an unknown decision": (of_verdict(decision="maybe"), "maybe"),
    "a decision that is none": (of_verdict(decision=["go"]), "none of"),
    "a key of another kind": (of_verdict(changed=[1]), "another kind"),
    "a trial without a name": (of_verdict(trial=None), "another kind"),
    "an altered decision": (altered, "none of"),
    "an altered byte": (only_a_blank, "altered"),
    "a pipe": (a_pipe, "no regular file"),
    "a folder": (a_folder, "verdict.json"),
    "a dead link": (a_dead_link, "No such file"),
    "an interrupted one whose record is torn": (interrupted_with(b'{"schema'), "trial.json: no JSON"),
    "an interrupted one of another schema": (interrupted_with(b'{"schema": "x"}'), "schema 'x'"),
    "an interrupted one with an empty record": (interrupted_with(b'{"schema": "gpu-pilot/trial/1"}'), "missing"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILED)
def test_a_broken_trial_is_listed_as_that_and_ends_nothing(
    case: str, trials: Command, tmp_path: Path
) -> None:
    spoil, said = SPOILED[case]
    spoil(closed(tmp_path, NAME))
    closed(tmp_path, EARLIER)
    whole, row = listed(trials, tmp_path)
    assert (row["trial"], row["decision"]) == (NAME, "broken")
    assert said in row["reason"]
    assert (whole["trial"], whole["decision"]) == (EARLIER, "go")
    status, out, _ = trials("--reports", tmp_path)
    assert (status, len(out.splitlines())) == (0, 2)


def test_evidence_that_was_altered_is_found_with_the_option_that_reads_it(
    trials: Command, tmp_path: Path
) -> None:
    path = closed(tmp_path, NAME)
    assert listed(trials, tmp_path, "--sums")[0]["decision"] == "go"
    with (path / "evidence" / "inventory.json").open("a") as stream:
        stream.write(" ")
    assert listed(trials, tmp_path)[0]["decision"] == "go"
    (row,) = listed(trials, tmp_path, "--sums")
    assert (row["decision"], row["reason"]) == ("broken", "evidence/inventory.json: altered")


def test_what_is_no_trial_is_not_listed(trials: Command, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "trial.json").write_text("{}")
    (tmp_path / "README.md").write_text("x")
    (tmp_path / "dead").symlink_to("nowhere")
    status, out, _ = trials("--reports", tmp_path)
    assert (status, out) == (0, f"no trial in {tmp_path}\n")


def decision(**other: Any) -> bytes:
    plain = {"schema": "gpu-pilot/decision/1", "decision": "go", "override": False, "by": None, "when": "w"}
    return json.dumps({**plain, **other}).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (decision(), "a person decided: go"),
        (decision(by="Ada"), "a person decided: go by Ada"),
        (decision(override=True), "a person decided: go (OVERRIDE)"),
        (decision(schema="x"), "decision.json: the schema 'x'"),
        (b"torn", "decision.json: no JSON"),
        (b'{"schema": "gpu-pilot/decision/1"}', "decision.json: a key is missing"),
    ],
)
def test_what_a_person_decided_stands_on_the_line(
    data: bytes, said: str, trials: Command, tmp_path: Path
) -> None:
    (closed(tmp_path, NAME) / "decision.json").write_bytes(data)
    status, out, _ = trials("--reports", tmp_path)
    assert (status, len(out.splitlines())) == (0, 1)
    assert said in out


def test_what_a_file_says_moves_no_cursor(trials: Command, tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e\x07 \n fake line"
    of_verdict(changed=[{"factor": hostile}], continues=hostile, first_error={"check": hostile})(
        closed(tmp_path, NAME)
    )
    status, out, _ = trials("--reports", tmp_path)
    assert (status, len(out.splitlines())) == (0, 1)
    assert not {"\x1b", "\u202e", "\x07"} & set(out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--reports", "/nonexistent/place"],
        ["unknown"],
        ["diff", "a"],
        ["diff", "a", "b", "c"],
        ["show"],
        ["show", "a", "b"],
        ["show", "a", "--json"],
        ["list", "a"],
        ["show", "absent"],
        ["show", ""],
        ["show", ".."],
        ["diff", "absent", "latest"],
    ],
)
def test_a_wrong_command_line_ends_with_4_and_says_why(
    arguments: list[str], trials: Command, tmp_path: Path
) -> None:
    closed(tmp_path, NAME)
    more = [] if "--reports" in arguments else ["--reports", str(tmp_path)]
    status, out, err = trials(*arguments, *more)
    assert (status, out) == (4, "")
    assert err


@pytest.mark.parametrize("written", ["", "..", "a/b", "/etc", "absent", "\0"])
def test_a_file_latest_that_names_no_trial_leads_nowhere(
    written: str, trials: Command, tmp_path: Path
) -> None:
    closed(tmp_path, NAME)
    assert trials("show", "latest", "--reports", tmp_path)[0] == 0
    (tmp_path / "latest").write_text(written)
    status, out, err = trials("show", "latest", "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert "wanted" in err


def test_the_listing_needs_none_of_the_models() -> None:
    code = (
        "import sys, plugins.trials.__main__ as m, plugins.trials.listing, plugins.trials.comparing;"
        "print(*sorted({'pydantic', 'pytest', 'torch', 'filelock'} & set(sys.modules)))"
    )
    end = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert end.stdout.strip() == ""


def test_a_reader_that_goes_away_early_is_no_error_and_nothing_that_holds(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"20261201T103000Z-{number:04x}").mkdir()
    command = [sys.executable, "-m", "plugins.trials", "--reports", str(tmp_path)]
    reading, writing = os.pipe()
    os.close(reading)  # gone before the first line, as `| head` is before the last
    end = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, timeout=60)
    os.close(writing)
    assert (end.stderr, end.returncode) == (b"", 2)
    end = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
    assert (len(end.stdout.splitlines()), end.stderr, end.returncode) == (40, b"", 0)
