"""What may be used of the host's memory, read from recorded machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures import cgroup

GIB = 1 << 30
NO_LIMIT = "9223372036854771712\n"
MEMINFO = f"MemTotal:       {64 * GIB >> 10} kB\nMemFree:  1 kB\n"
V1_MOUNT = "35 31 0:31 {part} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V2_MOUNT = "41 31 0:38 {part} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
EVENTS = "low 0\nhigh 0\nmax 12\noom 3\noom_kill {kills}\n"

#: files below the root; the limit and the end of the file that says it; how many were killed
MACHINES: dict[str, tuple[dict[str, str], int | None, str | None, int | None]] = {
    "version 2, a limit of its own": (
        {
            "proc/self/cgroup": "0::/user.slice/job\n",
            "proc/self/mountinfo": OTHER + V2_MOUNT.format(part="/"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/user.slice/job/memory.max": f"{8 * GIB}\n",
            "sys/fs/cgroup/user.slice/job/memory.events": EVENTS.format(kills=2),
            "sys/fs/cgroup/user.slice/memory.max": "max\n",
        },
        8 * GIB,
        "/sys/fs/cgroup/user.slice/job/memory.max",
        2,
    ),
    "version 2, a smaller limit above": (
        {
            "proc/self/cgroup": "0::/user.slice/job\n",
            "proc/self/mountinfo": V2_MOUNT.format(part="/"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/user.slice/job/memory.max": f"{8 * GIB}\n",
            "sys/fs/cgroup/user.slice/memory.max": f"{4 * GIB}\n",
        },
        4 * GIB,
        "/sys/fs/cgroup/user.slice/memory.max",
        None,
    ),
    "version 2, no limit but the machine": (
        {
            "proc/self/cgroup": "0::/job\n",
            "proc/self/mountinfo": V2_MOUNT.format(part="/"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/job/memory.max": "max\n",
            "sys/fs/cgroup/job/memory.events": EVENTS.format(kills=0),
        },
        64 * GIB,
        "/proc/meminfo",
        0,
    ),
    "version 2, a container that sees itself as the root": (
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNT.format(part="/"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory.max": f"{16 * GIB}\n",
            "sys/fs/cgroup/memory.events": EVENTS.format(kills=1),
            "proc/vmstat": "oom_kill 99\n",
        },
        16 * GIB,
        "/sys/fs/cgroup/memory.max",
        1,
    ),
    "version 2, the machine's own outermost group": (
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNT.format(part="/"),
            "proc/meminfo": MEMINFO,
            "proc/vmstat": "pgfault 1\noom_kill 5\n",
        },
        64 * GIB,
        "/proc/meminfo",
        5,
    ),
    "version 2, a group outside what the container may see": (
        {
            "proc/self/cgroup": "0::/../../other\n",
            "proc/self/mountinfo": V2_MOUNT.format(part="/"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory.max": f"{16 * GIB}\n",
        },
        16 * GIB,
        "/sys/fs/cgroup/memory.max",
        None,
    ),
    "version 1, a container under the name that the host gives it": (
        {
            "proc/self/cgroup": "5:cpu:/docker/c0ffee\n4:memory:/docker/c0ffee\n",
            "proc/self/mountinfo": V1_MOUNT.format(part="/docker/c0ffee"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GIB}\n",
            "sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        },
        2 * GIB,
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        3,
    ),
    "version 1, a limit above that the container does not see": (
        {
            "proc/self/cgroup": "4:cpu,memory:/docker/c0ffee\n",
            "proc/self/mountinfo": V1_MOUNT.format(part="/docker/c0ffee"),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT,
            "sys/fs/cgroup/memory/memory.stat": f"cache 1\nhierarchical_memory_limit {GIB}\n",
        },
        GIB,
        "/sys/fs/cgroup/memory/memory.stat",
        None,
    ),
    "version 1, no limit": (
        {
            "proc/self/cgroup": "4:memory:/process_api/x\n0::/\n",
            "proc/self/mountinfo": V1_MOUNT.format(part="/")
            + V2_MOUNT.format(part="/").replace("/cgroup ", "/cgroup/unified "),
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory/process_api/x/memory.limit_in_bytes": NO_LIMIT,
            "sys/fs/cgroup/memory/process_api/x/memory.oom_control": "oom_kill 0\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT,
            "proc/vmstat": "oom_kill 7\n",
        },
        64 * GIB,
        "/proc/meminfo",
        0,
    ),
    "no control groups to be seen": (
        {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": OTHER, "proc/meminfo": MEMINFO},
        64 * GIB,
        "/proc/meminfo",
        None,
    ),
    "nothing but rubbish": (
        {
            "proc/self/cgroup": "x\n:::\n0::/\n",
            "proc/self/mountinfo": "- - -\n\x00\n" + V2_MOUNT.format(part="/"),
            "proc/meminfo": "MemTotal: much kB\n",
            "sys/fs/cgroup/memory.max": "-1\n",
            "sys/fs/cgroup/memory.events": "oom_kill many\n",
        },
        None,
        None,
        None,
    ),
    "nothing at all": ({}, None, None, None),
}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    files, *_ = MACHINES[request.param]
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path, request.param


def test_the_smallest_limit_counts_and_says_where_it_stands(machine: tuple[Path, str]) -> None:
    root, name = machine
    assert cgroup.limit(root) == MACHINES[name][1:3]


def test_what_the_kernel_killed_is_counted_where_the_group_is(machine: tuple[Path, str]) -> None:
    root, name = machine
    assert cgroup.oom_kills(root) == MACHINES[name][3]


def test_this_machine_allows_something_and_not_more_than_it_has() -> None:
    allowed, where = cgroup.limit()
    total = int(Path("/proc/meminfo").read_text().split()[1]) << 10
    assert allowed is not None
    assert 0 < allowed <= total
    assert where is not None
    assert Path(where).exists()
