"""The report of the pytest plugin pytest-json-report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import count, document
from steelyard.records import Amount, moment
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem
from steelyard.sources.formats._stated_figures import stated_count
from steelyard.sources.formats._test_reports import report_part

NAME = "pytest-json-report"
FAILED_COLLECTION = frozenset({"failed", "error"})
COUNTED = ("passed", "failed", "error")
"""Outcomes whose number the summary states, if there are any."""


class Test(msgspec.Struct):
    """One test; what was expected to fail and did counts neither way."""

    __test__ = False

    nodeid: str
    outcome: str


class Report(msgspec.Struct):
    """The file."""

    tests: list[Test] = []
    collectors: list[Test] = []
    summary: dict[str, Any] = {}  # Any: counts by outcome
    created: float | None = None
    duration: Amount | None = None


_REPORT = msgspec.json.Decoder(Report)


def recognizes(head: Head) -> bool:
    """A summary with an exit code and the time it was made."""
    return head.has("created", "duration", "exitcode", "summary")


def read(path: Path) -> Iterator[ReadItem]:
    """The tests of the report; a module that could not be collected is an error."""
    report = document(path, _REPORT)
    by_outcome: dict[str, list[str]] = {}
    for test in report.tests:
        by_outcome.setdefault(test.outcome, []).append(test.nodeid)
    broken = [test.nodeid for test in report.collectors if test.outcome in FAILED_COLLECTION]
    yield report_part(
        format=NAME,
        path=path,
        passed=by_outcome.get("passed", []) + by_outcome.get("xpassed", []),
        failed=by_outcome.get("failed", []),
        errors=by_outcome.get("error", []) + broken,
        skipped=len(by_outcome.get("skipped", [])) + len(by_outcome.get("xfailed", [])),
        ended=moment(report.created),
        started=moment(report.created - report.duration) if report.created and report.duration is not None else None,
        seconds=report.duration,
    )
    for outcome in COUNTED:
        stated = count(report.summary.get(outcome))
        yield from stated_count(str(path), f"tests {outcome}", stated=stated, listed=len(by_outcome.get(outcome, [])))


FORMAT = LogFormat(
    name=NAME,
    title="pytest-json-report",
    kind="tests",
    yields=("tests by name", "passed", "times"),
    recognizes=recognizes,
    read=read,
)
