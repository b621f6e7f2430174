"""Who takes part in an arena."""

from __future__ import annotations

from steelyard.pages import Page, PageTable, count_column, id_column, number_column, text_column
from steelyard.reports._arena_tools import tool_sentence
from steelyard.results import ToolMetrics


def tool_page(result: ToolMetrics) -> Page:
    """One row a submission with the metrics of its tool and its rank within the tool."""
    rows = result.submissions
    measured = [
        column
        for metric in result.metrics
        for column in (
            number_column(metric.name, metric.title.lower(), [row.values[metric.name] for row in rows], places=4),
            count_column(f"{metric.name}_ranking", "rank", [row.ranks[metric.name] for row in rows]),
        )
    ]
    columns = (
        id_column("submission_id", "submission", "submissions", [row.submission_id for row in rows]),
        text_column("task_id", "task", [row.task_id for row in rows]),
        *measured,
    )
    return Page(
        name="tool",
        title="Tool metrics",
        answer=tool_sentence(result),
        table=PageTable(caption="Metrics ranked within the tool (not part of any score)", columns=columns),
        facts=(("profile", result.profile),),
    )
