"""Figure of a matrix: a cell for each task and group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import Figure, PassCell, ValueCell, heatmap
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.pages import key_name, metric_axis

if TYPE_CHECKING:
    from steelyard.questions.matrix._answer import Matrix, MatrixCell


def matrix_heatmap(answer: Matrix, width: int) -> Figure:
    """Number of passes for a binary metric, else the value of the metric."""
    metric = catalog()[answer.metric]
    tasks = [row.task for row in answer.tasks]
    groups = [key_name(group.key, answer.tier_scheme) for group in answer.groups]
    cells = [[_cell(cell, binary=metric.binary) for cell in row.cells] for row in answer.tasks]
    what = "fraction of runs that pass" if metric.name == "pass_rate" else metric.title.lower()
    note = f"{what}; by {answer.order}; {counted(answer.n, 'run')}, profile {answer.profile}"
    title = f"Tasks by {', '.join(answer.by)}"
    axis = None if metric.binary else metric_axis(metric)
    return heatmap(tasks, groups, cells, title=title, note=note, axis=axis, width=width)


def _cell(cell: MatrixCell | None, *, binary: bool) -> PassCell | ValueCell | None:
    if cell is None:
        return None
    if binary:
        return PassCell(round((cell.value or 0.0) * cell.runs), cell.runs, cell.errored)
    return ValueCell(cell.value, cell.runs, cell.errored)


DRAWINGS = {"heatmap": matrix_heatmap}
"""Figures of the answer."""
