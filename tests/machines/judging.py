"""A recorded machine judged as a renter's trial is: `pytest suites/gpu --trial DIR`.

What is no recorded machine's business, the documents and the application's run, is that of one healthy pilot on
pretended cards; it was fetched from the machine, which closes it without a copy. Where a launch breaks off there was no
run, and so there is no evidence of one.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fixtures.evidence import sums
from fixtures.evidence.trial import RECORD
from tests.machines.records import Recorded
from tests.pilot.bench import Bench
from tests.pilot.bench import Run

#: of the healthy pilot, what needs a launch that came to its end
AFTER = ("application", "reordered", "resumed", "hangup", "health", "copy")
ORDERED = "NVIDIA H200"
NO_COPY = {"target": None, "path": None, "error": None, "same_file_system": None, "files": [], "reread": None}


def healthy_pilot(folder: Path) -> Bench:
    """A bench with one trial: the healthy pilot."""
    bench = Bench(folder)
    bench.pretend_cards(ORDERED)
    bench.always, bench.forked = ("--once",), True
    run = bench.run(device="cuda")
    assert run.decided.decision == "go", run.output
    return bench


def judge(bench: Bench, machine: Recorded) -> Run:
    """The verdict on a machine."""
    (pilot,) = (path for path in bench.trials() if not path.name.endswith("judged"))
    trial = pilot.with_name(f"{pilot.name}-judged")
    shutil.rmtree(trial, ignore_errors=True)
    shutil.copytree(pilot, trial, ignore=shutil.ignore_patterns("launch", "verdict.json", sums.NAME))
    _change(trial / RECORD, lambda record: _asked_as(record, machine))
    for name, observed in _evidence(machine).items():
        _keep(trial, name, observed)
    if _breaks_off(machine):
        for name in AFTER:
            (trial / "evidence" / f"{name}.json").unlink(missing_ok=True)
    else:
        _change(trial / "evidence" / "application.json", lambda run: _ran_on(run["observed"], machine))
        _keep(trial, "copy", NO_COPY)
    sealed = [(name, sums.of_file(trial / name)) for name in sums.files_below(trial)]
    (trial / sums.NAME).write_text(sums.render(sealed))
    return bench.judge(trial, forked=True)


def _evidence(machine: Recorded) -> dict[str, dict[str, Any]]:
    """What was recorded; a machine whose health was not read afterwards is as it was before."""
    inventory = machine.evidence["inventory"]
    health = {"after": inventory.get("states", []), "kernel_log": inventory.get("kernel_log")}
    return {"health": health, **machine.evidence}


def _asked_as(record: dict[str, Any], machine: Recorded) -> None:
    """The order, and what was asked of this machine's probe."""
    launch = machine.evidence["launch"]
    record |= {"order": machine.order, "device": launch["asked_device"]}
    extensions = [{"module": one["name"], "snippet": None} for one in launch.get("extensions", [])]
    dtypes = sorted({one["dtype"] for one in launch["computations"]}) or ["float32"]
    record["parameters"]["application"] |= {"extensions": extensions, "dtypes": dtypes}


def _breaks_off(machine: Recorded) -> bool:
    return machine.seen.launch.first_failure() is not None


def _ran_on(run: dict[str, Any], machine: Recorded) -> None:
    """The healthy run, on the cards of this machine, in its interpreter."""
    launch = machine.evidence["launch"]
    totals = [device["memory_bytes"] for device in launch["devices"]]
    first = run["memory"]["cards"][0]
    run["memory"]["cards"] = [
        {
            **first,
            "index": index,
            "name": device["name"],
            "total_bytes": totals[index] or first["total_bytes"],
        }
        for index, device in enumerate(launch["devices"])
    ]
    run["interpreters"] = [
        {"executable": launch["interpreter"]["executable"], "prefix": launch["interpreter"]["prefix"]}
    ]


def _keep(trial: Path, name: str, observed: dict[str, Any]) -> None:
    path = trial / "evidence" / f"{name}.json"
    envelope = json.loads((trial / "evidence" / "launch.json").read_text())
    path.write_text(json.dumps({**envelope, "name": name, "observed": observed}))


def _change(path: Path, change: Any) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
