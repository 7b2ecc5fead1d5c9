"""The parts of README.md that are written by the program itself: `python -m tests.project.readme` puts them in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from fixtures.evidence.parameters import IN_A_REQUEST
from fixtures.evidence.parameters import IN_A_SERVER
from fixtures.evidence.parameters import PLACEHOLDERS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def options() -> str:
    """Our heading of `pytest --help`, at a fixed width."""
    end = subprocess.run(
        [sys.executable, "-m", "pytest", str(ROOT / "suites" / "gpu"), "--help"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "110", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    _, _, rest = end.stdout.partition("gpu-pilot: the acceptance test of a rented card:\n")
    lines = []
    for line in rest.splitlines():
        if line and not line.startswith("  "):
            break
        lines.append(line)
    return "```\n" + "\n".join(lines).strip("\n") + "\n```"


def words(meanings: dict[str, str], indent: str = "") -> str:
    """A table of the words that are replaced."""
    rows = [f"{indent}| `{{{name}}}` | {meaning} |" for name, meaning in meanings.items()]
    return "\n".join([f"{indent}| word | what it becomes |", f"{indent}|---|---|", *rows])


def section(text: str, name: str) -> str:
    """What stands between the markers of `name`."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n *<!-- /{name} -->", text, re.DOTALL)
    assert found, f"README.md has no section {name}"
    return found[1]


def commands(text: str) -> list[list[str]]:
    """The lines of each block of shell commands."""
    return [block.strip().splitlines() for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]


WRITTEN = {
    "options": options,
    "placeholders": lambda: words(PLACEHOLDERS, "   "),
    "in a server": lambda: words(IN_A_SERVER),
    "in a request": lambda: words(IN_A_REQUEST),
}


def main() -> None:
    text = README.read_text(encoding="utf-8")
    for name, write in WRITTEN.items():
        before = f"<!-- {name} -->\n"
        text = text.replace(before + section(text, name), before + write())
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
