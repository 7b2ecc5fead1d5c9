"""The command: what is wrong with a machine, by what its tools print or its user pastes.

    python -m plugins.diagnose [--root | --container] [--json] [FILE ...]

Without a FILE, or for "-", standard input is read; several outputs may stand in one, in any order. Exit status 0:
nothing wrong was found in what was given, or nothing that blocks; 10: fix; 11: reconfigure; where that differs by
place and the place is not said, as in a container; 4: a file or the command line is wrong, or nothing in it is known.
"""

from __future__ import annotations

import json
import sys

from fixtures.evidence.errors import InputError
from plugins import console

FIX, RECONFIGURE = 10, 11


def main(arguments: list[str] | None = None) -> int:
    parser = console.Parser(
        prog="python -m plugins.diagnose",
        description="Say what is wrong with a machine, by what its tools print",
        epilog="Any mix of what nvidia-smi, rocminfo, rocm-smi, amd-smi, torch.utils.collect_env, pip list, conda list,"
        " dmesg and env print, error texts and tracebacks. Exit status 0: nothing that blocks was found; 10: fix; 11: "
        "reconfigure (where that differs by place and neither --root nor --container is given: as in a container); 4: a"
        " file is wrong, or nothing in it is known.",
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="text files; none, or -, is standard input")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--root", dest="place", action="store_const", const="root", help="you have root on the machine"
    )
    place.add_argument(
        "--container", dest="place", action="store_const", const="container", help="you are in a container"
    )
    parser.add_argument("--json", action="store_true", help="the answer as JSON")
    given = parser.parse_args(arguments)
    if not given.files and sys.stdin is not None and sys.stdin.isatty():
        print("paste, and end with Ctrl-D:", file=sys.stderr)

    from plugins.diagnose import given as giving
    from plugins.diagnose import judging
    from plugins.diagnose import page
    from plugins.diagnose import reading
    from plugins.terminal import one_line

    texts = [giving.read(path) for path in dict.fromkeys(given.files or ["-"])]
    read, unknown = [], []
    for one in texts:
        try:
            read.append((one, reading.read(one)))
        except InputError as error:  # what the others say is not lost with it
            unknown.append(error)
    if not read:
        raise unknown[0]
    for problem in unknown:
        print(f"left out: {one_line(str(problem), 1000)}", file=sys.stderr)
    judged = judging.judge([one for _, found in read for one in found], given.place)
    if given.json:
        json.dump(page.as_json(read, judged), sys.stdout, indent=2)
        print()
    else:
        for line in page.lines(read, judged):
            print(one_line(line, 2000).rstrip())
    answer = judged.answer
    return console.HOLDS if answer is None else FIX if answer.decision == "fix" else RECONFIGURE


if __name__ == "__main__":
    console.run(main)
