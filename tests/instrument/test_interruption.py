"""How the results of an interrupted run are left: as a kill in the middle of a line leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures import documents
from fixtures import interruption
from fixtures import runs
from fixtures.evidence import sums
from fixtures.evidence.models import Application
from fixtures.evidence.parameters import ResultsFile
from fixtures.further import First
from tests.evidence import making
from tests.report import samples

LINES = b'{"id": "a"}\n{"id": "b"}\n{"id": "c"}\n'

#: name, format, what stands in the file, after how many lines it is cut, what is left, what is said
LEFT = [
    ("cut back and torn", "jsonl", LINES, 2, b'{"id": "a"}\n{"id"', "cut in the middle of line 2"),
    (
        "all that there is",
        "jsonl",
        LINES,
        9,
        b'{"id": "a"}\n{"id": "b"}\n{"id"',
        "cut in the middle of line 3",
    ),
    ("torn by the kill itself", "jsonl", LINES[:-4], 2, LINES[:-4], "it ended in the middle of a line"),
    ("a header and a row", "csv", b"id,label\r\na,x\r\nb,y\r\n", 3, b"id,label\r\na,x\r\nb", "line 3"),
    ("nothing yet", "tsv", b"", 3, b"", "line 0"),
]


@pytest.mark.parametrize(
    ("name", "format", "held", "enough", "left", "said"), LEFT, ids=[one[0] for one in LEFT]
)
def test_the_results_are_left_in_the_middle_of_a_line(
    name: str, format: str, held: bytes, enough: int, left: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "results"
    path.write_bytes(held)
    how = interruption.tear(path, ResultsFile.model_validate({"format": format}), enough)
    assert path.read_bytes() == left
    assert said in how


def test_a_document_that_is_only_written_at_the_end_is_not_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"[]")
    assert "taken away" in interruption.tear(path, ResultsFile.model_validate({"format": "json"}), 2)
    assert not path.exists()


def _given(folder: Path) -> Path:
    """A manifest of four documents."""
    folder.mkdir()
    entries = []
    for number in range(4):
        (folder / f"{number}.txt").write_bytes(b"x")
        same = {"sha256": sums.of_bytes(b"x"), "bytes": 1, "valid": True}
        entries.append({"id": f"doc-{number}", "file": f"{number}.txt", **same})
    (folder / "manifest.json").write_text(json.dumps({"documents": entries}))
    return folder / "manifest.json"


@pytest.mark.parametrize(
    ("kind", "left", "torn"),
    [("link", LINES, None), ("file", b'{"id": "a"}\n{"id"', "cut in the middle of line 2")],
)
def test_nothing_is_torn_behind_a_link(
    kind: str, left: bytes, torn: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A results file that is a link leads to a file of the renter's."""
    given = documents.observe(_given(tmp_path / "given"))
    records = [{"id": entry.id, "status": "rejected", "reason": "not a text"} for entry in given.entries]
    (file := tmp_path / "theirs").write_bytes(LINES)

    def run(_: Any, __: Any, wanted: runs.Run, ___: Any) -> Application:
        if wanted.stop_after is None:
            return samples.application(records)
        wanted.output.mkdir()
        place = wanted.output / "results.jsonl"
        place.symlink_to(file) if kind == "link" else file.rename(place)
        made = samples.application(records, ended="stopped", returncode=None)
        return made.model_copy(update={"results": made.results.model_copy(update={"kind": kind})})

    monkeypatch.setattr(runs, "run", run)
    first = First(making.trial(tmp_path), samples.launch(), given, samples.application(records), print)
    seen = interruption.observe(first, tmp_path / "raw")
    assert seen.torn == torn
    assert (tmp_path / "raw" / "output" / "results.jsonl").read_bytes() == left
