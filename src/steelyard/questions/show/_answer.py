"""Answer of `show`: one run, its metrics with their inputs, its output, and a diff with another run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions.explain import ExplainedValue
from steelyard.questions.show._run_difference import NumberPair, StepDifference
from steelyard.records import CheckMessage, Redaction, Run, SessionStep
from steelyard.sources import SessionLog, Transcript

if TYPE_CHECKING:
    from steelyard.pages import Page

PIECE_CHARACTERS = 64_000
"""Maximum length of a piece of text."""


class TextPiece(Part, frozen=True, kw_only=True):
    """Part of a long text."""

    text: str
    offset: int
    """Number of characters before this piece."""
    total: int
    """Number of characters of the whole text."""
    previous_offset: int | None
    """Offset of the previous piece; None for the first."""
    next_offset: int | None
    """Offset of the next piece; None for the last."""

    def heading(self, name: str) -> str:
        """Return the heading of the text, with the range that is shown."""
        if len(self.text) == self.total:
            return f"{name} ({counted(self.total, 'character')})"
        return f"{name}, characters {self.offset + 1:,} to {self.offset + len(self.text):,} of {self.total:,}"


def piece_of(text: str, offset: int = 0) -> TextPiece:
    """Return the piece at this offset; empty beyond the end.

    >>> piece_of("abc", 1).text, piece_of("abc", 9).text
    ('bc', '')
    """
    begin = min(max(offset, 0), len(text))
    end = begin + PIECE_CHARACTERS
    return TextPiece(
        text=text[begin:end],
        offset=begin,
        total=len(text),
        previous_offset=max(0, begin - PIECE_CHARACTERS) if begin else None,
        next_offset=end if end < len(text) else None,
    )


class OutputDifference(Part, frozen=True, kw_only=True):
    """Diff of the output of the run with that of another run."""

    added: int
    """Lines only in this run's output."""
    removed: int
    """Lines only in the other run's output."""
    is_shortest: bool
    """False if the diff is complete but may not be minimal, because the outputs are long."""
    changes: TextPiece
    """Unified diff with context lines."""


class RunDifference(Part, frozen=True, kw_only=True):
    """Differences of the run from another run."""

    base: str
    """Id of the other run."""
    numbers: tuple[NumberPair, ...]
    """Metrics and facts that either run has."""
    steps: StepDifference | None
    """None if a run has no steps."""
    output: OutputDifference | None
    """None if a run has no output."""


class CheckedPart(Part, frozen=True, kw_only=True):
    """What a test, an assertion or a grader says of its verdict."""

    name: str
    """Test, assertion or grader."""
    kind: Literal["test", "grader"]
    passed: bool | None
    """None if it gives a score alone."""
    score: float | None
    text: str
    """Message of the failure, or reasoning of the grader."""
    where: str | None
    """File and line."""

    @property
    def assertion(self) -> str:
        """The line that says what failed."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
        named = [line for line in lines if "Error" in line or line.startswith("assert")]
        return (raised or named or lines or [self.name])[0]


def checked_part(message: CheckMessage) -> CheckedPart:
    """Return the message for an answer."""
    where = message.source_path
    if where is not None and message.source_line is not None:
        where = f"{where}:{message.source_line}"
    return CheckedPart(
        name=message.name,
        kind=message.kind,
        passed=message.passed,
        score=message.score,
        text=message.text,
        where=where,
    )


class LogPlace(Part, frozen=True, kw_only=True):
    """A file with steps of the run."""

    path: str
    format: str
    session: str | None
    """Id of the session in the file."""


class CallCost(Part, frozen=True, kw_only=True):
    """One model call of the run."""

    seconds: float | None
    """Time since the start of the run, or since the first call if it is unknown; None if the call has no time."""
    model: str | None
    tokens: int | None
    cost_usd: float | None
    """Cost by the price table; None if it has no price."""


class RunPosition(Part, frozen=True, kw_only=True):
    """Position of the run among those that were read."""

    number: int
    """Counted from 1."""
    count: int
    previous: str | None
    """Id of the previous run; None for the first."""
    next: str | None
    """Id of the next run; None for the last."""


class RunDetail(Answer, frozen=True, kw_only=True):
    """One run in detail."""

    rows: ClassVar[Rows] = Rows("numbers", keep=("run",), without=("inputs", "constants"), below={"numbers": "inputs"})
    run: str
    where: str
    """File and line that the run was read from."""
    verdict: str
    """passed or failed; without a verdict, the outcome."""
    profile: str
    prices: str
    position: RunPosition
    record: Run
    """The record as read, without its output."""
    numbers: tuple[ExplainedValue, ...]
    """Every metric of the run, each with its inputs."""
    calls: tuple[CallCost, ...]
    output: TextPiece | None = None
    """None if the run has no output."""
    checks: tuple[CheckedPart, ...] = ()
    """Messages of failed tests, and reasoning of assertions and graders, as the files of the run state them."""
    transcript: tuple[LogPlace, ...] = ()
    """Files with its steps."""
    difference: RunDifference | None = None
    """None if no other run was named."""
    section: Literal["overview", "tests", "judges", "numbers"] = "overview"
    """What the page shows."""
    redacted: str | None = None
    """Number of redacted keys and tokens by kind; None if redaction is off."""

    @property
    def about(self) -> str:
        """Run, verdict and task."""
        return f"{self.run}: {self.verdict}, {self.record.task}"

    @property
    def failures(self) -> tuple[CheckedPart, ...]:
        """What did not pass."""
        return tuple(each for each in self.checks if each.passed is False)

    def steps(self) -> Iterator[SessionStep]:
        """Iterate over the steps of the run: messages, tool calls and their results, errors."""
        logs = [SessionLog(each.path, each.format, each.session) for each in self.transcript]
        if logs:
            yield from Transcript([logs], None if self.redacted is None else Redaction())

    def number(self, name: str) -> float | None:
        """Return the metric or fact of that name; None if it is missing."""
        return next((each.value for each in self.numbers if each.name == name), None)


class RunOutput(Answer, frozen=True, kw_only=True):
    """Part of the output of a run."""

    rows: ClassVar[Rows] = Rows(keep=("run", "output"))
    run: str
    output: TextPiece

    @property
    def about(self) -> str:
        """Run and range of characters."""
        return f"{self.run}: {self.output.heading('output')}"

    def page(self) -> Page:
        """Return the text."""
        shown = pages.LongText(heading=self.output.heading("Output"), text=self.output.text, is_open=True)
        return pages.Page(name="output", title=f"Output of run {self.run}", answer=f"{self.about}.", texts=(shown,))
