"""A process that has imported what every pilot imports, and becomes a pilot by forking: started by warm.py.

    python zygote.py DESCRIPTOR PROJECT      requests and answers on the socket DESCRIPTOR

What is loaded ahead is what `python -m pytest` imports before it has read a check: the standard library, pytest's
own modules, the libraries and the suite's own, which pytest rewrites as it does for a pilot. conftest.py and the
checks are loaded in the child.

A child differs from `python -m pytest` in /proc/self/cmdline and /proc/self/environ, which are the zygote's, and
does not wait for the disk: that it is asked to keep what was written, tests/evidence/test_trial.py looks at. Its
arguments, environment, folder, streams, parentage below it, and its end are those of the real one.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import gc
import importlib
import itertools
import json
import os
import re
import runpy
import shlex
import socket
import struct
import subprocess
import sys
import types
from importlib import metadata
from pathlib import Path
from typing import Any

LIBRARIES = ("pytest", "pydantic", "psutil", "filelock", "jinja2", "execnet", "packaging.version")
#: of the standard library, what pytest and plugins that happen to be installed import later
STANDARD = (
    "asyncio",
    "concurrent.futures",
    "ctypes",
    "email.parser",
    "faulthandler",
    "html.parser",
    "pdb",
    "queue",
    "tomllib",
)
#: of the suite's folders, what is no module of a pilot's own process
NOT_OURS = ("__main__", "kinds", "classifier", "volume", "bundle", "decision", "trials", "schema")
#: of a pilot's other processes, those that are forked as well
READER, WORKER = "reader", "worker"
_SIZE = struct.Struct("!I")


class Ended(Exception):
    """The other end of the socket was closed."""


def receive(channel: socket.socket, descriptors: int) -> tuple[Any, list[int]]:
    """A message and the open files that came with it.

    Raises:
        Ended: nobody will send one any more.
    """
    head, files, _, _ = socket.recv_fds(channel, _SIZE.size, descriptors)
    if not head:
        raise Ended
    left, data = _SIZE.unpack(head)[0], b""
    while len(data) < left:
        data += channel.recv(left - len(data))
    return json.loads(data), files


def send(channel: socket.socket, message: Any, descriptors: list[int] | None = None) -> None:
    data = json.dumps(message).encode()
    socket.send_fds(channel, [_SIZE.pack(len(data))], descriptors or [])
    channel.sendall(data)


def load(project: str) -> None:
    from _pytest.assertion import install_importhook
    from _pytest.config import default_plugins
    from _pytest.config import get_config

    for name in (*LIBRARIES, *STANDARD, *(f"_pytest.{plugin}" for plugin in default_plugins)):
        with contextlib.suppress(ImportError):  # another version has another list
            importlib.import_module(name)
    sys.path.insert(0, project)
    hook = install_importhook(get_config())
    hook.mark_rewrite(*named_in_conftest(project))
    # what everything stands on first, so that nothing of it is loaded with something that is forgotten again
    for name in sorted(
        modules_of(project), key=lambda name: (not name.startswith("fixtures.evidence"), name)
    ):
        before = set(sys.modules)
        try:
            importlib.import_module(name)
        except Exception:  # a test may have made it so; the child will say it
            forget({other for other in sys.modules if other not in before})
    with contextlib.suppress(KeyError):
        sys.modules["plugins.report"].prepare()  # the templates
    sys.meta_path.remove(hook)
    sys.path.remove(project)
    remember_entry_points()


def remember_entry_points() -> None:
    """Have what is installed read once: a pilot asks for the entry points of all of it a dozen times."""
    asked = metadata.Distribution.entry_points.fget  # type: ignore[attr-defined]

    @functools.cache
    def of(place: str) -> metadata.EntryPoints:
        return asked(metadata.Distribution.at(place))

    def entry_points(distribution: metadata.Distribution) -> metadata.EntryPoints:
        place = getattr(distribution, "_path", None)
        return of(str(place)) if place else asked(distribution)

    metadata.Distribution.entry_points = property(entry_points)  # type: ignore[assignment,method-assign]
    for distribution in metadata.distributions():
        entry_points(distribution)


def forget(names: set[str]) -> None:
    """Have the suite's modules of these names imported anew; what was imported from them has been forgotten as well."""
    for name in names:
        if name.partition(".")[0] in ("fixtures", "plugins"):
            parent, _, child = name.rpartition(".")
            del sys.modules[name]
            if parent in sys.modules:  # where `from parent import child` looks first
                vars(sys.modules[parent]).pop(child, None)


def modules_of(project: str) -> set[str]:
    """The suite's own modules, by name."""
    found = set()
    for folder in ("fixtures", "plugins"):
        for path in Path(project, folder).rglob("*.py"):
            parts = path.relative_to(project).with_suffix("").parts
            if not set(parts) & set(NOT_OURS):
                found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def named_in_conftest(project: str) -> set[str]:
    """What conftest.py has pytest load, which rewrites it and nothing else of these folders."""
    text = Path(project, "conftest.py").read_text(encoding="utf-8")
    return set(re.findall(r'"((?:fixtures|plugins)\.[a-z_.]+)"', text))


def serve(channel: socket.socket) -> tuple[dict[str, Any], int]:
    """Fork for each request and tell how the child ended. Returns in the child alone: the request and its output."""
    while True:
        request, (output,) = receive(channel, 1)
        child = os.fork()
        if child == 0:
            channel.close()
            return request, output
        os.close(output)
        send(channel, child)
        send(channel, os.waitpid(child, 0)[1])


def _added() -> list[str]:
    """What PYTHONPATH puts behind the first place of sys.path."""
    places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return list(dict.fromkeys(os.path.abspath(place) for place in places if place))


def settle(request: dict[str, Any], words: list[str], files: list[int]) -> None:
    """Be a new process with these streams, folder and environment; `words` are Python, -c or -m, what, and more.

    A -u before them changes nothing that is looked at: whoever starts a worker has its streams made anew.
    """
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in {*files} - {0, 1, 2}:
        os.close(file)
    os.chdir(request["folder"])
    before = _added()
    for name in os.environ.keys() - request["environment"].keys():
        del os.environ[name]
    os.environ.update(request["environment"])
    sys.path[1 : 1 + len(before)] = _added()
    what, _, *more = [word for word in words[1:] if word != "-u"]
    sys.argv, sys.orig_argv = [what, *more], words
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    gc.enable()


class Spare:
    """A child that has done nothing yet, and becomes the copy's reader or a worker when one is to be started.

    `without` are open files that it has no part in: whoever waits for the end of the pilot's output, or of another
    spare's orders, does not wait for this process.
    """

    def __init__(self, role: str, without: list[int]) -> None:
        self.role, self._parent = role, os.getpid()
        self._channel, its_end = socket.socketpair()
        self.pid = os.fork()
        if self.pid:
            its_end.close()
            atexit.register(self._end)
            return
        for descriptor in (*without, self._channel.detach()):
            os.close(descriptor)
        try:
            request, files = receive(its_end, 3)
        except Ended:
            os._exit(0)
        its_end.close()
        # whichever worker makes the copy starts a reader
        spares = [Spare(READER, files)] if role == WORKER else []
        settle(request, request["command"], files)
        start_by_forking(spares)
        code = sys.orig_argv[sys.orig_argv.index("-c") + 1]
        exec(compile(code, "<string>", "exec"), sys.modules["__main__"].__dict__)
        sys.exit(0)

    @property
    def descriptor(self) -> int:
        return self._channel.fileno()

    def become(self, command: list[str], folder: str, environment: dict[str, str], files: list[int]) -> None:
        send(self._channel, {"command": command, "folder": folder, "environment": environment}, files)
        self._channel.close()
        atexit.unregister(self._end)

    def _end(self) -> None:
        if os.getpid() == self._parent:
            self._channel.close()
            os.waitpid(self.pid, 0)


def role_of(command: Any) -> str | None:
    """Which spare can take the place of a process that is started with `command`."""
    if not isinstance(command, list):
        return None
    if command[1:2] == ["-c"] and "pytest.main" in command[2]:
        return READER
    if command[1:3] == ["-u", "-c"] and "sys.stdin.readline()" in command[3]:  # as execnet starts one
        return WORKER
    return None


def spares_for(request: dict[str, Any], output: int) -> list[Spare]:
    """One for each worker that the pilot is told to have; without workers it starts the copy's reader itself."""
    words = [*request["arguments"], *shlex.split(request["environment"].get("PYTEST_ADDOPTS", ""))]
    workers = [
        int(number) for word, number in itertools.pairwise(words) if word == "-n" and number.isdecimal()
    ]
    spares: list[Spare] = []
    for role in [WORKER] * sum(workers) or [READER]:
        spares.append(Spare(role, [output, *[spare.descriptor for spare in spares]]))
    return spares


def start_by_forking(spares: list[Spare]) -> None:
    """Have `subprocess` take a spare process where one of its role is started, and start all else as ever."""

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def _execute_child(self, args: Any, *rest: Any) -> None:
            role = role_of(args)
            spare = next((spare for spare in spares if spare.role == role), None)
            if spare is None:
                super()._execute_child(args, *rest)  # type: ignore[misc]
                return
            spares.remove(spare)
            _, _, _, _, folder, environment, _, _, _, stdin, _, _, stdout, *_ = rest
            error = {READER: stdout, WORKER: 2}[spare.role]
            spare.become(
                args,
                os.getcwd() if folder is None else os.fspath(folder),
                dict(os.environ) if environment is None else environment,
                [stdin, stdout, error],
            )
            self.pid, self._child_created = spare.pid, True
            os.close(stdin)
            os.close(stdout)

    subprocess.Popen = Popen  # type: ignore[misc]


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    sys.path[0] = ""
    load(sys.argv[2])
    gc.collect()
    gc.freeze()
    gc.disable()  # a collection would copy every page that a child shares with this process
    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    try:
        request, output = serve(channel)
    except Ended:
        return
    spares = spares_for(request, output)
    settle(request, [sys.executable, "-m", "pytest", *request["arguments"]], [0, output, output])
    sys.path[0] = os.getcwd()
    start_by_forking(spares)
    runpy._run_module_as_main("pytest")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
