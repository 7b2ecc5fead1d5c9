"""Texts on their way to somebody else: without secrets, texts of documents, home folders and user names.

A filter, no proof: a document's text is only found where it stands as it is, escaped or not, at least as long as a
few words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from fixtures.evidence import secrets
from fixtures.evidence import sums
from fixtures.evidence.models import Application
from fixtures.evidence.models import Documents
from fixtures.evidence.trial import Trial
from fixtures.printed import secret_values
from fixtures.printed import without_secrets

DOCUMENT = "(text of a document, hidden)"
USER = "(user)"
STORAGE = "(where the copy goes)"
#: letters and digits in a row that are a piece of a document; a Chinese or Japanese character counts as three
PIECE = 20
#: of one document that is looked at, and positions in all documents that are kept
DOCUMENT_BYTES, POSITIONS = 1 << 19, 500_000

#: the end of a private key whose beginning was cut off
_END_OF_KEY = re.compile(r"\A(?:(?!-----BEGIN)[\s\S])*?-----END [A-Z ]*PRIVATE KEY-----")
_HOME = re.compile(
    r"(?<![\w.-])(?:/(?:export/|data/|mnt/)?(?:home|Users)/(?P<user>[^/\s:;,'\"()\[\]{}]+)|/root(?![\w.-]))"
)
#: names that many machines have, and that are words too
_COMMON = {
    "root", "ubuntu", "user", "admin", "debian", "runner", "jovyan", "ec2-user", "renter", "home", "gpu",
}  # fmt: skip
#: a character as it is, or as JSON, Python or a shell writes it
_CHARACTER = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\[nrt]|[\s\S]")


class Cleaner:
    """Cleans the texts of one trial; `unread` says of how many documents only the beginning was known."""

    def __init__(self, trial: Trial) -> None:
        texts, self.unread = _documents(trial)
        self._pieces = _pieces(texts)
        self._home = str(Path.home()) if str(Path.home()) not in ("/", "/root") else None
        self._users = _users(trial)
        self._storage = _storage(trial)
        self._values = {os.fsdecode(value): name for value, name in secret_values().items()}

    def text(self, value: str) -> str:
        """Words of anybody: an application, a server, an error."""
        hidden = _END_OF_KEY.sub("(a private key, hidden)", value)
        return self._without_places(self._without_documents(without_secrets(hidden)))

    def fact(self, value: str) -> str:
        """What our own instruments observed: a driver's version stays, though a variable may hold the same."""
        for secret, name in self._values.items():
            value = value.replace(secret, f"${name}")
        return self._without_places(without_secrets(value) if secrets.kind_of(value) else value)

    def _without_places(self, value: str) -> str:
        for place in self._storage:
            value = value.replace(place, STORAGE)
        if self._home:
            value = re.sub(re.escape(self._home) + r"(?![\w.-])", "~", value)
        value = _HOME.sub("~", value)
        return self._users.sub(USER, value) if self._users else value

    def _without_documents(self, value: str) -> str:
        if not self._pieces:
            return value
        letters, places = _letters(value)
        parts, position = [], 0
        for begin, end in _runs(letters, places, self._pieces):
            begin, end = _whole_words(value, begin, end)
            if end > position:
                parts += [value[position : max(begin, position)], "" if begin < position else DOCUMENT]
                position = end
        return "".join([*parts, value[position:]])


def _letters(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Letters and digits alone, case folded, and where each one stands in `text`."""
    found: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _CHARACTER.finditer(text):
        code = match[1] or match[2]
        character = chr(int(code, 16)) if code else match[0]
        if len(character) == 1 and character.isalnum():
            folded = character.casefold() if character < "\u2e80" else character * 3
            found.append(folded)
            places += [match.span()] * len(folded)
    return "".join(found), places


def _pieces(texts: Iterable[str]) -> frozenset[int]:
    """Hashes of what stands at every position; at every second, third ... one where there are very many."""
    letters = [_letters(text)[0] for text in texts]
    step = 1 + sum(map(len, letters)) // POSITIONS
    return frozenset(
        hash(text[at : at + PIECE]) for text in letters for at in range(0, len(text) - PIECE + 1, step)
    )


def _runs(letters: str, places: list[tuple[int, int]], pieces: frozenset[int]) -> Iterator[tuple[int, int]]:
    for at in range(len(letters) - PIECE + 1):
        if hash(letters[at : at + PIECE]) in pieces:
            yield places[at][0], places[at + PIECE - 1][1]


def _whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """No half of a word stays beside what is hidden, unless it is very long."""
    while begin > 0 and not text[begin - 1].isspace() and end - begin < 400 and text[begin - 1].isalnum():
        begin -= 1
    while end < len(text) and text[end].isalnum() and end - begin < 400:
        end += 1
    return begin, end


def _documents(trial: Trial) -> tuple[list[str], int]:
    """Texts that must not leave: documents as staged in the trial, their beginnings, and what was made of them."""
    documents = trial.find("documents", Documents)
    texts = [file.beginning for file in documents.files] if documents else []
    staged: set[str] = set()
    for name in sums.files_below(trial.path / "evidence"):
        parts = Path(name).parts
        if "documents" in parts[:-1] and not parts[-1].startswith("manifest"):
            try:
                with (trial.path / "evidence" / name).open("rb") as stream:
                    data = stream.read(DOCUMENT_BYTES)
            except OSError:
                continue
            digest = sums.of_bytes(data)  # of a longer document it is not the manifest's, so that is said
            if digest not in staged:
                staged.add(digest)
                texts.append(data.decode("utf-8", "replace"))
    application = trial.find("application", Application)
    for line in application.results.lines if application else []:
        if (
            line.record and line.record.get("status") == "accepted"
        ):  # a rejected one may hold an error's words
            texts += [
                value
                for key, value in line.record.items()
                if isinstance(value, str) and key not in ("id", "status", "category")
            ]
    known = {file.sha256 for file in documents.files if file.sha256} if documents else set()
    return texts, len(known - staged)


def _storage(trial: Trial) -> list[str]:
    """The renter's own storage, as it is known and as it was typed; longest first."""
    words = trial.record.command
    typed = [after for word, after in pairwise(words) if word == "--copy-to"]
    typed += [word.partition("=")[2] for word in words if word.startswith("--copy-to=")]
    named = {trial.record.copy_to or "", *typed}
    return sorted((place for place in named if len(place) >= 4), key=len, reverse=True)


def _users(trial: Trial) -> re.Pattern[str] | None:
    record = trial.record
    paths = [
        record.project,
        record.folder,
        record.interpreter,
        record.copy_to or "",
        *record.command,
        str(trial.path),
    ]
    names = {found["user"] for path in paths for found in _HOME.finditer(path) if found["user"]}
    names |= {os.environ.get(name, "") for name in ("USER", "LOGNAME")}
    wanted = sorted(name for name in names if len(name) >= 3 and name.lower() not in _COMMON)
    if not wanted:
        return None
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, wanted))})(?![A-Za-z0-9])")
