"""The kernel's log: which lines count, and who may read it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.ladder import KernelEvent
from fixtures.evidence.ladder import KernelLog
from fixtures.probe import kernel_log
from tests.launch.written import program
from tests.launch.written import ROOT

# fmt: off
LINES: list[tuple[str, str, int | None, str | None]] = [
    ("[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, name=<unknown>, GPU has fallen off the bus.", "xid", 79, "0000:3b:00"),
    ("nvrm:  XID ( pci:0000:3B:00 ) : 48, pid=1, DBE", "xid", 48, "0000:3b:00"),
    ("NVRM: Xid (PCI:0000:c1:00 GPU-I:05): 94, pid=7194, Contained: LTC", "xid", 94, "0000:c1:00"),
    ("kernel: NVRM: Xid (0000:01:00): 31, Ch 00000010, engmask 00000101", "xid", 31, "0000:01:00"),
    ("NVRM: Xid (PCI:0000:cb:00): 119, Timeout after 45s of waiting for RPC from GPU0 GSP!", "xid", 119, "0000:cb:00"),
    ("NVRM: GPU at 0000:01:00.0 has fallen off the bus.", "fell_off", None, "0000:01:00.0"),
    ("amdgpu 0000:83:00.0: amdgpu: device lost from bus!", "fell_off", None, "0000:83:00.0"),
    ("amdgpu 0000:c1:00.0: 2 uncorrectable hardware errors detected in xgmi_wafl block", "xgmi", None, "0000:c1:00.0"),
    ("amdgpu 0000:05:00.0: amdgpu: XGMI: Set topology failure on device 1", "xgmi", None, "0000:05:00.0"),
    ("amdgpu 0000:0b:00.0: amdgpu: 4 uncorrectable hardware errors detected in umc block", "ras", None, "0000:0b:00.0"),
    ("amdgpu 0000:83:00.0: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT)", "ras", None, "0000:83:00.0"),
    ("Memory cgroup out of memory: Killed process 4242 (python) total-vm:90kB", "oom_kill", None, None),
    ("Out of memory: Killed process 17 (python3), UID 0", "oom_kill", None, None),
    ("NVRM: API mismatch: the client has the version 570.124.06, but", "other", None, None),
    ("amdgpu 0000:0b:00.0: amdgpu: 1 correctable hardware errors detected in umc block", "other", None, "0000:0b:00.0"),
]
HARMLESS = [
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build",
    "nvidia 0000:3b:00.0: enabling device (0140 -> 0142)",
    "amdgpu 0000:0b:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:0b:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:0b:00.0: amdgpu: RAS: optional ras ta ucode is not available",
    "amdgpu 0000:05:00.0: amdgpu: XGMI: Add node 0, hive 0x1234.",
    "systemd[1]: Started Out Of Memory Killer daemon.",
]
# fmt: on


@pytest.mark.parametrize(("line", "kind", "number", "pci"), LINES)
def test_a_line_of_a_fault_is_read(line: str, kind: str, number: int | None, pci: str | None) -> None:
    found = kernel_log.events(["before", line, "after"])
    assert [KernelEvent.model_validate(event) for event in found] == [
        KernelEvent.model_validate({"kind": kind, "number": number, "pci": pci, "text": line})
    ]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_of_a_healthy_machine_is_none(line: str) -> None:
    assert kernel_log.events([line]) == []


def test_a_message_in_three_lines_has_the_address_of_the_first() -> None:
    lines = [
        "NVRM: The NVIDIA GPU 0000:b1:00.0",
        "               NVRM: (PCI ID: 10de:20b5) installed in this system has",
        "               NVRM: fallen off the bus and is not responding to commands.",
    ]
    (event,) = kernel_log.events(lines)
    assert (event["kind"], event["pci"]) == ("fell_off", "0000:b1:00.0")
    (event,) = kernel_log.events([lines[0], "eth0: up", "eth1: up", "eth2: up", lines[2]])
    assert event["pci"] is None  # too far away to be of the same message


def test_a_storm_is_kept_by_its_first_and_last_lines() -> None:
    storm = [f"[{second}.0] NVRM: Xid (PCI:0000:3b:00): 31, Ch {second}" for second in range(1000)]
    found = kernel_log.events([*storm, "NVRM: Xid (PCI:0000:3b:00): 79, gone"])
    assert [event["text"] for event in found[:-1]] == storm[:3] + storm[-3:]
    assert found[-1]["number"] == 79


# -- who may read it --------------------------------------------------------------------------------------


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Leaves one source, and lets the others answer as they do where rights are missing."""

    def leave(name: str) -> None:
        def refuse(*arguments: Any) -> list[str]:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), "refused")

        for other in {"_kmsg", "_system_call", "_program"} - {name}:
            monkeypatch.setattr(kernel_log, other, refuse)

    return leave


def test_records_of_the_device_are_read_as_dmesg_prints_them(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text(
        "6,339,12500000,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
        " SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"
        "3,340,13000000,-;NVRM: The NVIDIA GPU 0000:b1:00.0\\x0aNVRM: fallen off the bus and is not responding\n"
    )
    read = KernelLog.model_validate(kernel_log.read(str(tmp_path)))
    assert read.error is None
    assert [(event.kind, event.pci) for event in read.events] == [
        ("xid", "0000:3b:00"),
        ("fell_off", "0000:b1:00.0"),
    ]
    assert read.events[0].text == "[   12.500000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


def test_an_empty_log_is_another_answer_than_a_refused_one(tmp_path: Path, only: Any) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text("")
    assert kernel_log.read(str(tmp_path)) == {"error": None, "events": []}
    only("")
    assert kernel_log.read(str(tmp_path)) == {"error": "refused: Operation not permitted", "events": []}


@pytest.mark.parametrize(
    ("body", "error", "kinds"),
    [
        ("echo 'NVRM: Xid (PCI:0000:3b:00): 48, DBE'", None, ["xid"]),
        ("echo all is well", None, []),
        (
            "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1",
            "refused: Operation not permitted",
            [],
        ),
        ("exit 3", "refused: Operation not permitted", []),
        ("printf '\\377\\376\\000rubbish'", None, []),
    ],
    ids=["a fault", "healthy", "refused", "failing", "rubbish"],
)
def test_the_program_is_asked_where_the_rest_is_refused(
    body: str, error: str | None, kinds: list[str], only: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "dmesg", body)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    only("_program")
    read = kernel_log.read()
    assert (read["error"], [event["kind"] for event in read["events"]]) == (error, kinds)


def test_a_program_that_hangs_is_left(only: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "dmesg", "exec sleep 60")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(kernel_log, "DEADLINE_S", 0.3)
    with pytest.raises(OSError, match=r"no end within 0\.3 s"):
        kernel_log._program("/")


def _read_without_rights() -> subprocess.CompletedProcess[str]:
    code = "from fixtures.probe import kernel_log as k; print(k.read()['error'])"
    return subprocess.run(
        ["unshare", "-r", sys.executable, "-c", code],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def _in_a_namespace_reading_is_refused() -> bool:
    if not shutil.which("unshare") or not shutil.which("dmesg"):
        return False
    done = subprocess.run(["unshare", "-r", "dmesg"], capture_output=True, timeout=60, check=False)
    return done.returncode != 0 and b"not permitted" in done.stderr


@pytest.mark.skipif(
    not _in_a_namespace_reading_is_refused(), reason="nothing here takes the right to read the log"
)
def test_without_the_right_to_read_it_the_answer_is_that() -> None:
    done = _read_without_rights()
    assert done.stdout.strip().endswith(": Operation not permitted"), done


@pytest.mark.skipif(
    not os.access("/dev/kmsg", os.R_OK) or os.geteuid() != 0, reason="the log is not for us to read"
)
def test_with_the_right_to_read_it_there_is_no_error() -> None:
    assert kernel_log.read()["error"] is None
    assert kernel_log._system_call("/")  # the other way to the same
