"""One run of the application: what is hidden in what it wrote, and what whoever waits is shown meanwhile."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from fixtures import documents
from fixtures import runs
from fixtures import staging
from fixtures.evidence import sums
from fixtures.evidence.models import Application
from fixtures.evidence.parameters import Parameters
from tests.evidence import making
from tests.report import samples

#: rejects its one document, and quotes a variable as an exception would
APP = """
    import json, os, sys
    print(os.environ["SORT_KEY"])
    with open(sys.argv[1], "w") as stream:
        record = {"id": "doc-1", "status": "rejected", "reason": "no such place: " + os.environ["SORT_KEY"]}
        stream.write(json.dumps(record) + chr(10))
    with open(os.environ["GPU_PILOT_TOLD"], "w") as stream:
        stream.write(json.dumps({"document": "doc-1"}) + chr(10))
"""


def staged(folder: Path) -> staging.Stage:
    """One document."""
    (given := folder / "given").mkdir()
    (given / "a.txt").write_bytes(b"x")
    entry = {"id": "doc-1", "file": "a.txt", "sha256": sums.of_bytes(b"x"), "bytes": 1, "valid": True}
    (given / "manifest.json").write_text(json.dumps({"documents": [entry]}))
    stage = staging.as_given(folder / "staged", documents.observe(given / "manifest.json"))
    stage.make()
    return stage


def ran(folder: Path) -> Application:
    (program := folder / "app.py").write_text(textwrap.dedent(APP))
    asked: dict[str, Any] = {
        **making.PARAMETERS,
        "application": {
            "kind": "command",
            "command": [sys.executable, str(program), "{results}", "{manifest}"],
        },
    }
    trial = making.trial(folder, parameters=Parameters.model_validate(asked))
    stage = staged(folder)
    raw = trial.raw("application")
    wanted = runs.Run("application", raw, raw / "output", stage, 4)
    return runs.run(trial, samples.launch(device="cpu"), wanted, lambda line: None)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("hunter2hunter2", "no such place: $SORT_KEY"),
        ("status", "no such place: status"),  # hidden, no record would have one
        ("rejected", "no such place: rejected"),
        ("reason", "no such place: reason"),
    ],
)
def test_a_value_that_is_hidden_in_the_results_is_no_word_of_theirs(
    value: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SORT_KEY", value)
    seen = ran(tmp_path)
    assert [line.record for line in seen.results.lines] == [
        {"id": "doc-1", "status": "rejected", "reason": reason}
    ]
    assert seen.stdout.head == "$SORT_KEY\n"
    assert [one.document for one in seen.told.begun] == ["doc-1"]


@pytest.mark.parametrize(
    ("format", "lines", "shown"),
    [
        ("jsonl", 0, "0 of 1 documents"),
        ("jsonl", 1, "1 of 1 documents"),
        ("csv", 0, "0 of 1 documents"),
        ("csv", 2, "1 of 1 documents"),
        ("tsv", 1, "0 of 1 documents"),
        ("json", 40, " 1 documents"),
    ],
)
def test_documents_are_counted_as_the_format_has_them(
    format: str, lines: int, shown: str, tmp_path: Path
) -> None:
    said: list[str] = []
    wanted = runs.Run("application", tmp_path, tmp_path / "output", staged(tmp_path), 4)
    seen = {"at": 5.0, "lines": lines, "resident": 7 << 20, "card": None, "document": "doc-1"}
    runs._shown(wanted, format, said.append)(seen)
    assert said == [f"application: {shown.strip()}, at doc-1, 5 s, 7 MiB"]
