"""Metrics of a tool, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted
from steelyard.pages import DASH, TextTable, add_row
from steelyard.reports._arena_tables import arena_table
from steelyard.results import ToolMetrics


def tool_sentence(result: ToolMetrics) -> str:
    """How many submissions and metrics there are."""
    name = result.tool if result.display_name is None else f"{result.display_name} ({result.tool})"
    if not result.metrics:
        return f"{name}: {counted(len(result.submissions), 'submission')}; {result.profile} lists no metrics for it."
    return f"{name}: {counted(len(result.metrics), 'metric')} of {counted(len(result.submissions), 'submission')}."


def tool_parts(result: ToolMetrics) -> Iterator[str | TextTable]:
    """Each submission with its metrics and its ranks within the tool."""
    yield tool_sentence(result)
    if not result.metrics:
        return
    columns = [("submission", 0), ("task", 1)]
    columns += [column for metric in result.metrics for column in ((metric.name, 0), (f"{metric.name} rank", 0))]
    table = arena_table(
        "Tool metrics, ranked within the tool (not part of any score)", columns, texts=("submission", "task")
    )
    for row in result.submissions:
        cells = []
        for metric in result.metrics:
            value, rank = row.values[metric.name], row.ranks[metric.name]
            cells += [DASH if value is None else f"{value:.4g}", DASH if rank is None else str(rank)]
        add_row(table, row.submission_id, row.task_id, *cells)
    yield table
