"""When the process that watches the application is killed, nobody knows how the application ended."""

from __future__ import annotations

from collections.abc import Callable

from tests.pilot.bench import Bench
from tests.pilot.counted import FAULT

Record = Callable[[str, object], None]


def test_a_run_that_was_not_watched_to_its_end_decides_nothing(bench: Bench, record_property: Record) -> None:
    record_property(FAULT, "a watcher that is killed")
    bench.behave("kills_its_watcher")
    run = bench.run(forked=True)
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert {run.status(f"results.{name}") for name in ("ended_by_itself", "file", "nothing_beside")} == {
        "broken"
    }
    assert "was not watched to its end: the supervising process died" in run.message(
        "results.ended_by_itself"
    )
