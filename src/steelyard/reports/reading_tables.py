"""What a reading found, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from steelyard.reports.reading import FormatCount, ReadSummary
from steelyard.reports.tables import add_row

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
    if summary.unknown:
        yield f"{len(summary.unknown):,} files were not recognised"
    if summary.archives:
        yield f"{summary.archives:,} archives were opened"
    if summary.rejected_count:
        aside = Table(box=None, pad_edge=False)
        aside.add_column("set aside", justify="right")
        aside.add_column("reason")
        aside.add_column("first seen in")
        first = {rejected.reason: rejected.where for rejected in reversed(summary.rejected)}
        for reason, number in summary.reasons()[:REASONS_SHOWN]:
            add_row(aside, f"{number:,}", reason, first[reason])
        yield aside


def _cells(count: FormatCount) -> list[str]:
    return [
        f"{count.files:,}" if count.files else "-",
        f"{count.runs:,}",
        f"{count.calls:,}",
        f"{count.total_tokens:,}",
        f"${count.cost_known_usd:,.4f} ({count.cost_known_runs:,})" if count.cost_known_runs else "-",
        f"${count.cost_lower_bound_usd:,.4f} ({count.cost_lower_bound_runs:,})" if count.cost_lower_bound_runs else "-",
        f"{count.cost_unknown_runs:,}" if count.cost_unknown_runs else "-",
    ]
