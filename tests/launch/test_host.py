"""The host as the probe sees it: places made small, full and forbidden for the purpose, limits, locale, clock."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.ladder import HostSeen
from fixtures.evidence.ladder import Place
from fixtures.evidence.ladder import Unseen
from fixtures.probe import host
from fixtures.probe import limits
from fixtures.probe import system
from tests.launch.written import alone
from tests.launch.written import as_somebody_else
from tests.launch.written import here
from tests.launch.written import program
from tests.launch.written import PYTHONS
from tests.launch.written import write
from tests.launch.written import Written


def seen_of(written: Written) -> HostSeen:
    """Everything that was written of the host, as the model has it."""
    for one in written.added.get("unseen", []):
        Unseen.model_validate(one)
    return HostSeen.model_validate(written.found["host"])


def place_of(written: Written, role: str) -> Place:
    (place,) = (place for place in seen_of(written).places if place.role == role)
    return place


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# -- places -----------------------------------------------------------------------------------------------


def test_a_healthy_place_can_be_written_and_nothing_is_left_behind(tmp_path: Path) -> None:
    place = place_of(here(host.observe, {"output": str(tmp_path)}), "output")
    assert (place.exists, place.errno, place.noexec, place.readonly) == (True, None, False, False)
    assert place.device == tmp_path.stat().st_dev
    assert 0 < place.free_bytes <= place.total_bytes
    assert place.filesystem
    assert listed(tmp_path) == []


def test_a_place_that_is_missing_is_seen_by_the_folder_in_which_it_would_be_made(tmp_path: Path) -> None:
    place = place_of(here(host.observe, {"output": str(tmp_path / "not" / "yet")}), "output")
    assert (place.exists, place.errno, place.device) == (False, None, tmp_path.stat().st_dev)
    assert listed(tmp_path) == []


def test_a_place_that_is_a_file_cannot_be_written_into(tmp_path: Path) -> None:
    write(tmp_path, {"output": "words"})
    place = place_of(here(host.observe, {"output": str(tmp_path / "output")}), "output")
    assert place.exists is False
    assert listed(tmp_path) == ["output"]


def test_a_place_that_hangs_does_not_take_the_others_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = host.look_at_place

    def looking(role: str, path: str, tables: Any) -> Any:
        if role == "copy":
            time.sleep(60)
        return look(role, path, tables)

    monkeypatch.setattr(host, "look_at_place", looking)
    monkeypatch.setattr(host, "PLACE_S", 0.5)
    written = here(host.observe, {"copy": "/net", "output": str(tmp_path)})
    assert place_of(written, "copy") == Place(role="copy", path="/net", exists=True, errno=errno.ETIMEDOUT)
    assert place_of(written, "output").errno is None


def _mounting_is_allowed() -> bool:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    command = ["unshare", "-m", "sh", "-c", "mount -t tmpfs x /mnt"]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


mounting = pytest.mark.skipif(
    not _mounting_is_allowed(), reason="mounting needs root, and a namespace of its own"
)


@pytest.fixture
def mounted(tmp_path: Path) -> Callable[..., Place]:
    """A place on a file system of its own, as one process and its children see it."""

    def look(options: str, before: str = "true") -> Place:
        folder = tmp_path / "mounted"
        folder.mkdir()
        script = f'mount -t tmpfs {options} none "$0" && ( {before} ) && exec "$@"'
        wrapped = ("unshare", "-m", "sh", "-c", script, str(folder))
        return place_of(alone("host", {"output": str(folder)}, wrapped=wrapped), "output")

    return look


@mounting
def test_a_healthy_file_system_of_its_own_is_told_with_its_kind_and_size(mounted: Callable) -> None:
    place = mounted("-o size=1m,nr_inodes=100")
    assert (place.errno, place.filesystem, place.total_bytes, place.free_bytes) == (
        None,
        "tmpfs",
        1 << 20,
        1 << 20,
    )
    assert (place.inodes_free, place.noexec, place.readonly) == (99, False, False)
    assert place.device != os.stat("/").st_dev


@mounting
def test_a_full_disk_is_found_by_writing(mounted: Callable) -> None:
    place = mounted("-o size=64k", 'head -c 64k /dev/zero > "$0/full"')
    assert (place.errno, place.free_bytes, place.total_bytes) == (errno.ENOSPC, 0, 64 << 10)


@mounting
def test_a_disk_without_inodes_is_full_with_space_left(mounted: Callable) -> None:
    place = mounted("-o size=1m,nr_inodes=2", ': > "$0/one"')
    assert (place.errno, place.free_bytes, place.inodes_free) == (errno.ENOSPC, 1 << 20, 0)


@mounting
def test_a_disk_from_which_nothing_can_be_run_is_told(mounted: Callable) -> None:
    place = mounted("-o noexec")
    assert (place.errno, place.noexec, place.readonly) == (None, True, False)


@mounting
def test_a_disk_that_is_read_only_is_told_with_its_errno(mounted: Callable) -> None:
    place = mounted("-o ro")
    assert (place.errno, place.noexec, place.readonly) == (errno.EROFS, False, True)


@mounting
def test_shared_memory_of_a_container_is_as_small_as_it_is(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=1m none /dev/shm && exec "$@"'
    wrapped = ("unshare", "-m", "sh", "-c", script, "sh")
    assert seen_of(alone("host", {}, wrapped=wrapped)).shm_bytes == 1 << 20
    whole = seen_of(alone("host", {}))
    assert whole.shm_bytes == shutil.disk_usage("/dev/shm").total > 1 << 20


def test_a_folder_of_somebody_else_is_refused() -> None:
    with as_somebody_else() as (folder, call):
        theirs = folder / "theirs"
        theirs.mkdir()
        theirs.chmod(0o555)
        assert call(lambda: host.look_at_place("output", str(theirs), []))["errno"] == errno.EACCES
        theirs.chmod(0o777)
        assert call(lambda: host.look_at_place("output", str(theirs), []))["errno"] is None
        assert listed(folder) == ["theirs"]


def test_of_mounts_over_each_other_the_last_one_counts(tmp_path: Path) -> None:
    lines = [
        "1 0 8:1 / / rw - ext4 /dev/sda rw",
        "2 1 0:5 / /mnt/my\\040disk rw - nfs4 server:/x rw",
        "3 1 0:6 / /mnt rw - xfs /dev/sdb rw",
        "4 1 0:7 / /mnt rw - overlay overlay rw",
    ]
    tables = host.mounts(str(write(tmp_path, {"proc/self/mountinfo": "\n".join(lines)})))
    kinds = {path: host._filesystem(path, tables) for path in ("/mnt/my disk/a", "/mnt/a", "/mntx", "/")}
    assert kinds == {"/mnt/my disk/a": "nfs4", "/mnt/a": "overlay", "/mntx": "ext4", "/": "ext4"}


# -- caches -----------------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without any of the variables; the home folder."""
    for name in (*host.CACHES, *host.MORE_CACHES, "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "ada")
    return tmp_path


def test_caches_are_where_their_programs_put_them(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host.caches() == {
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": f"{bare}/.cache",
        "HF_HOME": f"{bare}/.cache/huggingface",
        "TRITON_CACHE_DIR": f"{bare}/.triton/cache",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/torchinductor_ada",
        "PIP_CACHE_DIR": f"{bare}/.cache/pip",
    }
    for name, value in (
        ("XDG_CACHE_HOME", "/data"),
        ("TMPDIR", "/fast"),
        ("HF_HUB_CACHE", "/hub"),
        ("HF_HOME", ""),
    ):
        monkeypatch.setenv(name, value)
    assert host.caches() == {
        "TMPDIR": "/fast",
        "XDG_CACHE_HOME": "/data",
        "HF_HOME": "/data/huggingface",
        "TRITON_CACHE_DIR": f"{bare}/.triton/cache",
        "TORCHINDUCTOR_CACHE_DIR": "/fast/torchinductor_ada",
        "PIP_CACHE_DIR": "/data/pip",
        "HF_HUB_CACHE": "/hub",
    }


def test_a_tilde_that_no_shell_expanded_is_kept_as_given(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "tmp").mkdir()
    monkeypatch.chdir(bare)
    monkeypatch.setenv("TMPDIR", "~/tmp")
    place = place_of(here(host.observe, {}), "TMPDIR")
    assert (place.path, place.exists) == ("~/tmp", False)
    monkeypatch.setenv("TMPDIR", str(bare / "tmp"))
    place = place_of(here(host.observe, {}), "TMPDIR")
    assert (place.path, place.exists) == (f"{bare}/tmp", True)
    assert listed(bare) == ["tmp"]  # and none was made that is called ~


# -- limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "name"), [(resource.RLIMIT_NOFILE, "nofile"), (resource.RLIMIT_MEMLOCK, "memlock")]
)
def test_limits_are_those_of_this_process(which: int, name: str) -> None:
    def small() -> None:
        resource.setrlimit(which, (64, resource.getrlimit(which)[1]))

    soft = resource.getrlimit(which)[0]
    whole = -1 if soft == resource.RLIM_INFINITY else soft
    assert getattr(seen_of(alone("host", {}, preexec_fn=small)), name) == 64
    assert getattr(seen_of(alone("host", {})), name) == whole != 64


MEMINFO = {"proc/meminfo": "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    900 kB\n"}
V2 = {
    "proc/self/cgroup": "0::/a/b",
    "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
}
V1 = {
    "proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x",
    "proc/self/mountinfo": (
        "30 23 0:26 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "31 23 0:27 /docker/x /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct"
    ),
}


@pytest.mark.parametrize(
    ("files", "limit", "available"),
    [
        ({}, None, 900 << 10),
        ({**V2, "sys/fs/cgroup/a/b/memory.max": "max"}, None, 900 << 10),
        ({**V2, "sys/fs/cgroup/a/memory.max": str(100 << 10)}, 100 << 10, 900 << 10),
        (
            {
                **V2,
                "sys/fs/cgroup/a/memory.max": str(100 << 10),
                "sys/fs/cgroup/a/b/memory.max": str(200 << 10),
            },
            100 << 10,
            900 << 10,
        ),
        (
            {
                **V2,
                "sys/fs/cgroup/a/b/memory.max": str(500 << 10),
                "sys/fs/cgroup/a/b/memory.current": str(300 << 10),
                "sys/fs/cgroup/a/b/memory.stat": f"anon 1\ninactive_file {100 << 10}\n",
            },
            500 << 10,
            300 << 10,
        ),
        (
            {
                **V1,
                "sys/fs/cgroup/memory/memory.limit_in_bytes": str(400 << 10),
                "sys/fs/cgroup/memory/memory.usage_in_bytes": str(100 << 10),
            },
            400 << 10,
            300 << 10,
        ),
        ({**V1, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, None, 900 << 10),
    ],
    ids=["no groups", "v2 unlimited", "v2 above", "v2 both", "v2", "v1", "v1 unlimited"],
)
def test_memory_is_what_the_groups_allow_against_what_the_system_has(
    files: dict[str, str], limit: int | None, available: int, tmp_path: Path
) -> None:
    root = str(write(tmp_path, {**MEMINFO, **files}))
    assert limits.memory(root) == {
        "memory_system": 1000 << 10,
        "memory_limit": limit,
        "memory_available": available,
    }


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({**V2, "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        ({**V2, "sys/fs/cgroup/a/b/cpu.max": "250000 100000"}, 2.5),
        (
            {**V2, "sys/fs/cgroup/a/cpu.max": "100000 100000", "sys/fs/cgroup/a/b/cpu.max": "250000 100000"},
            1.0,
        ),
        ({**V2, "sys/fs/cgroup/a/b/cpu.max": "9900000 100000"}, None),
        (
            {
                **V1,
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            1.5,
        ),
        (
            {
                **V1,
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            None,
        ),
    ],
    ids=["no groups", "v2 unlimited", "v2", "v2 above", "v2 more than there are", "v1", "v1 unlimited"],
)
def test_processors_are_what_the_groups_allow_against_what_the_system_has(
    files: dict[str, str], limit: float | None, tmp_path: Path
) -> None:
    root = str(write(tmp_path, {"sys/devices/system/cpu/online": "0-3,8-11\n", **files}))
    assert limits.processors(root) == {"cpus_system": 8, "cpus_limit": limit}


def test_what_a_system_does_not_tell_is_unknown(tmp_path: Path) -> None:
    assert set(limits.memory(str(tmp_path)).values()) == {None}
    assert set(limits.processors(str(tmp_path)).values()) == {None}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor cannot be halved")
def test_processors_that_may_not_be_used_are_not_counted() -> None:
    def one() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    assert seen_of(alone("host", {}, preexec_fn=one)).cpus_limit == 1


# -- locale, clock, tools ---------------------------------------------------------------------------------

ASCII = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("python", PYTHONS)
def test_the_oldest_and_the_newest_python_tell_the_encoding_of_files(python: str) -> None:
    seen = seen_of(alone("host", {}, variables=ASCII, python=python))
    assert seen.encoding == "ANSI_X3.4-1968"
    seen = seen_of(alone("host", {}, variables={**ASCII, "PYTHONUTF8": "1"}, python=python))
    assert seen.encoding.lower() == "utf-8"


def test_a_clock_that_is_behind_shows_against_files_that_others_dated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(write(tmp_path, {"etc/hosts": "x", "etc/passwd": "x"}))
    right = host._clock(root)
    assert right["clock_behind_s"] == 0.0
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86_400 * 400)
    behind = host._clock(root)
    assert behind["clock_behind_s"] == pytest.approx(86_400 * 400, abs=86_400)
    assert behind["clock_s"] == now - 86_400 * 400


def test_the_newest_symbols_of_the_systems_library_are_compared_as_numbers(tmp_path: Path) -> None:
    write(
        tmp_path, {"usr/lib64/libstdc++.so.6": "GLIBCXX_3.4.9\0GLIBCXX_3.4.30\0GLIBCXX_DEBUG\0GLIBCXX_3.4\0"}
    )
    assert host.glibcxx(str(tmp_path)) == "3.4.30"
    assert host.glibcxx(str(tmp_path / "nowhere")) is None


def test_the_compiler_is_the_one_that_would_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert host.c_compiler() is None
    program(tmp_path, "cc", "exit 0")
    program(tmp_path, "gcc", "exit 0")
    assert host.c_compiler() == str(tmp_path / "gcc")
    monkeypatch.setenv("CC", "nothing-of-that-name -O2")
    assert host.c_compiler() is None


def test_the_cuda_compiler_is_the_one_that_would_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    program(tmp_path / "bin", "nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
    program(tmp_path / "home" / "bin", "nvcc", "echo 'Cuda compilation tools, release 11.8, V11.8.89'")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    assert host.nvcc() == "12.4"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert host.nvcc() == "11.8"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    assert host.nvcc() is None
    program(tmp_path / "home" / "bin", "nvcc", "head -c 100 /dev/urandom; exit 1")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert host.nvcc() is None


def test_a_cuda_compiler_that_hangs_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "nvcc", "exec sleep 60")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(host, "NVCC_S", 0.5)
    seen = seen_of(here(host.observe, {}))
    assert (seen.nvcc, seen.compiler) == (None, host.c_compiler())


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1"}, "kubernetes"),
        ({"proc/1/cgroup": "0::/init.scope"}, None),
        ({"proc/1/cgroup": "1:name=systemd:/lxc/box"}, "lxc"),
    ],
)
def test_a_container_is_known_by_its_marks(files: dict[str, str], kind: str | None, tmp_path: Path) -> None:
    assert system.container(str(write(tmp_path, files))) == kind


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        ({}, None),
        ({"proc/cpuinfo": "processor : 0\nflags\t\t: fpu hypervisor sse\n"}, True),
        (
            {
                "proc/cpuinfo": "processor : 0\nflags\t\t: fpu sse\n",
                "sys/class/dmi/id/sys_vendor": "Amazon EC2",
            },
            False,
        ),
        ({"sys/class/dmi/id/product_name": "KVM Virtual Machine"}, True),
        ({"sys/class/dmi/id/sys_vendor": "NVIDIA", "sys/class/dmi/id/product_name": "DGXH100"}, False),
    ],
    ids=["unknown", "virtual", "metal of a cloud", "ARM, virtual", "ARM, metal"],
)
def test_a_virtual_machine_is_known_by_its_processors_or_its_firmware(
    files: dict[str, str], virtual: bool | None, tmp_path: Path
) -> None:
    assert host.virtual_machine(str(write(tmp_path, files))) is virtual


def test_what_cannot_be_seen_is_said_with_who_could_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: dict[str, Any] = {"error": None, "events": []}
    monkeypatch.setattr(host.kernel_log, "read", lambda root: log)
    root = write(tmp_path, {"proc/cpuinfo": "flags : fpu"})
    assert "unseen" not in here(host.observe, {}, str(root)).added
    log["error"] = "/dev/kmsg: Operation not permitted"
    (one,) = here(host.observe, {}, str(root)).added["unseen"]
    assert (one["why"], one["who"]) == ("/dev/kmsg: Operation not permitted", "root on this machine")
    write(root, {".dockerenv": ""})
    (one,) = here(host.observe, {}, str(root)).added["unseen"]
    assert one["who"] == "the provider, on the host"


def test_this_machine_is_seen_whole() -> None:
    seen = seen_of(here(host.observe, {}))
    assert seen.root is (os.geteuid() == 0)
    assert seen.memory_system >= seen.memory_available > 0
    assert seen.cpus_system >= len(os.sched_getaffinity(0))
    assert (seen.kernel, seen.clock_behind_s is None) == (os.uname().release, False)
    assert [place.role for place in seen.places][: len(host.CACHES)] == list(host.CACHES)
    assert sys.platform != "linux" or seen.kernel_log is not None
