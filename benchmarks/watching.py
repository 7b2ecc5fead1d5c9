"""What watching costs, measured in one run on one machine.

    python benchmarks/watching.py [ROUNDS]

A round runs the same small program twice, which computes for a fixed amount of work: alone, started as the supervisor
starts it, and watched at the default interval. Which comes first alternates, and the difference is taken within the
round, so that whatever else the machine does hits both. The program times its own work by the clock and by its CPU
time. Beside it stands the share of one core that the supervisor itself used: idle trees, trees of many processes, and
a run that is looked at every few milliseconds because it is to be stopped. Nothing asserts the numbers.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fixtures import watch  # noqa: E402

#: some work that neither allocates much nor calls the system
WORK = """
import json, time
begun, used = time.perf_counter(), time.process_time()
total = 0
for number in range(4_000_000):
    total = (total * 31 + number) % 1_000_003
print(json.dumps({"clock": time.perf_counter() - begun, "CPU time": time.process_time() - used}))
"""
SLEEP = "import time; time.sleep(10)"
MANY = """
import subprocess, sys
children = [subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(10)"]) for _ in range(32)]
for child in children: child.wait()
"""
WRITES = """
import time
with open("results.jsonl", "w") as stream:
    for number in range(1000):
        stream.write("{}\\n"); stream.flush()
        time.sleep(0.01)
"""
TREES: dict[str, tuple[str, dict[str, int]]] = {
    "one process that waits": (SLEEP, {}),
    "one process that computes": (WORK.replace("4_000_000", "60_000_000"), {}),
    "33 processes": (MANY, {}),
    "a result every 10 ms": (WRITES, {}),
    "the same, to be stopped at a line": (WRITES, {"stop_after": 10**9}),
}


def request(folder: Path, code: str, **more: int) -> watch.Request:
    return watch.Request(
        command=[sys.executable, "-I", "-c", code], folder=str(folder), device="cpu",
        results=str(folder / "results.jsonl"), stdout=str(folder / "stdout.txt"), stderr=str(folder / "stderr.txt"),
        deadline_s=600, no_progress_s=600, output_limit_bytes=1 << 30, **more,
    )  # fmt: skip


def alone(folder: Path) -> dict[str, float]:
    command = request(folder, WORK).command
    with (folder / "stdout.txt").open("xb") as out:
        subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, check=True, start_new_session=True
        )
    return figures(folder)


def watched(folder: Path) -> dict[str, float]:
    report = watch.run(request(folder, WORK), lambda said: None)
    if report["ended"] != "exit" or report["returncode"]:
        sys.exit(f"the program did not end well: {report['ended']}, {report['returncode']}")
    return figures(folder)


def figures(folder: Path) -> dict[str, float]:
    read: dict[str, float] = json.loads((folder / "stdout.txt").read_text())
    return read


def in_a_new_folder(run: Callable[[Path], dict[str, float]]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder))


def share_of_a_core(code: str, more: dict[str, int]) -> tuple[float, float]:
    """The supervisor's CPU time as a share of the time that it watched, in percent; and those seconds.

    Its start is left out: that is over before the application begins. Measured by the kernel, from a supervisor
    that is a child of this process and of nobody else.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked = request(Path(folder), code, **more)
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-B", str(watch.SUPERVISOR)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert supervisor.stdin
        assert supervisor.stdout
        supervisor.stdin.write(json.dumps(asdict(asked)).encode() + b"\n")
        supervisor.stdin.flush()
        first: tuple[float, float] | None = None
        last = (0.0, 0.0)
        for line in supervisor.stdout:
            said = json.loads(line)
            if "at" in said:
                last = (said["at"], cpu_seconds(supervisor.pid))
                first = first or last
        supervisor.communicate()
    assert first
    return 100 * (last[1] - first[1]) / (last[0] - first[0]), last[0] - first[0]


def cpu_seconds(pid: int) -> float:
    """Exact to the nanosecond, where the kernel tells it; /proc/PID/stat counts in hundredths."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {len(os.listdir('/proc'))} entries in /proc\n"
    )
    print("the supervisor's own share of one core, at the default interval:")
    for name, (code, more) in TREES.items():
        share, seconds = share_of_a_core(code, more)
        print(f"  {name:<36}{share:6.2f} %   over {seconds:.1f} s")
    seconds: dict[str, list[tuple[float, float]]] = {"clock": [], "CPU time": []}
    for number in range(rounds):
        order = (alone, watched) if number % 2 == 0 else (watched, alone)
        taken = {run: in_a_new_folder(run) for run in order}
        for figure, pairs in seconds.items():
            pairs.append((taken[alone][figure], taken[watched][figure]))
    print(f"\nthe same work alone and watched, {rounds} pairs; the median of the differences within a pair:")
    for figure, pairs in seconds.items():
        differences = [1000 * (with_it - without) for without, with_it in pairs]
        low, middle, high = statistics.quantiles(differences, n=4)
        base = 1000 * statistics.median(without for without, _ in pairs)
        best = ", ".join(f"{1000 * min(column):.0f} ms" for column in zip(*pairs, strict=True))
        print(
            f"  by its {figure:<9}{middle:+7.1f} ms of {base:.0f} ms ({100 * middle / base:+.2f} %), the middle half"
            f" from {low:+.1f} to {high:+.1f} ms; at best {best}"
        )


if __name__ == "__main__":
    main()
