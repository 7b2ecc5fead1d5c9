"""What the tests of the classifier share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
INVOICE = (
    "Invoice no. 118: 4 hours of gardening at 35.00, total due 140.00, please pay within 30 days by transfer."
)
TICKET = (
    "The app crashes whenever I log in since the update. I reinstalled it, same error message, please help."
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command() -> Run:
    """Runs the classifier in a process of its own, as the pilot trial does."""

    def run(*arguments: object, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *python, "-m", "fixtures.classifier", *map(str, arguments)],
            cwd=PROJECT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def make_manifest(tmp_path: Path) -> Callable[[dict[str, bytes | None]], Path]:
    """Writes documents and their manifest; None writes no document."""

    def make(documents: dict[str, bytes | None]) -> Path:
        for name, data in documents.items():
            if data is not None:
                (tmp_path / f"{name}.txt").write_bytes(data)
        manifest = tmp_path / "manifest.json"
        entries = [{"id": name, "file": f"{name}.txt"} for name in documents]
        manifest.write_text(json.dumps({"documents": entries}))
        return manifest

    return make


@pytest.fixture
def results_of() -> Callable[[Path], dict[str, Any]]:
    """Reads a results file by id."""

    def read(path: Path) -> dict[str, Any]:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert len({line["id"] for line in lines}) == len(lines), "an id was written twice"
        return {line["id"]: line for line in lines}

    return read


@pytest.fixture
def small_corpus(tmp_path: Path) -> Path:
    """A corpus of one language, enough to train on in a second."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "en.txt").write_text(CORPUS)
    return folder


CORPUS = """\
# a small corpus
[invoice]
Total due {amount} by {date}
Please pay {amount} to {company} within 30 days
VAT 20 %, subtotal {amount}
[contract]
This agreement is made between {company} and {person}
Either party may terminate with notice of 30 days
The lessee shall keep the premises in good order
[support_ticket]
The app crashes when I log in, error {number}
My order {number} has not arrived, please help
I cannot reset my password
[resume]
{person}, {city}, ten years of experience in sales
Skills: Python, SQL, project management
Bachelor of Science, {date}
[medical_report]
Patient presents with chest pain since {date}
Diagnosis: acute bronchitis, treated with antibiotics
Blood pressure 140/90, follow-up in two weeks
[fill.person]
Ann Lee
[fill.company]
Acme Ltd
[fill.city]
Leeds
[fill.date]
1 May 2024
[fill.amount]
120.00 EUR
[fill.number]
4711
"""
