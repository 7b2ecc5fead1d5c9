"""Runs the suite's client over documents, against a server of these tests, and looks at what it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from tests.pilot.bench import CATEGORIES
from tests.pilot.bench import ROOT

ASKER = ROOT / "fixtures" / "kinds" / "asker.py"
SERVERS = Path(__file__).with_name("servers.py")
CHAT = {
    "path": "/v1/chat/completions",
    "body": {"model": "m", "messages": [{"role": "user", "content": "{text}"}]},
}


@dataclass
class Asked:
    """What one run of the client came to."""

    status: int
    stderr: str
    records: dict[str, dict[str, Any]]
    told: list[dict[str, Any]]
    log: list[dict[str, Any]]
    lines: int

    def crashes(self) -> dict[str, str]:
        return {one["crash"]: one["how"] for one in self.told if "crash" in one}

    def begun(self) -> list[str]:
        return [one["document"] for one in self.told if "document" in one]


@dataclass
class Table:
    """Documents and a request about them, in a folder of a test. Change what is to be otherwise, then run."""

    folder: Path
    documents: dict[str, bytes]
    mode: str = "healthy"
    request: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=lambda: {"at": "choices.0.message.content", "field": None})
    #: keys of the request file that are to be otherwise
    more: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def command(self) -> list[str]:
        """Write everything down; the client's command line."""
        for name, data in self.documents.items():
            (self.folder / f"{name}.txt").write_bytes(data)
        entries = [{"id": name, "file": f"{name}.txt"} for name in self.documents]
        (self.folder / "manifest.json").write_text(json.dumps({"documents": entries}))
        request = {
            "command": [sys.executable, str(SERVERS), "{port}", str(self.folder / "log"), self.mode],
            "folder": str(self.folder),
            "ready": "/health",
            "ready_s": 30,
            "request": {"headers": {}, "bearer": None, "timeout_s": 20, **CHAT, **self.request},
            "answer": self.answer,
            "categories": CATEGORIES,
            "batch_size": 1,
            "manifest": str(self.folder / "manifest.json"),
            "results": str(self.folder / "results.jsonl"),
            **self.more,
        }
        (self.folder / "request.json").write_text(json.dumps(request))
        return [sys.executable, str(ASKER), str(self.folder / "request.json")]

    def environ(self) -> dict[str, str]:
        # a proxy that takes no connection: whoever asks it gets no answer
        proxy = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "all")} | {
            "no_proxy": "",
            "NO_PROXY": "",
        }
        return {**os.environ, **proxy, "GPU_PILOT_TOLD": str(self.folder / "told.jsonl"), **self.environment}

    def run(self) -> Asked:
        end = subprocess.run(
            self.command(), env=self.environ(), capture_output=True, timeout=60, cwd=self.folder, check=False
        )
        return self.look(end.returncode, end.stderr.decode())

    def look(self, status: int, stderr: str) -> Asked:
        records = self.lines("results.jsonl")
        return Asked(
            status,
            stderr,
            {one["id"]: one for one in records},
            self.lines("told.jsonl"),
            self.lines("log"),
            len(records),
        )

    def lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []
