"""A million is judged as twelve are: whatever the file, the volume's judgement is that of the pilot's checks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st

from fixtures.volume import blocks
from fixtures.volume import expected
from fixtures.volume import judging
from fixtures.volume import objects
from fixtures.volume import pieces
from tests.volume.making import by_the_pilot
from tests.volume.making import CATEGORIES
from tests.volume.making import entry
from tests.volume.making import on_disk
from tests.volume.making import parameters
from tests.volume.making import written

slow_to_make = settings(
    derandomize=True,
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

IDS = [f"doc-{number}" for number in range(8)]
manifests = st.lists(
    st.builds(
        entry,
        st.sampled_from(IDS),
        st.sampled_from([True, True, True, False]),
        st.sampled_from([None, "invoice", "invoice", "contract"]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda one: one["id"],
)
reasons = [
    "not UTF-8 at byte 3",
    'the key "a": twice',
    "error",
    "",
    "bad [x] {y}",
    "naïve, ça va : non",
    "two\nlines",
]
faults = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from([*IDS, "doc-9", "", 7, None, True, ["doc-1"]]),
        "status": st.sampled_from(["accepted", "rejected", "ok", "", True, 1, None, ["accepted"], {"a": 1}]),
        "category": st.sampled_from([*CATEGORIES, "Invoice", "", None, 1, True, ["invoice"]]),
        "reason": st.sampled_from([*reasons, None, 5, {"a": {"b": 1}}]),
        "score": st.sampled_from([0.5, None, {"a": [1, {"b": 2}]}, "a:b", ": :"]),
    },
)


@st.composite
def volumes(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A manifest and its records: right ones, some of them spoiled, some missing, some twice, in any order."""
    manifest = draw(manifests)
    records = []
    for one in manifest:
        if one["valid"]:
            record = {"id": one["id"], "status": "accepted", "category": one.get("category", "resume")}
        else:
            record = {"id": one["id"], "status": "rejected", "reason": draw(st.sampled_from(reasons[:2]))}
        records.append(record)
    if draw(st.booleans()):
        records = [{**record, **(draw(faults) if draw(st.integers(0, 3)) == 0 else {})} for record in records]
        records = draw(st.lists(st.sampled_from(records), max_size=10)) if draw(st.booleans()) else records
    return manifest, draw(st.permutations(records))


def check_alike(manifest: list[dict[str, Any]], data: bytes, chunk: int, **asked: Any) -> None:
    """Judged in blocks of `chunk` bytes, and without msgspec; and each time as the pilot does."""
    given = parameters(len(manifest), **asked)
    wanted, counts = by_the_pilot(manifest, data, given)
    for without in (False, True):
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            patch.setattr(blocks, "CHUNK", chunk)
            patch.setattr(pieces, "CHUNK", chunk)
            if without:
                patch.setattr(objects, "msgspec", None)
                patch.setattr(expected, "msgspec", None)
            got = judging.judge(*on_disk(Path(folder), manifest, data), given, most=1000)
        said = {claim.id: claim.holds for claim in got.claims}
        assert said == {id: holds for id, (holds, _) in wanted.items()}
        assert got.documents == counts
        for claim in got.claims:
            if claim.id.startswith(("results.no_", "results.allowed", "results.expected", "failures.")):
                assert sorted(str(one.id) for one in claim.offenders) == sorted(wanted[claim.id][1]), claim.id
                assert claim.count == len(claim.offenders)


chunks = st.sampled_from([40, 100, 300, 1 << 20])


@slow_to_make
@given(volumes(), chunks, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_json_lines(volume: tuple[Any, Any], chunk: int, ascii: bool, end: str) -> None:
    data = written(volume[1], "jsonl", ensure_ascii=ascii).replace(b"\n", end.encode())
    check_alike(volume[0], data, chunk)


@slow_to_make
@given(volumes(), chunks, st.sampled_from([None, 1]), st.sampled_from([None, "rows", "out.rows"]))
def test_a_json_document(volume: tuple[Any, Any], chunk: int, indent: int | None, inside: str | None) -> None:
    data = written(volume[1], "json", indent=indent)
    for key in reversed(inside.split(".") if inside else []):
        data = b'{"n": {"x": 1.5}, "' + key.encode() + b'": ' + data + b', "z": ["]", {}, {}]}'
    check_alike(volume[0], data, chunk, format="json", inside=inside)


@slow_to_make
@given(volumes(), chunks, st.sampled_from(["csv", "tsv"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_rows(volume: tuple[Any, Any], chunk: int, format: str, end: str, quoted: bool) -> None:
    records = [{key: value for key, value in one.items() if key != "score"} for one in volume[1]]
    data = written(records, format, lineterminator=end, quoting=1 if quoted else 0)
    check_alike(volume[0], data, chunk, format=format)


DAMAGE = [
    b"\n",
    b"\r",
    b'"',
    b"{",
    b"}",
    b",",
    b"\\",
    b":",
    b"\0",
    b"\xff",
    b"NaN",
    b"\xef\xbb\xbf",
    b' "id": "x",',
    b"]",
    b"\t",
]


@slow_to_make
@given(
    volumes(),
    st.sampled_from(["jsonl", "json", "csv", "tsv"]),
    chunks,
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(DAMAGE), st.integers(0, 12)), min_size=1, max_size=2),
)
def test_damaged_files(
    volume: tuple[Any, Any], format: str, chunk: int, damage: list[tuple[float, bytes, int]]
) -> None:
    records = [
        {key: one[key] for key in one if key != "score" or format.startswith("json")} for one in volume[1]
    ]
    data = written(records, format)
    for share, junk, lost in damage:
        at = int(share * len(data))
        data = data[:at] + junk + data[at + lost :]
    check_alike(volume[0], data, chunk, format=format)


MAPPED = {
    "truth values": {"fields": {"id": "doc", "status": "ok"}, "accepted": [True], "rejected": [False]},
    "numbers": {"fields": {"id": "doc", "status": "ok"}, "accepted": [1], "rejected": [0]},
    "both": {"fields": {"id": "doc", "status": "ok"}, "accepted": [True, 1, "ok"], "rejected": [False, 0]},
    "one for each": {"fields": {"id": "doc", "status": "ok"}, "accepted": [True, 0], "rejected": [False, 1]},
    "no status": {"fields": {"id": "doc", "status": None}},
    "one field for two": {"fields": {"id": "doc", "status": "ok", "reason": "category"},
        "accepted": [True], "rejected": [False]},
}  # fmt: skip


@slow_to_make
@given(volumes(), st.sampled_from(list(MAPPED)), st.sampled_from(["jsonl", "json"]), chunks, st.data())
def test_other_names_and_words(
    volume: tuple[Any, Any], case: str, format: str, chunk: int, data: st.DataObject
) -> None:
    asked = MAPPED[case]
    words = {
        "accepted": st.sampled_from([True, True, 1, 1.0]),
        "rejected": st.sampled_from([False, False, 0, "0"]),
    }
    records = []
    for one in volume[1]:
        record = {"doc" if key == "id" else key: value for key, value in one.items()}
        status = record.pop("status", None)
        if case != "no status" and isinstance(status, str):
            record["ok"] = data.draw(words[status]) if status in words else status
        records.append(record)
    check_alike(volume[0], written(records, format), chunk, format=format, **asked)
