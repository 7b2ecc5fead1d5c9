"""Text from documents, the application and the machine never becomes markup, in whatever field it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic import ValidationError

from fixtures.evidence import models as m
from fixtures.evidence.trial import Record
from plugins.report import render
from plugins.report import text
from plugins.verdict_file import Verdict
from tests.report import samples
from tests.report.parsed import Element
from tests.report.parsed import parse

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "quotes": '"\'` onmouseover=alert(1) x="',
    "attribute": '"><img src=x onerror=alert(1)><a href="javascript:alert(1)">',
    "closing": "</bdi></td></tr></table></section></main></body></html>",
    "raw text": "</style></title></script></svg></pre></details>",
    "sections": "]]><![CDATA[ <!-- --> <?xml ?> <!DOCTYPE x>",
    "entities": "&lt;script&gt;&#60;b&#62;&amp;nbsp;",
    "template": "{{ 7*7 }}{% raw %}{# x #}${7*7}",
    "bidi": "\u202ereversed\u202c \u2066isolate\u2069 \u200e\u200f\u061c",
    "control": "\x00\x01\x07\x08\x0b\x0c\x1b[31mred\x1b[0m\x7f\x85\x9b",
    "unseen": "a\u200bb\u200cc\u2060d\ufeffe\u00adf\u2028g\u2029h\U000e0041\uffff\ufff9",
    "surrogate": "\\ud800 \\udfff half of a pair, escaped",
    "combining": "Z\u0351\u0327\u0301" * 40,
    "blanks": " \r\n\r\t \n ",
}
#: what a browser shows otherwise than it stands there, or not at all
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc\ufffe\uffff\U000e0041]"
)


def poisoned(value: Any, with_: str) -> Any:
    """`value` with `with_` after every text in it, but for those of which only a few are allowed."""
    if isinstance(value, str):
        return value + with_
    if isinstance(value, list):
        return [poisoned(item, with_) for item in value]
    if isinstance(value, dict):
        return {
            key if key in ("id", "status", "category", "reason") else key + with_: (
                item if key == "status" else poisoned(item, with_)
            )
            for key, item in value.items()
        }
    if isinstance(value, BaseModel):
        return _poisoned_model(value, with_)
    return value


def _poisoned_model(value: BaseModel, with_: str) -> BaseModel:
    """Also where a validator of today would refuse it: the page must not lean on who checks what."""
    kept = {name: getattr(value, name) for name in type(value).model_fields}
    changed = {}
    for name, one in kept.items():
        bad = poisoned(one, with_)
        try:
            type(value).model_validate({**kept, name: bad})
        except ValidationError as error:
            if any(problem["type"] == "literal_error" for problem in error.errors()):
                continue
        changed[name] = bad
    return value.model_copy(update=changed)


def page(folder: Path, with_: str, name: str = "fix") -> str:
    """The report on a sample in which every text there can be ends with `with_`."""
    verdict, trial = samples.SAMPLES[name](folder / "clean")
    bad: Verdict = poisoned(verdict, with_)
    record: Record = poisoned(trial.record, with_).model_copy(update={"trial": samples.NAME})
    evidence: dict[str, Any] = {"copy": poisoned(samples.copy(), with_)}
    for part, model in (
        ("inventory", m.Inventory),
        ("launch", m.Launch),
        ("documents", m.Documents),
        ("application", m.Application),
    ):
        if seen := trial.find(part, model):
            evidence[part] = poisoned(seen, with_)
        else:
            evidence[part] = samples.envelope(
                part, not_reached={"step": "driver" + with_, "why": "old" + with_}
            )
    return render(bad, samples.trial(folder / "poisoned", evidence, record))


def skeleton(root: Element) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
    """Every element with every attribute, and none of the text."""
    return [(one.tag, tuple(one.attrs.items())) for one in root.all()]


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {
        name: page(tmp_path_factory.mktemp("harmless"), " MARK harmless", name)
        for name in ("fix", "reconfigure")
    }


@pytest.mark.parametrize("name", ["fix", "reconfigure"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_leaves_every_element_and_attribute_as_it_was(
    kind: str, name: str, harmless: dict[str, str], tmp_path: Path
) -> None:
    bad = page(tmp_path, " MARK " + HOSTILE[kind], name)
    root, expected = parse(bad), parse(harmless[name])
    assert skeleton(root) == skeleton(expected)
    assert root.text.count("MARK") == expected.text.count("MARK") > 100
    assert UNSEEN.search(bad) is None


@pytest.mark.parametrize(
    "kind", ["script", "attribute", "closing", "sections", "entities", "template", "surrogate"]
)
def test_hostile_text_is_shown_as_it_is(kind: str, tmp_path: Path) -> None:
    assert parse(page(tmp_path, HOSTILE[kind])).text.count(HOSTILE[kind]) > 100


def test_every_text_of_the_samples_is_poisoned() -> None:
    assert "MARK" in poisoned(samples.application(), "MARK").memory.cards[0].name
    assert "MARK" in poisoned(samples.application(), "MARK").results.lines[3].record["category"]
    assert "MARK" in poisoned(samples.inventory(), "MARK").host.kernel
    assert "MARK" in poisoned(samples.verdict(), "MARK").criteria[0].checks[0].title


@pytest.mark.parametrize("long", ["x" * 100_000, "字" * 60_000, "<" * 60_000, "a b " * 30_000])
def test_very_long_text_is_cut_and_the_rest_is_counted(long: str, tmp_path: Path) -> None:
    verdict = samples.verdict()
    evidence = {
        **samples.everything(),
        "application": samples.application(
            [
                {"id": "doc-01", "status": "rejected", "reason": long, long: long},
                {"id": long, "status": "accepted"},
            ],
            error=long,
            stderr=samples.output(long).model_copy(update={"head": long, "tail": long}),
            command=[long],
        ),
    }
    bad = verdict.model_copy(update={"reason": long, "conditions": [long], "trial": long})
    out = render(bad, samples.trial(tmp_path / "u", evidence))
    parse(out)
    assert "more characters" in out
    assert len(out.encode()) < 300_000


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\u202e", "[U+202E]"),
        ("\x00", "[U+0000]"),
        ("\u200b", "[U+200B]"),
        ("\ud800", "[U+D800]"),
        ("\U000e0041", "[U+E0041]"),
        ("\r", "[U+000D]"),
        ("\x1b", "[U+001B]"),
    ],
)
def test_what_cannot_be_seen_is_written_out(hidden: str, shown: str) -> None:
    assert text.visible(f"in{hidden}voice") == f"in{shown}voice"


@pytest.mark.parametrize(
    "plain", ["Maëlle", "右膝关节", "hóa đơn", "a\tb\nc", "naïve café", "🙂", "\u00a0", "é"]
)
def test_ordinary_text_is_left_as_it_is(plain: str) -> None:
    assert text.visible(plain) == plain


@pytest.mark.parametrize("language", ['en" onclick="x', "EN", "english", "e", "en_US", "", "zh-\u202e"])
def test_a_language_that_is_none_is_no_attribute(language: str, tmp_path: Path) -> None:
    documents = samples.documents()
    entries = [entry.model_copy(update={"language": language}) for entry in documents.entries]
    evidence = {"documents": documents.model_copy(update={"entries": entries})}
    root = parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence)))
    assert [one.attrs.get("lang") for one in root.having("beginning")] == [None] * 12


def test_a_language_helps_the_reader_and_the_font(tmp_path: Path) -> None:
    evidence = {"documents": samples.documents()}
    root = parse(render(samples.verdict(), samples.trial(tmp_path / "t", evidence)))
    assert {one.attrs.get("lang") for one in root.having("beginning")} == {"en", "es", "fr", "it", "vi", "zh"}
