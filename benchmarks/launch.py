"""How long a machine that cannot run the application takes to be told so, beside `python -c "import torch"`.

    python benchmarks/launch.py [ROUNDS]

Each round (5) times, one after the other: importing torch, pytest with one empty test, the whole suite on a machine
whose torch cannot be imported (an interpreter of its own, whose torch lacks a library, beside the driver libraries of
tests/stubs, for which there must be a cc), on one whose driver is missing (this one, which must have none), and a
rehearsal, of which the launch is taken. Issue 4 wants under 3 s for the first and under 6 s beyond torch's own import
for the second. Medians are printed with the load of the machine; nothing asserts them, and above a load of about 3 they
say little. A machine with cards also waits for nvidia-smi and its like, which is not in these figures.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STUBS = ROOT / "tests" / "stubs"
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
CARD = "NVIDIA H200"
#: as torch's own import fails where a library of CUDA's is missing
BROKEN = 'raise ImportError("libcudart.so.12: cannot open shared object file: No such file or directory")\n'
NO_TORCH, NO_DRIVER, REHEARSAL = "torch cannot be imported", "no driver", "a rehearsal"
#: what each must have found; or it was not what was to be timed
STEP = {NO_TORCH: "import", NO_DRIVER: "driver", REHEARSAL: None}


@dataclass(frozen=True)
class Machine:
    """How the suite is started on it: the arguments after those that all have, and variables."""

    arguments: list[str]
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Taken:
    """Seconds of the clock, and of the processors; the second hardly depends on who else is working."""

    wall: float
    busy: float


def timed(command: list[str], folder: Path, variables: dict[str, str] | None = None) -> tuple[Taken, str]:
    before, begun = os.times(), time.perf_counter()
    end = subprocess.run(
        command, cwd=folder, env={**os.environ, **(variables or {})}, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - begun, os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return Taken(wall, busy), end.stdout + end.stderr


def driver(folder: Path) -> dict[str, str]:
    """The variables of a machine with a card and a driver that works."""
    folder.mkdir()
    for library, source in (("libcuda.so.1", "libcuda.c"), ("libnvidia-ml.so.1", "libnvidia_ml.c")):
        made = ["cc", "-shared", "-fPIC", "-o", str(folder / library), str(STUBS / source)]
        subprocess.run(made, check=True)
    return {
        "STUB_CARDS": CARD,
        "STUB_MACHINE": str(folder),
        "LD_LIBRARY_PATH": str(folder),
        "PYTHONPATH": str(STUBS / "nvml"),
    }


def prepare(folder: Path) -> dict[str, Machine]:
    """What is run, by its name."""
    broken = folder / "broken"
    venv.create(broken, with_pip=False)
    (library,) = broken.glob("lib/python3*/site-packages")
    (library / "torch").mkdir()
    (library / "torch" / "__init__.py").write_text(BROKEN)
    (folder / "test_empty.py").write_text("def test_empty():\n    pass\n")
    pilot = json.loads((ROOT / "config" / "pilot.json").read_text())
    # paths of the parameters are relative to the project's folder, which stays
    pilot["application"]["python"] = str(broken / "bin" / "python")
    (folder / "pilot.json").write_text(json.dumps(pilot))
    order = json.loads((ROOT / "config" / "order.json").read_text())
    (folder / "order.json").write_text(json.dumps({**order, "card": CARD}))
    ordered = ["--device", "cuda", "--order", str(folder / "order.json")]
    return {
        NO_TORCH: Machine([*ordered, "--pilot", str(folder / "pilot.json")], driver(folder / "driver")),
        NO_DRIVER: Machine(ordered),
        REHEARSAL: Machine(["--device", "cpu", "--once"]),
    }


def piloted(name: str, machine: Machine, folder: Path) -> tuple[Taken, dict[str, Any], dict[str, Any]]:
    """What it took until the suite had ended, its verdict, and the launch that it stands on."""
    reports = folder / name.replace(" ", "-")
    places = ["--reports", str(reports), "--copy-to", str(folder / "copies")]
    seconds, said = timed([*PYTEST, "suites/gpu", *machine.arguments, *places], ROOT, machine.variables)
    try:
        trial = reports / (reports / "latest").read_text().strip()
        verdict = json.loads((trial / "verdict.json").read_text())
        launch = json.loads((trial / "evidence" / "launch.json").read_text())
    except OSError as error:
        sys.exit(f"{name}: there is no verdict ({error}):\n{said}")
    first = verdict["first_error"]
    if (first and first["step"]) != STEP[name]:
        sys.exit(f"{name}: the first error is {first}, and {STEP[name] or 'none'} was to be timed")
    return seconds, verdict, launch


def one_round(folder: Path) -> tuple[dict[str, Taken], dict[str, dict[str, float]]]:
    """What each took, and of each trial the stages of its verdict and the steps of its probe."""
    trials = prepare(folder)
    seconds = {
        "import torch": timed([sys.executable, "-c", "import torch"], folder)[0],
        "pytest alone": timed([*PYTEST, "test_empty.py"], folder)[0],
    }
    parts = {}
    for name, machine in trials.items():
        seconds[name], verdict, launch = piloted(name, machine, folder)
        stages = {f"stage {stage}": taken for stage, taken in verdict["timing"].items()}
        steps = {
            f"step {step['name']}": step["seconds"]
            for step in launch["observed"]["steps"]
            if step["seconds"] is not None
        }
        parts[name] = {**stages, **steps, "the whole probe": launch["observed"]["end"]["seconds"]}
    return seconds, parts


def load() -> str:
    return ", ".join(f"{one:.1f}" for one in os.getloadavg())


def median(rounds: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds if name in one)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{rounds} rounds, {os.cpu_count()} cores; load before: {load()}")
    measured, parts = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            one, further = one_round(Path(folder))
            measured.append(one)
            parts.append(further)
    print(f"load after: {load()}\n")
    walls = [{name: taken.wall for name, taken in one.items()} for one in measured]
    busy = [{name: taken.busy for name, taken in one.items()} for one in measured]
    for name in measured[0]:
        best = min(one[name] for one in walls)
        print(
            f"{name:<28}{median(walls, name):7.2f} s   {best:.2f} at best   {median(busy, name):.2f} of processors"
        )
    torch = median(walls, "import torch")
    launch = median([one[REHEARSAL] for one in parts], "the whole probe")
    print(f"\nwhere torch cannot be imported: {median(walls, NO_TORCH):.2f} s (wanted: under 3)")
    print(
        f"where the driver is missing: {median(walls, NO_DRIVER) - torch:.2f} s beyond torch's own import "
        "(wanted: under 6)"
    )
    print(f"a rehearsal's launch: {launch:.2f} s, {launch / torch:.1f} times importing torch")
    for name in STEP:
        print(f"\n{name}, where its time goes (steps overlap):")
        seen = [one[name] for one in parts]
        for part in seen[0]:
            print(f"  {part:<26}{median(seen, part):7.2f} s")


if __name__ == "__main__":
    main()
