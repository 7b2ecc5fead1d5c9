"""What the probe sees of a driver: libraries of straw, recorded nodes and devices."""

from __future__ import annotations

import ctypes.util
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence.ladder import Driver
from fixtures.probe import driver
from tests.launch.written import alone
from tests.launch.written import as_somebody_else
from tests.launch.written import here
from tests.launch.written import library
from tests.launch.written import needs_cc
from tests.launch.written import program
from tests.launch.written import PYTHONS
from tests.launch.written import write
from tests.launch.written import Written

no_driver = pytest.mark.skipif(
    any(map(ctypes.util.find_library, ("cuda", "nvidia-ml"))) or Path("/dev/kfd").exists(),
    reason="this machine has a driver of its own",
)
CUDA, NVML = "libcuda.so.1", "libnvidia-ml.so.1"
NOT_THERE = "cannot open shared object file: No such file or directory"


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., Written]:
    """Looks at the driver with libraries of straw, and with variables that say what is wrong with them."""
    stubs = {CUDA: "libcuda.c", NVML: "libnvidia_ml_init.c"}

    def look(
        device: str = "cuda",
        have: tuple[str, ...] = (CUDA, NVML),
        settings: dict[str, Any] | None = None,
        **variables: str,
    ) -> Written:
        folder = tmp_path / "libraries"
        folder.mkdir()
        for name in have:
            (folder / name).write_bytes(library(stubs[name]))
        given = {"LD_LIBRARY_PATH": str(folder), **variables}
        written = alone("driver", device, variables=given, settings=settings)
        if written.found:
            Driver.model_validate({**written.found["driver"], "nodes": written.added.get("driver.nodes", [])})
        return written

    return look


@needs_cc
def test_a_driver_that_answers_is_told_in_numbers(asked: Callable) -> None:
    seen = asked(STUB_CUDA_CARDS="2")
    assert (seen.absent, seen.said()) == (None, [])
    assert seen.found["cuda_driver"] == "13.0"
    assert seen.found["driver"]["cuda"] == {
        "library": CUDA, "error": None, "code": 0, "name": None, "version": "13.0", "count": 2,
    }  # fmt: skip
    assert seen.found["driver"]["nvml"] == {
        "library": NVML, "error": None, "code": 0, "name": None, "version": "570.86.15", "count": 2,
    }  # fmt: skip
    assert os.getegid() in seen.found["driver"]["groups"]


@needs_cc
@pytest.mark.parametrize(
    ("code", "name"),
    [
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (999, "CUDA_ERROR_UNKNOWN"),
        (46, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
        (100, "CUDA_ERROR_NO_DEVICE"),
        (35, None),
    ],
)
def test_an_error_of_cuinit_is_told_by_its_number(code: int, name: str | None, asked: Callable) -> None:
    seen = asked(STUB_CUINIT=str(code), STUB_CUDA="12040")
    text = f"the NVIDIA driver: cuInit gives {code} {name or ''}".rstrip()
    assert seen.absent == [text, "cuInit", code, "cuda"]
    cuda = seen.found["driver"]["cuda"]
    assert (cuda["code"], cuda["name"], cuda["version"], cuda["count"]) == (code, name, "12.4", None)
    assert seen.found["cuda_driver"] == "12.4"
    assert seen.said() == []  # the management library is well


@needs_cc
def test_variables_that_hide_cards_are_named_beside_the_error(asked: Callable) -> None:
    seen = asked(STUB_CUINIT="100", CUDA_VISIBLE_DEVICES="GPU-secret", HIP_VISIBLE_DEVICES="")
    assert seen.absent[0].endswith("(set here: CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES)")
    assert "GPU-secret" not in str(seen)


@needs_cc
def test_a_crash_in_cuinit_is_a_finding_and_the_rest_is_still_asked(asked: Callable) -> None:
    seen = asked(STUB_CUINIT="crash")
    assert seen.absent == ["the NVIDIA driver: cuInit: killed by SIGSEGV", "cuInit", 11, "signal"]
    assert seen.found["driver"]["cuda"]["error"] == "cuInit: killed by SIGSEGV"
    assert seen.found["cuda_driver"] == "13.0"  # asked before
    assert seen.found["driver"]["nvml"]["count"] == 2


@needs_cc
def test_a_hang_in_cuinit_ends_at_its_deadline(asked: Callable) -> None:
    seen = asked(settings={"CUDA_S": 0.3}, STUB_CUINIT="hang")
    assert seen.absent == ["the NVIDIA driver: cuInit: no end within 0.3 s", "cuInit", None, None]
    assert seen.found["driver"]["nvml"]["count"] == 2


@needs_cc
@no_driver
def test_libcuda_alone_computes_and_the_missing_library_is_said(asked: Callable) -> None:
    seen = asked(have=(CUDA,))
    assert seen.absent is None
    assert seen.found["driver"]["nvml"]["error"] == f"{NVML}: {NOT_THERE}"
    assert seen.said() == [(NVML, f"{NVML}: {NOT_THERE}")]


@needs_cc
@no_driver
def test_libnvidia_ml_alone_computes_nothing(asked: Callable) -> None:
    seen = asked(have=(NVML,))
    assert seen.absent == [f"the NVIDIA driver: {CUDA}: {NOT_THERE}", CUDA, None, None]
    assert seen.found["driver"]["nvml"]["code"] == 0
    assert (seen.said(), "cuda_driver" in seen.found) == ([], False)


@needs_cc
def test_a_library_that_is_no_drivers_is_told_as_that(asked: Callable, tmp_path: Path) -> None:
    seen = asked(have=(NVML,), LD_LIBRARY_PATH=str(other := tmp_path / "other"), STUB_NVML="0")
    assert seen.absent
    other.mkdir()
    (other / CUDA).write_bytes(library("libnvidia_ml_init.c"))
    seen = alone("driver", "cuda", variables={"LD_LIBRARY_PATH": str(other)})
    assert "undefined symbol: cuDriverGetVersion" in seen.absent[0]


@needs_cc
def test_a_management_library_of_another_version_is_said_in_its_own_words(asked: Callable) -> None:
    seen = asked(STUB_NVML="18")
    assert seen.absent is None
    assert seen.said() == [("nvmlInit", "nvmlInit: Driver/library version mismatch (NVML 18)")]
    assert [one["number"] for one in seen.added["said"]] == [None]  # NVML's 18 is not CUDA's


@needs_cc
def test_a_management_library_that_hangs_is_said(asked: Callable) -> None:
    seen = asked(settings={"NVML_S": 0.3}, STUB_NVML="hang")
    assert seen.absent is None
    assert seen.said() == [("nvmlInit", "nvmlInit: no end within 0.3 s")]


@needs_cc
@no_driver
def test_for_auto_one_vendor_that_answers_is_enough(asked: Callable) -> None:
    assert asked("auto").absent is None


@no_driver
def test_for_auto_both_vendors_are_named_where_neither_answers(asked: Callable) -> None:
    seen = asked("auto", have=())
    texts = [
        f"the NVIDIA driver: {CUDA}: {NOT_THERE}",
        "the AMD driver: /dev/kfd: No such file or directory (errno 2)",
    ]
    assert seen.absent == ["; ".join(texts), CUDA, None, None]
    assert {node["path"] for node in seen.added["driver.nodes"]} >= {"/dev/kfd", "/dev/nvidiactl"}


@needs_cc
def test_where_amd_answers_a_driver_of_nvidia_that_is_ill_is_said_all_the_same(
    asked: Callable, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / CUDA).write_bytes(library("libcuda.c"))
    root = write(tmp_path / "root", {"dev/kfd": ""})
    variables = {"LD_LIBRARY_PATH": str(tmp_path / "lib"), "STUB_CUINIT": "802"}
    seen = alone("driver", "auto", str(root), variables=variables)
    assert seen.absent is None
    assert ("cuInit", "the NVIDIA driver: cuInit gives 802 CUDA_ERROR_SYSTEM_NOT_READY") in seen.said()


def test_for_the_cpu_there_is_nothing_to_look_at() -> None:
    assert here(driver.observe, "cpu") == Written()


# -- nodes ------------------------------------------------------------------------------------------------


@no_driver
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOENT, "No such file or directory"),
        (errno.EACCES, "Permission denied"),
        (errno.EINVAL, "Invalid argument"),
    ],
)
def test_the_errno_of_kfd_tells_what_is_wrong(
    number: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path, {"dev/kfd": "", "dev/dri/renderD128": "", "dev/dri/card0": ""})
    (tmp_path / "dev/kfd").chmod(0o660)
    real = os.open

    def refusing(path: Any, *more: Any, **named: Any) -> int:
        if str(path).endswith("dev/kfd"):
            raise OSError(number, os.strerror(number))
        return real(path, *more, **named)

    monkeypatch.setattr(os, "open", refusing)
    for name in driver.HIDING:
        monkeypatch.delenv(name, raising=False)
    seen = here(driver.observe, "rocm", str(root))
    text = f"the AMD driver: /dev/kfd: {words} (errno {number})"
    assert seen.absent == [text, "/dev/kfd", number, "errno"]
    assert seen.added["driver.nodes"] == [
        {"path": "/dev/kfd", "errno": number, "mode": "0660", "gid": os.getegid()},
        {"path": "/dev/dri/renderD128", "errno": None, "mode": "0644", "gid": os.getegid()},
    ]
    monkeypatch.undo()
    assert here(driver.observe, "rocm", str(root)).absent is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody without rights")
def test_a_node_of_a_group_that_this_process_is_not_in_is_refused() -> None:
    for group, number in ((None, errno.EACCES), (4242, None)):
        with as_somebody_else(group) as (root, call):
            place = write(root, {"dev/kfd": ""}) / "dev" / "kfd"
            os.chown(place, 0, 4242)
            place.chmod(0o660)
            node = call(lambda root=root: driver.look_at_node(str(root), "dev/kfd"))
            assert node == {"path": "/dev/kfd", "errno": number, "mode": "0660", "gid": 4242}


@no_driver
def test_a_node_that_hangs_is_told_and_the_others_are_still_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path, {"dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": ""})
    look = driver.look_at_node

    def looking(root: str, path: str) -> dict[str, Any]:
        if path.endswith("nvidia0"):
            time.sleep(60)
        return look(root, path)

    monkeypatch.setattr(driver, "look_at_node", looking)
    monkeypatch.setattr(driver, "NODE_S", 0.3)
    seen = here(driver.observe, "cuda", str(root))
    assert [(node["path"], node["errno"]) for node in seen.added["driver.nodes"]] == [
        ("/dev/nvidiactl", None),
        ("/dev/nvidia-uvm", errno.ENOENT),
        ("/dev/nvidia-uvm-tools", errno.ENOENT),
        ("/dev/nvidia0", errno.ETIMEDOUT),
        ("/dev/nvidia1", None),
    ]


@no_driver
def test_for_auto_only_nodes_of_vendors_that_have_left_a_trace_are_missed(tmp_path: Path) -> None:
    root = write(tmp_path, {"dev/kfd": "", "sys/module/amdgpu/version": "6.8.5"})
    seen = here(driver.observe, "auto", str(root))
    assert [node["path"] for node in seen.added["driver.nodes"]] == ["/dev/kfd"]
    assert (seen.absent, seen.said()) == (None, [])


# -- files ------------------------------------------------------------------------------------------------

CARD = "sys/bus/pci/devices/0000:3b:00.0"


def files_of(root: Path, files: dict[str, str]) -> dict[str, Any]:
    return here(driver.observe, "rocm", str(write(root, files))).found["driver"]


@pytest.mark.parametrize("module", ["nvidia", "nouveau", "vfio-pci", None])
def test_the_module_that_a_card_is_bound_to_is_told(module: str | None, tmp_path: Path) -> None:
    files = {f"{CARD}/vendor": "0x10de\n", f"{CARD}/device": "0x2330\n", f"{CARD}/class": "0x030200\n"}
    if module:
        files[f"{CARD}/driver"] = f"->../../../bus/pci/drivers/{module}"
    sound = "sys/bus/pci/devices/0000:3b:00.1"
    files |= {f"{sound}/vendor": "0x10de", f"{sound}/class": "0x040300"}
    files |= {"sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086"}
    seen = files_of(tmp_path, files)
    assert seen["pci"] == [
        {
            "address": "0000:3b:00.0",
            "vendor": "0x10de",
            "device": "0x2330",
            "class": "0x030200",
            "module": module,
        }
    ]
    Driver.model_validate(seen)


def test_loaded_modules_have_their_versions(tmp_path: Path) -> None:
    files = {
        "sys/module/nvidia/version": "570.86.15",
        "sys/module/nouveau/refcnt": "0",
        "sys/module/ext4/x": "",
    }
    assert files_of(tmp_path, files)["modules"] == {"nvidia": "570.86.15", "nouveau": None}


def test_what_cannot_be_seen_is_unknown_and_not_empty(tmp_path: Path) -> None:
    seen = files_of(tmp_path, {})
    assert (seen["pci"], seen["modules"], seen["module_version"], seen["library_version"]) == (None,) * 4


VERSION = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\nGCC version: 12.2.0"
)


@pytest.mark.parametrize("upgraded", ["570.124.06", "570.86.15"], ids=["upgraded", "healthy"])
def test_the_libraries_version_is_beside_that_of_the_loaded_module(upgraded: str, tmp_path: Path) -> None:
    folder = "usr/lib/x86_64-linux-gnu"
    files = {
        "proc/driver/nvidia/version": VERSION,
        f"{folder}/libnvidia-ml.so.1": f"->libnvidia-ml.so.{upgraded}",
        f"{folder}/libnvidia-ml.so.{upgraded}": "",
        f"{folder}/libnvidia-ml.so.535.54.03": "",  # left behind
        f"{folder}/libcuda.so.{upgraded}": "",
    }
    seen = files_of(tmp_path, files)
    assert (seen["module_version"], seen["library_version"]) == ("570.86.15", upgraded)


def test_a_library_for_forward_compatibility_is_not_the_drivers(tmp_path: Path) -> None:
    compat = "usr/local/cuda-13.0/compat"
    configured = {"etc/ld.so.conf.d/00-cuda.conf": f"# first\n/{compat}\n/opt/driver\n"}
    write(tmp_path, {**configured, f"{compat}/libcuda.so.1": "->libcuda.so.580.65.06"})
    assert driver.library_version(str(tmp_path)) is None
    write(tmp_path, {"opt/driver/libcuda.so.550.54.15": ""})
    assert driver.library_version(str(tmp_path)) == "550.54.15"


def test_what_a_container_hides_is_said_with_who_could_see_it(tmp_path: Path) -> None:
    plain = here(driver.observe, "rocm", str(tmp_path)).added["unseen"]
    boxed = here(driver.observe, "rocm", str(write(tmp_path, {".dockerenv": ""}))).added["unseen"]
    assert [one for one in boxed if one not in plain] == [
        {
            "what": "processes of others on the cards",
            "why": "a container shows its own processes only",
            "who": "the provider, with nvidia-smi or amd-smi on the host",
        }
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_oldest_and_the_newest_python_look_at_this_machine(python: str, tmp_path: Path) -> None:
    seen = alone("driver", "auto", python=python)
    Driver.model_validate({**seen.found["driver"], "nodes": seen.added["driver.nodes"]})
    program(tmp_path, "rocminfo", "echo ROCk module is loaded")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    asked = alone("witnesses", "rocm", str(tmp_path), python=python, variables={"PATH": path})
    assert asked.added["driver.asked"][0]["returncode"] == 0
    assert (tmp_path / "witness-rocminfo.txt").read_text() == "ROCk module is loaded\n"
