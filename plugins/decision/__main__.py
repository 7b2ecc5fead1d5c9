"""The command: a person's decision recorded beside the machine's verdict, and the record verified.

    python -m plugins.decision go|fix|reconfigure --because "…" [--by "…"] [--trial T] [--override] [--again]
    python -m plugins.decision verify

Exit status 0: recorded, or everything agrees. 10: `verify` found something altered, missing or torn; the first is
named first. 4: refused, or the command line or a file is wrong; nothing was written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fixtures.evidence.names import DECISION_PAGE
from fixtures.evidence.names import LATEST
from plugins import console
from plugins.terminal import one_line

if TYPE_CHECKING:
    from plugins.decision.record import Asked


def main(arguments: list[str] | None = None) -> int:
    parser = console.parser(
        "plugins.decision",
        "Record what a person decided on a trial beside what the machine says, or verify what was recorded",
        "Exit status 0: recorded, or everything agrees; 10: verify found something altered, missing or torn; "
        "4: refused, or the command line or a file is wrong.",
    )
    parser.add_argument("decision", choices=("go", "fix", "reconfigure", "verify"))
    parser.add_argument("--because", metavar="REASON", help="why, so that somebody understands it in a year")
    parser.add_argument("--by", metavar="NAME", help="who decides; written down only where it is given")
    parser.add_argument(
        "--trial", metavar="TRIAL", help="a name below --reports, a folder, or latest (default: latest)"
    )
    parser.add_argument(
        "--override", action="store_true", help="decide more optimistically than the verdict, marked as that"
    )
    parser.add_argument(
        "--again", action="store_true", help="decide again on the same trial; the earlier decision is kept"
    )
    given = parser.parse_args(arguments)
    if given.decision == "verify":
        if any((given.because, given.by, given.trial, given.override, given.again)):
            parser.error("verify: found options of a decision, wanted --reports alone")
        return _verify(given.reports or console.REPORTS)
    if given.because is None:
        parser.error(f"{given.decision}: found no reason, wanted --because")
    from plugins.decision.record import Asked
    from plugins.trials.finding import find

    # argparse makes an empty list of `--because=--`
    because, by, named = ("" if one == [] else one for one in (given.because, given.by, given.trial))
    path = find(given.reports or console.REPORTS, LATEST if named is None else named)
    asked = Asked(given.decision, because, by, given.override, given.again)
    return _record(given.reports or path.parent, path, asked)


def _record(reports: Path, path: Path, asked: Asked) -> int:
    from plugins.decision import chain
    from plugins.decision.record import record

    decided, line = record(reports, path, asked)
    mark = f" (OVERRIDE of the machine's {decided.machine.decision})" if decided.override else ""
    print(one_line(f"recorded: {decided.decision}{mark} on {decided.trial}", 500))
    print(one_line(f"to attach: {path / DECISION_PAGE}", 1000))
    print(one_line(f"chain: line {line.number} of {reports / chain.NAME}", 1000))
    if asked.override and not decided.override:
        print(f"--override was not needed: the machine says {decided.machine.decision}", file=sys.stderr)
    return console.HOLDS


def _verify(reports: Path) -> int:
    from plugins.decision.verify import verify

    found = verify(reports)
    for problem in found.broken:
        print(one_line(problem, 2000))
    for trial in found.absent:
        print(one_line(f"not here: {trial}", 500))
    held = "NOT everything agrees" if found.broken else "everything agrees"
    print(f"{found.lines} decisions read, {found.here} trials here, {len(found.absent)} not here: {held}")
    return console.HOLDS_NOT if found.broken else console.HOLDS


if __name__ == "__main__":
    console.run(main)
