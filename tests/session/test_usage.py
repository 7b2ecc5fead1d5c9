"""A question that cannot be asked: exit status 4, one plain message, no trial, nothing earlier touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pilot.bench import Bench
from tests.pilot.bench import ROOT
from tests.session import commands
from tests.session.commands import SUITE

Spoil = Callable[[Bench], list[str]]


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


def an_unknown_option(bench: Bench) -> list[str]:
    return ["--devise", "cuda"]


def an_unknown_device(bench: Bench) -> list[str]:
    return ["--device", "tpu"]


def parameters_that_are_no_json(bench: Bench) -> list[str]:
    path = bench.folder / "other.json"
    path.write_text('{"documents": ')
    return ["--pilot", str(path)]


def parameters_with_an_unknown_key(bench: Bench) -> list[str]:
    bench.parameters["aplication"] = {}
    return []


def parameters_that_are_not_there(bench: Bench) -> list[str]:
    return ["--pilot", str(bench.folder / "nowhere.json")]


def an_order_with_a_wrong_type(bench: Bench) -> list[str]:
    bench.order["cards"] = "one"
    return []


def a_path_that_is_not_there(bench: Bench) -> list[str]:
    return [str(SUITE / "test_nowhere.py")]


def two_things_at_once(bench: Bench) -> list[str]:
    return [str(ROOT / "tests" / "pilot")]


def a_keyword_that_is_no_expression(bench: Bench) -> list[str]:
    return ["-k", "launch inputs"]


def a_marker_that_does_not_exist(bench: Bench) -> list[str]:
    return ["-m", "quick"]


def a_trial_that_is_not_there(bench: Bench) -> list[str]:
    return ["--trial", str(bench.folder / "nowhere")]


def a_trial_that_is_none(bench: Bench) -> list[str]:
    return ["--trial", str(bench.documents)]


def a_continuation_of_nothing(bench: Bench) -> list[str]:
    return ["--continue", "20260101T000000Z-0000"]


def reports_below_a_file(bench: Bench) -> list[str]:
    return ["--reports", str(bench.folder / "pilot.json" / "reports")]


#: what is wrong -> words that the message must have
WRONG: list[tuple[Spoil, list[str]]] = [
    (an_unknown_option, ["--devise"]),
    (an_unknown_device, ["--device", "tpu"]),
    (parameters_that_are_no_json, ["other.json", "line 1"]),
    (parameters_with_an_unknown_key, ["pilot.json", "aplication", "found a key that is not known here"]),
    (parameters_that_are_not_there, ["nowhere.json", "No such file"]),
    (an_order_with_a_wrong_type, ["order.json", "cards", "'one'"]),
    (a_path_that_is_not_there, ["test_nowhere.py"]),
    (two_things_at_once, ["wanted one suite alone"]),
    (a_keyword_that_is_no_expression, ["-k", "launch inputs"]),
    (a_marker_that_does_not_exist, ["-m", "quick"]),
    (a_trial_that_is_not_there, ["nowhere", "no such folder"]),
    (a_trial_that_is_none, ["documents", "trial.json"]),
    (a_continuation_of_nothing, ["20260101T000000Z-0000", "no such folder"]),
    (reports_below_a_file, ["reports", "Not a directory"]),
]


#: with workers too where pytest finds it out as late as in them
LATE = (
    a_path_that_is_not_there,
    a_keyword_that_is_no_expression,
    a_marker_that_does_not_exist,
    an_unknown_option,
)
CASES = [pytest.param(spoil, words, (), id=spoil.__name__) for spoil, words in WRONG] + [
    pytest.param(spoil, words, ("-n", "2"), id=f"{spoil.__name__} with workers")
    for spoil, words in WRONG
    if spoil in LATE
]


@pytest.mark.parametrize(("spoil", "words", "workers"), CASES)
def test_a_usage_error_leaves_everything_as_it_was(
    bench: Bench, spoil: Spoil, words: list[str], workers: tuple[str, ...]
) -> None:
    old = bench.reports / "20260101T000000Z-aaaa"
    old.mkdir(parents=True)
    (old / "verdict.json").write_text('{"decision": "go"}')
    (bench.reports / "latest").write_text("20260101T000000Z-aaaa\n")
    before = commands.contents(bench.reports)
    run = bench.run(*spoil(bench), *workers, device="cuda")
    assert run.exit_status == 4, run.output
    assert commands.contents(bench.reports) == before
    assert [path.name for path in bench.reports.iterdir() if path.is_dir()] == [old.name]
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    said = " ".join(run.output.split())
    assert [word for word in words if word not in said] == []
    assert not bench.copies.exists()


def test_an_identifier_of_no_check_is_never_a_go(bench: Bench) -> None:
    """Serially it is a usage error; workers collect nothing, and say so no differently than for `-k`."""
    for workers in ((), ("-n", "2")):
        run = commands.run(
            bench, f"{SUITE / 'test_launch.py'}::test_of_nothing", *commands.options(bench), *workers
        )
        assert run.exit_status in (4, 12), run.output
        assert run.verdict is None or run.verdict.decision == "undecided"
