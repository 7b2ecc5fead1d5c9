"""What a server answered, read without a network: a category, or the reason why there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.asking.answers import LONGEST
from fixtures.asking.answers import Outcome
from fixtures.asking.answers import Reader
from fixtures.asking.template import Template
from fixtures.asking.template import Unsendable
from fixtures.evidence.parameters import IN_A_REQUEST

CATEGORIES = ["invoice", "support ticket", "C"]
CONTENT = "choices.0.message.content"


def chat(text: Any, finish: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": finish}]}


#: name -> (at, field, the body, the category)
ACCEPTED: dict[str, tuple[str | None, str | None, Any, str]] = {
    "whole-body": (None, None, b"\n invoice \n", "invoice"),
    "whole-body-that-is-a-json-string": (None, None, b' "support ticket"\n', "support ticket"),
    "chat": (CONTENT, None, chat(" invoice\n"), "invoice"),
    "cut-off-after-the-category": (CONTENT, None, chat("invoice", "length"), "invoice"),
    "schema": (CONTENT, "category", chat('{"category": "C"}'), "C"),
    "schema-of-an-object": ("result", "category", {"result": {"category": "C"}}, "C"),
    "field-of-the-whole-body": (None, "category", {"category": "C", "p": 0.5}, "C"),
    "tei": ("0.label", None, [{"label": "invoice", "score": 0.9}, {"label": "C", "score": 0.1}], "invoice"),
    "a-key-of-digits": ("scores.0", None, {"scores": {"0": "invoice"}}, "invoice"),
    "minus-infinity-beside-it": (CONTENT, None, chat("C") | {"logprobs": [float("-inf")]}, "C"),
}
#: name -> (at, field, the body, the reason)
REJECTED: dict[str, tuple[str | None, str | None, Any, str]] = {
    "another-case": (CONTENT, None, chat("Invoice"), "the answer is no category: 'Invoice'"),
    "two-categories": (CONTENT, None, chat("invoice, C"), "the answer is no category: 'invoice, C'"),
    "an-object": ("result", None, {"result": {"a": 1}}, 'the answer is no category: {"a": 1}'),
    "a-number": (CONTENT, "category", chat('{"category": 3}'), "the answer is no category: 3"),
    "a-list-in-the-field": (
        CONTENT, "category", chat('{"category": ["C"]}'), 'the answer is no category: ["C"]',
    ),
    "empty": (CONTENT, None, chat(" \n"), "the answer is empty (finish_reason 'stop')"),
    "empty-whole": (None, None, b"", "the answer is empty"),
    "null": (CONTENT, "category", chat(None, "length"), "the answer is null (cut off: finish_reason 'length')"),
    "the-place-is-missing": (
        CONTENT, None, {"error": "x", "object": "error"},
        f"the answer has no {CONTENT} (found the keys error, object)",
    ),
    "the-list-is-empty": (
        CONTENT, None, {"choices": []}, f"the answer has no {CONTENT} (choices has a list of 0)",
    ),
    "deeper": (
        CONTENT, None, {"choices": [{"text": "C"}]}, f"the answer has no {CONTENT} (choices.0 has the keys text)",
    ),
    "a-negative-index": ("0.label", None, {"label": "C"}, "the answer has no 0.label (found the keys label)"),
    "prose-for-json": (
        CONTENT, "category", chat("Sure!"),
        "the answer is no JSON with category: 'Sure!'; line 1 column 1: expecting value",
    ),
    "a-fenced-block": (
        CONTENT, "category", chat('```json\n{"category": "C"}\n```'),
        "the answer is no JSON with category: '```json {\"category\": \"C\"} ```'; line 1 column 1: expecting value",
    ),
    "torn-json": (
        CONTENT, "category", chat('{"category": "inv', "length"),
        "the answer is no JSON with category: '{\"category\": \"inv'; line 1 column 14: unterminated string "
        "starting at (cut off: finish_reason 'length')",
    ),
    "the-key-twice": (
        CONTENT, "category", chat('{"category": "C", "category": "invoice"}'),
        "the answer is no JSON with category: '{\"category\": \"C\", \"category\": \"invoice\"}'; the key 'category' "
        "twice in one object",
    ),
    "another-field": (
        CONTENT, "category", chat('{"label": "C"}'), "the JSON in the answer has no category (found the keys label)",
    ),
    "a-list-for-an-object": (
        CONTENT, "category", chat('["C"]'), "the JSON in the answer has no category (found a list of 1)",
    ),
    "latin-1": (None, None, b"caf\xe9", "the answer is not valid UTF-8 at byte 3"),
    "nesting": (CONTENT, None, b"[" * 100_000, f"the answer has no {CONTENT}, for it is no JSON: "
                f"'{'[' * (LONGEST - 1)}…'"),
    "half-a-surrogate-pair": (CONTENT, None, b'{"choices": [{"message": {"content": "\\ud800"}}]}',
                              "the answer is no category: '?'"),
}  # fmt: skip


def read(at: str | None, field: str | None, body: Any) -> Outcome:
    kind = {
        "content-type": "text/plain" if isinstance(body, bytes) and b'"' not in body else "application/json"
    }
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reader(CATEGORIES, at, field).read(200, kind, data)


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_answer_that_is_a_category_is_accepted(name: str) -> None:
    at, field, body, category = ACCEPTED[name]
    assert read(at, field, body) == Outcome(category=category)


@pytest.mark.parametrize("name", REJECTED)
def test_an_answer_that_is_no_category_is_a_rejection_that_says_what_came(name: str) -> None:
    at, field, body, reason = REJECTED[name]
    assert read(at, field, body) == Outcome(reason=reason)


@pytest.mark.parametrize(
    ("status", "body", "sent", "reason", "crashed"),
    [
        (400, b'{"error": {"message": "too long", "code": 400}}', {}, "HTTP 400: too long", False),
        (404, b"", {}, "HTTP 404: Not Found", False),
        (413, b'{"error": "batch size", "error_type": "validation"}', {}, "HTTP 413: batch size", False),
        (422, b'{"detail": "no text"}', {}, "HTTP 422: no text", False),
        (424, b'{"message": "backend"}', {}, "HTTP 424: backend", False),
        (204, b"", {}, "HTTP 204: No Content", False),
        (
            301,
            b"",
            {"location": "http://h/x"},
            "HTTP 301: a redirect to http://h/x, and none is followed",
            False,
        ),
        (500, b"\n\nInternal Server Error\nat line 3", {}, "HTTP 500: Internal Server Error", True),
        (503, b"", {}, "HTTP 503: Service Unavailable", True),
        (
            503,
            b"",
            {"retry-after": "1"},
            "HTTP 503: Service Unavailable (Retry-After: 1; not asked again)",
            False,
        ),
        (599, b"\xff", {}, "HTTP 599: \N{REPLACEMENT CHARACTER}", True),
        (799, b"", {}, "HTTP 799", True),
    ],
)
def test_another_status_is_a_rejection_in_the_servers_words(
    status: int, body: bytes, sent: dict[str, str], reason: str, crashed: bool
) -> None:
    assert Reader(CATEGORIES).read(status, sent, body) == Outcome(reason=reason, crashed=crashed)


def test_what_stands_in_braces_in_a_document_or_an_identifier_is_no_placeholder() -> None:
    body = {
        "a": "{id}: {text} {unknown} {",
        "b": [1, None, "{categories}", "one of {categories}"],
        "{id}": "{base64}",
    }
    data, kind = Template(body, CATEGORIES).fill("{text}", b"{id} {categories}")
    assert kind == "application/json"
    assert json.loads(data) == {
        "a": "{text}: {id} {categories} {unknown} {",
        "b": [1, None, CATEGORIES, "one of invoice, support ticket, C"],
        "{id}": "e2lkfSB7Y2F0ZWdvcmllc30=",
    }


@pytest.mark.parametrize("word", IN_A_REQUEST)
@pytest.mark.parametrize("template", ["{{{}}}", "before {{{}}} after"])
def test_every_word_that_the_configuration_takes_is_put_in(word: str, template: str) -> None:
    data, _ = Template([template.format(word)], CATEGORIES).fill("doc-01", b"a text")
    assert "{" not in data.decode()


def test_bytes_that_are_no_text_are_refused_for_a_text_and_not_for_base64() -> None:
    with pytest.raises(Unsendable, match="not valid UTF-8 at byte 2"):
        Template("{text}", CATEGORIES).fill("a", b"ab\xff")
    assert Template(["{base64}"], CATEGORIES).fill("a", b"ab\xff")[0] == b'["YWL/"]'
