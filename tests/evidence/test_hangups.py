"""What is said about ways to start the long run."""

from __future__ import annotations

import pytest

from fixtures.evidence.hangups import advice
from fixtures.evidence.hangups import known_to_work
from fixtures.evidence.hangups import print_fails
from fixtures.evidence.models import Candidate
from fixtures.evidence.models import Hangup


def tried(prefix: str, *, survives: bool = True, prints: bool = True) -> Candidate:
    return Candidate(prefix=prefix.split(), survives=survives, prints=prints, why=None)


WHOLE, MUTE = tried("setsid nohup"), tried("setsid", prints=False)
DEAD = tried("systemd-run --user", survives=False, prints=False)


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ([WHOLE, tried("tmux new -d"), DEAD], "known to survive a hang-up here: setsid nohup, tmux new -d"),
        (
            [WHOLE, MUTE],
            "known to survive a hang-up here: setsid nohup; setsid only with stdout and stderr sent to files",
        ),
        (
            [MUTE, DEAD],
            "nothing is known to survive one here; setsid only with stdout and stderr sent to files",
        ),
        ([DEAD], "nothing is known to survive one here"),
    ],
)
def test_only_what_was_seen_to_survive_is_named(candidates: list[Candidate], said: str) -> None:
    assert known_to_work(Hangup(prefix=None, dies_bare=True, candidates=candidates)) == said


def test_where_a_hangup_ends_nothing_no_way_is_called_safe() -> None:
    said = known_to_work(Hangup(prefix=None, dies_bare=False, candidates=[WHOLE]))
    assert "nothing could be learned" in said
    assert "nohup" not in said


def test_where_nothing_could_be_tried_no_way_is_called_safe() -> None:
    assert known_to_work(Hangup(prefix=None)) == "which ways survive a hang-up here could not be tried"


def test_the_advisory_names_the_parameter_that_is_missing() -> None:
    said = advice(Hangup(prefix=None, dies_bare=True, candidates=[WHOLE]))
    assert "was not tried (application.detached); known to survive a hang-up here: setsid nohup" in said


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (
            ["stdin", "stdout", "stderr"],
            "; stdout and stderr went to the terminal that is gone: a print there fails",
        ),
        (["stdin"], ""),
        ([], ""),
    ],
)
def test_streams_on_the_terminal_are_named_also_when_it_finished(lost: list[str], said: str) -> None:
    assert print_fails(Hangup(prefix=["setsid"], began=True, hung_up_after_s=0.1, lost_streams=lost)) == said
