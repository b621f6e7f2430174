"""Intervals for proportions and other means within bounds, for the most frequent value, and pass@k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy  # its packages are imported on first use

from steelyard.errors import UsageError
from steelyard.statistics._estimates import LEVEL, Floats, Interval, Ints, check_level, no_interval, too_few
from steelyard.statistics._exact_sums import mean_of


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided interval of the level reaches to each side."""
    return float(scipy.special.ndtri(0.5 + check_level(level) / 2))


def wilson_bounds(share: Floats, n: Floats, critical: Floats) -> tuple[Floats, Floats]:
    """Wilson's bounds for many shares at once; `n` may be an effective size and need not be whole."""
    squared = critical**2
    center = (share + squared / (2 * n)) / (1 + squared / n)
    half = critical / (1 + squared / n) * np.sqrt(share * (1 - share) / n + squared / (4 * n**2))
    low = np.where(share == 0, 0.0, np.clip(center - half, 0, 1))
    high = np.where(share == 1, 1.0, np.clip(center + half, 0, 1))
    return low, high


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Interval for a share that stays inside 0 and 1 (Wilson 1927); undefined when n is 0.

    >>> round(wilson(8, 10).low, 2)
    0.49
    """
    if n == 0:
        return no_interval("no value", method="wilson", n=0, clusters=0, level=level)
    share = successes / n
    critical = np.array(normal_quantile(level))
    low, high = wilson_bounds(np.array(share), np.array(float(n)), critical)
    return Interval(
        estimate=share, low=float(low), high=float(high), method="wilson", n=n, clusters=n, confidence=level
    )


def clopper_pearson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Interval for a share with coverage of at least its level, whatever the share (1934).

    >>> interval = clopper_pearson(0, 10)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    """
    if n == 0:
        return no_interval("no value", method="clopper-pearson", n=0, clusters=0, level=level)
    tail = (1 - check_level(level)) / 2
    low = 0.0 if successes == 0 else float(scipy.special.betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(scipy.special.betaincinv(successes + 1, n - successes, 1 - tail))
    return Interval(
        estimate=successes / n, low=low, high=high, method="clopper-pearson", n=n, clusters=n, confidence=level
    )


def at_most_when_none(n: int, *, level: float = LEVEL) -> float:
    """The largest share that is still believable when none of n showed it (the exact rule of three, one-sided).

    >>> round(at_most_when_none(100), 3)
    0.03
    """
    return float(1 - (1 - check_level(level)) ** (1 / n))


def modal_mass(counts: Sequence[int], *, level: float = LEVEL) -> Interval:
    """Interval of the chance of the most likely value, from how often each was seen; it holds at least at its level.

    The value seen most often may be so by luck, and another be the most likely one. If no chance exceeded p, at most
    1 / p values would have it, so one of them is seen k times or more with a chance of at most P(Binomial(n, p) >= k) /
    p: the lower bound is the p at which that is half of what may fail. The upper bound is Clopper and Pearson's.

    >>> interval = modal_mass([5])
    >>> round(interval.low, 3), interval.high  # 0.025 to the power of 1/4
    (0.398, 1.0)
    """
    method, n = "modal-exact", int(sum(counts))
    if n < 2:
        estimate = 1.0 if n else None
        return no_interval(too_few(n), method=method, n=n, clusters=n, level=level, estimate=estimate)
    most = int(max(counts))
    tail = (1 - check_level(level)) / 2

    def excess(chance: float) -> float:
        return float(scipy.special.betainc(most, n - most + 1, chance)) / chance - tail

    low = float(scipy.optimize.brentq(excess, 1e-12, 1.0, xtol=1e-12)) if most > 1 else 0.0
    high = clopper_pearson(most, n, level=level).high
    return Interval(estimate=most / n, low=low, high=high, method=method, n=n, clusters=n, confidence=level)


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
        return no_interval(f"no task has {k} attempts", method=GAFFKE, n=0, clusters=0, level=level)
    return bounded_mean(values, level=level)


GAFFKE = "gaffke"

_FARTHEST = 60.0
"""How far the odds of the search go, as a logarithm: beyond it, limits do not change in any printed digit."""
_STEPS = 100
_CLOSE = 1e-10


def bounded_mean(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    weights: npt.ArrayLike | None = None,
    level: float = LEVEL,
) -> Interval:
    """Interval for a mean of independent values within bounds, one per task, with optional `weights`.

    The upper bound is Gaffke's (2005): what a mean with random weights stays below, the weights spread evenly
    (Dirichlet) over the data and one added value at the upper bound. The lower bound mirrors it. Of zeros and ones it
    is Clopper and Pearson's. It is computed by saddlepoint (Lugannani and Rice 1980), which errs to the wide side.

    >>> interval = bounded_mean([1.0, 1.0, 1.0, 0.8, 1.0])
    >>> round(interval.low, 2), round(interval.high, 3)
    (0.46, 0.999)
    """
    numbers = np.asarray(values, dtype=float)
    heavy = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=float)
    order = np.lexsort((heavy, numbers))
    numbers, heavy = numbers[order], heavy[order]
    n = len(numbers)
    mean = float(np.sum(numbers * heavy) / heavy.sum()) if weights is not None and n else mean_of(numbers)
    if n < 2:
        return no_interval(
            too_few(n), method=GAFFKE, n=n, clusters=n, level=level, estimate=float(numbers[0]) if n else None
        )
    low, high = bounded_limits(numbers, heavy, np.zeros(n, dtype=np.int64), size=1, bounds=bounds, level=level)
    return Interval(
        estimate=mean, low=float(low[0]), high=float(high[0]), method=GAFFKE, n=n, clusters=n, confidence=level
    )


def bounded_limits(
    values: Floats, weights: Floats, groups: Ints, *, size: int, bounds: tuple[float, float], level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The bounds of the weighted mean of each group; every group has a value, and its values come in sorted order.

    Unequal weights count as fewer values, (sum of w)² / sum of w² (Kish 1965), shared out by weight.
    """
    least, most = bounds
    scaled = np.clip((values - least) / (most - least), 0.0, 1.0)
    total = np.bincount(groups, weights=weights, minlength=size)
    squared = np.bincount(groups, weights=weights**2, minlength=size)
    shapes = weights * (total / squared)[groups]
    tail = (1 - check_level(level)) / 2
    high = _upper(scaled, shapes, groups, size, tail)
    low = 1 - _upper(1 - scaled, shapes, groups, size, tail)
    return least + (most - least) * low, least + (most - least) * high


def _upper(values: Floats, shapes: Floats, groups: Ints, size: int, tail: float) -> Floats:
    """The upper bound within 0 and 1 of each group.

    The search is over how far the weights lean to the upper bound, for which limit and chance are explicit: secants
    that stay within a bracket. A group that has settled moves no more, so that no limit depends on other groups.
    """
    target = float(scipy.special.ndtri(1 - tail))
    settled = np.bincount(groups, weights=1 - values, minlength=size) == 0
    limits = np.ones(size)
    below, above = np.full(size, -_FARTHEST), np.full(size, _FARTHEST)
    leaning, before, gap_before = np.zeros(size), np.full(size, np.nan), np.full(size, np.nan)
    for step in range(_STEPS):
        if settled.all():
            break
        limit, deviates = _leaning_to_the_bound(values, shapes, groups, leaning)
        limits = np.where(settled, limits, limit)
        gap = np.log(np.maximum(deviates, 1e-9) / target)
        below, above = np.where(gap < 0, leaning, below), np.where(gap < 0, above, leaning)
        settled |= (np.abs(gap) < _CLOSE) | (above - below < _CLOSE)
        # far from the bound the deviates grow as the odds do
        slope = np.where(gap != gap_before, (leaning - before) / np.where(gap != gap_before, gap - gap_before, 1.0), 0)
        ahead = leaning - gap * (slope if step else 1.0)
        inside = (ahead > below) & (ahead < above)
        before, gap_before = leaning, gap
        leaning = np.where(settled, leaning, np.where(inside, ahead, (below + above) / 2))
    return limits


def _leaning_to_the_bound(values: Floats, shapes: Floats, groups: Ints, leaning: Floats) -> tuple[Floats, Floats]:
    """The limit at which the weights lean so far (log odds), and how unlikely it is to be passed, in normal deviates.

    A value's weight is its shape over 1 - lean x value; that of the artificial value, which is 1, has the shape 1.
    """
    size = len(leaning)
    lean, rest = scipy.special.expit(leaning), scipy.special.expit(-leaning)
    inverse = (1 - values) + values * rest[groups]
    weights = shapes / inverse
    made_up = 1 / rest
    totals = np.bincount(groups, weights=weights, minlength=size) + made_up
    missing = np.bincount(groups, weights=weights * (1 - values), minlength=size) / totals
    scale = missing * lean + rest  # 1 - lean x limit
    logs = np.bincount(groups, weights=shapes * np.log(inverse), minlength=size) + np.log(rest)
    number = np.bincount(groups, weights=shapes, minlength=size) + 1
    apart = (missing[groups] - (1 - values)) ** 2 * weights / inverse
    spread = np.bincount(groups, weights=apart, minlength=size) + (missing * made_up) ** 2
    signed = np.sqrt(np.maximum(2 * (logs - number * np.log(scale)), 0.0))
    known = signed > 1e-6
    safe = np.where(known, signed, 1.0)
    plain = np.where(known, lean * np.sqrt(spread), 1.0)
    return 1 - missing, signed + np.where(known, np.log(plain / safe) / safe, 0.0)
