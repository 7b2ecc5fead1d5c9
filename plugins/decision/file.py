"""decision.json: a person's decision beside the machine's. Its JSON Schema is kept in plugins/schema/."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from typing import Literal

from pydantic import ConfigDict
from pydantic import Field

from fixtures.evidence.base import Model
from fixtures.evidence.names import ADDED_LATER
from fixtures.evidence.names import REREAD
from fixtures.evidence.order import Order
from fixtures.evidence.trial import Scope
from plugins.verdict_file import Artefact
from plugins.verdict_file import Criterion
from plugins.verdict_file import Decision
from plugins.verdict_file import DocumentCounts
from plugins.verdict_file import FirstError
from plugins.verdict_file import Status

PersonsDecision = Literal["go", "fix", "reconfigure"]
Sum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

#: how near to launching: a person may be less optimistic than the machine, and needs an override to be more. Where
#: the machine decided nothing, only a go is more than was established.
_OPTIMISM: dict[Decision, int] = {"reconfigure": 0, "fix": 1, "undecided": 1, "go": 2}


def more_optimistic(decision: PersonsDecision, verdict: Decision) -> bool:
    """Whether a person's decision needs an override."""
    return _OPTIMISM[decision] > _OPTIMISM[verdict]


class Machine(Model):
    """The verdict that the decision stands beside."""

    decision: Decision
    reason: str


class CriterionCount(Model):
    """A row of the pilot's table; `open` are the checks that did not pass, each with its status."""

    criterion: Criterion
    status: Status
    passed: int
    checks: int
    open: dict[str, Status]


class Decided(Model):
    """`number` and `before` are those of its line in decisions.jsonl; `sums` are those of what was decided on.

    `override` says that the decision is more optimistic than the verdict; `replaces` is the sum of the decision on the
    same trial that stood before this one.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    schema_: Literal["gpu-pilot/decision/1"] = Field(default="gpu-pilot/decision/1", alias="schema")
    trial: str
    scope: Scope
    decision: PersonsDecision
    override: bool
    reason: str
    by: str | None
    when: str
    machine: Machine
    first_error: FirstError | None
    conditions: list[str]
    criteria: list[CriterionCount]
    order: Order
    documents: DocumentCounts | None
    sums: list[Artefact]
    number: Annotated[int, Field(ge=1)]
    before: Sum
    replaces: Sum | None


def decisions(folder: Path) -> list[str]:
    """The files of all decisions on the trial in `folder`, earlier ones too."""
    return sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name != REREAD and ADDED_LATER.fullmatch(entry.name) and entry.is_file()
    )


def schema() -> dict[str, object]:
    """The JSON Schema of decision.json (of what is written, so with every key required)."""
    return Decided.model_json_schema(mode="serialization")
