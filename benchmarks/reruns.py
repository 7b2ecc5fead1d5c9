"""What a rerun costs, what listing a thousand trials costs, and what the operations below them cost in the same run.

    python benchmarks/reruns.py [TRIALS [ROUNDS]]

TRIALS (1,000) folders are made by hand: a real verdict with as many checks as the suite has, sealed, every tenth
interrupted, every twentieth decided on. Then, ROUNDS (5) times each: the list, the list as JSON, a plain loop of
os.scandir and json over the same files, the interpreter's own start, and pytest collecting one empty test. Seconds
of the clock and of the processor; medians are compared, nothing asserts them.

Before that, ROUNDS (3) times: a whole rehearsal that fails on its copy alone, the place of the copy being missing,
and its rerun once that is there. The rerun makes the copy and looks at the environment again, which imports torch.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fixtures.evidence import sums  # noqa: E402, the project is on no path
from fixtures.evidence.names import DECISION  # noqa: E402
from fixtures.evidence.names import RECORD  # noqa: E402
from fixtures.evidence.names import SUMS  # noqa: E402
from fixtures.evidence.names import VERDICT  # noqa: E402
from tests.report import samples  # noqa: E402

#: as many checks as a whole pilot has
CHECKS = 45
PLAIN = """
import json, os, sys
found = []
for entry in os.scandir(sys.argv[1]):
    try:
        with open(os.path.join(entry.path, "verdict.json"), "rb") as stream:
            verdict = json.load(stream)
        found.append((verdict["trial"], verdict["decision"]))
    except OSError:
        pass
for one in sorted(found):
    print(*one)
"""


def fill(reports: Path, trials: int) -> None:
    """Trials by hand, one a minute; the same verdict under other names."""
    verdict = samples.verdict().model_dump(mode="json")
    record = samples.record().model_dump(mode="json")
    checks = [check for criterion in verdict["criteria"] for check in criterion["checks"]]
    verdict["criteria"][0]["checks"] += (checks * CHECKS)[: CHECKS - len(checks)]
    decided = {
        "schema": "gpu-pilot/decision/1", "decision": "go", "override": False, "by": None,
        "when": "2026-12-01T12:00:00Z",
    }  # fmt: skip
    before = None
    for number in range(trials):
        name = f"202612{1 + number // 1440:02}T{number // 60 % 24:02}{number % 60:02}00Z-{number:04x}"
        folder = reports / name
        folder.mkdir(parents=True)
        files = {RECORD: json.dumps({**record, "trial": name, "continues": before}, indent=2).encode()}
        if number % 10:
            changed = [{"factor": "project.parameters", "before": "a", "after": "b"}]
            text = json.dumps({**verdict, "trial": name, "continues": before, "changed": changed}, indent=2)
            files[VERDICT] = text.encode()
            files[SUMS] = sums.render((file, sums.of_bytes(data)) for file, data in files.items()).encode()
        if number % 20 == 1:
            files[DECISION] = json.dumps(decided).encode()
        for file, data in files.items():
            (folder / file).write_bytes(data)
        before = name


def timed(command: list[str], folder: Path, wanted: int = 0) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    end = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if end.returncode != wanted:
        sys.exit(f"{' '.join(command)} ended with {end.returncode}:\n{end.stdout}{end.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def listing(trials: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reports = folder / "reports"
        fill(reports, trials)
        (folder / "test_empty.py").write_text("def test_empty():\n    pass\n")
        size = sum(os.path.getsize(path) for path in reports.glob(f"*/{VERDICT}"))
        ours = [sys.executable, "-m", "plugins.trials", "--reports", str(reports)]
        commands = {
            "python -m plugins.trials": (ours, ROOT),
            "the same with --json": ([*ours, "--json"], ROOT),
            "plain os.scandir and json": ([sys.executable, "-c", PLAIN, str(reports)], ROOT),
            "python alone": ([sys.executable, "-c", "pass"], ROOT),
            "pytest --collect-only": (
                [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "test_empty.py"],
                folder,
            ),
        }  # fmt: skip
        measured = {name: [timed(*command) for _ in range(rounds)] for name, command in commands.items()}
        print(
            f"{trials:,} trials, {size / 1e6:.0f} MB of {VERDICT}; {rounds} rounds, {os.cpu_count()} cores\n"
        )
        for name, seconds in measured.items():
            wall, cpu = (statistics.median(one[n] for one in seconds) for n in (0, 1))
            best = min(one[0] for one in seconds)
            print(f"{name:<28}{wall:7.2f} s   {best:.2f} at best   {cpu:.2f} of the processor")


def rerunning(rounds: int) -> None:
    """The rerun of one cheap check that failed, beside the whole and the evidence that had to be made again."""
    measured = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            place = folder / "missing" / "copies"
            pilot = [
                sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "suites/gpu", "--device", "cpu",
                "--reports", str(folder / "reports"), "--copy-to", str(place),
            ]  # fmt: skip
            whole, _ = timed(pilot, ROOT, wanted=10)
            place.parent.mkdir()
            again, _ = timed([*pilot, "--lf"], ROOT, wanted=12)  # flaky: nothing that is a factor was changed
            trial = folder / "reports" / (folder / "reports" / "latest").read_text().strip()
            timing = json.loads((trial / VERDICT).read_text())["timing"]
            measured.append(
                {"whole": whole, "rerun": again, "launch": timing["launch"], "copy": timing["copy"]}
            )
    median = {name: statistics.median(one[name] for one in measured) for name in measured[0]}
    print(f"{rounds} rounds, {os.cpu_count()} cores")
    for name, seconds in median.items():
        print(f"{name:<28}{seconds:7.2f} s")
    beside = median["rerun"] - median["launch"] - median["copy"]
    print(f"the rerun beside the evidence that it made: {beside:.2f} s\n")


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    rerunning(given[1] if len(given) > 1 else 3)
    listing(*[*given, *(1000, 5)[len(given) :]])


if __name__ == "__main__":
    main()
