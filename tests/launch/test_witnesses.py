"""The vendors' programs as witnesses: healthy, failing, slow, and printing what nobody can read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.evidence.ladder import Asked
from fixtures.probe import witnesses
from tests.launch.written import here
from tests.launch.written import program

#: as nvidia-smi -q prints it, for two cards
TWO = r"\n==============NVSMI LOG==============\n\nAttached GPUs : 2\nGPU 00000000:3B:00.0\nGPU 00000000:AF:00.0\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for PATH, without programs of vendors; the shell's own are linked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "sleep", "cat", "head", "kill", "printf"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    return folder


def ask(device: str, raw: Path) -> dict[str, Asked]:
    """What was asked, by its words; each as the model has it."""
    seen = here(witnesses.observe, device, str(raw))
    assert not seen.found
    assert set(seen.added) <= {"driver.asked"}
    told = [Asked.model_validate(one) for one in seen.added.get("driver.asked", [])]
    return {" ".join(one.command): one for one in told}


def kept(raw: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in raw.iterdir()}


def test_what_a_healthy_program_prints_is_kept_as_it_is(path: Path, raw: Path) -> None:
    program(
        path,
        "nvidia-smi",
        f"""if [ "$1" = -q ]; then printf '{TWO}'; else printf '%s|' nvidia-smi "$@"; fi""",
    )
    asked = ask("cuda", raw)
    assert list(asked) == [
        "nvidia-smi -q", "nvidia-smi", "nvidia-smi -L", "nvidia-smi topo -m", "nvidia-smi nvlink -s",
    ]  # fmt: skip
    for one in asked.values():
        assert (one.returncode, one.signal, one.hung, one.error) == (0, None, False, None)
    files = kept(raw)
    assert files.pop("witness-nvidia-smi-q.txt") == TWO.encode().decode("unicode_escape")
    assert files == {
        "witness-nvidia-smi.txt": "nvidia-smi|",
        "witness-nvidia-smi-L.txt": "nvidia-smi|-L|",
        "witness-nvidia-smi-topo.txt": "nvidia-smi|topo|-m|",
        "witness-nvidia-smi-nvlink.txt": "nvidia-smi|nvlink|-s|",
    }


def test_one_card_has_no_topology(path: Path, raw: Path) -> None:
    program(path, "nvidia-smi", "printf '\\nGPU 00000000:3B:00.0\\n'")
    assert "nvidia-smi topo -m" not in ask("cuda", raw)


def test_a_program_that_fails_is_kept_with_its_words_and_its_status(path: Path, raw: Path) -> None:
    program(
        path, "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch' >&2; exit 18"
    )
    asked = ask("cuda", raw)["nvidia-smi"]
    assert (asked.returncode, asked.hung, asked.error) == (18, False, "the process ended with status 18")
    assert "Driver/library version mismatch" in kept(raw)["witness-nvidia-smi.txt"]


def test_a_program_that_hangs_is_ended_with_its_children_and_nothing_more_is_asked(
    path: Path, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witnesses, "DEADLINE_S", 0.5)
    program(path, "nvidia-smi", f"echo first words; sleep 60 & echo $! > {tmp_path}/child; wait")
    asked = ask("cuda", raw)
    assert list(asked) == ["nvidia-smi -q"]
    one = asked["nvidia-smi -q"]
    assert (one.returncode, one.signal, one.hung, one.error) == (None, None, True, "no end within 0.5 s")
    assert one.seconds >= 0.5
    assert kept(raw) == {"witness-nvidia-smi-q.txt": "first words\n"}
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_program_that_is_killed_is_told_by_the_signal(path: Path, raw: Path) -> None:
    program(path, "rocminfo", "kill -SEGV $$")
    one = ask("rocm", raw)["rocminfo"]
    assert (one.returncode, one.signal, one.hung, one.error) == (-11, "SIGSEGV", False, "killed by SIGSEGV")
    assert kept(raw) == {}


def test_rubbish_is_kept_as_text_and_not_all_of_it(path: Path, raw: Path) -> None:
    program(path, "rocminfo", "head -c 1000000 /dev/urandom")
    assert ask("rocm", raw)["rocminfo"].returncode == 0
    place = raw / "witness-rocminfo.txt"
    assert 100_000 < place.stat().st_size <= witnesses.KEPT_BYTES
    place.read_bytes().decode("utf-8", "ignore")


def test_no_value_of_a_variable_stays_in_what_is_kept(
    path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hush-hush")
    program(path, "rocminfo", 'echo "$HUB_TOKEN"')
    ask("rocm", raw)
    assert kept(raw) == {"witness-rocminfo.txt": "$HUB_TOKEN\n"}


def test_programs_of_amd_are_asked_in_turn_and_none_after_one_that_hangs(
    path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("rocminfo", "rocm-smi", "amd-smi"):
        program(path, name, f'echo {name} "$@"')
    assert list(ask("rocm", raw)) == [" ".join(command) for command in witnesses.AMD.values()]
    assert kept(raw)["witness-amd-smi-partition.txt"] == "amd-smi static --partition\n"
    monkeypatch.setattr(witnesses, "DEADLINE_S", 0.5)
    program(path, "rocm-smi", "sleep 60")
    assert [(name, one.hung) for name, one in ask("rocm", raw).items()] == [
        ("rocminfo", False),
        ("rocm-smi", True),
    ]


@pytest.mark.parametrize(
    ("device", "programs"),
    [("auto", ["nvidia-smi", "rocminfo"]), ("cuda", ["nvidia-smi"]), ("rocm", ["rocminfo"])],
)
def test_only_programs_of_the_asked_vendor_are_asked(
    device: str, programs: list[str], path: Path, raw: Path
) -> None:
    for name in ("nvidia-smi", "rocminfo"):
        program(path, name, "exit 0")
    assert {one.command[0] for one in ask(device, raw).values()} == set(programs)


@pytest.mark.parametrize(
    ("device", "missing"), [("auto", []), ("cuda", ["nvidia-smi"]), ("rocm", ["rocminfo"])]
)
def test_the_asked_vendors_program_is_missed_where_it_is_not_on_the_path(
    device: str, missing: list[str], path: Path, raw: Path
) -> None:
    asked = ask(device, raw)
    assert list(asked) == missing
    assert [(one.returncode, one.hung, one.error) for one in asked.values()] == [
        (None, False, "not on PATH") for _ in missing
    ]


def test_for_the_cpu_nobody_is_asked(path: Path, raw: Path) -> None:
    program(path, "nvidia-smi", "exit 0")
    assert ask("cpu", raw) == {}


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(path: Path, tmp_path: Path) -> None:
    program(path, "rocminfo", "exit 0")
    one: Any = ask("rocm", tmp_path / "not" / "there")["rocminfo"]
    assert (one.returncode, one.error) == (None, "rocminfo: No such file or directory")
    assert not os.path.exists(tmp_path / "not")
