"""The command line, under one heading of `pytest --help`, and which suite a run is about."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import pytest

SUITES = ("gpu",)
#: of a burn-in: a day
MOST_MINUTES = 1440

# Help texts: capital first, no full stop for a single phrase.


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    group = parser.getgroup("gpu-pilot", "gpu-pilot: the acceptance test of a rented card")
    group.addoption(
        "--device",
        choices=("auto", "cuda", "rocm", "cpu"),
        default="auto",
        help="Device the application is asked to use; auto takes the rented card and never becomes cpu; "
        "cpu makes the trial a rehearsal (default: auto)",
    )
    group.addoption("--pilot", metavar="FILE", help="Parameters of the pilot (default: config/pilot.json)")
    group.addoption("--order", metavar="FILE", help="The order as confirmed (default: config/order.json)")
    group.addoption("--reports", metavar="DIR", help="Where each trial gets a folder (default: reports)")
    group.addoption(
        "--copy-to",
        metavar="PLACE",
        help="Folder or address (s3://, gs://, sftp://, …) that the trial is copied to and read again from "
        "(default: as in the parameters)",
    )
    group.addoption(
        "--trial", metavar="DIR", help="Judge this trial again from its folder alone and run nothing"
    )
    group.addoption(
        "--continue",
        dest="continue_trial",
        metavar="TRIAL",
        help="Rerun what did not pass in this trial (a folder, or its name below --reports) and carry the rest; "
        "--lf does so with the newest trial",
    )
    group.addoption(
        "--once",
        action="store_true",
        help="Run the application once only; the verdict then says that order, batches, resuming and the hang-up "
        "were not tried",
    )
    group.addoption(
        "--burn-in",
        metavar="MINUTES",
        type=_minutes,
        default=0.0,
        help="Keep every card under sustained load for so long, compare all results, and watch temperature, clocks "
        "and rates (default: none)",
    )
    group.addoption(
        "--verdict",
        metavar="FILE",
        help="Write the machine-readable verdict to this file too, also with --trial",
    )
    group.addoption(
        "--provider-bundle",
        metavar="FILE",
        nargs="?",
        const="",
        help="Pack what the provider's support needs of the trial, also with --trial: no secrets, no texts of "
        "documents (default: beside the trial; as python -m plugins.bundle)",
    )
    group.addoption(
        "--require-go", action="store_true", help="Exit with a status other than 0 unless the decision is go"
    )
    if not pluginmanager.hasplugin("cacheprovider"):
        # --lf is ours and needs no cache, so it works with -p no:cacheprovider as well
        parser.getgroup("general").addoption(
            "--lf", "--last-failed", dest="lf", action="store_true", default=False
        )


def _minutes(text: str) -> float:
    """Of a burn-in; argparse names the option."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 < minutes <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; wanted minutes, more than 0 and at most {MOST_MINUTES}"
        )
    return minutes


@dataclass(frozen=True)
class Asked:
    """Which suite the arguments name, and how they narrow it (None: they take the whole of it)."""

    suite: str
    narrowed: str | None


def asked(config: pytest.Config) -> Asked | None:
    """The suite that this run is about, or None where the arguments name none.

    Raises:
        pytest.UsageError: a suite and something else are named together, which no verdict could speak of.
    """
    within, outside = {}, []
    for argument in config.args:
        path = (config.invocation_params.dir / argument.split("::")[0]).resolve()
        if not path.exists():  # pytest says so too, but not where the items are collected by workers
            raise pytest.UsageError(f"{argument}: found nothing there; wanted a suite, or a part of one")
        suite = next((name for name in SUITES if _is_below(path, config.rootpath / "suites" / name)), None)
        if suite is None:
            if any(_is_below((config.rootpath / "suites" / name).resolve(), path) for name in SUITES):
                raise pytest.UsageError(
                    f"{argument}: found a folder above a suite; wanted suites/{SUITES[0]}"
                )
            outside.append(argument)
        else:
            within[argument] = (suite, path)
    if not within:
        return None
    if outside or len({suite for suite, _ in within.values()}) > 1:
        raise pytest.UsageError(
            f"{', '.join(config.args)}: found several suites or tests, wanted one suite alone"
        )
    suite = next(iter(within.values()))[0]
    whole = (config.rootpath / "suites" / suite).resolve()
    if any(path == whole and "::" not in argument for argument, (_, path) in within.items()):
        narrowed = _ignored(config)
    else:
        narrowed = f"only {', '.join(within)} was selected"
    return Asked(suite, narrowed)


def _ignored(config: pytest.Config) -> str | None:
    for option in ("ignore", "ignore_glob"):
        if values := config.getoption(option, None):
            return f"--{option.replace('_', '-')} {', '.join(map(str, values))} left something out"
    return None


def _is_below(path: Path, folder: Path) -> bool:
    return path == folder.resolve() or folder.resolve() in path.parents


def bundle_file(config: pytest.Config) -> Path | None:
    """Where --provider-bundle is to be written; None where it names no file."""
    named = config.getoption("provider_bundle")
    return config.invocation_params.dir / named if named else None


def check_bundle_file(config: pytest.Config) -> None:
    """Before anything is run.

    Raises:
        pytest.UsageError: something is there already, as where the option took the suite for its file.
    """
    file = bundle_file(config)
    if file and file.exists():
        found = "a folder (write --provider-bundle=FILE)" if file.is_dir() else "a file that is there already"
        raise pytest.UsageError(f"--provider-bundle {file}: found {found}; wanted a new name")
