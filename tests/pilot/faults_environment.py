"""Faults in what surrounds the application: its variables, and what gives it access."""

from __future__ import annotations

from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import all_of
from tests.pilot.entries import Fault
from tests.pilot.entries import told
from tests.pilot.entries import Twin

ACCESS = "STORE_OF_MODELS"
HIDDEN = "not-for-your-eyes-9"


def access(value: str | None) -> Change:
    """The parameters name a variable; it is set to `value`, or not at all."""

    def change(bench: Bench) -> None:
        bench.parameters["application"]["access"] = [ACCESS]
        if value is not None:
            bench.environment[ACCESS] = value

    return change


def _variable(value: str) -> Change:
    return lambda bench: bench.parameters["application"].update(environment={"MODEL_HOME": value})


def is_nowhere(bench: Bench, run: Run) -> None:
    """What a variable under `access` holds is in no file, even where its name speaks of no secret."""
    places = [
        path for folder in (bench.reports, bench.copies) for path in folder.rglob("*") if path.is_file()
    ]
    assert len(places) > 40
    assert [str(path) for path in places if HIDDEN.encode() in path.read_bytes()] == []


FAULTS = [
    Fault("access-that-is-not-set", access(None), "launch.access",
        (f"required set: {ACCESS}", f"not set: {ACCESS}"), twin="access-that-is-set"),
    Fault("access-that-is-empty", access(""), "launch.access", (f"not set: {ACCESS}",), twin="access-that-is-set"),
    Fault("a-variable-with-another-value",
        all_of(_variable("/models"), told("needs_a_variable", "MODEL_HOME", "/elsewhere")),
        "results.ended_by_itself", ("MODEL_HOME is another",), twin="a-variable-of-its-own"),
]  # fmt: skip

TWINS = [
    Twin("access-that-is-set", all_of(access(HIDDEN), told("prints_variables", "0", ACCESS)), look=is_nowhere),
    Twin("a-variable-of-its-own", all_of(_variable("/models"), told("needs_a_variable", "MODEL_HOME", "/models"))),
]  # fmt: skip
