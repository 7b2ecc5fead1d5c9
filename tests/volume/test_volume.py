"""The volume's judgement by itself: what it says, where the fast way is taken, and what it costs in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures import formats
from fixtures.evidence.base import InputError
from fixtures.formats import jsonl
from fixtures.volume import __main__ as command
from fixtures.volume import blocks
from fixtures.volume import expected
from fixtures.volume import judging
from fixtures.volume import pieces
from fixtures.volume import plain
from tests.pilot.bench import ROOT
from tests.volume.making import CATEGORIES
from tests.volume.making import entry
from tests.volume.making import on_disk
from tests.volume.making import parameters
from tests.volume.making import written

FORMATS = ["jsonl", "json", "csv", "tsv"]


def volume(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A manifest and records that are right; each tenth is invalid."""
    manifest, records = [], []
    for number in range(count):
        id, category = f"doc-{number:06d}", CATEGORIES[number % 3]
        if number % 10 == 9:
            manifest.append(entry(id, valid=False))
            records.append({"id": id, "status": "rejected", "reason": f"not UTF-8 at byte {number}"})
        else:
            manifest.append(entry(id, category=category))
            records.append({"id": id, "status": "accepted", "category": category})
    return manifest, records


def judge(
    folder: Path, manifest: Any, data: bytes, format: str = "jsonl", most: int = 3
) -> judging.Judgement:
    return judging.judge(*on_disk(folder, manifest, data), parameters(format=format), most)


def claim(judgement: judging.Judgement, id: str) -> Any:
    return next(one for one in judgement.claims if one.id == id)


@pytest.mark.parametrize("format", FORMATS)
def test_every_criterion_holds_of_right_results(format: str, tmp_path: Path) -> None:
    manifest, records = volume(50)
    judgement = judge(tmp_path, manifest, written(records, format), format)
    assert judgement.holds
    assert {one.holds for one in judgement.claims} == {True}
    counts = {"expected": 50, "accepted": 45, "rejected": 5, "missing": 0, "duplicated": 0, "invented": 0}
    assert judgement.documents == counts


NOT_SLOWLY: dict[str, dict[str, Any]] = {
    "jsonl": {}, "jsonl in ASCII": {"ensure_ascii": True}, "json": {}, "json over many lines": {"indent": 2},
    "csv": {"lineterminator": "\n"}, "csv with carriage returns": {}, "csv in quotes": {"quoting": 1},
    "tsv": {"lineterminator": "\n"},
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_SLOWLY)
def test_right_results_are_read_in_blocks(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the speed is gone without anybody's noticing: the slow readers are not to be called."""
    monkeypatch.setattr(blocks, "CHUNK", 500)
    monkeypatch.setattr(pieces, "CHUNK", 500)
    monkeypatch.setattr(jsonl, "line", None)
    monkeypatch.setattr(formats, "mapped_row", None)
    monkeypatch.setattr(formats, "read", None)
    monkeypatch.setattr(expected, "_slow", None)
    manifest, records = volume(200)
    for record in records[::7]:
        record["note"] = "12:30 [x]: {ça}" if case.startswith("json") else ""
        if "csv" in case or "tsv" in case:
            del record["note"]
    format = case.partition(" ")[0]
    assert judge(tmp_path, manifest, written(records, format, **NOT_SLOWLY[case]), format).holds


def test_offenders_are_named_with_their_lines_and_all_are_counted(tmp_path: Path) -> None:
    manifest, records = volume(100)
    for number in (3, 13, 33, 43, 53):
        records[number]["category"] = "banana"
    judgement = judge(tmp_path, manifest, written(records, "jsonl"))
    found = claim(judgement, "results.allowed_category")
    assert (found.holds, found.count, len(found.offenders)) == (False, 5, 3)
    assert [(one.place, one.id, one.says) for one in found.offenders[:2]] == [
        ("line 4", "doc-000003", "'banana'"),
        ("line 14", "doc-000013", "'banana'"),
    ]
    assert not judgement.holds


@pytest.mark.parametrize(("accepted", "rejected"), [(1, True), (1, 0), ("ok", 1)])
def test_words_that_are_equal_but_of_another_type_are_told_apart(
    accepted: Any, rejected: Any, tmp_path: Path
) -> None:
    """Of an accepted record with a remark where the reason stands."""
    manifest = [entry("a", category="invoice"), entry("b", valid=False)]
    records = [
        {"id": "a", "status": accepted, "category": "invoice", "reason": "a stamp on it"},
        {"id": "b", "status": rejected, "reason": "not UTF-8"},
    ]
    asked = parameters(accepted=[accepted], rejected=[rejected])
    judgement = judging.judge(*on_disk(tmp_path, manifest, written(records, "jsonl")), asked)
    assert (judgement.documents["accepted"], judgement.documents["rejected"]) == (1, 1)
    assert {one.id for one in judgement.claims if one.holds is not True} == set()


@pytest.mark.parametrize("chunk", [200, 1 << 20])
def test_a_document_that_was_well_is_known_when_it_comes_again(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was kept of it but that it was there."""
    monkeypatch.setattr(blocks, "CHUNK", chunk)
    manifest, records = volume(30)
    again = [records[0], {"id": "doc-000001", "status": "rejected", "reason": "torn at byte 7"}, records[9]]
    judgement = judge(tmp_path, manifest, written(records + again, "jsonl"))
    twice = claim(judgement, "results.no_identifier_twice")
    assert [one.id for one in twice.offenders] == ["doc-000000", "doc-000001", "doc-000009"]
    assert [one.place for one in twice.offenders] == ["line 31", "line 32", "line 33"]
    assert claim(judgement, "end_of_trial.accounted").found == "27 + 4 = 31, 1 in both"
    assert judgement.documents["invented"] == 0


@pytest.mark.parametrize("format", FORMATS)
def test_lines_are_counted_through_blocks_of_either_kind(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "CHUNK", 300)
    monkeypatch.setattr(pieces, "CHUNK", 300)
    manifest, records = volume(60)
    records[19]["reason"] = 'torn "here",\nand there' if format != "jsonl" else 'torn "here": there'
    records[40]["category"] = "banana"
    data = written(records, format, **({"lineterminator": "\n"} if format in ("csv", "tsv") else {}))
    (found,) = claim(judge(tmp_path, manifest, data, format), "results.allowed_category").offenders
    wanted = {"jsonl": "line 41", "json": "record 41", "csv": "line 43", "tsv": "line 43"}
    assert found.place == wanted[format]


def test_a_manifest_without_invalid_documents_has_nothing_to_judge_there(tmp_path: Path) -> None:
    manifest = [entry(f"doc-{number}") for number in range(5)]
    records = [{"id": one["id"], "status": "accepted", "category": "invoice"} for one in manifest]
    judgement = judge(tmp_path, manifest, written(records, "jsonl"))
    none = {one.id for one in judgement.claims if one.holds is None}
    assert none == {"results.expected_category", "failures.reason", "failures.invalid_rejected"}
    assert judgement.holds


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"nonsense"])
def test_no_result_is_no_pass(data: bytes, tmp_path: Path) -> None:
    judgement = judge(tmp_path, [entry("doc-1")], data)
    assert not judgement.holds
    assert claim(judgement, "failures.none_missing").holds is False


MANIFESTS: dict[str, tuple[str, str]] = {
    "no JSON": ("{", "line 1 column 2"), "a list": ("[]", "no object, where `inside` (documents)"),
    "no documents": ('{"documents": []}', "found no document"),
    "another key": ('{"documents": [], "more": 1}', "more: found a key that is not known here"),
    "an id twice": (json.dumps({"documents": [entry("a"), entry("b"), entry("a")]}), "found the id 'a' twice"),
    "a key twice": ('{"documents": [{"id": "a", "id": "b"}]}', "the key 'id' twice"),
    "a key missing": (json.dumps({"documents": [entry("a"), {"id": "b"}]}), "documents.1.file: found nothing"),
    "an unknown key": (json.dumps({"documents": [{**entry("a"), "categry": "invoice"}, entry("b")]}),
        "documents.0.categry: found a key that is not known here"),
    "a number for a document": (json.dumps({"documents": [entry("a"), 7]}), "documents.1: found 7"),
    "a key like a secret": (json.dumps({"documents": [entry("a"), {**entry("b"), "hf_" + "a" * 30: 1}]}),
        "documents.1.(not shown): found a key"),
    "another type": (json.dumps({"documents": [{**entry("a"), "bytes": "9"}, entry("b")]}),
        "documents.0.bytes: found '9'"),
    "an object of documents": (json.dumps({"documents": {"a": entry("a")}}), "found an object; wanted an array"),
}  # fmt: skip


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_that_is_none_is_named(case: str, tmp_path: Path) -> None:
    text, words = MANIFESTS[case]
    _, manifest = on_disk(tmp_path, [], b"")
    manifest.write_text(text)
    with pytest.raises(InputError) as problem:
        expected.read(manifest)
    assert words in str(problem.value)
    assert str(manifest) in str(problem.value)


@pytest.mark.parametrize("text", ['{"documents": [%s]}', '{"documents": [\n  %s\n ]\n}\n'])
@pytest.mark.parametrize("chunk", [150, 1 << 20])
def test_both_ways_to_read_a_manifest_come_to_the_same(
    text: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "CHUNK", chunk)
    entries = [entry("ä"), entry("b", False), entry("c:d", True, "invoice"), {**entry("e"), "language": None}]
    path = tmp_path / "manifest.json"
    path.write_text(text % ",".join(map(json.dumps, entries)), encoding="utf-8")
    fast = expected.read(path)
    monkeypatch.setattr(expected, "msgspec", None)
    slow = expected.read(path)
    assert {id: fast.want(id) for id in fast.ids} == {id: slow.want(id) for id in slow.ids}
    assert list(fast.ids) == ["ä", "b", "c:d", "e"]


PROVEN: dict[str, tuple[bytes, bool]] = {
    "flat": (b'{"a": 1, "b": "x"}', True), "a colon in a value": (b'{"a": "x: y"}', True),
    "nested": (b'{"a": {"b": [1, {"c": 2}]}}', True),
    "a quoted key in a value": (b'{"a": "the key \\"b\\": twice"}', True),
    "a blank before the colon": (b'{"a" : 1, "b"\t\n: 2}', True),
    "a key twice": (b'{"a": 1, "a": 2}', False), "a key twice, one with a blank": (b'{"a" : 1, "a": 2}', False),
    "a key twice below": (b'{"a": {"b": 1, "b": 2}}', False),
    "a key twice, one escaped": (b'{"a": 1, "\\u0061": 2}', False),
    "a key twice beside a colon": (b'{"a": "x:y", "a": 2}', False),
    "a key that ends in a backslash twice": (b'{"a\\\\": 1, "a\\\\": 2}', False),
    "too deep": (b'{"a": ' + b"[" * 80 + b"]" * 80 + b"}", False),
    "just not too deep": (b'{"a": ' + b"[" * 79 + b"]" * 79 + b"}", True),
}  # fmt: skip


@pytest.mark.parametrize("case", PROVEN)
def test_what_is_proven_is_what_the_strict_reader_takes(case: str) -> None:
    block, wanted = PROVEN[case]
    assert plain.proven(block, [json.loads(block)]) is wanted
    assert (jsonl.line(1, block).problem is None) is wanted


def given(folder: Path, records: list[dict[str, Any]], manifest: Any) -> list[str]:
    results, path = on_disk(folder, manifest, written(records, "jsonl"))
    pilot = folder / "pilot.json"
    pilot.write_text(parameters().model_dump_json())
    return [str(results), "--manifest", str(path), "--pilot", str(pilot)]


def test_the_command_says_what_holds_and_what_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, records = volume(20)
    assert command.main(given(tmp_path, records, manifest)) == 0
    assert "every criterion holds" in capsys.readouterr().out
    records[4]["id"] = "doc-\x1b[31m\u202e"
    assert command.main(given(tmp_path, records, manifest)) == 10
    shown = capsys.readouterr().out
    assert "results.no_invented_identifier" in shown
    assert "line 5: doc-\\x1b[31m\\u202e: not in the manifest" in shown
    assert "doc-000004: no record" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_the_command_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest, records = volume(20)
    assert command.main([*given(tmp_path, records[1:], manifest), "--json"]) == 10
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["holds"]) == ("gpu-pilot/volume/1", False)
    missing = next(one for one in document["criteria"] if one["id"] == "failures.none_missing")
    assert (missing["holds"], missing["count"]) == (False, 1)
    assert missing["offenders"] == [{"place": None, "id": "doc-000000", "says": "no record"}]


def test_wrong_input_is_named_and_no_traceback_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, records = volume(3)
    arguments = given(tmp_path, records, manifest)
    (round_about := tmp_path / "round").symlink_to("round")
    for wrong, words in [
        (["nowhere.jsonl", *arguments[1:]], "nowhere.jsonl: found nothing"),
        ([str(tmp_path), *arguments[1:]], "found a folder; wanted a regular file"),
        ([str(round_about), *arguments[1:]], "round: found a link that leads to itself"),
        ([arguments[0], "--manifest", "nowhere.json", *arguments[3:]], "nowhere.json: found No such file"),
        ([*arguments[:3], "--pilot", "nowhere.json"], "nowhere.json: found No such file"),
    ]:
        assert command.main(wrong) == 4
        shown = capsys.readouterr()
        assert (words in shown.err, shown.out) == (True, ""), shown.err


def test_a_wrong_command_line_is_bad_input_too(tmp_path: Path) -> None:
    end = subprocess.run(
        [sys.executable, "-m", "fixtures.volume", "results.jsonl"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (end.returncode, end.stdout) == (4, "")
    assert "--manifest" in end.stderr


def test_without_msgspec_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, records = volume(30)
    monkeypatch.setattr(command, "msgspec", None)
    assert command.main(given(tmp_path, records, manifest)) == 0
    assert "pip install -e '.[volume]'" in capsys.readouterr().err


MEASURED = """
import pathlib, re, sys
from fixtures.volume.__main__ import main
status = main(sys.argv[1:])
print(status, re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


def peak(folder: Path, count: int) -> int:
    """KiB at the peak, of which nothing is for the records themselves."""
    manifest, records = volume(count)
    end = subprocess.run(
        [sys.executable, "-c", MEASURED, *given(folder, records, manifest)],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    status, kib = end.stdout.split()[-2:]
    assert (status, end.stderr) == ("0", "")
    return int(kib)


def test_memory_grows_with_the_identifiers_alone(tmp_path: Path) -> None:
    few, many = peak(tmp_path, 10_000), peak(tmp_path, 40_000)
    assert (many - few) * 1024 / 30_000 < 400, "bytes a document, of which the records would be a thousand"


def test_a_giant_field_is_read_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "CHUNK", 1000)
    manifest, records = volume(40)
    records[9]["reason"] = "torn " * 50_000
    for format in FORMATS:
        assert judge(tmp_path, manifest, written(records, format), format).holds
