"""Means by group, weighted by runs or by tasks."""

from __future__ import annotations

import numpy as np

from steelyard.statistics._exact_sums import exact_means
from steelyard.statistics._interval import Floats, Ints
from steelyard.statistics._weighting import WeightBy


def weighted_means(values: Floats, groups: Ints, tasks: Ints, *, size: int, weight_by: WeightBy) -> Floats:
    """The mean of each group, NaN for an empty one; NaN among the values is missing.

    By `runs` every run counts once; by `tasks` it is the mean over tasks of the task's own mean, so that a task
    counts once however often it was tried, and one without a value not at all.

    >>> cost, group, task = np.array([0.1, 0.1, 5.0]), np.array([0, 0, 0]), np.array([0, 0, 1])
    >>> float(weighted_means(cost, group, task, size=1, weight_by="tasks")[0])
    2.55
    """
    known = ~np.isnan(values)
    if not known.all():
        values, groups, tasks = values[known], groups[known], tasks[known]
    if weight_by == "runs":
        return exact_means(values, groups, size)
    means, owners, _ = task_means(values, groups, tasks)
    return exact_means(means, owners, size)


def task_means(values: Floats, groups: Ints, tasks: Ints) -> tuple[Floats, Ints, Ints]:
    """The mean of each task within each group, in order: the means, their groups, and how many values each has.

    `values` holds no NaN.
    """
    cells, owners, counts = _cells(groups, tasks)
    return exact_means(values, cells, len(owners)), owners, counts


def evenly_tried(groups: Ints, tasks: Ints, *, size: int) -> np.ndarray:
    """Whether each group tried all of its tasks equally often, so that both weights agree."""
    _, owners, counts = _cells(groups, tasks)
    least, most = np.full(size, np.iinfo(np.int64).max), np.zeros(size, dtype=np.int64)
    np.minimum.at(least, owners, counts)
    np.maximum.at(most, owners, counts)
    return np.asarray(least >= most, dtype=bool)


def _cells(groups: Ints, tasks: Ints) -> tuple[Ints, Ints, Ints]:
    """The number of each row's group and task among those that occur, in order; of each its group and its rows."""
    width = int(tasks.max(initial=0)) + 1
    cells = groups.astype(np.int64) * width + tasks
    if int(cells.max(initial=0)) > 4 * len(cells):
        numbers, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
        return places, numbers // width, counts
    by_number = np.bincount(cells)  # much faster than sorting, where numbers are dense
    numbers = np.flatnonzero(by_number)
    if len(numbers) == len(by_number):
        return cells, numbers // width, by_number
    place_of = np.zeros(len(by_number), dtype=np.int64)
    place_of[numbers] = np.arange(len(numbers))
    return place_of[cells], numbers // width, by_number[numbers]
