"""What a function returned or raised, as a record that the strict reader takes and that loses nothing."""

from __future__ import annotations

import enum
import json
from collections import UserDict
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import jsons
from fixtures.kinds import answers


class Label(enum.Enum):
    CONTRACT = "contract"


class Word(str):
    def __str__(self) -> str:
        return "shown otherwise"


class WordLabel(str, enum.Enum):
    CONTRACT = "contract"


class Scalar:
    """As NumPy and torch have one number."""

    shape = ()

    def __init__(self, value: float) -> None:
        self.value = value

    def item(self) -> float:
        return self.value


class Unshowable:
    def __repr__(self) -> str:
        raise ValueError("no")


def holding_itself() -> list[Any]:
    value: list[Any] = ["a"]
    value += [value, value]
    return value


def deep(times: int) -> Any:
    value: Any = "a"
    for _ in range(times):
        value = [value]
    return value


#: what is returned -> what is written as its category
CATEGORIES = {
    "a text": ("contract", "contract"),
    "a text of another class": (Word("contract"), "contract"),
    "an enum": (Label.CONTRACT, "contract"),
    "an enum of texts": (WordLabel.CONTRACT, "contract"),
    "nothing": (None, None),
    "a yes": (True, True),
    "a number": (7, 7),
    "a fraction": (0.5, 0.5),
    "NaN": (float("nan"), "nan"),
    "infinity": (float("-inf"), "-inf"),
    "a number as NumPy has it": (Scalar(0.25), 0.25),
    "NaN as NumPy has it": (Scalar(float("nan")), "nan"),
    "bytes": (b"contract", "b'contract'"),
    "a list": (["contract", ("letter", Label.CONTRACT)], ["contract", ["letter", "contract"]]),
    "a set": ({"contract"}, "{'contract'}"),
    "a mapping without a category": ({"label": "a", "score": Scalar(0.5)}, {"label": "a", "score": 0.5}),
    "half a surrogate pair": ("a\ud800", "a\\ud800"),
    "what cannot be shown": (Unshowable(), "<Unshowable>"),
    "an integer of thousands of digits": (1 << 20_000, "<int>"),
    "a list that holds itself": (holding_itself(), ["a", "['a', [...], [...]]", "['a', [...], [...]]"]),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_what_is_returned_is_accepted_as_it_is(name: str) -> None:
    returned, category = CATEGORIES[name]
    assert written(answers.of_answer(returned)) == {"status": "accepted", "category": category}


def test_a_nesting_too_deep_to_read_is_shown() -> None:
    category = written(answers.of_answer(deep(200)))["category"]
    for _ in range(answers.DEEPEST):
        (category,) = category
    assert category == repr(deep(200 - answers.DEEPEST))
    assert written(answers.of_answer(deep(20)))["category"] == deep(20)


#: mappings with a category -> the further keys of the record
MAPPINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "further keys": ({"score": 0.5, "all": [1, None]}, {"score": 0.5, "all": [1, None]}),
    "NaN": ({"score": float("nan")}, {"score": "nan"}),
    "a tensor": ({"score": Scalar(0.5)}, {"score": 0.5}),
    "an object": ({"model": Label}, {"model": "<enum 'Label'>"}),
    "keys that would be one": ({1: "a", "1": "b", None: "c"}, {"1": "a", "1'": "b", "None": "c"}),
    "keys of ours": ({"id": "doc-7", "status": "done"}, {"answered_id": "doc-7", "answered_status": "done"}),
}


@pytest.mark.parametrize("name", MAPPINGS)
@pytest.mark.parametrize("kind", [dict, UserDict])
def test_a_mapping_with_a_category_keeps_its_further_keys(name: str, kind: Any) -> None:
    more, kept = MAPPINGS[name]
    record = written(answers.of_answer(kind({"category": WordLabel.CONTRACT, **more})))
    assert record == {"status": "accepted", "category": "contract", **kept}


@pytest.mark.parametrize(
    ("returned", "record"),
    [
        ({"status": "rejected", "reason": "blurred"}, {"status": "rejected", "reason": "blurred"}),
        ({"status": "rejected", "category": "invoice", "id": "x"}, {"status": "rejected"}),
    ],
)
def test_a_mapping_that_says_so_is_a_rejection(returned: dict[str, Any], record: dict[str, Any]) -> None:
    """One without a reason stays without one, for the check on reasons to name."""
    assert written(answers.of_answer(returned)) == record


def test_a_mapping_that_cannot_be_read_is_a_rejection() -> None:
    class Torn(UserDict[str, str]):
        def __getitem__(self, key: str) -> str:
            raise OSError("gone")

    record = answers.of_answer(Torn({"category": "contract"}))
    assert record == {"status": "rejected", "reason": "the answer cannot be read: OSError: gone"}


class OutOfMemoryError(RuntimeError):
    """As torch calls it."""


OUT = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 GiB"


def raised(action: Any) -> BaseException:
    try:
        action()
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def from_another(first: BaseException, second: BaseException) -> BaseException:
    def action() -> None:
        raise second from first

    return raised(action)


def while_handling(first: BaseException, second: BaseException, quiet: bool = False) -> BaseException:
    def action() -> None:
        try:
            raise first
        except BaseException:
            if quiet:
                raise second from None
            raise second  # noqa: B904

    return raised(action)


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


class Group(Exception):
    """As ExceptionGroup of Python 3.11 has them."""

    def __init__(self, message: str, exceptions: list[Exception]) -> None:
        super().__init__(message)
        self.exceptions = exceptions


REASONS = {
    "a message": (ValueError("too short"), "ValueError: too short"),
    "its first line": (ValueError("\n too short\nsecond"), "ValueError: too short"),
    "at most 500 characters": (ValueError("x" * 501), "ValueError: " + "x" * 500),
    "no message, never raised": (KeyError(), "KeyError, without a message"),
    "one that cannot say what it is": (Mute(), "Mute, without a message"),
    "half a surrogate pair": (ValueError("\ud800"), "ValueError: \\ud800"),
    "torch's memory": (OutOfMemoryError(OUT), f"OutOfMemoryError: {OUT}"),
    "the interpreter's memory": (MemoryError(), "MemoryError, without a message"),
    "memory in a later line": (
        RuntimeError("the batch failed\n\ncause:\nCUDA error: out of memory\n"),
        "RuntimeError: the batch failed ... out of memory",
    ),
    "memory far on in a long line": (
        RuntimeError("x" * 600 + OUT),
        "RuntimeError: " + "x" * 500 + " ... " + OUT.removeprefix("CUDA "),
    ),
    "memory behind it": (
        from_another(OutOfMemoryError(OUT), RuntimeError("inference failed")),
        f"RuntimeError: inference failed <- OutOfMemoryError: {OUT}",
    ),
    "memory behind it, without a message": (
        while_handling(MemoryError(), RuntimeError("inference failed")),
        "RuntimeError: inference failed <- MemoryError",
    ),
    "what was said to be no part of it": (
        while_handling(KeyError("a"), ValueError("no such label"), quiet=True),
        "ValueError: no such label",
    ),
    "the same again": (from_another(ValueError("a"), ValueError("a")), "ValueError: a"),
    "in a group": (
        Group("2 sub-exceptions", [ValueError("a"), OutOfMemoryError(OUT)]),
        f"Group: 2 sub-exceptions <- ValueError: a <- OutOfMemoryError: {OUT}",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_a_reason_is_the_exception_and_memory_stays_recognisable(name: str) -> None:
    error, reason = REASONS[name]
    assert answers.reason_of(error) == reason


def test_memory_at_the_far_end_of_a_long_chain_is_named() -> None:
    error: BaseException = OutOfMemoryError(OUT)
    for number in range(9):
        error = from_another(error, ValueError(f"step {number}"))
    parts = answers.reason_of(error).split(" <- ")
    assert parts == [*(f"ValueError: step {n}" for n in (8, 7, 6, 5, 4)), f"OutOfMemoryError: {OUT}"]


def test_exceptions_that_stand_behind_each_other_have_an_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert answers.reason_of(one) == "ValueError: one <- ValueError: two"


def test_the_place_is_where_it_was_raised() -> None:
    def action() -> None:
        raise ValueError

    record = written(answers.of_exception(raised(action)))
    place = f"{Path(__file__).name}:{action.__code__.co_firstlineno + 1}"
    assert record == {"status": "rejected", "reason": f"ValueError at {place}", "raised_at": place}


def written(record: dict[str, Any]) -> Any:
    """The record after a line of results and the suite's strict reader."""
    return jsons.parse(json.dumps(record, allow_nan=False), deepest=80)
