"""Exactly rounded sums and means by group, independent of row order and engine.

A double is a whole number of 53 bits times a power of two. All numbers are moved below 1 and cut into limbs, from the
top: what is before the point after moving it. So few bits are cut at a time that the limbs of all rows add up below
2^53, which doubles do exactly in any order. Python's integers join the sums, and dividing two integers rounds
correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.statistics._estimates import Floats, Ints

_BITS = 53
_ROWS_AT_ONCE = 2**16
"""So few that they stay in the processor's cache while they are cut."""
_POWERS_AT_ONCE = 900
"""Powers of two of numbers that are moved together: the smallest of them keep all their bits below 1."""


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


def midpoint(low: Floats, high: Floats) -> Floats:
    """Halfway between two values, correctly rounded, also where their sum is too large or they are too small to halve.

    >>> midpoint(np.array([5e-324, 1.5e308]), np.array([1.5e-323, 1.7e308])).tolist()
    [1e-323, 1.6e+308]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the same infinity on both sides is itself
        added, halves = low + high, low / 2 + high / 2
    return np.asarray(np.where(low == high, low, np.where(np.isinf(added), halves, added / 2)), dtype=float)


def exact_quotients(values: Floats, groups: npt.NDArray[np.integer], divisors: Ints) -> Floats:
    """The exact sum of each group over its divisor, rounded once; NaN where the divisor is not above 0."""
    return ExactSums.of(values, groups, len(divisors)).over(divisors)


def _non_finite(values: Floats, groups: npt.NDArray[np.integer], size: int) -> Floats:
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
    non_finite: Floats
    """What infinite values add up to: an infinity, or NaN of both; 0 where all are finite."""

    @classmethod
    def of(cls, values: Floats, groups: npt.NDArray[np.integer], size: int, often: Ints | None = None) -> ExactSums:
        """Those of values that are not NaN, by their group's code below `size`; `often` is how often each occurs."""
        counts = np.bincount(groups, weights=often, minlength=size).astype(np.int64)
        non_finite, finite = np.zeros(size), np.isfinite(values)
        if not finite.all():
            non_finite = _non_finite(values[~finite], groups[~finite], size)
            values, groups, often = values[finite], groups[finite], None if often is None else often[finite]
        numerators, exponent = _numerators(values, groups, size, often)
        return cls(numerators, exponent, counts, non_finite)

    def merged(self, groups: Ints, size: int) -> ExactSums:
        """The sums of these groups added up by what each belongs to; -1 is nothing."""
        numerators = [0] * size
        for numerator, group in zip(self.numerators, groups.tolist(), strict=True):
            if group >= 0:
                numerators[group] += numerator
        inside = groups >= 0
        counts = np.zeros(size, dtype=np.int64)
        np.add.at(counts, groups[inside], self.counts[inside])
        return ExactSums(numerators, self.exponent, counts, _non_finite(self.non_finite[inside], groups[inside], size))

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
        if self.exponent == 0 and max(map(abs, self.numerators), default=0) <= 2**_BITS:  # as doubles divide them
            rounded = np.where(divisors > 0, np.array(self.numerators, dtype=float) / np.maximum(divisors, 1), np.nan)
        else:
            rounded = np.array(list(_quotients(self.numerators, divisors.tolist(), self.exponent)), dtype=float)
        return np.where((self.non_finite == 0) | (divisors <= 0), rounded, self.non_finite)


def _numerators(
    values: Floats, groups: npt.NDArray[np.integer], size: int, often: Ints | None = None
) -> tuple[list[int], int]:
    """The exact sum of each group as a whole number, and the power of two that all of them are multiplied by."""
    if (whole := _whole_sums(values, groups, size, often)) is not None:
        return [int(number) for number in whole.tolist()], 0
    top = max((math.frexp(edge)[1] for edge in (values.min(), values.max()) if edge), default=0) if len(values) else 0
    least = math.ldexp(1.0, max(top - _POWERS_AT_ONCE, -1074))
    bits = _BITS - (len(values) if often is None else int(often.sum())).bit_length()
    half = -top // 2  # two to the whole need not be a double
    limbs: list[Floats] = []
    small = np.zeros(len(values), dtype=bool)
    for start in range(0, len(values), step := max(_ROWS_AT_ONCE, 4 * size)):
        rows = slice(start, start + step)
        small[rows] = (values[rows] != 0) & (np.abs(values[rows]) < least)
        rest = np.where(small[rows], 0.0, values[rows]) if small[rows].any() else values[rows]
        rest = rest * math.ldexp(1.0, half) * math.ldexp(1.0, -top - half)
        _cut(rest, groups[rows], limbs, bits=bits, size=size, often=None if often is None else often[rows])
    numerators = [0] * size
    for limb in limbs:
        numerators = [(above << bits) + added for above, added in zip(numerators, map(int, limb.tolist()), strict=True)]
    exponent = top - bits * len(limbs)
    if not small.any():
        return numerators, exponent
    below, lower = _numerators(values[small], groups[small], size, None if often is None else often[small])
    return [
        (above << max(exponent - lower, 0)) + (added << max(lower - exponent, 0))
        for above, added in zip(numerators, below, strict=True)
    ], min(exponent, lower)


def _whole_sums(values: Floats, groups: npt.NDArray[np.integer], size: int, often: Ints | None) -> Floats | None:
    """The sums of whole numbers that doubles add exactly; None of other numbers."""
    for start in range(0, len(values), _ROWS_AT_ONCE):
        rows = values[start : start + _ROWS_AT_ONCE]
        if not np.array_equal(rows, np.rint(rows)):
            return None
    with np.errstate(over="ignore", invalid="ignore"):  # such sums are not taken
        weights = values if often is None else values * often
        sums = np.bincount(groups, weights=weights, minlength=size).astype(float, copy=False)
        sizes = sums if weights.min(initial=0.0) >= 0 else np.bincount(groups, weights=np.abs(weights), minlength=size)
    return sums if sizes.max(initial=0.0) <= 2.0**_BITS else None


def _cut(
    rest: Floats, groups: npt.NDArray[np.integer], limbs: list[Floats], *, bits: int, size: int, often: Ints | None
) -> None:
    """Cut numbers below 1 until nothing is left, and add what is cut to the limbs of their groups."""
    places, number = groups.astype(np.intp, copy=False), 0
    while rest.any():
        rest *= 2.0**bits
        whole = np.trunc(rest)
        rest -= whole
        added = np.bincount(places, weights=whole if often is None else whole * often, minlength=size)
        if number == len(limbs):
            limbs.append(np.zeros(size))
        limbs[number] += added
        number += 1


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
