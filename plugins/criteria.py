"""How a check is declared, and how it states its claim.

    @check("results.allowed_category", on_failure="fix", change="the application's label mapping")
    def test_every_accepted_document_has_one_allowed_category(account, parameters, claim): ...

Runs in whichever process runs the check. What a check said travels to the controlling process as one JSON
text, because nothing but plain builtins survives pytest-xdist's wire.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from typing import Any
from typing import Literal
from typing import NoReturn
from typing import TypeVar

import pytest

from fixtures.evidence.trial import Broken
from fixtures.evidence.trial import NotReached
from fixtures.evidence.trial import Scope
from fixtures.probe import hide_values
from plugins.verdict import Claim
from plugins.verdict_file import CRITERIA
from plugins.verdict_file import Criterion
from plugins.verdict_file import FailureDecision
from plugins.verdict_file import Fault

F = TypeVar("F", bound=Callable[..., object])

#: planned: the volume to follow is in the parameters. detached: so is how it will be started.
#: repeated: the application may be run more than once. kept: so it may, and what it has written outlives a kill.
#: access: variables are named that must be set. extensions: modules that the application needs beside torch.
#: requirements: a file of the exact versions that its environment was made from. burn_in: so many minutes of load.
Need = Literal[
    "expected", "planned", "detached", "repeated", "kept", "access", "extensions", "requirements", "burn_in",
]  # fmt: skip

#: the attribute of a report that carries what its check said
SAID = "gpu_pilot"
_CLAIMS = pytest.StashKey[list[Claim]]()


def check(
    id: str,
    *,
    on_failure: FailureDecision,
    change: str,
    step: str | None = None,
    scopes: tuple[Scope, ...] = ("rental", "rehearsal"),
    needs: Need | None = None,
) -> Callable[[F], F]:
    """Declare a test as a check of the pilot.

    Args:
        id: `criterion.name`, stable for ever: reruns, records and scripts match on it.
        on_failure: what a failure means unless what is observed says otherwise.
        change: the one factor to change when it fails.
        step: the rung of the launch ladder.
        scopes: the kinds of trial in which the claim can be established at all.
        needs: what must have been asked for; without it the check leaves the plan, and the verdict says so.
    """
    criterion_of(id)
    return pytest.mark.check(
        id=id, on_failure=on_failure, change=change, step=step, scopes=scopes, needs=needs
    )


def criterion_of(id: str) -> Criterion:
    """The criterion that an id belongs to; raises ValueError for an id of none."""
    wanted = id.partition(".")[0].replace("_", " ")
    for criterion in CRITERIA:
        if criterion == wanted:
            return criterion
    raise ValueError(f"check id {id!r} begins with none of the criteria {', '.join(CRITERIA)}")


class ClaimFailed(AssertionError):
    """A claim does not hold; the text is the whole message, so no assertion introspection prints more."""


class Claims:
    """Collects what one check claims. Called at least once by every check, or the check is broken."""

    def __init__(self, said: list[Claim]) -> None:
        self._said = said

    def __call__(
        self,
        holds: bool,
        *,
        required: str,
        found: str,
        documents: Iterable[str] = (),
        decision: FailureDecision | None = None,
        change: str | None = None,
        advice: str | None = None,
        faults: Iterable[Fault] = (),
    ) -> None:
        """State a claim.

        Args:
            holds: a real bool, so that neither NaN nor an empty list can decide.
            required, found: what the criterion asks for and what was observed, for people.
            documents: the identifiers concerned when it does not hold.
            decision, change, advice: what is observed overrules what was declared.
            faults: what the catalogue knows of it. One that blocks is a claim that does not hold; the first of these
                says what it means and what to change, unless the arguments before do.

        Raises:
            ClaimFailed: the claim does not hold.
            TypeError: `holds` is no bool.
        """
        __tracebackhide__ = True
        if type(holds) is not bool:
            raise TypeError(f"a claim must be True or False, not {type(holds).__name__}")
        if isinstance(documents, str):
            raise TypeError("documents is a list of identifiers, and a text would be taken for its letters")
        named = [_wire(document) for document in documents]
        known = list(faults)
        first = next((fault for fault in known if fault.blocks), None)
        if first is not None:
            holds = False
            rests = first.lines[0] if first.lines and first.lines[0] not in found else None
            found = f"{found}. {first.id}: {first.cause}" + (f" ({rests})" if rests else "")
            decision, change = decision or first.decision, change or first.change
            advice = advice or f"{first.cause}. To confirm: {first.confirm}"
        self._said.append(
            Claim(
                holds=holds,
                required=_wire(required),
                found=_wire(found),
                documents=named,
                decision=decision,
                change=change,
                advice=advice,
                faults=known,
            )
        )
        if not holds:
            which = f" ({_some(named)})" if named else ""
            raise ClaimFailed(f"required {_wire(required)}; found {_wire(found)}{which}")

    def not_reached(self, step: str, why: str) -> NoReturn:
        """There is nothing yet to judge, because of an earlier step; never a pass."""
        raise NotReached(step, why)


@pytest.fixture
def claim(request: pytest.FixtureRequest) -> Claims:
    """States what a check claims, what was required and what was found."""
    return Claims(request.node.stash.setdefault(_CLAIMS, []))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the check said, and show a claim's own message instead of a traceback with values in it."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, (ClaimFailed, NotReached)):
        # it is not rendered: that takes longer than the check, and forty of them are not reached where torch is broken
        setattr(item, "repr_failure", lambda excinfo: str(error))  # noqa: B010, a method of pytest's, for this item alone
    report = yield
    if item.get_closest_marker("check") is None:
        return report
    said: dict[str, Any] = {"kind": None, "message": None, "step": None}
    if isinstance(error, NotReached):
        said.update(kind="not_reached", message=_wire(str(error)), step=_wire(error.step))
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, _shown(said["message"]))
    elif isinstance(error, ClaimFailed):
        said.update(kind="failed", message=_wire(str(error)))
        report.longrepr = _shown(said["message"])
    elif isinstance(error, pytest.skip.Exception):
        said.update(kind="not_run", message=_wire(str(error)))
    elif error is not None:
        said.update(kind="broken", message=_wire(_broken(error)))
        report.longrepr = _shown(said["message"])
    said["claims"] = [claim.model_dump(mode="json") for claim in item.stash.get(_CLAIMS, [])]
    setattr(report, SAID, json.dumps(said))
    return report


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "check(id, on_failure, change, step, scopes, needs): one claim of the pilot, see plugins/criteria.py",
    )


def _broken(error: BaseException) -> str:
    """A fault of the suite, placed; the last frame is enough to find it and shows no values."""
    if isinstance(error, Broken):
        return str(error)
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f" at {frame.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.tb_lineno}" if frame else ""
    if isinstance(error, AssertionError):  # pytest wrote into it what the names held, of the environment too
        return f"the suite broke: a plain assert, where a claim belongs, failed{where}"
    return f"the suite broke: {type(error).__name__}: {hide_values(str(error))}{where}"


def _wire(text: object) -> str:
    """Exactly `str`, and writable as UTF-8: neither a subclass nor half a surrogate survives the wire."""
    return str.__str__(str(text)).encode("utf-8", "backslashreplace").decode("utf-8")


def _shown(text: str) -> str:
    """For a terminal: what an application or an identifier says moves no cursor and turns no text around."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _some(values: list[str], most: int = 12) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more
