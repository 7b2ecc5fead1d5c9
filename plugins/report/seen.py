"""Evidence for showing: what was observed, or one sentence that says why nothing was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic
from typing import TypeVar

from fixtures.evidence.base import Model
from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import Envelope
from fixtures.evidence.trial import Trial

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Seen(Generic[T]):
    """Either `value`, or `why` there is none."""

    name: str
    value: T | None
    why: str | None
    envelope: Envelope | None


@dataclass(frozen=True)
class Piece:
    """A line of the table of evidence."""

    name: str
    state: str
    made: str | None
    seconds: float | None
    carried_from: str | None
    stands_on: tuple[str, ...] = ()


def see(trial: Trial, name: str, model: type[T]) -> Seen[T]:
    """The evidence `name` of `trial`; never raises for what a folder may hold."""
    if not trial.has(name):
        return Seen(name, None, "not observed: this trial holds no such evidence", None)
    try:
        envelope = trial.envelope(name)
    except Broken as error:
        return Seen(name, None, f"the evidence cannot be read: {error}", None)
    if why := _why(envelope):
        return Seen(name, None, why, envelope)
    value = trial.find(name, model)
    return Seen(
        name, value, None if value else "the evidence is not of the form that this version reads", envelope
    )


def piece(trial: Trial, name: str) -> Piece:
    """`name` for the table, whatever its model is."""
    if not trial.has(name):
        return Piece(name, "not observed", None, None, None)
    try:
        envelope = trial.envelope(name)
    except Broken:
        return Piece(name, "cannot be read", None, None, None)
    state = _why(envelope) or "observed"
    seconds = max(envelope.seconds, 0.0)
    return Piece(name, state, envelope.made, seconds, envelope.carried_from, tuple(envelope.stands_on))


def _why(envelope: Envelope) -> str | None:
    if envelope.not_reached is not None:
        step, why = envelope.not_reached.get("step", "?"), envelope.not_reached.get("why", "?")
        return f"not reached, because of an earlier step ({step}): {why}"
    if envelope.broken is not None:
        # a traceback's last line says what happened; the whole of it is in the file
        lines = [line for line in envelope.broken.splitlines() if line.strip()] or ["no reason was recorded"]
        return f"the suite itself broke: {lines[-1].strip()} (see evidence/{envelope.name}.json)"
    return None if envelope.observed is not None else "the evidence holds nothing"
