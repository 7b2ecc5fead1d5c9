"""The answer, for people and as JSON. What a paste says is printed on one line each, and moves no cursor."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from fixtures.readings.reading import Reading
from plugins.catalogue import Answer
from plugins.catalogue import Match
from plugins.diagnose.evidence import Place
from plugins.diagnose.given import Given
from plugins.diagnose.judging import Judged
from plugins.diagnose.missing import missing
from plugins.diagnose.missing import NEVER
from plugins.terminal import one_line

_INDENT, _WIDTH = 13, 87
MOST_LINES, MOST_CHARACTERS, MOST_OTHERS = 6, 500, 5
_PLACES: dict[Place, str] = {"root": "with root", "container": "container"}


def lines(read: Sequence[tuple[Given, Sequence[Reading]]], judged: Judged) -> Iterator[str]:
    """As the terminal shows it."""
    for given, readings in read:
        yield from _block("read", f"{given.name}: {_kinds(readings)}")
        if given.left_out:
            note = (
                f"{given.left_out} bytes in its middle, away from words that speak of errors, were left out"
            )
            yield from _block("", note)
        for reading in readings:
            if reading.cut:
                yield from _block("", f"{reading.kind} breaks off at: {reading.cut}")
    yield ""
    yield from _found(judged)
    yield ""
    head = "not given"
    for one in missing([reading for _, readings in read for reading in readings]):
        yield from _block(head, f"{one.command}: {one.tells}")
        head = ""
    yield from _block(head, NEVER)


def _found(judged: Judged) -> Iterator[str]:
    answers = judged.answers()
    if answers is None:
        nothing = "nothing wrong in what was given"
        yield from _block("found", f"{nothing}, but for what is noted below" if judged.faults else nothing)
    else:
        yield from _block("first error", judged.first_error or "")
        yield from _block("step", judged.step or "")
        leading = judged.leading
        if leading:
            yield from _block("cause", f"{leading.fault.cause} ({leading.fault.id})")
        else:
            yield from _block("cause", "not known: no entry of the catalogue matches")
        yield from _answers(answers)
        if leading:
            yield from _block("confirm", leading.fault.confirm)
            yield from _rests(leading)
            yield from _block("source", leading.fault.source)
    for match in judged.faults:
        if match is not judged.leading:
            yield ""
            yield from _also(match, judged.place)
    others = judged.others if judged.leading else judged.others[1:]
    head = "also said"
    for one in others[:MOST_OTHERS]:
        yield from _block(head, f"{one.step}: {one.text}")
        head = ""
    if len(others) > MOST_OTHERS:
        yield from _block("", f"and {len(others) - MOST_OTHERS} more")


def _answers(answers: dict[Place, Answer]) -> Iterator[str]:
    """Once where it is the same everywhere."""
    if len(set(answers.values())) == 1 and len(answers) > 1:
        answers = {"root": next(iter(answers.values()))}
        yield from _block("decision", _said(answers["root"]))
        return
    for place, answer in answers.items():
        yield from _block(_PLACES[place], _said(answer))


def _said(answer: Answer) -> str:
    return f"{answer.decision}. Change: {answer.change}"


def _also(match: Match, place: Place | None) -> Iterator[str]:
    fault = match.fault
    both: dict[Place, Answer] = {"root": fault.root, "container": fault.container}
    yield from _block("also" if fault.blocks else "to note", f"{fault.cause} ({fault.id}, at {fault.step})")
    yield from _answers({place: both[place]} if place else both)
    yield from _block("confirm", fault.confirm)
    yield from _rests(match)


def _rests(match: Match) -> Iterator[str]:
    head = "rests on"
    for line in match.lines[:MOST_LINES]:
        yield from _block(head, line)
        head = ""
    if len(match.lines) > MOST_LINES:
        yield from _block("", f"and {len(match.lines) - MOST_LINES} lines more")


def _kinds(readings: Sequence[Reading]) -> str:
    return ", ".join(dict.fromkeys(reading.kind for reading in readings)) or "nothing known"


def _block(head: str, text: str) -> list[str]:
    plain = one_line(text, MOST_CHARACTERS)
    parts = textwrap.wrap(plain, _WIDTH, break_on_hyphens=False) or [""]
    return [f"{head:<{_INDENT}}{parts[0]}", *(" " * _INDENT + part for part in parts[1:])]


def as_json(read: Sequence[tuple[Given, Sequence[Reading]]], judged: Judged) -> dict[str, Any]:
    """The same for programs. `decision` and `change` are those of the exit status."""
    answer, answers = judged.answer, judged.answers()
    leading = judged.leading.fault if judged.leading else None
    return {
        "decision": answer and answer.decision,
        "change": answer and answer.change,
        "place": judged.place,
        "places": {place: _answer(one) for place, one in (answers or {}).items()},
        "step": judged.step,
        "first_error": judged.first_error,
        "fault": leading and leading.id,
        "cause": leading and leading.cause,
        "confirm": leading and leading.confirm,
        "faults": [_fault(match) for match in judged.faults],
        "errors": [{"step": one.step, "text": one.text} for one in judged.errors],
        "read": [
            {
                "file": given.name,
                "left_out_bytes": given.left_out,
                "kinds": [{"kind": reading.kind, "breaks_off_at": reading.cut} for reading in readings],
            }
            for given, readings in read
        ],
        "not_given": [
            {"command": one.command, "tells": one.tells}
            for one in missing([reading for _, readings in read for reading in readings])
        ],
    }


def _answer(answer: Answer) -> dict[str, str]:
    return {"decision": answer.decision, "change": answer.change}


def _fault(match: Match) -> dict[str, Any]:
    fault = match.fault
    return {
        "id": fault.id,
        "step": fault.step,
        "cause": fault.cause,
        "blocks": fault.blocks,
        "root": _answer(fault.root),
        "container": _answer(fault.container),
        "confirm": fault.confirm,
        "source": fault.source,
        "lines": match.lines,
    }
