"""The JSON Schemas of verdict.json and decision.json, for whoever reads them without this suite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from plugins.decision import file as decision_file
from plugins.verdict_file import schema

FILE = Path(__file__).with_name("verdict.schema.json")
DECISION = Path(__file__).with_name("decision.schema.json")
#: by the schema's file: which file it is of, and what the model gives
_OF: dict[str, tuple[str, Callable[[], dict[str, object]]]] = {
    FILE.name: ("verdict.json", schema),
    DECISION.name: ("decision.json", decision_file.schema),
}
NAMES = tuple(_OF)


def render(name: str = FILE.name) -> str:
    """The text of the schema's file `name` as the model gives it."""
    of, give = _OF[name]
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{of} of gpu-pilot"}
    return json.dumps({**give(), **named}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
