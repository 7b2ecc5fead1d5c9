"""README.md's examples of servers are parameters that the suite takes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fixtures.evidence.base import validate
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.parameters import Server
from tests.pilot.bench import ROOT

PILOT = json.loads((ROOT / "config" / "pilot.json").read_text(encoding="utf-8"))
#: a word of the command, by which each server that README.md has to show is known
SHOWN = ("vllm.", "sglang.", "llama-server", "text-embeddings-router", "text-generation-launcher")


def examples() -> dict[str, dict[str, Any]]:
    """The examples by that word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = [
        block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"kind": "server"' in block
    ]
    found = [json.loads(block) for block in blocks]
    return {word: one for one in found for word in SHOWN if word in " ".join(one["command"])}


@pytest.mark.parametrize("word", SHOWN)
def test_an_example_in_the_readme_is_valid_and_stays_on_the_loopback(word: str) -> None:
    application = examples()[word]
    parameters = validate("README.md", json.dumps({**PILOT, "application": application}), Parameters)
    assert isinstance(parameters.application, Server)
    assert "127.0.0.1" in parameters.application.command
