"""What was given, as text: files as editors and shells of three systems write them, and standard input."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fixtures.evidence.errors import InputError

STANDARD_INPUT = "standard input"
WANTED = "text, as a tool printed it"
#: more than this is not read whole: its beginning, its end, and what stands around words that speak of errors
WHOLE_BYTES = 2 << 20
ENDS_BYTES, AROUND_BYTES, TIMES = 512 << 10, 16 << 10, 4
WORDS = (
    b"traceback (most", b"nvsmi log", b"cuda error", b"hip error", b"collecting environment", b"nvrm:", b"fallen off",
    b"runtimeerror", b"importerror", b"nvidia-smi", b"rocm system management", b"hsa agents", b"out of memory",
    b"undefined symbol", b"no space left", b"error 80",
)  # fmt: skip
#: how files begin that hold no text, and what they are
_MAGIC = {
    b"\x1f\x8b": "a file compressed by gzip", b"PK\x03\x04": "a zip archive", b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture", b"GIF8": "a picture", b"%PDF": "a PDF", b"\x7fELF": "a program",
    b"BZh": "a file compressed by bzip2", b"\xfd7zXZ": "a file compressed by xz",
    b"(\xb5/\xfd": "a file compressed by zstd",
}  # fmt: skip
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True)
class Given:
    """One file's text. `left_out` is how many bytes of a big one were not looked at."""

    name: str
    text: str
    left_out: int = 0


def read(path: str | None) -> Given:
    """The file, or standard input for None and "-".

    Raises:
        InputError: it is not there, is no file, is empty, or holds no text.
    """
    if path in (None, "-"):
        if sys.stdin is None:
            raise InputError(STANDARD_INPUT, "", "that it is closed", "a text, or the names of files")
        return of(STANDARD_INPUT, sys.stdin.buffer)
    name = str(path)
    try:
        if Path(name).is_dir():
            raise InputError(name, "", "a folder", "a file")
        with open(name, "rb") as stream:
            return of(name, stream)
    except OSError as error:
        raise InputError(name, "", error.strerror or str(error), "a file that can be read") from None


def of(name: str, stream: BinaryIO) -> Given:
    """What the stream holds; its name is that of errors."""
    content = stream.read()
    if not content.strip(b" \t\r\n\x00\xef\xbb\xbf\xff\xfe"):
        raise InputError(name, "", "nothing" if not content else f"{len(content)} bytes of nothing", WANTED)
    kept = _thinned(content)
    text = _decoded(kept)
    if text is None:
        what = next((what for magic, what in _MAGIC.items() if content.startswith(magic)), None)
        raise InputError(name, "at its beginning", what or f"{len(content)} bytes that are no text", WANTED)
    return Given(name, text, len(content) - len(kept))


def _decoded(content: bytes) -> str | None:
    """None where it is no text: characters that no terminal prints."""
    if content.startswith(tuple(_MAGIC)):
        return None
    encoding = next((one for mark, one in _MARKS if content.startswith(mark)), None)
    if encoding is None:
        sample = content[:4096]
        if sample[1::2].count(0) > len(sample) // 4:
            encoding = "utf-16-le"
        elif sample[::2].count(0) > len(sample) // 4:
            encoding = "utf-16-be"
    if encoding:
        text = content.decode(encoding, "replace")
    else:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            text = content.decode("cp1252", "replace")
    odd = sum(text.count(chr(code)) for code in range(32) if chr(code) not in "\t\n\v\f\r\b\x07\x1b")
    return None if odd > len(text) // 100 else text


def _thinned(content: bytes) -> bytes:
    if len(content) <= WHOLE_BYTES or content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content
    lower = content.lower()
    spans = [(0, ENDS_BYTES), (len(content) - ENDS_BYTES, len(content))]
    for word in WORDS:
        at, times = lower.find(word), 0
        while at >= 0 and times < TIMES:
            spans.append((max(at - AROUND_BYTES, 0), min(at + AROUND_BYTES, len(content))))
            at, times = lower.find(word, at + AROUND_BYTES), times + 1
    pieces: list[bytes] = []
    reached = 0
    for start, end in sorted(spans):
        if end <= reached:
            continue
        if start > reached:  # a whole line, wherever the span happens to begin
            line = content.find(b"\n", start, end) + 1
            pieces.append(b"\n")
            start = line or start
        if end < len(content):
            end = content.rfind(b"\n", start, end) + 1 or end
        pieces.append(content[max(start, reached) : end])
        reached = end
    return b"".join(pieces)
