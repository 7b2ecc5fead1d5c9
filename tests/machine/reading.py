"""The files for machines as their readers see them: held against the public schemas, then taken apart."""

from __future__ import annotations

import functools
import json
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
from lxml import etree

SCHEMAS = Path(__file__).with_name("schemas")


@functools.cache
def _junit() -> Any:
    return etree.XMLSchema(etree.parse(str(SCHEMAS / "junit-10.xsd")))


@functools.cache
def _ctrf() -> Any:
    schema = json.loads((SCHEMAS / "ctrf.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    return validator(schema, format_checker=validator.FORMAT_CHECKER)


def junit(data: bytes) -> Any:
    """The root of a JUnit file that the schema of Jenkins' xUnit plugin accepts."""
    root = etree.fromstring(data)
    _junit().assertValid(root)
    return root


def ctrf(data: bytes) -> Any:
    """A CTRF document that its public schema accepts, `format` included."""
    document = json.loads(data.decode("utf-8"))
    _ctrf().validate(document)
    return document


def junit_cases(root: Any) -> dict[tuple[str, str], Any]:
    """(classname, name) -> case; none stands twice."""
    cases = root.findall("testsuite/testcase")
    named = {(case.get("classname"), case.get("name")): case for case in cases}
    assert len(named) == len(cases)
    return named


def ctrf_tests(document: Any) -> dict[tuple[str, str], Any]:
    """(suite, name) -> test; none stands twice."""
    tests = document["results"]["tests"]
    named = {(test["suite"][0], test["name"]): test for test in tests}
    assert len(named) == len(tests)
    return named


def counted(document: Any) -> Counter[str]:
    return Counter(test["status"] for test in document["results"]["tests"])


@dataclass
class Row:
    check: str
    status: str
    found: str
    carried: str


class Summary(HTMLParser):
    """A step's summary: its tags, its text outside and inside `code`, and the rows of its table of checks."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[object] = []
        self.open: list[str] = []
        self.outside = ""
        self.code: list[str] = []
        self.rows: list[Row] = []
        self._cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "an element is left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        self.open.append(tag)
        if tag == "tr":
            self._cells = []
        if tag == "td":
            self._cells.append("")
        if tag == "code":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "tr" and len(self._cells) == 5:
            self.rows.append(Row(*self._cells[1:]))

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self._cells[-1] += data
        if "code" in self.open:
            self.code[-1] += data
        else:
            self.outside += data
