"""Rank correlation (Kendall, Spearman) and the Kruskal-Wallis test, in integer arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import scipy  # its packages are imported on first use

from steelyard.statistics._estimates import Floats, Ints, KruskalWallis


def spearman_rho(first: Floats | Ints, second: Floats | Ints) -> float | None:
    """Spearman's rho (1904): the correlation of ranks, equal values sharing the mean of their ranks.

    None when all values are equal on one side, or when there are fewer than two. The same order gives exactly 1.

    >>> spearman_rho(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3]))  # squared gaps add up to 2: 1 - 6 x 2 / (4 x 15)
    0.8
    """
    # twice the mean rank is n + 1 on either side
    a, b = ([int(rank) - len(side) - 1 for rank in doubled_ranks(side)] for side in (first, second))
    spread_a, spread_b = sum(x * x for x in a), sum(y * y for y in b)
    if not spread_a or not spread_b:
        return None
    together = sum(x * y for x, y in zip(a, b, strict=True))
    if spread_a == spread_b:
        return together / spread_a
    return max(-1.0, min(1.0, together / math.sqrt(spread_a * spread_b)))


def kendall_tau(first: Floats | Ints, second: Floats | Ints) -> float | None:
    """Kendall's tau-b (1945): pairs in the same order less those in the opposite one, by those that can be either.

    None when all values are equal on one side, or when there is no pair. The same order gives exactly 1.

    >>> kendall_tau(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3]))  # 5 pairs agree and 1 does not: (5 - 1) / 6
    0.6666666666666666
    """
    pairs = math.comb(len(first), 2)
    tied_first, tied_second = _tied(first), _tied(second)
    apart_first, apart_second = pairs - tied_first, pairs - tied_second
    if not apart_first or not apart_second:
        return None
    apart = pairs - tied_first - tied_second + _tied(first, second)
    difference = apart - 2 * _opposite(first, second)
    if apart_first == apart_second:
        return difference / apart_first
    return max(-1.0, min(1.0, difference / math.sqrt(apart_first * apart_second)))


def _tied(*sides: Floats | Ints) -> int:
    """Pairs that are equal on all sides."""
    counts = np.unique(np.stack(sides), axis=1, return_counts=True)[1]
    return sum(math.comb(count, 2) for count in counts.tolist())


def _opposite(first: Floats | Ints, second: Floats | Ints) -> int:
    """Count discordant pairs, bit by bit.

    In the order of the first, a pair is opposite where a larger value of the second is before a smaller one. The
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


def kruskal_wallis(values: npt.ArrayLike, groups: Sequence[object]) -> KruskalWallis:
    """Whether the values of the groups are of one distribution (Kruskal and Wallis 1952); NaN is left out.

    H is computed in whole numbers and rounded once, so the order of values does not matter. It takes all values to be
    independent; the chi-square distribution is near enough from about five values a group on.

    >>> kruskal_wallis([1, 2, 3, 4], ["a", "a", "b", "b"]).h  # 12 / (4 x 5) x (3² / 2 + 7² / 2) - 3 x 5
    2.4
    """
    scores = np.asarray(values, dtype=float)
    known = ~np.isnan(scores)
    names = [group for group, has_value in zip(groups, known.tolist(), strict=True) if has_value]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    n = len(names)
    reason = None
    if len(numbers) < 2:
        reason = "only one group" if numbers else "no value"
    elif len(np.unique(scores[known])) == 1:
        reason = "all values are equal"
    elif len(numbers) == n:
        reason = "every group has only one value"
    if reason is not None:
        return KruskalWallis(h=None, df=None, p_value=None, groups=len(numbers), n=n, reason=reason)
    h = float(_h(scores[known], np.array([numbers[name] for name in names])))
    df = len(numbers) - 1
    return KruskalWallis(h=h, df=df, p_value=float(scipy.special.chdtrc(df, h)), groups=len(numbers), n=n)


def _h(values: npt.NDArray[np.float64], codes: npt.NDArray[np.int64]) -> Fraction:
    n = len(values)
    ranks = doubled_ranks(values)
    sizes = np.bincount(codes).tolist()
    rank_sums = [0] * len(sizes)
    for code, rank in zip(codes.tolist(), ranks.tolist(), strict=True):
        rank_sums[code] += rank
    squares = sum((Fraction(total * total, 4 * size) for total, size in zip(rank_sums, sizes, strict=True)), Fraction())
    uncorrected = Fraction(12, n * (n + 1)) * squares - 3 * (n + 1)
    ties = sum(count**3 - count for count in np.unique(values, return_counts=True)[1].tolist())
    return uncorrected / (1 - Fraction(ties, n**3 - n))


def doubled_ranks(values: Floats | Ints) -> Ints:
    """Twice the rank of each value, equal ones sharing the mean of their ranks: always whole.

    >>> doubled_ranks(np.array([0.5, 0.1, 0.5])).tolist()  # ranks 2.5, 1, 2.5
    [5, 2, 5]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[places], dtype=np.int64)
