"""STO: the places that will be written, the clock and the locale."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from fixtures.evidence.ladder import Place
from plugins.catalogue.extensions import told
from plugins.catalogue.fault import Answer
from plugins.catalogue.fault import Fault
from plugins.catalogue.seen import Seen
from plugins.catalogue.signatures import any_of
from plugins.catalogue.signatures import fact
from plugins.catalogue.signatures import facts
from plugins.catalogue.signatures import place
from plugins.catalogue.signatures import said
from plugins.catalogue.signatures import system_error
from plugins.catalogue.signatures import unless

#: less free than this holds neither a model nor one of torch's own packages; who needs none of these needs less
LITTLE_BYTES = 1 << 30
#: a small model has thousands of files, and an environment more
FEW_INODES = 1000
#: certificates and signatures bear this much, and little more
CLOCK_S = 300.0

#: where results stay, and the copy of them
KEPT = ("output", "copy")
#: where libraries are written and then mapped as programs are
COMPILED = ("TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")
WEIGHTS = ("HF_HOME", "HF_HUB_CACHE")
#: variables whose programs take a ~ as a name; those of HF_HOME and TORCH_HOME put the home in its place
LITERAL = (
    "TMPDIR", "XDG_CACHE_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "TRANSFORMERS_CACHE", "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "PIP_CACHE_DIR",
)  # fmt: skip
#: a container's own layers
LAYERS = ("overlay", "overlayfs", "aufs", "fuse-overlayfs", "fuse.fuse-overlayfs")
#: file systems that ask another machine; fuse.* too, but for a container's layers
NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "lustre",
    "9p",
    "beegfs",
    "glusterfs",
    "gpfs",
    "afs",
)


def _is_full(place: Place) -> bool:
    return place.errno in (errno.ENOSPC, errno.EDQUOT)


def _has_little(place: Place) -> bool:
    """Of the copy its own check tells: how much a trial needs is known."""
    little = place.free_bytes is not None and place.free_bytes < LITTLE_BYTES
    few = place.inodes_free is not None and place.inodes_free < FEW_INODES
    return (little or few) and not _is_full(place) and place.role != "copy"


def _room(one: Place) -> str:
    room = "unknown" if one.free_bytes is None else f"{one.free_bytes / 2**30:.1f} GiB"
    files = "" if one.inodes_free is None else f", room for {one.inodes_free} more files"
    refused = f": errno {one.errno} {os.strerror(one.errno)}" if one.errno else ""
    return f"{one.role} {one.path}{refused}, {room} free{files}"


def full(seen: Seen) -> Iterator[str]:
    yield from map(_room, filter(_is_full, seen.host.places))


def little(seen: Seen) -> Iterator[str]:
    yield from map(_room, filter(_has_little, seen.host.places))


def literal_tilde(seen: Seen) -> Iterator[str]:
    places = {one.role: one.path for one in seen.host.places if one.role in LITERAL}
    variables = {name: value for name, value in seen.variables.items() if name in LITERAL and value}
    for name, path in {**places, **variables}.items():
        if path and path.startswith("~"):
            yield f"{name}={path}: a folder whose name is ~"


def own_disk(seen: Seen) -> Iterator[str]:
    """What is to stay, in a container's own layers."""
    if seen.inventory.host.container or seen.host.container:
        for one in seen.host.places:
            if one.role in KEPT and one.filesystem in LAYERS:
                yield f"{one.role} {one.path} is on {one.filesystem}, the container's own disk"


def _is_far(place: Place) -> bool:
    kind = (place.filesystem or "").casefold()
    return kind in NETWORK or (kind.startswith("fuse.") and kind not in LAYERS)


def other_encoding(seen: Seen) -> str | None:
    encoding = seen.host.encoding
    if not encoding or encoding.casefold().replace("-", "").replace("_", "") in ("utf8", "cp65001"):
        return None
    return f"files are read and written as {encoding} unless a program says otherwise"


def clock_behind(seen: Seen) -> str | None:
    behind = seen.host.clock_behind_s
    if behind is None or behind < CLOCK_S:
        return None
    return f"the clock is at least {behind:.0f} s behind: a file of the system is newer than now"


_MAPPED = told(r"failed to map segment from shared object")

FAULTS = [
    Fault(
        id="STO-06",
        step="extensions",
        signature=_MAPPED,
        cause="a library was written where nothing may be run (noexec), and cannot be loaded from there",
        root=Answer("fix", "TMPDIR: a folder on a file system that is mounted without noexec"),
        container=Answer("fix", "TMPDIR: a folder on a file system that is mounted without noexec"),
        confirm="findmnt shows noexec where TMPDIR or the cache of triton is, and with another TMPDIR it loads",
        source="https://github.com/LostRuins/koboldcpp/issues/1517",
    ),
    Fault(
        id="STO-06-NOEXEC",
        step="host",
        signature=unless(
            place("{0.role} {0.path} is mounted noexec", lambda one: one.noexec is True, *COMPILED), _MAPPED
        ),
        cause="libraries that are compiled while the application runs would be written where nothing may be run",
        root=Answer("fix", "TMPDIR: a folder on a file system that is mounted without noexec"),
        container=Answer("fix", "TMPDIR: a folder on a file system that is mounted without noexec"),
        confirm="findmnt shows noexec where TMPDIR or the cache of triton is",
        source="https://github.com/mtuqorg/mtuq/issues/253",
        blocks=False,  # an application that compiles nothing does not meet it
    ),
    Fault(
        id="STO-07",
        step="host",
        signature=place(
            "{0.role} {0.path} cannot be written: errno {0.errno}",
            lambda one: one.errno in (errno.EPERM, errno.EACCES, errno.EROFS),
            *KEPT,
            "TMPDIR",
        ),
        cause="a place that will be written is mounted read-only, or belongs to another user",
        root=Answer("fix", "the mount or the owner of that place, or another place"),
        container=Answer("fix", "the mount or the owner of that place, or another place"),
        confirm="touch a file there: Read-only file system or Permission denied",
        source="https://man7.org/linux/man-pages/man2/open.2.html",
    ),
    Fault(
        id="STO-11",
        step="host",
        signature=facts(literal_tilde),
        cause="a variable holds a literal ~, which no shell has turned into the home folder: files go into a folder of "
        "that name, or the variable is passed over without a word",
        root=Answer("fix", "the variable: its path written out, without ~"),
        container=Answer("fix", "the variable: its path written out, without ~"),
        confirm="a folder named ~ appears where the application was started",
        source="https://github.com/huggingface/lerobot/issues/59",
    ),
    Fault(
        id="STO-01",
        step="host",
        signature=any_of(
            facts(full),
            # a full /dev/shm says the same: MEM-08
            unless(
                any_of(system_error(errno.ENOSPC), said(r"no space left on device")),
                said(r"/dev/shm|posix_fallocate"),
            ),
        ),
        cause="a place that will be written is on a file system that is full, as caches in the home folder of a small "
        "system disk are",
        root=Answer(
            "fix", "HF_HOME, TMPDIR or the output, whichever it is: a folder on the disk that has room"
        ),
        container=Answer(
            "fix", "HF_HOME, TMPDIR or the output, whichever it is: a folder on the disk that has room"
        ),
        confirm="df -h and df -i for that folder",
        source="https://github.com/hiyouga/LlamaFactory/issues/275",
    ),
    Fault(
        id="STO-01-LITTLE",
        step="host",
        signature=facts(little),
        cause="a place that will be written has little room: enough for a pilot, and not for a model's download",
        root=Answer(
            "fix", "HF_HOME, TMPDIR or the output, whichever it is: a folder on the disk that has room"
        ),
        container=Answer(
            "fix", "HF_HOME, TMPDIR or the output, whichever it is: a folder on the disk that has room"
        ),
        confirm="df -h and df -i for that folder",
        source="https://github.com/hiyouga/LlamaFactory/issues/275",
        blocks=False,
    ),
    Fault(
        id="STO-02",
        step="host",
        signature=said(r"not enough free disk space to download"),
        cause="the disk has less room than the download needs: it is only warned of, and the model stays incomplete",
        root=Answer("fix", "the room on that disk: 1.2 times the model, or HF_HOME on a larger one"),
        container=Answer("fix", "the room on that disk: 1.2 times the model, or HF_HOME on a larger one"),
        confirm="fewer files, or smaller ones, than the model's index names",
        source="https://github.com/huggingface/huggingface_hub/issues/2742",
    ),
    Fault(
        id="STO-08",
        step="host",
        signature=fact(other_encoding),
        cause="the locale is not UTF-8: what is read or written without a named encoding fails, or changes",
        root=Answer("fix", "PYTHONUTF8=1 for the application"),
        container=Answer("fix", "PYTHONUTF8=1 for the application"),
        confirm="locale.getpreferredencoding(False) is not utf-8 in its interpreter",
        source="https://github.com/huggingface/datasets/issues/4099",
    ),
    Fault(
        id="STO-09",
        step="host",
        signature=any_of(fact(clock_behind), said(r"certificate is not yet valid")),
        cause="the machine's clock is behind, so certificates are not valid yet and downloads fail",
        root=Answer("fix", "the clock: set it, and let it be kept (timedatectl set-ntp true)"),
        container=Answer("reconfigure", "the host: its clock is wrong, and no container may set it"),
        confirm="date -u against the Date line of any web server",
        source="https://github.com/huggingface/transformers/issues/8690",
    ),
    Fault(
        id="STO-04",
        step="host",
        signature=facts(own_disk),
        cause="results are on the container's own disk, which is emptied when the container is stopped",
        root=Answer("fix", "the output: a folder on the volume"),
        container=Answer("fix", "the output: a folder on the volume"),
        confirm="a file that is written there is gone after a stop and start, and one on the volume is not",
        source="https://docs.runpod.io/pods/storage",
        blocks=False,  # it computes all the same, and the copy may be elsewhere
    ),
    Fault(
        id="STO-05",
        step="host",
        signature=place(
            "{0.role} {0.path} is on {0.filesystem}, a file system of another machine", _is_far, *WEIGHTS
        ),
        cause="the weights are on a network file system, and are mapped page by page: loading can take many times as "
        "long as copying them",
        root=Answer("fix", "the weights: copied to a local disk before they are loaded"),
        container=Answer("fix", "the weights: copied to a local disk before they are loaded"),
        confirm="dd reads the file at more than five times the rate at which the model loads",
        source="https://github.com/safetensors/safetensors/issues/562",
        blocks=False,  # slow is not wrong, and how slow only a measurement tells
    ),
]
