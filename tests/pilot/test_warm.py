"""A pilot that is forked differs from one that is started in nothing that a suite or an application can be told by."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.pilot import warm
from tests.pilot.bench import Bench
from tests.pilot.bench import Run

#: added to a suite's conftest.py: at its end each process of pytest tells what it is; the copy's reader too
TELLS = """
import gc as _gc, json as _json, os as _os, re as _re, signal as _signal
import sys as _sys, threading as _threading, warnings as _warnings

def _link(descriptor):
    try:
        return _os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # the folder that was listed
        return None

def pytest_unconfigure():
    ours = {name: type(module.__loader__).__name__ for name, module in sorted(_sys.modules.items())
            if name.partition(".")[0] in ("fixtures", "plugins", "suites", "conftest", "pytest_html", "xdist")}
    told = {
        "words": (_sys.argv, _sys.orig_argv, _sys.flags, _sys._xoptions),
        "paths": (_sys.path, _os.getcwd(), _sys.pycache_prefix, [type(one).__name__ for one in _sys.meta_path]),
        "environment": dict(_os.environ),
        "signals": [repr(_signal.getsignal(one)) for one in sorted(_signal.valid_signals())],
        "files": sorted(_re.sub(r"\\d+", "", link) for link in map(_link, _os.listdir("/proc/self/fd")) if link),
        "streams": [(one.name, one.encoding, one.errors, one.isatty())
                    for one in (_sys.__stdin__, _sys.__stdout__, _sys.__stderr__)],
        "process": (_os.getpgrp(), _os.getsid(0), _os.umask(0o22), _threading.active_count()),
        "memory": (_gc.isenabled(), _gc.get_threshold()),
        "warnings": _warnings.filters,
        "ours": ours,
    }
    role = "reader" if _sys.argv[0] == "-c" else "maker"
    with open(_os.environ["TOLD"] + "-" + role, "w") as stream:
        _json.dump(told, stream, default=repr)
"""


def told(bench: Bench, *, forked: bool) -> tuple[Run, dict[str, Any], dict[str, Any]]:
    """A run, and what its two processes told; trials are called alike in both."""
    run = bench.run(forked=forked)
    said = []
    for role in ("maker", "reader"):
        file = Path(f"{bench.environment['TOLD']}-{role}")
        said.append(json.loads(re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}", "TRIAL", file.read_text())))
        file.unlink()
    return run, *said


def summary(run: Run) -> str:
    """What is said at the end. Before it stand lines that come now and then, behind it how long it took."""
    _, _, end = run.output.partition("= gpu-pilot: ")
    end, reported, _ = end.partition("\nreport:")
    assert reported
    return re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}|\d+\.\d+ ?s", "*", end)


def test_a_pilot_that_is_forked_is_like_one_that_is_started(bench: Bench) -> None:
    conftest = bench.own_project() / "conftest.py"
    conftest.write_text(conftest.read_text() + TELLS)
    bench.environment["TOLD"] = str(bench.folder / "told")
    started, *its_processes = told(bench, forked=False)
    forked, *their_processes = told(bench, forked=True)
    for its, their in zip(its_processes, their_processes, strict=True):
        # it may have loaded more of the suite than it needs, and none of it otherwise
        their["ours"] = {name: loader for name, loader in their["ours"].items() if name in its["ours"]}
        for subject, what in its.items():
            assert their[subject] == what, subject
    assert (forked.exit_status, forked.decided.decision) == (started.exit_status, started.decided.decision)
    assert [(check.id, check.status) for check in forked.decided.checks()] == [
        (check.id, check.status) for check in started.decided.checks()
    ]
    assert summary(forked) == summary(started)


def test_a_forked_pilot_that_does_not_end_is_ended(bench: Bench) -> None:
    bench.behave("sleeps")
    bench.write()
    command = bench.command()
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(bench.project, command[3:], bench.folder, bench.environ(), timeout=1.0)
    bench.behave("healthy")
    assert bench.run(forked=True).exit_status == 0, "another one can be had afterwards"
