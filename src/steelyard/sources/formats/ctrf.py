"""CTRF test reports. The specification counts milliseconds, but some writers seconds: magnitude distinguishes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import count, document
from steelyard.records import CheckMessage, bounded_check_text, moment, sum_in_order
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem
from steelyard.sources.formats._stated_figures import stated_count
from steelyard.sources.formats._test_reports import MAX_MESSAGES, report_part

NAME = "ctrf"
MILLISECONDS_FROM = 1e11
"""As seconds this is the year 5138, as milliseconds 1973: no report is from either."""
DATES_FROM = 1e9
"""A smaller time (as seconds, 2001) is a clock of the runner's own and does not give the day."""

COUNTED = ("passed", "failed")
"""Results whose number a summary states."""


class Test(msgspec.Struct):
    """One test."""

    __test__ = False

    name: str
    status: str
    duration: float | None = None
    message: Any = None  # Any: text, as the next
    trace: Any = None


class Summary(msgspec.Struct):
    """When it was, and how many tests there were."""

    start: float | None = None
    stop: float | None = None
    tests: Any = None  # Any: a count, as the next two
    passed: Any = None
    failed: Any = None


class Results(msgspec.Struct):
    """The results."""

    summary: Summary
    tests: list[Test]


class Report(msgspec.Struct):
    """The file."""

    results: Results


_REPORT = msgspec.json.Decoder(Report)


def recognizes(head: Head) -> bool:
    """Results with a tool, a summary and tests."""
    return head.has("results", "results.tool", "results.summary") or head.shape.get("reportFormat") == "CTRF"


def read(path: Path) -> Iterator[ReadItem]:
    """The tests of the report, with times in seconds."""
    results = document(path, _REPORT).results
    by_status: dict[str, list[str]] = {}
    for test in results.tests:
        by_status.setdefault(test.status, []).append(test.name)
    start, stop = results.summary.start, results.summary.stop
    yield report_part(
        format=NAME,
        path=path,
        passed=by_status.get("passed", []),
        failed=by_status.get("failed", []),
        errors=by_status.get("other", []),
        skipped=len(by_status.get("skipped", [])) + len(by_status.get("pending", [])),
        started=moment(start) if start and start >= DATES_FROM else None,
        ended=moment(stop) if stop and stop >= DATES_FROM else None,
        seconds=_seconds(results),
    )
    listed = {"tests": len(results.tests), **{f"tests {word}": len(by_status.get(word, [])) for word in COUNTED}}
    for what, number in listed.items():
        stated = count(getattr(results.summary, what.rpartition(" ")[2]))
        yield from stated_count(str(path), what, stated=stated, listed=number)


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:  # noqa: ARG001 # a file is of one run
    """Yield the messages of the tests that did not pass."""
    failed = [test for test in document(path, _REPORT).results.tests if test.status in ("failed", "other")]
    for test in failed[:MAX_MESSAGES]:
        text = bounded_check_text(*(part for part in (test.message, test.trace) if isinstance(part, str)))
        if text:
            yield CheckMessage(name=test.name, kind="test", passed=False, text=text)


def _seconds(results: Results) -> float | None:
    start, stop = results.summary.start, results.summary.stop
    durations = [test.duration for test in results.tests if test.duration is not None]
    whole = all(duration == int(duration) for duration in durations)  # milliseconds are counted whole
    if start is not None and stop is not None and stop > start > 0:
        return (stop - start) / (1000 if start > MILLISECONDS_FROM or (whole and start < DATES_FROM) else 1)
    return sum_in_order(durations) / (1000 if whole else 1) if durations else None


FORMAT = LogFormat(
    name=NAME,
    title="CTRF test reports, in milliseconds or seconds",
    kind="tests",
    yields=("tests by name", "passed", "times"),
    recognizes=recognizes,
    read=read,
    check_messages=check_messages,
)
