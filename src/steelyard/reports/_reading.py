"""What a reading found, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted, quantity
from steelyard.pages import DASH, TextTable, add_row, number_text, plain_table
from steelyard.records import sum_in_order
from steelyard.results import FormatCount, ReadSummary

REASONS_SHOWN = 12
SPARED = {"unknown": 1, "calls": 2, "files": 3}


def reading_sentence(summary: ReadSummary) -> str:
    """How many runs came of how many files, and what is known of their cost."""
    total = summary.total
    formats = f" in {counted(len(summary.formats), 'format')}" if summary.formats else ""
    if not total.runs:
        return f"No runs found{formats}."
    priced = total.cost_known_runs + total.cost_lower_bound_runs
    spent = sum_in_order([cost for cost in (total.cost_known_usd, total.cost_lower_bound_usd) if cost is not None])
    least = "at least " if total.cost_lower_bound_runs or total.cost_unknown_runs else ""
    cost = f"cost {least}{quantity(spent, 'USD')}" if priced else "cost unknown"
    return f"{counted(total.runs, 'run')} from {counted(total.files, 'file')}{formats}; {cost}."


def reading_tables(summary: ReadSummary) -> Iterator[TextTable | str]:
    """Files, runs, calls, tokens and cost by format, then what was rejected and why."""
    table = plain_table()
    table.add_column("format")
    for heading in ("files", "runs", "calls", "tokens", "cost known", "lower bound", "unknown"):
        table.add_column(heading, justify="right", spare=SPARED.get(heading, 0))
    for name, count in summary.formats.items():
        add_row(table, name, *_cells(count))
    if len(summary.formats) > 1:
        add_row(table, "all", *_cells(summary.total))
    yield table
    if not (summary.formats or summary.unknown or summary.rejected_count):
        yield "no file found"
    if summary.unknown:
        unknown = len(summary.unknown)
        yield "1 file was not recognized" if unknown == 1 else f"{unknown:,} files were not recognized"
    if summary.without_runs:
        skipped = sum(summary.without_runs.values())
        names = ", ".join(f"{name} ({count:,})" for name, count in sorted(summary.without_runs.items()))
        yield f"{skipped:,} {'file contains' if skipped == 1 else 'files contain'} no runs: {names}"
    if summary.archives:
        yield "1 archive was opened" if summary.archives == 1 else f"{summary.archives:,} archives were opened"
    if summary.rejected_count:
        yield _set_aside(summary)
        more = summary.rejected_count - sum(number for _, number in summary.reasons[:REASONS_SHOWN])
        if more:
            yield f"... and {more:,} more for other reasons; the JSON output lists them"


def _set_aside(summary: ReadSummary) -> TextTable:
    table = plain_table()
    table.add_column("rejected", justify="right")
    for heading in ("reason", "first location", "hint"):
        table.add_column(heading)
    for first, number in summary.reasons[:REASONS_SHOWN]:
        add_row(table, f"{number:,}", first.reason, first.where, first.advice)
    return table


def _cells(count: FormatCount) -> list[str]:
    return [
        f"{count.files:,}" if count.files else DASH,
        f"{count.runs:,}",
        _covering(count.calls, count.calls_known_runs, count.runs),
        _covering(count.total_tokens, count.tokens_known_runs, count.runs),
        _cost(count.cost_known_usd, count.cost_known_runs),
        _cost(count.cost_lower_bound_usd, count.cost_lower_bound_runs),
        f"{count.cost_unknown_runs:,}" if count.cost_unknown_runs else DASH,
    ]


def _cost(usd: float | None, runs: int) -> str:
    """The dollars with the number of runs that they are of."""
    return f"{number_text(usd, 'USD')} ({runs:,})" if runs else DASH


def _covering(value: int | None, known: int, runs: int) -> str:
    """Return the number, with the count of runs if it covers only some; a dash if it is unknown."""
    if value is None:
        return DASH
    return f"{value:,}" if known == runs else f"{value:,} ({known:,} of {runs:,})"
