"""A bundle as the support opens it."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.evidence import sums
from fixtures.evidence.trial import Trial
from plugins import bundle
from plugins.verdict_file import Verdict


@dataclass
class Opened:
    folder: str
    members: list[tarfile.TarInfo]
    content: dict[str, bytes]

    @property
    def whole(self) -> str:
        """Everything that is in it, names included."""
        texts = [data.decode("utf-8") for data in self.content.values()]
        return "\n".join([self.folder, *self.content, *texts])

    def json(self, name: str) -> Any:
        return json.loads(self.content[name])

    def text(self, name: str) -> str:
        return self.content[name].decode("utf-8")


def read(file: Path) -> Opened:
    with tarfile.open(file) as tar:
        members = tar.getmembers()
        folders = {member.name.partition("/")[0] for member in members}
        assert len(folders) == 1
        content = {}
        for member in members:
            stream = tar.extractfile(member)
            assert stream
            content[member.name.partition("/")[2]] = stream.read()
    opened = Opened(folders.pop(), members, content)
    listed = {one["path"]: (one["sha256"], one["bytes"]) for one in opened.json("manifest.json")["items"]}
    assert listed == {
        name: (sums.of_bytes(data), len(data)) for name, data in content.items() if name != "manifest.json"
    }
    return opened


def made(trial: Trial, verdict: Verdict | None, folder: Path) -> Opened:
    bundle.write(trial, verdict, folder / "bundle.tar.gz")
    return read(folder / "bundle.tar.gz")
