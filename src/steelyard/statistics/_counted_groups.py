"""Groups of distinct numbers, each with how often it occurs: what an engine counted, small enough to be held."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.statistics._exact_sums import ExactSums
from steelyard.statistics._interval import Floats, Ints
from steelyard.statistics._sorted_groups import midpoint, shrink_of


@dataclass(frozen=True)
class CountedGroups:
    """The same statistics as those of `SortedGroups`, to the last bit."""

    values: Floats
    """Group after group, ascending and distinct within each."""
    groups: Ints
    """The group of each."""
    often: Ints
    """How often each occurs."""
    counts: Ints
    """How many values each group has."""
    missing: Ints
    """How many more of its rows have none."""
    ddof: int

    @classmethod
    def of(cls, groups: Ints, values: Floats, often: Ints, *, size: int, ddof: int) -> CountedGroups:
        """Those of rows in any order; NaN is missing."""
        known = ~np.isnan(values)
        counts, missing = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        np.add.at(counts, groups[known], often[known])
        np.add.at(missing, groups[~known], often[~known])
        order = np.lexsort((values[known], groups[known]))
        return cls(values[known][order], groups[known][order], often[known][order], counts, missing, ddof)

    @cached_property
    def size(self) -> Ints:
        """How many values each group has, of those that have any."""
        return self.counts[self.counts > 0]

    @cached_property
    def _first(self) -> Ints:
        """Where each of them begins."""
        return np.flatnonzero(np.diff(self.groups, prepend=-1) != 0)

    @cached_property
    def _places(self) -> Ints:
        """The number of each value's group among those that have values."""
        return np.cumsum(np.diff(self.groups, prepend=-1) != 0) - 1

    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""
        running = np.cumsum(self.often)
        before = running[self._first] - self.often[self._first]
        return np.asarray(self.values[np.searchsorted(running, before + place, side="right")])

    @cached_property
    def smallest(self) -> Floats:
        """The smallest value of each group."""
        return np.asarray(self.values[self._first])

    @cached_property
    def largest(self) -> Floats:
        """The largest."""
        return np.asarray(self.values[np.append(self._first[1:], len(self.values)) - 1])

    @cached_property
    def median(self) -> Floats:
        """The middle."""
        return midpoint(self.at((self.size - 1) // 2), self.at(self.size // 2))

    @cached_property
    def mode(self) -> Floats:
        """The most frequent value, the smallest among equals."""
        tops = np.maximum.reduceat(self.often, self._first)[self._places]
        candidates = np.flatnonzero(self.often == tops)
        return np.asarray(self.values[candidates[np.searchsorted(candidates, self._first)]])

    @cached_property
    def _exact(self) -> ExactSums:
        return ExactSums.of(self.values, self._places, len(self.size), self.often)

    @cached_property
    def total(self) -> Floats:
        """The sum."""
        return self._exact.totals

    @cached_property
    def mean(self) -> Floats:
        """The mean."""
        return self._exact.means

    @cached_property
    def deviation(self) -> Floats:
        """The standard deviation; missing where a value is infinite or the sample has one value."""
        scale = shrink_of(self.smallest, self.largest)
        with np.errstate(invalid="ignore"):
            gaps = self.values * scale - (self.mean * scale)[self._places]
            squares = np.where(np.isfinite(gaps), gaps * gaps, 0.0)
        exact = ExactSums.of(squares, self._places, len(self.size), self.often)
        deviation = np.sqrt(exact.over(self.size - self.ddof)) / scale
        return np.asarray(np.where(np.isfinite(self.mean), deviation, np.nan), dtype=float)
