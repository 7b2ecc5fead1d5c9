"""What a trial stands on, as far as it is known before anything runs. Runs in the controlling process.

Values of environment variables are shown for a short list that is safe to show, and for no other.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from fixtures.evidence import sums
from fixtures.evidence.models import Inventory
from fixtures.evidence.trial import Factors

#: variables that steer GPUs and whose values hold numbers, UUIDs and switches only
SAFE_TO_SHOW = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE",
    "HSA_OVERRIDE_GFX_VERSION", "OMP_NUM_THREADS",
)  # fmt: skip
_STEERING = (
    "CUDA_",
    "NVIDIA_",
    "HIP_",
    "ROCR_",
    "HSA_",
    "NCCL_",
    "PYTORCH_",
    "HF_",
    "OMP_",
    "LD_",
    "PYTHON",
    "TMPDIR",
)
_OWN_CODE = ("conftest.py", "pyproject.toml", "fixtures", "plugins", "suites")


def observe(
    project: Path, files: dict[str, Path], references: dict[str, str], inventory: Inventory, interpreter: str
) -> Factors:
    """The factors of a trial; `files` are the parameters, the order and the manifest by name."""
    host = inventory.host
    machine = {
        "cards": ", ".join(f"{card.name} {card.uuid or card.pci or ''}".strip() for card in inventory.cards)
        or "none",
        "driver": inventory.driver or "none",
        "kernel": host.kernel,
        "boot": host.boot_id or "unknown",
        "container": host.container or "none",
        "memory": str(host.memory_bytes),
        "cpus": str(host.cpus),
    }
    names = sorted(name for name in os.environ if name.startswith(_STEERING))
    environment = {
        "interpreter": interpreter,
        "suite python": platform.python_version(),
        "pytest": metadata.version("pytest"),
        "variables set": ", ".join(names) or "none",
    }
    environment |= {name: os.environ[name] for name in SAFE_TO_SHOW if name in os.environ}
    code = {"revision": revision(project), "suite": suite_sum(project)}
    own = {**code, **{name: _sum(path) for name, path in files.items()}}
    # the renter may name a reference as we name a factor of our own
    named = {f"references.{name}" if name in own else name: value for name, value in references.items()}
    return Factors(machine=machine, environment=environment, project={**own, **named})


def revision(project: Path) -> str:
    """The commit of the project folder and whether anything differs from it; for a folder without git, so."""
    commit = _git(project, "rev-parse", "HEAD")
    if not commit:
        return "no git revision"
    differing = _git(project, "status", "--porcelain")
    state = "of unknown state" if differing is None else "with uncommitted changes" if differing else "clean"
    return f"{commit} {state}"


def suite_sum(project: Path) -> str:
    """One sum over the suite's own code, which says the same with and without git."""
    listed = []
    for name in _OWN_CODE:
        path = project / name
        paths = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        listed += [(part.relative_to(project).as_posix(), _sum(part)) for part in paths]
    return sums.of_bytes(sums.render(listed).encode("utf-8", "surrogateescape"))


def _git(project: Path, *arguments: str) -> str | None:
    try:
        end = subprocess.run(
            ["git", "-C", str(project), *arguments], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return end.stdout.strip()


def _sum(path: Path) -> str:
    try:
        return sums.of_file(path)
    except OSError as error:
        return f"unreadable: {error.strerror}"
