"""Matrix of one metric by task and group, with difficulty and discrimination of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions.analysis import Mask, Samples, ratio_part_names
from steelyard.questions.matrix._answer import MatrixCell, MatrixTask, TaskOrder
from steelyard.records import exact_mean
from steelyard.statistics import Floats, Ints

MAX_CELLS = 2_000_000
"""Cells of a matrix that are made: each is a record of its own."""


def matrix_tasks(
    samples: Samples,
    codes: Ints,
    metric: str,
    *,
    size: int,
    errored: Mask,
    order: TaskOrder,
    pair: tuple[int, int] | None,
) -> tuple[MatrixTask, ...]:
    """The rows, in the order that is asked for; `codes` is the group of each run, `pair` the groups A and B."""
    tasks = len(samples.task_names)
    if tasks * size > MAX_CELLS:
        message = f"matrix too large: {tasks:,} tasks x {size:,} groups (at most {MAX_CELLS:,} cells)"
        raise UsageError(message, hint=f"group by fewer keys, or select runs with {option('where')}")
    cells = samples.tasks * size + codes
    values = samples.figures(metric, cells, tasks * size).reshape(tasks, size)
    known = _counted(samples, metric, cells, tasks * size)
    tried = np.bincount(cells, minlength=tasks * size)
    failed = np.bincount(cells[errored], minlength=tasks * size)
    discrimination = discriminations(values)
    rows = []
    for task, name in enumerate(samples.task_names):
        row = tuple(
            _cell(values[task, group], tried=tried[place], known=known[place], errored=failed[place])
            for group, place in enumerate(range(task * size, (task + 1) * size))
        )
        numbers = [cell.value for cell in row if cell is not None and cell.value is not None]
        gap = None if pair is None else _known(values[task, pair[1]] - values[task, pair[0]])
        rows.append(
            MatrixTask(
                task=name,
                mean=exact_mean(numbers) if numbers else None,
                discrimination=_known(discrimination[task]),
                difference=gap,
                cells=row,
            )
        )
    return _sorted(rows, order, higher=catalog()[metric].better != "lower")


def _cell(value: float, *, tried: int, known: int, errored: int) -> MatrixCell | None:
    if not tried:
        return None
    return MatrixCell(value=_known(value), runs=int(known), missing=int(tried - known), errored=int(errored))


def _counted(samples: Samples, metric: str, cells: Ints, space: int) -> Ints:
    """How many runs of each cell have a value; of a ratio of means, all of its inputs."""
    name = ratio_part_names(metric)[0] if catalog()[metric].is_ratio else metric
    column = samples.values[name]
    assert isinstance(column, np.ndarray), "metrics without values are rejected earlier"
    return np.bincount(cells[~np.isnan(column)], minlength=space)


def discriminations(values: Floats) -> Floats:
    """Of each task (row): the mean value of the groups above the median on the other tasks minus that of those below.

    A group's standing on the other tasks is its mean deviation from the mean of each task that it tried, so that who
    tried only hard tasks is not behind for it. Missing where groups do not differ on the other tasks.
    """
    finite = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(finite)
    counts = known.sum(axis=1, keepdims=True)
    centered = np.where(known, finite - np.nansum(finite, axis=1, keepdims=True) / np.maximum(counts, 1), 0.0)
    others = known.sum(axis=0) - known
    standing = np.where(known & (others > 0), (centered.sum(axis=0) - centered) / np.maximum(others, 1), np.nan)
    discriminations = np.full(len(values), np.nan)
    for task, (row, ahead) in enumerate(zip(finite, np.round(standing, 12), strict=True)):
        rated = ahead[~np.isnan(ahead)]
        if len(rated) < 2:
            continue
        middle = float(np.median(rated))
        upper, lower = row[ahead > middle], row[ahead < middle]
        if len(upper) and len(lower):
            discriminations[task] = exact_mean(upper.tolist()) - exact_mean(lower.tolist())
    return discriminations


def _sorted(rows: Sequence[MatrixTask], order: TaskOrder, *, higher: bool) -> tuple[MatrixTask, ...]:
    """The hardest, the most telling or the most disputed first; what has no value last, equals by name."""

    def place(row: MatrixTask) -> tuple[bool, float, str]:
        number: float | None = 0.0
        if order == "difficulty":
            number = None if row.mean is None else row.mean if higher else -row.mean
        elif order == "discrimination":
            number = None if row.discrimination is None else -row.discrimination
        elif order == "disagreement":
            number = None if row.difference is None else -abs(row.difference)
        return number is None, number or 0.0, row.task

    return tuple(sorted(rows, key=place))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
