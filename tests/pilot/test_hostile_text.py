"""Text that is markup, or steers a terminal, stays text: wherever a document or an application can put it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.pilot.bench import Bench
from tests.pilot.bench import CATEGORIES
from tests.pilot.bench import Run
from tests.pilot.counted import FAULT
from tests.pilot.counted import TWIN

Record = Callable[[str, object], None]

MARK = "mischief"
SCRIPT = f"<script>{MARK}()</script>"
IMAGE = f'"><img src=x onerror={MARK}() alt={MARK}>'
CLOSING = f"</td></table></style></script><!-- ]]> {SCRIPT}"
#: clears the screen, sets the window's title, moves the cursor up, overrides the direction of text
ESCAPES = "\x1b[2J\x1b]0;all passed\x07\x1b[1A\u202eog"
HOSTILE = f"{SCRIPT}{IMAGE}{CLOSING}{ESCAPES}"
IDENTIFIER = f"doc-05{IMAGE}{SCRIPT}"


class Elements(HTMLParser):
    """Everything in a page that came from the text: elements, attributes and comments that carry the mark."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.text = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        ours = [name for name, value in attrs if name.startswith("on") and MARK in (value or "")]
        ours += [name for name, value in attrs if name in ("src", "href") and value == "x"]
        if ours or (tag == "img" and ("alt", MARK) in attrs):
            self.found.append(f"<{tag} {attrs}>"[:200])

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style") and MARK in data:
            self.found.append(f"in {self._inside}: {data[:200]}")
        self.text += data

    def handle_comment(self, data: str) -> None:
        if MARK in data:
            self.found.append(f"comment: {data[:200]}")


def _hostile_everywhere(bench: Bench) -> None:
    """In a document's text, an id, a category, a reason, a key of its own, and what is printed."""
    text = f"Document 5. {HOSTILE} " + "And so on. " * 40
    bench.replace("doc-05", text.encode())
    bench.rename("doc-05", IDENTIFIER)
    bench.parameters["categories"] = [*CATEGORIES, SCRIPT]
    bench.behave(
        "alters_and_prints",
        json.dumps({
            IDENTIFIER: {"category": SCRIPT, SCRIPT: HOSTILE},
            "doc-06": {"category": HOSTILE},
            "doc-07": {"status": "rejected", "reason": HOSTILE},
            "doc-08": {"id": HOSTILE},
            "doc-12": {"reason": f"not UTF-8 {HOSTILE}"},
        }),
        HOSTILE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    bench = Bench(tmp_path_factory.mktemp("hostile") / "renter")
    _hostile_everywhere(bench)
    run = bench.run("-v", "-rA", forked=True)
    assert run.trial is not None, run.output
    return run


def _page(run: Run) -> Elements:
    assert run.trial is not None
    elements = Elements()
    elements.feed((run.trial / "report.html").read_text())
    elements.close()
    return elements


def test_hostile_text_is_judged_like_any_other(hostile: Run, record_property: Record) -> None:
    record_property(FAULT, "hostile text")
    assert hostile.decided.first_error is not None
    assert (hostile.decided.decision, hostile.exit_status) == ("fix", 10)
    failed = {check.id for check in hostile.decided.checks() if check.status == "failed"}
    assert hostile.decided.first_error.check == "results.no_invented_identifier"
    assert {"results.allowed_category", "results.expected_category", "failures.valid_accepted"} <= failed
    assert IDENTIFIER in {name for check in hostile.decided.checks() for name in check.documents}


def test_hostile_text_is_no_markup_in_the_report(hostile: Run) -> None:
    page = _page(hostile)
    assert page.found == []
    assert page.text.count(SCRIPT) > 3


def test_hostile_text_steers_no_terminal(hostile: Run) -> None:
    assert [c for c in hostile.output if not (c.isprintable() or c == "\n")] == []
    assert MARK in hostile.output


def test_hostile_text_leaves_the_junit_file_well_formed(hostile: Run) -> None:
    from xml.etree import ElementTree

    assert hostile.trial is not None
    cases = ElementTree.parse(hostile.trial / "junit.xml").getroot().iter("testcase")
    assert len(list(cases)) == len(hostile.decided.checks())


def test_hostile_text_does_nothing_in_a_browser(hostile: Run, tmp_path: Path) -> None:
    """With its scripts running, pytest-html's table included: none of the elements comes to be."""
    assert hostile.trial is not None
    dumped = _dom(hostile.trial / "report.html", tmp_path)
    page = Elements()
    page.feed(dumped)
    assert "</html>" in dumped
    assert page.found == []


def _dom(report: Path, profile: Path) -> str:
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=3000",
        f"--user-data-dir={profile}", "--dump-dom", report.as_uri(),
    ]  # fmt: skip
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except FileNotFoundError:
        pytest.skip("there is no chromium on this machine")


def test_markup_that_is_an_ordinary_part_of_documents_passes(bench: Bench, record_property: Record) -> None:
    """The twin: a document about HTML is a document."""
    record_property(TWIN, "markup in a document")
    text = f"Document 5. How to write {SCRIPT} and {IMAGE}. " + "It has several words. " * 25
    bench.replace("doc-05", text.encode())
    bench.rename("doc-05", "a<b>&c")
    bench.behave("alters", json.dumps({"doc-12": {"reason": f"no text, only {SCRIPT}"}}))
    run = bench.run(forked=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 0), run.output
    assert {check.status for check in run.decided.checks()} == {"passed"}
    assert _page(run).found == []
    assert run.trial is not None
    assert re.search(r"a&lt;b&gt;&amp;c", (run.trial / "report.html").read_text())
