"""Show one run: verdict, transcript, numbers; or diff two.

The verdict comes first, with the messages of failed tests and graders. Further options list the steps, the tests, the
judgments with their reasoning, or every metric with its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Literal

from msgspec.structs import replace

from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.prices import PriceTable, open_price_table
from steelyard.questions._figure_options import VerdictOptions
from steelyard.questions._options import PricedRunOptions, ReadOptions
from steelyard.questions._question import doc, question
from steelyard.questions._run_input import RecordReader, Runs
from steelyard.questions._transcripts import entry_named
from steelyard.questions.explain import explained
from steelyard.questions.show._answer import (
    PIECE_CHARACTERS as PIECE_CHARACTERS,
    CallCost as CallCost,
    CheckedPart as CheckedPart,
    LogPlace as LogPlace,
    OutputDifference as OutputDifference,
    RunDetail as RunDetail,
    RunDifference as RunDifference,
    RunOutput as RunOutput,
    RunPosition as RunPosition,
    TextPiece as TextPiece,
    checked_part as checked_part,
    piece_of as piece_of,
)
from steelyard.questions.show._page import page as page
from steelyard.questions.show._run_difference import (
    NumberPair as NumberPair,
    StepDifference as StepDifference,
    StepPair as StepPair,
    step_difference,
)
from steelyard.questions.show._text_difference import text_difference
from steelyard.records import Missing, Redaction, Run, between
from steelyard.settings import named_path
from steelyard.sources import PlacedRun, SessionLog, check_messages_of, transcript_of

FACTS_SHOWN = ("total_tokens", "tool_calls", "iterations")
"""Fields shown in addition to the metrics of a run."""


MAX_CHECKS = 1_000
"""Messages of tests and graders in an answer."""


class ShowOptions(VerdictOptions, PricedRunOptions):
    """Options of `show`."""

    run: str | None = doc(
        "Run id, or a unique prefix; optional if the input has one run.",
        default=None,
    )
    diff: str | None = doc(
        "Run to diff against: id, unique prefix, or file of another run.",
        default=None,
    )
    tests: bool = doc("Show every test, with the messages of those that failed.", default=False)
    judges: bool = doc("Show the judgments, with the judges' reasoning.", default=False)
    numbers: bool = doc("Show every metric with its inputs and sources.", default=False)
    offset: int = doc(
        "First character of the output to show, counted from 0; at most 64,000 characters are shown.", default=0
    )
    diff_offset: int = doc(
        "First character of the diff to show, counted from 0; at most 64,000 characters are shown.", default=0
    )
    redact: bool = doc("Redact API keys and tokens.", default=True, local=True)

    def check(self) -> None:
        """Reject more than one selection of what is shown."""
        asked = [name for name in SECTIONS if getattr(self, name)]
        if len(asked) > 1:
            first, second = (option(name) for name in asked[:2])
            raise UsageError(f"{first} and {second} cannot be combined", hint=f"remove {second}")


SECTIONS: tuple[Literal["tests", "judges", "numbers"], ...] = ("tests", "judges", "numbers")


@question(
    ShowOptions,
    path="/runs/{run}",
    all_parts="Show every row of every table.",
    variants={"steps": "show_steps", "step": "show_steps"},
    examples=(
        {"": "session.jsonl"},
        {"run": "demo-T3-fix-race-01"},
        {"run": "demo-T3-fix-race-01", "diff": "demo-T0-fix-race-01"},
    ),
)
def show(runs: Runs, options: ShowOptions) -> RunDetail:
    """Show one run: its verdict and why, its metrics with their sources, its output, and a diff with another run.

    `show(...).steps()` iterates over its steps.

    >>> import steelyard as sy
    >>> sy.show([{"id": "r1", "task": "t", "passed": True, "cost_usd": 0.2}])
    RunDetail(r1: passed, t)
    """
    records = read_records(runs, options)
    if options.diff is None or any(id_.startswith(options.diff) for id_ in records.entries):
        return records.detail(options)
    other = named_path(options.diff)
    if not other.exists():
        return records.detail(options)
    reader = RecordReader(ReadOptions().reading())
    found = dict(reader.read([other]))
    reader.finish()
    return records.detail(options, base=entry_named(None, found))


@dataclass(frozen=True, slots=True)
class RunRecords:
    """Complete run records in input order."""

    entries: Mapping[str, PlacedRun]

    def detail(self, options: ShowOptions, *, base: tuple[str, PlacedRun] | None = None) -> RunDetail:
        """Return the details of the run that the options select; `base` is another run to diff against."""
        options.check()
        id_, entry = entry_named(options.run, self.entries)
        redaction = Redaction() if options.redact else None
        profile, price_table = options.outcome_profile(), open_price_table(options.prices)
        names = [*_metrics_of_runs(), *FACTS_SHOWN]
        detail = RunDetail(
            run=id_,
            record=replace(entry.run, output=None),
            verdict=_verdict(entry.run),
            where=entry.path if entry.line is None else f"{entry.path}:{entry.line}",
            profile=profile.name,
            prices=price_table.label,
            numbers=explained(names, entry.run, profile, price_table),
            calls=tuple(_calls(entry.run, price_table)),
            position=self._position(id_),
            checks=tuple(checked_part(each) for each in islice(check_messages_of(entry, None), MAX_CHECKS)),
            transcript=tuple(LogPlace(path=log.path, format=log.format, session=log.session) for log in _logs(entry)),
            section=next((name for name in SECTIONS if getattr(options, name)), "overview"),
        )
        text = _output(entry.run, redaction)
        detail = detail if redaction is None else redaction.tree(detail)
        return replace(
            detail,
            output=None if text is None else piece_of(text, options.offset),
            difference=None if options.diff is None else self._difference(id_, entry, options, base),
            redacted=None if redaction is None else redaction.summary or "nothing",
        )

    def _position(self, id_: str) -> RunPosition:
        ids = list(self.entries)
        place = ids.index(id_)
        return RunPosition(
            number=place + 1,
            count=len(ids),
            previous=ids[place - 1] if place else None,
            next=ids[place + 1] if place + 1 < len(ids) else None,
        )

    def _difference(
        self, id_: str, entry: PlacedRun, options: ShowOptions, base: tuple[str, PlacedRun] | None
    ) -> RunDifference:
        other_id, other = base or entry_named(options.diff, self.entries)
        redaction = Redaction() if options.redact else None
        profile, price_table = options.outcome_profile(), open_price_table(options.prices)
        names = [*_metrics_of_runs(), *FACTS_SHOWN]
        both = (explained(names, each.run, profile, price_table) for each in (entry, other))
        made = RunDifference(
            base=other_id,
            numbers=tuple(
                NumberPair(name=mine.name, unit=mine.unit, value=mine.value, base_value=its.value)
                for mine, its in zip(*both, strict=True)
                if mine.value is not None or its.value is not None
            ),
            steps=_step_difference(entry, other, redaction),
            output=_output_difference(_output(entry.run, redaction), _output(other.run, redaction), options),
        )
        if made.steps is None and made.output is None and id_ != other_id and not made.numbers:
            raise UsageError(f"runs {id_!r} and {other_id!r} have nothing to diff", hint="pass their logs")
        return made if redaction is None else redaction.tree(made)


def _logs(entry: PlacedRun) -> tuple[SessionLog, ...]:
    transcript = transcript_of(entry, None)
    return () if isinstance(transcript, Missing) else transcript.logs


def _step_difference(entry: PlacedRun, other: PlacedRun, redaction: Redaction | None) -> StepDifference | None:
    mine, its = (transcript_of(each, redaction) for each in (entry, other))
    if isinstance(mine, Missing) or isinstance(its, Missing):
        return None
    return step_difference(iter(mine), iter(its))


def _output_difference(text: str | None, other: str | None, options: ShowOptions) -> OutputDifference | None:
    if text is None or other is None:
        return None
    difference = text_difference(other, text)
    return OutputDifference(
        added=difference.added,
        removed=difference.removed,
        is_shortest=difference.is_shortest,
        changes=piece_of(difference.unified, options.diff_offset),
    )


def _verdict(run: Run) -> str:
    if run.verdict is not None:
        return "passed" if run.verdict else "failed"
    return (run.outcome or "without a verdict").replace("_", " ")


def _metrics_of_runs() -> list[str]:
    """Return the metrics of single runs, those in the overview first."""
    declared = [metric for metric in catalog().values() if metric.level == "run"]
    return [metric.name for metric in sorted(declared, key=lambda metric: metric.overview or len(catalog()))]


def read_records(runs: Runs, options: ShowOptions) -> RunRecords:
    """Read the selected runs as complete records."""
    reader = RecordReader(options.reading())
    entries = dict(reader.read(runs))
    reader.finish()
    return RunRecords(entries)


def _output(run: Run, redaction: Redaction | None) -> str | None:
    """Return the output of the run, redacted as a whole so that no secret spans two pieces."""
    if run.output is None:
        return None
    return run.output.text if redaction is None else redaction.text(run.output.text)


def _calls(run: Run, price_table: PriceTable) -> Iterator[CallCost]:
    calls = run.calls or ()
    start = run.started_at or _first(call.at for call in calls)
    for call in calls:
        priced = (
            None
            if call.usage is None
            else price_table.price(
                call.usage,
                model=call.model or run.model,
                at=call.at or run.started_at,
                span="run" if call.summed else "call",
            )
        )
        yield CallCost(
            seconds=None if call.at is None or start is None else between(start, call.at).total_seconds(),
            model=call.model or run.model,
            tokens=None if call.usage is None else call.usage.total,
            cost_usd=None if isinstance(priced, Missing) else priced,
        )


def _first(moments: Iterable[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
