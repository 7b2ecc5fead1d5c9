"""Real servers on loopback: S3 (moto's), SFTP (asyncssh's), each a process; and a wire that can be cut."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import IO

SFTP = Path(__file__).with_name("sftp_server.py")
NEEDED = {
    "s3": ("s3fs", "moto", "flask", "flask_cors", "boto3"),
    "sftp": ("fsspec", "paramiko", "asyncssh"),
}


def missing(kind: str) -> str | None:
    """Why there can be no server of this kind, or None."""
    names = [name for name in NEEDED[kind] if importlib.util.find_spec(name) is None]
    return f"{', '.join(names)} not installed: the extra `storage-test` brings it" if names else None


@dataclass
class Server:
    """`environment` is what a client needs to get access; `folder` what an SFTP server serves."""

    port: int
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None


@contextlib.contextmanager
def s3() -> Iterator[Server]:
    keys = {"AWS_ACCESS_KEY_ID": "renter", "AWS_SECRET_ACCESS_KEY": "renter-renter"}
    keys |= {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with _process(command, {**os.environ, **keys}, r"127\.0\.0\.1:(\d+)") as port:
        yield Server(port, {**keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"})


@contextlib.contextmanager
def sftp(home: Path) -> Iterator[Server]:
    """A server that knows one key, and a home whose known_hosts knows the server."""
    import asyncssh

    ssh, served = home / ".ssh", home / "served"
    for folder in (ssh, served, served / "readonly"):
        folder.mkdir(parents=True)
    for name, path in (("host", home / "host"), ("renter", ssh / "id_ed25519")):
        key = asyncssh.generate_private_key("ssh-ed25519", comment=name)
        path.touch(mode=0o600)
        key.write_private_key(str(path))
        key.write_public_key(f"{path}.pub")
    command = [sys.executable, str(SFTP), str(home / "host"), str(ssh / "id_ed25519.pub"), str(served)]
    with _process(command, dict(os.environ), r"port (\d+)") as port:
        public = " ".join((home / "host.pub").read_text().split()[:2])
        (ssh / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
        yield Server(port, {"HOME": str(home), "SSH_AUTH_SOCK": ""}, served)


@contextlib.contextmanager
def _process(command: list[str], environment: dict[str, str], saying: str) -> Iterator[int]:
    """A server to its end; the number that `saying` finds in what it prints."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        assert process.stdout
        yield _said(process.stdout, re.compile(saying.encode()))
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def _said(stream: IO[bytes], saying: re.Pattern[bytes]) -> int:
    printed = []
    for line in stream:
        printed.append(line)
        if found := saying.search(line):
            # what it prints from now on must not fill the pipe
            threading.Thread(target=lambda: stream.read(), daemon=True).start()
            return int(found[1])
    raise AssertionError(b"".join(printed).decode("utf-8", "replace"))


class Wire:
    """A port on loopback that leads to another: cut after so many bytes towards the server, then dead until mended.

    `silent` leads nowhere: a connection is taken, and there is never a word.
    """

    def __init__(self, port: int, *, cut_after: int | None = None, silent: bool = False) -> None:
        self._to, self._left, self._silent = port, cut_after, silent
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def cut(self) -> bool:
        return self._left is not None and self._left <= 0

    def mend(self) -> None:
        self._left = None

    def cut_now(self) -> None:
        self._left = 0
        self._close_all()

    def close(self) -> None:
        self._close_all()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listening.accept()
            except OSError:
                return
            if self.cut:
                here.close()
                continue
            self._open.add(here)
            if self._silent:
                continue
            there = socket.create_connection(("127.0.0.1", self._to))
            self._open.add(there)
            for end in (here, there):  # as the ends themselves do: nobody waits to fill a packet
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass, args=(here, there, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(there, here, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 14):
                if counted and self._left is not None:
                    with self._lock:
                        self._left -= len(data)
                    if self.cut:
                        self._close_all()
                        return
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _close_all(self) -> None:
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()
