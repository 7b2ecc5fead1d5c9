"""What is taken for an address, and what is refused before anything runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from fixtures import addresses
from fixtures.evidence.errors import InputError
from fixtures.evidence.parameters import Parameters
from plugins import opening
from tests.evidence import making
from tests.pilot.bench import Bench
from tests.plugins.making import config

#: put together here, so that no scanner takes this file for a leak
PASSWORD = "correct-horse-battery"


@pytest.fixture
def everything_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())


@pytest.mark.parametrize("place", ["copies", "../copies", "/mnt/a:b", "C:/x", "s3:/bucket", "//host/share"])
def test_a_path_is_no_address_and_stays_as_it_is(place: str) -> None:
    assert not addresses.is_address(place)
    assert addresses.accepted(place) == place


HEALTHY = [
    "s3://bucket", "s3://bucket/a prefix/x", "gs://bucket/prefix", "sftp://host/copies", "ssh://me@host:2222/srv/copies",
    "sftp://me@[::1]:22/copies".replace("::", "0:0:0:0:0:0:0:"), "local:///tmp/copies",
]  # fmt: skip


@pytest.mark.usefixtures("everything_installed")
@pytest.mark.parametrize("address", HEALTHY)
def test_an_address_without_a_secret_is_accepted_as_it_is(address: str) -> None:
    assert addresses.accepted(address) == address


@pytest.mark.parametrize(
    ("address", "path"),
    [("file:///mnt/copies", "/mnt/copies"), ("FILE://localhost/a%20b", "/a b"), ("file:///x#1", "/x#1")],
)
def test_a_file_address_is_its_folder(address: str, path: str) -> None:
    assert addresses.accepted(address) == path


REFUSED = [
    (f"s3://me:{PASSWORD}@storage/copies", "a password in an address (not shown)", "no secret"),
    (f"sftp://:{PASSWORD}@host/copies", "a password in an address (not shown)", "no secret"),
    (f"sftp://me:{PASSWORD}/x@host/copies", "(not shown)", "scheme://host:port/path"),
    (f"file://me:{PASSWORD}@host/copies", "a password in an address (not shown)", "no secret"),
    (f"abfs://container/x?sig={PASSWORD}", "behind a ? or # (not shown)", "no secret"),
    (f"s3://bucket/x#{PASSWORD}", "behind a ? or # (not shown)", "no secret"),
    ("sftp://me:@host/copies", "a password in an address (not shown)", "no secret"),
    ("simplecache::s3://bucket/x", "one address inside another", "one storage"),
    ("memory://copies", "gone when the process ends", "keeps what is written"),
    ("https://host/copies", "only gives", "keeps what is written"),
    ("nosuch://host/copies", "the scheme 'nosuch'", "s3://, gs://, sftp://"),
    ("://copies", "the scheme ''", "s3://, gs://, sftp://"),
    ("s3:///copies", "names no bucket", "s3://bucket/prefix"),
    ("sftp://host", "names no folder", "sftp://host/absolute/path"),
    ("file://host/copies", "file://host/copies", "file:///absolute/path"),
    ("file://", "file://", "file:///absolute/path"),
]  # fmt: skip


@pytest.mark.usefixtures("everything_installed")
@pytest.mark.parametrize(("address", "found", "wanted"), REFUSED)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(address: str, found: str, wanted: str) -> None:
    with pytest.raises(addresses.Refused) as refused:
        addresses.accepted(address)
    assert found in refused.value.found
    assert wanted in refused.value.wanted
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "module", "extra"),
    [
        ("s3://b/x", "s3fs", "'.[s3]'"),
        ("gs://b/x", "gcsfs", "'.[gs]'"),
        ("sftp://h/x", "paramiko", "'.[sftp]'"),
        ("ssh://h/x", "paramiko", "'.[sftp]'"),
        ("s3://b/x", "fsspec", "'.[s3]'"),
        ("local:///x", "fsspec", "pip install fsspec"),
    ],
)
def test_a_client_that_is_not_installed_is_named_with_what_brings_it(
    address: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(addresses.Refused) as refused:
        addresses.accepted(address)
    assert extra in refused.value.wanted
    assert module in refused.value.found


def test_a_client_that_only_fsspec_knows_of_is_named_too() -> None:
    if importlib.util.find_spec("adlfs") is not None:
        pytest.skip("the client that should be missing is installed")
    with pytest.raises(addresses.Refused, match="adlfs"):
        addresses.accepted("abfs://container/copies")


@pytest.mark.usefixtures("everything_installed")
@pytest.mark.parametrize("option", [True, False])
def test_an_address_is_the_place_of_the_copy_wherever_the_command_was_given(
    option: bool, tmp_path: Path
) -> None:
    def copy_to(place: str) -> str | None:
        given: dict[str, Any] = {"copy_to": place} if option else {}
        parameters = Parameters.model_validate({**making.PARAMETERS, "copy_to": None if option else place})
        return opening._copy_to(config(tmp_path / "here", tmp_path / "project", **given), parameters)

    assert copy_to("s3://bucket/prefix") == "s3://bucket/prefix"
    assert copy_to("file:///mnt/copies") == "/mnt/copies"
    with pytest.raises(InputError) as refused:
        copy_to(f"s3://me:{PASSWORD}@storage/copies")
    assert refused.value.file == (
        "--copy-to" if option else str(tmp_path / "project" / "config" / "pilot.json")
    )
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (f"s3://me:{PASSWORD}@storage/copies", "(not shown)"),
        ("nosuch://storage/copies", "the scheme 'nosuch'"),
    ],
)
def test_a_pilot_that_could_not_be_copied_does_not_begin(place: str, found: str, bench: Bench) -> None:
    run = bench.run("--copy-to", place, forked=True)
    assert (run.exit_status, run.trial, bench.trials()) == (4, None, [])
    assert (
        f"--copy-to: found {'what looks like a password in an address ' * (PASSWORD in place)}{found}"
        in run.output
    )
    assert PASSWORD not in run.output
    assert "Traceback" not in run.output
