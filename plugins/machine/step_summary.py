"""The summary of a GitHub step: the decision, the criteria, the first error, the next change, and every check.

Written as one block of HTML without a blank line, in which GitHub's Markdown finds nothing to interpret; what came
from a machine or an application stands escaped in `<code>`, where no mention, link, emoji or formula is looked for.
"""

from __future__ import annotations

import html

from plugins.machine.cases import Case
from plugins.machine.cases import cases
from plugins.report import text
from plugins.report.page import SYMBOLS
from plugins.report.page import WORDS
from plugins.verdict_file import Verdict

#: what GitHub takes of one step, in bytes
LIMIT = 1024 * 1024
#: characters of one value
_MOST = 600


def render(verdict: Verdict, most: int = LIMIT) -> str:
    """At most `most` bytes of UTF-8: checks that passed are left out first, and counted. Empty if nothing fits."""
    all_cases = cases(verdict)
    rows = {case.name: _row(case) for case in all_cases}
    head, foot = _head(verdict), _foot(verdict)
    names = [case.name for case in all_cases]
    for wanted in (names, [case.name for case in all_cases if case.status != "passed"]):
        whole = _whole(head, [rows[name] for name in wanted], len(names) - len(wanted), foot)
        if _bytes(whole) <= most:
            return whole
    room = most - _bytes(_whole(head, [], len(names), foot))
    kept = []
    for name in wanted:
        room -= _bytes(rows[name]) + 1
        if room < 0:
            break
        kept.append(rows[name])
    whole = _whole(head, kept, len(names) - len(kept), foot)
    return whole if _bytes(whole) <= most else ""


def _whole(head: list[str], rows: list[str], left_out: int, foot: list[str]) -> str:
    lines = [*head]
    if rows:
        lines += ["<details><summary>Every check</summary>", "<table>"]
        lines += [
            "<tr><th></th><th>check</th><th>status</th><th>what was found</th><th>carried from</th></tr>"
        ]
        lines += [*rows, "</table>", "</details>"]
    if left_out:
        lines.append(f"<p>Left out for want of room: {left_out} checks; see verdict.json.</p>")
    return "\n".join([*lines, *foot]) + "\n"


def _head(verdict: Verdict) -> list[str]:
    lines = [
        f"<h3>gpu-pilot: {verdict.decision.upper()}</h3>",
        f"<p>{_code(verdict.reason)}</p>",
        "<table>",
        "<tr><th></th><th>criterion</th><th>status</th><th>passed</th></tr>",
    ]
    for row in verdict.criteria:
        passed = sum(check.status == "passed" for check in row.checks)
        cells = (SYMBOLS[row.status], row.criterion, WORDS[row.status], f"{passed} of {len(row.checks)}")
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    lines.append("</table>")
    if error := verdict.first_error:
        place = f"{error.criterion}: {error.step}" if error.step else error.criterion
        lines.append(
            f"<p>First error: {_code(error.check)} ({_code(place)}): {_code(error.message)}</p>",
        )
    if change := verdict.next_change:
        lines.append(f"<p>Change next: {_code(change.factor)}: {_code(change.advice)}</p>")
    return lines


def _foot(verdict: Verdict) -> list[str]:
    lines = [f"<p>Trial {_code(verdict.trial)}, scope {verdict.scope}.</p>"]
    if verdict.continues:
        lines.append(f"<p>Continues {_code(verdict.continues)}.</p>")
    if verdict.command.rerun:
        lines.append(f"<p>Rerun: {_code(verdict.command.rerun)}</p>")
    return lines


def _row(case: Case) -> str:
    found = case.message if case.status != "passed" else case.result.found if case.result else None
    carried = case.result.carried_from if case.result else None
    flaky = ", flaky" if case.result and case.result.flaky else ""
    cells = (
        SYMBOLS[case.status],
        _code(case.name),
        WORDS[case.status] + flaky,
        _code(found) if found else "",
        _code(carried) if carried else "",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _code(value: str) -> str:
    """One line, with nothing in it that HTML or Markdown could read as its own."""
    shown = text.oneline(text.visible(text.cut(value, _MOST)))
    return f"<code>{html.escape(shown)}</code>" if shown else ""


def _bytes(value: str) -> int:
    return len(value.encode("utf-8"))
