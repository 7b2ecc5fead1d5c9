"""What is in a bundle, what is not, and that what is not is listed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import models as m
from fixtures.evidence.errors import InputError
from fixtures.evidence.trial import Trial
from plugins import bundle
from plugins.bundle.items import ITEM_BYTES
from plugins.verdict import Claim
from plugins.verdict_file import Verdict
from tests.bundle import opened
from tests.report import samples

SECRET = "hf_" + "q" * 30
LETTER = "Dear Mrs Harrow, the parcel that you sent to our office in Valdorsa never arrived."
FILE_NAME = "letter-to-mrs-harrow.txt"


def failed(path: Path) -> tuple[Verdict, Trial]:
    """A trial that failed, in which document texts, secrets and homes stand wherever an application can put them."""
    verdict, trial = samples.fix(path)
    words = f"while reading {LETTER} with {SECRET} in /home/mallory/work"
    documents = samples.documents()
    file = documents.files[4].model_copy(update={"file": FILE_NAME, "beginning": LETTER[:40]})
    documents = documents.model_copy(update={"files": [*documents.files, file], "unnamed": [FILE_NAME]})
    records = [*samples.answers(), {"id": "doc-07", "status": "rejected", "reason": words, "text": LETTER}]
    seen = samples.application(
        records,
        ended="signal",
        returncode=-11,
        signal="SIGSEGV",
        error=words,
        stdout=samples.output(f"{words}\n"),
        stderr=samples.output(f"CUDA error: an illegal memory access\n{words}\n"),
        left_behind=[m.LeftBehind(pid=1, name="python", command=f"python -c {words}")],
        touched=[m.Touched(path=f"/home/mallory/{FILE_NAME}", change="appeared")],
        told=m.Told(crashes=[m.Crash(document="doc-07", how=words)]),
    )
    launch = samples.launch(
        end=m.ProcessEnd(
            returncode=1, signal=None, timed_out=False, seconds=1.0, stderr_tail=f"libcuda\n{words}\n"
        )
    )
    for name, value in {"documents": documents, "application": seen, "launch": launch}.items():
        stored = samples.envelope(name, observed=value.model_dump(mode="json"))
        trial.envelope_path(name).write_text(stored.model_dump_json(), encoding="utf-8")
    staged = trial.raw("application") / "documents"
    staged.mkdir(parents=True)
    (staged / FILE_NAME).write_text(LETTER, encoding="utf-8")
    (trial.raw("application") / "output").mkdir()
    (trial.raw("application") / "output" / "results.jsonl").write_text(json.dumps(records), encoding="utf-8")
    (trial.path / "report.html").write_text(f"<p>{words}</p>", encoding="utf-8")
    (trial.path / "notes-of-mallory.txt").write_text(words, encoding="utf-8")
    rows = [
        row.model_copy(
            update={
                "checks": [c.model_copy(update={"message": words} if c.message else {}) for c in row.checks]
            }
        )
        for row in verdict.criteria
    ]
    return verdict.model_copy(update={"criteria": rows, "reason": f"{verdict.reason} {words}"}), trial


@pytest.fixture
def made(tmp_path: Path) -> opened.Opened:
    verdict, trial = failed(tmp_path / "trial")
    return opened.made(trial, verdict, tmp_path)


def test_no_text_secret_home_or_file_name_is_anywhere_in_it(made: opened.Opened) -> None:
    for piece in (
        SECRET,
        "Mrs Harrow",
        "the parcel",
        "Valdorsa",
        "/home/",
        "letter-to",
        "mallory",
        "GOURVENNEC",
    ):
        assert piece not in made.whole, piece


def test_what_a_support_needs_is_in_it(made: opened.Opened) -> None:
    card = made.json("inventory.json")["observed"]["cards"][0]
    assert (card["name"], card["pci"]) == ("NVIDIA H200", "0000:41:00.0")
    assert card["uuid"].startswith("GPU-")
    assert made.json("inventory.json")["observed"]["driver"] == "580.95.05"
    assert made.json("launch.json")["observed"]["torch"]["version"] == "2.13.0+cu130"
    assert made.json("application.json")["observed"]["signal"] == "SIGSEGV"
    assert made.json("application.json")["observed"]["memory"]["cards"][0]["peak_bytes"] == 7_049_000_000
    assert made.json("application.json")["observed"]["told"]["crashes"][0]["document"] == "doc-07"
    assert made.json("trial.json")["order"]["card"] == "NVIDIA H200"
    assert "CUDA error: an illegal memory access" in made.text("logs/application-stderr.txt")
    assert "libcuda" in made.text("logs/probe-stderr.txt")
    summary = made.text("SUMMARY.txt")
    for words in ("Decision: fix", "First error: results.complete", "NVIDIA H200", "580.95.05"):
        assert words in summary


def test_every_check_of_the_verdict_is_in_it_with_its_documents_by_identifier(tmp_path: Path) -> None:
    verdict, trial = failed(tmp_path / "trial")
    written = opened.made(trial, verdict, tmp_path).json("verdict.json")
    checks = [check for row in written["criteria"] for check in row["checks"]]
    assert [(check["id"], check["status"]) for check in checks] == [
        (c.id, c.status) for c in verdict.checks()
    ]
    assert next(check["documents"] for check in checks if check["id"] == "results.complete") == [
        "doc-08",
        "doc-11",
    ]
    assert written["decision"] == "fix"
    assert written["factors"]["machine.driver"] == "580.95.05"


def test_every_file_that_is_not_in_it_is_listed_with_the_reason(made: opened.Opened) -> None:
    text = made.text("LEFT_OUT.txt")
    entries = [(one["what"], one["why"]) for one in made.json("manifest.json")["left_out"]]
    listed = dict(entries)
    assert [why for what, why in entries if what == "evidence/application/" and "documents themselves" in why]
    assert any(
        line.startswith("evidence/application/ (1 file, ") and "records" in line for line in text.splitlines()
    )
    assert "report.html" in listed
    assert "documents.json" in listed["evidence/documents.json"]
    assert "not known to this version" in listed["./"]
    assert "evidence/inventory.json" not in listed
    assert len(text.splitlines()) == len(made.json("manifest.json")["left_out"])


def test_evidence_that_the_bundle_does_not_know_is_left_out(tmp_path: Path) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    trial.envelope_path("payroll").write_text('{"secret": "salaries of all"}')
    seen = opened.made(trial, verdict, tmp_path)
    assert "salaries" not in seen.whole
    assert "evidence/payroll.json" in seen.text("LEFT_OUT.txt")


def test_a_trial_without_a_verdict_is_packed_with_the_checks_so_far(tmp_path: Path) -> None:
    _, trial = samples.go(tmp_path / "trial")
    line = {
        "nodeid": "suites/gpu/test_x.py::test_a",
        "status": "failed",
        "message": f"token {SECRET}",
        "seconds": 0.1,
    }
    (trial.path / "checks.jsonl").write_text(json.dumps(line) + '\n[1]\n{"torn": ', encoding="utf-8")
    seen = opened.made(trial, None, tmp_path)
    assert "interrupted" in seen.text("SUMMARY.txt")
    assert [check["status"] for check in seen.json("checks.json")] == ["failed"]
    assert SECRET not in seen.whole


@pytest.mark.parametrize("sample", samples.SAMPLES)
def test_every_kind_of_trial_can_be_packed(sample: str, tmp_path: Path) -> None:
    verdict, trial = samples.SAMPLES[sample](tmp_path / "trial")
    seen = opened.made(trial, verdict, tmp_path)
    assert seen.json("verdict.json")["decision"] == verdict.decision
    assert seen.json("manifest.json")["sums"] == "there are none"


@pytest.mark.parametrize("spoiled", ["{", '{"name": "launch"}', "\0"])
def test_evidence_that_cannot_be_read_is_said(tmp_path: Path, spoiled: str) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    trial.envelope_path("launch").write_text(spoiled)
    seen = opened.made(trial, verdict, tmp_path)
    assert "unreadable" in seen.json("launch.json")
    assert seen.json("inventory.json")["observed"]["driver"] == "580.95.05"


def test_a_value_whose_name_speaks_of_a_secret_is_hidden_whatever_it_looks_like(tmp_path: Path) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    verdict = verdict.model_copy(
        update={"factors": {"environment.api_key": "plain words", "machine.driver": "1"}}
    )
    written = opened.made(trial, verdict, tmp_path).json("verdict.json")["factors"]
    assert written == {"environment.api_key": "(a secret given by name, hidden)", "machine.driver": "1"}


# -- sizes -------------------------------------------------------------------------------------------------


def test_a_long_item_keeps_its_head_and_its_tail_and_that_is_said(tmp_path: Path) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    distributions = {f"package-{n}": "1.0 " + "x" * 90 for n in range(4000)}
    stored = samples.envelope(
        "launch", observed=samples.launch(distributions=distributions).model_dump(mode="json")
    )
    trial.envelope_path("launch").write_text(stored.model_dump_json())
    seen = opened.made(trial, verdict, tmp_path)
    assert max(map(len, seen.content.values())) <= ITEM_BYTES
    text = seen.text("launch.json.txt")
    assert "package-0" in text
    assert "cuda_driver" in text, "the end is there too"
    assert "bytes left out" in text
    assert any(
        "launch.json.txt" in line and "its middle" in line for line in seen.text("LEFT_OUT.txt").splitlines()
    )


def test_of_very_many_checks_those_that_did_not_pass_are_kept(tmp_path: Path) -> None:
    held = Claim(holds=False, required="y", found="x" * 3000, documents=[])
    verdict, trial = samples.verdict(failing={"failures.exit": held}), samples.trial(tmp_path / "trial", {})
    row = verdict.criteria[0]
    many = [row.checks[0].model_copy(update={"id": f"launch.{n}", "found": "z" * 300}) for n in range(1500)]
    verdict = verdict.model_copy(
        update={"criteria": [row.model_copy(update={"checks": many}), *verdict.criteria[1:]]}
    )
    written = opened.made(trial, verdict, tmp_path).json("verdict.json")
    assert written["criteria"][0]["checks_passed"] == 1500
    assert [c["id"] for one in written["criteria"] for c in one["checks"]] == ["failures.exit"]


def test_a_long_text_keeps_both_ends(tmp_path: Path) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    verdict = verdict.model_copy(update={"reason": "begins " + "x" * 9000 + " ends"})
    reason = opened.made(trial, verdict, tmp_path).json("verdict.json")["reason"]
    assert reason.startswith("begins ")
    assert reason.endswith(" ends")
    assert len(reason) < 4100


# -- the archive -------------------------------------------------------------------------------------------


def test_only_its_owner_can_read_it_whatever_the_umask(tmp_path: Path) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    for number, mask in enumerate((0o000, 0o022, 0o177)):
        before = os.umask(mask)
        try:
            bundle.write(trial, verdict, tmp_path / f"{number}.tar.gz")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{number}.tar.gz").stat().st_mode) == 0o600
    members = opened.read(tmp_path / "0.tar.gz").members
    assert {(one.mode, one.uid, one.gid, one.uname, one.gname) for one in members} == {(0o600, 0, 0, "", "")}
    assert all(one.isfile() for one in members)


def test_the_same_trial_gives_the_same_bytes(tmp_path: Path) -> None:
    verdict, trial = failed(tmp_path / "trial")
    for name in ("a", "b"):
        bundle.write(trial, verdict, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    members = opened.read(tmp_path / "a").members
    assert [one.name for one in members] == sorted(one.name for one in members)
    assert len({one.mtime for one in members}) == 1


def _file(path: Path) -> None:
    path.write_text("mine")


def _link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


@pytest.mark.parametrize("there", [_file, Path.mkdir, _link])
def test_nothing_is_overwritten(tmp_path: Path, there: Any) -> None:
    verdict, trial = samples.go(tmp_path / "trial")
    there(tmp_path / "bundle.tar.gz")
    with pytest.raises(InputError, match="nothing is overwritten"):
        bundle.write(trial, verdict, tmp_path / "bundle.tar.gz")
    assert not (tmp_path / "nowhere").exists()


def test_a_trial_that_calls_itself_a_path_names_no_path(tmp_path: Path) -> None:
    verdict, _ = samples.go(tmp_path / "trial")
    trial = samples.trial(tmp_path / "other", {}, samples.record(trial="../../etc/passwd"))
    assert bundle.default_file(trial) == tmp_path / "trial-provider.tar.gz"
    assert opened.made(trial, verdict, tmp_path).folder == "trial-provider"
