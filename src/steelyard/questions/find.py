"""Search the transcripts of runs.

Searches messages, tool arguments and tool results. Redacted keys and tokens are not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, get_args

from msgspec import structs

from steelyard import pages  # its names are imported on first use
from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._options import RunFilterOptions
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import RecordReader, Runs
from steelyard.records import (
    Finding,
    Missing,
    Redaction,
    Rejected,
    SessionStep,
    StepKind,
    StepRole,
    one_a_kind,
    placed_step,
    set_aside_findings,
)
from steelyard.sources import PlacedRun, transcript_of

if TYPE_CHECKING:
    from steelyard.pages import Page

Span = tuple[int, int]
Search = Callable[[str], Span | None]
"""The first match in a text, as its start and end."""
MAX_PATTERN = 1_000
MAX_CONTEXT = 1_000
MAX_MATCHES = 1_000
"""Matches in an answer; the others are counted."""


class FindOptions(RunFilterOptions):
    """Options of `find`."""

    pattern: str = doc("Text to find, or a regular expression.", kw_only=False)
    regex: bool = doc("Treat PATTERN as a regular expression (RE2 syntax).", default=False)
    tool: Names = doc("Only calls to these tools, and their results; comma-separated.", default=())
    role: Names = doc("Only steps of these roles: system, user, assistant, reasoning, tool.", default=())
    context: int = doc("Characters to show before and after a match (default: 60).", default=60)
    redact: bool = doc("Redact API keys and tokens.", default=True, local=True)

    def check(self) -> None:
        """Reject values out of range and unknown roles."""
        if not self.pattern or len(self.pattern) > MAX_PATTERN:
            raise UsageError(f"the pattern must have 1 to {MAX_PATTERN:,} characters")
        if not 0 <= self.context <= MAX_CONTEXT:
            raise UsageError(f"{option('context')} must be from 0 to {MAX_CONTEXT:,} (got {self.context})")
        for role in self.role:
            if role not in get_args(StepRole):
                raise UnknownNameError("role", role, get_args(StepRole), where=option("role"))

    def search(self) -> Search:
        """Return the search of the pattern."""
        pattern = self.pattern
        if not self.regex:

            def found(text: str) -> Span | None:
                at = text.find(pattern)
                return None if at < 0 else (at, at + len(pattern))

            return found
        return _linear_search(pattern)


def _linear_search(pattern: str) -> Search:
    """Return the search of a regular expression, in time linear in the text."""
    try:
        import re2  # an optional library
    except ImportError as error:
        raise MissingExtraError("google-re2", extra="regex", purpose=option("regex")) from error
    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(pattern, options).search
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        raise UsageError(f"invalid regular expression {pattern!r}: {reason}") from error

    def found(text: str) -> Span | None:
        match = search(text)
        return None if match is None else match.span()

    return found


_WORDS = re.compile(r"[A-Za-z_]{3}(?:[A-Za-z0-9_ ]*[A-Za-z0-9_])?")
"""Texts that a log in JSON contains as they are."""


def _longest_word(pattern: str) -> str:
    """The longest part of the pattern that a log contains as it is; empty if there is none.

    >>> _longest_word('"git log" --all'), _longest_word("a+b")
    ('git log', '')
    """
    return max(_WORDS.findall(pattern), key=len, default="")


class StepMatch(Part, frozen=True, kw_only=True):
    """A step that contains the pattern."""

    run: str
    step: int
    """Position of the step in the run, from 1."""
    kind: StepKind
    role: StepRole
    tool: str | None
    """Tool that was called, also for its result."""
    at: str | None
    """Time in UTC."""
    where: str | None
    """File and line."""
    before: str
    match: str
    """First match in the step."""
    after: str

    @property
    def snippet(self) -> str:
        """The match with its context, in one line."""
        return " ".join(f"{self.before}{self.match}{self.after}".split())


class Matches(Answer, frozen=True, kw_only=True):
    """Steps that contain a pattern."""

    rows: ClassVar[Rows] = Rows("matches")
    pattern: str
    is_regex: bool
    matches: tuple[StepMatch, ...]
    """In the order of the runs and their steps, at most 1,000."""
    match_count: int
    """Number of steps that contain the pattern."""
    run_count: int
    """Number of runs with such a step."""
    searched_runs: int
    without_steps: int
    """Runs that were not searched, because their records contain no messages."""
    rejected_count: int
    findings: tuple[Finding, ...]

    @property
    def about(self) -> str:
        """Number of matches, steps and runs."""
        found = f"{counted(self.match_count, 'step')} in {counted(self.run_count, 'run')}"
        return f"{found} contain {self.pattern!r}" if self.match_count != 1 else f"{found} contains {self.pattern!r}"


@question(
    FindOptions,
    input_last=True,
    examples=({"": "logs/", "pattern": "git log --all"}, {"": "logs/", "pattern": "rm -rf", "tool": "Bash"}),
)
def find(runs: Runs, options: FindOptions) -> Matches:
    """Search the steps of runs: messages, arguments of tools and their results.

    >>> import steelyard as sy
    >>> sy.find("logs/", pattern="git log --all")  # doctest: +SKIP
    Matches(2 steps in 1 run contain 'git log --all')
    """
    reader = RecordReader(options.reading())
    entries = list(reader.read(runs))
    findings = reader.finish()
    made = matches_in(entries, options, findings)
    return structs.replace(made, rejected_count=made.rejected_count + len(reader.set_aside))


def matches_in(
    entries: Iterable[tuple[str, PlacedRun]], options: FindOptions, findings: Iterable[Finding] = ()
) -> Matches:
    """Return the matches in runs that were read, after the findings about reading."""
    found = _Finder(options)
    for id_, entry in entries:
        found.add(id_, entry)
    return found.answer(findings)


class _Finder:
    """Matches so far."""

    def __init__(self, options: FindOptions) -> None:
        self._options, self._search = options, options.search()
        self._tools, self._roles = frozenset(options.tool), frozenset(options.role)
        self._word = "" if options.regex else _longest_word(options.pattern)
        self._redaction = Redaction() if options.redact else None
        self._matches: list[StepMatch] = []
        self._rejected: list[Rejected] = []
        self._runs: set[str] = set()
        self._count = self._searched = 0
        self._without: dict[str, int] = {}

    def add(self, id_: str, entry: PlacedRun) -> None:
        """Search one more run."""
        transcript = transcript_of(entry, None)
        if isinstance(transcript, Missing):
            self._without[transcript.reason] = self._without.get(transcript.reason, 0) + 1
            return
        self._searched += 1
        if self._word and not transcript.may_contain(self._word):
            return
        search, called = self._search, dict[str, str]()
        id_ = id_ if self._redaction is None else self._redaction.text(id_)
        for step in transcript:
            if step.tool is not None and step.call is not None:
                called[step.call] = step.tool
            tool = step.tool or (called.pop(step.call, None) if step.kind == "tool_result" and step.call else None)
            if (self._roles and step.role not in self._roles) or (self._tools and tool not in self._tools):
                continue
            for text in step.content:
                if (span := search(text)) is not None:
                    if not self._is_counted(id_, step, text, span):
                        self._take(id_, step, tool)
                    break
        self._rejected += transcript.rejected

    def _is_counted(self, id_: str, step: SessionStep, text: str, span: Span) -> bool:
        """Count the step if it is not listed and the match is surely not in what is redacted."""
        if len(self._matches) < MAX_MATCHES:
            return False
        is_named = step.arguments is not None
        if self._redaction is not None and not self._redaction.surely_keeps(text, *span, is_named=is_named):
            return False
        self._count += 1
        self._runs.add(id_)
        return True

    def _take(self, id_: str, step: SessionStep, tool: str | None) -> None:
        """Take a step that contains the pattern, unless that is in what is redacted."""
        if self._redaction is not None:
            step = placed_step(step, step.index, step.source_path or "", self._redaction)
            tool = None if tool is None else self._redaction.text(tool)
        text, span = next(((text, span) for text in step.content if (span := self._search(text))), ("", None))
        if span is None:
            return
        self._count += 1
        self._runs.add(id_)
        if len(self._matches) < MAX_MATCHES:
            self._matches.append(_match(id_, step, tool, text, span, self._options.context))

    def answer(self, reading: Iterable[Finding]) -> Matches:
        """Return the answer; runs without steps are findings."""
        findings = [*reading, *set_aside_findings(self._rejected)]
        for reason, count in sorted(self._without.items()):
            message = f"{counted(count, 'run')} not searched: {reason}"
            findings.append(Finding(code="no_steps", message=message))
        if self._count > len(self._matches):
            message = f"the first {len(self._matches):,} of {self._count:,} matches are listed"
            findings.append(Finding(code="more_matches", severity="info", message=message))
        redaction = self._redaction
        pattern = self._options.pattern
        return Matches(
            pattern=pattern if redaction is None else redaction.text(pattern),
            is_regex=self._options.regex,
            matches=tuple(self._matches),
            match_count=self._count,
            run_count=len(self._runs),
            searched_runs=self._searched,
            without_steps=sum(self._without.values()),
            rejected_count=len(self._rejected),
            findings=one_a_kind(findings if redaction is None else redaction.tree(findings)),
        )


def _match(id_: str, step: SessionStep, tool: str | None, text: str, span: Span, context: int) -> StepMatch:
    start, end = span
    return StepMatch(
        run=id_,
        step=step.index,
        kind=step.kind,
        role=step.role,
        tool=tool,
        at=None if step.at is None else step.at.isoformat(),
        where=step.where,
        before=text[max(start - context, 0) : start],
        match=text[start : min(end, start + MAX_CONTEXT)],
        after=text[end : end + context],
    )


def page(answer: Matches) -> Page:
    """Return a table of matches."""
    matches = answer.matches
    steps = pages.count_column("step", "step", [each.step for each in matches])
    where = replace(pages.text_column("where", "line", [each.where for each in matches]), spare=1)
    tools = [each.tool or each.role for each in matches]
    table = pages.PageTable(
        name="matches",
        caption=counted(len(matches), "match", "matches"),
        columns=(
            pages.id_column("run", "run", "runs", [each.run for each in matches]),
            steps,
            replace(pages.text_column("tool", "tool or role", tools), spare=2),
            pages.text_column("content", "match", [each.snippet for each in matches]),
            where,
        ),
    )
    searched = f"{counted(answer.searched_runs, 'run')} searched"
    return pages.Page(
        name="find",
        title=f"Search for {answer.pattern!r}",
        answer=f"{answer.about}.",
        notes=(f"{searched}.",),
        table=table if matches else None,
    )
