"""Paired differences between two configurations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import structs
from scipy import special

from steelyard.statistics._bootstrap import bca_bounds, on_grid, percentile_bounds, resampled_sums
from steelyard.statistics._estimates import LEVEL, RESAMPLES, SEED, Interval, Significance
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._interval import Floats, no_interval
from steelyard.statistics._means import student_quantile
from steelyard.statistics._proportions import normal_quantile
from steelyard.statistics._skewed_means import skewed_bounds

ENUMERATED_UP_TO = 16
"""Up to this many tasks that differ, every pattern of signs is tried; above, random ones."""

BLOCK = 8_000_000

MIN_RESAMPLED_TASKS = 10
"""Minimum number of tasks to resample for the interval for a ratio."""


def paired_t(differences: npt.ArrayLike, *, level: float = LEVEL) -> tuple[Interval, Significance]:
    """Student's interval and test for the mean of differences, one a task.

    >>> interval, test = paired_t([0.1, 0.3, 0.2, 0.4])
    >>> round(interval.low, 3), round(test.p_value, 3)
    (0.045, 0.03)
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    reason = None
    if n < 2:
        reason = f"{n} task{'s' if n != 1 else ''} in common; at least two are needed"
    elif np.ptp(gaps) == 0:
        reason = "the difference is the same on every task, so its variance cannot be estimated"
    if reason is not None:
        estimate = float(gaps[0]) if n else None
        interval = no_interval(reason, method="paired-t", n=n, clusters=n, level=level, estimate=estimate)
        return interval, Significance(p_value=None, statistic=None, method="paired-t", n=n, clusters=n, reason=reason)
    mean = mean_of(gaps)
    error = float(gaps.std(ddof=1) / math.sqrt(n))
    half = float(student_quantile(level, n - 1)) * error
    statistic = mean / error
    p_value = float(2 * special.stdtr(n - 1, -abs(statistic)))
    return (
        Interval(
            estimate=mean, low=mean - half, high=mean + half, method="paired-t", n=n, clusters=n, confidence=level
        ),
        Significance(p_value=p_value, statistic=statistic, method="paired-t", n=n, clusters=n),
    )


def widened_for_skew(interval: Interval, differences: npt.ArrayLike) -> Interval:
    """The interval with room for the skew of differences that nothing bounds: Hall's bounds, where they are wider."""
    gaps = np.sort(np.asarray(differences, dtype=float))
    if interval.low is None or interval.high is None or len(gaps) < 2 or np.ptp(gaps) == 0:
        return interval
    rows = gaps, np.ones(len(gaps)), np.zeros(len(gaps), dtype=np.int64)
    limits = skewed_bounds(*rows, size=1, floor=-math.inf, level=interval.confidence)
    low, high = min(interval.low, float(limits[0][0])), max(interval.high, float(limits[1][0]))
    return structs.replace(interval, low=low, high=high, method=f"{interval.method}+hall")


def paired_plus_two(differences: npt.ArrayLike, *, span: float | None = None, level: float = LEVEL) -> Interval:
    """Return Student's interval after adding one pseudo-observation for each side.

    For when few tasks differ and the spread seen is too small to trust. The pseudo-observations differ as much as those
    that do (root mean square), or by `span`, the most a difference can be, where none does. For single attempts this
    is the adjustment of Bonett and Price. No interval where no task differs and a difference has no bound.
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    seen = gaps[gaps != 0]
    size = float(np.sqrt(np.mean(seen**2))) if len(seen) else span
    if n == 0 or size is None:
        reason = "no task differs, so the variance cannot be estimated" if n else "no task in common"
        estimate = 0.0 if n else None
        return no_interval(reason, method="paired-t+2", n=n, clusters=n, level=level, estimate=estimate)
    widened = np.sort(np.append(gaps, [-size, size]))
    center = float(widened.mean())
    half = float(student_quantile(level, n + 1) * widened.std(ddof=1) / math.sqrt(n + 2))
    reach = span if span is not None else math.inf
    return Interval(
        estimate=mean_of(gaps),
        low=max(center - half, -reach),
        high=min(center + half, reach),
        method="paired-t+2",
        n=n,
        clusters=n,
        confidence=level,
    )


def sign_flip(differences: npt.ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED) -> Significance:
    """Permutation test of the mean difference: without a difference each task's sign is a coin toss (Fisher 1935).

    Exact when both sides made the same number of attempts at a task, else nearly so. Up to 16 differing tasks all
    patterns of signs are tried; above, random ones, the data counted among them.
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    p_values, exact = sign_flip_many(gaps[:, None], resamples=resamples, seed=seed)
    n = len(gaps)
    if n == 0:
        reason = "no task in common"
        return Significance(p_value=None, statistic=None, method="sign-flip", n=0, clusters=0, reason=reason)
    return Significance(
        p_value=float(p_values[0]),
        statistic=mean_of(gaps),
        method="sign-flip",
        n=n,
        clusters=n,
        seed=None if exact else seed,
        resamples=None if exact else resamples,
    )


def sign_flip_many(differences: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[Floats, bool]:
    """Two-sided p-values of many columns of differences, and whether all patterns of signs were tried."""
    used = differences[np.any(differences != 0, axis=1)]
    used = on_grid(used, max(len(used), 2))
    # sums that are equal on paper may differ in the last bits; they count as equal
    observed = np.abs(used.sum(axis=0)) - 1e-9 * np.abs(used).sum(axis=0)
    if len(used) <= ENUMERATED_UP_TO:
        patterns = np.arange(2 ** len(used))[:, None] >> np.arange(len(used))[None, :] & 1
        reached = np.abs((1.0 - 2.0 * patterns) @ used) >= observed
        return reached.mean(axis=0), True
    random = np.random.default_rng(seed)
    rows = max(1, min(resamples, BLOCK // len(used)))
    reached_count = np.zeros(used.shape[1])
    for start in range(0, resamples, rows):
        size = (min(rows, resamples - start), len(used))
        signs = 1.0 - 2.0 * random.integers(0, 2, size=size, dtype=np.int8)
        reached_count += np.count_nonzero(np.abs(signs @ used) >= observed, axis=0)
    return (reached_count + 1) / (resamples + 1), False


def mcnemar_exact(only_a: int, only_b: int) -> Significance:
    """Exact test for single attempts: whether tasks that one side alone passes are split evenly (McNemar 1947).

    >>> round(mcnemar_exact(1, 7).p_value, 4)
    0.0703
    """
    n = only_a + only_b
    p_value = 1.0 if n == 0 else min(1.0, 2 * float(special.bdtr(min(only_a, only_b), n, 0.5)))
    return Significance(p_value=p_value, statistic=float(only_b - only_a), method="mcnemar-exact", n=n, clusters=n)


def paired_proportions(only_a: int, only_b: int, n: int, *, level: float = LEVEL) -> Interval:
    """Interval for share B - share A on n tasks tried once by each (Bonett and Price 2012).

    One task is added to each kind of disagreement, which keeps the interval honest when there is little or none.
    """
    if n == 0:
        return no_interval("no task in common", method="bonett-price", n=0, clusters=0, level=level)
    critical = normal_quantile(level)
    a, b = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    center = b - a
    half = critical * math.sqrt((a + b - center**2) / (n + 2))
    return Interval(
        estimate=(only_b - only_a) / n,
        low=max(center - half, -1.0),
        high=min(center + half, 1.0),
        method="bonett-price",
        n=n,
        clusters=n,
        confidence=level,
    )


def paired_bootstrap(
    differences: npt.ArrayLike,
    *,
    method: str = "bca",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval for a mean difference by resampling tasks, by `percentile` or `bca`."""
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    if n < 2:
        reason = f"{n} task{'s' if n != 1 else ''} in common; at least two are needed"
        return no_interval(reason, method=method, n=n, clusters=n, level=level)
    low, high = bootstrap_columns(gaps[:, None], method=method, level=level, resamples=resamples, seed=seed)
    return Interval(
        estimate=mean_of(gaps),
        low=float(low[0]),
        high=float(high[0]),
        method=method,
        n=n,
        clusters=n,
        confidence=level,
        seed=seed,
        resamples=resamples,
    )


def bootstrap_columns(
    columns: Floats,
    *,
    method: str = "bca",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Floats, Floats]:
    """Bounds of the mean of each column, from the same resamples of rows."""
    n = len(columns)
    exact = on_grid(columns, n)
    resampled = resampled_sums(exact, resamples=resamples, seed=seed)
    if method == "percentile":
        low, high = percentile_bounds(resampled, level=level)
        return low / n, high / n
    total = exact.sum(axis=0)
    left_out = (total - exact) / (n - 1)
    low, high = bca_bounds(resampled, total, left_out, level=level)
    return low / n, high / n


def all_pairs(
    scores: Floats,
    *,
    method: str = "percentile",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Floats, Floats, Floats]:
    """Mean differences of all pairs of agents and their bounds, from one set of resamples of tasks.

    `scores` holds one row a task and one column an agent. Entry (i, j) of each result is about agent j minus agent i.
    The resamples are made once and shared; pairs cost a subtraction.
    """
    tasks, agents = scores.shape
    exact = on_grid(scores, tasks)
    resampled = resampled_sums(exact, resamples=resamples, seed=seed)
    means = exact.sum(axis=0) / tasks
    low = np.zeros((agents, agents))
    high = np.zeros((agents, agents))
    for agent in range(agents - 1):
        others = slice(agent + 1, agents)
        total = exact[:, others].sum(axis=0) - exact[:, agent].sum()
        # every pair is looked at from its loser's side, so that the order of agents moves no bit
        side = np.where(total < 0, -1.0, 1.0)
        gaps = side * (resampled[:, others] - resampled[:, agent : agent + 1])
        if method == "percentile":
            bounds = percentile_bounds(gaps, level=level)
        else:
            left_out = side * total - side * (exact[:, others] - exact[:, agent : agent + 1])
            bounds = bca_bounds(gaps, side * total, left_out / (tasks - 1), level=level)
        least, most = bounds[0] / tasks, bounds[1] / tasks
        low[agent, others], high[agent, others] = np.where(side > 0, least, -most), np.where(side > 0, most, -least)
        low[others, agent], high[others, agent] = -high[agent, others], -low[agent, others]
    return means[None, :] - means[:, None], low, high


def paired_ratios(
    a: tuple[Floats, Floats],
    b: tuple[Floats, Floats],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Interval, Significance]:
    """Difference of two ratios of means over the same tasks, B - A: an interval and a test.

    Each side is a numerator and a denominator, one number per task. The interval resamples tasks (percentile); the test
    swaps A and B within tasks at random, which changes nothing if there is no difference.
    """
    columns = np.column_stack([*a, *b])
    n = len(columns)
    estimate = _ratio_gap(columns.sum(axis=0)[None])[0] if n else None
    reason = None
    if n < MIN_RESAMPLED_TASKS:
        tasks = "1 task in common is" if n == 1 else f"{n} tasks in common are"
        reason = f"{tasks} too few to resample; {MIN_RESAMPLED_TASKS} are needed"
        estimate = estimate if estimate is not None and np.isfinite(estimate) else None
    elif estimate is not None and not np.isfinite(estimate):
        reason = "the denominator of one side is 0 on the shared tasks"
        estimate = None
    if reason is not None or estimate is None:
        known = None if estimate is None else float(estimate)
        return (
            no_interval(reason or "", method="percentile", n=n, clusters=n, level=level, estimate=known),
            Significance(p_value=None, statistic=None, method="swap", n=n, clusters=n, reason=reason),
        )
    exact = on_grid(columns, n)
    gaps = _ratio_gap(resampled_sums(exact, resamples=resamples, seed=seed))
    non_finite = int(np.count_nonzero(~np.isfinite(gaps)))
    interval = _percentile_of_gaps(gaps, float(estimate), n=n, level=level, resamples=resamples, seed=seed)
    if non_finite > (1 - level) / 2 * resamples:
        reason = "in many resamples the denominator of one side is 0, so its ratio is unbounded"
        interval = no_interval(reason, method="percentile", n=n, clusters=n, level=level, estimate=float(estimate))
    test = Significance(
        p_value=_swapped(exact, abs(float(estimate)), resamples=resamples, seed=seed),
        statistic=float(estimate),
        method="swap",
        n=n,
        clusters=n,
        seed=seed,
        resamples=resamples,
    )
    return interval, test


def swap_ratios(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], *, resamples: int = RESAMPLES, seed: int = SEED
) -> float | None:
    """The p-value of that test alone; None where tasks are too few or one side has nothing to divide by."""
    columns = np.column_stack([*a, *b])
    estimate = float(_ratio_gap(columns.sum(axis=0)[None])[0])
    if len(columns) < MIN_RESAMPLED_TASKS or not np.isfinite(estimate):
        return None
    return _swapped(on_grid(columns, len(columns)), abs(estimate), resamples=resamples, seed=seed)


def _percentile_of_gaps(gaps: Floats, estimate: float, *, n: int, level: float, resamples: int, seed: int) -> Interval:
    finite = np.where(np.isnan(gaps), np.inf, gaps)
    low, high = percentile_bounds(finite[:, None], level=level)
    return Interval(
        estimate=estimate,
        low=float(low[0]),
        high=float(high[0]),
        method="percentile",
        n=n,
        clusters=n,
        confidence=level,
        seed=seed,
        resamples=resamples,
    )


def _ratio_gap(sums: Floats) -> Floats:
    """B's ratio minus A's for rows of (a above, a below, b above, b below); infinite or NaN without a denominator."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1], dtype=float)


def _swapped(columns: Floats, observed: float, *, resamples: int, seed: int) -> float:
    """How often random swaps reach what was observed, the observation itself counted."""
    random = np.random.default_rng(seed)
    n = len(columns)
    total, turned = columns.sum(axis=0), columns[:, [2, 3, 0, 1]]
    change = on_grid(turned - columns, n)
    rows = max(1, min(resamples, BLOCK // n))
    reached = 0
    for start in range(0, resamples, rows):
        swapped = random.integers(0, 2, size=(min(rows, resamples - start), n), dtype=np.int8).astype(float)
        gaps = _ratio_gap(total + swapped @ change)
        # a swap that leaves one side without success is as extreme as can be
        reached += int(np.count_nonzero(~(np.abs(gaps) < observed - 1e-9 * max(observed, 1e-300))))
    return (reached + 1) / (resamples + 1)
