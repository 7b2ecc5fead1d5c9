"""plugins/schema/verdict.schema.json: what the model gives, with the keys of the design, and true of verdicts."""

from __future__ import annotations

import copy
import importlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.trial import write_json
from plugins.schema import FILE
from plugins.schema import NAMES
from plugins.schema import render
from plugins.verdict import decide
from plugins.verdict import Facts
from plugins.verdict_file import Changed
from plugins.verdict_file import DocumentCounts
from tests.verdict.making import claimed
from tests.verdict.making import facts
from tests.verdict.making import outcome
from tests.verdict.making import plan_of
from tests.verdict.making import with_outcome

ROOT = Path(__file__).resolve().parents[2]
#: the keys that ../shared/design.md requires
KEYS = {
    "schema", "trial", "continues", "scope", "decision", "reason", "first_error", "step_reached", "next_change",
    "conditions", "criteria", "documents", "factors", "changed", "advisories", "artefacts", "timing", "command",
}  # fmt: skip
CHECK_KEYS = {
    "id", "nodeid", "title", "status", "required", "found", "message", "decision", "carried_from", "evidence",
}  # fmt: skip
PARTS = {
    "FirstError": {"check", "criterion", "step", "message"},
    "NextChange": {"factor", "advice"},
    "CriterionResult": {"criterion", "status", "checks"},
    "CheckResult": CHECK_KEYS,
    "DocumentCounts": {"expected", "accepted", "rejected", "missing", "duplicated", "invented"},
    "Artefact": {"path", "sha256", "bytes"},
}
COUNTS = DocumentCounts(expected=2, accepted=["a"], rejected=["b"], missing=[], duplicated=[], invented=[])
VERDICTS: dict[str, Facts] = {
    "a go": facts(documents=COUNTS, timing={"start": 1.5}),
    "a failure": with_outcome(
        facts(changed=[Changed(factor="machine.driver", before=None, after="1")]),
        "results.file",
        outcome(plan_of("results.file"), "failed", claimed(False, documents=["doc-01"], decision="fix")),
    ),
    "an empty one": facts(plan=[]),
    "an interrupted one": facts(interruption="it was interrupted SIGTERM", continues="t0"),
}


def schema() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def problems(value: Any, of: dict[str, Any], whole: dict[str, Any], at: str = "$") -> list[str]:
    """Where `value` is not what the schema says; the keywords that ours uses, and an error for any other."""
    if "$ref" in of:
        return problems(value, whole["$defs"][of["$ref"].rpartition("/")[2]], whole, at)
    if "anyOf" in of:
        tried = [problems(value, one, whole, at) for one in of["anyOf"]]
        return [] if [] in tried else [f"{at}: none of {len(tried)}"]
    unknown = set(of) - {
        "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum", "default",
        "title", "description", "$defs", "$schema",
    }  # fmt: skip
    assert not unknown, f"the test does not know {unknown}"
    found = []
    kinds: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "null": type(None),
        "integer": int,
        "number": (int, float),
        "boolean": bool,
    }
    if "type" in of and (
        not isinstance(value, kinds[of["type"]]) or isinstance(value, bool) != (of["type"] == "boolean")
    ):
        return [f"{at}: no {of['type']}"]
    if "enum" in of and value not in of["enum"]:
        found.append(f"{at}: not in {of['enum']}")
    if "const" in of and value != of["const"]:
        found.append(f"{at}: not {of['const']}")
    if "minimum" in of and not value >= of["minimum"]:
        found.append(f"{at}: below {of['minimum']}")
    if isinstance(value, dict):
        named, others = of.get("properties", {}), of.get("additionalProperties", True)
        found += [f"{at}: no {key}" for key in of.get("required", []) if key not in value]
        for key, item in value.items():
            if key in named or isinstance(others, dict):
                found += problems(item, named.get(key, others), whole, f"{at}.{key}")
            elif others is False:
                found.append(f"{at}: {key} is unknown")
    if isinstance(value, list):
        found += [
            problem
            for n, item in enumerate(value)
            for problem in problems(item, of["items"], whole, f"{at}[{n}]")
        ]
    return found


def accepted(value: Any) -> bool:
    """By jsonschema where it is installed, and by the few lines above everywhere."""
    ours = not problems(value, schema(), schema())
    try:
        jsonschema: Any = importlib.import_module("jsonschema")
    except ImportError:
        return ours
    theirs = bool(jsonschema.Draft202012Validator(schema()).is_valid(value))
    assert ours == theirs
    return theirs


def written(name: str, folder: Path) -> Any:
    write_json(folder / "verdict.json", decide(VERDICTS[name]))
    return json.loads((folder / "verdict.json").read_text(encoding="utf-8"))


def test_the_committed_files_are_what_the_models_give() -> None:
    for name in NAMES:
        committed = FILE.with_name(name).read_text(encoding="utf-8")
        assert committed == render(name), "run: python -m plugins.schema"


def test_the_command_that_its_module_names_writes_the_same_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "plugins.schema", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == FILE.with_name(name).read_bytes()


def test_every_key_of_the_design_is_required() -> None:
    assert set(schema()["required"]) >= KEYS
    for part, keys in PARTS.items():
        assert set(schema()["$defs"][part]["required"]) >= keys, part


@pytest.mark.parametrize("name", VERDICTS)
def test_it_accepts_a_verdict_as_written(name: str, tmp_path: Path) -> None:
    assert accepted(written(name, tmp_path))


def test_the_schema_key_of_a_verdict_names_this_version(tmp_path: Path) -> None:
    assert written("a go", tmp_path)["schema"] == "gpu-pilot/verdict/1"


SPOILED: dict[str, tuple[str, Any]] = {
    "another version": ("schema", "gpu-pilot/verdict/2"),
    "an unknown decision": ("decision", "maybe"),
    "no list of conditions": ("conditions", None),
    "a number as text": ("exit_status", "0"),
    "a negative time": ("timing", {"start": -1}),
    "an unknown key": ("verdict", "go"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_it_refuses_a_verdict_with(case: str, tmp_path: Path) -> None:
    verdict = written("a go", tmp_path)
    key, value = SPOILED[case]
    assert not accepted({**verdict, key: value})


@pytest.mark.parametrize("key", sorted(KEYS))
def test_it_refuses_a_verdict_without(key: str, tmp_path: Path) -> None:
    verdict = written("a failure", tmp_path)
    del verdict[key]
    assert not accepted(verdict)


def test_it_refuses_a_check_of_an_unknown_status(tmp_path: Path) -> None:
    verdict = copy.deepcopy(written("a go", tmp_path))
    verdict["criteria"][0]["checks"][0]["status"] = "skipped"
    assert not accepted(verdict)


def test_a_time_that_is_no_number_is_never_written() -> None:
    with pytest.raises(ValueError, match=re.compile("finite|greater", re.IGNORECASE)):
        decide(facts(timing={"start": math.inf}))
