"""Of what signatures are made. Each gives the lines that a match rests on, and none where it does not match."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterable

from fixtures.evidence.ladder import CardState
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen

_SPACES = re.compile(r"\s+")
#: the numbers of CUDA's errors as torch and the runtime print them: "Error 802: ...", "CUDA error: 802"
_CUDA_NUMBER = r"\b(?:cuda\s+)?(?:error|gives)\s*:?\s*\(?{number}\b"


def said(pattern: str, *steps: str) -> Signature:
    """Something that was said, on one of `steps` if any are named; case and spacing do not matter."""
    wanted = re.compile(pattern, re.IGNORECASE)

    def lines(seen: Seen) -> list[str]:
        return [
            one.text
            for one in seen.said
            if (not steps or one.step in steps) and wanted.search(_SPACES.sub(" ", one.text))
        ]

    return lines


def cuda_error(*numbers: int) -> Signature:
    """One of CUDA's errors by its number, from cuInit or in a text."""
    wanted = re.compile("|".join(_CUDA_NUMBER.format(number=number) for number in numbers), re.IGNORECASE)

    def lines(seen: Seen) -> list[str]:
        asked = seen.driver.cuda
        found = (
            [f"cuInit gives {asked.code} {asked.name or ''}".rstrip()]
            if asked and asked.code in numbers
            else []
        )
        for one in seen.said:
            own = one.number_of == "cuda" and one.number in numbers
            if own or (one.number is None and wanted.search(_SPACES.sub(" ", one.text))):
                found.append(one.text)
        return found

    return lines


def errno_of(path: str, *numbers: int) -> Signature:
    """A node in /dev, by a pattern of its whole path, that could not be opened with one of these errors."""
    wanted = re.compile(path)

    def lines(seen: Seen) -> list[str]:
        return [
            f"{node.path}: errno {node.errno}"
            for node in seen.driver.nodes
            if wanted.fullmatch(node.path) and node.errno in numbers
        ]

    return lines


def card(what: str, matches: Callable[[CardState], object], *fields: str) -> Signature:
    """A card of which `matches` is true in one source's account.

    `what` says it, with {0.name} and its like; where a text was read, the lines of `fields` are quoted instead.
    """

    def lines(seen: Seen) -> list[str]:
        found: list[str] = []
        for state in filter(matches, seen.states):
            quoted = [state.lines[field].strip() for field in fields if field in state.lines]
            which = state.source if state.index is None else f"{state.source}, card {state.index}"
            found += [f"{which}: {line}" for line in quoted or [what.format(state)]]
        return found

    return lines


def fact(find: Callable[[Seen], str | None]) -> Signature:
    """A sentence, where there is one."""

    def lines(seen: Seen) -> list[str]:
        found = find(seen)
        return [found] if found else []

    return lines


def facts(find: Callable[[Seen], Iterable[str]]) -> Signature:
    """All of these sentences."""
    return lambda seen: list(find(seen))


def any_of(*signatures: Signature) -> Signature:
    """What any of them rests on."""
    return lambda seen: list(dict.fromkeys(line for one in signatures for line in one(seen)))


def all_of(*signatures: Signature) -> Signature:
    """What they all rest on, where each of them matches."""

    def lines(seen: Seen) -> list[str]:
        found = [one(seen) for one in signatures]
        return list(dict.fromkeys(line for one in found for line in one)) if all(found) else []

    return lines


def unless(signature: Signature, *others: Signature) -> Signature:
    """`signature`, where none of `others` matches."""
    return lambda seen: [] if any(other(seen) for other in others) else signature(seen)
