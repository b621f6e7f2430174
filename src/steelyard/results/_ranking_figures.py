"""Figures of groups: what they deliver, at what price, and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import (
    Figure,
    Tried,
    Valued,
    heatmap,
)
from steelyard.metrics import catalog
from steelyard.pages import key_name, metric_axis

if TYPE_CHECKING:
    from steelyard.results._matrix import Matrix, MatrixCell


def matrix_heatmap(result: Matrix, width: int) -> Figure:
    """A cell for each task and group, in the order of the matrix: how many runs pass, else the metric's value."""
    metric = catalog()[result.metric]
    tasks = [row.task for row in result.tasks]
    groups = [key_name(group.key, result.tier_scheme) for group in result.groups]
    cells = [[_matrix_cell(cell, binary=metric.binary) for cell in row.cells] for row in result.tasks]
    what = "fraction of runs that pass" if metric.name == "pass_rate" else metric.title.lower()
    note = f"{what}; by {result.sort}; {result.n:,} runs, profile {result.profile}"
    title = f"Tasks by {', '.join(result.by)}"
    axis = None if metric.binary else metric_axis(metric)
    return heatmap(tasks, groups, cells, title=title, note=note, axis=axis, width=width)


def _matrix_cell(cell: MatrixCell | None, *, binary: bool) -> Tried | Valued | None:
    if cell is None:
        return None
    if binary:
        return Tried(round((cell.value or 0.0) * cell.runs), cell.runs, cell.errored)
    return Valued(cell.value, cell.runs, cell.errored)
