"""Wires the pilot to pytest's hooks, and does nothing else.

The controlling process opens the trial before collection and closes it after the last report. Workers of
pytest-xdist only collect, run checks and make evidence.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any
from typing import NoReturn

import psutil
import pytest
from filelock import FileLock

from fixtures import launch
from fixtures import orphans
from fixtures.copy import elsewhere
from fixtures.evidence import sums
from fixtures.evidence import trial as store
from fixtures.evidence.base import InputError
from fixtures.evidence.models import Inventory
from fixtures.evidence.trial import CHECKS
from fixtures.evidence.trial import LOCKS
from fixtures.evidence.trial import PLAN
from fixtures.evidence.trial import REPORT
from fixtures.evidence.trial import Trial
from fixtures.evidence.trial import write_json
from fixtures.instrument import PROGRESS
from fixtures.instrument import TRIAL
from fixtures.reader import READER
from fixtures.reader import Reader
from plugins import bundle
from plugins import closing
from plugins import commands
from plugins import opening
from plugins import options
from plugins import plan
from plugins import progress
from plugins import report
from plugins import rereading
from plugins import reruns
from plugins import stages
from plugins import terminal
from plugins import workers
from plugins.machine import files as machine
from plugins.outcomes import Outcomes
from plugins.verdict import decide
from plugins.verdict import EXIT_STATUS
from plugins.verdict import Facts
from plugins.verdict import PlannedCheck
from plugins.verdict_file import Changed
from plugins.verdict_file import Pending
from plugins.verdict_file import Remade
from plugins.verdict_file import Verdict

_INPUT = "gpu_pilot"
_CARD = pytest.StashKey[FileLock | None]()
#: options of pytest that run nothing, by their names there; a trial is not made for them
_ONLY_LOOKS = (
    "collectonly", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow", "help", "version", "setupplan",
)  # fmt: skip
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    asked = options.asked(config)
    if asked is None:
        return
    continuing = getattr(config.option, "lf", False)
    # selection is not memory: what did not pass is known from the trial, not from pytest's cache
    config.option.lf = False
    if hasattr(config, "workerinput"):
        _configure_worker(config)
    elif any(getattr(config.option, name, False) for name in _ONLY_LOOKS):
        seen = opening.inventory(config)
        device = opening.resolve(config.getoption("device"), seen)
        _register_planner(config, opening.scope_of(device), seen, device, None)
    else:
        config.option.lf = continuing
        options.check_bundle_file(config)
        try:
            controller = Controller(config, asked)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        finally:
            config.option.lf = False
        config.pluginmanager.register(controller, "gpu-pilot controller")


def _configure_worker(config: pytest.Config) -> None:
    orphans.die_with_parent()  # a worker that waits for the application does not see its channel close
    given: dict[str, Any] = getattr(config, "workerinput")[_INPUT]  # noqa: B009, no attribute that pytest declares
    trial = store.open_trial(Path(given["trial"]), judging=given["judging"])
    config.stash[TRIAL] = trial
    config.stash[PROGRESS] = progress.in_a_worker(trial.path)
    seen = trial.read("inventory", Inventory)
    record = trial.record
    if not trial.judging:
        config.stash[_CARD] = workers.bind(trial, seen, given["worker"])
    _register_planner(
        config, record.scope, seen, record.device, Path(given["plan"]), asked=plan.asked(record)
    )


def _register_planner(
    config: pytest.Config,
    scope: store.Scope,
    seen: Inventory,
    device: str,
    file: Path | None,
    asked: frozenset[str] | None = None,
) -> plan.Planner:
    planner = plan.Planner(scope=scope, devices=plan.devices(seen, device), file=file, asked=asked)
    config.pluginmanager.register(planner, "gpu-pilot planner")
    return planner


@contextlib.contextmanager
def _undisturbed() -> Generator[None, None, None]:
    """While the verdict is written no signal interrupts: between report, copy and sums there is no true half.

    Handlers rather than a mask: a mask belongs to one thread, and pytest-xdist has others.
    """
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Controller:
    """One run over one trial: opened, followed, closed."""

    def __init__(self, config: pytest.Config, asked: options.Asked) -> None:
        self.config, self.asked = config, asked
        self.started: float | None = None
        self.trouble: list[str] = []
        self.uncollected = False
        self.interruption: str | None = None
        self.verdict: Verdict | None = None
        self.unwritten: list[str] = []
        self.carried: list[str] = []
        self.changed: list[Changed] = []
        self.remade: list[Remade] = []
        self.before: dict[str, Pending] = {}
        self.different: list[str] = []
        #: what a person should know and what decides nothing, seen when the verdict was written already
        self.notes: list[str] = []
        self.follower: progress.Follower | None = None
        self.preparing: threading.Thread | None = None
        judged = opening.judged(config)
        self.trial = judged or self._begin()
        # nothing is written into a trial that is judged, so the plan of workers goes elsewhere
        self.scratch = Path(tempfile.mkdtemp(prefix="gpu-pilot-")) if judged else None
        self.plan_file = (self.scratch or self.trial.path) / PLAN
        self.outcomes = Outcomes(None if judged else self.trial.path / CHECKS)
        config.stash[TRIAL] = self.trial
        config.stash[PROGRESS] = progress.in_this_process(config)
        record = self.trial.record
        try:
            seen = self.trial.read("inventory", Inventory)
        except store.Broken as error:
            raise InputError(self.trial.path, "", str(error), "a trial with its inventory") from None
        self.planner = _register_planner(
            config, record.scope, seen, record.device, self.plan_file, asked=plan.asked(record)
        )
        self.html = self._ask_for_reports() if not judged else None
        if not judged:
            self._begin_early()
        # what nohup made the process ignore stays ignored: the run was meant to outlive its terminal
        heeded = [number for number in _SIGNALS[1:] if signal.getsignal(number) != signal.SIG_IGN]
        self._old_handlers = {number: signal.signal(number, self._stop) for number in heeded}

    def _begin(self) -> Trial:
        before = reruns.earlier(self.config, opening.reports_folder(self.config))
        trial = opening.begin(self.config, before.trial.name if before else None)
        if before:
            self.changed = reruns.changed(before.trial.record.factors, trial.record.factors)
            self.before = reruns.pending(before, trial)
            carried = reruns.carry(before, trial, lambda: launch.look(trial))
            self.carried, self.remade = carried.names, carried.remade
            if reruns.nothing_left(before, trial, carried):
                self._show_again(before, trial)
        return trial

    def _show_again(self, before: reruns.Earlier, trial: Trial) -> NoReturn:
        """There is nothing to rerun: the new trial goes again, and the verdict that holds is shown."""
        shutil.rmtree(trial.path, ignore_errors=True)
        verdict = before.verdict
        assert verdict
        self._hand_out(verdict, before.trial)
        why = "nothing to rerun: every check passed, and nothing that they stand on has changed"
        terminal.write(
            terminal.Plain(), verdict, before.trial.path / REPORT, self.unwritten, [why, *self.notes]
        )
        pytest.exit(f"{why} since {verdict.trial}", verdict.exit_status)

    def _begin_early(self) -> None:
        """torch imports while pytest collects; with workers, one of them does it."""
        option = self.config.option
        distributed = getattr(option, "numprocesses", None) or getattr(option, "tx", None)
        if not distributed and not self.trial.has("launch"):
            self.config.stash[launch.CLIMB] = launch.begin(self.trial, self.trial.raw("launch"))

    def _prepare_the_end(self) -> None:
        """Work for the end, begun when there is nothing to do here but to wait for the application."""
        self.preparing = threading.Thread(target=report.prepare, daemon=True, name="gpu-pilot report")
        self.preparing.start()
        if self.config.stash.get(launch.CLIMB, None) and self.trial.record.copy_to:
            self.config.stash[READER] = Reader(self.config.rootpath)

    def _ask_for_reports(self) -> Path | None:
        """Have pytest-html write into the trial, unless the person wants its page elsewhere."""
        option = self.config.option
        # pytest-html fails without the plugin that it takes its metadata from
        if not all(self.config.pluginmanager.hasplugin(name) for name in ("html", "metadata")):
            return None
        if option.htmlpath is None:
            option.htmlpath = str(self.trial.path / LOCKS / REPORT)
        option.self_contained_html = True
        return Path(option.htmlpath)

    def _stop(self, number: int, frame: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    # -- while it runs ---------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        with contextlib.suppress(ImportError, KeyError):
            from pytest_metadata.plugin import metadata_key

            self.config.stash[metadata_key].clear()  # it holds values of environment variables
        try:  # what -k and -m ask for is only read where items are; in a worker a mistake in it ends pytest itself
            mark: Any = self.config.pluginmanager.get_plugin("mark")
            mark.pytest_collection_modifyitems(items=[], config=self.config)
        except pytest.UsageError:
            self._forget()
            raise

    def pytest_report_header(self) -> str:
        record = self.trial.record
        what = "judging again" if self.trial.judging else f"{record.scope} on {record.device}"
        carried = f", carrying {', '.join(self.carried)} from {record.continues}" if self.carried else ""
        return f"gpu-pilot: {what}, trial {self.trial.path}{carried}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        given = {
            "trial": str(self.trial.path),
            "judging": self.trial.judging,
            "plan": str(self.plan_file),
            "worker": node.gateway.id,
        }
        node.workerinput[_INPUT] = given
        if self.follower is None and not self.trial.judging:
            self.follower = progress.Follower(self.trial.path, self.config)
            self.follower.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error:
            card = workers.held_by(self.trial, node.gateway.id)
            which = f"worker {node.gateway.id}" + (f", which held {card}," if card else "")
            self._doubt(f"{which} died: {str(error).strip()[:200]}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:  # a module that skips itself takes its checks out of the plan
            self.uncollected = True
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            last = why.strip().rpartition("\n")[2]
            self._doubt(f"the suite could not be collected: {report.nodeid}: {last[:300]}")

    def pytest_collection_finish(self) -> None:
        self.started = stages.process_age()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        self.started = stages.process_age()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.preparing is None and not self.trial.judging:
            self._prepare_the_end()
        try:
            self.outcomes.add(report)
        except OSError as error:
            self._doubt(f"{CHECKS} could not be written: {error.strerror}")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # what -x raises is no interruption; pytest-xdist has an exception of its own for both
        stopping = str(excinfo.value).startswith("stopping after ")
        if not stopping and not isinstance(excinfo.value, pytest.Session.Interrupted):
            self.interruption = f"it was interrupted {excinfo.value!s}".strip()
            self._end_workers()

    def _end_workers(self) -> None:
        """pytest-xdist would wait ten seconds for a worker that waits for the application."""
        if self.follower:
            for process in psutil.Process().children():
                with contextlib.suppress(psutil.Error):
                    process.terminate()

    def pytest_internalerror(self, excrepr: object) -> None:
        self._doubt(f"pytest itself broke: {str(excrepr).strip().rpartition(chr(10))[2][:300]}")

    def _doubt(self, why: str) -> None:
        if why not in self.trouble:
            self.trouble.append(why)

    # -- when it ends ----------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = None
        try:
            result = yield  # pytest's own JUnit file and pytest-html have written theirs
        except OSError as error:  # a disk that is full, or a place of the person's own choice
            self.unwritten.append(f"{error.filename or 'the JUnit or the HTML file'}: {error.strerror}")
        if self.follower:
            self.follower.stop()
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            self._forget()
            return result
        self._quieten_html()
        with _undisturbed():
            self._close()
        session.exitstatus = self._exit_status(session.exitstatus)
        return result

    def _quieten_html(self) -> None:
        """pytest-html would name the file that only waits to become a part of our report."""
        if self.html and self.html.parent.name == LOCKS:
            for plugin in self.config.pluginmanager.get_plugins():
                if type(plugin).__module__.startswith("pytest_html."):
                    self.config.pluginmanager.unregister(plugin)

    def _stop_early(self) -> None:
        """End what was begun ahead and was not needed."""
        if climb := self.config.stash.get(launch.CLIMB, None):
            climb.stop()
        if reader := self.config.stash.get(READER, None):
            reader.stop()

    def _forget(self) -> None:
        """Nothing was asked that could be tried: the trial's folder goes again."""
        self._stop_early()
        if not self.trial.judging:
            shutil.rmtree(self.trial.path, ignore_errors=True)

    def _close(self) -> None:
        facts = self._facts()
        if self.trial.judging:
            self.verdict = decide(self._compared(facts))
            self._write_down(self.verdict)
        else:
            copying = self.interruption is None
            self.verdict, unwritten = closing.close(self.trial, facts, self._render, copying=copying)
            self.unwritten += unwritten
        self._hand_out(self.verdict, self.trial)

    def _hand_out(self, verdict: Verdict, trial: Trial) -> None:
        """To where --verdict, --provider-bundle and a GitHub runner ask for it."""
        if wanted := self.config.getoption("verdict"):
            path = self.config.invocation_params.dir / wanted
            try:
                write_json(path, verdict)
            except OSError as error:
                self.unwritten.append(f"{path}: {error.strerror}")
        if obstacle := machine.append_summary(verdict, os.environ):
            self.notes.append(obstacle)
        if self.config.getoption("provider_bundle") is not None:
            file = options.bundle_file(self.config) or bundle.default_file(trial)
            try:
                self.notes.append(bundle.said(file, bundle.write(trial, verdict, file)))
            except (InputError, OSError) as error:
                self.unwritten.append(str(error))

    def _compared(self, facts: Facts) -> Facts:
        """With what is judged otherwise than when the trial ended, by another version of the suite perhaps."""
        before = rereading.recorded(self.trial)
        statuses: dict[str, str] = {outcome.nodeid: outcome.status for outcome in facts.outcomes}
        if before is not None and self.asked.narrowed is None:
            different = rereading.differences(before, facts.plan, statuses)
            self.different = [f"{id}: {what}" for id, what in different.items()]
        said = [f"judged otherwise than recorded: {line}" for line in self.different]
        return dataclasses.replace(facts, advisories=[*facts.advisories, *said])

    def _write_down(self, verdict: Verdict) -> None:
        """A whole trial that was judged wholly keeps that it was; nothing else in its folder is touched."""
        wholly = self.asked.narrowed is None and self.interruption is None and not self.trouble
        if wholly and (self.trial.path / sums.NAME).exists() and not sums.differences(self.trial.path):
            there = elsewhere(self.trial)
            trouble = rereading.write(self.trial, self.config.rootpath, verdict, there, self.different)
            if trouble:
                self.notes.append(f"that it was judged again could not be written down: {trouble}")

    def _facts(self) -> Facts:
        trial, record = self.trial, self.trial.record
        checks = self.planner.checks or self._plan_of_workers()
        facts = Facts(
            trial=trial.name,
            scope=record.scope,
            continues=record.continues,
            plan=checks,
            outcomes=self.outcomes.all(),
            selection=self.asked.narrowed,
            interruption=self.interruption,
            trouble=list(self.trouble),
            documents=closing.counts(trial),
            factors=record.factors.flat(),
            changed=self.changed,
            remade=self.remade,
            before=self.before,
            advisories=closing.advisories(trial),
            timing=stages.seconds(trial, self.started or stages.process_age()),
            carried=self._carried(checks),
            repeat=commands.repeat(self.config, self.asked.suite, record.device),
            rerun=commands.rerun(self.config, self.asked.suite, record.device, trial.path),
        )
        if self.uncollected:
            return facts  # whoever judged the copy met the same and reached no check: no fault of the copy
        return Facts(**{**facts.__dict__, "objections": closing.objections(trial, facts)})

    def _plan_of_workers(self) -> list[PlannedCheck]:
        try:
            return plan.read(self.plan_file.parent)
        except InputError as error:
            self._doubt(str(error))
            return []

    def _carried(self, checks: list[Any]) -> dict[str, str]:
        origin = {}
        for name in plan.EVIDENCE:
            with contextlib.suppress(store.Broken):
                if self.trial.has(name) and (source := self.trial.envelope(name).carried_from):
                    origin[name] = source
        return {check.id: origin[name] for check in checks for name in check.evidence if name in origin}

    def _render(self, verdict: Verdict) -> str:
        if self.preparing:
            self.preparing.join()
        table = None
        if self.html and self.html.is_file():
            table = self.html.read_text(encoding="utf-8")
        return report.render(verdict, self.trial, table)

    def _exit_status(self, pytest_status: int | pytest.ExitCode) -> int:
        assert self.verdict
        if self.interruption:
            return pytest.ExitCode.INTERRUPTED
        if pytest_status == pytest.ExitCode.INTERNAL_ERROR:
            return pytest.ExitCode.INTERNAL_ERROR
        status = self.verdict.exit_status
        if self.unwritten and self.verdict.decision in ("go", "undecided"):
            status = EXIT_STATUS["undecided"]
        if status == 0 and self.verdict.decision != "go" and self.config.getoption("require_go"):
            status = EXIT_STATUS["undecided"]
        return status

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, object, object]:
        result = yield
        if self.verdict:
            page = None if self.trial.judging else self.trial.path / REPORT
            terminal.write(terminalreporter, self.verdict, page, self.unwritten, self.notes)
        return result

    def pytest_unconfigure(self) -> None:
        self._stop_early()
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)
