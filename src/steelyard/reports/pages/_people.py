"""Who takes part in an arena."""

from __future__ import annotations

from steelyard.pages import Page, PageTable, count_column, id_column, number_column, text_column
from steelyard.reports._arena_ratings import weights_lines
from steelyard.reports._arena_seasons import season_line
from steelyard.reports._arena_tools import tool_sentence
from steelyard.results import Season, ToolMetrics, WeightVersions


def season_page(result: Season) -> Page:
    """One row a submission as it stood; its JSON is the manifest that `arena season verify` checks."""
    rows = result.to_dicts()
    columns = (
        text_column("task_id", "task", [row["task_id"] for row in rows]),
        count_column("overall_ranking", "rank", [row["overall_ranking"] for row in rows]),
        id_column("submission_id", "submission", "submissions", [row["submission_id"] for row in rows]),
        number_column("overall_score", "overall", [row["overall_score"] for row in rows], places=2),
        text_column("agent", "agent", [row["agent"] for row in rows]),
        text_column("model", "model", [row["model"] for row in rows]),
        text_column("submitter", "submitter", [row["submitter"] for row in rows]),
    )
    excluded = [
        f"{task['definition']['id']}: {gone['submission_id']} was {gone['decision']}"
        + (f" ({gone['reason']})" if gone["reason"] else "")
        for task in result.manifest["tasks"]
        for gone in task["excluded"]
    ]
    return Page(
        name="season",
        title="Final leaderboard of the season",
        answer=f"{season_line(result)}.",
        notes=tuple(excluded[:100]),
        table=PageTable(caption=f"Leaderboard of {result.name}", columns=columns),
        facts=(("profile", str(result.manifest["profile"])), ("policy", str(result.manifest["policy"]))),
    )


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
