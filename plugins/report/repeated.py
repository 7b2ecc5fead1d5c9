"""The application's further runs, a line each: in another order, interrupted, going on, hung up."""

from __future__ import annotations

from dataclasses import dataclass

from fixtures.evidence.models import Application
from fixtures.evidence.models import Hangup
from fixtures.evidence.models import Reordered
from fixtures.evidence.models import Resumed
from fixtures.evidence.trial import Trial

_ENDED = {
    "deadline": "stopped at its deadline",
    "no_progress": "stopped: no progress",
    "output_limit": "stopped: it wrote too much",
    "stopped": "killed on purpose",
    "not_started": "could not be started",
}


@dataclass(frozen=True)
class Repeated:
    name: str
    ended: str
    seconds: float
    records: int
    what: str


def repeated(trial: Trial) -> tuple[Repeated, ...]:
    """Those that the trial holds, in the order in which they were made."""
    found = []
    if again := trial.find("reordered", Reordered):
        names = "other file names" if again.renamed else "the same file names"
        what = f"another order, {names}, batches of {again.batch_size}"
        found.append(_line("in another order", again.run, what))
    if cut := trial.find("resumed", Resumed):
        how = f"results {cut.torn}" if cut.torn else "it had written none"
        found.append(_line("interrupted", cut.before, f"{how}; {len(cut.done)} done, {len(cut.redo)} left"))
        if cut.after:
            by = "by its own option" if cut.by == "option" else "given the rest (remaining.json)"
            found.append(_line("going on", cut.after, by))
    if (hung := trial.find("hangup", Hangup)) and hung.run:
        found.append(_line("hung up", hung.run, f"behind {' '.join(hung.prefix or [])}"))
    return tuple(found)


def _line(name: str, run: Application, what: str) -> Repeated:
    ended = _ENDED.get(run.ended) or (
        f"exit {run.returncode}" if run.ended == "exit" else f"killed by {run.signal}"
    )
    records = sum(line.record is not None for line in run.results.lines)
    return Repeated(name, ended, run.seconds, records, what)
