"""decision.md: the decision as a page to be attached to a ticket, a mail or a purchase.

Whatever an application, a machine or a person wrote is hostile here: it must not end a table, become markup or turn
into a link. What the application, the machine or a file said stands in code spans, where Markdown reads nothing at all;
tables hold our own words and numbers only. The words of the person who decides are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fixtures.evidence import sums
from plugins.decision.chain import NAME
from plugins.decision.file import CriterionCount
from plugins.decision.file import Decided
from plugins.report import text
from plugins.verdict_file import CRITERIA
from plugins.verdict_file import Criterion
from plugins.verdict_file import DocumentCounts
from plugins.verdict_file import Status

_WORDS: dict[Status, str] = {
    "passed": "passed", "failed": "FAILED", "not_reached": "not reached", "not_run": "not run", "broken": "BROKEN",
}  # fmt: skip
#: of the ASCII punctuation, what neither means anything in Markdown nor makes an address a link
_HARMLESS = ",.-()'/;? \""
#: what else a bare address begins with
_WWW = re.compile(r"www\.", re.IGNORECASE)
MOST = 2000


def render(decided: Decided) -> str:
    """The page."""
    machine = decided.machine
    override = (
        [
            "",
            f"**OVERRIDE: a person decided {decided.decision} where the machine says {machine.decision}.** "
            "The machine's verdict stands as it is.",
        ]
        if decided.override
        else []
    )
    facts = {
        "Decision": f"**{decided.decision}**{' (override)' if decided.override else ''}",
        "Decided by": prose(decided.by) if decided.by else "not said",
        "When": code(text.moment(decided.when)),
        "Trial": code(decided.trial),
        "Scope": decided.scope,
        "The machine's decision": machine.decision,
        "In decisions.jsonl": f"line {decided.number}",
    }
    order = {
        "Card": code(decided.order.card) if decided.order.card else "not written down",
        "Cards in all": str(decided.order.cards),
        "Lots": str(decided.order.lots),
        "Days": str(decided.order.days),
        "Preparation": code(decided.order.preparation),
    }
    parts = [
        f"# Decision on a rented GPU: {decided.decision}{' (override)' if decided.override else ''}",
        *override,
        "", *(f"- {name}: {value}" for name, value in facts.items()),
        "", "## Reason", "", *(f"> {prose(line)}" for line in decided.reason.splitlines()),
        "", "## What the machine says", "", f"**{machine.decision}**: {code(machine.reason)}",
        "", f"First error: {_first_error(decided)}",
        "", "## Conditions", "", *_listed(decided.conditions),
        "", "## Criteria", "", *table(("Criterion", "Status", "Passed"), [_row(decided, one) for one in CRITERIA]),
        "", *_listed([f"{id}: {_WORDS[status]}" for one in decided.criteria for id, status in one.open.items()]),
        "", "## Order", "", *(f"- {name}: {value}" for name, value in order.items()),
        "", "## Documents", "", *_documents(decided.documents),
        "", "## Sums", "", *_sums(decided),
        "",
    ]  # fmt: skip
    return "\n".join(parts)


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Cells hold our own words and nothing else: a bar would end them."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def prose(value: str) -> str:
    """Text that Markdown shows as it is, in a paragraph; some renderers still make a link of an e-mail address."""
    line = text.oneline(text.visible(text.cut(value, MOST)))
    escaped = "".join(c if c.isalnum() or c in _HARMLESS or ord(c) > 127 else f"&#{ord(c)};" for c in line)
    escaped = _WWW.sub(lambda found: f"{found[0][:3]}&#46;", escaped)
    # at the beginning of a line: no list, heading underline or rule
    return re.sub(r"^([-.]|\d+[.)])", lambda found: "".join(f"&#{ord(c)};" for c in found[0]), escaped) or "—"


def code(value: str) -> str:
    """A code span; its fence is longer than any in the text. Never in a table, where a bar would end the cell."""
    line = text.oneline(text.visible(text.cut(value, MOST)))
    if not line:
        return "—"
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    blank = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def _listed(lines: list[str]) -> list[str]:
    return [f"- {code(line)}" for line in lines] or ["None."]


def _first_error(decided: Decided) -> str:
    error = decided.first_error
    if error is None:
        return "none."
    where = f"{error.criterion}, {error.step}" if error.step else error.criterion
    return f"{code(f'{error.check} ({where}): {error.message}')}"


def _row(decided: Decided, criterion: Criterion) -> tuple[str, ...]:
    found: CriterionCount | None = next((one for one in decided.criteria if one.criterion == criterion), None)
    if found is None:
        return criterion, "not examined", "0 of 0"
    return criterion, _WORDS[found.status], f"{found.passed} of {found.checks}"


def _documents(counts: DocumentCounts | None) -> list[str]:
    if counts is None:
        return ["None were counted."]
    named = {
        name: getattr(counts, name) for name in ("accepted", "rejected", "missing", "duplicated", "invented")
    }
    rows = [("expected", str(counts.expected)), *((name, str(len(ids))) for name, ids in named.items())]
    lines = table(("", "Documents"), rows)
    for name in ("missing", "duplicated", "invented"):
        if ids := named[name]:
            more = f" and {len(ids) - 50} more" if len(ids) > 50 else ""
            lines += ["", f"{name.capitalize()}: {', '.join(code(id) for id in ids[:50])}{more}"]
    return lines


def _sums(decided: Decided) -> list[str]:
    """As `sha256sum -c` reads them, in a block whose fence is longer than any run in a file's name."""
    listed = sums.render((one.path, one.sha256) for one in decided.sums)
    longest = max((len(run) for run in re.findall("`+", listed)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = [text.visible(line) for line in listed.split("\n") if line]
    earlier = [f"This decision replaces one whose sum is {decided.replaces}.", ""] if decided.replaces else []
    chained = f"Its line in {NAME} holds the sum of the line before: {decided.before}."
    return [*earlier, chained, "", "SHA-256 of what was decided on:", "", f"{fence}text", *lines, fence]
