"""A reason says something when whoever reads it learns what was wrong with the document."""

from __future__ import annotations

import pytest

from fixtures.evidence.rules import says_something

SAY_NOTHING = [
    "", " ", "?", "-", "Error", "unknown reason", "An exception was raised.", "exception raised",
    "Something went wrong!", "could not process", "not processed", "processing failed", "see log", "See logs.",
    "bad", "Bad document",
    "invalid document", "no reason", "Unexpected error", "unable to process", "N/A", "failed", "internal error",
]  # fmt: skip
SAY_SOMETHING = [
    "not valid UTF-8", "not UTF-8 at byte 0", "empty", "empty document", "corrupt", "too long", "too large", "no text",
    "binary", "encrypted", "not a PDF", "could not process: 9000 tokens, 512 are allowed", "bad encoding", "timeout",
    "see log: page 3 holds no text", "invalid UTF-8", "UnicodeDecodeError: invalid start byte", "password protected",
    "文本为空", "codifica non valida",
]  # fmt: skip


@pytest.mark.parametrize("reason", SAY_NOTHING)
def test_words_that_stand_where_a_reason_should_are_none(reason: str) -> None:
    assert not says_something(reason)


@pytest.mark.parametrize("reason", SAY_SOMETHING)
def test_a_short_reason_is_one(reason: str) -> None:
    assert says_something(reason)
