"""JSON as strict as the contract needs it: each way in which a wrong text looks like a right one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from fixtures.evidence import jsons

TRAPS: dict[str, tuple[str, str]] = {
    "a key twice": ('{"id": 1, "id": 2}', "the key 'id' twice"),
    "a key twice, once escaped": ('{"id": 1, "\\u0069d": 2}', "the key 'id' twice"),
    "a key twice in depth": ('[{"a": {"b": [{"c": 1, "c": 1}]}}]', "the key 'c' twice"),
    "NaN": ('{"score": NaN}', "NaN, which is not JSON"),
    "NaN in a list": ("[1, NaN]", "NaN"),
    "Infinity": ("Infinity", "Infinity"),
    "-Infinity": ('{"a": -Infinity}', "-Infinity"),
    "1e999": ("1e999", "1e999, which is not finite"),
    "-1e999": ('[{"a": -1e999}]', "-1e999"),
    "half a surrogate pair": ('"\\ud83d"', "half of a surrogate pair"),
    "the other half": ('{"a": ["\\ude00"]}', "half of a surrogate pair"),
    "half a surrogate pair in a key": ('{"\\ud83d": 1}', "half of a surrogate pair"),
    "halves in the wrong order": ('"\\ude00\\ud83d"', "half of a surrogate pair"),
    "a byte order mark": ('\ufeff{"a": 1}', "byte order mark"),
    "nothing": ("", "expecting value"),
    "white space": (" \n\t", "expecting value"),
    "text behind it": ('{"a": 1} x', "extra data"),
    "a second value": ('{"a": 1}{"b": 2}', "extra data"),
    "a second value behind U+2028": ('{"a": 1}\u2028{"b": 2}', "extra data"),
    "a torn object": ('{"a": 1', "expecting"),
    "a trailing comma": (
        '{"a": 1,}',
        "property name|trailing comma",
    ),  # the parser's words differ by its version
    "single quotes": ("{'a': 1}", "property name"),
    "a comment": ('{"a": 1} // x', "extra data"),
    "a bare control character": ('"a\nb"', "control character"),
    "Python's words": ("None", "expecting value"),
    "a leading zero": ("007", "extra data"),
    "a plus sign": ("+1", "expecting value"),
    "an integer of thousands of digits": ("1" * 5000, "thousands of digits"),
}


@pytest.mark.parametrize("case", TRAPS)
def test_it_refuses(case: str) -> None:
    text, words = TRAPS[case]
    with pytest.raises(jsons.JsonProblem) as refused:
        jsons.parse(text)
    found = refused.value.found
    assert any(word in found or word in found.lower() for word in words.split("|"))
    assert refused.value.wanted


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("inside", ["1", '"\\u00e9"'])
@pytest.mark.parametrize("times", [jsons.DEEPEST + 1, 300, 900, 5000, 200_000])
def test_it_refuses_nesting_that_could_not_be_written_and_read_again(
    opening: str, inside: str, times: int
) -> None:
    closing = {"[": "]", "{": "}"}
    text = opening * times + inside + "".join(closing[c] for c in reversed(opening) if c in closing) * times
    with pytest.raises(jsons.JsonProblem, match="nesting too deep"):
        jsons.parse(text)


@pytest.mark.parametrize("deepest", [1, 3, jsons.DEEPEST])
def test_as_many_levels_as_are_allowed_are_read(deepest: int) -> None:
    text = "[" * deepest + "]" * deepest
    assert jsons.parse(text, deepest=deepest) == json.loads(text)
    with pytest.raises(jsons.JsonProblem):
        jsons.parse(f"[{text}]", deepest=deepest)


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    text = json.dumps([{"a": []}] * 500)
    assert jsons.parse(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"a": 1,\n "b" 2}', "line 2 column 6"), ('{"a": 1} x', "line 1 column 10"), ("NaN", "")],
)
def test_it_says_where_as_far_as_the_parser_knows(text: str, place: str) -> None:
    with pytest.raises(jsons.JsonProblem) as refused:
        jsons.parse(text)
    assert refused.value.place == place
    assert str(refused.value).startswith(place)


HEALTHY: dict[str, tuple[str, Any]] = {
    "U+2028 inside a string": ('"a\u2028b"', "a\u2028b"),
    "a whole surrogate pair, escaped": ('"\\ud83d\\ude00"', "😀"),
    "an escaped backslash before u": ('"\\\\ud83d"', "\\ud83d"),
    "carriage return behind it": ('{"a": 1}\r', {"a": 1}),
    "the same key in two objects": ('[{"a": 1}, {"a": 1}]', [{"a": 1}, {"a": 1}]),
    "keys that differ in form": ('{"e\u0301": 1, "\u00e9": 2}', {"e\u0301": 1, "\u00e9": 2}),
    "the word NaN as text": ('"NaN"', "NaN"),
    "a large integer": ("1" * 400, int("1" * 400)),
    "a large number": ("1e308", 1e308),
    "a NUL, escaped": ('"\\u0000"', "\0"),
    "an empty key": ('{"": null}', {"": None}),
}


@pytest.mark.parametrize("case", HEALTHY)
def test_it_reads(case: str) -> None:
    text, value = HEALTHY[case]
    assert jsons.parse(text) == value


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(values, st.booleans(), st.sampled_from([None, 1]))
def test_what_is_written_as_json_is_read_as_it_was(value: Any, ascii: bool, indent: int | None) -> None:
    assert jsons.parse(json.dumps(value, ensure_ascii=ascii, indent=indent)) == value


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.text(alphabet='{}[]",:\\u0019eE.-+ntfd8\ufeff\u2028 \n', max_size=30))
def test_whatever_the_text_it_gives_a_value_or_its_own_error(text: str) -> None:
    try:
        value = jsons.parse(text)
    except jsons.JsonProblem:
        return
    assert jsons.parse(json.dumps(value, allow_nan=False)) == value
