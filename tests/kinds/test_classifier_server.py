"""A real server: the embedded classifier with the real torch, over the twelve documents of data/pilot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.asking import Table
from tests.pilot.bench import ROOT
from tests.pilot.test_embedded import TORCH_PYTHON

PILOT = ROOT / "data" / "pilot"
MANIFEST = json.loads((PILOT / "manifest.json").read_text(encoding="utf-8"))["documents"]
SCHEMA = {"type": "object", "properties": {"category": {"enum": "{categories}"}}, "required": ["category"]}


@pytest.mark.skipif(
    TORCH_PYTHON is None, reason="no torch in this interpreter, and GPU_PILOT_TORCH_PYTHON names no other"
)
@pytest.mark.parametrize("field", [None, "category"])
def test_the_twelve_documents_get_their_categories_from_a_server(tmp_path: Path, field: str | None) -> None:
    body: dict[str, Any] = {"model": "embedded", "messages": [{"role": "user", "content": "{text}"}]}
    if field is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "c", "schema": SCHEMA}}
    table = Table(
        tmp_path,
        {entry["id"]: (PILOT / entry["file"]).read_bytes() for entry in MANIFEST},
        request={"path": "/v1/chat/completions", "body": body},
        answer={"at": "choices.0.message.content", "field": field},
        more={
            "command": [
                TORCH_PYTHON,
                str(Path(__file__).with_name("classifier_server.py")),
                "{port}",
                "cpu",
            ],
            "batch_size": 4,
        },
    )
    asked = table.run()
    assert asked.status == 0, asked.stderr
    assert asked.crashes() == {}
    assert {name: record.get("category") for name, record in asked.records.items()} == {
        entry["id"]: entry.get("category") for entry in MANIFEST
    }
    assert asked.records["doc-12"]["reason"].startswith("not valid UTF-8 at byte ")
