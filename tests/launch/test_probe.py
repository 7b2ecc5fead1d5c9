"""The probe, run as a script by one interpreter or another."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures import probe

SOURCES = sorted(Path(probe.__file__).parent.glob("*.py"))
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
    """And its own modules, which it finds beside each other: on the way where others look it stands under no name."""
    imported = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add((node.module or "").partition(".")[0])
    assert imported - sys.stdlib_module_names == {"torch"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_its_grammar_is_that_of_python_3_8(source: Path) -> None:
    ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_every_python_climbs_to_the_torch_that_is_missing(python: Path, climb: Callable) -> None:
    run = climb("cpu", python=str(python))
    assert run.ended == {**dict.fromkeys(probe.STEPS[:3], "ok"), "import": "failed", "host": "ok"}
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
    assert {"matmul", "sum"} <= {one["operation"] for one in run.found["computations"]}
    for one in run.found["computations"]:
        assert one["finite"]
        assert 0 <= one["error"] < one["tolerance"]


@pytest.mark.parametrize("linked", [False, True], ids=["straight", "through a link"])
def test_our_folder_never_shadows_the_standard_library(
    linked: bool, climb: Callable, straw: Callable, tmp_path: Path
) -> None:
    copies = tmp_path / "fixtures"
    shutil.copytree(Path(probe.__file__).parent, copies)
    (copies / "copy.py").write_text("raise ImportError('shadowed')")
    (tmp_path / "link").symlink_to(copies)
    straw(at_import="import copy; copy.deepcopy([])")
    run = climb("cpu", program=(tmp_path / "link" if linked else copies) / "__main__.py")
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
    assert {one["device"] for one in run.found["computations"]} == {"cuda:0", "cuda:1"}
    assert {one["operation"] for one in run.found["computations"]} == {"matmul", "sum", "matmul_large"}
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
    products = [one for one in run.found["computations"] if one["operation"] == "matmul"]
    good, bad = sorted(products, key=lambda one: one["device"])
    assert (good["device"], good["finite"], good["error"]) == ("cuda:0", True, 0.0)
    assert (bad["device"], bad["finite"], bad["error"]) == ("cuda:1", finite, error)
    assert bad["reference_norm"] == 4.0


def test_a_card_that_raises_does_not_hide_the_others(climb: Callable, straw: Callable) -> None:
    straw(cards=3, fault="raises")
    run = climb("cuda")
    assert run.error == "cuda:1: RuntimeError: CUDA error: no kernel image is available"
    computed = {one["device"] for one in run.found["computations"] if not one.get("raised")}
    assert {"cuda:0", "cuda:2"} <= computed


def test_no_card_is_a_failure_and_never_the_cpu(climb: Callable, straw: Callable) -> None:
    straw(cards=0)
    run = climb("auto", CUDA_VISIBLE_DEVICES="17,18,19")
    assert run.failed == "device"
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
    straw(build=build, both=True)
    run = climb(asked)
    assert run.failed == "device"
    assert run.error == words


@pytest.mark.parametrize(
    ("build", "asked", "driver", "words"),
    [
        ("cuda", "auto", None, "the NVIDIA driver: libcuda.so.1: cannot open"),
        ("cuda", "cuda", 802, "the NVIDIA driver: cuInit gives 802 CUDA_ERROR_SYSTEM_NOT_READY"),
        ("rocm", "auto", 13, "the AMD driver: /dev/kfd: Permission denied"),
        ("rocm", "rocm", 22, "the AMD driver: /dev/kfd: Invalid argument"),
    ],
)
def test_a_driver_that_does_not_answer_fails_beside_torch(
    build: str, asked: str, driver: int | None, words: str, climb: Callable, straw: Callable
) -> None:
    """torch is imported all the same, at the same time: that it can be is one thing less to doubt."""
    straw(build=build, driver=driver)
    run = climb(asked)
    assert run.ended == {
        "interpreter": "ok", "environment": "ok", "driver": "failed", "import": "ok", "host": "ok",
    }  # fmt: skip
    assert words in run.error
    assert run.returncode == 1


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
    assert (run.failed, run.error) == ("import", error)


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
    assert (run.ended["compute"], run.returncode) == ("crashed", 1)
    assert "cuda:0" in {one["device"] for one in run.found["computations"]}
    assert "Segmentation fault" in run.stderr


def test_it_leaves_nothing_in_the_project(climb: Callable, straw: Callable, project: Path) -> None:
    straw(fault="dies")
    climb("cuda")
    assert [name for name in os.listdir(project) if name != "torch"] == []


# -- what only this machine's torch, or only a hang, can show


@pytest.mark.parametrize(
    ("fault", "step", "status", "place"),
    [
        ("hangs", "compute", "hung", "in matmul"),
        ("sees nothing and hangs", "device", "hung", "in is_available"),
    ],
)
def test_a_hang_is_the_steps_own_and_names_the_line(
    fault: str, step: str, status: str, place: str, climb: Callable, straw: Callable
) -> None:
    straw(fault=fault)
    run = climb("cuda", asked={"deadlines": {step: 1.0}})
    assert (run.failed, run.ended[step]) == (step, status)
    assert "no end within 1 s, at File " in run.error
    assert place in run.error
    assert run.ended["host"] == "ok"


def test_a_driver_that_hangs_is_told_beside_the_torch_that_was_imported(
    climb: Callable, straw: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    straw()
    run = climb("cuda", asked={"deadlines": {"driver": 1.0}}, STUB_CUINIT="hang")
    assert (run.ended["driver"], run.ended["import"]) == ("hung", "ok")
    assert "device" not in run.ended


def test_a_crash_in_the_driver_takes_nothing_else_with_it(climb: Callable, straw: Callable) -> None:
    straw()
    run = climb("cuda", STUB_CUINIT="crash")
    assert (run.failed, run.ended["import"], run.ended["host"]) == ("driver", "ok", "ok")
    assert "SIGSEGV" in run.error


def test_with_numpy_the_crash_is_numpys_and_no_steps(climb: Callable, straw: Callable) -> None:
    straw(fault="numpy")
    run = climb("cuda")
    assert run.ended == ALL_OK
    assert run.found["torch"]["numpy_error"].startswith("killed by SIGSEGV")


def test_a_card_that_lets_one_process_in_refuses_the_second(climb: Callable, straw: Callable) -> None:
    straw(fault="exclusive")
    run = climb("cuda")
    assert run.ended == ALL_OK
    refused = {one["device"]: one["error"] for one in run.found["second"]}
    assert refused == {"cuda:0": None, "cuda:1": "RuntimeError: CUDA error: busy or unavailable"}


def test_cards_that_a_variable_hides_are_counted_without_it(climb: Callable, straw: Callable) -> None:
    straw(cards=0, fault="hidden")
    run = climb("cuda", CUDA_VISIBLE_DEVICES="")
    assert run.failed == "device"
    assert run.found["retried"] == [
        {"step": "device", "without": ["CUDA_VISIBLE_DEVICES"], "error": None, "count": 3}
    ]


def test_cards_that_nothing_hides_are_not_counted_again(climb: Callable, straw: Callable) -> None:
    straw(cards=0)
    assert climb("cuda").found["retried"] == []


def test_an_import_that_a_variable_breaks_goes_well_without_it(climb: Callable, straw: Callable) -> None:
    straw(
        at_import="if 'LD_LIBRARY_PATH' in os.environ: raise ImportError('undefined symbol: x')\nsys.exit()"
    )
    (run_import,) = [
        one for one in climb("cuda", LD_LIBRARY_PATH="/elsewhere").found["retried"] if one["step"] == "import"
    ]
    assert run_import == {"step": "import", "without": ["LD_LIBRARY_PATH"], "error": None}


def test_an_import_that_no_variable_breaks_fails_without_each_of_them(
    climb: Callable, straw: Callable, tmp_path: Path
) -> None:
    straw(at_import="raise ImportError('undefined symbol: x')")
    run = climb("cpu", PYTHONPATH=str(tmp_path), LD_LIBRARY_PATH=str(tmp_path))
    alone = [["LD_LIBRARY_PATH"], ["PYTHONPATH"]]
    assert [one["without"] for one in run.found["retried"]] == [*alone, alone[0] + alone[1]]
    assert {one["error"] for one in run.found["retried"]} == {"ImportError: undefined symbol: x"}
    assert run.error == "ImportError: undefined symbol: x"


def test_what_torch_was_built_for_is_told_without_a_card(climb: Callable, straw: Callable) -> None:
    straw(cards=0, driver=None, at_import="warnings.warn('old')")
    found = climb("cpu").found
    assert found["torch"]["architectures"] == ["sm_90", "compute_90"]
    assert found["torch.warnings"] == ["UserWarning: old"]
    assert [(one["step"], one["source"], one["text"]) for one in found["said"]] == [
        ("import", "torch", "UserWarning: old")
    ]


def test_an_error_is_said_with_its_number(climb: Callable, straw: Callable) -> None:
    straw(driver=802)
    run = climb("cuda")
    (said,) = [one for one in run.found["said"] if one["text"] == run.error]
    assert (said["step"], said["source"]) == ("driver", "cuInit")
    assert (said["number"], said["number_of"]) == (802, "cuda")


def test_the_variables_that_steer_are_shown_and_secrets_only_named(climb: Callable, straw: Callable) -> None:
    straw()
    run = climb(
        "cpu",
        CUDA_VISIBLE_DEVICES="0",
        HF_TOKEN="hf_abcdefgh12345678",
        HF_ENDPOINT="https://me:pw@hub",
        NCCL_AUTH="hush-hush",
        MY_OWN="mine-alone",
    )
    shown = run.found["variables"]
    assert {name: shown[name] for name in shown if not name.startswith("LD_")} == {
        "CUDA_VISIBLE_DEVICES": "0",
        "HF_TOKEN": None,
        "HF_ENDPOINT": None,
        "NCCL_AUTH": None,
    }
    text = str(run.lines)
    assert not [secret for secret in ("hf_abcd", "me:pw", "hush-hush", "mine-alone") if secret in text]


def test_a_distribution_that_stands_twice_is_told_with_both_places(
    climb: Callable, straw: Callable, project: Path, tmp_path: Path
) -> None:
    straw()
    later, linked = tmp_path / "later", tmp_path / "linked"
    for folder, version in ((project, "1"), (later, "2")):
        info = folder / f"twice-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: twice\nVersion: {version}\n")
        (info / "INSTALLER").write_text("uv\n")
    linked.symlink_to(later)
    found = climb("cpu", PYTHONPATH=f"{later}{os.pathsep}{linked}").found
    (twice,) = [one for one in found["duplicates"] if one["name"] == "twice"]
    assert twice["versions"] == ["1", "2"]
    assert [os.path.realpath(project / folder) for folder in twice["folders"]] == [str(project), str(later)]
    assert found["installers"]["twice"] == "uv"


def test_the_kind_of_interpreter_and_its_rivals_are_told(
    climb: Callable, straw: Callable, tmp_path: Path
) -> None:
    straw()
    for folder, name in (("one", "python"), ("two", "python3"), ("two", "python3.notes")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text("")
        (tmp_path / folder / name).chmod(0o755)
    (tmp_path / "again").symlink_to(tmp_path / "one")
    path = os.pathsep.join(str(tmp_path / name) for name in ("one", "again", "two"))
    found = climb("cpu", PATH=path).found["interpreter"]
    assert found["on_path"] == [str(tmp_path / "one" / "python"), str(tmp_path / "two" / "python3")]
    assert found["kind"] == ("venv" if sys.prefix != sys.base_prefix else "system")
    assert all(os.path.basename(folder).endswith("-packages") for folder in found["site"])


@pytest.mark.parametrize(
    "asked", [[], [{"module": "json", "snippet": "module.dumps([])"}]], ids=["none", "one"]
)
def test_extensions_are_tried_where_some_are_asked_for(
    asked: list[dict[str, str]], climb: Callable, straw: Callable
) -> None:
    straw()
    run = climb("cpu", asked={"extensions": asked})
    assert run.ended == ALL_OK
    assert [one["module"] for one in run.found.get("extensions", [])] == [one["module"] for one in asked]


def test_an_extension_that_fails_is_named(climb: Callable, straw: Callable) -> None:
    straw()
    run = climb("cpu", asked={"extensions": [{"module": "no_such_module", "snippet": None}]})
    assert (run.failed, run.error) == ("extensions", "failed: no_such_module")
