"""What all test reports have in common: they are about the run in the same folder, or are a run of their own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from steelyard.errors import UnreadableFileError
from steelyard.files import label
from steelyard.records import Rejected, TestResults
from steelyard.sources.formats._catalog import each_log_format
from steelyard.sources.formats._log_format import LogFormat, RunPart, head_of
from steelyard.sources.formats._run_values import outcome_of, run_from

MAX_TESTS = 1_000_000
MAX_MESSAGES = 1_000
"""Failed tests whose messages are read."""


def report_part(
    *,
    format: str,  # noqa: A002
    path: Path,
    passed: list[str],
    failed: list[str],
    errors: list[str],
    skipped: int,
    name: str | None = None,
    started: datetime | None = None,
    ended: datetime | None = None,
    seconds: float | None = None,
) -> RunPart:
    """The part of a run that a test report is. Tests that did not run are ignored."""
    tests = TestResults(passed=tuple(passed), failed=tuple(failed), errors=tuple(errors))
    good = None if tests.total == 0 else tests.not_passed == 0
    run = run_from(
        format=format,
        path=str(path),
        how={"tests": "reported", "passed": "unknown" if good is None else "counted"},
        task=label(name) or label(path.stem) or format,
        started_at=started,
        ended_at=ended if started is None or ended is None or ended >= started else None,
        passed=good,
        outcome=outcome_of(good),
        tests=tests,
        extra={"test_seconds": seconds, "tests_skipped": skipped or None},
    )
    return RunPart(run=run, path=str(path), role="tests")


def format_of_tests(path: Path) -> LogFormat | None:
    """The format of the test report that the file is; None when it is none."""
    try:
        head = head_of(path)
    except OSError as error:
        raise UnreadableFileError(str(path), f"cannot be read: {error.strerror or error}") from error
    return next(
        (declared for declared in each_log_format() if declared.kind == "tests" and declared.recognizes(head)), None
    )


def tests_in(path: Path) -> TestResults | None:
    """The results in a test report (JUnit XML, CTRF, pytest-json-report); None when no test ran."""
    declared = format_of_tests(path)
    if declared is None:
        raise UnreadableFileError(str(path), "unknown test report format", hint="use JUnit XML, for example")
    for item in declared.read(path):
        if isinstance(item, Rejected):
            raise UnreadableFileError(
                f"{item.path}:{item.line}" if item.line else item.path, item.reason, hint=item.hint
            )
        if isinstance(item, RunPart) and item.run.tests is not None and item.run.tests.total:
            return item.run.tests
    return None
