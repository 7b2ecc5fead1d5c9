"""Secrets in what the application printed: replaced on disk with bounded memory, and in the ends that are shown."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fixtures import printed
from fixtures.evidence.trial import Broken
from tests.pilot.refusals import KEY
from tests.pilot.refusals import TOKEN

VALUES = {b"secret-one": "ONE_TOKEN", b"secret-one-and-more": "LONG_KEY", b"hunter2!": "DB_PASSWORD"}


@pytest.mark.parametrize("chunk", [1, 7, 10, 19, 64, 1 << 20])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x secret-one y", b"x $ONE_TOKEN y"),
        (b"secret-one-and-more", b"$LONG_KEY"),
        (b"secret-one-and-mor", b"$ONE_TOKEN-and-mor"),
        (b"hunter2!hunter2!secret-one", b"$DB_PASSWORD$DB_PASSWORD$ONE_TOKEN"),
        (b"\xff\x00hunter2!\n" * 30, b"\xff\x00$DB_PASSWORD\n" * 30),
        (b"a" * 50 + b"secret-one-and-more" + b"b" * 50, b"a" * 50 + b"$LONG_KEY" + b"b" * 50),
    ],
)
def test_a_value_is_replaced_wherever_the_chunks_part(
    before: bytes, after: bytes, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "CHUNK_BYTES", chunk)
    path = tmp_path / "stdout.txt"
    path.write_bytes(before)
    printed.hide(path, VALUES)
    assert path.read_bytes() == after
    assert [one.name for one in tmp_path.iterdir()] == ["stdout.txt"]


def test_what_is_no_file_of_ours_is_left_alone(tmp_path: Path) -> None:
    """A pipe in its place would be waited for without end, and behind a link lies what is somebody else's."""
    (theirs := tmp_path / "theirs").write_bytes(b"hunter2!")
    (link := tmp_path / "link").symlink_to(theirs)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing"):
        printed.hide(tmp_path / name, VALUES)
    assert (link.is_symlink(), theirs.read_bytes()) == (True, b"hunter2!")


@pytest.mark.parametrize("text", [b"", b"secret-on", b"nothing here\n" * 1000])
def test_a_stream_without_secrets_is_not_written_again(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "stdout.txt"
    path.write_bytes(text)
    before = path.stat()
    printed.hide(path, VALUES)
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_stream_that_the_application_took_away_is_no_obstacle(tmp_path: Path) -> None:
    printed.hide(tmp_path / "stdout.txt", VALUES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["HF_TOKEN", "aws_secret_access_key", "DB_PASSWORD", "MY_CREDENTIALS"])
def test_a_variable_whose_name_speaks_of_a_secret_is_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "0123456789abc")
    assert printed.secret_values()[b"0123456789abc"] == name


@pytest.mark.parametrize("value", ['quo"ted-and-\\', "schlüssel-wörter", 'naïve\n"密码"🔑'])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_value_is_hidden_as_json_writes_it_too(
    value: str, ascii_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", value)
    path = tmp_path / "results.jsonl"
    reason = f"401 for {value}"
    path.write_text(json.dumps({"id": "ö", "reason": reason}, ensure_ascii=ascii_only), encoding="utf-8")
    printed.hide(path, printed.secret_values())
    assert json.loads(path.read_bytes()) == {"id": "ö", "reason": "401 for $HF_TOKEN"}


def test_a_plain_value_has_one_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLY_TOKEN", "0123456789abc")
    assert [value for value, name in printed.secret_values().items() if name == "ONLY_TOKEN"] == [
        b"0123456789abc"
    ]


@pytest.fixture
def heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions hold for root too."""
    original = Path.open

    def heeding(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if set(mode) & set("wxa") and not path.parent.stat().st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", heeding)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("mode", [0o555, 0o755, 0o700])
def test_a_secret_is_hidden_in_a_folder_that_was_made_read_only_and_the_folder_stays_so(
    mode: int, tmp_path: Path
) -> None:
    (folder := tmp_path / "output").mkdir()
    (path := folder / "results.jsonl").write_bytes(b"hunter2!")
    folder.chmod(mode)
    printed.hide(path, VALUES)
    assert (path.read_bytes(), stat.S_IMODE(folder.stat().st_mode)) == (b"$DB_PASSWORD", mode)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(("text", "raises"), [(b"hunter2!", True), (b"nothing", False)])
def test_where_a_secret_cannot_be_hidden_that_is_said_and_not_the_secret(
    text: bytes, raises: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is somebody else's."""
    (folder := tmp_path / "output").mkdir()
    (path := folder / "results.jsonl").write_bytes(text)
    folder.chmod(0o555)

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refused)
    if not raises:
        printed.hide(path, VALUES)
        return
    with pytest.raises(Broken) as error:
        printed.hide(path, VALUES)
    assert f"in a file in {folder} and could not be hidden there: Operation not permitted" in str(error.value)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(("name", "value"), [("HF_TOKEN", "short"), ("MODEL", "0123456789abc")])
def test_another_or_a_short_one_is_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert value.encode() not in printed.secret_values()


def _ends(tmp_path: Path, text: str) -> tuple[str, str]:
    path = tmp_path / "evidence" / "application" / "stdout.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    output = printed.output(path, tmp_path)
    assert (output.file, output.bytes) == ("evidence/application/stdout.txt", len(text.encode()))
    return output.head, output.tail


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"logging in with {TOKEN}\n", "logging in with (a Hugging Face token, hidden)\n"),
        (f"id {KEY}, ok", "id (an AWS access key, hidden) ok"),
        ("loading\npassword=correct-horse rest", "loading\n(a secret given by name, hidden) rest"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIB\nabc=\n-----END PRIVATE KEY-----\ndone",
            "(a private key, hidden)\ndone",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIB\nabc=", "(a private key, hidden)"),
    ],
)
def test_what_looks_like_a_secret_is_not_in_the_evidence(text: str, shown: str, tmp_path: Path) -> None:
    assert _ends(tmp_path, text) == (shown, "")


def test_ordinary_output_is_shown_as_it_is(tmp_path: Path) -> None:
    text = "max_tokens: 512\nKeyError: 'api_key'\ntokens per second: 12.5\n"
    assert _ends(tmp_path, text) == (text, "")


@pytest.mark.parametrize("size", [5000, 9000, 100_000])
def test_a_secret_across_the_edge_of_an_end_is_not_half_shown(size: int, tmp_path: Path) -> None:
    """A token lies on the last byte of the head and on the first of the tail."""
    text = bytearray(b"word " * (size // 5))
    for edge in {printed.CHARACTERS, size - printed.CHARACTERS} - {1000}:
        text[edge - 20 : edge - 20 + len(TOKEN) + 2] = f" {TOKEN} ".encode()
    head, tail = _ends(tmp_path, text.decode())
    assert TOKEN[:12] not in head + tail
    assert TOKEN[-12:] not in head + tail
    assert min(len(head), len(tail)) > 900


def test_one_endless_word_is_shown_up_to_the_edges(tmp_path: Path) -> None:
    head, tail = _ends(tmp_path, "x" * 100_000)
    assert head == "x" * printed.CHARACTERS
    assert tail == "x" * printed.CHARACTERS


def test_no_secret_stays_in_a_folder_nor_in_the_names_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log-s3cr3t-value.txt").write_text("login s3cr3t-value\n")
    (tmp_path / "other.txt").write_text("nothing")
    (tmp_path / "link").symlink_to("other.txt")
    printed.hide_below(tmp_path, {b"s3cr3t-value": "MY_TOKEN"})
    assert (tmp_path / "deep" / "log-$MY_TOKEN.txt").read_text() == "login $MY_TOKEN\n"
    assert [path for path in tmp_path.rglob("*") if "s3cr3t" in path.name] == []
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "other.txt").read_text() == "nothing"
