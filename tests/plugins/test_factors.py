"""What a trial stands on, and nothing of the environment that nobody may see."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fixtures.evidence import sums
from fixtures.evidence.parameters import Command
from fixtures.evidence.trial import Factors
from plugins import factors
from tests.plugins.making import inventory

SECRET = "hunter2hunter2"
#: names that a rental's environment holds, each with a value that must never be seen
STEERING = [
    "HF_TOKEN",
    "HF_HOME",
    "HUGGING_FACE_HUB_TOKEN",
    "CUDA_HOME",
    "NVIDIA_VISIBLE_DEVICES",
    "NCCL_SOCKET_IFNAME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TMPDIR",
    "OMP_PLACES",
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "MY_PASSWORD",
    "HSA_TOOLS_LIB",
    "ROCR_X",
    "HIP_X",
]


def observed(project: Path, **more: Any) -> Factors:
    return factors.observe(
        project,
        more.get("files", {}),
        more.get("references", {}),
        more.get("inventory", inventory(("nvidia", "NVIDIA H200"))),
        "/usr/bin/python3",
        Command(
            kind="command",
            command=more.get("command", ["app", "{manifest}", "{results}"]),
            folder=more.get("folder"),
        ),
    )


@pytest.mark.parametrize("name", STEERING)
def test_no_value_of_the_environment_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, SECRET)
    assert SECRET not in observed(tmp_path).model_dump_json()


def test_the_names_of_what_steers_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "LD_PRELOAD", "MY_PASSWORD"):
        monkeypatch.setenv(name, SECRET)
    shown = observed(tmp_path).environment["variables set"].split(", ")
    assert {"HF_TOKEN", "LD_PRELOAD"} <= set(shown)
    assert "MY_PASSWORD" not in shown


@pytest.mark.parametrize("name", factors.SAFE_TO_SHOW)
def test_values_on_the_short_list_are_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "0,1")
    assert observed(tmp_path).environment[name] == "0,1"
    monkeypatch.delenv(name)
    assert name not in observed(tmp_path).environment


def test_the_short_list_holds_nothing_that_could_be_a_secret_or_a_path() -> None:
    assert not [
        name
        for name in factors.SAFE_TO_SHOW
        if any(w in name for w in ("TOKEN", "KEY", "PATH", "HOME", "PASS"))
    ]


def test_the_machine_is_told_by_cards_driver_and_host(tmp_path: Path) -> None:
    machine = observed(tmp_path).machine
    assert machine["cards"] == "NVIDIA H200 GPU-0"
    assert (machine["driver"], machine["kernel"], machine["boot"], machine["container"]) == (
        "550.1",
        "6.1",
        "b",
        "none",
    )
    bare = observed(tmp_path, inventory=inventory(boot_id=None, container="docker")).machine
    assert (bare["cards"], bare["driver"], bare["boot"], bare["container"]) == (
        "none",
        "none",
        "unknown",
        "docker",
    )


def test_files_and_references_are_told_by_their_sums(tmp_path: Path) -> None:
    (tmp_path / "pilot.json").write_bytes(b"{}")
    project = observed(
        tmp_path,
        files={"parameters": tmp_path / "pilot.json", "order": tmp_path / "gone"},
        references={"model": "abc"},
    ).project
    assert project["parameters"] == sums.of_bytes(b"{}")
    assert project["order"] == "unreadable: No such file or directory"
    assert project["model"] == "abc"


@pytest.mark.parametrize("name", ["parameters", "revision", "suite"])
def test_a_reference_never_stands_in_the_place_of_what_the_suite_observes(name: str, tmp_path: Path) -> None:
    (tmp_path / "pilot.json").write_bytes(b"{}")
    files = {"parameters": tmp_path / "pilot.json"}
    plain = observed(tmp_path, files=files).project
    named = observed(tmp_path, files=files, references={name: "the renter's"}).project
    assert named[name] == plain[name]
    assert "the renter's" in named.values()


def test_a_folder_without_git_says_so(tmp_path: Path) -> None:
    assert factors.revision(tmp_path) == "no git revision"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_a_revision_says_whether_anything_differs_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("a")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-q", "-m", "x")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert factors.revision(tmp_path) == f"{commit} clean"
    (tmp_path / "b.py").write_text("b")
    assert factors.revision(tmp_path) == f"{commit} with uncommitted changes"
    asked = factors._git
    monkeypatch.setattr(factors, "_git", lambda folder, *a: None if a[0] == "status" else asked(folder, *a))
    assert factors.revision(tmp_path) == f"{commit} of unknown state"


def test_without_the_program_git_there_is_no_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert factors.revision(tmp_path) == "no git revision"


def test_the_sum_over_the_suite_changes_with_any_part_of_its_code_and_with_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "verdict.py").write_text("a")
    before = factors.suite_sum(tmp_path)
    (tmp_path / "README.md").write_text("x")
    assert factors.suite_sum(tmp_path) == before
    (tmp_path / "plugins" / "verdict.py").write_text("b")
    assert factors.suite_sum(tmp_path) != before


def application(project: Path, *command: str) -> str:
    return observed(project, command=[*command, "{manifest}", "{results}"]).project["application"]


def test_a_change_of_the_program_is_seen_wherever_it_lies(tmp_path: Path) -> None:
    """In the file that the command names, in what lies beside it, and in the project for a module of it."""
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project / "mine", elsewhere):
        folder.mkdir(parents=True)
        (folder / "run.py").write_text("1")
        (folder / "helper.py").write_text("1")
    for command in (
        ("{python}", str(elsewhere / "run.py")),
        ("{python}", "mine/run.py"),
        ("{python}", "-m", "mine"),
    ):
        for name in ("run.py", "helper.py"):
            before = application(project, *command)
            assert application(project, *command) == before
            path = (elsewhere if command[1] == str(elsewhere / "run.py") else project / "mine") / name
            path.write_text(path.read_text() + "2")
            assert application(project, *command) != before, (command, name)


@pytest.mark.parametrize(
    ("command", "name", "seen"),
    [
        (("{python}", "run.py"), "run.py", True),
        (("{python}", "run.py"), "helper.py", True),
        (("{python}", "-m", "run"), "helper.py", True),
        (("{python}", "{documents}"), "run.py", True),
        (("{python}", "run.py"), "notes.txt", False),
    ],
)
def test_a_change_of_a_program_in_a_folder_of_its_own_is_seen(
    command: tuple[str, ...], name: str, seen: bool, tmp_path: Path
) -> None:
    """Names in the command are relative to where it is run, and that is not the project."""
    project, own = tmp_path / "project", tmp_path / "own"
    for folder in (project, own):
        folder.mkdir()
    for file in ("run.py", "helper.py", "notes.txt"):
        (own / file).write_text("1")
    asked = {"command": [*command, "{manifest}", "{results}"], "folder": "../own"}
    before = observed(project, **asked).project["application"]
    (own / name).write_text("2")
    assert (observed(project, **asked).project["application"] != before) is seen


def test_a_changed_value_of_what_steers_is_seen_and_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/first")
    before = observed(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/other")
    after = observed(tmp_path)
    assert before.environment["variables set"] == after.environment["variables set"]
    assert before.environment != after.environment
    assert "/opt/other" not in after.model_dump_json()


def test_a_narrower_limit_is_another_machine() -> None:
    """A shell that allows fewer open files runs the application on other terms."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = factors.limits()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
        narrowed = factors.limits()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (before != narrowed, factors.limits() == before) == (True, True)
    assert f"open files {soft - 1}" in narrowed
