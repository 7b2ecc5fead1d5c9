"""verdict.json: the machine-readable verdict. Its JSON Schema is kept in plugins/schema/."""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from pydantic import ConfigDict
from pydantic import Field

from fixtures.evidence.base import Model
from fixtures.evidence.trial import Scope

Decision = Literal["go", "fix", "reconfigure", "undecided"]
FailureDecision = Literal["fix", "reconfigure"]
Status = Literal["passed", "failed", "not_reached", "not_run", "broken"]
#: failed: it failed, and a pass with nothing changed is flaky. flaky: it was that, and has to pass once more.
Pending = Literal["failed", "flaky"]
Criterion = Literal["launch", "inputs", "results", "failures", "memory", "training", "end of trial"]

#: the pilot's table, in the order in which the first error is looked for
CRITERIA: tuple[Criterion, ...] = (
    "launch", "inputs", "results", "failures", "memory", "training", "end of trial",
)  # fmt: skip


class Fault(Model):
    """An entry of the catalogue that what was recorded matches, and the lines on which that rests.

    `decision` and `change` are those for the place where it was seen. One that does not block is an advisory.
    """

    id: str
    step: str
    cause: str
    decision: FailureDecision
    change: str
    confirm: str
    source: str
    blocks: bool
    lines: list[str]


class CheckResult(Model):
    """One check. `required` and `found` are what its claims said; `decision` is what its failure means.

    `flaky`: it failed in the trial before and passed in this one, though no factor had changed. `pending` is what is
    still held against it in the trial that continues this one.
    """

    id: str
    nodeid: str
    title: str
    status: Status
    required: str | None
    found: str | None
    message: str | None
    documents: list[str]
    decision: FailureDecision | None
    carried_from: str | None
    evidence: list[str]
    seconds: float
    flaky: bool = False
    pending: Pending | None = None
    faults: list[Fault] = Field(default_factory=list)


class CriterionResult(Model):
    criterion: Criterion
    status: Status
    checks: list[CheckResult]


class FirstError(Model):
    check: str
    criterion: Criterion
    step: str | None
    message: str


class NextChange(Model):
    factor: str
    advice: str


class DocumentCounts(Model):
    """Over identifiers, never lines."""

    expected: int
    accepted: list[str]
    rejected: list[str]
    missing: list[str]
    duplicated: list[str]
    invented: list[str]


class Changed(Model):
    factor: str
    before: str | None
    after: str | None


class Remade(Model):
    """Evidence that the trial before held, and that was made again, with the reason."""

    evidence: str
    why: str


class Artefact(Model):
    path: str
    sha256: str
    bytes: int


class Commands(Model):
    repeat: str
    rerun: str | None


class Verdict(Model):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    schema_: Literal["gpu-pilot/verdict/1"] = Field(default="gpu-pilot/verdict/1", alias="schema")
    trial: str
    continues: str | None
    scope: Scope
    decision: Decision
    exit_status: int
    reason: str
    first_error: FirstError | None
    step_reached: str | None
    next_change: NextChange | None
    conditions: list[str]
    criteria: list[CriterionResult]
    documents: DocumentCounts | None
    factors: dict[str, str]
    changed: list[Changed]
    remade: list[Remade] = Field(default_factory=list)
    advisories: list[str]
    artefacts: list[Artefact]
    timing: dict[str, Annotated[float, Field(ge=0)]]
    command: Commands

    def checks(self) -> list[CheckResult]:
        """Every check, in the order of the criteria."""
        return [check for criterion in self.criteria for check in criterion.checks]


def schema() -> dict[str, object]:
    """The JSON Schema of verdict.json (of what is written, so with every key required)."""
    return Verdict.model_json_schema(mode="serialization")
