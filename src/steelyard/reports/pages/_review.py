"""What looks too good to be true, which tools have an advantage, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.formatting import counted, decimal_bounds, exact_percent
from steelyard.pages import (
    Column,
    Page,
    PageTable,
    count_column,
    number_column,
    text_column,
    with_figures,
)
from steelyard.results import Advantage, ToolBias


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
