"""README.md says what is so."""

from __future__ import annotations

import re

import pytest

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


def test_every_file_that_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (readme.ROOT / target).exists(), target
