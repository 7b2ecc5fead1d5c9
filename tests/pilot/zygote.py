"""A process that has imported what every pilot imports, and becomes a pilot by forking: started by warm.py.

    python zygote.py DESCRIPTOR PROJECT      requests and answers on the socket DESCRIPTOR

What is loaded ahead is what `python -m pytest` imports before it has read a line of the suite: the standard
library, pytest's own modules, the libraries, and of the suite whatever pytest does not rewrite. What is named
in conftest.py, what imports any of that, and the checks are loaded in the child.

A child differs from `python -m pytest` in /proc/self/cmdline and /proc/self/environ, which are the zygote's.
Its arguments, environment, folder, streams, parentage below it, and its end are those of the real one.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import gc
import importlib
import json
import os
import re
import runpy
import socket
import struct
import subprocess
import sys
import types
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
    from _pytest.config import default_plugins

    for name in (*LIBRARIES, *STANDARD, *(f"_pytest.{plugin}" for plugin in default_plugins)):
        with contextlib.suppress(ImportError):  # another version has another list
            importlib.import_module(name)
    sys.path.insert(0, project)
    # what everything stands on first, so that nothing of it is loaded with something that is forgotten again
    for name in sorted(
        modules_of(project), key=lambda name: (not name.startswith("fixtures.evidence"), name)
    ):
        before = set(sys.modules)
        try:
            importlib.import_module(name)
        except Exception:  # a test may have made it so; the child will say it
            loaded_too_much = True
        else:
            loaded_too_much = bool(rewritten(project) & set(sys.modules))
        if loaded_too_much:
            forget({other for other in sys.modules if other not in before})
    with contextlib.suppress(KeyError):
        sys.modules["plugins.report"].prepare()  # the templates
    sys.path.remove(project)


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


@functools.cache
def rewritten(project: str) -> frozenset[str]:
    """What conftest.py has pytest load, which rewrites it."""
    text = Path(project, "conftest.py").read_text(encoding="utf-8")
    return frozenset(re.findall(r'"((?:fixtures|plugins)\.[a-z_.]+)"', text))


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


def settle(request: dict[str, Any], words: list[str], files: list[int]) -> None:
    """Be a new process with these streams, folder and environment; `words` are Python, -c or -m, what, and more."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in {*files} - {0, 1, 2}:
        os.close(file)
    os.chdir(request["folder"])
    for name in os.environ.keys() - request["environment"].keys():
        del os.environ[name]
    os.environ.update(request["environment"])
    sys.argv, sys.orig_argv = [words[1], *words[3:]], words
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    gc.enable()


class Spare:
    """A child that has done nothing yet, and becomes the copy's reader when that is to be started."""

    def __init__(self, output: int) -> None:
        self._channel, its_end = socket.socketpair()
        self.pid = os.fork()
        if self.pid:
            its_end.close()
            atexit.register(self._end)
            return
        self._channel.close()
        os.close(output)  # whoever waits for the end of the pilot's output does not wait for this process
        try:
            request, files = receive(its_end, 3)
        except Ended:
            os._exit(0)
        its_end.close()
        settle(request, request["command"], files)
        exec(compile(sys.orig_argv[2], "<string>", "exec"), sys.modules["__main__"].__dict__)
        sys.exit(0)

    def become(self, command: list[str], folder: str, environment: dict[str, str], files: list[int]) -> None:
        send(self._channel, {"command": command, "folder": folder, "environment": environment}, files)
        self._channel.close()
        atexit.unregister(self._end)

    def _end(self) -> None:
        self._channel.close()
        os.waitpid(self.pid, 0)


def start_by_forking(spare: Spare) -> None:
    """Have `subprocess` take the spare process where the copy's reader is started, and start all else as ever."""
    unused = [spare]

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def _execute_child(self, args: Any, *rest: Any) -> None:
            if not (unused and args[1:2] == ["-c"] and "pytest.main" in args[2]):
                super()._execute_child(args, *rest)  # type: ignore[misc]
                return
            _, _, _, _, folder, environment, _, _, _, stdin, _, _, stdout, *_ = rest
            unused.pop().become(args, os.fspath(folder), environment, [stdin, stdout, stdout])
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
    try:
        request, output = serve(channel)
    except Ended:
        return
    spare = Spare(output)
    settle(request, [sys.executable, "-m", "pytest", *request["arguments"]], [0, output, output])
    sys.path[0] = os.getcwd()
    start_by_forking(spare)
    runpy._run_module_as_main("pytest")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
