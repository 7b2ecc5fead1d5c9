"""README.md says what is so."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fixtures.evidence.base import validate
from fixtures.evidence.parameters import Parameters
from plugins.verdict import EXIT_STATUS
from tests.project import readme

TEXT = readme.README.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", readme.WRITTEN)
def test_what_the_program_writes_is_up_to_date(name: str) -> None:
    assert readme.section(TEXT, name) == readme.WRITTEN[name](), "run python -m tests.project.readme"


def test_ci_runs_the_test_commands_of_the_readme() -> None:
    script = (readme.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    install, tests = readme.commands(TEXT)[1]  # the block that the script takes out of the page
    assert "block == 2" in script
    assert install.startswith("python3 -m venv .venv-test")
    assert tests.startswith(".venv-test/bin/pytest tests")


def test_the_exit_statuses_are_those_of_the_program() -> None:
    for decision, status in EXIT_STATUS.items():
        assert f"| `{decision}` | {status} |" in TEXT


EXAMPLES = [
    json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL) if '"kind"' in block
]


@pytest.mark.parametrize("application", EXAMPLES, ids=lambda one: one["kind"])
def test_every_example_of_an_application_is_one_that_the_suite_takes(application: dict[str, Any]) -> None:
    pilot = json.loads((readme.ROOT / "config" / "pilot.json").read_text(encoding="utf-8"))
    given = json.dumps({**pilot, "application": application})
    assert validate("README.md", given, Parameters).application.kind == application["kind"]


def test_there_is_an_example_of_every_kind() -> None:
    assert {one["kind"] for one in EXAMPLES} == {"command", "callable", "server"}


def test_every_file_that_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (readme.ROOT / target).exists(), target
