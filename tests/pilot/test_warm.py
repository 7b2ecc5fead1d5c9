"""A pilot that is forked differs from one that is started in nothing that a suite or an application can be told by."""

from __future__ import annotations

import json
import re
import subprocess
import sys
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

def pytest_unconfigure(config):
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
    role = "worker" if hasattr(config, "workerinput") else "reader" if _sys.argv[0] == "-c" else "maker"
    with open(_os.environ["TOLD"] + "-" + role, "w") as stream:
        _json.dump(told, stream, default=repr)
"""


def told(bench: Bench, *options: str, forked: bool) -> tuple[Run, dict[str, dict[str, Any]]]:
    """A run, and what each of its processes told; trials are called alike in all."""
    run, said = bench.run(*options, forked=forked), {}
    for file in sorted(bench.folder.glob("told-*")):
        text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}|(?<=TESTRUNUID\": \")\w+", "SOME", file.read_text())
        said[file.name] = json.loads(text)
        file.unlink()
    return run, said


def summary(run: Run) -> str:
    """What is said at the end. Before it stand lines that come now and then, behind it how long it took."""
    _, _, end = run.output.partition("= gpu-pilot: ")
    end, reported, _ = end.partition("\nreport:")
    assert reported
    return re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}|\d+\.\d+ ?s", "*", end)


@pytest.fixture
def telling(bench: Bench) -> Bench:
    conftest = bench.own_project() / "conftest.py"
    conftest.write_text(conftest.read_text() + TELLS)
    bench.environment["TOLD"] = str(bench.folder / "told")
    return bench


def with_another_path(bench: Bench) -> None:
    """The zygote is there already, and knows another PYTHONPATH."""
    environment = {**bench.environ(), "PYTHONPATH": str(bench.folder / "elsewhere")}
    assert bench.pytest([sys.executable, "-m", "pytest", "--version"], environment, forked=True)[0] == 0


@pytest.mark.parametrize(
    ("options", "processes"),
    [
        ((), {"told-maker", "told-reader"}),
        (("-n", "1", "--once"), {"told-maker", "told-worker", "told-reader"}),
    ],
    ids=["serial", "workers"],
)
def test_a_pilot_that_is_forked_is_like_one_that_is_started(
    telling: Bench, options: tuple[str, ...], processes: set[str]
) -> None:
    started, its = told(telling, *options, forked=False)
    with_another_path(telling)
    forked, their = told(telling, *options, forked=True)
    assert their.keys() == its.keys() == processes
    for process in processes:
        of_the_started, of_the_forked = its[process], their[process]
        # it may have loaded more of the suite than it needs, and none of it otherwise
        of_the_forked["ours"] = {
            name: loader for name, loader in of_the_forked["ours"].items() if name in of_the_started["ours"]
        }
        for subject, what in of_the_started.items():
            assert of_the_forked[subject] == what, (process, subject)
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
