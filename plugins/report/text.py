"""Text and figures as people read them. Whatever came from a document or a machine is hostile here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

#: no single value on the page is longer than this, whatever it is
MOST = 6000

#: What cannot be seen, or changes how its neighbours are seen: control characters but tab and line feed,
#: soft hyphen, zero widths, direction marks, byte order mark, tags, halves of surrogate pairs, and what is
#: no character at all. Each of them can make two different texts look equal.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d(:\d\d)?)(Z|\+00:00)")


def visible(value: str) -> str:
    """`value` with everything unseen written out, as in `[U+202E]`."""
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", value.replace("\r\n", "\n"))


def cut(value: object, most: int = 2000) -> str:
    """The beginning of `value`; what is left out is counted."""
    whole = str(value)
    if len(whole) <= most:
        return whole
    return f"{whole[:most]} … ({len(whole) - most:,} more characters)"


def oneline(value: object) -> str:
    """Line breaks and runs of blanks as one blank."""
    return re.sub(r"[ \t\r\n]+", " ", str(value)).strip()


def language(value: str | None) -> str | None:
    """`value` where it may stand in a `lang` attribute."""
    return value if value and _LANGUAGE.fullmatch(value) else None


def size(count: int | None) -> str:
    """Bytes, exactly, and in a unit beside it once that helps."""
    if count is None:
        return "size unknown"
    exact = f"{count:,} {'byte' if count == 1 else 'bytes'}"
    return exact if abs(count) < 1_000_000 else f"{exact} ({memory(count)})"


def memory(count: int | None) -> str:
    """Bytes in the unit that memory is sold in."""
    if count is None:
        return "unknown"
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:,.1f} {unit}"
    return f"{count} B"


def seconds(value: float | None) -> str:
    if value is None:
        return "unknown"
    if 0 < value < 0.01:
        return "< 0.01 s"
    if value < 10:
        return f"{value:.2f} s"
    if value < 120:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def moment(value: str) -> str:
    """An ISO 8601 time in UTC with its parts apart; anything else as it is."""
    match = _MOMENT.fullmatch(value)
    return f"{match[1]} {match[2]} UTC" if match else value


def shell(command: Iterable[str]) -> str:
    """An argument list as one could type it."""
    return shlex.join(command)


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
