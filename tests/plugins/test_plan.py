"""The plan: every check with what it stands on, taken from its own signature."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.models import Card
from fixtures.evidence.models import Inventory
from fixtures.evidence.models import STEPS
from fixtures.evidence.parameters import Planned
from fixtures.evidence.parameters import ResultsFile
from plugins import plan
from plugins.criteria import check
from plugins.plan import Planner
from plugins.verdict import NEEDED
from tests.evidence import making
from tests.plugins.making import inventory

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[..., pytest.Function]


@pytest.fixture
def item(request: pytest.FixtureRequest) -> Make:
    """Makes a collected test of a function, without running it."""

    def make(
        function: Callable[..., object], parameter: str = "", name: str = "test_it_holds"
    ) -> pytest.Function:
        made: pytest.Function = pytest.Function.from_parent(
            request.node.parent, name=name + parameter, originalname=name, callobj=function
        )
        return made

    return make


def checked(function: Callable[..., object], id: str = "results.file", **more: Any) -> Callable[..., object]:
    function.__name__ = "test_it_holds"  # pytest marks no lambda
    return check(id, **{"on_failure": "fix", "change": "x", **more})(function)


SIGNATURES: list[tuple[Callable[..., object], list[str]]] = [
    (lambda claim: None, []),
    (lambda launch, claim: None, ["launch"]),
    (lambda account, claim: None, ["documents", "application"]),
    (lambda account, application, claim: None, ["documents", "application"]),
    (lambda copy, seal, claim: None, ["copy"]),
    (lambda seal, claim: None, ["copy"]),
    (lambda trial, parameters, order, device, claim: None, []),
    (
        lambda copy, account, launch, inventory, claim: None,
        ["inventory", "launch", "documents", "application", "copy"],
    ),
]


@pytest.mark.parametrize(("function", "evidence"), SIGNATURES)
def test_a_check_stands_on_what_its_signature_names(
    function: Callable[..., object], evidence: list[str], item: Make
) -> None:
    planner = Planner(scope="rental", devices=["cuda-0"], file=None)
    planner.pytest_collection_modifyitems([item(checked(function))])
    assert planner.checks[0].evidence == evidence


def test_a_check_is_planned_as_it_was_declared(item: Make) -> None:
    declared = checked(
        lambda launch: None, "launch.compute", on_failure="reconfigure", change="the card", step="compute"
    )
    planner = Planner(scope="rental", devices=["cuda-0"], file=None)
    collected = item(declared, "[cuda-0]", name="test_it_agrees_on")
    planner.pytest_collection_modifyitems([collected])
    (planned,) = planner.checks
    assert (planned.id, planned.title) == ("launch.compute[cuda-0]", "it agrees on [cuda-0]")
    assert planned.nodeid == collected.nodeid
    assert (planned.criterion, planned.step, planned.on_failure, planned.change) == (
        "launch", "compute", "reconfigure", "the card",
    )  # fmt: skip


def test_checks_of_another_scope_are_left_out_and_the_rest_sorted_by_criterion(item: Make) -> None:
    items: list[pytest.Item] = [
        item(checked(lambda: None, id, scopes=scopes))
        for id, scopes in (
            ("end_of_trial.x", ("rental", "rehearsal")), ("launch.x", ("rental",)), ("inputs.x", ("rehearsal",)),
            ("launch.y", ("rental", "rehearsal")),
        )
    ]  # fmt: skip
    for scope, ids in (
        ("rental", ["launch.x", "launch.y", "end_of_trial.x"]),
        ("rehearsal", ["launch.y", "inputs.x", "end_of_trial.x"]),
    ):
        planner = Planner(scope=scope, devices=[], file=None)  # type: ignore[arg-type]
        left = list(items)
        planner.pytest_collection_modifyitems(left)
        assert [one.id for one in planner.checks] == ids
        assert len(left) == len(ids)


#: what a check needs, what was asked for (None: nobody knows yet), and whether the check is in the plan
NEEDS = [
    (None, frozenset(), True),
    ("planned", frozenset({"planned", "repeated"}), True),
    ("planned", frozenset({"repeated"}), False),
    ("repeated", frozenset(), False),
    ("detached", None, True),
]


@pytest.mark.parametrize(("needs", "asked", "planned"), NEEDS)
def test_a_check_is_planned_where_what_it_needs_was_asked_for(
    needs: str | None, asked: frozenset[str] | None, planned: bool, item: Make
) -> None:
    planner = Planner(scope="rental", devices=[], file=None, asked=asked)
    left: list[pytest.Item] = [item(checked(lambda: None, needs=needs))]
    planner.pytest_collection_modifyitems(left)
    assert (len(planner.checks), len(left)) == (int(planned), int(planned))


#: what the parameters say, whether the application is run once only, and what checks may need of that
ASKED: list[tuple[dict[str, Any], bool, set[str]]] = [
    ({}, False, {"repeated", "kept"}),
    ({}, True, set()),
    ({"application": {"results": ResultsFile(format="csv")}}, False, {"repeated", "kept"}),
    ({"application": {"results": ResultsFile(format="json")}}, False, {"repeated"}),
    ({"planned": {"documents": 9, "longest_bytes": 9}}, True, {"planned"}),
    (
        {"application": {"detached": ["setsid"], "access": ["A"]}},
        False,
        {"repeated", "kept", "detached", "access"},
    ),
    ({"application": {"detached": ["setsid"], "access": ["A"]}}, True, {"access"}),
]


@pytest.mark.parametrize(("parameters", "once", "wanted"), ASKED)
def test_what_is_asked_for_is_read_from_the_trial(
    parameters: dict[str, Any], once: bool, wanted: set[str], tmp_path: Path
) -> None:
    record = making.record("t", tmp_path)
    own = record.parameters
    application = own.application.model_copy(update=parameters.get("application", {}))
    planned = Planned.model_validate(parameters["planned"]) if "planned" in parameters else None
    changed = own.model_copy(update={"application": application, "planned": planned})
    for expects in (True, False):
        given = record.model_copy(update={"parameters": changed, "once": once, "expects": expects})
        assert plan.asked(given) == wanted | ({"expected"} if expects else set())


UNSAFE = ["[Card0]", "[card 0]", "[../x]", "[]", "[card0\n]", "[é]", "[a/b]", "[<b>]", "[card0::x]"]


@pytest.mark.parametrize("parameter", UNSAFE)
def test_an_unsafe_parameter_is_refused(parameter: str, item: Make) -> None:
    planner = Planner(scope="rental", devices=[], file=None)
    with pytest.raises(pytest.UsageError, match="found the parameter"):
        planner.pytest_collection_modifyitems([item(checked(lambda: None), parameter)])


@pytest.mark.parametrize("parameter", ["[cuda-0]", "[gpu0-gpu1]", "[bf16]", "[a_b.c]", ""])
def test_a_safe_parameter_is_taken(parameter: str, item: Make) -> None:
    planner = Planner(scope="rental", devices=[], file=None)
    planner.pytest_collection_modifyitems([item(checked(lambda: None), parameter)])
    assert planner.checks[0].id == "results.file" + parameter


def test_a_test_without_a_check_is_refused(item: Make) -> None:
    planner = Planner(scope="rental", devices=[], file=None)
    with pytest.raises(pytest.UsageError, match="found a test without @check"):
        planner.pytest_collection_modifyitems([item(lambda: None)])


def test_the_plan_is_written_once_and_read_again(tmp_path: Path, item: Make) -> None:
    file = tmp_path / store.PLAN
    first = Planner(scope="rental", devices=[], file=file)
    first.pytest_collection_modifyitems([item(checked(lambda: None))])
    assert plan.read(tmp_path) == first.checks
    Planner(scope="rental", devices=[], file=file).pytest_collection_modifyitems([])
    assert plan.read(tmp_path) == first.checks


def test_without_a_plan_nothing_was_planned_and_a_torn_one_is_an_error(tmp_path: Path) -> None:
    assert plan.read(tmp_path) == []
    (tmp_path / store.PLAN).write_text('{"checks": [')
    with pytest.raises(InputError):
        plan.read(tmp_path)


NVIDIA, AMD = ("nvidia", "NVIDIA H200"), ("amd", "AMD Instinct MI300X")
DEVICES: list[tuple[Inventory, str, list[str]]] = [
    (inventory(), "cpu", ["cpu"]),
    (inventory(NVIDIA), "cpu", ["cpu"]),
    (inventory(NVIDIA), "cuda", ["cuda-0"]),
    (inventory(NVIDIA, NVIDIA), "cuda", ["cuda-0", "cuda-1"]),
    (inventory(AMD, AMD), "rocm", ["rocm-0", "rocm-1"]),
    (inventory(AMD, NVIDIA), "cuda", ["cuda-0"]),
    (inventory(AMD), "cuda", ["cuda-0"]),
    (inventory(AMD), "auto", ["rocm-0"]),
    (inventory(), "cuda", ["cuda-0"]),
    (inventory(), "auto", ["cuda-0"]),
    (inventory(NVIDIA, AMD), "auto", ["cuda-0", "cuda-1"]),
]


@pytest.mark.parametrize(("seen", "device", "parameters"), DEVICES)
def test_there_is_a_parameter_for_each_card_and_never_none(
    seen: Inventory, device: str, parameters: list[str]
) -> None:
    assert plan.devices(seen, device) == parameters


def test_a_card_that_a_witness_cannot_name_counts() -> None:
    bare = Card(
        index=0, vendor="nvidia", name=None, uuid=None, pci="0000:01:00.0", memory_bytes=None, source="pci"
    )
    assert plan.devices(inventory().model_copy(update={"cards": [bare]}), "cuda") == ["cuda-0"]


# -- the suite that is delivered ---------------------------------------------------------------------------


def functions() -> Iterator[Callable[..., object]]:
    for path in sorted((ROOT / "suites" / "gpu").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"suite_{path.stem}", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from (value for name, value in vars(module).items() if name.startswith("test_"))


@pytest.fixture
def delivered(item: Make) -> Planner:
    planner = Planner(scope="rental", devices=["cuda-0"], file=None)
    planner.pytest_collection_modifyitems([item(one, name=one.__name__) for one in functions()])
    return planner


def test_the_delivered_suite_covers_every_needed_criterion(delivered: Planner) -> None:
    assert {one.criterion for one in delivered.checks} >= set(NEEDED)


def test_every_delivered_check_has_an_id_of_its_own_a_change_and_a_known_rung(delivered: Planner) -> None:
    ids = [one.id for one in delivered.checks]
    assert len(set(ids)) == len(ids)
    assert all(one.change for one in delivered.checks)
    assert {one.step for one in delivered.checks} <= {None, *STEPS}
    assert {one.criterion for one in delivered.checks if one.step} == {"launch"}


def test_every_delivered_check_stands_on_evidence(delivered: Planner) -> None:
    assert [one.id for one in delivered.checks if not one.evidence] == []
