"""Counts and sums of many groups at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.statistics._exact_sums import ExactSums
from steelyard.statistics._interval import Floats, Ints

_MANY_GROUPS = 100_000
"""From here on one sort over all rows is cheaper than a sort for each group."""
_LARGE_GROUP = 4_096
"""From here on Polars sorts faster than NumPy, several times where values recur."""
_LARGE, _SHRINK = 1e150, 2.0**-600
"""Above the first, squares do not exist; the second brings every number below it."""


class GroupedValues(ABC):
    """What statistics are taken from, wherever the values are kept, each made when it is asked for.

    Save the two counts, statistics are those of the groups that have values, in order.
    """

    counts: Ints
    """How many values each group has."""
    missing: Ints
    """How many more of its rows have none."""
    ddof: int
    """0 for the deviation of the population, 1 for that of the sample."""

    @property
    @abstractmethod
    def smallest(self) -> Floats:
        """The smallest value of each group."""

    @property
    @abstractmethod
    def largest(self) -> Floats:
        """The largest."""

    @property
    @abstractmethod
    def median(self) -> Floats:
        """The middle."""

    @property
    @abstractmethod
    def mode(self) -> Floats:
        """The most frequent value; the smallest if tied."""

    @abstractmethod
    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""

    @property
    @abstractmethod
    def sums(self) -> ExactSums:
        """The sums of values before any rounding."""

    @abstractmethod
    def squares(self, scale: float) -> ExactSums:
        """The sums of squared distances from the group's mean, all times `scale`; infinite ones count as 0."""

    @cached_property
    def size(self) -> Ints:
        """How many values each group has, of those that have any."""
        return self.counts[self.counts > 0]

    @property
    def total(self) -> Floats:
        """The sum."""
        return self.sums.totals

    @cached_property
    def mean(self) -> Floats:
        """The mean."""
        return self.sums.means

    @property
    def deviation(self) -> Floats:
        """The standard deviation; missing where a value is infinite or the sample has one value."""
        edges = np.abs(np.concatenate([self.smallest, self.largest]))
        # a power of two changes no digit that shows, and squares exist
        scale = _SHRINK if np.max(edges, where=np.isfinite(edges), initial=0.0) > _LARGE else 1.0
        deviation = np.sqrt(self.squares(scale).over(self.size - self.ddof)) / scale
        return np.asarray(np.where(np.isfinite(self.mean), deviation, np.nan), dtype=float)


@dataclass(frozen=True)
class CountedGroups(GroupedValues):
    """Distinct numbers in memory, each with how often it occurs."""

    values: Floats
    """Group after group, ascending and distinct within each."""
    groups: npt.NDArray[np.uint32]
    """The number of each value's group among those that have values."""
    often: Ints
    """How often each occurs."""
    counts: Ints
    missing: Ints
    ddof: int

    @classmethod
    def of(cls, values: Floats, sizes: Ints, *, ddof: int) -> CountedGroups:
        """Return groups of contiguous rows with these sizes; NaN is missing."""
        ordered, counts = _sorted_within_groups(values, sizes)
        size = counts[counts > 0]
        is_new = np.ones(len(ordered), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
        is_new[first := np.cumsum(size) - size] = True
        if is_new.all():
            once = np.broadcast_to(np.int64(1), ordered.shape)
            return cls(ordered, _repeated(size), once, counts, sizes - counts, ddof)
        starts = np.flatnonzero(is_new)
        often = np.diff(starts, append=len(ordered))
        distinct = np.diff(np.searchsorted(starts, first), append=len(starts))
        return cls(ordered[starts], _repeated(distinct), often, counts, sizes - counts, ddof)

    @classmethod
    def of_counts(cls, groups: Ints, values: Floats, often: Ints, *, size: int, ddof: int) -> CountedGroups:
        """Those of distinct values in any order, each with its group below `size`; NaN is missing."""
        known = ~np.isnan(values)
        missing = np.bincount(groups[~known], weights=often[~known], minlength=size).astype(np.int64)
        groups, values, often = groups[known], values[known], often[known]
        counts = np.bincount(groups, weights=often, minlength=size).astype(np.int64)
        order = np.lexsort((values, groups))
        places = (np.cumsum(counts > 0) - 1).astype(np.uint32)
        return cls(values[order], places[groups[order]], often[order], counts, missing, ddof)

    @cached_property
    def _first(self) -> Ints:
        """Where each group begins."""
        return np.searchsorted(self.groups, np.arange(len(self.size), dtype=np.uint32))

    @cached_property
    def _running(self) -> Ints:
        return np.cumsum(self.often)

    @property
    def _are_distinct(self) -> bool:
        return len(self.often) == int(self.size.sum())

    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""
        if self._are_distinct:
            return np.asarray(self.values[self._first + place])
        before = self._running[self._first] - self.often[self._first]
        return np.asarray(self.values[np.searchsorted(self._running, before + place, side="right")])

    @cached_property
    def smallest(self) -> Floats:
        """The smallest value of each group."""
        return np.asarray(self.values[self._first])

    @cached_property
    def largest(self) -> Floats:
        """The largest."""
        return np.asarray(self.values[np.append(self._first[1:], len(self.values)) - 1])

    @property
    def median(self) -> Floats:
        """The middle."""
        return midpoint(self.at((self.size - 1) // 2), self.at(self.size // 2))

    @property
    def mode(self) -> Floats:
        """The most frequent value; the smallest if tied."""
        if self._are_distinct:
            return self.smallest
        tops = np.maximum.reduceat(self.often, self._first)
        candidates = np.flatnonzero(self.often == tops[self.groups])
        return np.asarray(self.values[candidates[np.searchsorted(candidates, self._first)]])

    @cached_property
    def sums(self) -> ExactSums:
        """The sums of values before any rounding."""
        return self._added(self.values)

    def squares(self, scale: float) -> ExactSums:
        """The sums of squared distances from the group's mean, all times `scale`; infinite ones count as 0."""
        with np.errstate(invalid="ignore"):
            gaps = np.repeat(self.mean * scale, np.diff(self._first, append=len(self.values)))
            np.subtract(self.values if scale == 1.0 else self.values * scale, gaps, out=gaps)
            gaps *= gaps
        if not np.isfinite(self.mean).all():
            gaps[~np.isfinite(gaps)] = 0.0
        return self._added(gaps)

    def _added(self, values: Floats) -> ExactSums:
        return ExactSums.of(values, self.groups, len(self.size), None if self._are_distinct else self.often)


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
    unknown = np.isnan(values)
    if unknown.any():
        sizes = sizes - np.bincount(_repeated(sizes)[unknown], minlength=len(sizes))
        values = values[~unknown]
    if len(sizes) > _MANY_GROUPS:
        return values[np.lexsort((values, _repeated(sizes)))], sizes
    for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        group = values[end - size : end]
        if size < _LARGE_GROUP:
            group.sort()
        else:
            group[:] = pl.Series(group).sort(multithreaded=False).to_numpy()
    return values, sizes


def _repeated(sizes: Ints) -> npt.NDArray[np.uint32]:
    """The number of each group, as often as it has rows."""
    return np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
