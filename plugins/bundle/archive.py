"""A .tar.gz that is the same bytes for the same content, and that only its owner can read."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from fixtures.evidence.errors import InputError


def write(file: Path, folder: str, created: str, content: Mapping[str, bytes]) -> None:
    """`content` below `folder`, by name and with the time at which the trial was `created`.

    Raises:
        InputError: `file` is there already, as whatever.
        OSError: it cannot be written; nothing of it stays.
    """
    data = _packed(folder, _seconds(created), content)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        found = "a folder" if file.is_dir() else "a file that is there already"
        raise InputError(file, "", found, "a new name: nothing is overwritten") from None
    try:
        with open(descriptor, "wb") as stream:
            os.fchmod(descriptor, 0o600)  # whatever the umask says
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            file.unlink()
        raise


def _packed(folder: str, seconds: int, content: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=seconds) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in sorted(content):
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size, info.mtime, info.mode = len(content[name]), seconds, 0o600
            tar.addfile(info, io.BytesIO(content[name]))
    return buffer.getvalue()


def _seconds(created: str) -> int:
    try:
        moment = int(datetime.strptime(created, "%Y-%m-%dT%H:%M:%S%z").timestamp())
    except ValueError:
        return 0
    return moment if 0 <= moment < 1 << 32 else 0
