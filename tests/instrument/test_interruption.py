"""How the results of an interrupted run are left: as a kill in the middle of a line leaves them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures import interruption
from fixtures.evidence.parameters import ResultsFile

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
