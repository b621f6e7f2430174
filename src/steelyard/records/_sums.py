"""Totals that have the same bits on every Python."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def sum_in_order(values: Iterable[float]) -> float:
    """The sum from left to right, rounded at every step; whole numbers give a whole number, and no numbers 0.

    From Python 3.12 on the builtin `sum` makes up for the rounding of floats, so its last digits depend on the
    interpreter.

    >>> sum_in_order([0.1] * 10)
    0.9999999999999999
    """
    return reduce(add, values, 0)
