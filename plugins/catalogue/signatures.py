"""Of what signatures are made. Each gives the lines that a match rests on, and none where it does not match."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterable

from fixtures.evidence.ladder import CardState
from fixtures.evidence.ladder import KernelEvent
from fixtures.evidence.ladder import Place
from fixtures.evidence.models import Computation
from plugins.catalogue.fault import Signature
from plugins.catalogue.seen import Seen

_SPACES = re.compile(r"\s+")
#: the numbers of CUDA's errors as torch and the runtime print them: "Error 802: ...", "CUDA error: 802", "error=802"
_CUDA_NUMBER = r"\b(?:error|gives)\s*[:=]?\s*\(?{number}\b"
#: others have errors of small numbers too, so before these CUDA must be spoken of
_SMALL, _OF_CUDA = 200, r"\bcu(?:da|init)\w*.{{0,60}}?"


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
    patterns = ((_OF_CUDA if number < _SMALL else "") + _CUDA_NUMBER for number in numbers)
    texts = (pattern.format(number=number) for pattern, number in zip(patterns, numbers, strict=True))
    wanted = re.compile("|".join(texts), re.IGNORECASE)

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


def system_error(*numbers: int) -> Signature:
    """One of the system's errors by its number: errno 28, "[Errno 28] No space left on device"."""
    wanted = re.compile("|".join(rf"\berrno\b\W{{0,3}}{number}\b" for number in numbers), re.IGNORECASE)

    def lines(seen: Seen) -> list[str]:
        return [
            one.text
            for one in seen.said
            if (one.number_of == "errno" and one.number in numbers) or wanted.search(one.text)
        ]

    return lines


def extension(pattern: str, *modules: str) -> Signature:
    """An extension that failed so, one of `modules` if any are named: by its error, or by how its child ended."""
    wanted = re.compile(pattern, re.IGNORECASE)

    def lines(seen: Seen) -> list[str]:
        found = []
        for one in seen.launch.extensions:
            text = "; ".join(filter(None, (one.error, one.ended)))
            named = not modules or one.module.partition(".")[0] in modules or one.name in modules
            if named and wanted.search(_SPACES.sub(" ", text)):
                found.append(f"{one.name}: {text}")
        return found

    return lines


def kernel(matches: Callable[[KernelEvent], object]) -> Signature:
    """A line of the kernel's log of one of this machine's cards.

    A log that is read in a container speaks of its neighbours' cards too: one that is not ours counts only where a
    card of ours may be the one that is missing.
    """

    def lines(seen: Seen) -> list[str]:
        return [event.text for event in seen.events if matches(event) and _is_ours(seen, event)]

    return lines


def _is_ours(seen: Seen, event: KernelEvent) -> bool:
    own = {_slot(one.pci) for one in seen.inventory.cards if one.pci}
    missing = seen.order is None or len(seen.inventory.cards) < seen.order.cards
    return event.pci is None or not own or missing or _slot(event.pci) in own


def _slot(pci: str) -> str:
    """Bus and device, and the domain where it is not 0: NVML writes 00000000:53:00.0, the driver 0000:53:00."""
    return re.sub(r"^0+:", "", pci.lower().partition(".")[0])


def xid(*numbers: int) -> Signature:
    """One of the errors that NVIDIA's driver writes to the kernel's log by its number."""
    return kernel(lambda event: event.kind == "xid" and event.number in numbers)


def place(what: str, matches: Callable[[Place], object], *roles: str) -> Signature:
    """A place that will be written, in one of `roles` if any are named. `what` says it, with {0.path} and its like."""

    def lines(seen: Seen) -> list[str]:
        return [
            what.format(one) for one in seen.host.places if (not roles or one.role in roles) and matches(one)
        ]

    return lines


def computed(what: str, matches: Callable[[Computation], object]) -> Signature:
    """A computation of which `matches` is true; `what` says it, with {0.operation} and its like."""
    return lambda seen: [
        f"{one.device}: {one.operation} in {one.dtype}: {what.format(one)}"
        for one in seen.launch.computations
        if matches(one)
    ]


def left(pattern: str) -> Signature:
    """A line that the probe's processes left on stderr: last words of a library, or of the interpreter's wrapper."""
    wanted = re.compile(pattern, re.IGNORECASE)
    return lambda seen: [
        line.strip() for line in seen.launch.end.stderr_tail.splitlines() if wanted.search(line)
    ]


def on_a_card(signature: Signature) -> Signature:
    """`signature`, where a card was asked for: what is wrong with one is nothing to an application on the CPU."""
    return lambda seen: [] if seen.launch.asked_device == "cpu" else signature(seen)


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
