"""What looks too good to be true, which tools have an advantage, and what was decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from steelyard.formatting import counted, decimal_bounds, exact_percent
from steelyard.pages import (
    Column,
    Page,
    PageTable,
    count_column,
    id_column,
    number_column,
    text_column,
    time_column,
    with_figures,
)
from steelyard.results import Advantage, Outliers, Review, ReviewDesk, ToolBias


def outliers_page(result: Outliers) -> Page:
    """Return a page with one row per flagged submission: its flags and the recommended action."""
    rows = result.outliers
    rules = Counter(flag for outlier in rows for flag in outlier.flags)
    tasks = len({outlier.task_id for outlier in rows})
    columns = (
        id_column("submission_id", "submission", "submissions", [outlier.submission_id for outlier in rows]),
        id_column("task_id", "task", "tasks", [outlier.task_id for outlier in rows]),
        text_column("flags", "rules", [", ".join(outlier.flags) for outlier in rows]),
        text_column("recommended_action", "action", [outlier.recommended_action.replace("_", " ") for outlier in rows]),
    )
    waits = "is waiting" if len(rows) == 1 else "are waiting"
    answer = f"{counted(len(rows), 'submission')} to {counted(tasks, 'task')} {waits} for review."
    return Page(
        name="review",
        title="Submissions flagged for review",
        answer=answer if rows else "No submissions are waiting for review.",
        notes=tuple(f"{rule}: {counted(count, 'submission')}." for rule, count in rules.most_common()),
        table=PageTable(caption="Waiting for review", columns=columns),
    )


def review_page(result: ReviewDesk) -> Page:
    """Return a page with flagged submissions, tools with an advantage, and the log of decisions."""
    page = outliers_page(Outliers(outliers=result.outliers))
    bias = bias_table(result.advantages)
    shown = [row for row in result.advantages if row.systematic]
    notes = (*page.notes, _answer(shown, len(result.advantages))) if result.advantages else page.notes
    tables = (bias, decisions_table(result.decisions))
    page = replace(page, notes=notes, also=tuple(table for table in tables if table.rows))
    return with_figures(page, result, ("forest",)) if result.advantages else page


def decisions_table(decisions: Sequence[Review]) -> PageTable:
    """Every decision with who made it, when and why."""
    return PageTable(
        name="decisions",
        caption="Decisions, most recent first",
        columns=(
            time_column("decided_at", "decided", [review.decided_at for review in decisions]),
            id_column("submission_id", "submission", "submissions", [review.submission_id for review in decisions]),
            text_column("task_id", "task", [review.task_id for review in decisions]),
            text_column("decision", "decision", [review.decision for review in decisions]),
            text_column("by", "by", [review.by for review in decisions]),
            text_column("reason", "reason", [review.reason for review in decisions]),
        ),
    )


def bias_page(result: ToolBias) -> Page:
    """One row a tool: how far it is ahead of the others on the tasks that both took part in."""
    rows = result.advantages
    page = Page(
        name="bias",
        title="Does a tool have a systematic advantage?",
        answer=_answer([row for row in rows if row.systematic], len(rows)),
        table=bias_table(rows),
        facts=(("confidence level", exact_percent(rows[0].level)), ("interval", "over tasks")) if rows else (),
    )
    return with_figures(page, result, ("forest",))


def bias_table(rows: Sequence[Advantage]) -> PageTable:
    """How far each tool is ahead."""
    any_reason = any(row.reason for row in rows)
    columns = (
        text_column("agent", "tool", [row.agent for row in rows]),
        number_column("mean_difference", "score difference", [row.mean_difference for row in rows], places=2, sign="+"),
        Column(
            name="interval",
            title="interval",
            values=[row.low for row in rows],
            decimals=6,
            texts=[_ends(row) for row in rows],
        ),
        count_column("tasks", "tasks", [row.tasks for row in rows]),
        text_column("systematic", "systematic", ["yes" if row.systematic else "inconclusive" for row in rows]),
        *([text_column("reason", "reason for missing interval", [row.reason for row in rows])] if any_reason else []),
    )
    return PageTable(name="bias", caption="Tools vs. other tools on the same tasks", columns=columns)


def _ends(row: Advantage) -> str:
    return decimal_bounds(row.low, row.high, signed=True)


def _answer(shown: list[Advantage], tools: int) -> str:
    if not shown:
        return f"No systematic advantage detected among {counted(tools, 'tool')}."
    parts = [
        f"{row.agent} scores {abs(row.mean_difference):.2f} points {'higher' if row.mean_difference > 0 else 'lower'}"
        for row in shown
        if row.mean_difference is not None
    ]
    return f"{'; '.join(parts)} than the other tools on the same tasks."
