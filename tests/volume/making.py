"""Small volumes, written as renters write them, and what the pilot's own checks say about them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures import results
from fixtures.evidence import account as accounts
from fixtures.evidence import exhaustion
from fixtures.evidence.models import ManifestEntry
from fixtures.evidence.parameters import Parameters
from fixtures.evidence.trial import NotReached
from plugins.criteria import ClaimFailed
from plugins.criteria import Claims
from suites.gpu import test_end_of_trial
from suites.gpu import test_failures
from suites.gpu import test_results

CATEGORIES = ["invoice", "contract", "resume"]
#: the pilot's checks that the volume is held against, in their order
CHECKS: dict[str, Any] = {
    "results.well_formed": test_results.test_every_line_is_one_json_object,
    "results.records": test_results.test_every_record_has_an_identifier_and_a_status,
    "results.no_invented_identifier": test_results.test_no_identifier_is_invented,
    "results.no_identifier_twice": test_results.test_no_identifier_occurs_twice,
    "results.allowed_category": test_results.test_every_accepted_document_has_one_allowed_category,
    "results.expected_category": test_results.test_the_categories_are_the_expected_ones,
    "failures.reason": test_failures.test_every_rejected_document_has_a_reason_that_says_something,
    "failures.invalid_rejected": test_failures.test_every_document_reserved_as_invalid_was_rejected,
    "failures.valid_accepted": test_failures.test_every_valid_document_was_accepted,
    "failures.none_missing": test_failures.test_no_document_of_the_manifest_is_missing_from_the_results,
    "end_of_trial.accounted": test_end_of_trial.test_accepted_and_rejected_add_up_to_the_expected_number,
}


def entry(id: str, valid: bool = True, category: str | None = None) -> dict[str, Any]:
    more = {} if category is None else {"category": category}
    return {"id": id, "file": f"{id}.txt", "sha256": "0" * 64, "bytes": 9, "valid": valid, **more}


def parameters(expected: int = 12, **asked: Any) -> Parameters:
    return Parameters.model_validate(
        {
            "documents": {"expected": max(2, expected)},
            "categories": CATEGORIES,
            "application": {
                "kind": "command",
                "command": ["{python}", "app.py", "{manifest}", "{results}"],
                "results": asked,
            },
        }
    )


def written(records: list[dict[str, Any]], format: str, **how: Any) -> bytes:
    """The records in a format; `fields` are the columns of CSV."""
    if format == "jsonl":
        return "".join(json.dumps(record, **how) + "\n" for record in records).encode()
    if format == "json":
        return json.dumps(records, **how).encode()
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(
        stream,
        ["id", "status", "category", "reason"],
        restval="",
        delimiter="," if format == "csv" else "\t",
        **how,
    )
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue().encode()


def by_the_pilot(
    manifest: list[dict[str, Any]], data: bytes, asked: Parameters
) -> tuple[dict[str, tuple[bool | None, list[str]]], dict[str, int]]:
    """What each check says, None where it is not reached, and the documents that it names; and the counts."""
    lines, left_out = results.split(data, asked.application.results_file)
    account = accounts.take([ManifestEntry.model_validate(one) for one in manifest], lines)
    given = {
        "application": SimpleNamespace(results=SimpleNamespace(lines=lines, lines_left_out=left_out)),
        "account": account,
        "parameters": SimpleNamespace(
            application=asked.application,
            categories=asked.categories,
            documents=SimpleNamespace(expected=len(manifest)),
        ),
    }
    with pytest.MonkeyPatch.context() as patch:  # why a run was short of memory is no matter of its results
        patch.setattr(exhaustion, "of", lambda *_: None)
        said = {id: _said(check, given) for id, check in CHECKS.items()}
    counted = ("expected", "accepted", "rejected", "missing", "duplicated", "invented")
    return said, {name: len(getattr(account, name)) for name in counted}


def _said(check: Any, given: dict[str, Any]) -> tuple[bool | None, list[str]]:
    names = check.__code__.co_varnames[: check.__code__.co_argcount]
    said: list[Any] = []
    try:
        check(*(Claims(said) if name == "claim" else given[name] for name in names))
    except NotReached:
        return None, []
    except ClaimFailed:
        pass
    return said[-1].holds, list(said[-1].documents)


def on_disk(folder: Path, manifest: Any, data: bytes) -> tuple[Path, Path]:
    """The results and the manifest as files."""
    paths = folder / "results", folder / "manifest.json"
    paths[0].write_bytes(data)
    paths[1].write_text(json.dumps({"documents": manifest}), encoding="utf-8")
    return paths
