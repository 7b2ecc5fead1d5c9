"""Words in braces: which ones are, and what is put in for them."""

from __future__ import annotations

import json

import pytest

from fixtures.evidence import braces


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{text}", ["text"]),
        ("a {base64} and {id}", ["base64", "id"]),
        ("{{text}}", ["text"]),
        ("{text {id}", ["id"]),
        ('{"at": {"b": 1}} {} {0} {A} {a b} }{', []),
        ("", []),
    ],
)
def test_the_words_are_found_and_every_one_of_them_can_be_put_in(text: str, words: list[str]) -> None:
    assert braces.words(text) == words
    done = braces.put_in(text, {word: f"<{word}>" for word in words})
    assert braces.words(done) == []
    assert all(f"<{word}>" in done for word in words)
    assert words or done == text


def test_a_word_that_has_no_value_and_one_inside_a_value_stay() -> None:
    assert braces.put_in("{text} {other}", {"text": "{id}", "id": "x"}) == "{id} {other}"


def test_every_text_of_a_value_is_found_and_no_key() -> None:
    value = json.loads('{"key": "a", "more": [1, null, true, {"inner": ["b", "c"]}]}')
    assert list(braces.texts(value)) == ["a", "b", "c"]
    assert list(braces.texts(None)) == []
