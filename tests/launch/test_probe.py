"""The probe, run as a script by one interpreter or another."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures import probe

SOURCE = Path(probe.__file__)
ALL_OK = dict.fromkeys(probe.STEPS, "ok")
PYTHONS = sorted(
    (
        path
        for path in Path.home().glob(".pyenv/versions/3.*/bin/python")
        if re.match(r"3\.([89]|1[0-3])\.", path.parts[-3])
    ),
    key=lambda path: int(path.parts[-3].split(".")[1]),
)


def test_it_imports_only_the_standard_library_and_torch() -> None:
    imported = set()
    for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - sys.stdlib_module_names == {"torch"}


def test_its_grammar_is_that_of_python_3_8() -> None:
    ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_every_python_climbs_to_the_torch_that_is_missing(python: Path, climb: Callable) -> None:
    run = climb("cpu", python=str(python))
    assert run.ended == {"interpreter": "ok", "environment": "ok", "import": "failed"}
    assert run.error == "ModuleNotFoundError: No module named 'torch'"
    assert run.found["interpreter"]["version"] == python.parts[-3]
    assert run.found["interpreter"]["implementation"] == "cpython"
    assert run.found["distributions"]["pip"]
    assert run.returncode == 1


@pytest.mark.parametrize("python", PYTHONS[:1] + PYTHONS[-1:], ids=lambda path: path.parts[-3])
def test_the_oldest_and_the_newest_climb_to_the_top_where_all_is_well(
    python: Path, climb: Callable, straw: Callable
) -> None:
    straw()
    run = climb("cuda", python=str(python))
    assert (run.ended, run.returncode) == (ALL_OK, 0)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="this interpreter has no torch")
def test_the_real_torch_computes_rightly_on_the_cpu(climb: Callable) -> None:
    run = climb("cpu")
    assert run.ended == ALL_OK
    assert run.found["device"] == "cpu"
    assert [one["operation"] for one in run.found["computations"]] == ["matmul", "sum"]
    for one in run.found["computations"]:
        assert one["finite"]
        assert 0 < one["error"] < one["tolerance"]
        assert one["reference_norm"] > 10
    assert sum(line.get("seconds", 0) for line in run.lines if line.get("end") == "compute") < 1


@pytest.mark.parametrize("linked", [False, True], ids=["straight", "through a link"])
def test_our_folder_never_shadows_the_standard_library(
    linked: bool, climb: Callable, straw: Callable, tmp_path: Path
) -> None:
    copies = tmp_path / "fixtures"
    copies.mkdir()
    (copies / "probe.py").write_bytes(SOURCE.read_bytes())
    (copies / "copy.py").write_text("raise ImportError('shadowed')")
    (tmp_path / "link").symlink_to(copies)
    straw(at_import="import copy; copy.deepcopy([])")
    run = climb("cpu", probe=(tmp_path / "link" if linked else copies) / "probe.py")
    assert run.ended == ALL_OK


def test_the_project_shadows_it_as_it_would_for_the_application(
    climb: Callable, straw: Callable, project: Path
) -> None:
    straw(at_import="import copy")
    (project / "copy.py").write_text("raise ImportError('the copy of the project')")
    assert climb("cpu").error == "ImportError: the copy of the project"


def test_two_cards_are_found_and_both_compute(climb: Callable, straw: Callable) -> None:
    straw()
    run = climb("auto", CUDA_VISIBLE_DEVICES="0,1")
    assert (run.ended, run.returncode) == (ALL_OK, 0)
    assert run.found["device"] == "cuda"
    assert run.found["cuda_driver"] == "12.4"
    assert run.found["devices"][1] == {
        "index": 1,
        "name": "Straw 100",
        "memory_bytes": 80 << 30,
        "capability": "9.0",
        "uuid": "GPU-00000001-aaaa",
    }
    assert [one["device"] for one in run.found["computations"]] == ["cuda:0"] * 2 + ["cuda:1"] * 2
    assert {one["error"] for one in run.found["computations"]} == {0.0}


def test_a_card_of_amd_is_named_by_its_architecture_and_unique_id(climb: Callable, straw: Callable) -> None:
    straw(build="rocm", cards=1)
    run = climb("rocm")
    assert run.ended == ALL_OK
    assert run.found["device"] == "rocm"
    assert run.found["devices"][0]["capability"] == "gfx942:xnack-"
    assert run.found["devices"][0]["uuid"] == "GPU-9a8c7f50d1e2a4bc"


@pytest.mark.parametrize(
    ("fault", "finite", "error"), [("nan", False, None), ("zero", True, 1.0), ("wrong", True, 0.25)]
)
def test_a_wrong_product_is_recorded_as_it_was_observed(
    fault: str, finite: bool, error: float | None, climb: Callable, straw: Callable
) -> None:
    straw(fault=fault)
    run = climb("cuda")
    assert run.ended == ALL_OK
    good, bad = (one for one in run.found["computations"] if one["operation"] == "matmul")
    assert (good["device"], good["finite"], good["error"]) == ("cuda:0", True, 0.0)
    assert (bad["device"], bad["finite"], bad["error"]) == ("cuda:1", finite, error)
    assert bad["reference_norm"] == 4.0


def test_a_card_that_raises_does_not_hide_the_others(climb: Callable, straw: Callable) -> None:
    straw(cards=3, fault="raises")
    run = climb("cuda")
    assert run.error == "cuda:1: RuntimeError: CUDA error: no kernel image is available"
    assert {one["device"] for one in run.found["computations"]} == {"cuda:0", "cuda:2"}


def test_no_card_is_a_failure_and_never_the_cpu(climb: Callable, straw: Callable) -> None:
    straw(cards=0)
    run = climb("auto", CUDA_VISIBLE_DEVICES="17,18,19")
    assert list(run.ended)[-1] == "device"
    assert run.error == (
        "torch 9.9.9, built for CUDA 12.8, sees no card (device_count 0, is_available False): "
        "RuntimeError: No CUDA GPUs are available (set here: CUDA_VISIBLE_DEVICES)"
    )
    assert "device" not in run.found
    assert "17,18" not in run.error


def test_a_warning_that_names_the_cause_is_kept_with_the_failure(climb: Callable, straw: Callable) -> None:
    straw(cards=0, fault="old driver")
    assert (
        "UserWarning: The NVIDIA driver on your system is too old (found version 12040)"
        in climb("cuda").error
    )


def test_a_warning_alone_is_no_failure(climb: Callable, straw: Callable) -> None:
    straw(fault="old driver", at_import="warnings.warn('Failed to initialize NumPy: none')")
    run = climb("cuda")
    assert run.ended == ALL_OK
    assert "too old" in run.stderr


def test_a_missing_numpy_is_not_offered_as_a_cause(climb: Callable, straw: Callable) -> None:
    straw(cards=0, at_import="warnings.warn('Failed to initialize NumPy: none')")
    assert "NumPy" not in climb("cuda").error


@pytest.mark.parametrize(
    ("build", "asked", "words"),
    [
        ("cpu", "cuda", "torch 9.9.9, built for the CPU only, not for cuda"),
        ("cpu", "auto", "torch 9.9.9, built for the CPU only, not for any card"),
        ("cuda", "rocm", "torch 9.9.9, built for CUDA 12.8, not for rocm"),
        ("rocm", "cuda", "torch 9.9.9, built for ROCm 6.2, not for cuda"),
    ],
)
def test_a_torch_built_for_something_else_fails_at_the_device(
    build: str, asked: str, words: str, climb: Callable, straw: Callable
) -> None:
    straw(build=build)
    run = climb(asked)
    assert list(run.ended)[-1] == "device"
    assert run.error == words


@pytest.mark.parametrize(
    ("build", "asked", "driver", "words"),
    [
        ("cuda", "auto", None, "the NVIDIA driver: libcuda.so.1: cannot open"),
        ("cuda", "cuda", 802, "the NVIDIA driver: cuInit gives 802 CUDA_ERROR_OF_STRAW"),
        ("rocm", "auto", 13, "the AMD driver: /dev/kfd: Permission denied"),
        ("rocm", "rocm", 22, "the AMD driver: /dev/kfd: Invalid argument"),
        (
            "cpu",
            "cuda",
            None,
            "libcuda.so.1: cannot open shared object file; and this is torch 9.9.9, built for the",
        ),
        ("cpu", "auto", None, "; the AMD driver: /dev/kfd: No such file or directory; and this is torch"),
    ],
)
def test_a_driver_that_does_not_answer_fails_below_torch(
    build: str, asked: str, driver: int | None, words: str, climb: Callable, straw: Callable
) -> None:
    straw(build=build, driver=driver)
    run = climb(asked)
    assert list(run.ended)[-1] == "driver"
    assert words in run.error


def test_for_the_cpu_no_driver_is_needed(climb: Callable, straw: Callable) -> None:
    straw(build="cuda", driver=None, cards=0)
    run = climb("cpu")
    assert run.ended == ALL_OK
    assert {one["device"] for one in run.found["computations"]} == {"cpu"}


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("raise ImportError('undefined symbol: x\\nmore')", "ImportError: undefined symbol: x"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise RuntimeError('y' * 9999)", "RuntimeError: " + "y" * 500),
        ("raise RuntimeError('half a pair: \\udc80')", "RuntimeError: half a pair: \\udc80"),
        ("raise type('Dumb', (Exception,), {'__str__': lambda self: 1 / 0})()", "Dumb: "),
        ("raise KeyError()", "KeyError: "),
    ],
)
def test_what_the_import_raises_is_told_in_one_line(
    statement: str, error: str, climb: Callable, straw: Callable
) -> None:
    straw(at_import=statement)
    run = climb("cpu")
    assert (list(run.ended)[-1], run.error) == ("import", error)


def test_no_value_of_a_variable_is_quoted(climb: Callable, straw: Callable) -> None:
    straw(at_import="raise RuntimeError('no access with {HUB_TOKEN} at {HUB_URL}'.format(**os.environ))")
    run = climb("cpu", HUB_TOKEN="/x1y2", HUB_URL="https://me:pw@hub")
    assert run.error == "RuntimeError: no access with $HUB_TOKEN at $HUB_URL"


def test_a_path_stays_readable_in_an_error(climb: Callable, straw: Callable, project: Path) -> None:
    straw(at_import="raise OSError(os.environ['MY_LIBRARIES'] + '/libx.so: too old')")
    assert climb("cpu", MY_LIBRARIES="/opt/libraries").error == "OSError: /opt/libraries/libx.so: too old"


def test_of_two_versions_in_one_folder_both_are_told(
    climb: Callable, straw: Callable, project: Path, tmp_path: Path
) -> None:
    straw()

    def install(folder: Path, name: str, version: str) -> None:
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: 0\n"
        )

    later = tmp_path / "later"
    install(project, "Torn_Update.x", "2.8")
    install(project, "Torn_Update.x", "2.6")
    install(project, "shadowing", "1")
    install(later, "shadowing", "2")
    (project / "empty-1.dist-info").mkdir()
    found = climb("cpu", PYTHONPATH=str(later)).found["distributions"]
    assert (found["torn-update-x"], found["shadowing"]) == ("2.6 and 2.8", "1")
    assert "" not in found


def test_what_was_found_is_on_disk_before_the_step_that_kills(climb: Callable, straw: Callable) -> None:
    straw(fault="dies")
    run = climb("cuda")
    assert run.returncode < 0
    assert run.lines[-1]["found"]["computation"]["device"] == "cuda:0"
    assert "compute" not in run.ended
    assert "Segmentation fault" in run.stderr


def test_it_leaves_nothing_in_the_project(climb: Callable, straw: Callable, project: Path) -> None:
    straw(fault="dies")
    climb("cuda")
    assert [name for name in os.listdir(project) if name != "torch"] == []
