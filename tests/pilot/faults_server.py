"""Faults of the kind `server`: a program that is asked over HTTP, one request a document."""

from __future__ import annotations

from typing import Any

from tests.pilot.bench import APP
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import Fault
from tests.pilot.entries import Twin

SERVER = APP.with_name("app_server.py")
CRASH, ENDED, ACCEPTED = "results.no_crash", "results.ended_by_itself", "failures.valid_accepted"
CHAT: dict[str, Any] = {
    "request": {
        "path": "/v1/chat/completions",
        "body": {"messages": [{"role": "user", "content": "One of {categories}: {text}"}]},
        "timeout_s": 2,
    },
    "answer": {"at": "choices.0.message.content"},
}
#: without a body the document is sent as it is, and the server says what is no text
PLAIN: dict[str, Any] = {"request": {"path": "/classify", "timeout_s": 2}, "answer": CHAT["answer"]}


def serves(behaviour: str, asked: dict[str, Any] = CHAT, **more: Any) -> Change:
    """The application is app_server.py, which behaves so at the fifth document."""

    def change(bench: Bench) -> None:
        own = {
            key: bench.parameters["application"][key] for key in ("deadline_s", "no_progress_s", "batch_size")
        }
        command = ["{python}", str(SERVER), behaviour, "{port}"]
        bench.parameters["application"] = {"kind": "server", **own, "command": command, **asked, **more}

    return change


def _the_rest_goes_on(bench: Bench, run: Run) -> None:
    assert run.decided.documents is not None
    assert {"doc-04", "doc-06", "doc-11"} <= set(run.decided.documents.accepted)


def _beside(bench: Bench) -> None:
    serves("writes_beside")(bench)
    bench.parameters["application"]["command"].append(str(bench.documents / "cache.bin"))


FAULTS = [
    Fault("a-server-fails-at-one", serves("fails"), CRASH, ("doc-05", "HTTP 500", "CUDA out of memory"), ("doc-05",),
        others=(ACCEPTED,), twin="a-server", look=_the_rest_goes_on),
    Fault("a-server-refuses-a-valid-one", serves("refuses"), ACCEPTED,
        ("HTTP 400: longer than the context of 2048 tokens",), ("doc-05",), twin="a-server"),
    Fault("a-server-dies", serves("dies"), CRASH, ("doc-05", "SIGKILL"), ("doc-05",), others=(ACCEPTED,),
        twin="a-server"),
    Fault("a-server-is-slow", serves("is_slow"), CRASH, ("doc-05", "2 s"), ("doc-05",), twin="a-server",
        look=_the_rest_goes_on),
    Fault("a-server-cuts-the-connection", serves("cuts"), CRASH, ("doc-05",), ("doc-05",), twin="a-server",
        look=_the_rest_goes_on),
    Fault("a-server-mumbles", serves("mumbles"), ACCEPTED, ("the answer is no category", "I think that"), ("doc-05",),
        twin="a-server"),
    Fault("a-server-leaves-a-child", serves("leaves_a_child"), "results.nothing_left_behind", ("time.sleep(120)",),
        twin="a-server"),
    Fault("a-server-writes-beside", _beside, "results.nothing_beside", ("cache.bin appeared",), twin="a-server"),
    Fault("a-server-is-never-ready", serves("never_ready", ready_s=1), ENDED, ("ready", "503"), twin="a-server"),
    Fault("a-server-dies-at-its-start", serves("dies_at_start"), ENDED, ("exit 1",), twin="a-server"),
]  # fmt: skip

TWINS = [
    Twin("a-server", serves("healthy")),
    Twin("a-server-that-is-sent-the-documents-as-they-are", serves("healthy", PLAIN)),
]  # fmt: skip
