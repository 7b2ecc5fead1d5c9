"""Whether a card can run what was compiled for some architectures: sm_90, compute_90, gfx942."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_CUDA = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")
_CAPABILITY = re.compile(r"(\d+)\.(\d)")
_GFX = re.compile(r"gfx[0-9a-f]+")


@dataclass(frozen=True)
class Verdict:
    """`older`: everything that was compiled in is for newer cards than this one."""

    runs: bool
    older: bool


def held_against(compiled: Iterable[str], card: str) -> Verdict | None:
    """Whether a card with this capability (9.0) or name (gfx942:sramecc+:xnack-) runs it; None where it is not known.

    Machine code runs on the same major number and a minor one that is not lower; the intermediate code compute_NN on
    everything that is not older. sm_90a and its like run on exactly that card, sm_100f on its family. A gfx name must
    be the same, its features cut off; generic ones (gfx9-4-generic) stand for more than can be told here.
    """
    names = list(compiled)
    if capability := _CAPABILITY.fullmatch(card.strip()):
        return _cuda(names, (int(capability[1]), int(capability[2])))
    if gfx := _GFX.match(card.strip()):
        return _amd(names, gfx[0])
    return None


def _cuda(names: list[str], card: tuple[int, int]) -> Verdict | None:
    found = [match for name in names if (match := _CUDA.fullmatch(name.strip()))]
    if not found:
        return None
    versions = [(int(match[2]), int(match[3])) for match in found]
    runs = any(
        _one(match[1], version, match[4], card) for match, version in zip(found, versions, strict=True)
    )
    return Verdict(runs, older=not runs and all(version > card for version in versions))


def _one(kind: str, version: tuple[int, int], suffix: str, card: tuple[int, int]) -> bool:
    if suffix == "a":
        return version == card
    if suffix == "f" or kind == "sm":
        return version[0] == card[0] and version[1] <= card[1]
    return version <= card


def _amd(names: list[str], card: str) -> Verdict | None:
    found = [name.strip().partition(":")[0] for name in names if name.strip().startswith("gfx")]
    if not found or any("generic" in name for name in found):
        return None
    return Verdict(card in found, older=False)
