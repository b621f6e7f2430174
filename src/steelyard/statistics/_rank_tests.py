"""Kruskal-Wallis test."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.statistics._concordance import doubled_ranks
from steelyard.statistics._estimates import KruskalWallis


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
    return KruskalWallis(h=h, df=df, p_value=float(special.chdtrc(df, h)), groups=len(numbers), n=n)


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
