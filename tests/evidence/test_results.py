"""The results file as read: what is one line, what is one record, and what is neither."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures import results
from fixtures.evidence import base
from fixtures.evidence.models import Results
from fixtures.evidence.trial import write_json
from fixtures.formats.found import TEXT_CHARACTERS
from fixtures.formats.jsonl import DEEPEST

RECORD = b'{"id": "doc-01", "status": "accepted"}'
LONG_AGO, SOON = 1_000_000.0, 4_000_000_000.0
quick = settings(derandomize=True, max_examples=100, deadline=None)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
records = st.lists(st.dictionaries(st.text(), values, max_size=4), max_size=8)


@quick
@given(records, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_as_many_records_come_back_as_were_written(
    written: list[dict[str, Any]], end: str, last: bool, ascii: bool
) -> None:
    text = end.join(json.dumps(record, ensure_ascii=ascii) for record in written)
    text += end if last and written else ""
    lines, left_out = results.split(text.encode())
    assert [line.record for line in lines] == written
    assert [line.number for line in lines] == list(range(1, len(written) + 1))
    assert left_out == 0
    assert all(line.problem is None for line in lines)


@quick
@given(st.binary(max_size=200))
def test_whatever_the_bytes_every_line_has_a_record_or_a_problem(data: bytes) -> None:
    lines, left_out = results.split(data)
    assert len(lines) == data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
    assert left_out == 0
    for line in lines:
        assert (line.record is None) == (line.problem is not None)


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "an empty line"), "white space": (b" \t\r", "an empty line"),
    "two records on it": (RECORD + RECORD, "more than one JSON value on the line"),
    "two records with a blank between": (RECORD + b" " + RECORD, "more than one JSON value on the line"),
    "two records with U+2028 between": (RECORD + "\u2028".encode() + RECORD, "more than one JSON value"),
    "a byte order mark": (b"\xef\xbb\xbf" + RECORD, "byte order mark (BOM)"),
    "torn": (RECORD[:-1], "torn"), "torn in a string": (RECORD[:12], "torn"), "torn in a key": (b'{"i', "torn"),
    "its second half": (RECORD[20:], "expecting value"),
    "a list": (b'["doc-01", "accepted"]', "a JSON list, not an object"), "a number": (b"1", "a JSON int"),
    "null": (b"null", "a JSON NoneType"), "text": (b'"doc-01"', "a JSON str"),
    "NaN": (b'{"score": NaN}', "the bare word NaN"), "1e999": (b'{"score": 1e999}', "not finite"),
    "a key twice": (b'{"id": "a", "id": "b"}', "twice in one object"),
    "half a surrogate pair": (b'{"id": "\\ud800"}', "half of a surrogate pair"),
    "Latin-1": (b'{"id": "caf\xe9"}', "not UTF-8 at byte 12"),
    "UTF-16": ('{"id": "a"}'.encode("utf-16"), "not UTF-8 at byte 1"), "NUL bytes": (b"\0\0\0", "expecting value"),
    "a comment": (b"# results", "expecting value"), "single quotes": (b"{'id': 'a'}", "property name"),
    "a trailing comma": (RECORD + b",", "more than one JSON value on the line"),
    "nesting too deep": (b'{"a": ' + b"[" * 99 + b"]" * 99 + b"}", "nesting too deep"),
    "nesting far too deep": (b'{"a": "\\u0020", "b":' + b"[" * 5000 + b"]" * 5000 + b"}", "nesting too deep"),
    "an integer of thousands of digits": (b'{"a": ' + b"1" * 5000 + b"}", "thousands of digits"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_line_is_no_record_when_it_is(case: str) -> None:
    data, words = BAD[case]
    (line, after), _ = results.split(data + b"\n" + RECORD + b"\n")
    assert line.record is None
    assert words in (line.problem or "")
    assert (after.number, after.record) == (2, json.loads(RECORD))


GOOD: dict[str, bytes] = {
    "U+2028 inside a string": '{"id": "a\u2028b"}'.encode(),
    "a carriage return behind it": RECORD + b"\r",
    "white space around it": b"  " + RECORD + b"\t ",
    "other characters that split lines": '{"id": "\x85\u2029"}'.encode(),
    "an empty object": b"{}",
    "an escaped line feed": b'{"id": "a\\nb"}',
    "keys of its own": b'{"id": "a", "x": {"y": [1]}}',
    "a large integer": b'{"id": "a", "n": ' + b"9" * 300 + b"}",
    "a smile, escaped": b'{"id": "\\ud83d\\ude00"}',
    "as many levels as are allowed": b'{"a":' * (DEEPEST - 1) + b"[]" + b"}" * (DEEPEST - 1),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_line_is_a_record_with(case: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(GOOD[case])
    observed = results.observe(path, begun=LONG_AGO)
    assert [line.record for line in observed.lines] == [json.loads(GOOD[case])]
    write_json(tmp_path / "again.json", observed)
    assert base.load(tmp_path / "again.json", Results) == observed


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", RECORD + b"\n\n", RECORD + b"\n\n" + RECORD])
def test_a_blank_line_is_a_line_and_nothing_is_none(data: bytes) -> None:
    lines, _ = results.split(data)
    assert len(lines) == len([*data.split(b"\n")][: -1 if data.endswith(b"\n") or not data else None])
    assert [line.problem for line in lines if line.record is None] == ["an empty line"] * (
        len(lines) - data.count(RECORD)
    )


def test_lines_beyond_the_limit_are_counted_and_left_out() -> None:
    lines, left_out = results.split((RECORD + b"\n") * (results.MOST_LINES + 5))
    assert (len(lines), left_out) == (results.MOST_LINES, 5)
    assert results.split((RECORD + b"\n") * results.MOST_LINES)[1] == 0


def test_only_the_beginning_of_a_giant_line_is_shown() -> None:
    (line,), _ = results.split(b"x" * 100_000)
    assert (line.text, line.record) == ("x" * TEXT_CHARACTERS, None)


def test_bytes_that_are_no_text_are_shown_escaped() -> None:
    (line,), _ = results.split(b"caf\xe9")
    assert line.text == "caf\\xe9"


@pytest.mark.parametrize(
    ("begun", "fresh"), [(100.0, True), (100.9, True), (101.1, False), (99.0, True), (SOON, False)]
)
def test_results_count_as_new_when_they_were_written_since_the_run_began(
    begun: float, fresh: bool, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(RECORD)
    os.utime(path, (100.0, 100.0))
    assert results.observe(path, begun=begun).written_during_run is fresh


def make(kind: str, path: Path) -> None:
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.with_name("other").write_bytes(RECORD)
        path.symlink_to(path.with_name("other"))
    elif kind == "other":
        os.mkfifo(path)


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "other"])
def test_what_is_no_regular_file_holds_no_results(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    make(kind, path)
    observed = results.observe(path, begun=LONG_AGO)
    assert (observed.kind, observed.lines, observed.written_during_run) == (kind, [], False)
    assert (observed.bytes, observed.sha256) == (0, None)


def test_results_that_cannot_be_read_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(RECORD)

    def refuse(_: Path) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("fixtures.evidence.sums.of_file", refuse)
    observed = results.observe(path, begun=LONG_AGO)
    assert (observed.kind, observed.error, observed.lines) == ("file", "Input/output error", [])


def test_results_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_BYTES", 10)
    monkeypatch.setattr("fixtures.evidence.sums.of_file", None)  # no sum is taken of what is not read
    path = tmp_path / "results.jsonl"
    path.write_bytes(RECORD)
    observed = results.observe(path, begun=LONG_AGO)
    assert observed.error == f"{len(RECORD)} bytes, more than the 10 that are read"
    assert (observed.lines, observed.bytes) == ([], len(RECORD))
