"""Projects with a torch of straw, and the probe run in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).resolve().parents[2] / "fixtures" / "probe.py"

#: A torch that pretends. A tensor is one number; FAULT says what is wrong with the machine.
STRAW = """
import ctypes, errno, math, os, signal, sys, time, types, warnings
__version__ = "9.9.9"
BUILD, CARDS, FAULT, DRIVER = {build!r}, {cards!r}, {fault!r}, {driver!r}
version = types.SimpleNamespace(
    cuda="12.8" if BUILD == "cuda" else None, hip="6.2" if BUILD == "rocm" else None, git_version="abc"
)
float32 = "float32"
{at_import}

class Tensor:
    def __init__(self, value, device="cpu"): self.value, self.device = value, device
    def double(self): return self
    def to(self, device): return Tensor(self.value, device)
    def abs(self): return Tensor(abs(self.value))
    def max(self): return self
    def all(self): return self.value
    def __sub__(self, other): return Tensor(self.value - other.value)
    def __float__(self): return float(self.value)

class Generator:
    def __init__(self, device): pass
    def manual_seed(self, seed): return self

def randn(*shape, generator, dtype): return Tensor(2.0)
def isfinite(tensor): return Tensor(math.isfinite(tensor.value))
def sum(tensor, dim): return tensor

def matmul(left, right):
    good = left.value * right.value
    if left.device != "cuda:1": return Tensor(good)
    if FAULT == "raises": raise RuntimeError("CUDA error: no kernel image is available\\nsecond line")
    if FAULT == "dies": os.kill(os.getpid(), signal.SIGSEGV)
    return Tensor({{"nan": math.nan, "zero": 0.0, "wrong": good + 1}}.get(FAULT, good))

class cuda:
    @staticmethod
    def device_count(): return CARDS
    @staticmethod
    def is_available():
        if FAULT == "old driver":
            warnings.warn("The NVIDIA driver on your system is too old (found version 12040)")
        return CARDS > 0
    @staticmethod
    def init(): raise RuntimeError("No CUDA GPUs are available")
    @staticmethod
    def synchronize(device): pass
    @staticmethod
    def get_device_properties(index):
        return types.SimpleNamespace(
            name="Straw 100", total_memory=80 << 30, major=9, minor=0, gcnArchName="gfx942:xnack-",
            uuid="39613863-3766-3530-6431-653261346263" if BUILD == "rocm" else "0000000%d-aaaa" % index,
        )

backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))

class Library:  # libcuda
    def __init__(self, name):
        if DRIVER is None: raise OSError(name + ": cannot open shared object file")
    def cuInit(self, flags): return DRIVER
    def cuDriverGetVersion(self, number): number._obj.value = 12040; return 0
    def cuGetErrorName(self, code, name): name._obj.value = b"CUDA_ERROR_OF_STRAW"
ctypes.CDLL = Library

real_open = os.open
def opened(path, *more):  # /dev/kfd
    if path != "/dev/kfd": return real_open(path, *more)
    if DRIVER: raise OSError(DRIVER, os.strerror(DRIVER))
    if DRIVER is None: raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    return real_open(os.devnull, os.O_RDWR)
os.open = opened
"""


@dataclass
class Climb:
    """What one run of the probe wrote."""

    returncode: int
    stderr: str
    lines: list[dict[str, Any]]

    @property
    def ended(self) -> dict[str, str]:
        return {line["end"]: line["status"] for line in self.lines if "end" in line}

    @property
    def error(self) -> str | None:
        return next((line["error"] for line in self.lines if line.get("error")), None)

    @property
    def found(self) -> dict[str, Any]:
        found: dict[str, Any] = {"computations": []}
        for line in self.lines:
            for name, value in line.get("found", {}).items():
                if name == "computation":
                    found["computations"].append(value)
                else:
                    found[name] = value
        return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An application's folder, still empty."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def straw(project: Path) -> Callable[..., Path]:
    """Puts a torch of straw into the project. `driver` is its error number, None for no driver."""

    def make(
        build: str = "cuda", cards: int = 2, fault: str = "", driver: int | None = 0, at_import: str = ""
    ) -> Path:
        folder = project / "torch"
        folder.mkdir()
        text = STRAW.format(build=build, cards=cards, fault=fault, driver=driver, at_import=at_import)
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        return project

    return make


@pytest.fixture
def climb(project: Path, tmp_path: Path) -> Callable[..., Climb]:
    """Runs the probe in the project as a script, as an application's interpreter would."""

    def run(
        device: str = "auto", *, python: str = sys.executable, probe: Path = PROBE, **variables: str
    ) -> Climb:
        out = tmp_path / "steps.jsonl"
        done = subprocess.run(
            [python, str(probe), str(out), device],
            cwd=project,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        lines = out.read_text(encoding="ascii").splitlines() if out.exists() else []
        return Climb(done.returncode, done.stderr, [json.loads(line) for line in lines])

    return run
