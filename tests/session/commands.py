"""Command lines of the tests' own, where those of the bench do not serve."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pilot.bench import Bench
from tests.pilot.bench import ROOT
from tests.pilot.bench import Run

SUITE = ROOT / "suites" / "gpu"


def options(bench: Bench, device: str = "cuda") -> list[str]:
    """The bench's files, and no cache; without a suite."""
    return bench.command(device=device)[4:]


def with_cache(bench: Bench, *more: str) -> list[str]:
    """As `options`, with pytest's cache kept in the bench's folder."""
    kept = options(bench)
    place = kept.index("no:cacheprovider")
    return [*kept[: place - 1], *kept[place + 1 :], "-o", f"cache_dir={bench.folder / 'cache'}", *more]


def run(bench: Bench, *arguments: str, cwd: Path | None = None) -> Run:
    """`python -m pytest ARGUMENTS` to its end, in the bench's folder or in `cwd`; forked where the bench says so."""
    bench.write()
    before = bench.trials()
    status, printed = bench.pytest([sys.executable, "-m", "pytest", *arguments], folder=cwd)
    new = [trial.name for trial in bench.trials() if trial not in before]
    return bench.look(status, printed, new[0] if new else None)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, to see whether anything was touched."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
