"""A workbench for whole pilots: a folder with documents, parameters and an application, and `pytest suites/gpu`."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from fixtures.evidence import base
from fixtures.evidence import sums
from fixtures.evidence.trial import LATEST
from fixtures.evidence.trial import VERDICT
from plugins.verdict_file import Verdict
from tests.pilot import warm

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "tests" / "stubs"
#: in a hidden folder, which no pilot compares before and after its application
BYTECODE = ROOT / ".pytest_cache" / "bytecode"
APP = Path(__file__).with_name("app.py")
CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]
INVALID = "doc-12"


@dataclass
class Run:
    """What one pilot came to."""

    exit_status: int
    output: str
    trial: Path | None
    verdict: Verdict | None

    @property
    def decided(self) -> Verdict:
        assert self.verdict is not None, f"no verdict; exit {self.exit_status}:\n{self.output}"
        return self.verdict

    def status(self, check: str) -> str:
        return next(one.status for one in self.decided.checks() if one.id == check)

    def message(self, check: str) -> str:
        return next(one.message or "" for one in self.decided.checks() if one.id == check)


@dataclass
class Bench:
    """One renter's folder. Change `entries`, `parameters`, `order` or the files, then run."""

    folder: Path
    entries: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    order: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    #: the folder of the suite; another one where a test adds a check to it
    project: Path = ROOT
    #: bytes that are written last, by their place below the folder; so that a manifest need not be JSON
    raw: dict[str, bytes] = field(default_factory=dict)
    mounts: list[Path] = field(default_factory=list)
    #: options of every pilot that is made here; --once where nothing is asked of further runs of the application
    always: tuple[str, ...] = ()
    #: whether its pilots are forked where the test does not say
    forked: bool = False

    def __post_init__(self) -> None:
        self.documents.mkdir(parents=True)
        for number in range(1, 13):
            text = f"Document {number}. " + "It has several words. " * (number * number)
            data = b"\xff\xfe broken \xe0" if number == 12 else text.encode()
            self.add(f"doc-{number:02}", data, None if number == 12 else CATEGORIES[number % 5])
        self.parameters = {
            "documents": {"manifest": str(self.documents / "manifest.json"), "expected": 12},
            "categories": CATEGORIES,
            "application": {
                "kind": "command",
                "command": ["{python}", str(APP), "healthy", "{manifest}", "{results}", "{device}"],
                "deadline_s": 60,
                "no_progress_s": 30,
                "batch_size": 4,
            },
            "references": {"model": str(APP)},
            "copy_to": str(self.folder / "copies"),
        }
        self.order = {"card": "NVIDIA H200", "lots": 1, "cards": 1, "days": 3, "preparation": "PyTorch"}

    @property
    def documents(self) -> Path:
        return self.folder / "documents"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def copies(self) -> Path:
        return self.folder / "copies"

    def add(self, identifier: str, data: bytes, category: str | None, *, file: str | None = None) -> None:
        """Write a document and enter it in the manifest; no category makes it the invalid case."""
        name = file or f"{identifier}.txt"
        (self.documents / name).write_bytes(data)
        entry: dict[str, Any] = {
            "id": identifier,
            "file": name,
            "sha256": sums.of_bytes(data),
            "bytes": len(data),
        }
        entry["valid"] = category is not None
        if category is not None:
            entry["category"] = category
        self.entries.append(entry)

    def entry(self, identifier: str) -> dict[str, Any]:
        return next(entry for entry in self.entries if entry["id"] == identifier)

    def rename(self, identifier: str, new: str) -> None:
        """Give a document another identifier; its file keeps its name."""
        self.entry(identifier)["id"] = new

    def replace(self, identifier: str, data: bytes) -> None:
        """Other bytes for a document, and a manifest that agrees with them."""
        entry = self.entry(identifier)
        (self.documents / entry["file"]).write_bytes(data)
        entry |= {"sha256": sums.of_bytes(data), "bytes": len(data)}

    def behave(self, behaviour: str, *more: str) -> None:
        """Have the application behave as the function of that name in app.py does with `more`."""
        command = self.parameters["application"]["command"]
        command[2:] = [behaviour, *command[3:6], *more]

    def own_project(self) -> Path:
        """Run from a copy of the suite's folder, which the application may spoil without anybody else's noticing."""
        self.project = self.folder / "project"
        for name in ("fixtures", "plugins", "suites"):
            shutil.copytree(ROOT / name, self.project / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / name, self.project)
        return self.project

    def write(self) -> None:
        (self.documents / "manifest.json").write_text(
            json.dumps({"documents": self.entries}, ensure_ascii=False)
        )
        (self.folder / "pilot.json").write_text(json.dumps(self.parameters, ensure_ascii=False))
        (self.folder / "order.json").write_text(json.dumps(self.order))
        for name, data in self.raw.items():
            (self.folder / name).write_bytes(data)

    def command(self, *options: str, device: str = "cpu") -> list[str]:
        return [
            sys.executable, "-m", "pytest", str(self.project / "suites" / "gpu"), "--device", device,
            "--pilot", str(self.folder / "pilot.json"), "--order", str(self.folder / "order.json"),
            "--reports", str(self.reports), "-p", "no:cacheprovider",
            "-pno:hypothesispytest",  # no renter has it, and it takes a tenth of each run
            *self.always, *options,
        ]  # fmt: skip

    def environ(self, *, real_torch: bool = False) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        # the suite's own modules are rewritten by pytest; doing so for every run takes longer than the run
        clean.pop("PYTHONDONTWRITEBYTECODE", None)
        clean.pop("GITHUB_STEP_SUMMARY", None)  # the summary is of these tests, not of their pilots
        clean["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
        if not real_torch:
            clean["PYTHONPATH"] = str(STUBS)
        return {**clean, "COLUMNS": "120", **self.environment}

    def run(
        self,
        *options: str,
        device: str = "cpu",
        real_torch: bool = False,
        write: bool = True,
        forked: bool | None = None,
    ) -> Run:
        """Run the suite to its end, at most two minutes; `forked` takes half the time, see warm.py."""
        if write:
            self.write()
        before = self._latest()
        environment = self.environ(real_torch=real_torch)
        status, printed = self.pytest(self.command(*options, device=device), environment, forked=forked)
        latest = self._latest()
        return self.look(status, printed, latest if latest != before else None)

    def pytest(
        self,
        command: list[str],
        environment: dict[str, str] | None = None,
        *,
        folder: Path | None = None,
        forked: bool | None = None,
    ) -> tuple[int, str]:
        """Exit status and output of a command that begins with `python -m pytest`, run in this or another folder."""
        environment, folder = environment or self.environ(), folder or self.folder
        if self.forked if forked is None else forked:
            status, printed = warm.run(self.project, command[3:], folder, environment, timeout=120)
        else:
            end = subprocess.run(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=120,
            )  # fmt: skip
            status, printed = end.returncode, end.stdout
        return status, printed.decode("utf-8", "replace")

    def look(self, exit_status: int, output: str, name: str | None) -> Run:
        trial = self.reports / name if name else None
        verdict = base.load(trial / VERDICT, Verdict) if trial and (trial / VERDICT).exists() else None
        return Run(exit_status, output, trial, verdict)

    def judge(self, trial: Path, *options: str, forked: bool | None = None) -> Run:
        """Judge a trial again from its folder alone; the verdict goes to a file beside it."""
        answer = self.folder / f"judged-{trial.name}.json"
        answer.unlink(missing_ok=True)
        command = [
            sys.executable, "-m", "pytest", str(self.project / "suites" / "gpu"), "--trial", str(trial),
            "--verdict", str(answer), "-p", "no:cacheprovider", *options,
        ]  # fmt: skip
        status, printed = self.pytest(command, forked=forked)
        verdict = base.load(answer, Verdict) if answer.exists() else None
        return Run(status, printed, trial, verdict)

    def close(self) -> None:
        """Take away what would outlive the folder."""
        while self.mounts:
            subprocess.run(["umount", str(self.mounts.pop())], check=True)

    def trials(self) -> list[Path]:
        """Every trial folder so far."""
        return sorted(path for path in self.reports.glob("*Z-*") if path.is_dir())

    def pretend_cards(self, *names: str) -> None:
        """A machine with these cards: a driver library, NVML and torch that say so."""
        self.environment["STUB_CARDS"] = ",".join(names)
        self.environment["STUB_MACHINE"] = str(self.folder)
        self.environment["LD_LIBRARY_PATH"] = str(_driver_library())
        self.environment["PYTHONPATH"] = f"{STUBS}{os.pathsep}{STUBS / 'nvml'}"

    def _latest(self) -> str | None:
        path = self.reports / LATEST
        return path.read_text().strip() if path.exists() else None


@functools.cache
def _driver_library() -> Path:
    """Compiled once for a version of the sources; `cc` is what a test machine has."""
    sources = {"libcuda.so.1": STUBS / "libcuda.c", "libnvidia-ml.so.1": STUBS / "libnvidia_ml.c"}
    digest = sums.of_bytes(b"".join(source.read_bytes() for source in sources.values()))
    folder = BYTECODE.with_name("stubs") / digest[:12]
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        if not (folder / name).exists():
            making = folder / f"{name}.{os.getpid()}"  # other workers may be doing the same
            subprocess.run(["cc", "-shared", "-fPIC", "-o", str(making), str(source)], check=True)
            making.replace(folder / name)
    return folder


Change = Callable[[Bench], None]
