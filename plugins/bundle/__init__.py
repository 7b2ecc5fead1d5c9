"""The provider's bundle: one archive for the support of whoever rents the cards out.

It is made of what is named in `items` and of nothing else: a file that is not named there is left out, and listed.
"""

from __future__ import annotations

import re
from pathlib import Path

from fixtures.evidence.trial import Trial
from plugins.bundle import archive
from plugins.bundle import items
from plugins.bundle.cleaning import Cleaner
from plugins.verdict_file import Verdict

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def name_of(trial: Trial) -> str:
    """The folder inside the archive; a trial's record is a file like any other, and may name anything."""
    return f"{trial.name if _SAFE.fullmatch(trial.name) else 'trial'}-provider"


def default_file(trial: Trial) -> Path:
    """Beside the trial's folder: what lies inside is sealed."""
    return trial.path.resolve().with_name(f"{name_of(trial)}.tar.gz")


def said(file: Path, left_out: list[items.LeftOut]) -> str:
    """That it was written, in one line."""
    count = f"what was left out is in its {items.LEFT_OUT}, {len(left_out)} lines"
    return f"for the provider's support: {file} ({count}; look through it before you send it)"


def write(trial: Trial, verdict: Verdict | None, file: Path) -> list[items.LeftOut]:
    """Write the bundle to `file`, which must not exist and is readable by its owner alone; what was left out.

    Raises:
        InputError: something is there already.
        OSError: it cannot be written.
    """
    content = items.gather(trial, verdict, Cleaner(trial))
    archive.write(file, name_of(trial), trial.record.created, content.files)
    return content.left_out
