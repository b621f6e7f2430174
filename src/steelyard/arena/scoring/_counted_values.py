"""Values of many tasks counted at once, as columns: one sort gives counts, ranks and medians of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np


class TaskValues(NamedTuple):
    """Values of tasks: the place of the task, the value, and how often it is meant."""

    which: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class LowerMedians(NamedTuple):
    """For each task the lower middle value, the number of values below it, and the median."""

    values: np.ndarray
    below: np.ndarray
    medians: np.ndarray


class CountedValues(NamedTuple):
    """How often each value occurs in each task, ordered by task and value."""

    which: np.ndarray
    """The place of the task of each value."""
    values: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    """Where each task begins, and at last where all end."""
    below: np.ndarray
    """Number of the task's smaller values."""
    totals: np.ndarray
    """How many values each task has."""
    where: np.ndarray
    """For each pair that was counted, the place of its value here."""

    def lower_medians(self, tasks: np.ndarray, n: np.ndarray) -> LowerMedians:
        """The middle of the `n` values of each of these tasks; values well above it may be absent."""
        passed = np.cumsum(self.counts)
        before = np.concatenate(([0], passed))[self.starts[tasks]]
        lower = np.searchsorted(passed, before + (n - 1) // 2, side="right")
        upper = np.searchsorted(passed, before + n // 2, side="right")
        medians = (self.values[lower] + self.values[upper]) / 2
        return LowerMedians(self.values[lower], self.below[lower], medians)


def count_values(pairs: TaskValues, tasks: int) -> CountedValues:
    """The pairs added up, task by task."""
    order = np.lexsort((pairs.values, pairs.which))
    which, values = pairs.which[order], pairs.values[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (which[1:] != which[:-1]) | (values[1:] != values[:-1])
    first = np.flatnonzero(is_first)
    where = np.empty(len(order), dtype=np.int64)
    where[order] = np.cumsum(is_first) - 1
    counts = np.add.reduceat(pairs.counts[order], first)
    which = which[first]
    starts = np.searchsorted(which, np.arange(tasks + 1))
    passed = np.concatenate(([0], np.cumsum(counts)))
    below = passed[:-1] - passed[starts[which]]
    totals = passed[starts[1:]] - passed[starts[:-1]]
    return CountedValues(which, values[first], counts, starts, below, totals, where)


def each_once(which: np.ndarray, values: np.ndarray) -> TaskValues:
    """Values that each occur once, with the places of their tasks."""
    return TaskValues(which, values, np.ones(len(which), dtype=np.int64))


def of_tallies(which: np.ndarray, tallies: Sequence[Mapping[int, int]]) -> TaskValues:
    """Values that were counted before, as value to count for each of the tasks at these places."""
    sizes = [len(tally) for tally in tallies]
    size = sum(sizes)
    values = np.fromiter(chain.from_iterable(tallies), dtype=np.int64, count=size)
    counts = np.fromiter(chain.from_iterable(tally.values() for tally in tallies), dtype=np.int64, count=size)
    return TaskValues(np.repeat(which, sizes), values, counts)


def join_values(*parts: TaskValues) -> TaskValues:
    """All pairs, part after part."""
    return TaskValues(*(np.concatenate(column) for column in zip(*parts, strict=True)))
