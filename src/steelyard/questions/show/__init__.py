"""Show one run, or diff the outputs of two.

The metrics of the run are shown with their inputs and sources, then its tests, judgments, calls and output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.prices import PriceTable, open_price_table
from steelyard.questions._figure_options import VerdictOptions
from steelyard.questions._options import PricedRunOptions
from steelyard.questions._question import doc, question
from steelyard.questions._run_input import RecordReader, Runs
from steelyard.questions._transcripts import entry_named
from steelyard.questions.explain import explained
from steelyard.questions.show._answer import (
    PIECE_CHARACTERS as PIECE_CHARACTERS,
    CallCost as CallCost,
    OutputDifference as OutputDifference,
    RunDetail as RunDetail,
    RunOutput as RunOutput,
    RunPosition as RunPosition,
    TextPiece as TextPiece,
    piece_of as piece_of,
)
from steelyard.questions.show._page import page as page
from steelyard.questions.show._text_difference import text_difference
from steelyard.records import Missing, Redaction, Run, between
from steelyard.sources import PlacedRun

FACTS_SHOWN = ("total_tokens", "tool_calls", "iterations")
"""Fields shown in addition to the metrics of a run."""


class ShowOptions(VerdictOptions, PricedRunOptions):
    """Options of `show`."""

    run: str | None = doc(
        "Run id, or a unique prefix; optional if the input has one run.",
        default=None,
    )
    diff: str | None = doc(
        "Id or unique prefix of the run to diff the output against.",
        default=None,
    )
    offset: int = doc(
        "First character of the output to show, counted from 0; at most 64,000 characters are shown.", default=0
    )
    diff_offset: int = doc(
        "First character of the diff to show, counted from 0; at most 64,000 characters are shown.", default=0
    )
    redact: bool = doc("Redact API keys and tokens.", default=True, local=True)


@question(
    ShowOptions,
    path="/runs/{run}",
    all_parts="Show every row of every table.",
    variants={"steps": "show_steps", "step": "show_steps"},
    examples=(
        {"run": "demo-T3-fix-race-01"},
        {"run": "demo-T3-fix-race-01", "diff": "demo-T0-fix-race-01"},
    ),
)
def show(runs: Runs, options: ShowOptions) -> RunDetail:
    """Show one run: its metrics with their sources, its calls, its output, and a diff with another run.

    >>> import steelyard as sy
    >>> sy.show([{"id": "r1", "task": "t", "passed": True, "cost_usd": 0.2}], run="r1")
    RunDetail(r1: passed, t)
    """
    return read_records(runs, options).detail(options)


@dataclass(frozen=True, slots=True)
class RunRecords:
    """Complete run records in input order."""

    entries: Mapping[str, PlacedRun]

    def detail(self, options: ShowOptions) -> RunDetail:
        """Return the details of the run that the options select."""
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
        )
        text = _output(entry.run, redaction)
        detail = detail if redaction is None else redaction.tree(detail)
        return replace(
            detail,
            output=None if text is None else piece_of(text, options.offset),
            difference=None if options.diff is None else self._difference(text, options, redaction),
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
        self, text: str | None, options: ShowOptions, redaction: Redaction | None
    ) -> OutputDifference | None:
        id_, entry = entry_named(options.diff, self.entries)
        other = _output(entry.run, redaction)
        for name, output in ((options.run, text), (id_, other)):
            if output is None:
                hint = "choose a run with an output"
                raise UsageError(f"run {name!r} has no output to diff", hint=hint)
        difference = text_difference(other or "", text or "")
        return OutputDifference(
            base=id_ if redaction is None else redaction.text(id_),
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
