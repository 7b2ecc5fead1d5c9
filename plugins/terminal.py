"""What the terminal ends with: the verdict in a dozen lines.

Runs in the controlling process, and wherever a verdict is printed again: it needs neither pytest nor the models.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from typing import TextIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plugins.verdict_file import CriterionResult
    from plugins.verdict_file import DocumentCounts
    from plugins.verdict_file import Status
    from plugins.verdict_file import Verdict

_COLOURS = {"go": "green", "fix": "red", "reconfigure": "red", "undecided": "yellow"}
_WORDS: dict[Status, str] = {
    "passed": "passed", "failed": "FAILED", "not_reached": "not reached", "not_run": "not run", "broken": "BROKEN",
}  # fmt: skip
_INDENT, _WIDTH = 13, 87
_MARKS = {"bold": 1, "red": 31, "green": 32, "yellow": 33}


class Out(Protocol):
    """What is used here of pytest's TerminalReporter; `Plain` can do it without pytest."""

    def write_sep(self, sep: str, title: str, **markup: bool) -> None: ...

    def write(self, content: str, **markup: bool) -> None: ...

    def write_line(self, line: str, **markup: bool) -> None: ...


class Plain:
    """Prints to `stream` what pytest's own reporter would print, in colours under the same circumstances."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.coloured = _coloured(self.stream)
        columns = shutil.get_terminal_size(fallback=(80, 24)).columns
        self.width = columns if columns >= 40 else 80

    def write_sep(self, sep: str, title: str, **markup: bool) -> None:
        fill = sep * max((self.width - len(title) - 2) // (2 * len(sep)), 1)
        line = f"{fill} {title} {fill}"
        self.write_line(line + sep if len(line) < self.width else line, **markup)

    def write(self, content: str, **markup: bool) -> None:
        marks = [f"\x1b[{_MARKS[name]}m" for name, on in markup.items() if on]
        coloured = f"{''.join(marks)}{content}\x1b[0m" if marks and self.coloured else content
        self.stream.write(coloured)

    def write_line(self, line: str, **markup: bool) -> None:
        self.write(line, **markup)
        self.stream.write("\n")


def _coloured(stream: TextIO) -> bool:
    """As pytest decides it."""
    if (said := os.environ.get("PY_COLORS")) in ("0", "1"):
        return said == "1"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def write(
    terminal: Out, verdict: Verdict, report: Path | None, unwritten: Sequence[str], notes: Sequence[str] = ()
) -> None:
    """The decision, the criteria, the first error, the step reached, the next change, the documents, the report."""
    colour = {_COLOURS[verdict.decision]: True}
    # pytest may believe itself in the middle of a line of dots, and would break the next line that is written in parts
    terminal.write_sep("=", f"gpu-pilot: {verdict.trial}", bold=True)
    terminal.write(f"{verdict.decision.upper()}", bold=True, **colour)
    terminal.write_line(f"  {one_line(verdict.reason, 400)}")
    if verdict.scope == "rehearsal" and verdict.decision == "fix":  # the reason says so otherwise
        terminal.write_line("rehearsal on the CPU: nothing was established about a rented card")
    terminal.write_line("")
    for criterion in verdict.criteria:
        terminal.write_line(_row(criterion))
    terminal.write_line("")
    error = verdict.first_error
    if error:
        step = f" ({error.criterion}: {error.step})" if error.step else f" ({error.criterion})"
        _field(terminal, "first error", f"{error.check}{step}: {error.message}")
    _field(terminal, "reached", verdict.step_reached or "nothing")
    if verdict.next_change:
        _field(terminal, "change next", f"{verdict.next_change.factor}: {verdict.next_change.advice}")
    if verdict.documents:
        _field(terminal, "documents", counted(verdict.documents))
    changed = [f"changed since {verdict.continues}: {change.factor}" for change in verdict.changed]
    remade = [f"made again: {one.evidence} ({one.why})" for one in verdict.remade]
    for note in [*notes, *changed, *remade, *verdict.advisories]:
        _field(terminal, "note", note)
    for problem in unwritten:
        _field(terminal, "not written", problem)
    if report is not None and not unwritten:
        _field(terminal, "report", str(report))
    if verdict.command.rerun:
        terminal.write_line(f"{'rerun:':<{_INDENT}}{verdict.command.rerun}")  # one line, to be copied


def counted(documents: DocumentCounts) -> str:
    """The documents in one line; whoever is not accounted for is named."""
    line = f"{documents.expected} expected, {len(documents.accepted)} accepted, {len(documents.rejected)} rejected"
    for word in ("missing", "duplicated", "invented"):
        named: list[str] = getattr(documents, word)
        if named:
            line += f", {len(named)} {word} ({', '.join(named[:12])}{', …' if len(named) > 12 else ''})"
    return line


def _row(criterion: CriterionResult) -> str:
    passed = sum(check.status == "passed" for check in criterion.checks)
    not_passed = [check.id for check in criterion.checks if check.status not in ("passed", "not_reached")]
    named = f"  {', '.join(not_passed[:4])}{', …' if len(not_passed) > 4 else ''}" if not_passed else ""
    return f"{criterion.criterion:<14}{_WORDS[criterion.status]:<13}{passed:>3} of {len(criterion.checks):<4}{named}"


def _field(terminal: Out, name: str, text: str) -> None:
    words = one_line(text, 1500)
    lines = textwrap.wrap(words, _WIDTH, break_on_hyphens=False, break_long_words=False) or [""]
    for number, line in enumerate(lines):
        terminal.write_line(f"{name + ':' if number == 0 else '':<{_INDENT}}{line}")


def one_line(text: str, most: int) -> str:
    """Printable and short: a document's id or an application's words may hold anything, escape sequences too."""
    plain = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"
