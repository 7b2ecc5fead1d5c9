"""What a trial stands on, as far as it is known before anything runs. Runs in the controlling process.

Values of environment variables are shown for a short list that is safe to show, and for no other.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from fixtures import cgroup
from fixtures.evidence import sums
from fixtures.evidence.models import Inventory
from fixtures.evidence.parameters import AnyApplication
from fixtures.evidence.trial import Factors

#: variables that steer GPUs and whose values hold numbers, UUIDs and switches only
SAFE_TO_SHOW = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE",
    "HSA_OVERRIDE_GFX_VERSION", "OMP_NUM_THREADS",
)  # fmt: skip
_STEERING = (
    "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "HSA_", "NCCL_", "PYTORCH_", "HF_", "OMP_", "LD_", "PYTHON", "PATH", "TMPDIR",
)  # fmt: skip
_SECRET = re.compile("TOKEN|KEY|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_OWN_CODE = ("conftest.py", "pyproject.toml", "fixtures", "plugins", "suites")
#: what a program is made of; its data, weights and label files are named under `references`
_CODE = (".py", ".pyi", ".sh", ".so", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".jinja")
MOST_CODE_FILES = 5_000


def observe(
    project: Path,
    files: dict[str, Path],
    references: dict[str, str],
    inventory: Inventory,
    interpreter: str,
    application: AnyApplication,
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
        "limits": limits(),
    }
    names = sorted(name for name in os.environ if name.startswith(_STEERING))
    # one sum over all, so that a changed value is seen and none can be read out of it
    values = "".join(f"{name}={os.environ[name]}\n" for name in names if not _SECRET.search(name))
    environment = {
        "interpreter": interpreter,
        "suite python": platform.python_version(),
        "pytest": metadata.version("pytest"),
        "variables set": ", ".join(names) or "none",
        "values of those": sums.of_bytes(values.encode("utf-8", "surrogateescape")),
    }
    environment |= {name: os.environ[name] for name in SAFE_TO_SHOW if name in os.environ}
    code = {
        "revision": revision(project),
        "suite": suite_sum(project),
        "application": application_sum(project, project / (application.folder or "."), application.words),
    }
    own = {**code, **{name: _sum(path) for name, path in files.items()}}
    # the renter may name a reference as we name a factor of our own
    named = {f"references.{name}" if name in own else name: value for name, value in references.items()}
    return Factors(machine=machine, environment=environment, project={**own, **named})


def limits() -> str:
    """What this process may use, as far as a container or a shell narrows it: memory, open files, shared memory."""
    allowed, _ = cgroup.limit()
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        shared = str(shutil.disk_usage("/dev/shm").total)
    except OSError:
        shared = "none"
    return f"memory {allowed or 'unknown'}, open files {files}, /dev/shm {shared}"


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


def application_sum(project: Path, folder: Path, command: list[str]) -> str:
    """One sum over the files that the command names, and the code that lies beside each of them.

    Args:
        folder: where the command is run, and its names are looked for.
        command: with placeholders, which name nothing.

    What a program imports from elsewhere is not seen; an environment is, by looking at it afresh.
    """
    paths: set[Path] = set()
    for word in command:
        path = folder / word
        if "{" not in word and path.is_file():
            paths.add(path)
            paths |= set(_code_below(path.parent))
        elif "{" not in word and path.is_dir():
            paths |= set(_code_below(path))
    if "-m" in command or not paths:  # a module is looked for in the current folder first
        paths |= {*_code_below(folder), *_code_below(project)}
    listed = [(str(path), _sum(path)) for path in sorted(paths)]
    return sums.of_bytes(sums.render(listed).encode("utf-8", "surrogateescape"))


def _code_below(folder: Path) -> Iterator[Path]:
    """Code below `folder`, hidden folders, environments, data and reports left out; the first 5,000 files."""
    found = 0
    for root, folders, names in os.walk(folder):
        if "pyvenv.cfg" in names or found > MOST_CODE_FILES:
            folders.clear()
            continue
        left_out = ("reports", "data", "node_modules", "__pycache__")
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in left_out)
        for name in sorted(names):
            if name.endswith(_CODE):
                found += 1
                yield Path(root, name)


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
