"""The page that pytest-html wrote, below ours: usable, and unable to spoil it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest

from plugins.report import attached
from plugins.report import render
from tests.report.conftest import Sample
from tests.report.parsed import Element
from tests.report.parsed import flat
from tests.report.parsed import parse

#: elements that pytest-html's script asks for by id, and stops without
NEEDED = {
    "environment",
    "environment-header",
    "results-table",
    "results-table-head",
    "data-container",
    "template_environment_row",
    "template_results-table__tbody",
    "template_results-table__body--empty",
    "show_all_details",
    "hide_all_details",
}
LOADING = {
    "src",
    "srcset",
    "href",
    "poster",
    "data",
    "action",
    "formaction",
    "background",
    "xlink:href",
    "ping",
}


def policy(page: Element) -> str:
    (meta,) = [one for one in page.all("meta") if one.attrs.get("http-equiv") == "Content-Security-Policy"]
    return meta.attrs["content"] or ""


def css(text: str) -> str:
    return "\n".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))


def test_everything_of_ours_stands_before_it_and_unchanged(sample: Sample, html_page: str) -> None:
    verdict, trial, alone = sample("fix")
    both = parse(render(verdict, trial, html_page))
    assert [len(both.all(tag)) for tag in ("html", "head", "body", "main", "h1")] == [1] * 5
    assert both.all("html")[0].attrs["lang"] == "en"
    assert str(both.all("head")[0].all("title")[0].children[0]).startswith("FIX: gpu-pilot rental")
    assert any(one.attrs.get("name") == "viewport" for one in both.all("meta"))
    ours, lone = both.all("main")[0], alone.all("main")[0]
    assert flat(ours.text).replace(" Filter ", " ") == flat(lone.text)
    order = [one for one in both.all() if one is ours or one.attrs.get("id") == "results-table"]
    assert order[0] is ours
    assert len(order) == 2


def test_its_script_finds_what_it_needs(sample: Sample, html_page: str) -> None:
    page = parse(render(*sample("go")[:2], html_page))
    ids = [one.attrs["id"] for one in page.all() if "id" in one.attrs]
    assert set(ids) >= NEEDED
    assert len(ids) == len(set(ids))
    data = json.loads(page.by_id("data-container").attrs["data-jsonblob"] or "")
    assert len(data["tests"]) == 4


def test_only_its_own_script_may_run(sample: Sample, html_page: str) -> None:
    text = render(*sample("go")[:2], html_page)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = policy(parse(text))
    assert f"script-src 'sha256-{digest}';" in allowed
    assert "default-src 'none'" in allowed
    assert "unsafe-eval" not in allowed
    assert script.strip() in html_page


def test_alone_no_script_may_run(sample: Sample) -> None:
    assert "script-src 'none'" in policy(sample("go")[2])


def test_values_of_the_environment_go_no_further(sample: Sample, html_page: str) -> None:
    text = render(*sample("go")[:2], html_page)
    assert "hunter2-of-the-ci" in html_page
    assert "hunter2-of-the-ci" not in text
    assert "hidden" in parse(text).by_id("environment").attrs


def test_markup_in_an_id_stays_data(sample: Sample, html_page: str) -> None:
    page = parse(render(*sample("go")[:2], html_page))
    assert "onerror=alert(1)" in (page.by_id("data-container").attrs["data-jsonblob"] or "")
    assert not any("onerror" in one.attrs for one in page.all())
    assert len(page.all("script")) == 1


@pytest.mark.parametrize("name", ["go", "rehearsal", "fix", "reconfigure"])
@pytest.mark.parametrize("with_table", [True, False])
def test_nothing_is_loaded_from_anywhere(name: str, with_table: bool, sample: Sample, html_page: str) -> None:
    text = render(*sample(name)[:2], html_page if with_table else None)
    page = parse(text)
    for one in page.all():
        for attribute in LOADING & set(one.attrs):
            value = one.attrs[attribute] or ""
            outside = one.tag == "a" and value.startswith("https://")
            assert value == "" or value.startswith("#") or outside, (one.tag, attribute, value)
    assert not page.all("link")
    assert not page.all("iframe")
    assert not page.all("base")
    assert "url(" not in css(text)
    assert "@import" not in css(text)
    assert len(text.encode()) < 300_000


def test_its_style_reaches_nothing_of_ours(sample: Sample, html_page: str) -> None:
    text = render(*sample("go")[:2], html_page)
    theirs, ours = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert theirs.startswith("@layer pytest-html { .pytest-html {")
    assert theirs.count("{") == theirs.count("}")
    rules = re.sub(r"@(media|page)[^{]*\{|/\*.*?\*/", "", ours, flags=re.DOTALL)
    for selector in re.findall(r"([^{}]+)\{[^{}]*\}", rules):
        for part in re.split(r",(?![^(]*\))", selector):
            allowed = (
                ".pilot",
                ".pytest-html",
                "section.pilot",
                ":root",
                "html",
                "body.pilot-page",
                "footer.pilot",
                "margin",
            )
            assert part.strip().startswith(allowed), part


def test_it_says_what_the_table_lacks_with_and_without_scripts(sample: Sample, html_page: str) -> None:
    page = parse(render(*sample("go")[:2], html_page))
    assert "Crashed and unrun checks are listed above only" in flat(page.text)
    (without,) = page.all("noscript")
    assert "crashed and unrun checks are listed above only" in flat(without.text)


BLOB = html.escape(json.dumps({"environment": {"CI": "x"}, "tests": {}}))
GOOD = f'<html><head></head><body><div data-jsonblob="{BLOB}"></div><script>1</script></body></html>'


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "no page at all",
        "\x00\xff",
        "<html><head></head><p>without its tag</p></html>",
        "<html><!-- <body> --></html>",
        "<html><head><style> <body> </style></head></html>",
        GOOD.replace("data-jsonblob", "data-other"),
        GOOD.replace(BLOB, "not JSON"),
        GOOD.replace(BLOB, "[1]"),
        GOOD.replace(BLOB, "[" * 100_000),
        GOOD.replace("<script>1</script>", ""),
        GOOD.replace("<script>1</script>", "<script>1</script><script>2</script>"),
    ],
)
def test_a_page_of_another_form_is_left_out_and_that_is_said(broken: str, sample: Sample) -> None:
    verdict, trial, alone = sample("fix")
    page = parse(render(verdict, trial, broken))
    assert "its table is left out" in flat(page.text)
    assert flat(page.all("main")[0].text) == flat(alone.all("main")[0].text)
    assert not page.all("script")
    assert "script-src 'none'" in policy(page)


@pytest.mark.parametrize(
    "page",
    [
        GOOD,
        GOOD.replace("<body>", "<body class=\"a > b\"\n data-x='<body>'>"),
        GOOD.replace("<body>", "<BODY>").replace("</body>", "</BODY >"),
        GOOD.replace("<head>", "<head>\n<!-- <body> -->\n<style>/* <body> */</style>\n"),
        GOOD.replace("</body></html>", ""),
        GOOD.replace("\n", "\r\n"),
    ],
)
def test_the_body_is_found_wherever_it_begins(page: str) -> None:
    found = attached.take(page)
    assert found
    assert found.body.startswith('<div data-jsonblob="')
    assert found.body.endswith("</script>")
    assert "CI" not in found.body
