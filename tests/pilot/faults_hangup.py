"""The way the long run is to be started: what a hang-up of its terminal ends, and what it does not."""

from __future__ import annotations

from fixtures.evidence.models import Hangup
from fixtures.evidence.trial import open_trial
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import all_of
from tests.pilot.entries import Fault
from tests.pilot.entries import told
from tests.pilot.entries import Twin

SURVIVES = "results.survives_hangup"


def behind(*prefix: str) -> Change:
    """Started behind this; and the application takes long enough to be hung up while it works."""
    return all_of(
        told("takes_its_time", "0.05"),
        lambda bench: bench.parameters["application"].update(detached=[*prefix]),
    )


def _hung_up(bench: Bench, run: Run) -> None:
    assert run.trial is not None
    found = open_trial(run.trial, judging=True).read("hangup", Hangup)
    assert found.hung_up_after_s is not None
    assert (found.candidates, found.outside) == ([], False)


def _names_what_works(bench: Bench, run: Run) -> None:
    assert run.decided.next_change is not None
    assert run.decided.next_change.factor == "application.detached"
    advice = "known to survive a hang-up here: nohup, setsid nohup"
    assert advice in (run.decided.next_change.advice or "")


FAULTS = [
    Fault("started-behind-what-does-not-protect-it", behind("env"), SURVIVES,
        ("behind `env` exit 0", "hung up", "signal SIGHUP", "env does not keep SIGHUP from it"),
        twin="started-behind-nohup", look=_names_what_works),
    Fault("started-behind-what-swallows-it", behind("false"), SURVIVES,
        ("false ended with exit 1 and did not start the application",), twin="started-behind-nohup"),
]  # fmt: skip

TWINS = [Twin("started-behind-nohup", behind("nohup"), look=_hung_up)]
