"""Pages that many tests read, made once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest

from fixtures.evidence.trial import Trial
from plugins.report import render
from plugins.verdict_file import Verdict
from tests.report import samples
from tests.report.parsed import Element
from tests.report.parsed import parse

Sample = Callable[[str], tuple[Verdict, Trial, Element]]

SUITE = """
import pytest

@pytest.mark.parametrize("word", ["a", "b"], ids=["plain", "<img src=x onerror=alert(1)>"])
def test_passes(word):
    pass

def test_fails():
    print("</script></body><script>alert(2)</script>")
    assert "</div>" == "<b>"

@pytest.mark.skip(reason="no card")
def test_is_skipped():
    pass
"""


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The verdict, the trial and the page, read back, of one of the samples."""

    @cache
    def made(name: str) -> tuple[Verdict, Trial, Element]:
        verdict, trial = samples.SAMPLES[name](tmp_path_factory.mktemp(name) / "trial")
        return verdict, trial, parse(render(verdict, trial))

    return made


@pytest.fixture(scope="session")
def html_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest-html really writes, with a value of the environment that must go no further."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_small.py").write_text(SUITE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--html=page.html", "--self-contained-html", "--metadata", "BUILD_URL", "hunter2-of-the-ci"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return (folder / "page.html").read_text(encoding="utf-8")
