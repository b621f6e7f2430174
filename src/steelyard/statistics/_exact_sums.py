"""Sums and means by group with one rounding at the very end, so that neither order nor engine shows in any digit.

A double is a whole number of 53 bits times a power of two. Each is split into two halves that are added up by group and
power: such sums are whole numbers below 2^53, exact in any order. Python's integers join them, and dividing two
integers rounds correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

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
    with np.errstate(invalid="ignore", over="ignore"):
        plain = np.bincount(groups, weights=values, minlength=size)
        sizes = np.bincount(groups, weights=np.abs(values), minlength=size)
        whole = bool(np.all(values == np.rint(values)))
        quotients = np.where(divisors > 0, plain / np.maximum(divisors, 1), np.nan)
    if whole and np.all(sizes <= _EXACT):
        return quotients
    finite = np.isfinite(values)
    if not finite.all():  # the sum of infinities is one, or nothing at all; the finite ones do not show beside it
        endless = np.bincount(groups[~finite], minlength=size) > 0
        kept = ~endless[groups]
        return np.where(endless, quotients, exact_quotients(values[kept], groups[kept], divisors))
    for start in range(0, size, span := _groups_at_once(values)):
        inside = slice(None) if size <= span else (groups >= start) & (groups < start + span)
        part = divisors[start : start + span]
        quotients[start : start + span] = _joined(values[inside], groups[inside] - start, part)
    return quotients


def _groups_at_once(values: Floats) -> int:
    """How many groups are added up together: each takes a cell for every power of two among the values."""
    exponents = np.frexp(values[values != 0])[1]
    powers = int(np.ptp(exponents)) + 1 if len(exponents) else 1
    return max(1, _CELLS_AT_ONCE // powers)


def _joined(values: Floats, groups: npt.NDArray[np.integer], divisors: Ints) -> Floats:
    size, numerators = len(divisors), [0] * len(divisors)
    kept = values != 0
    values, groups = values[kept], groups[kept]
    mantissas, exponents = np.frexp(values)
    least = int(exponents.min()) if len(exponents) else 0
    powers = int(exponents.max()) - least + 1 if len(exponents) else 1
    high = np.floor(np.ldexp(mantissas, 53 - _HALF))
    low = np.ldexp(mantissas, 53) - np.ldexp(high, _HALF)
    cells = groups.astype(np.int64) * powers + (exponents - least)
    for start in range(0, len(cells), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        tops, bottoms = (
            np.bincount(cells[rows], weights=half[rows], minlength=size * powers).astype(np.int64)
            for half in (high, low)
        )
        used = np.flatnonzero((tops != 0) | (bottoms != 0))
        for cell, top, bottom in zip(used.tolist(), tops[used].tolist(), bottoms[used].tolist(), strict=True):
            group, power = divmod(cell, powers)
            numerators[group] += ((top << _HALF) + bottom) << power
    return np.array(list(_quotients(numerators, divisors.tolist(), least - 53)), dtype=float)


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
