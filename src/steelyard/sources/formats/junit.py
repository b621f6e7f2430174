"""JUnit XML, as most test runners write it. Cases are counted; totals that suites state can be wrong: they are checked.

Entities that a file declares itself are rejected: they are how a small file becomes a large one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from steelyard.errors import NESTED_TOO_DEEPLY, InputLimitError, UnreadableFileError
from steelyard.files import file_chunks
from steelyard.records import CheckMessage, Finding, bounded_check_text, moment
from steelyard.settings import MAX_NESTING, XML_TOKEN_BYTES
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem
from steelyard.sources.formats._stated_figures import stated_count
from steelyard.sources.formats._test_reports import MAX_MESSAGES, MAX_TESTS, report_part

NAME = "junit"
NOT_RUN = frozenset({"disabled", "notrun", "ignored", "skipped", "suppressed"})
"""What runners that mark a test in an attribute alone, as GoogleTest does, write for one that did not run."""
NOT_PASSED = frozenset({"error", "errored", "fail", "failed", "failure"})
MAX_TEXT = 1 << 20
"""Characters of a failure that are read."""
_SUITE = re.compile(rb"<(?:[\w.-]+:)?testsuites?(?:[\s/>]|$)")


class Totals(NamedTuple):
    """What a suite states of the tests in it."""

    tests: int | None
    not_passed: int | None


class Cases:
    """Collects test cases while the parser goes through the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.passed: list[str] = []
        self.failed: list[str] = []
        self.errors: list[str] = []
        self.skipped = 0
        self.seconds = 0.0
        self.timed = False
        self.started: datetime | None = None
        self.suite: str | None = None
        self.open: list[str] = []
        self.case: str | None = None
        self.results: set[str] = set()
        self.stated: set[str] = set()
        self.totals: dict[int, Totals] = {}
        """What suites state together, by how deep they are."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """A tag opens."""
        name = tag.rpartition(":")[2]
        if not self.open and name not in ("testsuites", "testsuite"):
            raise UnreadableFileError(str(self.path), f"not JUnit: the root element is {name[:40]!r}")
        self.open.append(name)
        if len(self.open) > MAX_NESTING:
            raise InputLimitError(str(self.path), NESTED_TOO_DEEPLY)
        if name == "testcase":
            self.case = (
                "::".join(part for part in (attributes.get("classname"), attributes.get("name")) if part) or "unnamed"
            )
            self.results = set()
            self.stated = {attributes.get(key, "").lower() for key in ("status", "result")}
            self._time(attributes.get("time"))
        elif name in ("testsuite", "testsuites"):
            self.suite = self.suite or attributes.get("name")
            tests, failures, errors = (_count(attributes.get(key)) for key in ("tests", "failures", "errors"))
            before = self.totals.get(len(self.open), Totals(None, None))
            bad = _sum(before.not_passed, failures, errors)
            self.totals[len(self.open)] = Totals(_sum(before.tests, tests), bad)
            at = moment(attributes.get("timestamp"))
            self.started = min(self.started or at, at) if at else self.started
        elif self.case is not None and len(self.open) > 1 and self.open[-2] == "testcase":
            self.results.add(name)

    def end(self, _tag: str) -> None:
        """A tag closes."""
        name = self.open.pop()
        if name != "testcase" or self.case is None:
            return
        if "error" in self.results:
            self.errors.append(self.case)
        elif "failure" in self.results:
            self.failed.append(self.case)
        elif "skipped" in self.results or self.stated & NOT_RUN:
            self.skipped += 1
        elif self.stated & NOT_PASSED:
            self.failed.append(self.case)
        else:
            self.passed.append(self.case)
        self.case = None
        if len(self.passed) + len(self.failed) + len(self.errors) > MAX_TESTS:
            raise UnreadableFileError(str(self.path), f"more than {MAX_TESTS:,} test cases")

    def _time(self, text: str | None) -> None:
        try:
            seconds = float((text or "").replace(",", ""))
        except ValueError:
            return
        if 0 <= seconds < 1e9:
            self.seconds += seconds
            self.timed = True

    def contradictions(self) -> Iterator[Finding]:
        """Yield the totals of the whole report that differ from its cases; a root may have those of its suites."""
        stated = next((each for _, each in sorted(self.totals.items()) if each.tests is not None), Totals(None, None))
        bad = len(self.failed) + len(self.errors)
        where = str(self.path)
        yield from stated_count(where, "tests", stated=stated.tests, listed=len(self.passed) + bad + self.skipped)
        yield from stated_count(where, "tests that did not pass", stated=stated.not_passed, listed=bad)

    def reject(self, *declaration: Any) -> None:  # Any: expat's description of the entity
        """An entity is declared."""
        raise UnreadableFileError(
            str(self.path),
            f"the file declares the entity {str(declaration[0])[:40]!r}",
            hint="rejected for security reasons",
        )


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None


def _sum(*counts: int | None) -> int | None:
    """The sum of the counts; None where none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def recognizes(head: Head) -> bool:
    """XML whose first element is a suite of tests, whatever namespace it has."""
    text = head.text
    if not text.startswith(b"<"):
        return False
    while text.startswith((b"<?", b"<!")):
        text = _after_declaration(text)
    return _SUITE.match(text) is not None


def _after_declaration(text: bytes) -> bytes:
    """What follows a processing instruction, a comment or a document type, entities included."""
    if text.startswith(b"<!--"):
        end = b"-->"
    elif text.startswith(b"<!") and b"[" in text.split(b">", 1)[0]:
        end = b"]>"
    else:
        end = b">"
    _, separator, rest = text.partition(end)
    return rest.lstrip() if separator else b""


def read(path: Path) -> Iterator[ReadItem]:
    """The tests of the report."""
    cases = Cases(path)
    _parse(cases, expat.ParserCreate())
    seconds = cases.seconds if cases.timed else None
    ended = cases.started + timedelta(seconds=seconds) if cases.started and seconds is not None else None
    yield report_part(
        format=NAME,
        path=path,
        passed=cases.passed,
        failed=cases.failed,
        errors=cases.errors,
        skipped=cases.skipped,
        started=cases.started,
        ended=ended,
        seconds=seconds,
    )
    yield from cases.contradictions()


def _parse(cases: Cases, parser: expat.XMLParserType) -> None:
    parser.buffer_text = True
    if hasattr(parser, "SetReparseDeferralEnabled"):  # deferred, its position would be unknown; older ones never defer
        parser.SetReparseDeferralEnabled(False)
    parser.StartElementHandler = cases.start
    parser.EndElementHandler = cases.end
    parser.EntityDeclHandler = cases.reject
    path = cases.path
    try:
        fed = 0
        for chunk in file_chunks(path):
            parser.Parse(chunk, False)  # expat takes no keywords
            fed += len(chunk)
            if fed - parser.CurrentByteIndex > XML_TOKEN_BYTES.most:
                raise XML_TOKEN_BYTES.passed(f"{path}:{parser.CurrentLineNumber}")
        parser.Parse(b"", True)
    except (expat.ExpatError, UnicodeDecodeError, LookupError) as error:
        line = parser.CurrentLineNumber
        raise UnreadableFileError(f"{path}:{line}", f"not XML: {error}") from error


class FailedCases(Cases):
    """Collects the texts of the cases that did not pass."""

    def __init__(self, path: Path, parser: expat.XMLParserType) -> None:
        super().__init__(path)
        self.parser = parser
        self.messages: list[CheckMessage] = []
        self.parts: list[str] = []
        self.length = 0
        self.line = 0
        parser.CharacterDataHandler = self.text

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """A tag opens."""
        super().start(tag, attributes)
        if self.open[-1] in ("failure", "error") and self.case is not None and not self.parts:
            self.line = self.parser.CurrentLineNumber
            self.parts, self.length = [attributes.get("message") or attributes.get("type") or "", ""], 0

    def text(self, text: str) -> None:
        """Text of an element."""
        if self.parts and self.open[-1] in ("failure", "error") and self.length < MAX_TEXT:
            self.parts[1] += text[: MAX_TEXT - self.length]
            self.length += len(text)

    def end(self, tag: str) -> None:
        """A tag closes."""
        if self.open[-1] == "testcase" and self.parts:
            if len(self.messages) < MAX_MESSAGES:
                text = bounded_check_text(*self.parts)
                name = self.case or "unnamed"
                self.messages.append(
                    CheckMessage(name=name, kind="test", passed=False, text=text, source_line=self.line)
                )
            self.parts = []
        super().end(tag)


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:  # noqa: ARG001 # a file is of one run
    """Yield the messages of the tests that did not pass."""
    parser = expat.ParserCreate()
    cases = FailedCases(path, parser)
    _parse(cases, parser)
    yield from cases.messages


FORMAT = LogFormat(
    name=NAME,
    title="JUnit XML test reports",
    kind="tests",
    yields=("tests by name", "passed", "times"),
    recognizes=recognizes,
    read=read,
    check_messages=check_messages,
)
