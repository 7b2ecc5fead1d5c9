"""The command line as people use it: other folders, plugins left out, words about everything, two at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.evidence.trial import VERDICT
from tests.pilot.bench import Bench
from tests.pilot.bench import ROOT
from tests.pilot.bench import Run
from tests.session import commands
from tests.session.commands import SUITE
from tests.session.processes import start

OPTIONS = [
    "--device", "--pilot", "--order", "--reports", "--copy-to", "--trial", "--continue", "--once", "--burn-in",
    "--verdict", "--provider-bundle", "--require-go",
]  # fmt: skip
SECRET = "hunter2hunter2"
#: written into the project's own environment, and never to be found in what a trial leaves
NO_TORCH = """
import os, sys
def pytest_unconfigure(config):
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] in ("torch", "numpy", "transformers"))
    place = os.path.join(os.environ["LOADED_BY"], "worker" if hasattr(config, "workerinput") else "controller")
    with open(f"{place}-{os.getpid()}", "w") as stream:
        stream.write(" ".join(loaded) or "none")
"""


def is_go(run: Run) -> None:
    assert (run.decided.decision, run.exit_status) == ("go", 0), run.output


def test_all_our_options_stand_under_one_heading_of_the_help(bench: Bench) -> None:
    end = subprocess.run(
        [sys.executable, "-m", "pytest", str(SUITE), "--help"],
        cwd=bench.folder, env=bench.environ(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    _, _, after = end.stdout.partition("gpu-pilot: the acceptance test of a rented card:\n")
    heading = re.split(r"\n\S", after)[0]
    assert re.findall(r"^  (--[a-z-]+)", heading, re.MULTILINE) == OPTIONS
    assert not bench.reports.exists()


@pytest.mark.parametrize(
    "options",
    [
        ("-p", "no:xdist", "-s"),
        ("-p", "no:terminal"),
        ("-p", "no:junitxml"),
        ("-p", "no:html", "-p", "no:metadata", "-p", "no:logging", "-p", "no:faulthandler"),
        ("-vv", "-rA", "--durations=3"),
        ("--capture=sys", "--color=yes"),
        ("-n", "2", "--dist", "worksteal"),
        ("-n", "2", "-p", "no:html", "-p", "no:junitxml", "-v"),
    ],
    ids=" ".join,
)
def test_a_healthy_pilot_is_go_with(bench: Bench, options: tuple[str, ...]) -> None:
    bench.always = ()
    run = bench.run(*options, device="cuda")
    is_go(run)
    assert run.trial
    assert (run.trial / "report.html").stat().st_size > 10_000
    assert not (run.trial / ".locks").exists()
    assert (run.trial / "junit.xml").exists(), "it is written from the verdict, not by pytest's plugin"
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=run.trial, check=True)


@pytest.mark.parametrize("options", [("-q",), ("-v",)])
def test_the_verdict_is_shown_however_quiet_or_wordy(bench: Bench, options: tuple[str, ...]) -> None:
    bench.behave("loses_one")
    run = bench.run(*options, device="cuda")
    for words in ("FIX", "failures.none_missing", "doc-05", "report.html", "--continue"):
        assert words in run.output


def test_no_value_of_the_environment_is_shown_or_kept(bench: Bench, project: Path) -> None:
    """Neither with locals in tracebacks, nor where a program, a check and pytest itself go wrong at once."""
    bench.project = project
    bench.environment |= {
        "SECRET_THING": SECRET, "TRAP": "asserts_plainly,raises,raises_in_setup,finds_a_subclass_wrong",
        "PYTEST_ADDOPTS": "--tb=long -l -vv -rA --show-capture=all --full-trace",
    }  # fmt: skip
    bench.behave("exits", "1")
    for workers in ((), ("-n", "2")):
        run = bench.run("--verdict", "beside.json", *workers, device="cuda")
        assert run.exit_status == 10, run.output
        assert SECRET not in run.output
        kept = [
            path
            for path in bench.folder.rglob("*")
            if path.is_file() and SECRET.encode() in path.read_bytes()
        ]
        assert kept == []


def test_addopts_of_the_environment_are_heeded(bench: Bench) -> None:
    bench.environment["PYTEST_ADDOPTS"] = "-k interpreter"
    run = bench.run(device="cuda")
    assert (run.decided.decision, run.exit_status) == ("undecided", 12), run.output


def test_addopts_that_do_no_harm_are_heeded_by_whoever_judges_the_copy_too(bench: Bench) -> None:
    bench.environment["PYTEST_ADDOPTS"] = "--verdict other.json -n 2 --color=yes"
    run = bench.run(device="cuda")
    is_go(run)
    assert run.trial
    assert (bench.folder / "other.json").read_bytes() == (run.trial / VERDICT).read_bytes()


@pytest.mark.parametrize("cwd", [ROOT, ROOT / "suites", Path("/")])
def test_it_runs_from_any_folder(bench: Bench, cwd: Path) -> None:
    run = commands.run(bench, os.path.relpath(SUITE, cwd), *commands.options(bench), cwd=cwd)
    is_go(run)


def test_paths_on_the_command_line_are_relative_to_where_it_is_given(bench: Bench) -> None:
    run = commands.run(
        bench, str(SUITE), "--device", "cuda", "--pilot", "pilot.json", "--order", "order.json", "--reports", "reports",
        "--copy-to", "elsewhere", "--verdict", "v.json", "-p", "no:cacheprovider",
    )  # fmt: skip
    is_go(run)
    assert run.trial
    assert (bench.folder / "v.json").exists()
    assert (bench.folder / "elsewhere" / run.trial.name / VERDICT).exists()
    assert not bench.copies.exists()


def test_in_the_project_folder_no_argument_is_needed(bench: Bench, tmp_path: Path) -> None:
    """As the README has it: the suite, config and reports of the folder one stands in."""
    bench.write()
    bench.own_project()
    (bench.project / "config").mkdir()
    shutil.copy(bench.folder / "pilot.json", bench.project / "config")
    shutil.copy(bench.folder / "order.json", bench.project / "config")
    run = commands.run(bench, "--device", "cuda", "-p", "no:cacheprovider", cwd=bench.project)
    assert run.exit_status == 0, run.output
    made = [path for path in (bench.project / "reports").iterdir() if path.is_dir()]
    assert len(made) == 1
    assert '"decision": "go"' in (made[0] / VERDICT).read_text()


@pytest.mark.parametrize("workers", [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")])
def test_two_runs_at_once_do_not_disturb_each_other(bench: Bench, workers: tuple[str, ...]) -> None:
    bench.write()
    both = [start(bench, *workers, write=False) for _ in range(2)]
    statuses = [pilot.process.wait(120) for pilot in both]
    assert statuses == [0, 0], "\n".join(pilot.text() for pilot in both)
    trials = bench.trials()
    assert len(trials) == 2
    for trial in trials:
        assert bench.judge(trial).decided.decision == "go"
        assert (bench.copies / trial.name / VERDICT).read_bytes() == (trial / VERDICT).read_bytes()
    assert (bench.reports / "latest").read_text().strip() in {trial.name for trial in trials}


@pytest.mark.parametrize("workers", [pytest.param((), id="serial"), pytest.param(("-n", "2"), id="workers")])
def test_torch_is_imported_by_no_process_of_pytest(bench: Bench, workers: tuple[str, ...]) -> None:
    folder = bench.folder / "loaded"
    folder.mkdir()
    (folder / "no_torch.py").write_text(NO_TORCH)
    bench.environment["PYTHONPATH"] += f"{os.pathsep}{folder}"
    bench.environment["LOADED_BY"] = str(folder)
    run = bench.run("-p", "no_torch", *workers, device="cuda")
    is_go(run)
    seen = {path.name.partition("-")[0]: path.read_text() for path in folder.glob("*-*")}
    assert seen == dict.fromkeys(["controller", "worker"] if workers else ["controller"], "none")


@pytest.mark.parametrize(
    "option", ["--markers", "--fixtures", "--fixtures-per-test", "--setup-plan", "--version"]
)
def test_options_that_only_look_make_no_trial(bench: Bench, option: str) -> None:
    run = commands.run(bench, str(SUITE), *commands.options(bench), option)
    assert run.exit_status in (0, 5), run.output
    assert not bench.reports.exists()
    assert "nothing is decided" not in run.output


def test_a_secret_on_the_command_line_is_not_kept(bench: Bench) -> None:
    token = "hf_" + "a" * 34
    run = bench.run("--junitprefix", token, "-p", "no:junitxml", device="cuda")
    assert run.exit_status == 4, "pytest has no such option without its plugin"
    run = bench.run("-o", f"junit_suite_name={token}", "-p", "no:junitxml", "-p", "no:html", device="cuda")
    if run.trial:
        assert not [name for name, data in commands.contents(run.trial).items() if token.encode() in data]


def test_a_package_of_the_renters_that_is_called_as_ours_works_from_its_own_folder(bench: Bench) -> None:
    home = bench.folder / "application"
    (home / "fixtures").mkdir(parents=True)
    (home / "fixtures" / "__init__.py").write_text("MINE = True\n")
    (home / "userapp.py").write_text(
        "import runpy, sys, fixtures\n"
        "assert fixtures.MINE\n"
        "sys.argv = ['app.py', 'healthy', *sys.argv[1:]]\n"
        f"runpy.run_path({str(ROOT / 'tests' / 'pilot' / 'app.py')!r}, run_name='__main__')\n"
    )
    application = bench.parameters["application"]
    application["command"] = ["{python}", "-m", "userapp", "{manifest}", "{results}", "{device}"]
    application["folder"] = str(home)
    is_go(bench.run(device="cuda"))


def test_a_folder_for_the_application_that_is_not_there_is_a_usage_error(bench: Bench) -> None:
    bench.parameters["application"]["folder"] = "nowhere"
    run = bench.run(device="cuda")
    assert run.exit_status == 4, run.output
    assert "application.folder" in run.output
    assert bench.trials() == []


@pytest.mark.parametrize("called", ["python -m pytest", "a path", "a name"])
def test_the_command_that_reruns_works_as_it_is_printed(bench: Bench, called: str) -> None:
    """From the same folder, character for character."""
    bench.behave("exits", "1")
    program = {
        "python -m pytest": [sys.executable, "-m", "pytest"],
        "a path": [str(Path(sys.executable).parent / "pytest")],
        "a name": ["pytest"],
    }[called]
    bench.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bench.write()
    words = [*program, str(SUITE), "--device", "cuda", *commands.options(bench)[2:]]
    subprocess.run(words, cwd=bench.folder, env=bench.environ(), capture_output=True, timeout=120)
    (first,) = bench.trials()
    printed = bench.look(10, "", first.name).decided.command.rerun
    assert printed
    subprocess.run(
        printed, shell=True, cwd=bench.folder, env=bench.environ(), capture_output=True, timeout=120
    )
    again = bench.look(10, "", bench.trials()[-1].name)
    assert again.decided.continues == first.name
