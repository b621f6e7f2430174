"""The report of the pytest plugin pytest-json-report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import count, document
from steelyard.records import Amount, CheckMessage, bounded_check_text, moment
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem
from steelyard.sources.formats._stated_figures import stated_count
from steelyard.sources.formats._test_reports import MAX_MESSAGES, report_part

NAME = "pytest-json-report"
FAILED_COLLECTION = frozenset({"failed", "error"})
COUNTED = ("passed", "failed", "error")
"""Outcomes whose number the summary states, if there are any."""


class Crash(msgspec.Struct):
    """Where a phase failed."""

    message: Any = None  # Any: text


class Phase(msgspec.Struct):
    """Setup, call or teardown of a test."""

    crash: Crash | None = None
    longrepr: Any = None  # Any: text


class Test(msgspec.Struct):
    """One test; what was expected to fail and did counts neither way."""

    __test__ = False

    nodeid: str
    outcome: str
    setup: Phase | None = None
    call: Phase | None = None
    teardown: Phase | None = None
    longrepr: Any = None  # Any: text, of a module that could not be collected


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


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:  # noqa: ARG001 # a file is of one run
    """Yield the messages of the tests that did not pass."""
    report = document(path, _REPORT)
    broken = [test for test in report.collectors if test.outcome in FAILED_COLLECTION]
    failed = [test for test in report.tests if test.outcome in FAILED_COLLECTION]
    for test in (*broken, *failed)[:MAX_MESSAGES]:
        phases = [phase for phase in (test.setup, test.call, test.teardown) if phase is not None]
        crashes = [phase.crash.message for phase in phases if phase.crash is not None]
        parts = [*crashes, *(phase.longrepr for phase in phases), test.longrepr]
        text = bounded_check_text(*(part for part in parts if isinstance(part, str)))
        if text:
            yield CheckMessage(name=test.nodeid, kind="test", passed=False, text=text)


FORMAT = LogFormat(
    name=NAME,
    title="pytest-json-report",
    kind="tests",
    yields=("tests by name", "passed", "times"),
    recognizes=recognizes,
    read=read,
    check_messages=check_messages,
)
