"""What the parameters say of an application: three kinds, and what each refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.base import InputError
from fixtures.evidence.base import validate
from fixtures.evidence.parameters import Parameters

COMMAND: dict[str, Any] = {"kind": "command", "command": ["{python}", "run.py", "{manifest}", "{results}"]}
FUNCTION: dict[str, Any] = {"kind": "callable", "callable": "classify:classify"}
SERVER: dict[str, Any] = {
    "kind": "server",
    "command": ["serve", "--port", "{port}"],
    "request": {"path": "/v1", "body": {"text": "{text}"}},
}

#: the healthy application, what is put into it, the place that is named, and words of what was wanted
REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (COMMAND, {"kind": "shell"}, "application.kind", "command, callable or server"),
    (COMMAND, {"command": ["run.py", "{manifest}"]}, "application.command", "{results}"),
    (COMMAND, {"command": ["run.py", "{manifest}", "{results}", "{port}"]}, "application.command", "not {port}"),
    (COMMAND, {"resume": ["{again}"]}, "application.resume", "not {again}"),
    (COMMAND, {"resume": []}, "application.resume", "at least 1"),
    (COMMAND, {"results": {"format": "xml"}}, "application.results.format", "'jsonl'"),
    (COMMAND, {"results": {"file": "../out.csv"}}, "application.results.file", "pattern"),
    (COMMAND, {"results": {"file": ".."}}, "application.results.file", "a file in the output folder"),
    (COMMAND, {"results": {"inside": "rows"}}, "application.results", "the format json alone"),
    (COMMAND, {"results": {"accepted": ["ok"], "rejected": ["no", "ok"]}}, "application.results", "'ok' for both"),
    (COMMAND, {"environment": {"A-B": "x"}}, "application.environment", "pattern"),
    (COMMAND, {"environment": {"MY_API_KEY": "x"}}, "application.environment.MY_API_KEY", "no secret"),
    (COMMAND, {"access": ["A B"]}, "application.access.0", "pattern"),
    (COMMAND, {"tolerated_share": 1}, "application.tolerated_share", "less than 1"),
    (COMMAND, {"detached": "nohup"}, "application.detached", "array"),
    (COMMAND, {"detached": ["sh", "-c", "{command}"]}, "application.detached", "without {command}"),
    (FUNCTION, {"callable": "classify"}, "application.callable", "pattern"),
    (FUNCTION, {"callable": "my-app:run"}, "application.callable", "pattern"),
    (FUNCTION, {"gives": "image"}, "application.gives", "'text'"),
    (FUNCTION, {"results": {"format": "csv"}}, "application.results", "only the keys"),
    (SERVER, {"command": ["serve"]}, "application.command", "{port}"),
    (SERVER, {"ready": "health"}, "application.ready", "pattern"),
    (SERVER, {"request": {"path": "/v1", "body": {"text": "no document"}}}, "application.request.body", "{text}"),
    (SERVER, {"request": {"path": "/v1", "body": "{txt}"}}, "application.request.body", "not {txt}"),
    (SERVER, {"request": {"path": "http://elsewhere/"}}, "application.request.path", "pattern"),
    (SERVER, {"request": {"path": "/v1", "headers": {"X Y": "z"}}}, "application.request.headers", "pattern"),
    (SERVER, {"request": {"path": "/v1", "bearer": "TOKEN"}}, "application", "under `access` too"),
    (SERVER, {"request": {"path": "/v1", "timeout_s": 200}}, "application", "no longer than `no_progress_s`"),
    (SERVER, {"answer": {"at": "choices..text"}}, "application.answer.at", "pattern"),
]  # fmt: skip

#: the same with what is as it should be
TAKEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (COMMAND, {}),
    (COMMAND, {"command": ["run.py", "{documents}", "{output}"]}),
    (COMMAND, {"resume": ["--resume", "{output}"]}),
    (COMMAND, {"results": {"format": "csv", "file": "out.csv", "accepted": ["ok", True], "rejected": ["no", 0]}}),
    (COMMAND, {"results": {"format": "json", "inside": "output.rows", "fields": {"status": None}}}),
    (COMMAND, {"results": {"accepted": [True], "rejected": ["true"]}}),
    (COMMAND, {"environment": {"TOKENIZERS_PARALLELISM": "false", "EMPTY": ""}, "access": ["HF_TOKEN"]}),
    (COMMAND, {"detached": ["systemd-run", "--user"], "tolerated_share": 0.25}),
    (FUNCTION, {"callable": "package.module:Class", "gives": "bytes", "batches": True}),
    (SERVER, {}),
    (SERVER, {"request": {"path": "/v1", "bearer": "TOKEN", "headers": {"X-Y": "z"}}, "access": ["TOKEN"]}),
    (SERVER, {"request": {"path": "/v1", "timeout_s": 200}, "no_progress_s": 300}),
    (SERVER, {"answer": {"at": "choices.0.text", "field": "category"}}),
]  # fmt: skip


def _read(application: dict[str, Any], changes: dict[str, Any], folder: Path) -> Parameters:
    from fixtures.evidence import parameters

    whole = {
        "documents": {"manifest": "documents/manifest.json", "expected": 12},
        "categories": ["invoice", "contract"],
        "application": {**application, **changes},
    }
    path = folder / "pilot.json"
    path.write_text(json.dumps(whole))
    return parameters.read(path)


@pytest.mark.parametrize(("application", "changes", "place", "wanted"), REFUSED)
def test_an_application_that_cannot_be_is_refused_by_its_place(
    application: dict[str, Any], changes: dict[str, Any], place: str, wanted: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        _read(application, changes, tmp_path)
    assert refused.value.place.startswith(place), str(refused.value)
    assert wanted in refused.value.wanted, str(refused.value)


@pytest.mark.parametrize(("application", "changes"), TAKEN)
def test_an_application_that_can_be_is_taken(
    application: dict[str, Any], changes: dict[str, Any], tmp_path: Path
) -> None:
    assert _read(application, changes, tmp_path).application.kind == application["kind"]


def test_what_is_written_again_is_read_again_the_same(tmp_path: Path) -> None:
    for application, changes in TAKEN:
        parameters = _read(application, changes, tmp_path)
        assert validate("again", parameters.model_dump_json(), Parameters) == parameters
