"""What the commands share that are started with `python -m plugins.…` and look at trials that ended.

Exit status 0 and 10 as each of them says; 4: the command line or a file is wrong; 2: interrupted, or whoever read the
answer went away before there was one.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from fixtures.evidence.errors import InputError
from plugins.terminal import one_line

HOLDS, HOLDS_NOT, BAD_INPUT, INTERRUPTED = 0, 10, 4, 2
#: where trials are, unless --reports says so
REPORTS = Path(__file__).resolve().parents[1] / "reports"


class Parser(argparse.ArgumentParser):
    """Ends with 4 where argparse would end with 2, which is pytest's word for an interruption."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def parser(prog: str, description: str, epilog: str | None = None) -> Parser:
    made = Parser(prog=f"python -m {prog}", description=description, epilog=epilog, allow_abbrev=False)
    made.add_argument(
        "--reports",
        type=Path,
        metavar="DIR",
        help="where the trials are (default: reports in the project)",
    )
    return made


def run(main: Callable[[], int]) -> NoReturn:
    """`main` to its end, as a process."""
    sys.exit(status(main))


def status(main: Callable[[], int]) -> int:
    """The exit status of `main`; whatever is wrong with what it was given is one line, and no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a terminal that cannot show a character is no reason to end
            stream.reconfigure(errors="backslashreplace")
    ended = INTERRUPTED
    try:
        ended = main()
        sys.stdout.flush()
        return ended
    except BrokenPipeError:  # as of `| head`: no error, and nothing that holds
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ended
    except KeyboardInterrupt:
        return INTERRUPTED
    except (InputError, OSError) as error:
        print(one_line(str(error), 3000), file=sys.stderr)
        return BAD_INPUT
