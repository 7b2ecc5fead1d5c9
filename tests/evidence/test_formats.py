"""Results as renters write them: every trap beside a healthy twin, in each format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fixtures import results
from fixtures.evidence import base
from fixtures.evidence.models import Line
from fixtures.evidence.models import Results
from fixtures.evidence.parameters import ResultsFile
from fixtures.evidence.trial import write_json
from fixtures.formats import json_document

quick = settings(derandomize=True, max_examples=60, deadline=None)

A = {"id": "a", "status": "accepted", "category": "invoice"}
B = {"id": "b", "status": "rejected", "reason": "not UTF-8"}
HEADER = b"id,status,category,reason\n"
ROW_A, ROW_B = b"a,accepted,invoice,\n", b"b,rejected,,not UTF-8\n"
PLAIN = json.dumps([A, B]).encode()


def asked(format: str, **more: Any) -> ResultsFile:
    return ResultsFile.model_validate({"format": format, **more})


def read(data: bytes, format: str, **more: Any) -> list[Line]:
    lines, left_out = results.split(data, asked(format, **more))
    assert left_out == 0
    assert all((line.record is None) == (line.problem is not None) for line in lines)
    return lines


def records(data: bytes, format: str, **more: Any) -> list[Any]:
    """The records, with the problem in place of one that there is not."""
    return [line.problem if line.record is None else line.record for line in read(data, format, **more)]


# ---- the same records in every format

WRITTEN: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "JSON lines": (json.dumps(A).encode() + b"\n" + json.dumps(B).encode() + b"\n", "jsonl", {}),
    "an array": (PLAIN, "json", {}),
    "an array over many lines": (json.dumps([A, B], indent=2).encode() + b"\n", "json", {}),
    "an array inside": (json.dumps({"n": 2, "out": {"rows": [A, B]}, "z": {}}).encode(), "json",
        {"inside": "out.rows"}),
    "an object of records": (json.dumps({"a": A, "b": {"status": "rejected", "reason": "not UTF-8"}}).encode(),
        "json", {}),
    "CSV": (HEADER + ROW_A + ROW_B, "csv", {}),
    "CSV with carriage returns": ((HEADER + ROW_A + ROW_B).replace(b"\n", b"\r\n"), "csv", {}),
    "CSV without a last line feed": ((HEADER + ROW_A + ROW_B)[:-1], "csv", {}),
    "CSV with everything quoted": (
        b'"id","status","category","reason"\n"a","accepted","invoice",""\n"b","rejected","","not UTF-8"\n', "csv", {}),
    "CSV in another order": (b"reason,category,id,status\n,invoice,a,accepted\nnot UTF-8,,b,rejected\n", "csv", {}),
    "TSV": ((HEADER + ROW_A + ROW_B).replace(b",", b"\t"), "tsv", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_the_records_are_the_same_in(case: str, tmp_path: Path) -> None:
    data, format, more = WRITTEN[case]
    path = tmp_path / "results"
    path.write_bytes(data)
    observed = results.observe(path, begun=0.0, asked=asked(format, **more))
    assert [line.record for line in observed.lines] == [A, B]
    write_json(tmp_path / "again.json", observed)
    assert base.load(tmp_path / "again.json", Results) == observed


# ---- names and words

MAPPED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "other names": (
        {"doc": "a", "state": "accepted", "label": "invoice", "error": None},
        {"id": "a", "status": "accepted", "category": "invoice", "reason": None},
        {"fields": {"id": "doc", "status": "state", "category": "label", "reason": "error"}}),
    "other words": ({"id": "a", "status": "done"}, {"id": "a", "status": "accepted"},
        {"accepted": ["ok", "done"], "rejected": ["failed"]}),
    "a truth value": ({"id": "a", "status": False}, {"id": "a", "status": "rejected"},
        {"accepted": [True], "rejected": [False]}),
    "a number": ({"id": "a", "status": 1}, {"id": "a", "status": "accepted"}, {"accepted": [1], "rejected": [0]}),
    "the text true is not the truth value": ({"id": "a", "status": "true"}, {"id": "a", "status": "true"},
        {"accepted": [True], "rejected": [False]}),
    "the truth value is not the text": ({"id": "a", "status": True}, {"id": "a", "status": True},
        {"accepted": ["true"]}),
    "one is not the truth value": ({"id": "a", "status": 1}, {"id": "a", "status": 1}, {"accepted": [True]}),
    "1.0 is not one": ({"id": "a", "status": 1.0}, {"id": "a", "status": 1.0}, {"accepted": [1]}),
    "case counts": ({"id": "a", "status": "OK"}, {"id": "a", "status": "OK"}, {"accepted": ["ok"]}),
    "white space counts": ({"id": "a", "status": "ok "}, {"id": "a", "status": "ok "}, {"accepted": ["ok"]}),
    "a list is no word": ({"id": "a", "status": ["ok"]}, {"id": "a", "status": ["ok"]}, {"accepted": ["ok"]}),
    "a name that the contract needs": (
        {"doc": "a", "id": 7, "status": "accepted", "x": 1}, {"id": "a", "status": "accepted", "id_given": 7, "x": 1},
        {"fields": {"id": "doc"}}),
    "two such names": (
        {"doc": "a", "id": 7, "id_given": 8, "status": "accepted"},
        {"id": "a", "status": "accepted", "id_given": 8, "id_given_given": 7}, {"fields": {"id": "doc"}}),
    "names that changed places": (
        {"category": "a", "id": "invoice", "status": "accepted"},
        {"id": "a", "status": "accepted", "category": "invoice"},
        {"fields": {"id": "category", "category": "id"}}),
    "the contract's word where others are asked for": (
        {"id": "a", "status": "accepted"}, "the status is 'accepted', and the configuration has the words 'ok', 'bad'",
        {"accepted": ["ok"], "rejected": ["bad"]}),
    "no field of that name": (
        {"id": "a", "status": "accepted"}, "no field 'doc', which holds the id; the fields there: 'id', 'status'",
        {"fields": {"id": "doc"}}),
    "a category alone": ({"id": "a", "category": "x"}, {"id": "a", "category": "x", "status": "accepted"},
        {"fields": {"status": None}}),
    "a reason alone": (
        {"id": "a", "category": None, "reason": "x"},
        {"id": "a", "category": None, "reason": "x", "status": "rejected"},
        {"fields": {"status": None}}),
    "a status of its own where none is asked for": (
        {"id": "a", "category": "x", "status": 3},
        {"id": "a", "category": "x", "status": "accepted", "status_given": 3},
        {"fields": {"status": None}}),
    "both": ({"id": "a", "category": "x", "reason": "y"}, "both a category and a reason ('category' and 'reason')"
        ", so that it is neither accepted nor rejected", {"fields": {"status": None}}),
    "neither": ({"id": "a"}, "neither a category nor a reason ('category' and 'reason')"
        ", so that it is neither accepted nor rejected", {"fields": {"status": None}}),
}  # fmt: skip


@pytest.mark.parametrize("format", ["jsonl", "json"])
@pytest.mark.parametrize("case", MAPPED)
def test_a_record_is_put_into_the_words_of_the_contract(case: str, format: str) -> None:
    written, wanted, more = MAPPED[case]
    data = json.dumps(written if format == "jsonl" else [written]).encode()
    (got,) = records(data, format, **more)
    assert got == wanted
    assert json.dumps(got, sort_keys=True) == json.dumps(wanted, sort_keys=True), "1, 1.0 and true are equal"


@quick
@given(
    st.dictionaries(
        st.sampled_from(["id", "status", "category", "reason", "doc", "id_given", "x"]), st.integers()
    )
)
def test_no_field_is_lost_or_overwritten(record: dict[str, int]) -> None:
    record = {"doc": 1, **record}
    (got,) = records(json.dumps(record).encode(), "jsonl", fields={"id": "doc"})
    assert sorted(got.values()) == sorted(record.values())
    assert got["id"] == record["doc"]


CSV_MAPPED: dict[str, tuple[bytes, Any, dict[str, Any]]] = {
    "true of the configuration is the text true": (b"a,true,x,\n", "accepted",
        {"accepted": [True], "rejected": [False]}),
    "1 of the configuration is the text 1": (b"a,0,,y\n", "rejected", {"accepted": [1], "rejected": [0]}),
    "True is another text": (b"a,True,x,\n", "True", {"accepted": [True], "rejected": [False]}),
    "an empty status stays": (b"a,,x,\n", "", {}),
    "an unknown word stays": (b"a,ok,x,\n", "ok", {}),
    "a category alone": (b"a,,x,\n", "accepted", {"fields": {"status": None}}),
    "a reason alone": (b"a,,,y\n", "rejected", {"fields": {"status": None}}),
}  # fmt: skip


@pytest.mark.parametrize("case", CSV_MAPPED)
def test_in_csv_everything_is_text(case: str) -> None:
    row, status, more = CSV_MAPPED[case]
    (got,) = records(HEADER + row, "csv", **more)
    assert got["status"] == status


def test_an_empty_field_in_csv_is_no_category_and_no_reason() -> None:
    assert records(HEADER + b"a,accepted,,\n", "csv") == [{"id": "a", "status": "accepted"}]
    (problem,) = records(HEADER + b"a,,,\n", "csv", fields={"status": None})
    assert "neither a category nor a reason" in problem


@pytest.mark.parametrize(
    ("format", "fine"), [("jsonl", True), ("json", True), ("csv", False), ("tsv", False)]
)
def test_words_that_csv_cannot_tell_apart_are_refused_for_it(format: str, fine: bool) -> None:
    words = {"accepted": ["true"], "rejected": [True]}
    if fine:
        assert asked(format, **words).accepted == ["true"]
    else:
        with pytest.raises(ValidationError, match="different words"):
            asked(format, **words)


# ---- one JSON document

DAMAGED: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "torn behind a record": (PLAIN[: PLAIN.index(b"}") + 1], "line 1 column 58: torn", {}),
    "torn in a record": (PLAIN[:-10], "torn", {}), "torn in a string": (b'[{"id": "a', "line 1 column 9: torn", {}),
    "torn behind the bracket": (b"[\n", "line 2 column 1: torn", {}),
    "a comma missing": (b'[{"id": "a"}\n {"id": "b"}]', "line 2 column 2: expecting ',' or ']'", {}),
    "a comma too many": (b'[{"id": "a"},]', "line 1 column 14: expecting value", {}),
    "single quotes": (b"[{'id': 'a'}]", "line 1 column 3: expecting property name", {}),
    "a key twice": (b'[{"id": "a", "id": "b"}]', "line 1 column 2: the key 'id' twice in one object", {}),
    "a key twice in another place": (b'{"m": {"x": 1, "x": 2}, "rows": []}', "the key 'x' twice", {"inside": "rows"}),
    "an id twice": (b'{"a": {"status": "accepted"}, "a": {"status": "accepted"}}',
        "line 1 column 31: the key 'a' twice", {}),
    "the place twice": (b'{"rows": [], "rows": []}', "the key 'rows' twice", {"inside": "rows"}),
    "NaN": (b'[{"id": "a", "score": NaN}]', "the bare word NaN", {}),
    "1e999": (b'[{"score": 1e999}]', "not finite", {}),
    "half a surrogate pair": (b'[{"id": "\\ud800"}]', "half of a surrogate pair", {}),
    "a byte order mark": (b"\xef\xbb\xbf" + PLAIN, "a byte order mark (BOM) before the document", {}),
    "not UTF-8": (b'[{"id": "a"},\n{"id": "caf\xe9"}]', "line 2: not UTF-8", {}),
    "UTF-8 that is cut": (b'[{"id": "caf\xc3', "line 1: not UTF-8", {}),
    "white space": (b" \n", "nothing but white space", {}),
    "more behind it": (PLAIN + b"\n[]", "line 2 column 1: more behind the end", {}),
    "a text": (b'"a"', "a JSON str, not an array or an object of records", {}),
    "nothing at its place": (b'{"meta": 1, "data": []}', "no key 'rows'; the keys there: 'meta', 'data'",
        {"inside": "rows"}),
    "no object on the way": (b'{"out": []}',
        "line 1 column 9: no object, where `inside` (out.rows) has the key 'rows'", {"inside": "out.rows"}),
    "nesting too deep": (b"[" * 200 + b"]" * 200, "nesting too deep", {}),
    "nesting far too deep": (b"[" * 90_000, "nesting too deep", {}),
    "an integer of thousands of digits": (b'[{"n": ' + b"1" * 5000 + b"}]", "thousands of digits", {}),
    "JSON lines": (b'{"id": "a"}\n{"id": "b"}\n', "line 2 column 1: more behind the end", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_a_document_does_not_count_with(case: str) -> None:
    data, words, more = DAMAGED[case]
    (line,) = read(data, "json", **more)
    assert (line.number, line.record) == (0, None)
    assert words in (line.problem or "")


def test_in_a_whole_document_no_place_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look counts the lines of what is in memory; for every key that took minutes for a hundred thousand."""
    monkeypatch.delattr(json_document._Window, "place")
    assert len(records(b'{"a": {"status": "rejected"}, "b": {"status": "accepted"}}', "json")) == 2


NO_RECORD: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "a number": ([A, 1], "a JSON int, not an object", {}),
    "a list": ([A, []], "a JSON list, not an object", {}),
    "another id than its key": ({"a": A, "b": {**B, "id": "c"}}, "under the id 'b' a record with another, 'c'", {}),
    "an id of another type": ({"a": A, "7": {**B, "id": 7}}, "under the id '7' a record with another, 7", {}),
    "a text where a status is asked for": ({"a": A, "b": "invoice"}, "under the key 'b' a JSON str, not an object", {}),
    "a list under a key": ({"a": A, "rows": [B]}, "is `inside` to say where the records are?", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_RECORD)
def test_a_value_is_no_record_when_it_is(case: str) -> None:
    document, words, more = NO_RECORD[case]
    first, second = read(json.dumps(document).encode(), "json", **more)
    assert first.record == A
    assert (second.number, second.record) == (2, None)
    assert words in (second.problem or "")


def test_without_a_status_the_category_may_stand_under_the_id_alone() -> None:
    got = records(b'{"a": "invoice", "b": {"reason": "torn"}, "c": null}', "json", fields={"status": None})
    assert [one["status"] for one in got[:2]] == ["accepted", "rejected"]
    assert "neither a category nor a reason" in got[2]


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"x": [1], "rows": [ ] }', b""])
def test_no_record_is_no_line(data: bytes) -> None:
    assert read(data, "json", **({"inside": "rows"} if b"rows" in data else {})) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@quick
@given(
    st.lists(st.dictionaries(st.text(), values, max_size=4), max_size=8),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.sampled_from([1, 2, 7, 64, 1 << 20]),
)
def test_a_document_reads_the_same_however_it_is_cut(
    written: list[dict[str, Any]], indent: int | None, ascii: bool, chunk: int
) -> None:
    """The window grows in the middle of words, numbers, escapes and characters."""
    data = json.dumps({"x": 1.5, "rows": written}, indent=indent, ensure_ascii=ascii).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_document, "CHUNK", chunk)
        found = list(json_document.read(io.BytesIO(data), "rows"))
    assert [one.value for one in found] == written
    assert [one.number for one in found] == list(range(1, len(written) + 1))


@quick
@given(st.binary(max_size=60), st.integers(0, 120), st.sampled_from([1, 5, 1 << 20]))
def test_whatever_the_bytes_a_document_has_records_or_one_problem(junk: bytes, at: int, chunk: int) -> None:
    data = PLAIN[:at] + junk + PLAIN[at + len(junk) :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_document, "CHUNK", chunk)
        lines = read(data, "json")
    try:
        whole = json.loads(data.decode())
    except ValueError:
        assert [line.number for line in lines] == ([0] if data else [])
    else:
        assert [line.number for line in lines] in ([0], list(range(1, len(whole) + 1)))


# ---- CSV and TSV

TEXTS = [
    "007",
    "7",
    "NA",
    "null",
    "None",
    "nan",
    "1e5",
    "1234567890123456789",
    "1.0",
    "TRUE",
    " a ",
    "=1+1",
    "\u2028",
]


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_stays_what_it_is(text: str, format: str) -> None:
    data = (HEADER.decode() + f"{text},accepted,{text},\n").replace(",", "," if format == "csv" else "\t")
    assert records(data.encode(), format) == [{"id": text, "status": "accepted", "category": text}]


@quick
@given(
    st.lists(st.tuples(*[st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]))] * 3)),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["csv", "tsv"]),
)
def test_what_csv_writes_comes_back(rows: list[tuple[str, str, str]], end: str, format: str) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=end, delimiter="," if format == "csv" else "\t")
    writer.writerow(["id", "status", "category", "reason", "note"])
    writer.writerows([id, "accepted", "x", reason, note] for id, reason, note in rows)
    lines = read(stream.getvalue().encode(), format)
    got = [(line.record or {})["id"] + "|" + (line.record or {})["note"] for line in lines]
    assert got == [f"{id}|{note}" for id, _, note in rows]
    assert [(line.record or {}).get("reason", "") for line in lines] == [reason for _, reason, _ in rows]


HEADERS: dict[str, tuple[bytes, str]] = {
    "a byte order mark": (b"\xef\xbb\xbf" + HEADER, "a byte order mark (BOM) before the header"),
    "a column twice": (b"id,status,category,reason,id\n", "the column 'id' twice"),
    "a column missing": (b"id,status,category\n",
        "no column 'reason', which holds the reason; the columns there: 'id', 'status', 'category'"),
    "a blank before a name": (b"id, status,category,reason\n", "no column 'status'"),
    "another separator": (b"id;status;category;reason\n", "the columns there: 'id;status;category;reason'"),
    "no header at all": (ROW_A, "no column 'id', which holds the id; the columns there: 'a', 'accepted'"),
    "an empty first line": (b"\n" + HEADER, "an empty row in place of the header"),
    "carriage returns alone": (HEADER.replace(b"\n", b"\r") + ROW_A, "a carriage return that ends no line"),
    "an open quote": (b'id,status,"category,reason\n', "the header: a quote that is never closed"),
    "UTF-16": (HEADER.decode().encode("utf-16"), "the header: not UTF-8 at byte 1 of line 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_is_none_with(case: str) -> None:
    data, words = HEADERS[case]
    (line,) = read(data + ROW_A, "csv")
    assert (line.number, line.record) == (1, None)
    assert words in (line.problem or "")


ROWS: dict[str, tuple[bytes, str]] = {
    "empty": (b"\n", "an empty row"), "too short": (b"c,accepted,invoice\n", "3 fields, and the header has 4"),
    "too long": (b"c,accepted,invoice,,\n", "5 fields, and the header has 4"),
    "one with a comma in its reason": (b"c,rejected,,torn, at byte 3\n", "5 fields, and the header has 4"),
    "white space": (b" \n", "1 field, and the header has 4"), "a NUL": (b"c\0,accepted,invoice,\n", "a NUL on line 3"),
    "Latin-1": (b"caf\xe9,accepted,invoice,\n", "not UTF-8 at byte 4 of line 3"),
    "a carriage return inside": (b"c,accepted,inv\roice,\n", "a carriage return that ends no line"),
    "two carriage returns behind it": (b"c,accepted,invoice,\r\r\n", "a carriage return sticks to the last field"),
    "one inside the last quotes": (b'c,rejected,,"torn\r"\n', "a carriage return sticks to the last field"),
    "more behind a closing quote": (b'c,rejected,,"torn" here\n', "something behind a closing quote"),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_a_row_is_no_record_when_it_is(case: str) -> None:
    data, words = ROWS[case]
    before, line, after = read(HEADER + ROW_A + data + ROW_B, "csv")
    assert (before.record, after.record) == (A, B)
    assert (line.number, line.record, after.number) == (3, None, 4)
    assert words in (line.problem or "")


GOOD_ROWS: dict[str, tuple[bytes, dict[str, str]]] = {
    "a separator in quotes": (b'c,rejected,,"torn, at byte 3"\n', {"reason": "torn, at byte 3"}),
    "a line feed in quotes": (b'c,rejected,,"torn\nat byte 3"\n', {"reason": "torn\nat byte 3"}),
    "an empty line in quotes": (b'c,rejected,,"torn\n\n"\n', {"reason": "torn\n\n"}),
    "quotes in quotes": (b'c,rejected,,"a ""torn"" one"\n', {"reason": 'a "torn" one'}),
    "a giant field": (b"c,rejected,," + b"x" * 200_000 + b"\n", {"reason": "x" * 200_000}),
    "a carriage return before its end": (b"c,rejected,,torn\r\n", {"reason": "torn"}),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD_ROWS)
def test_a_row_is_a_record_with(case: str) -> None:
    data, wanted = GOOD_ROWS[case]
    before, line, after = read(HEADER + ROW_A + data + ROW_B, "csv")
    assert (before.record, after.record) == (A, B)
    assert line.record == {"id": "c", "status": "rejected", **wanted}
    assert (line.number, after.number) == (3, 3 + data.count(b"\n"))


LAST: dict[str, tuple[bytes, str | None]] = {
    "whole": (b"b,rejected,,torn", None), "with its last field empty": (b"b,accepted,invoice,", None),
    "torn between fields": (b"b,accepted,invo", "torn: 3 of 4 fields, and no line feed at the end"),
    "torn in quotes": (b'b,rejected,,"to', "a quote that is never closed"),
    "torn in a character": (b"b,rejected,,caf\xc3", "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("case", LAST)
def test_a_last_row_without_a_line_feed_counts_when_it_is_whole(case: str) -> None:
    data, words = LAST[case]
    first, last = read(HEADER + ROW_A + data, "csv")
    assert first.record == A
    assert (last.problem is None) == (words is None)
    assert (words or "") in (last.problem or "")


def test_a_quote_that_is_never_closed_is_named_where_its_row_begins() -> None:
    first, last = read(HEADER + ROW_A + b'b,rejected,,"open\n' + ROW_B * 5, "csv")
    assert (first.record, last.number) == (A, 3)
    assert "a quote that is never closed" in (last.problem or "")


def test_a_header_alone_holds_no_record_and_no_row() -> None:
    assert read(HEADER, "csv") == []


signs = st.sampled_from([b'"', b",", b"\t", b"\n", b"\r", b"\0", b"\xff", b"a", *ROW_A.split(b",")])


@quick
@given(st.binary(max_size=80) | st.lists(signs, max_size=30).map(b"".join), st.sampled_from(["csv", "tsv"]))
def test_whatever_the_bytes_every_row_has_a_record_or_a_problem(junk: bytes, format: str) -> None:
    """Which physical lines are a row can be told without a reader where no quote holds several together."""
    header = HEADER.replace(b",", b"\t" if format == "tsv" else b",")
    lines, left_out = results.split(header + junk, asked(format))
    assert left_out == 0
    assert [line for line in lines if (line.record is None) == (line.problem is None)] == []
    begun = list(range(2, 2 + len(io.BytesIO(junk).readlines())))
    numbers = [line.number for line in lines]
    assert numbers[:1] == begun[:1]
    assert numbers == (begun if b'"' not in junk else sorted(set(numbers) & set(begun)))


@quick
@given(st.binary(min_size=1, max_size=80), st.sampled_from(["csv", "tsv"]))
def test_bytes_that_are_no_header_are_one_problem(junk: bytes, format: str) -> None:
    ((line,), left_out) = results.split(junk, asked(format))
    assert (line.number, line.record, left_out) == (1, None, 0)
    assert line.problem


@pytest.mark.parametrize("format", ["json", "csv"])
def test_records_beyond_the_limit_are_counted_and_left_out(
    format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "MOST_LINES", 3)
    data = json.dumps([A] * 5).encode() if format == "json" else HEADER + ROW_A * 5
    lines, left_out = results.split(data, asked(format))
    assert ([line.record for line in lines], left_out) == ([A, A, A], 2)
