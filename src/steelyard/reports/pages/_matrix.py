"""Tasks by groups: which tasks separate the groups, and which are unsolved."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from steelyard.formatting import counted, quantity
from steelyard.metrics import catalog
from steelyard.pages import (
    DASH,
    Column,
    Page,
    PageTable,
    counting_facts,
    level_column,
    number_column,
    text_column,
    with_figures,
)
from steelyard.records import key_label
from steelyard.results import Matrix, MatrixCell, MatrixGroup

FILTERS = ("agent", "model")
"""Keys by which the list of runs can be filtered, in addition to the task."""


def matrix_page(result: Matrix) -> Page:
    """Return the page with one row per task and one column per group."""
    declared, tasks = catalog()[result.metric], result.tasks
    columns = [
        text_column("task", "task", [row.task for row in tasks]),
        level_column("mean", "mean", [row.mean for row in tasks], declared.unit),
        number_column("discrimination", "discrimination", [row.discrimination for row in tasks], sign="+"),
    ]
    if result.baseline is not None and result.candidate is not None:
        columns.append(number_column("difference", "B - A", [row.difference for row in tasks], sign="+"))
    columns += [_group_column(result, place, group) for place, group in enumerate(result.groups)]
    page = Page(
        name="matrix",
        title="Which tasks separate the agents? Which are unsolved?",
        answer=_answer(result),
        legend=("Discrimination: positive if stronger groups do better on the task, negative if weaker ones do.",),
        table=PageTable(caption=f"{declared.title} by task and {', '.join(result.by)}", columns=tuple(columns)),
        facts=(("runs", f"{result.n:,}"), ("sorted by", result.sort), *counting_facts(result)),
    )
    return with_figures(page, result, ("heatmap",))


def _group_column(result: Matrix, place: int, group: MatrixGroup) -> Column:
    unit = catalog()[result.metric].unit
    cells = [row.cells[place] for row in result.tasks]
    return Column(
        name=f"group-{place}",
        title=key_label(group.key, group.key.values()) or "all",
        values=[None if cell is None else cell.value for cell in cells],
        decimals=6,
        texts=[_cell_text(cell, unit) for cell in cells],
        links=[
            None if cell is None else _runs_path(row.task, group.key)
            for row, cell in zip(result.tasks, cells, strict=True)
        ]
        if {*group.key} <= {*FILTERS}
        else None,
    )


def _cell_text(cell: MatrixCell | None, unit: str) -> str:
    """Return the value and its number of runs, or "not run"."""
    if cell is None:
        return "not run"
    if cell.value is None:
        return DASH
    errored = f", {cell.errored:,} errored" if cell.errored else ""
    return f"{quantity(cell.value, unit)} ({counted(cell.runs, 'run')}{errored})"


def _runs_path(task: str, key: Mapping[str, str | int | None]) -> str:
    chosen = [("task", task), *((name, str(key[name])) for name in FILTERS if key.get(name) is not None)]
    return f"/runs?{urlencode(chosen, errors='replace')}"


def _answer(result: Matrix) -> str:
    known = [row for row in result.tasks if row.mean is not None]
    if not known:
        return "No task has a value."
    parts = [f"{counted(len(known), 'task')} by {counted(len(result.groups), 'group')}"]
    if result.metric == "pass_rate":
        none = sum(row.mean == 0 for row in known)
        every = sum(row.mean == 1 for row in known)
        parts.append(f"{none:,} unsolved, {every:,} solved by all groups in every run")
    discriminating = [row for row in known if row.discrimination is not None]
    if discriminating:
        best = max(discriminating, key=lambda row: (row.discrimination or 0.0, row.task))
        parts.append(f"highest discrimination: {best.task} ({best.discrimination:+.3f})")
    return f"{'; '.join(parts)}."
