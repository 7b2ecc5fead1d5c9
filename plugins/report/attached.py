"""pytest-html's own page, taken apart so that its table can stand below the report.

pytest-html draws everything with a script from one attribute and puts ids into the page unescaped
(https://github.com/pytest-dev/pytest-html/issues/1024). Here its script is allowed by its sum and nothing
else is, so markup that came with an id can run nothing and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser

_STYLE = re.compile(r"<style\b[^>]*>(.*?)</style\s*>", re.IGNORECASE | re.DOTALL)
_SCRIPT = re.compile(r"<script>(.*?)</script\s*>", re.DOTALL)
_END = re.compile(r"</body\s*>", re.IGNORECASE)
_BLOB = re.compile(r'\bdata-jsonblob="([^"]*)"')


@dataclass(frozen=True)
class Attached:
    """The inside of its body, its style, and the sum of its script."""

    css: str
    body: str
    script_sum: str


class _BodyFound(Exception):
    pass


class _BodyFinder(HTMLParser):
    """Stops behind the body's start tag; one that stands in a comment, a style or an attribute is none."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            raise _BodyFound


def take(page: str) -> Attached | None:
    """What is needed of pytest-html's page, or None where it does not have the form of one."""
    start = _body_start(page)
    if start is None:
        return None
    ends = list(_END.finditer(page, start))
    body = page[start : ends[-1].start() if ends else len(page)]
    scripts = _SCRIPT.findall(body)
    blob = _BLOB.search(body)
    data = _without_environment(blob[1]) if blob else None
    if blob is None or data is None or len(scripts) != 1:
        return None
    body = f'{body[: blob.start()]}data-jsonblob="{data}"{body[blob.end() :]}'
    css = "\n".join(_STYLE.findall(page[:start]))
    return Attached(css=css, body=_fitted(body), script_sum=_sum(scripts[0]))


def policy(table: Attached | None) -> str:
    """The page's content security policy: nothing is fetched, and no script runs but pytest-html's own."""
    script = f"'sha256-{table.script_sum}'" if table else "'none'"
    return (
        f"default-src 'none'; script-src {script}; style-src 'unsafe-inline'; img-src data:; "
        "media-src data:; base-uri 'none'; form-action 'none'"
    )


def _body_start(page: str) -> int | None:
    finder = _BodyFinder(convert_charrefs=True)
    try:
        finder.feed(page)
    except _BodyFound:
        line, column = finder.getpos()
        at = 0
        for _ in range(line - 1):
            at = page.index("\n", at) + 1
        return at + column + len(finder.get_starttag_text() or "")
    except (AssertionError, ValueError):
        return None  # what the parser cannot read is no page of pytest-html's
    return None


def _without_environment(escaped: str) -> str | None:
    """The data less the Environment table: continuous-integration variables are among its values."""
    try:
        data = json.loads(html.unescape(escaped))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "tests" not in data:
        return None
    return html.escape(json.dumps({**data, "environment": {}}))


def _fitted(body: str) -> str:
    """Its headings one and two levels down, its empty Environment hidden (the script still asks for it)."""
    for old, new in (
        (r'<h1 id="title">(.*?)</h1>', ""),
        (r"<h2>(Environment|Summary)</h2>", r"<h3>\1</h3>"),
        (r'<div id="environment-header">', '<div id="environment-header" hidden>'),
        (r'<table id="environment">', '<table id="environment" hidden>'),
    ):
        body = re.sub(old, new, body, count=2, flags=re.DOTALL)
    return body


def _sum(script: str) -> str:
    # a browser counts line breaks as it reads them
    normal = script.replace("\r\n", "\n").replace("\r", "\n")
    return base64.b64encode(hashlib.sha256(normal.encode("utf-8", "replace")).digest()).decode("ascii")
