"""How a trial begins: the inputs are read, the cards counted, the folder made. Runs in the controlling process."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Literal

import pytest

from fixtures import addresses
from fixtures import documents
from fixtures import inventory as cards
from fixtures.evidence import secrets
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.models import Inventory
from fixtures.evidence.order import read as read_order
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.parameters import read as read_parameters
from fixtures.evidence.standing import STANDS_ON
from fixtures.evidence.trial import Envelope
from fixtures.evidence.trial import Record
from fixtures.evidence.trial import Scope
from fixtures.evidence.trial import Trial
from plugins import factors

Device = Literal["auto", "cuda", "rocm", "cpu"]
_SEEN = pytest.StashKey[Inventory]()


def judged(config: pytest.Config) -> Trial | None:
    """The trial that --trial names, or None."""
    named = config.getoption("trial")
    return store.open_trial(_given(config, named), judging=True) if named else None


def begin(config: pytest.Config, continues: str | None) -> Trial:
    """Make a new trial folder with its record and the inventory in it.

    Raises:
        InputError: the parameters, the order or the reports folder are not what they must be.
    """
    project = config.rootpath
    pilot = _pilot(config)
    ordered = _given(config, config.getoption("order") or project / "config" / "order.json")
    parameters, order = read_parameters(pilot), read_order(ordered)
    _apart(pilot, "copy_to", _copy_to(config, parameters), project, parameters)
    _apart(pilot, "--reports", str(reports_folder(config)), project, parameters)
    seen = inventory(config)
    device = resolve(config.getoption("device"), seen)
    interpreter = _interpreter(parameters, project)
    references = {name: _reference(project / path) for name, path in parameters.references.items()}
    files = {"parameters": pilot, "order": ordered, "manifest": project / parameters.documents.manifest}
    name = store.new_name()
    record = Record(
        trial=name,
        continues=continues,
        suite="gpu",
        scope=scope_of(device),
        device=device,
        created=store.now(),
        project=str(project),
        folder=_folder(parameters, project, pilot),
        command=secrets.hidden([Path(sys.argv[0]).name, *map(str, config.invocation_params.args)]),
        copy_to=_copy_to(config, parameters),
        interpreter=interpreter,
        parameters=parameters,
        order=order,
        references=references,
        factors=factors.observe(project, files, references, seen, interpreter, parameters.application),
        once=config.getoption("once"),
        burn_in=config.getoption("burn_in"),
        expects=_expects(files["manifest"]),
    )
    path = store.create(reports_folder(config), name)
    try:
        store.write_json(path / store.RECORD, record)
        trial = Trial(path, record, judging=False)
        observed = seen.model_dump(mode="json")
        stands_on = list(STANDS_ON["inventory"])
        trial.write(
            Envelope(
                name="inventory",
                trial=name,
                stands_on=stands_on,
                made=store.now(),
                seconds=0.0,
                observed=observed,
            )
        )
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise InputError(path, "", error.strerror or str(error), "a folder that can be written") from None
    return trial


def inventory(config: pytest.Config) -> Inventory:
    """The cards, looked at once: how many workers there are to be is asked before there is a trial."""
    if _SEEN not in config.stash:
        config.stash[_SEEN] = cards.observe()
    return config.stash[_SEEN]


def _apart(pilot: Path, place: str, target: str | None, project: Path, parameters: Parameters) -> None:
    """Refuse a place among the documents: what is written there would be taken for documents.

    Raises:
        InputError: `target` lies in the folder of the manifest.
    """
    folder = Path(os.path.realpath(project / parameters.documents.manifest)).parent
    if target is not None and "://" not in target and Path(os.path.realpath(target)).is_relative_to(folder):
        raise InputError(
            pilot, place, f"{target}, which lies among the documents", "a folder apart from them"
        )


def _expects(manifest: Path) -> bool:
    """Whether the manifest gives a category for any document; of one that cannot be read the checks say more."""
    entries = documents.entries_of(manifest)
    return not entries or any(entry.category is not None for entry in entries)


def reports_folder(config: pytest.Config) -> Path:
    return _given(config, config.getoption("reports") or config.rootpath / "reports")


def scope_of(device: str) -> Scope:
    return "rehearsal" if device == "cpu" else "rental"


def resolve(asked: Device, seen: Inventory) -> Device:
    """auto takes the vendor whose cards are there; with none it stays auto, and never becomes cpu."""
    if asked != "auto":
        return asked
    vendors = {card.vendor for card in seen.cards}
    if vendors == {"nvidia"}:
        return "cuda"
    return "rocm" if vendors == {"amd"} else "auto"


def _given(config: pytest.Config, path: str | Path) -> Path:
    """A path from the command line, which is relative to where the command was given."""
    return Path(os.path.abspath(config.invocation_params.dir / path))


def _copy_to(config: pytest.Config, parameters: Parameters) -> str | None:
    """The folder or the address of the copy; what does not show before it is written to is found then.

    Raises:
        InputError: an address that holds a secret, is of a wrong form, or whose client is not installed.
    """
    option = config.getoption("copy_to")
    given = option or parameters.copy_to
    if given is None:
        return None
    try:
        place = addresses.accepted(given)
    except addresses.Refused as refused:
        file, key = ("--copy-to", "") if option else (_pilot(config), "copy_to")
        raise InputError(file, key, refused.found, refused.wanted) from None
    if addresses.is_address(place):
        return place
    return str(_given(config, place)) if option else os.path.abspath(config.rootpath / place)


def _pilot(config: pytest.Config) -> Path:
    return _given(config, config.getoption("pilot") or config.rootpath / "config" / "pilot.json")


def _interpreter(parameters: Parameters, project: Path) -> str:
    """The interpreter as asked for; links are kept, because a virtual environment's python is one."""
    asked = parameters.application.python
    if asked is None:
        return sys.executable
    if "/" in asked:
        return os.path.abspath(project / asked)
    return shutil.which(asked) or asked


def _folder(parameters: Parameters, project: Path, pilot: Path) -> str:
    """Where the application runs, and the probe with it: what Python finds there first must be the same."""
    path = Path(os.path.abspath(project / (parameters.application.folder or ".")))
    if not path.is_dir():
        raise InputError(pilot, "application.folder", f"no folder {path}", "a folder that is there")
    return str(path)


def _reference(path: Path) -> str:
    """The sum of a file, or one sum over the files of a folder."""
    try:
        if path.is_dir():
            listed = [(name, sums.of_file(path / name)) for name in sums.files_below(path)]
            return sums.of_bytes(sums.render(listed).encode("utf-8", "surrogateescape"))
        return sums.of_file(path)
    except OSError as error:
        return f"unreadable: {error.strerror}"
