"""Whether two orders of the same things agree: Kendall's tau-b, from whole counts of pairs."""

from __future__ import annotations

import math

import numpy as np

from steelyard.statistics._interval import Ints


def kendall_tau(first: Ints, second: Ints) -> float | None:
    """Kendall's tau-b (1945): pairs in the same order less those in the opposite one, by those that can be either.

    None when all values are equal on one side, or when there is no pair. The same order gives exactly 1.

    >>> kendall_tau(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3]))  # 5 pairs agree and 1 does not: (5 - 1) / 6
    0.6666666666666666
    """
    pairs = math.comb(len(first), 2)
    tied_first, tied_second = _tied(first[None]), _tied(second[None])
    apart_first, apart_second = pairs - tied_first, pairs - tied_second
    if not apart_first or not apart_second:
        return None
    apart = pairs - tied_first - tied_second + _tied(np.stack([first, second]))
    difference = apart - 2 * _opposite(first, second)
    if apart_first == apart_second:
        return difference / apart_first
    return max(-1.0, min(1.0, difference / math.sqrt(apart_first * apart_second)))


def _tied(rows: Ints) -> int:
    """Pairs of columns that are equal."""
    counts = np.unique(rows, axis=1, return_counts=True)[1]
    return sum(math.comb(count, 2) for count in counts.tolist())


def _opposite(first: Ints, second: Ints) -> int:
    """Pairs that stand in opposite orders, found bit by bit.

    In the order of the first, a pair is opposite where a larger value of the second stands before a smaller one. The
    highest bit in which the two differ decides which is larger, and among values with the same higher bits each 0 is
    smaller than every 1 before it.
    """
    values = np.unique(second, return_inverse=True)[1][np.lexsort((second, first))]
    opposite_pairs = 0
    for bit in reversed(range(int(values.max()).bit_length())):
        values = values[np.argsort(values >> (bit + 1), kind="stable")]
        higher, ones = values >> (bit + 1), (values >> bit) & 1
        before = np.cumsum(ones) - ones
        before -= before[np.searchsorted(higher, higher)]
        opposite_pairs += int(before[ones == 0].sum())
    return opposite_pairs
