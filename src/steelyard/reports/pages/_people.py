"""Who takes part in an arena."""

from __future__ import annotations

from steelyard.pages import Page, PageTable, count_column, id_column, number_column, text_column
from steelyard.reports._arena_ratings import weights_lines
from steelyard.reports._arena_tools import tool_sentence
from steelyard.results import ToolMetrics, WeightVersions


def weights_page(result: WeightVersions) -> Page:
    """One row a version; what is in force and what it rests on above."""
    rows = result.to_dicts()
    first, *notes = weights_lines(result)
    weights = [name for name in rows[0] if name.endswith("_weight")] if rows else []
    columns = (
        count_column("version", "version", [row["version"] for row in rows]),
        count_column("ratings", "ratings", [row["ratings"] for row in rows]),
        count_column("submissions", "submissions", [row["submissions"] for row in rows]),
        *(number_column(name, name.replace("_", " "), [row[name] for row in rows], places=4) for name in weights),
        text_column("reason", "reason for fixed weights", [row["reason"] for row in rows]),
    )
    return Page(
        name="weights",
        title="Weights fitted to peer ratings",
        answer=first,
        notes=tuple(f"{note}." for note in notes),
        table=PageTable(caption="Versions of the fitted weights", columns=columns),
        facts=(("profile", result.profile),),
    )


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
