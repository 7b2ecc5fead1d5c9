"""The two pictures as geometry; _pictures.html.j2 draws them. 480 units wide, legible down to 360 pixels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from fixtures.evidence.models import Sample
from plugins.report import text

WIDTH = 480
_BAR, _GAP = 16, 8
_LABELS, _VALUES = 128, 88
_MOST_POINTS = 160


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Bar:
    label: str
    value: str
    y: float
    length: float


@dataclass(frozen=True)
class Bars:
    id: str
    title: str
    description: str
    height: float
    left: float
    bottom: float
    ticks: tuple[Tick, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Line:
    """`runs` are polylines, one each stretch that was observed; a run of one point is drawn as a dot."""

    name: str
    css: str
    legend_x: float
    runs: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True)
class Curves:
    id: str
    title: str
    description: str
    height: float
    left: float
    right: float
    top: float
    bottom: float
    unit: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    lines: tuple[Line, ...]


def bars(id: str, title: str, values: Sequence[tuple[str, float]]) -> Bars | None:
    """Horizontal bars of seconds, or None where there is nothing to draw."""
    if not values:
        return None
    room = WIDTH - _LABELS - _VALUES
    ticks, top = _ticks(max(value for _, value in values), most=4)
    drawn = []
    for index, (label, value) in enumerate(values):
        short = label if len(label) <= 20 else label[:19] + "…"
        y = 8 + index * (_BAR + _GAP)
        drawn.append(Bar(short, text.seconds(value), y, round(max(value, 0) / top * room, 1)))
    bottom = 8 + len(values) * (_BAR + _GAP)
    return Bars(
        id=id,
        title=title,
        description="; ".join(f"{label}: {text.seconds(value)}" for label, value in values),
        height=bottom + 40,
        left=_LABELS,
        bottom=bottom,
        ticks=tuple(Tick(round(_LABELS + tick / top * room, 1), f"{tick:g}") for tick in ticks),
        bars=tuple(drawn),
    )


def curves(id: str, title: str, samples: Sequence[Sample]) -> Curves | None:
    """Resident memory and the cards' memory over time, or None without a sample."""
    kept = _thinned(sorted(samples, key=lambda sample: sample.at))
    if not kept:
        return None
    left, right, top, bottom = 52.0, WIDTH - 14.0, 34.0, 204.0
    highest = max(max(sample.resident_bytes, sample.card_bytes or 0) for sample in kept)
    power, unit = (3, "GiB") if highest >= 1024**3 else (2, "MiB")
    factor = 1024**power
    up, most = _ticks(highest / factor, most=5)
    across, longest = _ticks(max(sample.at for sample in kept), most=6)

    def point(at: float, count: int) -> tuple[float, float]:
        x = left + max(at, 0.0) / longest * (right - left)
        return round(x, 1), round(bottom - max(count, 0) / factor / most * (bottom - top), 1)

    resident = tuple(point(sample.at, sample.resident_bytes) for sample in kept)
    lines = [Line("resident (all processes)", "resident", left, (resident,))]
    if any(sample.card_bytes is not None for sample in kept):
        lines.append(Line("on the cards", "card", left + 210, tuple(_runs(kept, point))))
    peaks = f"resident at most {text.memory(max(sample.resident_bytes for sample in kept))}"
    if len(lines) > 1:
        peaks += f", on the cards at most {text.memory(max(sample.card_bytes or 0 for sample in kept))}"
    return Curves(
        id=id,
        title=title,
        description=f"{peaks}, over {text.seconds(max(kept[-1].at, 0.0))}",
        height=250,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        unit=unit,
        across=tuple(Tick(round(left + tick / longest * (right - left), 1), f"{tick:g}") for tick in across),
        up=tuple(Tick(round(bottom - tick / most * (bottom - top), 1), f"{tick:g}") for tick in up),
        lines=tuple(lines),
    )


def _runs(samples: Iterable[Sample], point: object) -> list[tuple[tuple[float, float], ...]]:
    assert callable(point)
    runs: list[list[tuple[float, float]]] = [[]]
    for sample in samples:
        if sample.card_bytes is None:
            runs.append([])
        else:
            runs[-1].append(point(sample.at, sample.card_bytes))
    return [tuple(run) for run in runs if run]


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    """At most `_MOST_POINTS` samples; each is the highest of its neighbours, so no peak is lost."""
    if len(samples) <= _MOST_POINTS:
        return list(samples)
    width = math.ceil(len(samples) / _MOST_POINTS)
    kept = []
    for start in range(0, len(samples), width):
        group = samples[start : start + width]
        cards = [sample.card_bytes for sample in group if sample.card_bytes is not None]
        kept.append(
            Sample(
                at=group[-1].at,
                resident_bytes=max(sample.resident_bytes for sample in group),
                card_bytes=max(cards) if cards else None,
            )
        )
    return kept


def _ticks(highest: float, most: int) -> tuple[list[float], float]:
    """Round values from 0, and the end of the axis: the first round value that is not below `highest`."""
    if highest <= 0:
        return [0.0, 1.0], 1.0
    raw = highest / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * scale for factor in (1, 2, 2.5, 5, 10) if factor * scale >= raw * 0.9999)
    count = math.ceil(highest / step - 1e-9)
    return [round(index * step, 9) for index in range(count + 1)], count * step
