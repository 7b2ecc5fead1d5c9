"""Runs the suite's loop around a module that a test writes, as the supervisor would start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.evidence import jsons

CALLER = Path(__file__).resolve().parents[2] / "fixtures" / "kinds" / "caller.py"
#: any three documents
THREE = {"doc-1": b"one", "doc-2": b"two", "doc-3": b"three"}


@dataclass
class Ran:
    """What one run of the loop left."""

    status: int
    out: str
    err: str
    records: dict[str, dict[str, Any]]
    told: list[dict[str, Any]]
    order: list[str]

    @property
    def begun(self) -> list[str]:
        return [line["document"] for line in self.told if "document" in line]

    @property
    def crashes(self) -> dict[str, str]:
        return {line["crash"]: line["how"] for line in self.told if "crash" in line}

    def categories(self) -> list[Any]:
        return [self.records[one].get("category") for one in sorted(self.records)]

    def reason(self, document: str) -> str:
        record = self.records[document]
        assert record["status"] == "rejected", record
        return str(record["reason"])


def prepare(place: Path, source: str, documents: dict[str, bytes] = THREE, **changes: Any) -> Path:
    """Write the module `app`, the documents, their manifest and a request; the request's path."""
    renter, staged = place / "renter", place / "documents"
    renter.mkdir()
    staged.mkdir()
    (renter / "app.py").write_text(source, encoding="utf-8")
    entries = []
    for number, (identifier, data) in enumerate(documents.items()):
        (staged / f"{number}.txt").write_bytes(data)
        entries.append({"id": identifier, "file": f"{number}.txt"})
    (staged / "manifest.json").write_text(json.dumps({"documents": entries}), encoding="utf-8")
    request = {
        "callable": "app:call", "gives": "text", "batches": False, "batch_size": 4,
        "manifest": str(staged / "manifest.json"), "results": str(place / "results.jsonl"),
        "device": "cpu", "folder": str(renter), **changes,
    }  # fmt: skip
    path = place / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    return path


def command(request: Path, python: str = sys.executable) -> list[str]:
    return [python, str(CALLER), str(request)]


def environment(folder: Path, **more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**clean, "GPU_PILOT_TOLD": str(folder / "told.jsonl"), **more}


def call(
    folder: Path,
    source: str,
    documents: dict[str, bytes] = THREE,
    *,
    python: str = sys.executable,
    environ: dict[str, str] | None = None,
    **changes: Any,
) -> Ran:
    """Run the loop to its end, at most a minute."""
    request = prepare(folder, source, documents, **changes)
    end = subprocess.run(
        command(request, python),
        cwd=folder / "renter",
        env=environment(folder, **(environ or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return look(folder, end.returncode, end.stdout, end.stderr)


def look(folder: Path, status: int, out: bytes, err: bytes) -> Ran:
    """Every line as the suite's own strict reader takes it."""
    records = lines(folder / "results.jsonl")
    order = [record.pop("id") for record in records]
    assert len(set(order)) == len(order), order
    return Ran(
        status=status,
        out=out.decode("utf-8", "replace"),
        err=err.decode("utf-8", "replace"),
        records=dict(zip(order, records, strict=True)),
        told=lines(folder / "told.jsonl"),
        order=order,
    )


def lines(path: Path) -> list[Any]:
    if not path.exists():
        return []
    return [jsons.parse(line) for line in path.read_bytes().decode("utf-8").split("\n")[:-1]]
