"""The suite's loop around a renter's function: what is called, what comes of it, and how it may break down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.kinds.calling import call
from tests.kinds.calling import command
from tests.kinds.calling import environment
from tests.kinds.calling import lines
from tests.kinds.calling import prepare
from tests.kinds.calling import Ran

HEALTHY = """
def call(text):
    return "short" if len(text) < 4 else "long"
"""


def accepted(category: Any) -> dict[str, Any]:
    return {"status": "accepted", "category": category}


# -- what is called, and with what -------------------------------------------------------------------------


def test_a_function_is_called_for_each_document(tmp_path: Path) -> None:
    ran = call(tmp_path, HEALTHY)
    assert ran.records == {
        "doc-1": accepted("short"),
        "doc-2": accepted("short"),
        "doc-3": accepted("long"),
    }
    assert (ran.status, ran.out, ran.err, ran.begun) == (0, "", "", ["doc-1", "doc-2", "doc-3"])
    assert all(set(line) == {"document", "at"} and isinstance(line["at"], float) for line in ran.told)


CALLED = {
    # name: source, what is called, the categories of three documents
    "a class is constructed once": (
        """
class Model:
    made = 0
    def __init__(self):
        Model.made += 1
    def __call__(self, text):
        return f"{Model.made} {text}"
""",
        "app:Model",
        ["1 one", "1 two", "1 three"],
    ),
    "the constructor is given the device": (
        """
class Model:
    def __init__(self, size=3, *, device):
        self.device = device
    def __call__(self, text):
        return self.device
""",
        "app:Model",
        ["cuda", "cuda", "cuda"],
    ),
    "a function is given the device": (
        "def call(text, device='cpu'): return device",
        "app:call",
        ["cuda"] * 3,
    ),
    "what has no parameter of that name is not": (
        "def call(text, *more, **named): return f'{more} {named}'",
        "app:call",
        ["() {}"] * 3,
    ),
    "a name may have dots": (
        "class Outer:\n  class Inner:\n    @staticmethod\n    def call(text): return text",
        "app:Outer.Inner.call",
        ["one", "two", "three"],
    ),
    "an object of the module is called": (
        "class Model:\n  def __call__(self, text): return text\nready = Model()",
        "app:ready",
        ["one", "two", "three"],
    ),
    "a coroutine function is awaited, all in one loop": (
        """
import asyncio
loops = []
async def call(text):
    loops.append(asyncio.get_running_loop())
    await asyncio.sleep(0)
    return f"{text} {len(set(loops))}"
""",
        "app:call",
        ["one 1", "two 1", "three 1"],
    ),
    "an instance may be called with await": (
        "class Model:\n  async def __call__(self, text): return text",
        "app:Model",
        ["one", "two", "three"],
    ),
}


@pytest.mark.parametrize("name", CALLED)
def test_what_is_named_is_called(name: str, tmp_path: Path) -> None:
    source, named, categories = CALLED[name]
    ran = call(tmp_path, source, callable=named, device="cuda")
    assert (ran.categories(), ran.status, ran.err) == (categories, 0, "")


NOT_UTF8 = {"doc-1": "\ufeffé\r\n".encode(), "doc-2": b"ab\xff\xfe", "doc-3": b""}
GIVEN: dict[str, list[Any]] = {
    "text": [repr("\ufeffé\r\n"), None, "''"],
    "bytes": [repr("\ufeffé\r\n".encode()), repr(b"ab\xff\xfe"), "b''"],
}


@pytest.mark.parametrize("gives", GIVEN)
@pytest.mark.parametrize("batches", [False, True])
def test_it_is_given_texts_or_bytes(gives: str, batches: bool, tmp_path: Path) -> None:
    source = (
        "def call(given): return [repr(one) for one in given] if isinstance(given, list) else repr(given)"
    )
    ran = call(tmp_path, source, NOT_UTF8, gives=gives, batches=batches)
    assert ran.categories() == GIVEN[gives]
    assert (ran.status, sorted(ran.begun)) == (0, ["doc-1", "doc-2", "doc-3"])
    if gives == "text":
        assert ran.reason("doc-2") == "not valid UTF-8 at byte 2"


def test_it_is_given_absolute_paths_also_from_another_folder(tmp_path: Path) -> None:
    source = """
import os
def call(path):
    os.chdir("/")
    return f"{type(path).__name__} {os.path.isabs(path)} {open(path).read()}"
"""
    assert call(tmp_path, source, gives="path").categories() == [
        f"str True {n}" for n in ("one", "two", "three")
    ]


@pytest.mark.parametrize(
    ("there", "reason"),
    [("nothing", "unreadable: No such file or directory"), ("a folder", "not a regular file")],
)
def test_a_document_that_cannot_be_read_is_rejected_and_the_others_are_not(
    there: str, reason: str, tmp_path: Path
) -> None:
    request = prepare(tmp_path, HEALTHY)
    (tmp_path / "documents" / "1.txt").unlink()
    if there == "a folder":
        (tmp_path / "documents" / "1.txt").mkdir()
    end = subprocess.run(command(request), timeout=60, check=False)
    records = lines(tmp_path / "results.jsonl")
    assert end.returncode == 0
    assert [record["status"] for record in records] == ["accepted", "rejected", "accepted"]
    assert records[1]["reason"] == reason


def test_modules_are_looked_for_in_the_folder_first_and_never_beside_the_loop(tmp_path: Path) -> None:
    source = """
import os, sys
import answers, caller, called
def call(text):
    ours = [path for path in sys.path if path.endswith("kinds")]
    return f"{sys.path[0] == os.getcwd()} {ours} {answers.mine} {caller.mine} {called.mine} {sys.argv[1:]}"
"""
    request = prepare(tmp_path, source, {"doc-1": b"x"})
    for name in ("answers", "caller", "called"):
        (tmp_path / "renter" / f"{name}.py").write_text("mine = 1")
    subprocess.run(command(request), timeout=60, check=True)
    assert lines(tmp_path / "results.jsonl")[0]["category"] == "True [] 1 1 1 []"


def test_ids_are_written_as_they_were_given(tmp_path: Path) -> None:
    ids = ["007", "é", "e\u0301", 'a"b\\c', "\u2028", "line\nfeed", "1e5"]
    ran = call(tmp_path, HEALTHY, dict.fromkeys(ids, b"x"))
    assert ran.order == ran.begun == ids


# -- answers -----------------------------------------------------------------------------------------------

ANSWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "a category": ("return 'a'", accepted("a")),
    "a mapping": ("return {'category': 'a', 'score': 0.5}", {**accepted("a"), "score": 0.5}),
    "nothing": ("return None", accepted(None)),
    "a number": ("return 3", accepted(3)),
    "a list": ("return ['a', 'b']", accepted(["a", "b"])),
    "an object": ("return object", accepted("<class 'object'>")),
    "an exception": (
        "raise ValueError('too long\\nsecond line')",
        {"status": "rejected", "reason": "ValueError: too long", "raised_at": "app.py:3"},
    ),
    "an exception without a message": (
        "assert False",
        {"status": "rejected", "reason": "AssertionError at app.py:3", "raised_at": "app.py:3"},
    ),
    "sys.exit": (
        "import sys; sys.exit('no licence')",
        {"status": "rejected", "reason": "SystemExit: no licence", "raised_at": "app.py:3"},
    ),
    "an interruption": (
        "raise KeyboardInterrupt",
        {"status": "rejected", "reason": "KeyboardInterrupt at app.py:3", "raised_at": "app.py:3"},
    ),
    "half a surrogate pair": ("return '\\ud800'", accepted("\\ud800")),
}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_each_answer_becomes_a_record_and_none_spoils_the_next(kind: str, tmp_path: Path) -> None:
    branches = [
        f"async_ = None\n{kind} a{number}(text):\n    {body}\n"
        for number, (body, _) in enumerate(ANSWERS.values())
    ]
    source = "".join(branches) + "def call(text): return globals()['a' + text](text)"
    documents = {name: str(number).encode() for number, name in enumerate(ANSWERS)}
    ran = call(tmp_path, source, documents)
    places = {name: number * 3 + 3 for number, name in enumerate(ANSWERS)}
    for name, (_, wanted) in ANSWERS.items():
        here = {
            key: value.replace("app.py:3", f"app.py:{places[name]}") if isinstance(value, str) else value
            for key, value in wanted.items()
        }
        assert ran.records[name] == here, name
    assert (ran.status, ran.crashes) == (0, {})


def test_a_missing_argument_is_a_rejection_that_says_so(tmp_path: Path) -> None:
    ran = call(tmp_path, "def call(text, other): return text")
    assert "missing 1 required positional argument: 'other'" in ran.reason("doc-1")
    assert ran.status == 0


# -- batches -----------------------------------------------------------------------------------------------

FIVE = {f"doc-{number}": text.encode() for number, text in enumerate("abcde", 1)}


def batches(body: str) -> str:
    return f"import os, signal, sys\ncalls = []\ndef call(texts):\n    calls.append(len(texts))\n    {body}\n"


def in_batches(folder: Path, body: str, size: int = 2, documents: dict[str, bytes] = FIVE) -> Ran:
    return call(folder, batches(body), documents, batches=True, batch_size=size)


def test_it_is_given_lists_of_the_batch_size_and_a_shorter_last_one(tmp_path: Path) -> None:
    ran = in_batches(tmp_path, "return [f'{text} {len(texts)}' for text in texts]")
    assert ran.categories() == ["a 2", "b 2", "c 2", "d 2", "e 1"]
    assert (ran.status, ran.begun) == (0, list(FIVE))


def test_what_is_not_utf8_takes_no_place_in_a_batch(tmp_path: Path) -> None:
    documents = {**FIVE, "doc-2": b"\xff"}
    ran = in_batches(tmp_path, "return [f'{text} {len(texts)}' for text in texts]", documents=documents)
    assert ran.categories() == ["a 2", None, "c 2", "d 2", "e 2"]


WRONG_BATCHES = {
    "return ['a'] * (len(texts) - 1)": "returned 3 answers for 4 documents",
    "return ['a'] * (len(texts) + 1)": "returned 5 answers for 4 documents",
    "return texts[0:1]": "returned 1 answer for 4 documents",
    "return 'four'": "returned a value of type str for 4 documents, not a list of answers",
    "return dict.fromkeys(texts)": "returned a value of type dict for 4 documents, not a list of answers",
    "return None": "returned a value of type NoneType for 4 documents, not a list of answers",
    "return (text for text in texts)": "returned a value of type generator for 4 documents, not a list of answers",
}


@pytest.mark.parametrize("body", WRONG_BATCHES)
def test_another_number_of_answers_rejects_each_of_the_batch(body: str, tmp_path: Path) -> None:
    four = dict(list(FIVE.items())[:4])
    ran = in_batches(tmp_path, body, 4, four)
    assert {ran.reason(one) for one in four} == {WRONG_BATCHES[body]}
    assert (ran.status, ran.crashes) == (0, {})


def test_an_exception_in_the_list_is_the_rejection_of_its_document(tmp_path: Path) -> None:
    ran = in_batches(tmp_path, "return [KeyError(text) if text == 'd' else text for text in texts]")
    assert ran.categories() == ["a", "b", "c", None, "e"]
    assert ran.records["doc-4"] == {"status": "rejected", "reason": "KeyError: 'd'"}


def test_a_batch_that_raises_is_called_again_one_at_a_time(tmp_path: Path) -> None:
    body = "assert 'd' not in texts, 'no d'; return [f'{text} {len(texts)}' for text in texts]"
    ran = in_batches(tmp_path, body)
    assert ran.categories() == ["a 2", "b 2", "c 1", None, "e 1"]
    assert ran.reason("doc-4") == "AssertionError: no d"
    assert ran.begun == ["doc-1", "doc-2", "doc-3", "doc-4", "doc-3", "doc-4", "doc-5"]
    assert (ran.status, ran.crashes) == (0, {})


def test_a_batch_in_which_no_document_is_at_fault_is_no_pass(tmp_path: Path) -> None:
    """One at a time it has memory enough; the long run would be in batches."""
    body = "if len(texts) > 1: raise MemoryError('CUDA out of memory')\n    return texts"
    ran = in_batches(tmp_path, body)
    reason = "MemoryError: CUDA out of memory with a batch of 2, and with none of its documents alone"
    assert {ran.reason(f"doc-{number}") for number in (1, 2, 3, 4)} == {reason}
    assert ran.categories()[4] == "e"
    assert (ran.status, ran.crashes) == (0, {})


def test_a_rejection_of_another_kind_does_not_explain_why_the_batch_raised(tmp_path: Path) -> None:
    body = (
        "if len(texts) > 1: raise MemoryError('no memory')\n"
        "    if 'a' in texts: raise ValueError('no a')\n    return texts"
    )
    ran = in_batches(tmp_path, body)
    assert ran.reason("doc-1") == "ValueError: no a"
    assert ran.reason("doc-2").startswith("MemoryError: no memory with a batch of 2")


def test_a_batch_in_which_it_crashes_is_done_one_at_a_time_in_a_new_process(tmp_path: Path) -> None:
    body = "if 'd' in texts: os.kill(os.getpid(), signal.SIGSEGV)\n    return [str(calls) for _ in texts]"
    ran = in_batches(tmp_path, body)
    assert ran.categories() == ["[2]", "[2]", "[1]", None, "[1]"]
    assert ran.reason("doc-4") == "the process died of SIGSEGV while it had this document"
    assert ran.crashes == {"doc-4": "died of SIGSEGV"}
    assert ran.status == 0


def test_a_batch_that_crashes_and_none_of_its_documents_does_is_told_and_rejected(tmp_path: Path) -> None:
    body = "if len(texts) > 1: os.kill(os.getpid(), signal.SIGKILL)\n    return texts"
    ran = in_batches(tmp_path, body)
    how = "died of SIGKILL with a batch of 2, and with none of its documents alone"
    assert ran.crashes == {f"doc-{number}": how for number in (1, 2, 3, 4)}
    assert ran.reason("doc-1") == f"the process {how}"
    assert (ran.status, ran.categories()[4]) == (0, "e")


# -- breaking down -----------------------------------------------------------------------------------------

CRASHES = {
    "os.kill(os.getpid(), signal.SIGSEGV)": "died of SIGSEGV",
    "os.abort()": "died of SIGABRT",
    "os.kill(os.getpid(), signal.SIGKILL)": "died of SIGKILL",
    "os._exit(3)": "ended with exit status 3",
    "os._exit(0)": "ended with exit status 0",
    "import ctypes; ctypes.string_at(0)": "died of SIGSEGV",
    "import threading as t; t.Thread(target=os._exit, args=(5,)).start(); time.sleep(60)": "ended with exit status 5",
    "if os.fork(): os._exit(0)": "ended with exit status 0",
    "os.closerange(3, 256)": "ended with exit status 1",
    "os.closerange(3, 256); calls = [open('mine.txt', 'a') for _ in range(250)]": "ended with exit status 1",
}
BREAKS = """
import os, signal, sys, time
calls = 0
def call(text):
    global calls
    calls += 1
    if text == "two":
        print("printed before", end="")
        BREAK
    return f"{text} {calls}"
"""


@pytest.mark.parametrize("how", CRASHES)
def test_a_crash_costs_its_document_and_the_rest_goes_on_in_a_new_process(how: str, tmp_path: Path) -> None:
    ran = call(tmp_path, BREAKS.replace("BREAK", how))
    assert ran.crashes == {"doc-2": CRASHES[how]}
    assert ran.records["doc-1"] == accepted("one 1")
    assert ran.reason("doc-2") == f"the process {CRASHES[how]} while it had this document"
    assert ran.records["doc-3"] == accepted("three 1")
    assert (ran.status, ran.begun) == (0, ["doc-1", "doc-2", "doc-3"])
    if (mine := tmp_path / "renter" / "mine.txt").exists():
        assert mine.read_text() == ""


def test_every_document_crashing_leaves_a_record_for_each(tmp_path: Path) -> None:
    ran = call(tmp_path, "import os\ndef call(text): os._exit(9)")
    assert list(ran.crashes) == ["doc-1", "doc-2", "doc-3"]
    assert (ran.status, len(ran.records)) == (0, 3)


HARMLESS = {
    "a thread that leaves": "import threading; t = threading.Thread(target=sys.exit); t.start(); t.join()",
    "a forked child that comes back": "import os; p = os.fork(); text = text if p else 'child'; p and os.waitpid(p, 0)",
    "a forked child that raises": "import os; p = os.fork(); p or 1/0; assert os.waitpid(p, 0)[1] == 1 << 8",
    "a forked child that leaves": "import os; p = os.fork(); p or sys.exit(3); assert os.waitpid(p, 0)[1] == 3 << 8",
    "stdout replaced": "import io; sys.stdout = io.StringIO(); print('into nothing')",
    "stdout closed": "sys.stdout and sys.stdout.close(); sys.stdout = None",
    "much output": "print('x' * 200_000); sys.stderr.write('y' * 200_000)",
    "reading stdin": "assert sys.stdin.read() == ''",
    "a pool of processes": "import multiprocessing as m; m.get_context('fork').Pool(2).map(len, [text] * 4)",
    "a pool of new interpreters": "import multiprocessing as m; m.get_context('spawn').Pool(1).map(len, [text])",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_nothing_that_a_function_does_gets_mixed_up_with_its_answers(name: str, tmp_path: Path) -> None:
    ran = call(tmp_path, f"import sys\ndef call(text):\n    {HARMLESS[name]}\n    return text")
    assert (ran.categories(), ran.crashes) == (["one", "two", "three"], {})
    assert (ran.status, len(ran.begun)) == (0, 3)


def test_what_it_prints_goes_where_the_applications_output_goes(tmp_path: Path) -> None:
    source = "import sys\nprint('importing')\ndef call(text):\n  print(text)\n  sys.stderr.write(text)\n  return text"
    ran = call(tmp_path, source)
    assert (ran.out.split(), ran.err) == (["importing", "one", "two", "three"], "onetwothree")


def test_what_it_printed_for_earlier_documents_survives_a_crash(tmp_path: Path) -> None:
    source = (
        "import os\ndef call(text):\n  print(text, end=' ')\n  text == 'three' and os._exit(1)\n  return text"
    )
    ran = call(tmp_path, source)
    assert ran.out.split()[:2] == ["one", "two"]


def test_a_child_that_keeps_the_pipes_open_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    source = """
import os, signal, time
def call(text):
    if text == "two":
        child = os.fork()
        if child == 0:
            time.sleep(600)
        open("child", "w").write(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    return text
"""
    request = prepare(tmp_path, source)
    with open(tmp_path / "out", "wb") as out:  # no pipe, that the child would keep open for this test too
        end = subprocess.run(command(request), stdout=out, stderr=out, timeout=60, check=False)
    left = psutil.Process(int((tmp_path / "renter" / "child").read_text()))
    left.kill()
    statuses = [record["status"] for record in lines(tmp_path / "results.jsonl")]
    assert (end.returncode, statuses) == (0, ["accepted", "rejected", "accepted"])


@pytest.mark.parametrize("stderr", [os.devnull, "/dev/full"])  # what is written to the second is an error
def test_a_loop_whose_terminal_is_gone_goes_on(stderr: str, tmp_path: Path) -> None:
    source = """
import os
if os.path.exists("died"):
    raise RuntimeError("not twice")
def call(text):
    if text == "two":
        open("died", "w").close()
        os._exit(9)
    return text
"""
    request = prepare(tmp_path, source)
    with open(stderr, "wb") as nowhere:
        end = subprocess.run(command(request), stderr=nowhere, timeout=60, check=False)
    records = lines(tmp_path / "results.jsonl")
    assert (end.returncode, [record["status"] for record in records]) == (
        1,
        ["accepted", "rejected", "rejected"],
    )
    assert records[2]["reason"].endswith("importing app raised RuntimeError: not twice")


def test_the_worker_ends_when_the_loop_is_killed(tmp_path: Path) -> None:
    source = (
        "import os, time\ndef call(text):\n  open('pid', 'w').write(f'{os.getpid()}.')\n  time.sleep(600)"
    )
    pid = tmp_path / "renter" / "pid"
    with subprocess.Popen(command(prepare(tmp_path, source)), env=environment(tmp_path)) as loop:
        _until(lambda: pid.exists() and pid.read_text().endswith("."))
        worker = psutil.Process(int(pid.read_text().strip(".")))
        assert worker.is_running()
        loop.kill()
    worker.wait(30)
    assert lines(tmp_path / "results.jsonl") == []


def test_a_record_is_there_as_soon_as_it_is_known(tmp_path: Path) -> None:
    source = """
import os, time
def call(text):
    while text != "one" and not os.path.exists("go"):
        time.sleep(0.01)
    return text
"""
    with subprocess.Popen(command(prepare(tmp_path, source)), env=environment(tmp_path)) as loop:
        _until(lambda: len(lines(tmp_path / "told.jsonl")) == 2)
        assert [record["id"] for record in lines(tmp_path / "results.jsonl")] == ["doc-1"]
        (tmp_path / "renter" / "go").touch()
        assert loop.wait(60) == 0
    assert len(lines(tmp_path / "results.jsonl")) == 3


def _until(condition: Any) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


# -- what cannot be had ------------------------------------------------------------------------------------

UNFIT = {
    # source, what is named, what the message says
    "no such module": ("", "appp:call", ["there is no module appp in", "near: app"]),
    "no such module, and none like it": ("", "zzz:call", ["there is no module zzz in", "there are: app"]),
    "no such package": ("", "nowhere.app:call", ["there is no module nowhere in"]),
    "a module that needs another": (
        "import nowhere",
        "app:call",
        ["importing app raised ModuleNotFoundError: No module named 'nowhere'", "Traceback", "app.py"],
    ),
    "no such name": ("def Classify(text): ...", "app:classify", ["app.py) has no classify; near: Classify"]),
    "no such name further in": ("class A:\n  one = 1", "app:A.two", ["A has no two"]),
    "a mistake of grammar": ("def call(:", "app:call", ["importing app raised SyntaxError", "app.py"]),
    "an import that raises": ("1 / 0", "app:call", ["raised ZeroDivisionError: division by zero", "line 1"]),
    "an import that leaves": ("import sys; sys.exit(0)", "app:call", ["importing app raised SystemExit: 0"]),
    "an import that crashes": (
        "import os; os.abort()",
        "app:call",
        ["the process died of SIGABRT while it was imported or constructed"],
    ),
    "not callable": ("call = {}", "app:call", ["app:call is of type dict, which cannot be called"]),
    "a class without __call__": (
        "class Model:\n  def predict(self, text): ...",
        "app:Model",
        ["app:Model has no `__call__` (only that is called, not its `predict`)"],
    ),
    "a constructor that raises": (
        "class Model:\n  def __init__(self): raise OSError(2, 'no weights')",
        "app:Model",
        ["constructing app:Model raised FileNotFoundError: [Errno 2] no weights", "Traceback"],
    ),
    "a module with a thread that stays": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()",
        "app:call",
        ["has no call"],
    ),
    "a lazy module that raises": (
        "def __getattr__(name): raise ImportError('not built for this machine')",
        "app:call",
        ["looking up app:call raised ImportError: not built for this machine"],
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_cannot_be_called_is_said_at_once(name: str, tmp_path: Path) -> None:
    source, named, says = UNFIT[name]
    ran = call(tmp_path, source, callable=named)
    assert (ran.status, ran.records, ran.told) == (1, {}, [])
    for part in says:
        assert part in ran.err
    assert "called.py" not in ran.err.partition("Fatal Python error")[0]
    assert "caller.py" not in ran.err


def test_a_process_that_cannot_be_replaced_rejects_what_is_left(tmp_path: Path) -> None:
    source = """
import os
if os.path.exists("once"):
    raise RuntimeError("the card fell off the bus")
open("once", "w")
def call(text):
    if text == "two":
        os._exit(1)
    return text
"""
    ran = call(tmp_path, source)
    reason = "no new process after a crash: importing app raised RuntimeError: the card fell off the bus"
    assert ran.records["doc-1"] == accepted("one")
    assert (ran.reason("doc-3"), ran.status) == (reason, 1)
    assert ran.crashes == {"doc-2": "ended with exit status 1"}
    assert ran.begun == ["doc-1", "doc-2"]
    assert reason in ran.err


def test_a_process_that_breaks_down_at_its_own_end_is_said(tmp_path: Path) -> None:
    source = (
        "import atexit, os\natexit.register(lambda: os.kill(os.getpid(), 11))\ndef call(text): return text"
    )
    ran = call(tmp_path, source)
    assert (ran.status, ran.categories()) == (1, ["one", "two", "three"])
    assert "the process died of SIGSEGV at its end, after the last document" in ran.err


REFUSED = {
    "results that are there": ({}, "results.jsonl: File exists"),
    "a way of giving that is none": ({"gives": "json"}, "gives: 'json' is none"),
    "a batch of none": ({"batch_size": 0}, "batch_size: 0 is none"),
    "a number as a text": ({"batch_size": "4"}, "batch_size: of type int is wanted"),
    "no folder": ({"folder": "/nowhere/at/all"}, "folder: '/nowhere/at/all' is none"),
    "no name": ({"callable": "app"}, "callable: 'app' is none"),
    "no manifest": ({"manifest": "/nowhere/at/all"}, "manifest /nowhere/at/all: No such file or directory"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_cannot_be_served_is_refused(name: str, tmp_path: Path) -> None:
    changes, says = REFUSED[name]
    request = prepare(tmp_path, HEALTHY, **changes)
    if not changes:
        (tmp_path / "results.jsonl").write_text("mine\n")
    end = subprocess.run(command(request), capture_output=True, text=True, timeout=60, check=False)
    assert (end.returncode, end.stdout) == (2, "")
    assert says in end.stderr
    assert "Traceback" not in end.stderr
    if not changes:
        assert (tmp_path / "results.jsonl").read_text() == "mine\n"


MANIFESTS = {
    "not JSON": ("{", "not JSON in UTF-8"),
    "a list": ("[]", "an object with a list `documents` is wanted"),
    "no id": (
        '{"documents": [{"id": "a", "file": "0.txt"}, {"file": "1.txt"}]}',
        "document 2: a text as `id`",
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    text, says = MANIFESTS[name]
    request = prepare(tmp_path, HEALTHY)
    (tmp_path / "documents" / "manifest.json").write_text(text)
    end = subprocess.run(command(request), capture_output=True, text=True, timeout=60, check=False)
    assert end.returncode == 2
    assert says in end.stderr
    assert not (tmp_path / "results.jsonl").exists()


# -- beside it ---------------------------------------------------------------------------------------------


def test_nobody_need_be_told(tmp_path: Path) -> None:
    ran = call(tmp_path, HEALTHY, environ={"GPU_PILOT_TOLD": str(tmp_path / "no" / "folder")})
    assert (ran.status, ran.told, len(ran.records), ran.err) == (0, [], 3, "")


HELPERS = {
    "none": (None, ""),
    "one": ("def memory(): print('memory told')", "memory told\n"),
    "one that raises": (
        "def memory(): raise ValueError('no card')",
        "gpu-pilot: no memory figures of torch: ValueError: no card\n",
    ),
    "a broken one": (
        "import nowhere",
        "gpu-pilot: no memory figures of torch: ModuleNotFoundError: No module named 'nowhere'\n",
    ),
}


@pytest.mark.parametrize("name", HELPERS)
def test_the_worker_has_the_memory_told_at_the_end_of_its_work(name: str, tmp_path: Path) -> None:
    source, printed = HELPERS[name]
    request = prepare(tmp_path, "def call(text):\n  print(text)\n  return text")
    kinds = tmp_path / "suite" / "kinds"
    kinds.mkdir(parents=True)
    for file in ("caller.py", "called.py", "answers.py"):
        (kinds / file).write_bytes((Path(command(request)[1]).parent / file).read_bytes())
    if source is not None:
        (kinds.parent / "tell.py").write_text(source)
    end = subprocess.run(
        [sys.executable, str(kinds / "caller.py"), str(request)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (end.returncode, len(lines(tmp_path / "results.jsonl"))) == (0, 3)
    assert end.stdout == "one\ntwo\nthree\n" + printed


def _old_python() -> str | None:
    found = sorted(Path.home().glob(".pyenv/versions/3.8*/bin/python"))
    return os.environ.get("GPU_PILOT_PYTHON38") or (str(found[-1]) if found else None)


@pytest.mark.skipif(
    _old_python() is None, reason="there is no Python 3.8 here (GPU_PILOT_PYTHON38 can name one)"
)
def test_it_runs_on_python_38(tmp_path: Path) -> None:
    source = BREAKS.replace("BREAK", "os.kill(os.getpid(), signal.SIGBUS)").replace(
        "calls}", "sys.version_info[1]}"
    )
    ran = call(tmp_path, source, {**THREE_AND_MORE}, python=str(_old_python()))
    assert ran.categories() == ["one 8", None, "three 8", None]
    assert ran.crashes == {"doc-2": "died of SIGBUS"}
    assert (ran.reason("doc-4"), ran.status) == ("not valid UTF-8 at byte 0", 0)


@pytest.mark.skipif(
    _old_python() is None, reason="there is no Python 3.8 here (GPU_PILOT_PYTHON38 can name one)"
)
def test_batches_and_coroutines_run_on_python_38(tmp_path: Path) -> None:
    source = "async def call(texts):\n  assert 'two' not in texts, 'no two'\n  return texts"
    ran = call(tmp_path, source, python=str(_old_python()), batches=True, batch_size=3)
    assert (ran.categories(), ran.status) == (["one", None, "three"], 0)
    assert ran.reason("doc-2") == "AssertionError: no two"


THREE_AND_MORE = {"doc-1": b"one", "doc-2": b"two", "doc-3": b"three", "doc-4": b"\xff"}


def test_the_healthy_one_and_the_killed_loop_are_told_apart_by_their_exit(tmp_path: Path) -> None:
    source = (
        "import os, signal, time\ndef call(text):\n  os.kill(os.getppid(), signal.SIGTERM)\n  time.sleep(600)"
    )
    ran = call(tmp_path, source)
    assert (ran.status, ran.records) == (-signal.SIGTERM, {})
