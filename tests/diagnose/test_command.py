"""`python -m plugins.diagnose`: what it prints, for people and programs, and how it ends."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plugins.catalogue
from plugins import console
from plugins.diagnose.__main__ import main
from tests.diagnose.faults import EVERYWHERE

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = ROOT / "tests" / "readings" / "outputs"


@pytest.fixture(autouse=True)
def own_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins.catalogue, "CATALOGUE", EVERYWHERE)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command on a text in a file; the exit status and what it printed."""

    def _run(text: str, *arguments: str) -> tuple[int, str]:
        path = tmp_path / "paste.txt"
        path.write_text(text, encoding="utf-8")
        ended = main([*arguments, str(path)])
        return ended, capsys.readouterr().out

    return _run


def test_a_fault_is_named_with_its_step_its_cause_and_its_one_change_in_both_places(run: Any) -> None:
    ended, out = run("epoch 1\nRuntimeError: tangled wires\n")
    assert ended == 11  # the place is not known: as in a container
    wanted = (
        "first error  RuntimeError: tangled wires",
        "step         driver",
        "cause        the cause of TST-01 (TST-01)",
        "with root    fix. Change: TST-01: what root changes",
        "container    reconfigure. Change: TST-01: what a container changes",
        "confirm      how TST-01 is confirmed",
        "rests on     RuntimeError: tangled wires",
        "source       https://example.org",
    )
    assert [line for line in out.splitlines() if line in wanted] == list(wanted)


@pytest.mark.parametrize(
    ("place", "status", "shown", "hidden"),
    [("--root", 10, "with root", "container  "), ("--container", 11, "container  ", "with root")],
)
def test_the_place_decides_the_answer_and_the_exit_status(
    run: Any, place: str, status: int, shown: str, hidden: str
) -> None:
    ended, out = run("RuntimeError: tangled wires\n", place)
    lines = [line[:13] for line in out.splitlines()]
    assert ended == status
    assert f"{shown:<13}"[:13] in lines
    assert f"{hidden:<13}"[:13] not in lines


def test_an_answer_that_is_the_same_everywhere_is_said_once(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, out = run("ValueError: the moon is full\n")
    assert ended == 10
    assert "decision     fix. Change: what the first error says" in out
    assert "with root" not in out


def test_an_error_that_nothing_matches_is_reported_as_it_is_and_nothing_is_guessed(run: Any) -> None:
    ended, out = run("RuntimeError: CUDA error: an odd thing\n", "--json")
    found = json.loads(out)
    assert ended == 10
    assert (found["decision"], found["fault"], found["cause"], found["faults"]) == ("fix", None, None, [])
    assert (found["step"], found["first_error"]) == ("compute", "RuntimeError: CUDA error: an odd thing")


def test_of_two_faults_both_are_shown_and_the_lower_rung_leads(run: Any) -> None:
    ended, out = run("ImportError: rusty torch\nRuntimeError: tangled wires\n", "--json")
    found = json.loads(out)
    assert [one["id"] for one in found["faults"]] == ["TST-01", "TST-03"]
    assert (found["fault"], found["step"], found["first_error"]) == (
        "TST-01",
        "driver",
        "RuntimeError: tangled wires",
    )
    assert ended == 11
    _, out = run("ImportError: rusty torch\nRuntimeError: tangled wires\n")
    assert "also         the cause of TST-03 (TST-03, at import)" in out


def test_a_fault_that_does_not_block_is_noted_and_decides_nothing(run: Any) -> None:
    ended, out = run("UserWarning: slow fan\nnumpy==1.26.4\n")
    assert ended == 0
    assert "found        nothing wrong in what was given, but for what is noted below" in out
    assert "to note      the cause of TST-02 (TST-02, at host)" in out


def test_what_an_advisory_warns_of_has_happened_where_an_error_says_so(run: Any) -> None:
    ended, out = run("RuntimeError: slow fan\n", "--json")
    found = json.loads(out)
    assert (ended, found["fault"], found["first_error"]) == (11, "TST-02", "RuntimeError: slow fan")
    ended, out = run("RuntimeError: slow fan\nRuntimeError: tangled wires\n", "--json")
    assert json.loads(out)["fault"] == "TST-01"


def test_a_fault_leads_before_an_error_that_nothing_matches_which_is_told_too(run: Any) -> None:
    _, out = run("ModuleNotFoundError: No module named 'torch'\nOSError: rusty torch\n")
    assert "cause        the cause of TST-03 (TST-03)" in out
    assert "also said    import: ModuleNotFoundError: No module named 'torch'" in out


def test_nothing_wrong_is_said_as_exactly_that_with_what_was_not_given(run: Any) -> None:
    ended, out = run((OUTPUTS / "env-2.0-v100-eight.txt").read_text(encoding="utf-8"))
    assert ended == 0
    lines = out.splitlines()
    assert "found        nothing wrong in what was given" in lines
    assert any(line.startswith("not given    nvidia-smi -q: ") for line in lines)
    assert not any("rocm" in line for line in lines)
    assert not any("collect_env:" in line and "not given" in line for line in lines)


def test_amds_outputs_are_asked_for_where_its_cards_are_spoken_of(run: Any) -> None:
    _, out = run((OUTPUTS / "env-2.7-mi300x-vllm.txt").read_text(encoding="utf-8"), "--json")
    commands = [one["command"] for one in json.loads(out)["not_given"]]
    assert "rocminfo" in commands
    assert not any(command.startswith("nvidia-smi") for command in commands)


def test_a_text_that_breaks_off_is_told_with_where(run: Any) -> None:
    _, out = run((OUTPUTS / "env-2.9-sections-7900xtx.txt").read_text(encoding="utf-8"))
    assert "collect_env breaks off at: cuDNN version" in out


def test_a_log_of_the_kernel_without_any_error_counts_as_given(run: Any) -> None:
    log = "".join(f"[    0.{at:06d}] Linux version 6.8.0, line {at}\n" for at in range(9))
    ended, out = run(log, "--json")
    assert ended == 0
    assert [kind["kind"] for kind in json.loads(out)["read"][0]["kinds"]] == ["the kernel's log"]


def test_several_files_and_standard_input_are_taken_as_one_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "list.txt"
    path.write_text("torch==2.3.0+cu121\n", encoding="utf-8")
    stdin = io.TextIOWrapper(io.BytesIO(b"RuntimeError: tangled wires\r\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["--json", str(path), "-"]) == 11
    found = json.loads(capsys.readouterr().out)
    assert [(one["file"], [kind["kind"] for kind in one["kinds"]]) for one in found["read"]] == [
        (str(path), ["a list of packages"]),
        ("standard input", ["an error"]),
    ]


def test_nothing_that_is_known_ends_with_4_and_says_what_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear provider,\nthe machine is nice.\n", encoding="utf-8")
    assert console.status(lambda: main([str(path)])) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: found nothing that is known here; wanted ")
    assert "nvidia-smi" in error
    assert "rocminfo" in error


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\x03" * 100], ids=["empty", "binary"])
def test_a_file_without_text_ends_with_4_though_another_has_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("torch==2.3.0\n", encoding="utf-8")
    bad.write_bytes(content)
    assert console.status(lambda: main([str(good), str(bad)])) == 4
    captured = capsys.readouterr()
    assert str(bad) in captured.err
    assert captured.out == ""


def test_what_a_paste_says_moves_no_cursor(run: Any) -> None:
    hostile = "RuntimeError: tangled wires \x1b[2J\x1b]0;title\x07 \u202e \x9b31m \b\b\b end\n"
    for arguments in ((), ("--json",)):
        _, out = run(hostile, *arguments)
        assert all(character.isprintable() or character == "\n" for character in out)


def test_root_and_container_at_once_are_refused() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--root", "--container"])
    assert ended.value.code == 4


def test_it_needs_neither_torch_nor_pytest_and_starts_without_them() -> None:
    """In a process of its own, with what it imports counted."""
    code = (
        "import sys, plugins.diagnose.__main__ as command\n"
        "ended = command.main(['-'])\n"
        "heavy = {'torch', 'numpy', 'pytest', '_pytest', 'jinja2', 'asyncio'} & set(sys.modules)\n"
        "heavy |= {'plugins.verdict_file'} & set(sys.modules)\n"
        "print(ended, sorted(heavy), file=sys.stderr)\n"
    )
    end = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        input="RuntimeError: system not yet initialized, Error 802: cuda\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert end.stderr == "11 []\n"
    assert "(DRV-02)" in end.stdout


def test_a_text_in_which_nothing_is_known_is_left_out_and_what_the_others_say_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, other = tmp_path / "good.txt", tmp_path / "letter.txt"
    good.write_text("RuntimeError: CUDA error: no kernel image is available\n", encoding="utf-8")
    other.write_text("Dear provider,\nthe machine is nice.\n", encoding="utf-8")
    assert console.status(lambda: main([str(other), str(good)])) in (10, 11)
    captured = capsys.readouterr()
    assert captured.err.startswith(f"left out: {other}: found nothing that is known here")
    assert "no kernel image" in captured.out
