"""Checks that go wrong in ways a suite must not call a pass. Copied into a suite; TRAP names those that exist."""

import os
import signal

import pytest

from plugins.criteria import check

_WANTED = [name for name in os.environ.get("TRAP", "").split(",") if name]
_NAN = float("nan")


def _trap(function):
    """Make the function a check, if it is wanted."""
    if function.__name__ in _WANTED:
        identifier = f"end_of_trial.{function.__name__}"
        globals()[f"test_{function.__name__}"] = check(identifier, on_failure="fix", change="nothing")(
            function
        )
    return function


class Text(str):
    """As numpy.str_ and the members of a StrEnum are: equal to text, and of another type."""


class Number(float):
    """As numpy.float64 is."""


class Truth:
    """As numpy.bool_ is: neither True nor False, and can be asked."""

    def __bool__(self):
        return True


# -- what is claimed ---------------------------------------------------------------------------------------


@_trap
def claims_nothing(claim):
    pass


@_trap
def takes_no_claim():
    pass


@_trap
def claims_a_number(claim):
    claim(1, required="True", found="1")


@_trap
def claims_a_word(claim):
    claim("yes", required="True", found="yes")


@_trap
def claims_a_truth(claim):
    claim(Truth(), required="True", found="as numpy.bool_ is")


@_trap
def claims_with_subclasses(claim):
    claim(True, required=Text("text"), found=Number(_NAN), documents=[Text("doc-01")])


@_trap
def claims_with_surrogates(claim):
    claim(True, required="\ud800", found="\udfff \x00", documents=["\ud83d"])


@_trap
def finds_nan_too_small(claim):
    claim(_NAN >= 1.0, required="at least 1", found=f"{_NAN}")


@_trap
def finds_a_subclass_wrong(claim):
    claim(False, required=Text("text"), found=Number(1), documents=[Text("doc-03")])


# -- how it ends -------------------------------------------------------------------------------------------


@_trap
def asserts_plainly(claim):
    claim(True, required="a", found="a")
    assert os.environ.get("SECRET_THING") == "something else"


@_trap
def raises(claim):
    claim(True, required="a", found="a")
    raise RuntimeError("a fault of the check")


@_trap
def skips(claim):
    claim(True, required="a", found="a")
    pytest.skip("no time")


@_trap
@pytest.mark.skip(reason="not today")
def is_skipped(claim):
    claim(True, required="a", found="a")


@_trap
@pytest.mark.xfail(reason="known")
def fails_as_expected(claim):
    claim(False, required="a", found="b")


@_trap
@pytest.mark.xfail(reason="known", strict=False, raises=RuntimeError)
def raises_as_expected(claim):
    claim(True, required="a", found="a")
    raise RuntimeError("known")


@_trap
def gives_up(claim):
    claim(True, required="a", found="a")
    pytest.xfail("known")


@pytest.fixture
def setup_that_raises():
    raise RuntimeError("in setup")


@pytest.fixture
def teardown_that_raises():
    yield
    raise RuntimeError("in teardown")


@_trap
def raises_in_setup(setup_that_raises, claim):
    claim(True, required="a", found="a")


@_trap
def raises_in_teardown(teardown_that_raises, claim):
    claim(True, required="a", found="a")


# -- what ends more than the check -------------------------------------------------------------------------


@_trap
def exits_with_0(claim):
    claim(True, required="a", found="a")
    pytest.exit("enough", returncode=0)


@_trap
def interrupts(claim):
    claim(True, required="a", found="a")
    raise KeyboardInterrupt


@_trap
def calls_sys_exit(claim):
    claim(True, required="a", found="a")
    raise SystemExit(0)


def _die(trial, how=lambda: os._exit(3)):
    """Only where the trial is made: whoever judges the copy is to live."""
    if not trial.judging:
        how()


@pytest.fixture
def setup_that_dies(trial):
    _die(trial)


@pytest.fixture
def teardown_that_dies(trial):
    yield
    _die(trial)


@_trap
def dies_in_setup(setup_that_dies, claim):
    claim(True, required="a", found="a")


@_trap
def dies_in_call(claim, trial):
    claim(True, required="a", found="a")
    _die(trial)


@_trap
def dies_of_a_signal(claim, trial):
    claim(True, required="a", found="a")
    _die(trial, lambda: os.kill(os.getpid(), signal.SIGSEGV))


@_trap
def dies_in_every_process(claim):
    claim(True, required="a", found="a")
    os._exit(3)


@_trap
def dies_in_teardown(teardown_that_dies, claim):
    claim(True, required="a", found="a")


# -- what is not collected as it should be -----------------------------------------------------------------

if "undeclared" in _WANTED:

    def test_undeclared():
        """A test without @check."""


if "no_such_criterion" in _WANTED:

    @check("speed.enough", on_failure="fix", change="nothing")
    def test_of_no_criterion(claim):
        claim(True, required="a", found="a")


if "empty" in _WANTED:

    @pytest.mark.parametrize("card", [])
    @check("end_of_trial.empty", on_failure="fix", change="nothing")
    def test_of_no_card(card, claim):
        claim(True, required="a", found="a")


if "markup" in _WANTED:

    @pytest.mark.parametrize("card", ["<img src=x onerror=alert(1)>"])
    @check("end_of_trial.markup", on_failure="fix", change="nothing")
    def test_of_a_card(card, claim):
        claim(True, required="a", found="a")


if "module" in _WANTED:
    pytest.importorskip("a_module_that_is_not_there")

if "import_error" in _WANTED:
    import a_module_that_is_not_there  # noqa: F401
