"""A copy on a real SFTP server: by a key, to a host that is known; and each fault beside its healthy twin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.storage import servers

if WHY := servers.missing("sftp"):
    pytest.skip(WHY, allow_module_level=True)

from fixtures import copy
from fixtures import storage
from fixtures.evidence import sums
from fixtures.evidence import trial as store
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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers.sftp(tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(autouse=True)
def access(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(storage, "PAUSES_S", (0.0, 0.0))


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "reread", lambda *_: making.REREAD)


@pytest.fixture
def target(server: Server, tmp_path: Path) -> str:
    """A place that is not there yet, in a folder that is."""
    return f"sftp://renter@127.0.0.1:{server.port}/{tmp_path.name}"


def there(server: Server, target: str) -> Path:
    assert server.folder
    return server.folder / target.rpartition("/")[2]


def by(wire: Wire, target: str, server: Server, monkeypatch: pytest.MonkeyPatch, home: Path) -> str:
    """The same place along `wire`, to a host that is as well known there."""
    (home / ".ssh").mkdir(parents=True)
    given = Path(server.environment["HOME"], ".ssh")
    key = home / ".ssh" / "id_ed25519"
    key.touch(mode=0o600)
    key.write_text((given / "id_ed25519").read_text())
    known = (given / "known_hosts").read_text().replace(f":{server.port} ", f":{wire.port} ")
    (home / ".ssh" / "known_hosts").write_text(known)
    monkeypatch.setenv("HOME", str(home))
    return target.replace(f":{server.port}/", f":{wire.port}/")


def test_a_whole_pilot_is_copied_read_back_and_judged_again(
    server: Server, target: str, bench: Bench
) -> None:
    bench.parameters["copy_to"] = target
    run = bench.run("--once")
    assert (run.exit_status, run.decided.decision) == (0, "undecided"), run.output
    assert {run.status(f"end_of_trial.{one}") for one in ("copied", "sums_agree", "judged_alike")} == {
        "passed"
    }
    assert run.trial is not None
    assert contents(there(server, target) / run.trial.name) == contents(run.trial)


@pytest.mark.usefixtures("unjudged")
def test_awkward_names_come_back(server: Server, target: str, tmp_path: Path) -> None:
    trial = begun(tmp_path, target.replace("sftp://", "ssh://"))
    assert ended(trial).decision == "go"
    assert making.read_back(f"{target}/{trial.name}", tmp_path / "back") == contents(trial.path)


@pytest.mark.usefixtures("unjudged")
def test_a_host_of_the_ssh_configuration_is_found_by_its_name(
    server: Server, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "home" / ".ssh"
    ssh.mkdir(parents=True)
    given = Path(server.environment["HOME"], ".ssh")
    (ssh / "config").write_text(
        f"Host storage\n  HostName 127.0.0.1\n  Port {server.port}\n  User renter\n"
        f"  IdentityFile {given}/id_ed25519\n  UserKnownHostsFile {given}/known_hosts\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    trial = begun(tmp_path, f"ssh://storage/{tmp_path.name}")
    assert observed(trial).error is None
    assert (there(server, target) / trial.name / store.RECORD).exists()


@pytest.mark.usefixtures("unjudged")
def test_a_host_that_nobody_knows_gets_nothing(
    server: Server, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(server.port)
    elsewhere = by(wire, target, server, monkeypatch, tmp_path / "home")
    known = tmp_path / "home" / ".ssh" / "known_hosts"
    known.write_text("")
    trial = begun(tmp_path, elsewhere)
    assert "is in no known_hosts" in str(observed(trial).error)
    known.write_text(f"[127.0.0.1]:{wire.port} " + _another_key())
    assert "does not match" in str(observed(trial).error)
    wire.close()
    assert not there(server, target).exists()


def _another_key() -> str:
    import asyncssh

    key = asyncssh.generate_private_key("ssh-ed25519")
    return key.export_public_key().decode()


@pytest.mark.usefixtures("unjudged")
def test_without_the_key_there_is_no_access(
    target: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(server.port)
    elsewhere = by(wire, target, server, monkeypatch, tmp_path / "home")
    (tmp_path / "home" / ".ssh" / "id_ed25519").unlink()
    error = str(observed(begun(tmp_path, elsewhere)).error)
    wire.close()
    assert "tried" not in error
    assert error.lower().startswith(("no authentication methods available", "authentication failed"))


@pytest.mark.usefixtures("unjudged")
def test_without_permission_to_write_it_is_said(server: Server, tmp_path: Path) -> None:
    trial = begun(tmp_path, f"sftp://renter@127.0.0.1:{server.port}/readonly")
    assert str(observed(trial).error).startswith("Permission denied: sftp://renter@127.0.0.1:")


@pytest.mark.usefixtures("unjudged")
def test_only_the_last_folder_is_made(server: Server, tmp_path: Path) -> None:
    trial = begun(tmp_path, f"sftp://renter@127.0.0.1:{server.port}/storage/copies")
    assert str(observed(trial).error).startswith("no folder /storage: sftp://")


@pytest.mark.usefixtures("unjudged")
def test_files_altered_and_lost_behind_the_suites_back_are_named(
    server: Server, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = begun(tmp_path, target)
    folder, original = there(server, target) / trial.name, storage.Address.fetched

    def fetched(self: storage.Address, *given: Any) -> Path:
        (folder / "evidence" / "launch.json").write_bytes(b"something else")
        (folder / store.RECORD).unlink()
        return original(self, *given)

    monkeypatch.setattr(storage.Address, "fetched", fetched)
    wrong = {one.path: one.copy_sha256 for one in observed(trial).files if one.sha256 != one.copy_sha256}
    assert wrong == {"evidence/launch.json": sums.of_bytes(b"something else"), store.RECORD: None}


@pytest.mark.usefixtures("unjudged")
def test_a_connection_that_is_gone_at_the_very_end_turns_the_verdict(
    server: Server, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(server.port)
    trial = begun(tmp_path, by(wire, target, server, monkeypatch, tmp_path / "home"))
    trials.keep(trial, "copy", observed(trial))
    wire.cut_now()
    verdict, unwritten = closing.close(trial, facts(), lambda verdict: verdict.decision, copying=True)
    wire.close()
    assert (verdict.decision, unwritten) == ("fix", [])
    assert verdict.first_error is not None
    assert verdict.first_error.check == closing.COPIED
    assert "(tried 3 times): sftp://renter@" in verdict.first_error.message
    assert "a verdict.json that does not count may lie there" in verdict.first_error.message
    assert not (there(server, target) / trial.name / store.VERDICT).exists()


@pytest.mark.usefixtures("unjudged")
def test_a_server_that_never_answers_is_left(
    server: Server, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(server.port, silent=True)
    monkeypatch.setattr(storage, "CLIENT_S", 0.3)
    monkeypatch.setattr(storage, "PAUSES_S", (0.0,))
    error = str(observed(begun(tmp_path, by(wire, target, server, monkeypatch, tmp_path / "home"))).error)
    wire.close()
    assert "(tried 2 times): sftp://renter@" in error


def test_a_connection_that_is_cut_half_way_is_gone_on_with_and_nothing_is_written_again(
    server: Server,
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wire = Wire(server.port, cut_after=150_000)
    trial = closed(tmp_path, by(wire, target, server, monkeypatch, tmp_path / "home"))
    assert continued(trial) == 10
    assert wire.cut
    assert "broke off: " in capsys.readouterr().out
    folder, files = there(server, target) / trial.name, contents(trial.path)
    half = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    torn = [path for path in half if path.name == "large"]
    assert 0 < len(half) < len(files)
    assert torn, "the file that was being written lies there, and is not whole"
    assert sums.of_file(torn[0]) != files["evidence/application/output/large"]

    wire.mend()
    assert continued(trial) == 0
    printed = capsys.readouterr().out
    assert making.read_back(f"{trial.record.copy_to}/{trial.name}", tmp_path / "back") == files
    wire.close()
    assert (
        f"{len(half) - 1} of {len(files)} files were there, {len(files) - len(half) + 1} written" in printed
    )
    assert "corrupted, written: evidence/application/output/large" in printed
    assert {path: path.stat().st_mtime_ns for path in half if path not in torn} == {
        path: time for path, time in half.items() if path not in torn
    }
