"""Means by group in which every run counts once, or every task."""

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
    values, groups, tasks = values[known], groups[known], tasks[known]
    if weight_by == "runs":
        return exact_means(values, groups, size)
    means, owners, _ = task_means(values, groups, tasks)
    return exact_means(means, owners, size)


def task_means(values: Floats, groups: Ints, tasks: Ints) -> tuple[Floats, Ints, Ints]:
    """The mean of each task within each group, in order: the means, their groups, and how many values each has.

    `values` holds no NaN.
    """
    cells, width = _cells(groups, tasks)
    numbers, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return exact_means(values, places, len(numbers)), numbers // width, counts


def evenly_tried(groups: Ints, tasks: Ints, *, size: int) -> np.ndarray:
    """Whether each group tried all of its tasks equally often, so that both weights agree."""
    cells, width = _cells(groups, tasks)
    numbers, counts = np.unique(cells, return_counts=True)
    least, most = np.full(size, np.iinfo(np.int64).max), np.zeros(size, dtype=np.int64)
    np.minimum.at(least, numbers // width, counts)
    np.maximum.at(most, numbers // width, counts)
    return np.asarray(least >= most, dtype=bool)


def _cells(groups: Ints, tasks: Ints) -> tuple[Ints, int]:
    """A number for each group and task, in their order, and how many of them a group takes."""
    width = int(tasks.max()) + 1 if len(tasks) else 1
    return groups.astype(np.int64) * width + tasks, width
