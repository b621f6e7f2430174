"""The report of the pytest plugin pytest-json-report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from steelyard.records.run import Amount
from steelyard.sources._base import Head, Reading, Source
from steelyard.sources._documents import document, moment
from steelyard.sources._reports import report_part

FORMAT = "pytest-json-report"
FAILED_COLLECTION = frozenset({"failed", "error"})


class Test(msgspec.Struct):
    """One test; what was expected to fail and did counts neither way."""

    __test__ = False

    nodeid: str
    outcome: str


class Report(msgspec.Struct):
    """The file."""

    tests: list[Test] = []
    collectors: list[Test] = []
    created: float | None = None
    duration: Amount | None = None


_REPORT = msgspec.json.Decoder(Report)


def recognises(head: Head) -> bool:
    """A summary with an exit code and the time it was made."""
    return head.has("created", "duration", "exitcode", "summary")


def read(path: Path) -> Iterator[Reading]:
    """The tests of the report; a module that could not be collected is an error."""
    report = document(path, _REPORT)
    by_outcome: dict[str, list[str]] = {}
    for test in report.tests:
        by_outcome.setdefault(test.outcome, []).append(test.nodeid)
    broken = [test.nodeid for test in report.collectors if test.outcome in FAILED_COLLECTION]
    yield report_part(
        format=FORMAT,
        path=path,
        passed=by_outcome.get("passed", []) + by_outcome.get("xpassed", []),
        failed=by_outcome.get("failed", []),
        errors=by_outcome.get("error", []) + broken,
        skipped=len(by_outcome.get("skipped", [])) + len(by_outcome.get("xfailed", [])),
        ended=moment(report.created),
        started=moment(report.created - report.duration) if report.created and report.duration is not None else None,
        seconds=report.duration,
    )


SOURCE = Source(
    name=FORMAT,
    title="pytest-json-report",
    yields=("tests by name", "passed", "times"),
    recognises=recognises,
    read=read,
)
