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

from fixtures import probe
from tests.launch.written import library

PROBE = Path(__file__).resolve().parents[2] / "fixtures" / "probe" / "__main__.py"

#: A torch that pretends. A tensor is one number; FAULT says what is wrong with the machine.
STRAW = """
import ctypes, errno, math, os, signal, sys, time, types, warnings
__version__ = "9.9.9"
BUILD, CARDS, FAULT = {build!r}, {cards!r}, {fault!r}
version = types.SimpleNamespace(
    cuda="12.8" if BUILD == "cuda" else None, hip="6.2" if BUILD == "rocm" else None, git_version="abc"
)
float32, float64, int64, uint8 = "float32", "float64", "int64", "uint8"
_C = types.SimpleNamespace(_cuda_getArchFlags=lambda: "sm_90 compute_90")
{at_import}

compute = sys.modules["gpu_pilot_probe.compute"]  # of what it computes, two operations are enough here
compute.OPERATIONS = {{name: compute.OPERATIONS[name] for name in ("matmul", "sum")}}
compute.LARGE = compute.OPERATIONS["matmul"]

class Tensor:
    shape = (1, 1)
    def __init__(self, value, device="cpu"):
        self.value, self.device, self.kept = value, device, ctypes.c_double(value)
    def itself(self, *more): return self
    double = max = all = sum = contiguous = clone = view = __getitem__ = itself
    def numpy(self):
        if FAULT == "numpy": os.kill(os.getpid(), signal.SIGSEGV)
    def to(self, place): return Tensor(self.value, self.device if place == float32 else place)
    def abs(self): return Tensor(abs(self.value))
    def copy_(self, other): return other
    def data_ptr(self): return ctypes.addressof(self.kept)
    def numel(self): return 1
    def element_size(self): return 8
    def __sub__(self, other): return Tensor(self.value - other.value)
    def __bool__(self): return bool(self.value)
    def __float__(self): return float(self.value)
    def __int__(self): return int(self.value)

class Generator:
    def __init__(self, device): pass
    def manual_seed(self, seed): return self

def randn(*shape, **options): return Tensor(2.0)
zeros = randint = randn
def ones(count, dtype=None, device="cpu"):
    if FAULT == "exclusive" and device == "cuda:1": raise RuntimeError("CUDA error: busy or unavailable")
    return Tensor(float(count), device)
def equal(left, right): return True
def isfinite(tensor): return Tensor(math.isfinite(tensor.value))
def sum(tensor, dim): return tensor

def matmul(left, right):
    good = left.value * right.value
    if left.device != "cuda:1": return Tensor(good)
    if FAULT == "raises": raise RuntimeError("CUDA error: no kernel image is available\\nsecond line")
    if FAULT == "dies": os.kill(os.getpid(), signal.SIGSEGV)
    if FAULT == "hangs": time.sleep(60)
    return Tensor({{"nan": math.nan, "zero": 0.0, "wrong": good + 1}}.get(FAULT, good))

class cuda:
    @staticmethod
    def device_count(): return 3 if FAULT == "hidden" and "CUDA_VISIBLE_DEVICES" not in os.environ else CARDS
    @staticmethod
    def is_available():
        if FAULT == "old driver":
            warnings.warn("The NVIDIA driver on your system is too old (found version 12040)")
        if FAULT == "sees nothing and hangs": time.sleep(60)
        return CARDS > 0
    @staticmethod
    def init(): raise RuntimeError("No CUDA GPUs are available")
    @staticmethod
    def synchronize(device): pass
    @staticmethod
    def mem_get_info(device): return (79 << 30, 80 << 30)
    @staticmethod
    def get_device_properties(index):
        return types.SimpleNamespace(
            name="Straw 100", total_memory=80 << 30, major=9, minor=0, gcnArchName="gfx942:xnack-",
            uuid="39613863-3766-3530-6431-653261346263" if BUILD == "rocm" else "0000000%d-aaaa" % index,
        )

backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace()
)
"""

#: what stands in for the driver, in the probe's own process: AMD's is a node, which is opened
NODE = """
import errno, os
real_open, real_stat = os.open, os.stat
def opened(path, *more, **options):
    if path != "/dev/kfd": return real_open(path, *more, **options)
    if {number}: raise OSError({number}, os.strerror({number}))
    return real_open(os.devnull, os.O_RDWR)
os.open = opened
os.stat = lambda path, **more: real_stat(os.devnull if path == "/dev/kfd" else path, **more)
"""


@dataclass
class Climb:
    """What one run of the probe wrote."""

    returncode: int
    stderr: str
    lines: list[dict[str, Any]]

    @property
    def ended(self) -> dict[str, str]:
        """In the order of the ladder; those that were not reached are not there."""
        ended = {line["end"]: line["status"] for line in self.lines if "end" in line}
        return {step: ended[step] for step in probe.STEPS if step in ended}

    @property
    def failed(self) -> str | None:
        """The lowest step that is not ok."""
        return next((step for step, status in self.ended.items() if status != "ok"), None)

    @property
    def error(self) -> str | None:
        """That of the lowest step that is not ok."""
        return next((line["error"] for line in self.lines if line.get("end") == self.failed), None)

    @property
    def found(self) -> dict[str, Any]:
        """As the launch puts it together, but for objects in objects."""
        found: dict[str, Any] = {"computations": [], "said": [], "retried": []}
        for line in self.lines:
            for name, value in line.get("found", {}).items():
                merged = isinstance(value, dict) and name in found
                found[name] = {**found[name], **value} if merged else value
            for name, value in line.get("add", {}).items():
                found.setdefault(name, []).append(value)
        return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An application's folder, still empty."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def straw(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a torch of straw into the project, and a driver below it. `driver` is its error number, None for none;
    `both` are the drivers of both vendors."""

    def make(
        build: str = "cuda",
        cards: int = 2,
        fault: str = "",
        driver: int | None = 0,
        at_import: str = "",
        both: bool = False,
    ) -> Path:
        folder = project / "torch"
        folder.mkdir()
        text = STRAW.format(build=build, cards=cards, fault=fault, at_import=at_import)
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        pretend_driver(build, driver, both)
        return project

    def pretend_driver(build: str, driver: int | None, both: bool) -> None:
        libraries, site = tmp_path / "libraries", tmp_path / "site"
        libraries.mkdir()
        site.mkdir()
        if (build != "rocm" or both) and driver is not None:
            (libraries / "libcuda.so.1").write_bytes(library("libcuda.c"))
            monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
            monkeypatch.setenv("STUB_CUDA", "12040")
            monkeypatch.setenv("STUB_CUINIT", str(driver))
        if build == "rocm" or both:
            (site / "sitecustomize.py").write_text(NODE.format(number=2 if driver is None else driver))
            monkeypatch.setenv("PYTHONPATH", str(site))

    return make


@pytest.fixture
def climb(project: Path, tmp_path: Path) -> Callable[..., Climb]:
    """Runs the probe in the project as a script, as an application's interpreter would."""

    def run(
        device: str = "auto",
        *,
        python: str = sys.executable,
        program: Path = PROBE,
        asked: dict[str, Any] | None = None,
        **variables: str,
    ) -> Climb:
        out, request = tmp_path / "steps.jsonl", tmp_path / "request.json"
        request.write_text(json.dumps({"device": device, **(asked or {})}))
        done = subprocess.run(
            [python, str(program), str(out), str(request)],
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
