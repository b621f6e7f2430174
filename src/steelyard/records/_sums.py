"""Totals and means that have the same bits on every Python."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import reduce
from operator import add

TOO_LARGE = "the result is too large for a number (above 1.8e+308)"
"""Why a sum or quotient of numbers is missing: infinity would be another answer."""


def sum_in_order(values: Iterable[float]) -> float:
    """The sum from left to right, rounded at every step; whole numbers give a whole number, and no numbers 0.

    From Python 3.12 on the builtin `sum` makes up for the rounding of floats, so its last digits depend on the
    interpreter.

    >>> sum_in_order([0.1] * 10)
    0.9999999999999999
    """
    return reduce(add, values, 0)


def sum_of_known(values: Iterable[float | None]) -> float | None:
    """The sum of all values; None where one of them is not known, or there are none: unknown is not zero.

    >>> sum_of_known([1, 2]), sum_of_known([1, None]), sum_of_known([])
    (3, None, None)
    """
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum_in_order(known) if known and len(known) == len(listed) else None


def exact_quotient(values: Iterable[float], divisor: int) -> float:
    """The exact sum over the divisor, rounded once; infinite values give what adding them gives.

    >>> exact_quotient([0.1, 0.2, 0.3], 3)
    0.2
    """
    numerator, denominator, non_finite = 0, 1, 0.0
    for value in values:
        if not math.isfinite(value):
            non_finite += value
            continue
        above, below = value.as_integer_ratio()  # below is a power of two
        if below > denominator:
            numerator, denominator = numerator * (below // denominator), below
        numerator += above * (denominator // below)
    if non_finite:  # infinite, or nothing at all where both infinities are there
        return non_finite
    try:
        return numerator / (denominator * divisor)
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def exact_mean(values: Collection[float]) -> float:
    """The mean: the exact sum over n, rounded once, whatever the order. There must be a value.

    >>> exact_mean([0.05, 0.05, 0.05])
    0.05
    """
    return exact_quotient(values, len(values))
