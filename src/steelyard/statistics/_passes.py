"""pass@k and pass^k: at least one of k attempts passes, and all k pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from steelyard.errors import UsageError
from steelyard.statistics._bounded_means import METHOD, bounded_mean
from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._interval import no_interval


def _check(attempts: int, passed: int, k: int) -> None:
    if k < 1:
        raise UsageError(f"k must be at least 1 (got {k})", hint="set k to 1 or more")
    if not 0 <= passed <= attempts:
        raise UsageError(f"passed must be between 0 and {attempts} attempts (got {passed})", hint="correct the counts")


@lru_cache(maxsize=4096)  # tasks repeat the same few counts
def pass_at_k(attempts: int, passed: int, k: int) -> float | None:
    """Probability that at least one of k attempts drawn from these passes: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021).

    Unbiased and exact for any k; None when there are fewer than k attempts.

    >>> pass_at_k(5, 2, 2)  # 1 - 3/10
    0.7
    """
    _check(attempts, passed, k)
    if attempts < k:
        return None
    return float(1 - Fraction(math.comb(attempts - passed, k), math.comb(attempts, k)))


@lru_cache(maxsize=4096)
def pass_all_k(attempts: int, passed: int, k: int) -> float | None:
    """Probability that all of k attempts drawn from these pass, pass^k: C(c, k) / C(n, k) (Yao et al. 2024).

    >>> pass_all_k(5, 2, 2)
    0.1
    """
    _check(attempts, passed, k)
    if attempts < k:
        return None
    return float(Fraction(math.comb(passed, k), math.comb(attempts, k)))


def passes_over_tasks(
    attempts: Sequence[int], passed: Sequence[int], k: int, *, all_of_them: bool = False, level: float = LEVEL
) -> Interval:
    """Mean pass@k (or pass^k) over tasks with its interval; tasks with fewer than k attempts are left out.

    The interval is that of a mean between 0 and 1, so of pass@1 it is the pass rate's own.
    """
    pass_chance = pass_all_k if all_of_them else pass_at_k
    values = [value for n, c in zip(attempts, passed, strict=True) if (value := pass_chance(n, c, k)) is not None]
    if not values:
        return no_interval(f"no task has {k} attempts", method=METHOD, n=0, clusters=0, level=level)
    return bounded_mean(values, level=level)
