"""The client of the `server` kind: whatever the server does, each document gets one record, and nothing hangs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fixtures.asking import server as servers
from fixtures.asking.exchange import BadHeader
from fixtures.asking.exchange import headers
from tests.kinds.asking import Asked
from tests.kinds.asking import CHAT
from tests.kinds.asking import Table
from tests.pilot.bench import CATEGORIES
from tests.session.processes import until

#: what the server does with a document -> (its rejection's reason, whether that is a crash)
FAULTS: dict[str, tuple[str, bool]] = {
    "fails": ("HTTP 500: CUDA out of memory", True),
    "refuses": ("HTTP 422: body.text: too long", False),
    "full": ("HTTP 429: Model is overloaded (Retry-After: 7; not asked again)", False),
    "loading": ("HTTP 503: Loading model (Retry-After: 5; not asked again)", False),
    "broken": ("HTTP 503: <html>Bad Gateway</html>", True),
    "slow": ("no whole answer within 1 s (timeout)", True),
    "drips": ("no whole answer within 1 s (timeout)", True),
    "cuts": ("the connection was cut before an answer", True),
    "breaks_off": ("the connection was cut in the middle of the answer", True),
    "mumbles": (r"the answer is not HTTP: .*", True),
    "floods": ("the answer is larger than 16 MiB", True),
    "redirects": (r"HTTP 307: a redirect to http://localhost:\d+/v1/chat/completions, and none is followed", False),
    "invents": (r"the answer is no category: 'Sure! This is a letter of complaint\.( It is\.)+ I…'", False),
    "pages": (
        "the answer has no choices.0.message.content, for it is no JSON: '<!doctype html><title>Welcome</title>'",
        False,
    ),
    "stops_short": (
        "the answer is no category: 'The category of this docu' (cut off: finish_reason 'length')", False,
    ),
    "thinks": ("the answer is null (cut off: finish_reason 'length')", False),
}  # fmt: skip


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """One run over every fault, a healthy document between each two; and somebody to whom a redirect would lead."""
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        documents: dict[str, bytes] = {}
        for number, word in enumerate(FAULTS):
            documents[word] = f"{word} invoice".encode()
            documents[f"beside-{word}"] = f"healthy {CATEGORIES[number % 5]}".encode()
        documents["latin-1"] = b"healthy contract, signed in K\xf6ln"
        mode = f"elsewhere={elsewhere.getsockname()[1]}"
        asked = Table(
            tmp_path_factory.mktemp("faulty"), documents, mode, {"timeout_s": 1}, more={"batch_size": 4}
        ).run()
        elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    return asked


@pytest.mark.parametrize("word", FAULTS)
def test_a_fault_is_a_rejection_with_its_reason_and_a_crash_only_where_the_server_broke_down(
    faulty: Asked, word: str
) -> None:
    reason, crashed = FAULTS[word]
    record = faulty.records[word]
    assert record["status"] == "rejected"
    assert reason == record["reason"] or re.fullmatch(reason, record["reason"]), record["reason"]
    assert faulty.crashes().get(word) == (record["reason"] if crashed else None)


@pytest.mark.parametrize(("number", "word"), list(enumerate(FAULTS)))
def test_the_documents_beside_a_fault_are_classified(faulty: Asked, number: int, word: str) -> None:
    name = f"beside-{word}"
    assert faulty.records[name] == {"id": name, "status": "accepted", "category": CATEGORIES[number % 5]}


def test_each_document_has_one_record_and_one_question_whatever_happened(faulty: Asked) -> None:
    assert faulty.status == 0, faulty.stderr
    assert faulty.lines == len(faulty.records) == 2 * len(FAULTS) + 1
    assert len(faulty.log) == 2 * len(FAULTS)
    assert sorted(faulty.begun()) == sorted(name for name in faulty.records if name != "latin-1")


def test_what_is_no_utf8_is_rejected_without_a_question(faulty: Asked) -> None:
    reason = "not valid UTF-8 at byte 29"
    assert faulty.records["latin-1"] == {"id": "latin-1", "status": "rejected", "reason": reason}


# -- shapes of requests and answers ------------------------------------------------------------------------

JSON = {"content-type": "application/json"}
SHAPES = {
    "chat": (CHAT, {"at": "choices.0.message.content", "field": None}, "healthy", JSON),
    "completion": (
        {"path": "/v1/completions", "body": {"model": "m", "prompt": "Text: {text}\nOne of {categories}:"}},
        {"at": "choices.0.text", "field": None}, "healthy", JSON,
    ),
    "schema": (
        {**CHAT, "body": {**CHAT["body"], "response_format": {"enum": "{categories}"}}},  # type: ignore[dict-item]
        {"at": "choices.0.message.content", "field": "category"}, "schema", JSON,
    ),
    "plain": ({"path": "/classify", "body": None}, {"at": None, "field": None}, "healthy",
              {"content-type": "text/plain; charset=utf-8"}),
    "own-type": ({"path": "/classify", "body": None, "headers": {"Content-Type": "text/markdown"}},
                 {"at": None, "field": None}, "healthy", {"content-type": "text/markdown"}),
    "encoded": ({"path": "/encoded", "body": {"data": "{base64}", "name": "{id}"}},
                {"at": None, "field": None}, "healthy", JSON),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_document_is_sent_and_a_category_read_in_the_shape_that_was_asked_for(
    tmp_path: Path, shape: str
) -> None:
    request, answer, word, sent = SHAPES[shape]
    text = f"{word} medical_report {{id}} {{categories}}".encode()  # braces in a document stay
    asked = Table(tmp_path, {"doc-01": text}, request=request, answer=answer).run()
    assert asked.records == {"doc-01": {"id": "doc-01", "status": "accepted", "category": "medical_report"}}
    (question,) = asked.log
    seen = {name.lower(): value for name, value in question["headers"].items()}
    assert {name: seen[name] for name in sent} == sent
    assert question["path"] == request["path"]
    if shape == "schema":
        body = json.loads(question["body"])
        assert body["messages"][-1]["content"] == text.decode()
        assert body["response_format"]["enum"] == CATEGORIES
    if shape == "completion":
        assert f"One of {', '.join(CATEGORIES)}:" in json.loads(question["body"])["prompt"]


def test_bytes_that_are_no_text_are_sent_as_they_are_where_bytes_are_sent(tmp_path: Path) -> None:
    plain = {"path": "/classify", "body": None}
    asked = Table(
        tmp_path, {"doc-01": b"healthy resume \xff"}, request=plain, answer={"at": None, "field": None}
    ).run()
    assert asked.records["doc-01"].get("category") == "resume"
    assert asked.log[0]["headers"]["content-type"] == "application/octet-stream"


def test_an_answer_without_an_end_is_cut_off_at_sixteen_mebibytes(tmp_path: Path) -> None:
    asked = Table(tmp_path, {"a": b"pours invoice", "b": b"healthy resume"}).run()
    assert asked.crashes() == {"a": "the answer is larger than 16 MiB"}
    assert asked.records["b"]["status"] == "accepted"


def test_as_many_questions_as_asked_for_are_under_way_at_once(tmp_path: Path) -> None:
    documents = {f"doc-{n:02}": b"together invoice" for n in range(12)}
    asked = Table(tmp_path, documents, more={"batch_size": 4}).run()
    assert [record["status"] for record in asked.records.values()] == ["accepted"] * 12
    assert max(question["under_way"] for question in asked.log) == 4


def test_the_token_is_sent_and_never_shown(tmp_path: Path) -> None:
    request = {"bearer": "MY_TOKEN", "headers": {"X-Team": "pilot-header", "x.of~a+token": "as it is"}}
    table = Table(
        tmp_path, {"doc-01": b"healthy resume"}, request=request, environment={"MY_TOKEN": "s3cr3t-word"}
    )
    asked = table.run()
    assert asked.records["doc-01"].get("category") == "resume", asked
    assert asked.log[0]["headers"]["authorization"] == "Bearer s3cr3t-word"
    assert asked.log[0]["headers"]["x-team"] == "pilot-header"
    assert asked.log[0]["headers"]["x.of~a+token"] == "as it is"  # the configuration lets it through
    left = [
        asked.stderr,
        *((tmp_path / name).read_text() for name in ("results.jsonl", "told.jsonl", "request.json")),
    ]
    assert not any("s3cr3t-word" in text for text in left)
    assert "pilot-header" not in asked.stderr


@pytest.mark.parametrize(
    ("given", "bearer", "says"),
    [
        ({}, "MISSING", "the environment variable MISSING is not set"),
        ({}, "BROKEN", "the value of BROKEN (not shown) has a line break"),
        ({"X-Key": "a\r\nb"}, None, "the value of request.headers.X-Key (not shown) has a line break"),
    ],
)
def test_a_header_that_cannot_be_sent_is_named_without_its_value(
    given: dict[str, str], bearer: str | None, says: str
) -> None:
    with pytest.raises(BadHeader, match=re.escape(says)) as caught:
        headers(given, bearer, {"BROKEN": "hidden-word\n"})
    assert "hidden-word" not in str(caught.value)


# -- the life of the server --------------------------------------------------------------------------------


def test_the_server_that_dies_is_named_and_the_rest_goes_on_with_a_new_one(tmp_path: Path) -> None:
    documents = {"a": b"healthy invoice", "b": b"dies invoice", "c": b"healthy resume", "d": b"exits invoice",
                 "e": b"healthy contract"}  # fmt: skip
    asked = Table(tmp_path, documents).run()
    assert asked.status == 0, asked.stderr
    assert asked.crashes() == {"b": "the server died of SIGKILL", "d": "the server died with exit status 3"}
    assert {name: record.get("category", record.get("reason")) for name, record in asked.records.items()} == {
        "a": "invoice", "c": "resume", "e": "contract", **asked.crashes(),
    }  # fmt: skip
    assert len({question["pid"] for question in asked.log}) == 3
    assert "the server died of SIGKILL; 3 documents are left" in asked.stderr


def test_those_that_were_under_way_when_the_server_died_are_told_that_they_were_not_alone(
    tmp_path: Path,
) -> None:
    documents = {"a": b"hangs invoice", "b": b"hangs invoice", "c": b"dies invoice", "d": b"healthy resume"}
    asked = Table(tmp_path, documents, more={"batch_size": 3}).run()
    assert asked.status == 0, asked.stderr
    how = "the server died of SIGKILL, while 3 documents were under way"
    assert asked.crashes() == {"a": how, "b": how, "c": how}
    assert asked.records["d"]["status"] == "accepted"


def test_a_server_that_ends_between_two_questions_makes_no_document_a_crash(tmp_path: Path) -> None:
    documents = {**dict.fromkeys("ab", b"ends_after invoice"), "c": b"healthy invoice"}
    asked = Table(tmp_path, documents).run()
    assert (asked.status, asked.crashes()) == (0, {}), asked.records
    assert [record["status"] for record in asked.records.values()] == ["accepted"] * 3
    assert len({question["pid"] for question in asked.log}) == 3


#: the documents -> the exit status, and what is said beside that a server was ready
LAST = {
    "asked to end": ([b"healthy invoice"], 0, None),
    "after its last answer": (
        [b"healthy invoice", b"answers_from_beyond invoice"],
        1,
        "asker: the server died with exit status 5 by itself, after its last answer",
    ),
    "at its last document, which is told": ([b"healthy invoice", b"exits invoice"], 0, None),
}


@pytest.mark.parametrize("case", LAST)
def test_a_server_that_died_by_itself_when_all_was_answered_is_no_good_end(case: str, tmp_path: Path) -> None:
    texts, status, says = LAST[case]
    asked = Table(tmp_path, {f"doc-{number}": text for number, text in enumerate(texts)}).run()
    said = [line for line in asked.stderr.splitlines() if "was ready after" not in line]
    assert (asked.status, said) == (status, [says] if says else []), asked.stderr
    assert list(asked.crashes()) == (["doc-1"] if "told" in case else [])
    assert asked.lines == len(texts)


def test_after_three_restarts_the_rest_is_rejected_unasked(tmp_path: Path) -> None:
    asked = Table(tmp_path, dict.fromkeys("abcdef", b"dies invoice")).run()
    assert asked.status == 0, asked.stderr
    assert sorted(asked.crashes()) == ["a", "b", "c", "d"]
    rest = {name: record["reason"] for name, record in asked.records.items() if name in "ef"}
    assert rest == dict.fromkeys("ef", "not asked: the server died 4 times")
    assert len(asked.log) == 4


def test_a_server_that_does_not_come_up_again_leaves_the_rest_rejected_with_the_reason(
    tmp_path: Path,
) -> None:
    asked = Table(tmp_path, {"a": b"dies invoice", "b": b"healthy resume"}, "starts_once").run()
    assert asked.status == 0, asked.stderr
    assert asked.records["b"]["status"] == "rejected"
    assert re.match(
        r"not asked: no further server after one died: the server ended with exit status 4 after \d+\.\d s, before",
        asked.records["b"]["reason"],
    )


#: how the server starts -> what is changed in the request, and what is said where that is not well
STARTS: dict[str, tuple[dict[str, object], str | None]] = {
    "healthy": ({}, None),
    "ready_late": ({}, None),
    "dies_at_start": ({}, r"the server ended with exit status 1 after [\d.]+ s, before it was ready; GET /health last "
                          r"answered: (no connection|nothing)"),
    "never_ready": ({"ready_s": 2}, r"the server was not ready within 2 s; GET /health last answered: HTTP 503"),
    "silent": ({"ready_s": 1}, r"the server was not ready within 1 s; GET /health last answered: (nothing|no conn.*)"),
    "no_such_program": ({"command": ["./no-such-server", "{port}"]},
                        r"the server cannot be started: No such file or directory: \./no-such-server"),
    "another_address": ({"command": [sys.executable, "-c", "import sys,time; time.sleep(60)", "{port}"], "ready_s": 1},
                        r"the server was not ready within 1 s; GET /health last answered: (no connection|nothing)"),
}  # fmt: skip


@pytest.mark.parametrize("mode", STARTS)
def test_a_server_that_is_never_ready_ends_the_run_with_one_line_and_no_results(
    tmp_path: Path, mode: str
) -> None:
    more, says = STARTS[mode]
    asked = Table(tmp_path, {"doc-01": b"healthy invoice"}, mode, more=more).run()
    if says is None:
        assert (asked.status, asked.records["doc-01"]["status"]) == (0, "accepted"), asked.stderr
    else:
        assert (asked.status, asked.told) == (1, []), asked.stderr
        assert not (tmp_path / "results.jsonl").exists()
        (line,) = [line for line in asked.stderr.splitlines() if line.startswith("asker: ")]
        assert re.fullmatch(f"asker: {says}", line), line


def test_a_port_that_somebody_else_took_first_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server starts, and cannot have its port; the one who has it answers 200."""
    first = Table(tmp_path, {})
    foreign = subprocess.Popen([sys.executable, str(Path(__file__).with_name("servers.py")), "0", "log"])
    try:
        port = until(lambda: _listening(foreign.pid), "the foreign server's port")
        monkeypatch.setattr(servers, "free_port", lambda: port)

        async def bring_up() -> float:
            server = await servers.Server.start(
                [sys.executable, "-c", "import time; time.sleep(60)"], str(tmp_path)
            )
            try:
                return await server.wait_until_ready("/health", 20, {})
            finally:
                await server.end(5)

        with pytest.raises(servers.NotUp, match=rf"port {port} was taken by process {foreign.pid} "):
            asyncio.run(bring_up())
    finally:
        foreign.kill()
        foreign.wait()
    assert first.lines("log") == []


def test_a_free_port_is_none_that_somebody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server((servers.LOOPBACK, 0)) as first,
        socket.create_server((servers.LOOPBACK, 0)) as second,
    ):
        taken = [first.getsockname()[1], second.getsockname()[1]]
        monkeypatch.setattr("random.sample", lambda *_: taken)
        found = servers.free_port()
    assert found not in taken
    with socket.create_server((servers.LOOPBACK, found)):
        pass


def _listening(pid: int) -> int | None:
    with contextlib.suppress(psutil.Error):
        for held in psutil.Process(pid).net_connections("tcp"):
            if held.status == psutil.CONN_LISTEN:
                return int(held.laddr.port)
    return None


def test_a_server_that_ignores_the_request_to_end_is_killed_and_that_is_said(tmp_path: Path) -> None:
    asked = Table(tmp_path, {"doc-01": b"healthy invoice"}, "ignores_sigterm", more={"end_s": 0.5}).run()
    assert (asked.status, asked.records["doc-01"]["status"]) == (0, "accepted")
    assert re.search(r"did not end within 0.5 s of SIGTERM and was killed \(python.* \d+\)", asked.stderr)
    assert not psutil.pid_exists(asked.log[0]["pid"])


def test_a_server_that_ends_when_asked_is_gone_without_a_word(tmp_path: Path) -> None:
    asked = Table(tmp_path, {"doc-01": b"healthy invoice"}).run()
    assert not psutil.pid_exists(asked.log[0]["pid"])
    assert re.fullmatch(r"asker: the server was ready after \d+\.\d s\n", asked.stderr)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_client_that_is_ended_ends_its_server_and_keeps_what_is_done(
    tmp_path: Path, number: signal.Signals
) -> None:
    table = Table(tmp_path, {"a": b"healthy invoice", "b": b"hangs invoice", "c": b"healthy resume"})
    asker = subprocess.Popen(table.command(), env=table.environ(), stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        pid = until(lambda: len(log := table.lines("log")) == 2 and log[1]["pid"], "the second question")
        asker.send_signal(number)
        _, stderr = asker.communicate(timeout=30)
    finally:
        asker.kill()
        asker.wait()
    asked = table.look(asker.returncode, stderr.decode())
    assert asked.status == 128 + number
    assert list(asked.records) == ["a"]
    assert f"ended by {number.name}: 1 of 3 documents have a record" in asked.stderr
    assert not psutil.pid_exists(pid)
    assert "Traceback" not in asked.stderr


def test_a_client_whose_terminal_is_gone_goes_on(tmp_path: Path) -> None:
    table = Table(tmp_path, {"a": b"dies invoice", "b": b"healthy resume"})
    with Path("/dev/full").open("wb") as nowhere:  # whatever is written there is an error
        end = subprocess.run(
            table.command(), env=table.environ(), stderr=nowhere, cwd=tmp_path, timeout=60, check=False
        )
    asked = table.look(end.returncode, "")
    assert (asked.status, asked.records["b"]["status"]) == (0, "accepted")


def test_a_client_that_is_killed_does_not_leave_its_server(tmp_path: Path) -> None:
    table = Table(tmp_path, {"a": b"hangs invoice"})
    asker = subprocess.Popen(table.command(), env=table.environ(), stderr=subprocess.DEVNULL, cwd=tmp_path)
    try:
        pid = until(lambda: (log := table.lines("log")) and log[0]["pid"], "the first question")
    finally:
        asker.kill()
        asker.wait()
    until(
        lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, "its end"
    )


# -- what is wrong before anything is started --------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"request": {**CHAT, "headers": {}, "bearer": "NOT_SET", "timeout_s": 1}}, "NOT_SET is not set"),
        ({"request": {**CHAT, "headers": {}, "timeout_s": 1}}, "found nothing for 'bearer'"),
        ({"manifest": "absent.json"}, "No such file or directory"),
        ({"results": "manifest.json"}, "exists already, and is never overwritten"),
        ({"ready": "@example.org/"}, "leads off the loopback"),
    ],
)
def test_a_request_that_is_wrong_is_one_line_and_starts_nothing(
    tmp_path: Path, more: dict[str, object], says: str
) -> None:
    asked = Table(tmp_path, {"doc-01": b"healthy invoice"}, more=more).run()
    assert asked.status == 2
    assert says in asked.stderr
    assert len(asked.stderr.splitlines()) == 1
    assert asked.log == []
