"""Sums and means by group with one rounding at the very end, so that neither order nor engine shows in any digit.

A double is a whole number of 53 bits times a power of two. Each is split into two halves that are added up by group and
power: such sums are whole numbers below 2^53, exact in any order. Python's integers join them, and dividing two
integers rounds correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.statistics._interval import Floats, Ints

_HALF = 27
_ROWS_AT_ONCE = 2**25
"""So many halves of 27 bits stay below 2^53 when they are added."""
_CELLS_AT_ONCE = 2**22
_EXACT = 2.0**53


def exact_means(values: Floats, groups: npt.NDArray[np.integer], size: int) -> Floats:
    """The mean of each group, NaN for an empty one: the exact sum over n, rounded once.

    `values` holds no NaN; `groups` are codes 0, 1, ... below `size`.

    >>> exact_means(np.array([0.05, 0.05, 0.05, 1.0]), np.array([0, 0, 0, 2]), 3).tolist()
    [0.05, nan, 1.0]
    """
    counts = np.bincount(groups, minlength=size)
    return exact_quotients(values, groups, counts.astype(np.int64))


def exact_totals(values: Floats, groups: npt.NDArray[np.integer], size: int) -> Floats:
    """The sum of each group, rounded once; 0 for an empty one."""
    return exact_quotients(values, groups, np.ones(size, dtype=np.int64))


def mean_of(values: npt.ArrayLike) -> float:
    """The mean of some numbers, rounded once; NaN of none.

    >>> mean_of([0.1, 0.2, 0.3])
    0.2
    """
    numbers = np.asarray(values, dtype=float)
    return float(exact_means(numbers, np.zeros(len(numbers), dtype=np.int64), 1)[0])


def exact_quotients(values: Floats, groups: npt.NDArray[np.integer], divisors: Ints) -> Floats:
    """The exact sum of each group over its divisor, rounded once; NaN where the divisor is not above 0."""
    size = len(divisors)
    finite = np.isfinite(values)
    if not finite.all():  # the finite ones do not show beside infinite ones
        endless = _endless(values[~finite], groups[~finite], size)
        kept = finite & (endless == 0)[groups]
        rest = exact_quotients(values[kept], groups[kept], divisors)
        return np.where((endless == 0) | (divisors <= 0), rest, endless)
    with np.errstate(invalid="ignore", over="ignore"):
        plain = np.bincount(groups, weights=values, minlength=size)
        sizes = np.bincount(groups, weights=np.abs(values), minlength=size)
        whole = bool(np.all(values == np.rint(values)))
        quotients = np.where(divisors > 0, plain / np.maximum(divisors, 1), np.nan)
    if whole and np.all(sizes <= _EXACT):
        return quotients
    for start in range(0, size, span := _groups_at_once(values)):
        inside = slice(None) if size <= span else (groups >= start) & (groups < start + span)
        part = divisors[start : start + span]
        numerators, exponent = _numerators(values[inside], groups[inside] - start, len(part))
        quotients[start : start + span] = list(_quotients(numerators, part.tolist(), exponent))
    return quotients


def _endless(values: Floats, groups: npt.NDArray[np.integer], size: int) -> Floats:
    """What the infinite values of each group add up to: an infinity, NaN of both, 0 where there are none."""
    with np.errstate(invalid="ignore"):
        return np.bincount(groups, weights=values, minlength=size).astype(float)


@dataclass(frozen=True, slots=True)
class ExactSums:
    """The sums of groups before any rounding: whole numbers times one power of two."""

    numerators: Sequence[int]
    exponent: int
    counts: Ints
    """How many values were added up."""
    endless: Floats
    """What infinite values add up to: an infinity, or NaN of both; 0 where all are finite."""

    @classmethod
    def of(cls, values: Floats, groups: npt.NDArray[np.integer], size: int, often: Ints | None = None) -> ExactSums:
        """Those of values that are not NaN, by their group's code below `size`; `often` tells how often each occurs."""
        counts = np.zeros(size, dtype=np.int64)
        np.add.at(counts, groups, 1 if often is None else often)
        finite = np.isfinite(values)
        endless = _endless(values[~finite], groups[~finite], size)
        of_finite = None if often is None else often[finite]
        numerators, exponent = _numerators(values[finite], groups[finite], size, of_finite)
        return cls(numerators, exponent, counts, endless)

    def merged(self, groups: Ints, size: int) -> ExactSums:
        """The sums of these groups added up by what each belongs to; -1 is nothing."""
        numerators = [0] * size
        for numerator, group in zip(self.numerators, groups.tolist(), strict=True):
            if group >= 0:
                numerators[group] += numerator
        inside = groups >= 0
        counts = np.zeros(size, dtype=np.int64)
        np.add.at(counts, groups[inside], self.counts[inside])
        return ExactSums(numerators, self.exponent, counts, _endless(self.endless[inside], groups[inside], size))

    @property
    def totals(self) -> Floats:
        """Each sum, rounded once; 0 of an empty group."""
        return self.over(np.ones(len(self.counts), dtype=np.int64))

    @property
    def means(self) -> Floats:
        """Each sum over its count, rounded once; NaN of an empty group."""
        return self.over(self.counts)

    def over(self, divisors: Ints) -> Floats:
        """Each sum over a divisor of its own, rounded once; NaN where that is not above 0."""
        rounded = np.array(list(_quotients(self.numerators, divisors.tolist(), self.exponent)), dtype=float)
        return np.where((self.endless == 0) | (divisors <= 0), rounded, self.endless)


def _groups_at_once(values: Floats) -> int:
    """How many groups are added up together: each takes a cell for every power of two among the values."""
    exponents = np.frexp(values[values != 0])[1]
    powers = int(np.ptp(exponents)) + 1 if len(exponents) else 1
    return max(1, _CELLS_AT_ONCE // powers)


def _numerators(
    values: Floats, groups: npt.NDArray[np.integer], size: int, often: Ints | None = None
) -> tuple[list[int], int]:
    """The exact sum of each group as a whole number, and the power of two that all of them are multiplied by."""
    numerators = [0] * size
    kept = values != 0
    values, groups = values[kept], groups[kept]
    often = None if often is None else often[kept]
    mantissas, exponents = np.frexp(values)
    least = int(exponents.min()) if len(exponents) else 0
    powers = int(exponents.max()) - least + 1 if len(exponents) else 1
    high = np.floor(np.ldexp(mantissas, 53 - _HALF))
    low = np.ldexp(mantissas, 53) - np.ldexp(high, _HALF)
    cells = groups.astype(np.int64) * powers + (exponents - least)
    for start in range(0, len(cells), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        tops, bottoms = (
            _halves_added(half[rows], cells[rows], size * powers, None if often is None else often[rows])
            for half in (high, low)
        )
        used = np.flatnonzero((tops != 0) | (bottoms != 0))
        for cell, top, bottom in zip(used.tolist(), tops[used].tolist(), bottoms[used].tolist(), strict=True):
            group, power = divmod(cell, powers)
            numerators[group] += ((top << _HALF) + bottom) << power
    return numerators, least - 53


def _halves_added(halves: Floats, cells: Ints, size: int, often: Ints | None) -> Ints:
    if often is None:
        return np.bincount(cells, weights=halves, minlength=size).astype(np.int64)
    added = np.zeros(size, dtype=np.int64)
    np.add.at(added, cells, halves.astype(np.int64) * often)
    return added


def _quotients(numerators: Iterable[int], divisors: Iterable[int], exponent: int) -> Iterable[float]:
    """Each numerator times two to the exponent over its divisor."""
    up, down = max(exponent, 0), max(-exponent, 0)
    for numerator, divisor in zip(numerators, divisors, strict=True):
        if divisor <= 0:
            yield math.nan
            continue
        try:
            yield (numerator << up) / (divisor << down)
        except OverflowError:
            yield math.inf if numerator > 0 else -math.inf
