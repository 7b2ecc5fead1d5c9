"""The command: one archive for the provider's support.

    python -m plugins.bundle TRIAL [FILE]

TRIAL is a name below --reports, a folder, or `latest`. Exit status 0; 4: the command line or a file is wrong, or
FILE is there already or cannot be written.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fixtures.evidence.errors import InputError
from fixtures.evidence.names import VERDICT
from plugins import console
from plugins.terminal import one_line


def main(arguments: list[str] | None = None) -> int:
    parser = console.parser(
        "plugins.bundle",
        "Pack what a provider's support needs of a trial: what failed, driver, cards, ends of logs; no secrets, no "
        "texts of documents",
        "TRIAL is a name below --reports, a folder, or latest. Look through the archive before you send it. Exit "
        "status 0; 4: the command line or a file is wrong, or FILE is there already.",
    )
    parser.add_argument("trial", metavar="TRIAL")
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="where to write it; never overwritten (default: TRIAL-provider.tar.gz beside the trial)",
    )
    given = parser.parse_args(arguments)
    from plugins.trials.finding import find

    path = find(given.reports or console.REPORTS, given.trial)

    from fixtures.evidence import base
    from fixtures.evidence.trial import open_trial
    from plugins import bundle
    from plugins.verdict_file import Verdict

    trial = open_trial(path, judging=True)
    verdict = None
    if os.path.lexists(path / VERDICT):
        try:
            verdict = base.load(path / VERDICT, Verdict)
        except InputError as error:
            print(one_line(f"packed without its verdict: {error}", 3000), file=sys.stderr)
    file = given.file or bundle.default_file(trial)
    left_out = bundle.write(trial, verdict, file)
    print(one_line(bundle.said(file, left_out), 3000))
    return console.HOLDS


if __name__ == "__main__":
    console.run(main)
