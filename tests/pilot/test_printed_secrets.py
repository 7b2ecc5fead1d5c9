"""What the application prints of its environment is in no file of the trial or of its copy, nor on the terminal."""

from __future__ import annotations

from collections.abc import Callable

from fixtures.evidence.models import Application
from fixtures.evidence.trial import open_trial
from tests.pilot.bench import Bench
from tests.pilot.bench import Run
from tests.pilot.counted import FAULT
from tests.pilot.counted import TWIN
from tests.pilot.refusals import PASSWORD
from tests.pilot.refusals import TOKEN

Record = Callable[[str, object], None]
NAMED = {"HF_TOKEN": TOKEN, "registry_password": PASSWORD}


def _streams(run: Run) -> tuple[str, str]:
    assert run.trial is not None
    ran = open_trial(run.trial, judging=True).read("application", Application)
    return (run.trial / ran.stdout.file).read_text(), (run.trial / ran.stderr.file).read_text()


def _files_with(bench: Bench, value: str) -> list[str]:
    places = [
        path for folder in (bench.reports, bench.copies) for path in folder.rglob("*") if path.is_file()
    ]
    assert len(places) > 40
    return [str(path) for path in places if value.encode() in path.read_bytes()]


def test_secrets_that_the_application_prints_are_named_and_not_shown(
    bench: Bench, record_property: Record
) -> None:
    record_property(FAULT, "secrets in what is printed")
    bench.environment.update(NAMED)
    bench.behave("prints_variables", "1", *NAMED)
    run = bench.run("-rA", forked=True)
    assert "its last words: cannot log in with $registry_password" in run.message("results.ended_by_itself")
    assert [_files_with(bench, value) for value in NAMED.values()] == [[], []]
    assert [value for value in NAMED.values() if value in run.output] == []
    stdout, stderr = _streams(run)
    assert stdout == "".join(f"{name}=${name}\n" for name in NAMED)
    assert stderr == "".join(f"cannot log in with ${name}\n" for name in NAMED)


def test_what_is_no_secret_is_kept_as_it_was_printed(bench: Bench, record_property: Record) -> None:
    record_property(TWIN, "a variable in what is printed")
    bench.environment.update({**NAMED, "MODEL_NAME": "a-small-classifier", "API_KEY": "none"})
    bench.behave("prints_variables", "0", "MODEL_NAME", "API_KEY")
    run = bench.run(forked=True)
    assert {check.status for check in run.decided.checks()} == {"passed"}, run.output
    assert _streams(run)[0] == "MODEL_NAME=a-small-classifier\nAPI_KEY=none\n"
