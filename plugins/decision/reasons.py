"""Whether a reason is one: what says nothing is no better than nothing."""

from __future__ import annotations

import unicodedata

from fixtures.evidence import secrets
from fixtures.evidence.errors import InputError

MOST, MOST_BY = 4000, 200
#: letters, and different ones among them; a letter of a wide script says as much as two
LEAST, LEAST_DIFFERENT = 8, 3
#: words that say nothing about why, alone or with others of them
_EMPTY = frozenset([
    "ok", "okay", "yes", "yep", "no", "go", "fix", "reconfigure", "undecided", "done", "fine", "good",
    "great", "approved", "accept", "accepted", "lgtm", "none", "null", "nothing", "na", "tbd", "todo",
    "test", "testing", "because", "reason", "see", "above", "below", "as", "discussed", "the", "it", "is",
    "a", "decision", "decided", "all", "looks", "seems", "to", "me", "just", "since", "override",
])  # fmt: skip


def checked(reason: str) -> str:
    """The reason without blanks around it.

    Raises:
        InputError: it is none, cannot be written down, or looks like a secret.
    """
    wanted = "a reason that somebody can understand in a year"
    words = _text("--because", reason, MOST, wanted)
    letters = [c for c in unicodedata.normalize("NFKC", words).casefold() if c.isalpha() and c.isprintable()]
    weight = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in letters)
    if weight < LEAST or len(set(letters)) < LEAST_DIFFERENT or not _says(words):
        raise InputError("--because", "", repr(words[:80]), wanted)
    return words


def checked_by(by: str | None) -> str | None:
    """The name of whoever decides; None where none was given. Errors as in `checked`."""
    if by is None:
        return None
    name = _text("--by", by, MOST_BY, "the name of whoever decides, or no --by")
    if not any(c.isalnum() for c in name):
        raise InputError("--by", "", repr(name[:80]), "the name of whoever decides, or no --by")
    return name


def _says(words: str) -> bool:
    """Whether any word is left besides those that say nothing."""
    apart = "".join(c.casefold() if c.isalnum() else " " for c in words).split()
    return any(word not in _EMPTY for word in apart)


def _text(option: str, given: str, most: int, wanted: str) -> str:
    words = given.strip()
    if not words:
        raise InputError(option, "", "nothing", wanted)
    if len(words) > most:
        raise InputError(option, "", f"{len(words):,} characters", f"at most {most:,}")
    if kind := secrets.kind_of(words):
        raise InputError(
            option, "", f"what looks like {kind} (not shown)", "no secret in a file that is attached"
        )
    try:
        words.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(option, "", "bytes that are not UTF-8", "text in UTF-8") from None
    return words
