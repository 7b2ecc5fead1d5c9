"""What is said about starting the long run: which ways are known to survive a hang-up on this machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from fixtures.evidence.models import Candidate
from fixtures.evidence.models import Hangup


def known_to_work(hangup: Hangup) -> str:
    """The ways that brought a small program through a hang-up here, and those that lost what it printed."""
    if not hangup.candidates or hangup.dies_bare is None:
        return "which ways survive a hang-up here could not be tried"
    if not hangup.dies_bare:
        return "a hang-up ends no program here, so nothing could be learned about what survives one"
    whole = [one for one in hangup.candidates if one.survives and one.prints]
    mute = [one for one in hangup.candidates if one.survives and not one.prints]
    said = (
        f"known to survive a hang-up here: {_named(whole)}"
        if whole
        else "nothing is known to survive one here"
    )
    if mute:
        said += f"; {_named(mute)} only with stdout and stderr sent to files"
    return said


def _named(candidates: Iterable[Candidate]) -> str:
    return ", ".join(" ".join(one.prefix) for one in candidates)


def advice(hangup: Hangup) -> str:
    """The advisory where `application.detached` is not set."""
    return f"how the long run will be started was not tried (application.detached); {known_to_work(hangup)}"


def explained(hangup: Hangup) -> str:
    """Why a run did not outlive the hang-up, as far as it was seen; begins with a separator, or is empty."""
    why = []
    if hangup.error:
        why.append(hangup.error)
    if hangup.undone_by:
        why.append(
            f"SIGHUP was ignored when it started, and {hangup.undone_by} no longer ignored it, as torchrun does"
        )
    elif hangup.ignored is False and hangup.run is not None and hangup.run.signal == "SIGHUP":
        why.append(f"{' '.join(hangup.prefix or [])} does not keep SIGHUP from it")
    lost = [name for name in hangup.lost_streams if name != "stdin"]
    if lost and hangup.run is not None and hangup.run.ended == "exit":
        why.append(f"its {' and '.join(lost)} went to the terminal that was gone, where every print fails")
    return "".join(f"; {one}" for one in why)
