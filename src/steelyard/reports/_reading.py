"""What a reading found, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from steelyard.reports._terminal_tables import add_row
from steelyard.results import FormatCount, ReadSummary

REASONS_SHOWN = 12


def reading_tables(summary: ReadSummary) -> Iterator[Table | str]:
    """Files, runs, calls, tokens and cost by format, then what was set aside and why."""
    table = Table(box=None, pad_edge=False)
    table.add_column("format")
    for heading in ("files", "runs", "calls", "tokens", "cost known", "lower bound", "unknown"):
        table.add_column(heading, justify="right")
    for name, count in summary.formats.items():
        table.add_row(name, *_cells(count))
    if len(summary.formats) > 1:
        table.add_row("all", *_cells(summary.total), style="bold")
    yield table
    if not (summary.formats or summary.unknown or summary.rejected_count):
        yield "no file was found"
    if summary.unknown:
        unknown = len(summary.unknown)
        yield "1 file was not recognized" if unknown == 1 else f"{unknown:,} files were not recognized"
    if summary.without_runs:
        skipped = sum(summary.without_runs.values())
        names = ", ".join(f"{name} ({count:,})" for name, count in sorted(summary.without_runs.items()))
        yield f"{skipped:,} {'file holds' if skipped == 1 else 'files hold'} no runs: {names}"
    if summary.archives:
        yield "1 archive was opened" if summary.archives == 1 else f"{summary.archives:,} archives were opened"
    if summary.rejected_count:
        yield _set_aside(summary)
        more = summary.rejected_count - sum(number for _, number in summary.reasons[:REASONS_SHOWN])
        if more:
            yield f"... and {more:,} more for other reasons; --json lists them"


def _set_aside(summary: ReadSummary) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("set aside", justify="right")
    for heading in ("reason", "first seen in", "what to do"):
        table.add_column(heading, overflow="fold")  # a place that is cut short names no file
    for first, number in summary.reasons[:REASONS_SHOWN]:
        add_row(table, f"{number:,}", first.reason, first.where, first.advice)
    return table


def _cells(count: FormatCount) -> list[str]:
    return [
        f"{count.files:,}" if count.files else "-",
        f"{count.runs:,}",
        _covering(count.calls, count.calls_known_runs, count.runs),
        _covering(count.total_tokens, count.tokens_known_runs, count.runs),
        f"${count.cost_known_usd:,.4f} ({count.cost_known_runs:,})" if count.cost_known_runs else "-",
        f"${count.cost_lower_bound_usd:,.4f} ({count.cost_lower_bound_runs:,})" if count.cost_lower_bound_runs else "-",
        f"{count.cost_unknown_runs:,}" if count.cost_unknown_runs else "-",
    ]


def _covering(value: int | None, known: int, runs: int) -> str:
    """The number, with how many of the runs it covers when not all; a dash when none says anything."""
    if value is None:
        return "-"
    return f"{value:,}" if known == runs else f"{value:,} ({known:,} of {runs:,})"
