"""A copy in a real S3 storage: written, read back, continued; and each fault of a storage beside its healthy twin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.storage import servers

if WHY := servers.missing("s3"):
    pytest.skip(WHY, allow_module_level=True)

import boto3

from fixtures import copy
from fixtures import storage
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.trial import Trial
from plugins import closing
from tests.evidence import making as trials
from tests.pilot.bench import Bench
from tests.storage import making
from tests.storage.making import begun
from tests.storage.making import closed
from tests.storage.making import contents
from tests.storage.making import continued
from tests.storage.making import ended
from tests.storage.making import observed
from tests.storage.servers import Server
from tests.storage.servers import Wire
from tests.verdict.making import facts


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with servers.s3() as server:
        yield server


@pytest.fixture(autouse=True)
def access(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(storage, "PAUSES_S", (0.0, 0.0))


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "reread", lambda *_: making.REREAD)


class Bucket:
    """One bucket, as somebody else's client sees it. It keeps every version of every object."""

    def __init__(self, server: Server, name: str) -> None:
        given = {key.lower(): value for key, value in server.environment.items()}
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=given["aws_endpoint_url"],
            region_name="us-east-1",
            aws_access_key_id=given["aws_access_key_id"],
            aws_secret_access_key=given["aws_secret_access_key"],
        )
        self.name, self.target = name, f"s3://{name}/a prefix"
        self.client.create_bucket(Bucket=name)
        self.client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})

    def listed(self) -> set[str]:
        return {one["Key"] for one in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])}

    def versions(self) -> dict[str, int]:
        """How often each object was written."""
        found: dict[str, int] = {}
        for one in self.client.list_object_versions(Bucket=self.name).get("Versions", []):
            found[one["Key"]] = found.get(one["Key"], 0) + 1
        return found

    def key(self, trial: Trial, name: str) -> str:
        return f"a prefix/{trial.name}/{name}"

    def alter(self, trial: Trial, name: str) -> None:
        self.client.put_object(Bucket=self.name, Key=self.key(trial, name), Body=b"something else")

    def lose(self, trial: Trial, name: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=self.key(trial, name))

    def deny(self, action: str) -> None:
        resource = [f"arn:aws:s3:::{self.name}", f"arn:aws:s3:::{self.name}/*"]
        statement = {"Effect": "Deny", "Principal": "*", "Action": action, "Resource": resource}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self.client.put_bucket_policy(Bucket=self.name, Policy=policy)


@pytest.fixture
def bucket(server: Server, tmp_path: Path) -> Iterator[Bucket]:
    bucket = Bucket(server, f"b{sums.of_bytes(str(tmp_path).encode())[:20]}")
    yield bucket
    bucket.client.close()


def test_a_whole_pilot_is_copied_read_back_and_judged_again(bucket: Bucket, bench: Bench) -> None:
    bench.parameters["copy_to"] = bucket.target
    run = bench.run("--once", forked=True)
    assert (run.exit_status, run.decided.decision) == (0, "undecided"), run.output
    assert {run.status(f"end_of_trial.{one}") for one in ("copied", "sums_agree", "judged_alike")} == {
        "passed"
    }
    assert run.trial is not None
    where = f"{bucket.target}/{run.trial.name}"
    assert making.read_back(where, bench.folder / "back") == contents(run.trial)
    assert set(bucket.versions().values()) == {1}, "each object was written once"
    assert not list(bench.folder.rglob("read-back"))
    known = [
        path for path in run.trial.rglob("*") if path.is_file() and b"renter-renter" in path.read_bytes()
    ]
    assert known == [], "what opens the storage stands in no file"


@pytest.mark.usefixtures("unjudged")
def test_awkward_names_come_back_and_nothing_is_written_twice(bucket: Bucket, tmp_path: Path) -> None:
    trial = begun(tmp_path, bucket.target)
    assert ended(trial).decision == "go"
    assert making.read_back(f"{bucket.target}/{trial.name}", tmp_path / "back") == contents(trial.path)
    assert set(bucket.versions().values()) == {1}


@pytest.mark.usefixtures("unjudged")
def test_a_bucket_that_does_not_exist_is_said_and_not_made(
    server: Server, bucket: Bucket, tmp_path: Path
) -> None:
    trial = begun(tmp_path, "s3://nobodys/copies")
    seen = observed(trial)
    assert (
        seen.error
        == f"The specified bucket does not exist: s3://nobodys/copies/{trial.name}/{seen_first(trial)}"
    )
    assert (seen.files, seen.reread) == ([], None)
    assert "nobodys" not in {one["Name"] for one in bucket.client.list_buckets()["Buckets"]}


def seen_first(trial: Trial) -> str:
    return sums.shown(copy.worth_copying(trial.path)[0])


@pytest.mark.usefixtures("unjudged")
def test_without_permission_to_write_it_is_said(bucket: Bucket, tmp_path: Path) -> None:
    trial = begun(tmp_path, bucket.target)
    bucket.deny("s3:PutObject")
    assert str(observed(trial).error).startswith(("Forbidden: s3://", "Access Denied: s3://"))
    assert bucket.listed() == set()


@pytest.mark.usefixtures("unjudged")
def test_objects_altered_and_lost_behind_the_suites_back_are_named(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = begun(tmp_path, bucket.target)
    original = storage.Address.fetched

    def fetched(self: storage.Address, *given: Any) -> Path:
        bucket.alter(trial, "evidence/launch.json")
        bucket.lose(trial, store.RECORD)
        return original(self, *given)

    monkeypatch.setattr(storage.Address, "fetched", fetched)
    wrong = {one.path: one.copy_sha256 for one in observed(trial).files if one.sha256 != one.copy_sha256}
    assert wrong == {"evidence/launch.json": sums.of_bytes(b"something else"), store.RECORD: None}


@pytest.mark.usefixtures("unjudged")
def test_a_storage_that_takes_nothing_more_at_the_very_end_turns_the_verdict(
    bucket: Bucket, tmp_path: Path
) -> None:
    trial = begun(tmp_path, bucket.target)
    trials.keep(trial, "copy", observed(trial))
    bucket.deny("s3:PutObject")
    verdict, unwritten = closing.close(trial, facts(), lambda verdict: verdict.decision, copying=True)
    assert (verdict.decision, unwritten) == ("fix", [])
    assert verdict.first_error is not None
    assert verdict.first_error.check == closing.COPIED
    assert bucket.target in verdict.first_error.message
    assert bucket.key(trial, store.VERDICT) not in bucket.listed()


@pytest.mark.usefixtures("unjudged")
def test_a_server_that_never_answers_holds_nobody_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(server.port, silent=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{wire.port}")
    monkeypatch.setattr(storage, "PATIENCE_S", 0.5)
    monkeypatch.setattr(storage, "PAUSES_S", (0.0,))
    error = str(observed(begun(tmp_path, "s3://bucket/copies")).error)
    wire.close()
    assert error.startswith("no answer within ")
    assert "(tried 2 times): s3://bucket/copies/" in error


def test_the_client_itself_gives_up_waiting_and_says_so(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(server.port, silent=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{wire.port}")
    monkeypatch.setattr(storage, "CLIENT_S", 0.3)
    monkeypatch.setattr(storage, "PAUSES_S", ())
    with (
        storage.Address("s3://bucket/copies/trial") as place,
        pytest.raises(OSError, match=r"[Tt]imeout.*tried 1 time"),
    ):
        place.names()
    wire.close()


# -- a copy that was interrupted ---------------------------------------------------------------------------


def test_a_connection_that_is_cut_half_way_is_gone_on_with_and_nothing_is_written_again(
    server: Server,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trial = closed(tmp_path, bucket.target)
    wire = Wire(server.port, cut_after=150_000)  # in the middle of the largest file
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{wire.port}")
    assert continued(trial) == 10
    printed = capsys.readouterr().out
    assert wire.cut
    assert f"{bucket.target}/{trial.name}" in printed
    assert "broke off: " in printed
    assert "the same command goes on from here" in printed
    half = bucket.listed()
    assert 0 < len(half) < len(contents(trial.path))
    assert bucket.key(trial, store.VERDICT) not in half

    wire.mend()
    assert continued(trial) == 0
    printed = capsys.readouterr().out
    files = contents(trial.path)
    assert f"{len(half)} of {len(files)} files were there, {len(files) - len(half)} written" in printed
    assert f"missing, written: {store.VERDICT}" in printed
    assert making.read_back(f"{bucket.target}/{trial.name}", tmp_path / "back") == files
    wire.close()
    assert set(bucket.versions().values()) == {1}, "nothing that was there was written again"


def test_what_is_altered_or_lost_is_named_and_put_right(
    bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = closed(tmp_path, bucket.target)
    assert continued(trial) == 0
    bucket.alter(trial, "evidence/launch.json")
    bucket.lose(trial, store.RECORD)
    capsys.readouterr()
    assert continued(trial, "--check") == 10
    printed = capsys.readouterr().out
    assert "corrupted: evidence/launch.json" in printed
    assert f"missing: {store.RECORD}" in printed
    assert bucket.key(trial, store.RECORD) not in bucket.listed(), "a look writes nothing"
    assert continued(trial) == 0
    printed = capsys.readouterr().out
    assert "corrupted, written: evidence/launch.json" in printed
    assert f"missing, written: {store.RECORD}" in printed
    assert continued(trial, "--check") == 0
    assert making.read_back(f"{bucket.target}/{trial.name}", tmp_path / "back") == contents(trial.path)
