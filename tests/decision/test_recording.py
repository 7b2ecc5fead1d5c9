"""`python -m plugins.decision`: what is recorded, where it is seen, and what is refused."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import load
from fixtures.evidence.names import REREAD
from plugins.decision import __main__ as command
from plugins.decision import chain
from plugins.decision import record as recording
from plugins.decision.file import Decided
from plugins.decision.record import Asked
from plugins.decision.verify import verify
from plugins.rereading import Reading
from plugins.rereading import Readings
from plugins.schema import DECISION
from plugins.trials import __main__ as listing
from tests.trials.making import closed
from tests.trials.making import Command
from tests.trials.making import EARLIER
from tests.trials.making import NAME
from tests.trials.making import seal
from tests.verdict.test_schema import problems

WHY = "the copy of the trial was judged again at home, and it holds"


@pytest.fixture
def decide(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(command.main, capsys)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != chain.LOCK
    }


def test_a_decision_stands_beside_the_verdict_and_the_trial_stays_as_it_was(
    decide: Command, tmp_path: Path
) -> None:
    path = closed(tmp_path, NAME)
    before = contents(path)
    status, out, err = decide("go", "--because", WHY, "--by", "Ada", "--reports", tmp_path)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"recorded: go on {NAME}",
        f"to attach: {path / 'decision.md'}",
        f"chain: line 1 of {tmp_path / 'decisions.jsonl'}",
    ]
    after = contents(path)
    assert {name: after[name] for name in before} == before
    assert sorted(after.keys() - before.keys()) == ["decision.json", "decision.md"]
    assert sums.differences(path) == []
    assert verify(tmp_path).broken == []


def test_what_is_recorded_is_what_the_schema_says(decide: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME, "fix")
    assert decide("fix", "--because", WHY, "--reports", tmp_path)[0] == 0
    written = json.loads((path / "decision.json").read_text())
    schema = json.loads(DECISION.read_text())
    allowed = {"pattern", "minLength", "maximum"}
    assert problems(written, strip(schema, allowed), strip(schema, allowed)) == []
    assert (written["schema"], written["by"], written["override"]) == ("gpu-pilot/decision/1", None, False)
    assert written["first_error"]["check"] == "results.complete"
    assert written["machine"]["decision"] == "fix"
    named = {one["path"]: one["sha256"] for one in written["sums"]}
    assert named == {
        **sums.parse((path / "SHA256SUMS").read_text()),
        "SHA256SUMS": sums.of_file(path / "SHA256SUMS"),
    }
    assert {"report.html", "verdict.json", "evidence/inventory.json"} <= set(named)


def strip(value: Any, keys: set[str]) -> Any:
    """A schema without the keywords that the few lines in tests/verdict do not know."""
    if isinstance(value, dict):
        return {key: strip(item, keys) for key, item in value.items() if key not in keys}
    return [strip(item, keys) for item in value] if isinstance(value, list) else value


def test_the_name_of_whoever_decides_is_never_taken_from_the_environment(
    decide: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("USER", "LOGNAME", "USERNAME", "GIT_AUTHOR_NAME", "EMAIL", "HOME"):
        monkeypatch.setenv(name, "somebody-else")
    path = closed(tmp_path / "r", NAME)
    assert decide("go", "--because", WHY, "--reports", tmp_path / "r")[0] == 0
    for name in ("decision.json", "decision.md", "../decisions.jsonl"):
        assert "somebody-else" not in (path / name).read_text()


#: the machine's decision -> what a person may decide without an override
WITHOUT = {
    "go": ("go", "fix", "reconfigure"),
    "fix": ("fix", "reconfigure"),
    "reconfigure": ("reconfigure",),
    "undecided": ("fix", "reconfigure"),
    "rehearsal": ("fix", "reconfigure"),
}


@pytest.mark.parametrize("persons", ["go", "fix", "reconfigure"])
@pytest.mark.parametrize("machines", WITHOUT)
def test_what_is_more_optimistic_needs_an_override_and_is_marked_everywhere(
    machines: str, persons: str, decide: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = closed(tmp_path, NAME, machines)
    override = persons not in WITHOUT[machines]
    status, _, err = decide(persons, "--because", WHY, "--reports", tmp_path)
    assert status == (4 if override else 0)
    if override:
        assert "more optimistic" in err
        assert not (path / "decision.json").exists()
        assert not (tmp_path / "decisions.jsonl").exists()
        status, out, _ = decide(persons, "--because", WHY, "--override", "--reports", tmp_path)
        assert (status, "OVERRIDE" in out) == (0, True)
    assert load(path / "decision.json", Decided).override is override
    (line,) = chain.read(tmp_path / "decisions.jsonl").lines
    assert line.override is override
    page = (path / "decision.md").read_text()
    assert ("**OVERRIDE" in page, "(override)" in page.splitlines()[0]) == (override, override)
    listed = Command(listing.main, capsys)("--reports", tmp_path)[1]
    assert ("(OVERRIDE)" in listed) is override


def test_an_override_that_was_not_needed_is_none(decide: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    status, _, err = decide("go", "--because", WHY, "--override", "--reports", tmp_path)
    assert (status, "not needed" in err) == (0, True)
    assert load(path / "decision.json", Decided).override is False


REASONS_REFUSED = [
    "", " \n\t", "-", "--", "ok", "OK!", "okay, go", "go", "fix", "lgtm", "yes yes yes", "looks good to me", "none",
    "........", "12345678", "aaaaaaaaaaaa", "abababababab", "\u3164" * 12, "\u200b" * 12, "because", "n/a",
    "x" * 4001 + " why", "\udce9 is no text in UTF-8", "TBD / TODO",
]  # fmt: skip
REASONS_TAKEN = [
    WHY, "driver 570 is too old; see ticket 1", "驱动程序太旧", "драйвер старый", "Treiber zu alt",
    "le pilote est trop vieux", "line one\nline two: all right", "x" * 12 + " is the card that arrived",
]  # fmt: skip


@pytest.mark.parametrize("because", REASONS_REFUSED, ids=ascii)
def test_a_reason_that_says_nothing_is_refused(because: str, decide: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    before = contents(tmp_path)
    status, out, err = decide("go", f"--because={because}", "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert "--because" in err
    assert contents(tmp_path) == before
    assert not (path / "decision.json").exists()


@pytest.mark.parametrize("because", REASONS_TAKEN, ids=ascii)
def test_a_reason_is_written_down_as_it_was_given(because: str, decide: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    assert decide("go", f"--because= {because}\n", "--reports", tmp_path)[0] == 0
    assert load(path / "decision.json", Decided).reason == because
    assert verify(tmp_path).broken == []


#: made up, and put together so that no file of the project looks as if it held one
SECRET = "hf_" + "a1B2" * 8
SECRETS = [
    f"the token {SECRET} works",
    "renewed with password" + "=hunter2abc",
    "pulled from https://me:" + "hunter2@host/x",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("option", ["--because", "--by"])
def test_what_looks_like_a_secret_is_refused_and_not_repeated(
    option: str, secret: str, decide: Command, tmp_path: Path
) -> None:
    closed(tmp_path, NAME)
    given = {"--because": WHY, option: secret}
    words = [f"{name}={value}" for name, value in given.items()]
    status, out, err = decide("go", *words, "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert "looks like" in err
    assert "hunter2" not in err
    assert SECRET not in err
    assert not (tmp_path / "decisions.jsonl").exists()


def altered(path: Path) -> None:
    with (path / "report.html").open("a") as stream:
        stream.write(" ")


def added(path: Path) -> None:
    (path / "evidence" / "more.json").write_text("{}")


def added_below(path: Path) -> None:
    """The names that may be added later may be added at the top of the folder, and nowhere else."""
    (path / "evidence" / "decision.json").write_text("{}")


def missing(path: Path) -> None:
    (path / "report.html").unlink()


def no_verdict(path: Path) -> None:
    (path / "verdict.json").unlink()


def no_sums(path: Path) -> None:
    (path / "SHA256SUMS").unlink()


def no_record(path: Path) -> None:
    (path / "trial.json").unlink()
    seal(path)


def torn_verdict(path: Path) -> None:
    (path / "verdict.json").write_text("{")
    seal(path)


def verdict_of_another(path: Path) -> None:
    text = (path / "verdict.json").read_text()
    (path / "verdict.json").write_text(text.replace(NAME, EARLIER))
    seal(path)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (altered, "report.html: altered"),
        (added, "evidence/more.json: not in SHA256SUMS"),
        (added_below, "evidence/decision.json: not in SHA256SUMS"),
        (missing, "report.html: missing"),
        (no_verdict, "no verdict.json"),
        (no_sums, "no SHA256SUMS"),
        (no_record, "trial.json"),
        (torn_verdict, "verdict.json"),
        (verdict_of_another, EARLIER),
    ],
)
def test_a_trial_that_is_not_whole_is_not_decided_on(
    spoil: Callable[[Path], None], said: str, decide: Command, tmp_path: Path
) -> None:
    path = closed(tmp_path, NAME)
    spoil(path)
    before = contents(tmp_path)
    status, out, err = decide("reconfigure", "--because", WHY, "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert said in err
    assert contents(tmp_path) == before
    shutil.rmtree(path)
    closed(tmp_path, NAME)
    assert decide("reconfigure", "--because", WHY, "--reports", tmp_path)[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["go"],
        ["maybe", "--because", WHY],
        ["--because", WHY],
        ["go", "--because", WHY, "--trial", "absent"],
        ["go", "--because", WHY, "--by", "  "],
        ["go", "--because", WHY, "--by", "-"],
        ["go", "--because", WHY, "--by=--"],
        ["go", "--because", WHY, "--trial="],
        ["go", "--because", WHY, "--trial=."],
        ["go", "--because", WHY, "--trial=--"],
        ["verify", "--because", WHY],
        ["verify"],
    ],
)
def test_a_wrong_command_line_ends_with_4_and_writes_nothing(
    arguments: list[str], decide: Command, tmp_path: Path
) -> None:
    closed(tmp_path, NAME)
    before = contents(tmp_path)
    status, out, err = decide(*arguments, "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert err
    assert contents(tmp_path) == before


def test_a_trial_is_named_by_its_folder_too_and_the_chain_is_beside_it(
    decide: Command, tmp_path: Path
) -> None:
    path = closed(tmp_path / "elsewhere", NAME)
    (tmp_path / "reports").mkdir()
    status, _, err = decide("go", "--because", WHY, "--trial", path, "--reports", tmp_path / "reports")
    assert (status, "a trial elsewhere" in err) == (4, True)
    assert decide("go", "--because", WHY, "--trial", path)[0] == 0
    assert verify(tmp_path / "elsewhere").here == 1


def test_a_second_decision_is_refused_and_with_again_keeps_the_first(decide: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    assert decide("go", "--because", WHY, "--reports", tmp_path)[0] == 0
    first = contents(path)
    status, out, err = decide("fix", "--because", "the card was swapped since", "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert "a decision already, line 1" in err
    assert contents(path) == first
    for number, why in enumerate(("the card was swapped since", "swapped back and tried"), 1):
        assert decide("fix", "--because", why, "--again", "--reports", tmp_path)[0] == 0
        now = contents(path)
        assert now["decision-1.json"] == first["decision.json"]
        assert now["decision-1.md"] == first["decision.md"]
        assert f"decision-{number}.json" in now
        decided = load(path / "decision.json", Decided)
        assert decided.replaces == sums.of_bytes(now[f"decision-{number}.json"])
    assert len(chain.read(tmp_path / "decisions.jsonl").lines) == 3
    assert verify(tmp_path).broken == []
    assert sums.differences(path) == []


def test_a_decision_that_was_not_recorded_to_the_end_is_not_overwritten(
    decide: Command, tmp_path: Path
) -> None:
    """Killed between the files and the line of the chain."""
    path = closed(tmp_path, NAME)
    (path / "decision.json").write_text("left behind")
    status, _, err = decide("go", "--because", WHY, "--reports", tmp_path)
    assert (status, "decision.json already" in err) == (4, True)
    assert decide("go", "--because", WHY, "--again", "--reports", tmp_path)[0] == 0
    assert (path / "decision-1.json").read_text() == "left behind"
    assert verify(tmp_path).broken == []


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("synced", [0, 1], ids=["the-line", "its-folder"])
@pytest.mark.parametrize(("error", "ended"), [(FULL, 4), (KeyboardInterrupt(), 2)], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("before", [False, True])
def test_a_line_that_cannot_be_written_leaves_nothing_behind(
    before: bool,
    error: BaseException,
    ended: int,
    synced: int,
    decide: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed(tmp_path, NAME)
    if before:
        assert decide("go", "--because", WHY, "--reports", tmp_path)[0] == 0
    there = contents(tmp_path)
    well = iter(range(synced))

    def fsync(number: int) -> None:
        if next(well, None) is None:
            raise error

    with monkeypatch.context() as patched:
        patched.setattr(chain.os, "fsync", fsync)
        patched.setattr(recording.store, "write_atomically", lambda path, data: path.write_bytes(data))
        status, out, err = decide("go", "--because", WHY, "--again", "--reports", tmp_path)
    assert (status, out) == (ended, "")
    assert ("No space left" in err) == (error is FULL)
    left = {name: data for name, data in contents(tmp_path).items() if data or name in there}
    assert left == there
    assert decide("go", "--because", WHY, "--again", "--reports", tmp_path)[0] == 0


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: data.replace(b"go", b"no", 1)])
def test_nothing_is_added_to_a_chain_that_does_not_hold(
    spoil: Callable[[bytes], bytes], decide: Command, tmp_path: Path
) -> None:
    closed(tmp_path, EARLIER)
    assert decide("go", "--because", WHY, "--reports", tmp_path)[0] == 0
    closed(tmp_path, NAME)
    file = tmp_path / "decisions.jsonl"
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    before = contents(tmp_path)
    status, _, err = decide("go", "--because", WHY, "--reports", tmp_path)
    assert (status, "line 1" in err) == (4, True)
    assert contents(tmp_path) == before
    file.write_bytes(whole)
    assert decide("go", "--because", WHY, "--reports", tmp_path)[0] == 0


def test_decisions_at_the_same_time_make_one_chain(tmp_path: Path) -> None:
    names = [f"20261201T10300{number}Z-7f3a" for number in range(6)]
    paths = [closed(tmp_path, name) for name in names]
    threads = [
        threading.Thread(target=recording.record, args=(tmp_path, path, Asked("go", WHY))) for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = chain.read(tmp_path / "decisions.jsonl").lines
    assert sorted(line.trial for line in lines) == names
    assert verify(tmp_path).broken == []


def test_a_folder_that_cannot_be_locked_is_named(decide: Command, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    (tmp_path / chain.LOCK).mkdir()
    status, out, err = decide("go", "--because", WHY, "--reports", tmp_path)
    assert (status, out) == (4, "")
    assert str(tmp_path) in err
    assert not (path / "decision.json").exists()
    (tmp_path / chain.LOCK).rmdir()
    assert decide("go", "--because", WHY, "--reports", tmp_path)[0] == 0


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum on this machine")
def test_the_sums_on_the_page_and_of_the_trial_are_those_that_sha256sum_finds(
    decide: Command, tmp_path: Path
) -> None:
    path = closed(tmp_path, NAME)
    assert decide("go", "--because", WHY, "--reports", tmp_path)[0] == 0
    block = (path / "decision.md").read_text().rpartition("```text\n")[2].rpartition("```")[0]
    for text in (block, (path / "SHA256SUMS").read_text()):
        end = subprocess.run(
            ["sha256sum", "-c", "--strict", "--quiet"], cwd=path, input=text.encode(), capture_output=True
        )
        assert (end.returncode, end.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["decision.json", "decision.md", "decision-12.json", "reread.json"])
def test_what_may_be_added_later_may_be_there_and_not_elsewhere(name: str, tmp_path: Path) -> None:
    path = closed(tmp_path, NAME)
    (path / name).write_text("x")
    assert sums.differences(path) == []
    (path / f"{name}x").write_text("x")
    (path / "evidence" / name).write_text("x")
    assert sums.differences(path) == [
        f"{one}: not in SHA256SUMS" for one in sorted((f"{name}x", f"evidence/{name}"))
    ]
    assert store.open_trial(path, judging=True).name == NAME


#: whether it was judged again elsewhere, what that came to, and whether a go then needs an override
READ_AGAIN = [(True, "go", False), (False, "go", True), (True, "fix", True)]


@pytest.mark.parametrize(("elsewhere", "came_to", "needed"), READ_AGAIN)
def test_a_trial_that_was_closed_from_home_may_go(
    elsewhere: bool, came_to: Any, needed: bool, decide: Command, tmp_path: Path
) -> None:
    path = closed(tmp_path, NAME, "fix")
    reading = Reading(
        when="2026-12-01T10:00:00Z", by="a suite", elsewhere=elsewhere, decision=came_to, exit_status=0,
        recorded="fix", differences=[],
    )  # fmt: skip
    store.write_json(path / REREAD, Readings(trial=NAME, readings=[reading]))
    status, _, err = decide("go", "--because", WHY, "--reports", tmp_path)
    assert status == (4 if needed else 0), err
    if not needed:
        decided = load(path / "decision.json", Decided)
        assert (decided.machine.decision, decided.override) == ("go", False)
        assert "when the trial ended: fix" in decided.machine.reason
