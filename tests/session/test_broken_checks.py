"""A check that goes wrong in any other way than by its claim is never a pass, with and without workers."""

from __future__ import annotations

import pytest

from tests.pilot.bench import Bench
from tests.pilot.bench import Run

SERIAL_AND_WORKERS = [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")]

#: what the check does -> what it comes to, and words of its message
NO_FAILURES = {
    "claims_nothing": ("broken", "claimed nothing"),
    "takes_no_claim": ("broken", "claimed nothing"),
    "claims_a_number": ("broken", "must be True or False, not int"),
    "claims_a_word": ("broken", "must be True or False, not str"),
    "claims_a_truth": ("broken", "must be True or False, not Truth"),
    "claims_with_subclasses": ("passed", ""),
    "claims_with_surrogates": ("passed", ""),
    "asserts_plainly": ("broken", "a plain assert, where a claim belongs"),
    "raises": ("broken", "RuntimeError: a fault of the check"),
    "skips": ("not_run", "no time"),
    "is_skipped": ("not_run", "not today"),
    "raises_as_expected": ("broken", "RuntimeError: known"),
    "gives_up": ("broken", "known"),
    "raises_in_setup": ("broken", "RuntimeError: in setup"),
    "raises_in_teardown": ("broken", "RuntimeError: in teardown"),
    "calls_sys_exit": ("broken", "SystemExit"),
}
FAILURES = {
    "finds_nan_too_small": ("failed", "required at least 1; found nan"),
    "finds_a_subclass_wrong": ("failed", "required text; found 1.0 (doc-03)"),
    "fails_as_expected": ("failed", "required a; found b"),
}
SECRET = "hunter2hunter2"


@pytest.fixture(autouse=True)
def forked(bench: Bench) -> None:
    """These are about what a trial comes to; tests/session/test_command_line.py starts pilots as people do."""
    bench.forked = True


def came_to(run: Run, names: dict[str, tuple[str, str]]) -> dict[str, tuple[str, bool]]:
    """Each check's status, and whether its message holds the expected words."""
    return {
        name: (run.status(f"end_of_trial.{name}"), words in run.message(f"end_of_trial.{name}"))
        for name, (_, words) in names.items()
    }


@pytest.mark.parametrize("options", SERIAL_AND_WORKERS)
def test_checks_that_go_wrong_leave_the_trial_undecided(trapped: Bench, options: tuple[str, ...]) -> None:
    trapped.environment |= {"TRAP": ",".join(NO_FAILURES), "SECRET_THING": SECRET}
    run = trapped.run(*options, device="cuda")
    assert came_to(run, NO_FAILURES) == {name: (status, True) for name, (status, _) in NO_FAILURES.items()}
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.decided.first_error
    assert SECRET not in run.output
    assert run.trial
    holding = [
        path.name for path in run.trial.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert holding == []


@pytest.mark.parametrize("options", SERIAL_AND_WORKERS)
def test_claims_that_do_not_hold_fail_whatever_type_states_them(
    trapped: Bench, options: tuple[str, ...]
) -> None:
    trapped.environment["TRAP"] = ",".join(FAILURES)
    run = trapped.run(*options, device="cuda")
    assert came_to(run, FAILURES) == {name: (status, True) for name, (status, _) in FAILURES.items()}
    assert (run.decided.decision, run.exit_status) == ("fix", 10)


@pytest.mark.parametrize("options", SERIAL_AND_WORKERS)
@pytest.mark.parametrize(
    ("trap", "words"),
    [
        ("undeclared", "found a test without @check; every test of a suite is a check"),
        ("no_such_criterion", "'speed.enough' begins with none of the criteria"),
        ("empty", "Empty parameter set"),
        ("markup", "found the parameter '[<img src=x onerror=alert(1)>]'; wanted [a-z0-9._-]"),
        ("module", "could not import 'a_module_that_is_not_there'"),
        ("import_error", "No module named 'a_module_that_is_not_there'"),
    ],
)
def test_a_module_that_cannot_be_collected_whole_leaves_the_trial_undecided(
    trapped: Bench, trap: str, words: str, options: tuple[str, ...]
) -> None:
    trapped.environment["TRAP"] = trap
    run = trapped.run(*options, device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output
    assert words in run.decided.reason
    assert words in run.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "status"), [pytest.param((), 2, id="serial"), pytest.param(("-n", "2"), 3, id="workers")]
)
def test_a_check_that_ends_pytest_with_0_is_no_go(
    trapped: Bench, options: tuple[str, ...], status: int
) -> None:
    """pytest-xdist turns `pytest.exit` into an internal error of its own."""
    trapped.environment["TRAP"] = "exits_with_0"
    run = trapped.run(*options, device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", status), run.output
    assert run.status("end_of_trial.exits_with_0") == "not_run"


@pytest.mark.parametrize("options", SERIAL_AND_WORKERS)
def test_a_keyboard_interrupt_inside_a_check_is_an_interruption(
    trapped: Bench, options: tuple[str, ...]
) -> None:
    trapped.environment["TRAP"] = "interrupts"
    run = trapped.run(*options, device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", 2), run.output
    assert run.status("end_of_trial.interrupts") in ("not_run", "broken")
    assert "interrupted" in run.decided.reason
