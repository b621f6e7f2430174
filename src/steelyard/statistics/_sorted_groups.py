"""Groups of numbers, sorted: what the statistics of many groups are taken from at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from steelyard.statistics._exact_sums import exact_quotients, exact_totals
from steelyard.statistics._interval import Floats, Ints

_MANY_GROUPS = 100_000
"""From here on one sort over all rows is cheaper than a sort for each group."""
_LARGE, _SHRINK = 1e150, 2.0**-600
"""Above the first, squares do not exist; the second brings every number below it."""


class GroupedValues(Protocol):
    """What statistics are taken from, wherever the values are kept. Save the counts, of groups that have values."""

    @property
    def counts(self) -> Ints: ...
    @property
    def missing(self) -> Ints: ...
    @property
    def size(self) -> Ints: ...
    @property
    def smallest(self) -> Floats: ...
    @property
    def largest(self) -> Floats: ...
    @property
    def median(self) -> Floats: ...
    @property
    def mode(self) -> Floats: ...
    @property
    def total(self) -> Floats: ...
    @property
    def mean(self) -> Floats: ...
    @property
    def deviation(self) -> Floats: ...
    def at(self, place: Ints | int) -> Floats: ...


@dataclass(frozen=True)
class SortedGroups:
    """The known values of groups, ascending within each. Each statistic is made when it is asked for.

    Save the two counts, statistics are those of the groups that have values, in order.
    """

    values: Floats
    """Group after group."""
    counts: Ints
    """How many values each group has."""
    missing: Ints
    """How many more of its rows have none."""
    ddof: int
    """0 for the deviation of the population, 1 for that of the sample."""

    @classmethod
    def of(cls, values: Floats, sizes: Ints, *, ddof: int) -> SortedGroups:
        """Groups whose rows lie side by side, so many each; NaN is missing."""
        kept, counts = _sorted_within_groups(values, sizes)
        return cls(kept, counts, sizes - counts, ddof)

    @cached_property
    def size(self) -> Ints:
        """How many values each group has, of those that have any."""
        return self.counts[self.counts > 0]

    @cached_property
    def first(self) -> Ints:
        """Where each of them begins."""
        return np.cumsum(self.size) - self.size

    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""
        return np.asarray(self.values[self.first + place])

    @cached_property
    def smallest(self) -> Floats:
        """The smallest value of each group."""
        return self.at(0)

    @cached_property
    def largest(self) -> Floats:
        """The largest."""
        return self.at(self.size - 1)

    @cached_property
    def median(self) -> Floats:
        """The middle."""
        return midpoint(self.at((self.size - 1) // 2), self.at(self.size // 2))

    @cached_property
    def mode(self) -> Floats:
        """The most frequent value, the smallest among equals."""
        return _modes(self.values, self.first)

    @cached_property
    def total(self) -> Floats:
        """The sum."""
        return exact_totals(self.values, self._groups, len(self.size))

    @cached_property
    def mean(self) -> Floats:
        """The mean."""
        return exact_quotients(self.values, self._groups, self.size)

    @cached_property
    def deviation(self) -> Floats:
        """The standard deviation; missing where a value is infinite or the sample has one value."""
        scale = shrink_of(self.smallest, self.largest)
        with np.errstate(invalid="ignore"):
            gaps = self.values * scale - (self.mean * scale)[self._groups]
            squares = np.where(np.isfinite(gaps), gaps * gaps, 0.0)
        deviation = np.sqrt(exact_quotients(squares, self._groups, self.size - self.ddof)) / scale
        return np.asarray(np.where(np.isfinite(self.mean), deviation, np.nan), dtype=float)

    @cached_property
    def _groups(self) -> Ints:
        return np.repeat(np.arange(len(self.size)), self.size)


def shrink_of(smallest: Floats, largest: Floats) -> float:
    """What numbers are multiplied by so that their squares exist; a power of two changes no digit that shows."""
    edges = np.abs(np.concatenate([smallest, largest]))
    return _SHRINK if np.max(edges, where=np.isfinite(edges), initial=0.0) > _LARGE else 1.0


def midpoint(low: Floats, high: Floats) -> Floats:
    """Halfway between two values, correctly rounded, also where their sum is too large or they are too small to halve.

    >>> midpoint(np.array([5e-324, 1.5e308]), np.array([1.5e-323, 1.7e308])).tolist()
    [1e-323, 1.6e+308]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the same infinity on both sides is itself
        added, halves = low + high, low / 2 + high / 2
    return np.asarray(np.where(low == high, low, np.where(np.isinf(added), halves, added / 2)), dtype=float)


def _sorted_within_groups(values: Floats, sizes: Ints) -> tuple[Floats, Ints]:
    """Known values group after group, ascending within each, and how many each group has."""
    groups = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    unknown = np.isnan(values)
    if unknown.any():
        sizes = sizes - np.bincount(groups[unknown], minlength=len(sizes))
        values, groups = values[~unknown], groups[~unknown]
    if len(sizes) > _MANY_GROUPS:
        return values[np.lexsort((values, groups))], sizes
    for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        values[end - size : end].sort()
    return values, sizes


def _modes(values: Floats, starts: Ints) -> Floats:
    """The most frequent value of each sorted slice, the smallest among equals."""
    is_new = np.empty(len(values), dtype=bool)
    is_new[0] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    is_new[starts] = True
    run_starts = np.flatnonzero(is_new)
    run_lengths = np.diff(run_starts, append=len(values))
    first_run = np.searchsorted(run_starts, starts)
    longest = np.maximum.reduceat(run_lengths, first_run)
    runs_per_group = np.diff(first_run, append=len(run_starts))
    is_longest = run_lengths == np.repeat(longest, runs_per_group)
    candidates = np.flatnonzero(is_longest)
    chosen = candidates[np.searchsorted(candidates, first_run)]
    return values[run_starts[chosen]]
