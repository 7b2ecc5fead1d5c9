"""The command: trials listed, two of them compared, one printed again.

    python -m plugins.trials [--json] [--sums]
    python -m plugins.trials diff A B
    python -m plugins.trials show A

A and B are names below --reports, folders, or `latest`. Exit status 0; 10: a trial that is shown or compared does
not agree with its sums (it is shown all the same); 4: the command line or a file is wrong.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

from fixtures.evidence import sums
from fixtures.evidence.errors import InputError
from fixtures.evidence.names import REPORT
from fixtures.evidence.names import SUMS
from fixtures.evidence.names import VERDICT
from plugins import console
from plugins.terminal import one_line

_WANTS = {"list": 0, "diff": 2, "show": 1}


def main(arguments: list[str] | None = None) -> int:
    parser = console.parser(
        "plugins.trials",
        "List trials, oldest first; diff A B compares two; show A prints a verdict again",
        "A and B are names below --reports, folders, or latest. Exit status 0; 10: what is shown or compared was "
        "altered after it was closed; 4: the command line or a file is wrong.",
    )
    parser.add_argument("what", nargs="?", choices=tuple(_WANTS), default="list", help="default: list")
    parser.add_argument("trials", nargs="*", metavar="TRIAL")
    parser.add_argument("--json", action="store_true", help="the list as JSON")
    parser.add_argument("--sums", action="store_true", help="in the list, compare the sums of all files too")
    given = parser.parse_intermixed_args(arguments)
    if len(given.trials) != _WANTS[given.what]:
        parser.error(f"{given.what}: found {len(given.trials)} trials, wanted {_WANTS[given.what]}")
    if given.what != "list" and (given.json or given.sums):
        parser.error("--json and --sums are for the list")
    reports = given.reports or console.REPORTS
    if given.what == "list":
        return _list(reports, as_json=given.json, every_sum=given.sums)
    from plugins.trials.finding import find

    paths = [find(reports, name) for name in given.trials]
    if given.what == "show":
        _show(paths[0])
    else:
        _diff(*paths)
    sys.stdout.flush()
    altered = [path for path in paths if not _whole(path)]  # each is said
    return console.HOLDS_NOT if altered else console.HOLDS


def _list(reports: Path, *, as_json: bool, every_sum: bool) -> int:
    from plugins.trials import listing

    try:
        rows = listing.rows(reports, every_sum=every_sum)
    except OSError as error:
        raise InputError(reports, "", error.strerror or str(error), "the folder of the trials") from None
    if as_json:
        json.dump([dataclasses.asdict(row) for row in rows], sys.stdout, indent=2)
        print()
        return console.HOLDS
    for line in listing.lines(rows):
        print(one_line(line, 2000).rstrip())
    if not rows:
        print(f"no trial in {reports}")
    return console.HOLDS


def _show(path: Path) -> None:
    if not os.path.lexists(path / VERDICT):
        raise InputError(path, "", f"no {VERDICT}, the trial was interrupted", "a trial that ended")
    from fixtures.evidence.base import load
    from plugins import terminal
    from plugins.verdict_file import Verdict

    verdict = load(path / VERDICT, Verdict)
    terminal.write(terminal.Plain(), verdict, path / REPORT if (path / REPORT).is_file() else None, [])


def _diff(before: Path, after: Path) -> None:
    from plugins.trials import comparing

    compared = comparing.compare(before, after)
    print(one_line(f"{before.name} -> {after.name}", 1000))
    for line in comparing.lines(compared):
        print(one_line(line, 2000))


def _whole(path: Path) -> bool:
    """Whether the trial is what it was when it was closed, said where it is not; one that never was is not asked."""
    if not (path / VERDICT).exists():
        return True
    try:
        different = sums.differences(path)
    except OSError:
        different = [f"there is no readable {SUMS}"]
    if different:
        more = f" and {len(different) - 1} more" if len(different) > 1 else ""
        print(one_line(f"ALTERED after it was closed: {path}: {different[0]}{more}", 3000), file=sys.stderr)
    return not different


if __name__ == "__main__":
    console.run(main)
