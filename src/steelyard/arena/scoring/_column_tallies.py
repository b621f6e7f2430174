"""Tallies of many tasks at once, as columns: one sort gives counts, ranks and medians of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class TaskValues(NamedTuple):
    """Values of tasks: the place of the task, the value, and how often it is meant."""

    which: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class LowerMedians(NamedTuple):
    """For each task the lower middle value, how many lie strictly below it, and the median."""

    values: np.ndarray
    below: np.ndarray
    medians: np.ndarray


class CountedValues(NamedTuple):
    """How often each value occurs in each task, ordered by task and value. Every task has a value."""

    values: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    """Where each task begins, and at last where all end."""
    below: np.ndarray
    """How many of the task's values lie strictly below."""
    totals: np.ndarray
    """How many values each task has."""
    where: np.ndarray
    """For each pair that was counted, the place of its value here."""

    def packed(self) -> list[bytes]:
        """The tally of each task as the store keeps it (`pack_tally`)."""
        values, counts = self.values.astype("<i8").tobytes(), self.counts.astype("<i8").tobytes()
        ends = (self.starts * 8).tolist()
        return [values[a:b] + counts[a:b] for a, b in pairwise(ends)]

    def lower_medians(self) -> LowerMedians:
        """The middle of each task's values."""
        import numpy as np  # heavy: a single submission is accepted without it

        passed = np.cumsum(self.counts)
        before = np.concatenate(([0], passed))[self.starts[:-1]]
        lower = np.searchsorted(passed, before + (self.totals - 1) // 2, side="right")
        upper = np.searchsorted(passed, before + self.totals // 2, side="right")
        medians = (self.values[lower] + self.values[upper]) / 2
        return LowerMedians(self.values[lower], self.below[lower], medians)


def count_values(pairs: TaskValues, tasks: int) -> CountedValues:
    """The pairs added up, task by task."""
    import numpy as np  # heavy: a single submission is accepted without it

    order = np.lexsort((pairs.values, pairs.which))
    which, values = pairs.which[order], pairs.values[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (which[1:] != which[:-1]) | (values[1:] != values[:-1])
    first = np.flatnonzero(is_first)
    where = np.empty(len(order), dtype=np.int64)
    where[order] = np.cumsum(is_first) - 1
    counts = np.add.reduceat(pairs.counts[order], first)
    starts = np.searchsorted(which[first], np.arange(tasks + 1))
    passed = np.cumsum(counts) - counts
    below = passed - passed[starts[:-1]][which[first]]
    totals = np.add.reduceat(counts, starts[:-1])
    return CountedValues(values[first], counts, starts, below, totals, where)


def each_once(which: np.ndarray, values: np.ndarray) -> TaskValues:
    """Values that each occur once."""
    import numpy as np  # heavy: a single submission is accepted without it

    return TaskValues(which, values.astype(np.int64), np.ones(len(which), dtype=np.int64))


def unpack_all(packed: Sequence[bytes]) -> TaskValues:
    """The tallies of tasks as the store keeps them, in the order of the tasks."""
    import numpy as np  # heavy: a single submission is accepted without it

    tallies = [np.frombuffer(tally, dtype="<i8").reshape(2, -1) for tally in packed]
    which = np.repeat(np.arange(len(tallies)), [tally.shape[1] for tally in tallies])
    values, counts = np.concatenate(tallies, axis=1) if tallies else np.empty((2, 0), dtype=np.int64)
    return TaskValues(which, values, counts)


def join_values(*parts: TaskValues) -> TaskValues:
    """All pairs, part after part."""
    import numpy as np  # heavy: a single submission is accepted without it

    return TaskValues(*(np.concatenate(column) for column in zip(*parts, strict=True)))
