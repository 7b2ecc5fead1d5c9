"""Results that are not those of the evidence are found, also where the sums were made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures import copy
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.trial import Trial
from tests.evidence import making
from tests.instrument.test_closing import application

RESULTS = b'{"id": "doc-01"}\n'
NAME = "evidence/application/output/results.jsonl"


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    made = making.trial(tmp_path)
    (made.path / NAME).parent.mkdir(parents=True)
    (made.path / NAME).write_bytes(RESULTS)
    _observed(made, sums.of_bytes(RESULTS))
    return made


def _observed(trial: Trial, digest: str | None) -> None:
    ran = application([])
    results = ran.results.model_copy(update={"sha256": digest})
    making.keep(trial, "application", ran.model_copy(update={"results": results}))


def _sealed(trial: Trial) -> Trial:
    names = [name for name in sums.files_below(trial.path) if name != sums.NAME]
    (trial.path / sums.NAME).write_text(
        sums.render((name, sums.of_file(trial.path / name)) for name in names)
    )
    return store.open_trial(trial.path, judging=True)


def _seal(trial: Trial) -> tuple[str, list[str]]:
    function = (
        copy.seal.__wrapped__ if hasattr(copy.seal, "__wrapped__") else copy.seal._get_wrapped_function()
    )
    seal = function(trial)
    return seal.state, seal.differences


def test_results_that_are_those_of_the_evidence_contradict_nothing(trial: Trial) -> None:
    assert copy.contradictions(trial) == []
    assert _seal(_sealed(trial)) == ("whole", [])


def test_altered_results_are_named_though_the_sums_agree(trial: Trial) -> None:
    (trial.path / NAME).write_bytes(RESULTS.replace(b"01", b"02"))
    assert copy.contradictions(trial) == [
        f"{NAME}: altered, though its lines stand in evidence/application.json"
    ]
    assert _seal(_sealed(trial)) == ("altered", copy.contradictions(trial))


@pytest.mark.parametrize("instead", ["nothing", "a link", "a folder"])
def test_missing_results_are_named_though_the_sums_agree(instead: str, trial: Trial) -> None:
    path = trial.path / NAME
    path.rename(trial.path / "elsewhere")
    if instead == "a link":
        path.symlink_to(trial.path / "elsewhere")
    elif instead == "a folder":
        path.mkdir()
    (difference,) = copy.contradictions(trial)
    assert difference.startswith(f"{NAME}: missing")
    assert _seal(_sealed(trial)) == ("altered", [difference])


def test_a_contradiction_is_named_where_there_are_no_sums(trial: Trial) -> None:
    (trial.path / NAME).unlink()
    state, differences = _seal(store.open_trial(trial.path, judging=True))
    assert (state, len(differences)) == ("missing", 1)


def test_without_a_sum_or_a_run_nothing_can_contradict(trial: Trial) -> None:
    (trial.path / NAME).unlink()
    _observed(trial, None)
    assert copy.contradictions(trial) == []
    trial.envelope_path("application").unlink()
    assert copy.contradictions(trial) == []
