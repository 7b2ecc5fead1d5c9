"""The JSON Schema of verdict.json, for whoever reads verdicts without this suite; `python -m plugins.schema`."""

from __future__ import annotations

import json
from pathlib import Path

from plugins.verdict_file import schema

FILE = Path(__file__).with_name("verdict.schema.json")


def render() -> str:
    """The file's text as the model gives it."""
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "verdict.json of gpu-pilot"}
    return json.dumps({**schema(), **named}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
