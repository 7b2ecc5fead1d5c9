"""Faults in how the application runs: how it ends, what it leaves, where it writes, what it computes on."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import psutil
import pytest

from fixtures.evidence.models import Application
from fixtures.evidence.trial import open_trial
from tests.pilot.bench import Bench
from tests.pilot.bench import Change
from tests.pilot.bench import Run
from tests.pilot.entries import all_of
from tests.pilot.entries import altered
from tests.pilot.entries import cards
from tests.pilot.entries import Fault
from tests.pilot.entries import limits
from tests.pilot.entries import Look
from tests.pilot.entries import ORDERED
from tests.pilot.entries import run_once
from tests.pilot.entries import stub
from tests.pilot.entries import told
from tests.pilot.entries import Twin

OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 0 bytes free."
)


def _application(run: Run) -> Application:
    assert run.trial is not None
    return open_trial(run.trial, judging=True).read("application", Application)


def _nothing_lives(bench: Bench, run: Run) -> None:
    """Whatever the application started and left is named, and dead."""
    left = _application(run).left_behind
    assert left
    assert not [one for one in left if psutil.pid_exists(one.pid) and _is(one.pid, bench)]


def _is(pid: int, bench: Bench) -> bool:
    """Not another process that has the same number by now."""
    try:
        return "time.sleep(120)" in " ".join(psutil.Process(pid).cmdline())
    except psutil.NoSuchProcess:
        return False


def _flooded(bench: Bench, run: Run) -> None:
    """A hundred megabytes are noted, and swell nothing but the file that holds them."""
    assert run.trial is not None
    stream = run.trial / _application(run).stdout.file
    assert stream.stat().st_size >= 100 << 20
    assert any("printed 100 MiB to stdout" in advisory for advisory in run.decided.advisories)
    assert (run.trial / "report.html").stat().st_size < 1 << 20
    assert (run.trial / "evidence" / "application.json").stat().st_size < 1 << 20
    for path in (bench.reports, bench.copies):
        shutil.rmtree(path)


def _named_by_hand(function: str) -> Change:
    """The application is told where the renter's own file is, not only the staged copy."""
    return lambda bench: bench.behave(function, str(bench.documents / "doc-05.txt"))


def _beside_the_documents(bench: Bench) -> None:
    bench.behave("writes_to", str(bench.documents / "cache.bin"))


def _in_the_project(bench: Bench) -> None:
    bench.behave("writes_to", str(bench.own_project() / "predictions.csv"))


def _a_source_in_the_project(bench: Bench) -> None:
    bench.behave("writes_to", str(bench.own_project() / "generated.py"))


def _edited_meanwhile(bench: Bench) -> None:
    """Somebody saves a note while the application runs; the editor keeps a backup and a swap file."""
    note = bench.own_project() / "notes.md"
    note.write_text("before\n")
    bench.behave(
        "writes_to", *(str(note.with_name(name)) for name in (note.name, "notes.md~", ".notes.md.swp"))
    )


def _says_what_was_compared(bench: Bench, run: Run) -> None:
    check = next(one for one in run.decided.checks() if one.id == BESIDE)
    assert "hidden folders and edited sources left out" in (check.found or "")


def _among_the_documents(name: str) -> Change:
    return lambda bench: bench.behave("writes_to", str(bench.documents / name))


def _swapped(how: str) -> Change:
    return lambda bench: bench.behave("swaps_its_output_folder", how, str(bench.folder / "elsewhere"))


def _to_its_own_place(bench: Bench) -> None:
    bench.behave("writes_to", str(bench.folder / "cache-of-the-application"))


def _command(*command: str) -> Change:
    return lambda bench: bench.parameters["application"].update(command=[*command, "{manifest}", "{results}"])


def _not_executable(bench: Bench) -> None:
    program = bench.folder / "classify.sh"
    program.write_text("#!/bin/sh\n")
    _command(str(program))(bench)


def another_python() -> str:
    """An interpreter that is not the one of these tests; a name on PATH may be a script that runs just that."""
    own = os.path.realpath(sys.executable)
    found = [*Path("/usr/bin").glob("python3*"), *Path.home().glob(".pyenv/versions/3.1*/bin/python3")]
    for path in map(os.path.realpath, found):
        if path != own and re.fullmatch(r"python3\.\d+", os.path.basename(path)):
            return path
    pytest.skip("there is no other Python on this machine")


def _wrapped(bench: Bench) -> None:
    bench.behave("runs_another_python", another_python())


def _hard_wired(bench: Bench) -> None:
    bench.parameters["application"]["command"][0] = another_python()


def _environment(bench: Bench, name: str) -> Path:
    """The Python of an environment, made from the one that runs these tests, as every venv on a machine is."""
    base = os.path.realpath(sys.executable)
    python = bench.folder / name / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(base)
    (bench.folder / name / "pyvenv.cfg").write_text(f"home = {os.path.dirname(base)}\n")
    return python


def _in_another_environment(bench: Bench) -> None:
    bench.parameters["application"]["command"][0] = str(_environment(bench, "another"))


def _hands_to_another_environment(bench: Bench) -> None:
    bench.behave("runs_another_python", str(_environment(bench, "another")))


def _in_its_environment(bench: Bench) -> None:
    bench.parameters["application"]["python"] = str(_environment(bench, "own"))


def _through_a_shell(script: str) -> Change:
    """A wrapper, as those that set variables first; $0 is the Python, $@ the rest."""

    def change(bench: Bench) -> None:
        _in_its_environment(bench)
        application = bench.parameters["application"]
        application["command"] = ["/bin/sh", "-c", script, *application["command"]]

    return change


def _starved(batch_size: int) -> Change:
    return all_of(cards(ORDERED), limits(batch_size=batch_size), told("says_and_exits", OUT_OF_MEMORY))


def _change_is(factor: str) -> Look:
    def look(bench: Bench, run: Run) -> None:
        assert run.decided.next_change is not None
        assert run.decided.next_change.factor == factor

    return look


ENDED = "results.ended_by_itself"

_ENDINGS = [
    Fault("exit-1-with-perfect-results", told("exits", "1"), ENDED,
        ("exit 0 before the deadline of 60 s", "exit 1 after")),
    Fault("killed-after-eleven", told("dies", "SIGKILL", "11"), ENDED, ("exit 0", "killed by SIGKILL"),
        ("doc-12",), ("failures.none_missing", "end_of_trial.accounted")),
    Fault("killed-when-all-was-written", told("dies", "SIGKILL", "12"), ENDED, ("killed by SIGKILL",)),
    Fault("a-segmentation-fault", told("dies", "SIGSEGV", "12"), ENDED, ("killed by SIGSEGV",)),
    Fault("an-exception", told("raises", "shape mismatch: 512 and 513"), ENDED,
        ("exit 1", "its last words: RuntimeError: shape mismatch: 512 and 513")),
    Fault("needs-a-module-that-is-not-installed", told("needs_a_module"), ENDED,
        ("exit 1", "ModuleNotFoundError: No module named 'a_module_that_nobody_installed'")),
    Fault("never-ends", all_of(told("hangs"), limits(no_progress_s=1)), ENDED,
        ("exit 0", "nothing moved any more"), twin="a-slow-one"),
    Fault("never-ends-and-ignores-sigterm", all_of(told("hangs_deaf_to_sigterm"), limits(no_progress_s=1)),
        ENDED, ("nothing moved any more",), twin="a-slow-one"),
    Fault("computes-for-ever", all_of(told("computes_for_ever"), limits(deadline_s=2, no_progress_s=1)),
        ENDED, ("before the deadline of 2 s", "ended by the deadline"), twin="a-slow-one"),
    Fault("prints-for-ever", all_of(told("prints_for_ever"), limits(output_limit_mb=20)), ENDED,
        ("output limit",), twin="prints-a-hundred-megabytes"),
    Fault("prints-a-hundred-megabytes-where-ten-are-allowed",
        all_of(told("prints", "100"), limits(output_limit_mb=10)), ENDED, ("output limit",),
        twin="prints-a-hundred-megabytes"),
    Fault("fills-its-output-folder", all_of(told("fills_its_output_folder", "30"), limits(output_limit_mb=10)),
        ENDED, ("output limit",), twin="thirty-megabytes-beside-its-results"),
    Fault("a-program-that-does-not-exist", _command("/nonexistent/classify"), ENDED,
        ("could not be started", "No such file or directory: /nonexistent/classify")),
    Fault("a-program-that-is-not-executable", _not_executable, ENDED,
        ("could not be started", "Permission denied")),
    Fault("out-of-memory-with-one-at-a-time", _starved(1), ENDED, ("exit 1", "out of memory"),
        decision="reconfigure", device="cuda", twin="the-ordered-card",
        look=_change_is("a card with more memory")),
    Fault("out-of-memory-with-four-at-a-time", _starved(4), ENDED, ("exit 1", "out of memory"), device="cuda",
        twin="the-ordered-card", look=_change_is("application.batch_size")),
]  # fmt: skip

LEFT = "results.nothing_left_behind"
_LEFT = [
    Fault("leaves-a-child-running", told("leaves_a_child"), LEFT,
        ("no process of the application", "time.sleep(120)"), twin="a-child-that-ends-with-it",
        look=_nothing_lives),
    Fault("leaves-a-session-running", told("leaves_a_session"), LEFT,
        ("no process of the application", "time.sleep(120)"), twin="a-child-that-ends-with-it",
        look=_nothing_lives),
    Fault("leaves-a-daemon-running", told("leaves_a_daemon"), LEFT,
        ("no process of the application", "time.sleep(120)"), twin="a-child-that-ends-with-it",
        look=_nothing_lives),
]  # fmt: skip

UNCHANGED, BESIDE = "inputs.unchanged", "results.nothing_beside"
_PLACES = [
    Fault("changes-its-copy-of-an-input", told("writes_to", "<staged>/doc-05.txt"), UNCHANGED,
        ("every input byte for byte", "doc-05.txt changed"), ("doc-05",)),
    Fault("changes-the-renters-own-input", _named_by_hand("writes_to"), UNCHANGED,
        ("every input", "doc-05.txt changed"), ("doc-05",)),
    Fault("deletes-an-input", told("deletes_an_input", "doc-05"), UNCHANGED, ("doc-05.txt vanished",),
        ("doc-05",)),
    Fault("changes-the-manifest-it-was-given", told("writes_to", "<staged>/manifest.json"), UNCHANGED,
        ("manifest.json changed",)),
    Fault("writes-beside-its-output-folder", told("writes_to", "<trial>/evidence/application/cache.bin"),
        BESIDE, ("only in the output folder", "cache.bin appeared"), twin="more-files-in-the-output-folder"),
    Fault("writes-among-its-inputs", told("writes_to", "<staged>/doc-05.txt.lock"), BESIDE,
        ("doc-05.txt.lock appeared",), twin="more-files-in-the-output-folder"),
    Fault("writes-among-the-renters-documents", _beside_the_documents, BESIDE, ("cache.bin appeared",),
        twin="a-place-of-its-own"),
    Fault("writes-into-the-project-folder", _in_the_project, BESIDE, ("predictions.csv appeared",),
        twin="a-place-of-its-own"),
    Fault("writes-a-source-into-the-project-folder", _a_source_in_the_project, BESIDE,
        ("generated.py appeared",), twin="a-source-that-is-edited-meanwhile"),
    Fault("writes-to-a-hidden-folder-among-the-renters-documents", _among_the_documents(".cache/x"), BESIDE,
        ("documents/.cache/x appeared",), twin="a-place-of-its-own"),
    Fault("writes-a-note-among-the-renters-documents", _among_the_documents("notes.md"), BESIDE,
        ("documents/notes.md appeared",), twin="a-place-of-its-own"),
    Fault("writes-to-a-hidden-folder-among-its-inputs", told("writes_to", "<staged>/.cache/x"), BESIDE,
        ("documents/.cache/x appeared",), twin="more-files-in-the-output-folder"),
    Fault("alters-the-plan", told("writes_to", "<trial>/plan.json"), BESIDE, ("plan.json changed",),
        twin="more-files-in-the-output-folder"),
    Fault("alters-the-record", told("writes_to", "<trial>/trial.json"), BESIDE, ("trial.json changed",),
        twin="more-files-in-the-output-folder"),
    Fault("alters-evidence", told("writes_to", "<trial>/evidence/launch.json"), BESIDE,
        ("evidence/launch.json changed",), twin="more-files-in-the-output-folder"),
    Fault("forges-the-evidence-of-the-copy", told("forges_the_copy"), BESIDE,
        ("evidence/copy.json appeared",), twin="more-files-in-the-output-folder"),
    Fault("puts-a-link-for-its-output-folder", _swapped("link"), "results.file",
        ("the output folder was replaced by a link",), twin="empties-its-output-folder"),
    Fault("puts-another-folder-for-its-output-folder", _swapped("folder"), "results.file",
        ("the output folder was replaced by another one",), twin="empties-its-output-folder"),
]  # fmt: skip

INTERPRETER, USED = "launch.application_interpreter", "results.device_used"
_COMPUTES_ON = [
    Fault("runs-with-another-python", _hard_wired, INTERPRETER, ("required no Python but",)),
    Fault("hands-its-work-to-another-python", _wrapped, INTERPRETER, ("required /",),
        twin="a-child-that-ends-with-it"),
    Fault("runs-in-another-environment", _in_another_environment, INTERPRETER,
        ("required no Python but that of /", "/another ("), twin="an-environment-of-its-own"),
    Fault("hands-its-work-to-another-environment", _hands_to_another_environment, INTERPRETER,
        ("required /", "/another ("), twin="an-environment-of-its-own"),
    Fault("uses-the-cpu-though-told-cuda", all_of(cards(ORDERED), told("states", "cpu")), USED,
        ("cuda, stated", "it states cpu"), device="cuda", twin="states-its-card"),
    Fault("states-no-device-at-all", all_of(cards(ORDERED), stub(STUB_IDLE="1"), told("states_nothing")), USED,
        ("cuda, stated by the application or seen", "grew by 0 MiB"), device="cuda",
        twin="states-its-card"),
    Fault("half-of-the-work-on-the-cpu", all_of(cards(ORDERED), altered(doc_05={"device": "cpu"})), USED,
        ("it states cpu, cuda",), device="cuda", twin="states-its-card"),
    Fault("uses-a-card-in-a-rehearsal", told("states", "cuda:0"), USED,
        ("cpu, or no statement", "it states cuda:0"), twin="a-rehearsal-that-states-nothing"),
]  # fmt: skip

FAULTS = [*_ENDINGS, *_LEFT, *_PLACES, *_COMPUTES_ON]

TWINS = [
    Twin("a-slow-one", all_of(told("takes_its_time", "0.4"), limits(no_progress_s=3.5), run_once)),
    Twin("a-child-that-ends-with-it", told("waits_for_its_child")),
    Twin("prints-a-hundred-megabytes", told("prints", "100"), look=_flooded),
    Twin("thirty-megabytes-beside-its-results", told("fills_its_output_folder", "30")),
    Twin("closes-its-streams", told("closes_its_streams")),
    Twin("empties-its-output-folder", told("empties_its_output_folder")),
    Twin("a-source-that-is-edited-meanwhile", _edited_meanwhile, look=_says_what_was_compared),
    Twin("an-environment-of-its-own", _in_its_environment),
    Twin("a-shell-before-its-environment", _through_a_shell('"$0" "$@"; exit $?')),
    Twin("a-shell-that-finds-its-environment", _through_a_shell('PATH="${0%/*}:$PATH"; python "$@"; exit $?')),
    Twin("a-place-of-its-own", _to_its_own_place),
    Twin("states-its-card", all_of(cards(ORDERED), told("states", "cuda:0")), device="cuda"),
    Twin("a-rehearsal-that-states-nothing", told("states_nothing")),
]  # fmt: skip
