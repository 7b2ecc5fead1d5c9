"""STO: places that will be written, locale and clock, at the edges of what is well."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from plugins.catalogue import matches
from tests.catalogue.patched import failing
from tests.catalogue.patched import host
from tests.catalogue.patched import lines
from tests.catalogue.patched import machine
from tests.catalogue.patched import named
from tests.catalogue.patched import places
from tests.catalogue.patched import saying

GIB = 1 << 30
BASE = "h100-sxm"


@pytest.mark.parametrize(
    ("facts", "ids"),
    [
        ({"free_bytes": GIB - 1}, ["STO-01-LITTLE"]),
        ({"free_bytes": GIB}, []),
        ({"free_bytes": 200 * GIB, "total_bytes": 250 * GIB}, []),  # the system disk, with room
        ({"errno": errno.ENOSPC, "free_bytes": 0}, ["STO-01"]),
        ({"errno": errno.EDQUOT}, ["STO-01"]),
        ({"inodes_free": 0}, ["STO-01-LITTLE"]),
        ({"inodes_free": 1000}, []),
        ({"inodes_free": None}, []),  # btrfs and its like do not count them
        ({"free_bytes": None, "inodes_free": None}, []),
    ],
    ids=str,
)
def test_a_place_is_full_because_it_says_so_and_has_little_by_bytes_or_files(
    facts: dict[str, Any], ids: list[str]
) -> None:
    assert named(machine(launch=places(BASE, "HF_HOME", **facts))) == ids


def test_how_much_the_copy_needs_is_known_and_told_by_its_own_check() -> None:
    assert named(machine(launch=places(BASE, "copy", free_bytes=GIB - 1))) == []
    assert named(machine(launch=places(BASE, "copy", errno=errno.ENOSPC))) == ["STO-01"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("OSError: [Errno 28] No space left on device: '/root/.cache/huggingface'", ["STO-01"]),
        ("OSError: [errno  28] no space left on device", ["STO-01"]),
        ("posix_fallocate failed : No space left on device", ["MEM-08"]),
        (
            "UserWarning: Not enough free disk space to download the file. The expected file size is: 99 MB.",
            ["STO-02"],
        ),
        ("OSError: [Errno 280] something else", []),
    ],
)
def test_a_full_disk_is_told_by_its_number(text: str, ids: list[str]) -> None:
    assert named(machine(launch=saying(text))) == ids


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_where_results_go_must_be_writable(number: int) -> None:
    assert named(machine(launch=places(BASE, "output", errno=number))) == ["STO-07"]
    assert named(machine(launch=places(BASE, "TMPDIR", errno=number))) == ["STO-07"]


def test_a_cache_of_weights_may_be_read_only() -> None:
    assert named(machine(launch=places(BASE, "HF_HOME", errno=errno.EROFS, readonly=True))) == []


def test_a_cache_that_is_not_there_yet_is_well() -> None:
    assert named(machine(launch=places(BASE, "HF_HOME", exists=False))) == []


MAPPED = "ImportError: /tmp/x.so: failed to map segment from shared  object: Operation not permitted"


def test_noexec_is_a_fault_where_something_was_to_be_run_from_there() -> None:
    noexec = places(BASE, "TMPDIR", noexec=True)
    assert named(machine(launch=failing("torch.compile", MAPPED) | noexec)) == ["STO-06"]
    assert named(machine(launch=saying(MAPPED))) == ["STO-06"]


def test_noexec_where_nothing_has_compiled_yet_is_said_and_stops_nothing() -> None:
    found = matches(machine(launch=places(BASE, "TMPDIR", noexec=True)))
    assert [(match.fault.id, match.fault.blocks) for match in found] == [("STO-06-NOEXEC", False)]


@pytest.mark.parametrize("role", ["output", "copy", "HF_HOME"])
def test_noexec_on_a_volume_of_data_is_well(role: str) -> None:
    assert named(machine(launch=places(BASE, role, noexec=True))) == []


@pytest.mark.parametrize(
    ("variables", "literal"),
    [
        ({"TMPDIR": "~/tmp"}, True),
        ({"HF_DATASETS_CACHE": "~/.cache/datasets"}, True),
        ({"HF_HOME": "~/hf"}, False),  # its library puts the home in its place
        ({"TMPDIR": "/root/~/tmp"}, False),
        ({"TMPDIR": "/root/tmp"}, False),
        ({"TMPDIR": None}, False),
    ],
)
def test_a_tilde_that_no_shell_has_read(variables: dict[str, str | None], literal: bool) -> None:
    assert named(machine(launch={"variables": variables})) == (["STO-11"] if literal else [])


def test_a_tilde_is_seen_in_the_places_where_the_variables_are_not_shown() -> None:
    assert named(machine(launch=places(BASE, "TMPDIR", path="~/tmp", exists=False))) == ["STO-11"]


@pytest.mark.parametrize(
    ("encoding", "other"),
    [
        ("utf-8", False), ("UTF-8", False), ("utf8", False), ("UTF_8", False), (None, False),
        ("ANSI_X3.4-1968", True), ("US-ASCII", True), ("ISO-8859-1", True), ("utf-16", True),
    ],
)  # fmt: skip
def test_a_locale_is_utf_8_however_it_is_written(encoding: str | None, other: bool) -> None:
    assert named(machine(launch=host(encoding=encoding))) == (["STO-08"] if other else [])


@pytest.mark.parametrize(("behind", "wrong"), [(299.0, False), (300.0, True), (0.0, False), (None, False)])
def test_a_clock_may_be_some_minutes_behind(behind: float | None, wrong: bool) -> None:
    assert named(machine(launch=host(clock_behind_s=behind))) == (["STO-09"] if wrong else [])


def test_who_can_set_a_clock_decides() -> None:
    late = host(clock_behind_s=86400.0)
    answers = [matches(machine(place=place, launch=late))[0] for place in ("root", "container")]
    seen = [machine(place=place, launch=late) for place in ("root", "container")]
    assert [one.fault.answer(where).decision for one, where in zip(answers, seen, strict=True)] == [
        "fix",
        "reconfigure",
    ]


def test_a_certificate_that_is_not_valid_yet_is_the_clocks() -> None:
    assert named(
        machine(launch=saying("SSLError: certificate verify failed: certificate is not yet valid"))
    ) == ["STO-09"]
    assert named(machine(launch=saying("SSLError: certificate has expired"))) == []


def test_results_on_a_containers_own_disk_are_said_and_stop_nothing() -> None:
    found = matches(machine(place="container", launch=places(BASE, "output", filesystem="overlay")))
    assert [(match.fault.id, match.fault.blocks) for match in found] == [("STO-04", False)]


def test_an_overlay_is_no_containers_disk_where_there_is_no_container() -> None:
    assert named(machine(place="root", launch=places(BASE, "output", filesystem="overlay"))) == []


def test_a_cache_on_a_containers_own_disk_can_be_had_again() -> None:
    assert (
        lines("STO-04", machine(place="container", launch=places(BASE, "HF_HOME", filesystem="overlay")))
        == []
    )


@pytest.mark.parametrize(
    ("filesystem", "far"),
    [
        ("nfs4", True),
        ("fuse.mfs", True),
        ("ceph", True),
        ("ext4", False),
        ("fuse.fuse-overlayfs", False),
        (None, False),
    ],
)
def test_weights_of_another_machine_are_said(filesystem: str | None, far: bool) -> None:
    assert named(machine(launch=places(BASE, "HF_HOME", filesystem=filesystem))) == (
        ["STO-05"] if far else []
    )


def test_results_on_a_network_volume_are_well() -> None:
    assert named(machine(launch=places(BASE, "output", filesystem="nfs4"))) == []
