"""A whole SFTP server over SSH, asyncssh's, started by servers.py: HOST_KEY AUTHORIZED_KEYS FOLDER."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import asyncssh


class Served(asyncssh.SFTPServer):
    """FOLDER as the root; nothing can be made or changed below its folder readonly."""

    def __init__(self, channel: Any) -> None:
        super().__init__(channel, chroot=sys.argv[3].encode())

    def open(self, path: bytes, flags: int, attributes: asyncssh.SFTPAttrs) -> object:
        if flags & asyncssh.FXF_WRITE:
            self._refuse(path)
        return super().open(path, flags, attributes)

    def mkdir(self, path: bytes, attributes: asyncssh.SFTPAttrs) -> None:
        self._refuse(path)
        super().mkdir(path, attributes)

    def _refuse(self, path: bytes) -> None:
        if path.startswith(b"/readonly"):
            raise asyncssh.SFTPPermissionDenied("Permission denied")


async def serve() -> None:
    listening = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[sys.argv[1]],
        authorized_client_keys=sys.argv[2],
        sftp_factory=Served,
    )
    print(f"port {listening.get_port()}", flush=True)
    await listening.wait_closed()


if __name__ == "__main__":
    asyncio.run(serve())
