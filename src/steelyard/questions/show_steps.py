"""Show the steps of a run: messages, tool calls, results, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import msgspec

from steelyard import pages  # its names are imported on first use
from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import doc, question
from steelyard.questions._run_input import RecordReader, Runs
from steelyard.questions._transcripts import StepSelection, entry_named, large_log, open_transcript
from steelyard.records import Finding, Redaction, SessionStep, StepKind, StepRole, Usage, set_aside_findings
from steelyard.sources import PlacedRun

if TYPE_CHECKING:
    from steelyard.pages import LongText, Page, PageTable

PAGE_STEPS = 40
"""Steps that are shown by default."""
MAX_STEPS = 1_000
"""Maximum number of steps in one answer."""
MAX_CHARACTERS = 64_000
"""Maximum length of each text of a step; the rest is counted."""
SNIPPET = 200
"""Characters of a step in a table."""


class ShowStepsOptions(StepSelection):
    """Options of `show --steps`."""

    steps: str = doc(
        "Steps to list, FROM:TO, counted from 1; at most 1,000 (default: 1:40).", default=f"1:{PAGE_STEPS}"
    )
    step: int | None = doc("One step, with its full text.", default=None)
    redact: bool = doc("Redact API keys and tokens.", default=True, local=True)

    def check(self) -> None:
        """Reject a range that is not one."""
        self.range()

    def range(self) -> tuple[int, int]:
        """Return the first and the last step to show."""
        if self.step is not None:
            if self.step < 1:
                raise UsageError(f"{option('step')} must be 1 or more (got {self.step})")
            return self.step, self.step
        begin, colon, end = self.steps.partition(":")
        hint = f"use {option('steps', '1:40')}"
        try:
            first = int(begin) if begin else 1
            last = int(end) if end else first + (PAGE_STEPS - 1 if colon else 0)
        except ValueError:
            raise UsageError(f"{option('steps')} {self.steps!r} is not FROM:TO", hint=hint) from None
        if not 1 <= first <= last:
            raise UsageError(f"{option('steps')} {self.steps!r} is not a range of positions from 1", hint=hint)
        return first, min(last, first + MAX_STEPS - 1)


class ShownStep(Part, frozen=True, kw_only=True):
    """One step of a run."""

    index: int
    """Position in the run, from 1."""
    at: str | None
    """Time in UTC."""
    kind: StepKind
    role: StepRole
    model: str | None
    tool: str | None
    """Name of the tool."""
    call: str | None
    """Id of the tool call, on the call and on its result."""
    text: str | None
    arguments: str | None
    """Arguments of the tool call, as JSON."""
    result: str | None
    """Output of the tool."""
    is_error: bool
    """Whether the log marks the result as an error."""
    subagent: str | None
    """Id of the subagent that made the step; None for the main agent."""
    usage: Usage | None
    """Tokens that the log states with this step."""
    tokens: int | None
    """Their sum."""
    where: str | None
    """File and line."""

    @property
    def author(self) -> str:
        """Role, or kind of an event, with the subagent."""
        author = {"message": self.role, "tool_call": "call", "tool_result": "result"}.get(self.kind, self.kind)
        return f"{author} ({self.subagent})" if self.subagent else author

    @property
    def snippet(self) -> str:
        """The beginning of what the step contains, in one line."""
        content = self.text or self.result or _argument_lines(self.arguments) or ""
        line = " ".join(content[: 2 * SNIPPET].split())
        shown = line if len(line) <= SNIPPET and len(content) <= 2 * SNIPPET else f"{line[:SNIPPET]} ..."
        return f"error: {shown}" if self.is_error else shown


def shown_step(step: SessionStep) -> ShownStep:
    """Return a step for an answer, with texts up to the maximum length."""
    arguments = None if step.arguments is None else msgspec.json.encode(step.arguments).decode()
    return ShownStep(
        index=step.index,
        at=None if step.at is None else step.at.isoformat(),
        kind=step.kind,
        role=step.role,
        model=step.model,
        tool=step.tool,
        call=step.call,
        text=_bounded(step.text),
        arguments=_bounded(arguments),
        result=_bounded(step.result),
        is_error=step.is_error,
        subagent=step.subagent,
        usage=step.usage,
        tokens=None if step.usage is None else step.usage.total,
        where=step.where,
    )


def _bounded(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n[{len(text) - MAX_CHARACTERS:,} more characters]"


class RunSteps(Answer, frozen=True, kw_only=True):
    """Steps of a run."""

    rows: ClassVar[Rows] = Rows("steps", keep=("run",))
    run: str
    where: str
    """File that the run was read from."""
    format: str
    """Format of the log."""
    first: int
    last: int
    """Requested range of steps."""
    next: int | None
    """First step after the range; None if there is none."""
    steps: tuple[ShownStep, ...]
    redacted: str | None
    """Number of redacted keys and tokens by kind; None if redaction is off."""
    rejected_count: int
    findings: tuple[Finding, ...]

    @property
    def about(self) -> str:
        """Run and range."""
        if not self.steps:
            missing = "the log contains no messages" if self.first == 1 else f"no steps from {self.first:,} on"
            return f"{self.run}: {missing}"
        shown = f"step {self.first:,}" if len(self.steps) == 1 else f"steps {self.first:,} to {self.steps[-1].index:,}"
        return f"{self.run}: {shown}{'' if self.next is None else ', and more'}"

    @property
    def is_empty(self) -> bool:
        """Whether the run has no steps in the range."""
        return not self.steps


@question(
    ShowStepsOptions,
    path="/runs/{run}/steps",
    command="show",
    examples=({"": "session.jsonl", "steps": "1:40"}, {"": "session.jsonl", "step": 7}),
)
def show_steps(runs: Runs, options: ShowStepsOptions) -> RunSteps:
    """Show the steps of a run, as its log states them; `steps` iterates over all of them.

    >>> import steelyard as sy
    >>> sy.show_steps("session.jsonl", steps="1:10")  # doctest: +SKIP
    RunSteps(5e55a0aa: steps 1 to 10, and more)
    """
    entry = large_log(runs) if options.run is None and not options.where else None
    if entry is not None:
        return steps_shown({str(entry.run.id): entry}, options)
    reader = RecordReader(options.reading())
    entries = dict(reader.read(runs))
    reader.finish()
    return steps_shown(entries, options)


def steps_shown(entries: Mapping[str, PlacedRun], options: ShowStepsOptions) -> RunSteps:
    """Return the steps that the options select, of a run that was read."""
    id_, entry = entry_named(options.run, entries)
    redaction = Redaction() if options.redact else None
    transcript = open_transcript(entry, redaction)
    first, last = options.range()
    found = [shown_step(step) for step in islice(transcript, first - 1, last + 1)]
    kept = found[: last - first + 1]
    findings = set_aside_findings(transcript.rejected)
    return RunSteps(
        run=id_ if redaction is None else redaction.text(id_),
        where=transcript.logs[0].path if redaction is None else redaction.text(transcript.logs[0].path),
        format=transcript.logs[0].format,
        first=first,
        last=last,
        next=last + 1 if len(found) > len(kept) else None,
        steps=tuple(kept),
        redacted=None if redaction is None else redaction.summary or "nothing",
        rejected_count=len(transcript.rejected),
        findings=tuple(findings if redaction is None else redaction.tree(findings)),
    )


def page(answer: RunSteps) -> Page:
    """Return a table of steps, or one step with its whole text."""
    is_one = answer.first == answer.last
    following = f"{answer.next}:{2 * answer.last - answer.first + 1}"
    more = () if answer.next is None or is_one else (f"More: steps {following}.",)
    options = {"run": answer.run, "steps": following}
    return pages.Page(
        name="steps",
        title=f"Steps of run {answer.run}",
        answer=f"{answer.about}.",
        notes=(f"Read from {answer.where} ({answer.format}).",),
        refs=() if answer.next is None else (pages.Ref("More steps", "show_steps", tuple(options.items())),),
        table=_table(answer.steps) if answer.steps else None,
        details=more,
        texts=tuple(_texts(answer.steps[0])) if is_one and answer.steps else (),
        facts=(("format", answer.format),),
    )


def _table(steps: Sequence[ShownStep]) -> PageTable:
    tokens = [step.tokens for step in steps]
    times = pages.text_column("at", "time", [step.at and step.at[11:19] for step in steps])
    calls = pages.text_column("tool", "tool", [step.tool for step in steps])
    counts = pages.count_column("tokens", "tokens", tokens)
    return pages.PageTable(
        name="steps",
        caption=f"{counted(len(steps), 'step')}",
        columns=(
            pages.count_column("step", "step", [step.index for step in steps]),
            replace(times, spare=2),
            pages.text_column("author", "author", [step.author for step in steps]),
            calls,
            pages.text_column("content", "content", [step.snippet for step in steps]),
            replace(counts, spare=1),
        ),
    )


def _texts(step: ShownStep) -> list[LongText]:
    parts = (("Text", step.text), ("Arguments", _argument_lines(step.arguments)), ("Result", step.result))
    about = " ".join(filter(None, (step.author, step.tool, step.model, step.at)))
    texts = [pages.LongText(heading=f"{name}: {about}", text=text, is_open=True) for name, text in parts if text]
    return texts or [pages.LongText(heading=about, text="(no text)", is_open=True)]


def _argument_lines(arguments: str | None) -> str | None:
    """Return arguments one per line, texts as they are; JSON that was cut is unchanged."""
    try:
        values = msgspec.json.decode(arguments or "{}", type=dict[str, object])
    except msgspec.DecodeError:
        return arguments
    texts = {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in values.items()
    }
    return "\n".join(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}" for name, text in texts.items()) or None
