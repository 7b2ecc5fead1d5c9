"""Counts the tables where the test run ends: faults caught, healthy twins accepted, recorded machines judged rightly.

Serially and under -n.
"""

from __future__ import annotations

from collections import Counter

import pytest

FAULT, TWIN = "fault", "healthy twin"
ILL, WELL = "recorded faulty machine", "recorded healthy machine"
#: what is counted -> what is said of those that came out right
_RIGHT = {FAULT: "caught", TWIN: "accepted", ILL: "named rightly", WELL: "without a false alarm"}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Each entry's test records what it is as a user property, which travels with its report from a worker too."""
    came_to: Counter[tuple[str, str]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for kind in {name for name, _ in report.user_properties} & _RIGHT.keys():
                    came_to[kind, report.outcome] += 1
    if not came_to:
        return
    terminalreporter.section("the fault table")
    for kind, verb in _RIGHT.items():
        total = sum(came_to[kind, outcome] for outcome in ("passed", "failed", "skipped"))
        skipped = came_to[kind, "skipped"]
        if not total:
            continue
        made = f", {skipped} could not be made on this machine" if skipped else ""
        terminalreporter.write_line(f"{kind}s: {came_to[kind, 'passed']} of {total} {verb}{made}")
