"""What the application is given: copies, in an order and under names, and nothing of what is expected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures import documents
from fixtures import staging
from fixtures.evidence import sums
from fixtures.evidence.models import Documents
from fixtures.evidence.models import Touched


@pytest.fixture
def given(tmp_path: Path) -> Documents:
    """Four documents, one of them in a folder of its own."""
    folder = tmp_path / "given"
    (folder / "more").mkdir(parents=True)
    entries = []
    for number, file in enumerate(("a.txt", "b.txt", "more/a.txt", "d.pdf")):
        data = file.encode()
        (folder / file).write_bytes(data)
        entries.append(
            {
                "id": f"doc-{number}",
                "file": file,
                "sha256": sums.of_bytes(data),
                "bytes": len(data),
                "valid": True,
            }
        )
    (folder / "manifest.json").write_text(json.dumps({"documents": entries}))
    return documents.observe(folder / "manifest.json")


def _manifest(stage: staging.Stage) -> list[dict[str, str]]:
    return list(json.loads(stage.manifest.read_bytes())["documents"])


def test_everything_is_given_in_the_order_and_under_the_names_of_the_manifest(
    given: Documents, tmp_path: Path
) -> None:
    stage = staging.as_given(tmp_path / "stage", given)
    stage.make()
    assert _manifest(stage) == [{"id": entry.id, "file": entry.file} for entry in given.entries]
    assert (stage.folder / "more" / "a.txt").read_bytes() == b"more/a.txt"


def test_a_shuffled_stage_holds_the_same_documents_in_another_order(given: Documents, tmp_path: Path) -> None:
    stage = staging.shuffled(tmp_path / "stage", given, renamed=True)
    stage.make()
    told = _manifest(stage)
    assert [one["id"] for one in told] != [entry.id for entry in given.entries]
    files = {entry.id: entry.file for entry in given.entries}
    assert {one["id"]: (stage.folder / one["file"]).read_bytes().decode() for one in told} == files
    assert not {one["file"] for one in told} & set(files.values())
    assert {Path(one["file"]).suffix for one in told} == {".txt", ".pdf"}


def test_a_shuffled_stage_keeps_the_names_where_it_must(given: Documents, tmp_path: Path) -> None:
    stage = staging.shuffled(tmp_path / "stage", given, renamed=False)
    stage.make()
    assert {one["file"] for one in _manifest(stage)} == {entry.file for entry in given.entries}


def test_the_order_of_a_shuffled_stage_is_the_same_each_time(given: Documents, tmp_path: Path) -> None:
    first, second = (staging.shuffled(tmp_path / name, given, renamed=True) for name in "ab")
    assert (first.text(), first.names) == (second.text(), second.names)


@pytest.mark.parametrize("count", range(2, 14))
def test_no_number_of_documents_is_shuffled_into_the_order_that_it_had(
    count: int, given: Documents, tmp_path: Path
) -> None:
    entries = [given.entries[0].model_copy(update={"id": f"doc-{number:02}"}) for number in range(count)]
    many = given.model_copy(update={"entries": entries})
    assert list(staging.shuffled(tmp_path / "stage", many, renamed=False).entries) != entries


def test_some_of_the_documents_are_given_alone(given: Documents, tmp_path: Path) -> None:
    stage = staging.some_of(tmp_path / "stage", given, {"doc-1", "doc-3"})
    stage.make()
    assert [one["id"] for one in _manifest(stage)] == ["doc-1", "doc-3"]
    assert sums.files_below(stage.folder) == ["b.txt", "d.pdf", "manifest.json"]


def test_the_manifest_takes_no_name_that_a_document_has(given: Documents, tmp_path: Path) -> None:
    files = [
        given.files[0].model_copy(update={"file": name}) for name in ("MANIFEST.json", "manifest-1.json")
    ]
    taken = given.model_copy(update={"files": files, "entries": []})
    assert staging.as_given(tmp_path, taken).manifest.name == "manifest-2.json"


def test_what_became_of_the_inputs_is_seen(given: Documents, tmp_path: Path) -> None:
    stage = staging.shuffled(tmp_path / "stage", given, renamed=True)
    stage.make()
    assert stage.changed() == []
    copy = stage.folder / stage.names["a.txt"]
    copy.write_bytes(b"other")
    own = Path(given.folder, "b.txt")
    own.unlink()
    stage.manifest.write_bytes(b"{}")
    assert {(one.path, one.change) for one in stage.changed()} == {
        (str(copy), "changed"), (str(own), "vanished"), (str(stage.manifest), "changed"),
    }  # fmt: skip


@pytest.mark.parametrize(("change", "counted"), [("changed", True), ("vanished", True), ("appeared", False)])
def test_only_what_appears_among_the_copies_is_litter(
    change: str, counted: bool, given: Documents, tmp_path: Path
) -> None:
    stage = staging.as_given(tmp_path / "stage", given)
    inside = Touched.model_validate({"path": str(stage.folder / "a.txt"), "change": change})
    outside = Touched.model_validate({"path": str(tmp_path / "a.txt"), "change": change})
    assert (stage.holds(inside), stage.holds(outside)) == (counted, False)
