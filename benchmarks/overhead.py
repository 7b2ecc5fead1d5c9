"""What the suite costs beside the application alone, measured in one run on one machine.

    python benchmarks/overhead.py [ROUNDS]

Each round times the bare application command, then the whole pilot (a rehearsal), then judging that pilot's
trial again, then pytest with one empty test. Medians are compared; nothing asserts them.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]


def timed(command: list[str], folder: Path) -> float:
    begun = time.perf_counter()
    end = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - begun
    if end.returncode:
        sys.exit(f"{' '.join(command)} ended with {end.returncode}:\n{end.stdout}{end.stderr}")
    return seconds


def round_in(folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """One round: seconds by what was run, and the pilot's own stages."""
    application = [
        sys.executable, "-m", "fixtures.classifier", "classify", "--manifest", str(ROOT / "data/pilot/manifest.json"),
        "--results", str(folder / "results.jsonl"), "--device", "cpu", "--batch-size", "4",
    ]  # fmt: skip
    reports, copies = folder / "reports", folder / "copies"
    pilot = [*PYTEST, "suites/gpu", "--device", "cpu", "--reports", str(reports), "--copy-to", str(copies)]
    (folder / "test_empty.py").write_text("def test_empty():\n    pass\n")
    seconds = {"application alone": timed(application, ROOT), "whole pilot": timed(pilot, ROOT)}
    trial = reports / (reports / "latest").read_text().strip()
    seconds["judging it again"] = timed([*PYTEST, "suites/gpu", "--trial", str(trial)], ROOT)
    seconds["pytest alone"] = timed([*PYTEST, str(folder / "test_empty.py")], folder)
    return seconds, json.loads((trial / "verdict.json").read_text())["timing"]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    measured, stages = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            one, timing = round_in(Path(folder))
            measured.append(one)
            stages.append(timing)
    median = {name: statistics.median(one[name] for one in measured) for name in measured[0]}
    for name, seconds in median.items():
        print(f"{name:<20}{seconds:7.2f} s   {min(one[name] for one in measured):.2f} at best")
    added = median["whole pilot"] - median["application alone"]
    print(
        f"\nthe suite adds {added:.2f} s, {added / median['application alone']:.2f} times the application's own time"
    )
    print(
        f"judging again costs {median['judging it again'] - median['pytest alone']:.2f} s beyond pytest's own start"
    )
    print("\nwhere the pilot's time goes:")
    for stage in stages[0]:
        print(f"  {stage:<18}{statistics.median(one[stage] for one in stages):7.2f} s")


if __name__ == "__main__":
    main()
