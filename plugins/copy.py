"""The command that continues the copy of a closed trial, or only looks at it.

    python -m plugins.copy TRIAL [--to PLACE] [--check] [--deadline SECONDS]

What is there with the right sum stays; what is missing or has another sum is written, and every file is read back
from there. Exit status 0: the copy is the trial, byte for byte; 10: it is not; 4: the command line, the trial or
the place is wrong; 2: interrupted. The trial itself, and the verdict it came to, stay as they are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from fixtures import addresses
from fixtures import storage
from fixtures.evidence import sums
from fixtures.evidence.errors import InputError
from fixtures.evidence.names import ADDED_LATER
from fixtures.evidence.names import RECORD
from fixtures.evidence.names import VERDICT
from plugins import console
from plugins.terminal import one_line
from plugins.trials import listing
from plugins.trials.finding import find

DEADLINE_S = 3600.0


@dataclass
class Found:
    """Files by name, as they were when first looked at; `written` of them since, `wrong` in the end."""

    there: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    corrupted: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return not ({*self.missing, *self.corrupted} - {*self.written} or self.foreign)


def main(arguments: list[str] | None = None) -> int:
    parser = console.parser(
        "plugins.copy",
        "Continue the copy of a closed trial: what is missing there, or has another sum, is written again",
        "Exit status 0: the copy is the trial, byte for byte; 10: it is not; 4: the command line, the trial or the "
        "place is wrong.",
    )
    parser.add_argument("trial", metavar="TRIAL", help="a name below --reports, a folder, or latest")
    parser.add_argument("--to", metavar="PLACE", help="a folder or an address (default: the trial's copy_to)")
    parser.add_argument("--check", action="store_true", help="write nothing; say what is missing or altered")
    parser.add_argument(
        "--deadline", type=float, default=DEADLINE_S, metavar="SECONDS", help="for all of it (default: 3600)"
    )
    given = parser.parse_args(arguments)
    if not given.deadline > 0:
        parser.error(f"--deadline: found {given.deadline}; wanted a number of seconds above 0")
    folder = find(given.reports or console.REPORTS, given.trial)
    files = sealed(folder)
    where = storage.below(_target(folder, given.to), _name(folder))
    found, broken = Found(), None
    print(one_line(where, 1000), flush=True)
    with storage.at(where, given.deadline) as place:
        if not given.check and (obstacle := place.obstacle(folder)):
            raise InputError(where, "", obstacle, "a place to copy to")
        try:
            _look(place, files, found)
            if not given.check:
                _write(place, folder, files, found)
        except OSError as error:
            broken = f"{error.strerror or error}: {error.filename2 or error.filename or where}"
    _tell(found, len(files))
    if broken:
        print(one_line(f"broke off: {broken}", 2000))
        print("the same command goes on from here")
    elif found.complete:
        print("the copy is the trial, byte for byte, as read back from there")
    return console.HOLDS if found.complete and not broken else console.HOLDS_NOT


def sealed(folder: Path) -> dict[str, str]:
    """Name -> sum of all that the trial was closed with, the verdict last.

    What was added to its folder since, as a person's decision, is no part of it.

    Raises:
        InputError: it was never closed, or is no longer what it was.
    """
    try:
        different = sums.differences(folder)
        seal = (folder / sums.NAME).read_bytes()
    except OSError:
        raise InputError(folder, "", f"no {sums.NAME}: it never ended", "a trial that was closed") from None
    if different:
        raise InputError(folder, "", "; ".join(different[:5]), "a trial that is as it was closed")
    files = {**sums.parse(seal.decode("utf-8", "surrogateescape")), sums.NAME: sums.of_bytes(seal)}
    return dict(sorted(files.items(), key=lambda item: (item[0] == VERDICT, item[0] == sums.NAME, item[0])))


def _target(folder: Path, given: str | None) -> str:
    """What --to names, or where the trial was to be copied to; relative to where the command was given.

    Raises:
        InputError: nothing, or no place that can be copied to.
    """
    target = given if given is not None else _record(folder).get("copy_to")
    origin = "--to" if given is not None else str(folder / RECORD)
    if not isinstance(target, str) or not target:
        raise InputError(origin, "copy_to", "no place for a copy", "one, here or as --to PLACE")
    try:
        place = addresses.accepted(target)
    except addresses.Refused as refused:
        raise InputError(
            origin, "" if given is not None else "copy_to", refused.found, refused.wanted
        ) from None
    return place if addresses.is_address(place) else os.path.abspath(place)


def _name(folder: Path) -> str:
    name = _record(folder).get("trial")
    if not isinstance(name, str) or not listing.NAMED.fullmatch(name):
        raise InputError(folder / RECORD, "trial", "no name of a trial", "as 20261201T103000Z-7f3a")
    return name


def _record(folder: Path) -> dict[str, object]:
    try:
        return listing.plain(folder / RECORD, listing.RECORD_SCHEMA)
    except listing.Problem as problem:
        raise InputError(folder / RECORD, "", str(problem), "the record of a trial") from None


def _look(place: storage.Folder | storage.Address, files: dict[str, str], found: Found) -> None:
    """Read everything that is there."""
    names = set(place.names())
    for name, digest in files.items():
        if name not in names:
            found.missing.append(name)
        elif place.sum_of(name) == digest:
            found.there.append(name)
        else:
            found.corrupted.append(name)
    found.foreign = sorted(name for name in names - files.keys() if not ADDED_LATER.fullmatch(name))


def _write(
    place: storage.Folder | storage.Address, folder: Path, files: dict[str, str], found: Found
) -> None:
    """Write what is not there as it should be, and read each back; the verdict last, when all else is right."""
    wanted = {*found.missing, *found.corrupted}
    if not wanted:
        return
    place.make(again=True)
    for name, digest in files.items():
        if name in wanted and not (name == VERDICT and found.wrong):
            place.write(folder / name, name)
            (found.written if place.sum_of(name) == digest else found.wrong).append(name)


def _tell(found: Found, files: int) -> None:
    looked = len(found.there) + len(found.missing) + len(found.corrupted)
    rest = f", {files - looked} not looked at" if looked < files else ""
    print(f"{len(found.there)} of {files} files were there, {len(found.written)} written{rest}")
    since = dict.fromkeys(found.written, ", written") | dict.fromkeys(found.wrong, ", not right when written")
    for what, names in (("missing", found.missing), ("corrupted", found.corrupted)):
        for name in names:
            print(one_line(f"{what}{since.get(name, '')}: {sums.shown(name)}", 1000))
    for name in found.foreign:
        print(one_line(f"not of this trial: {sums.shown(name)}", 1000))


if __name__ == "__main__":
    console.run(main)
