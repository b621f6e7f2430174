"""Comparison of two configurations over common tasks: intervals, tests and effect sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # its packages are imported on first use

from steelyard.statistics._bootstrap import bca_bounds, on_grid, percentile_bounds, resampled_sums
from steelyard.statistics._estimates import (
    LEVEL,
    RESAMPLES,
    SEED,
    Floats,
    Interval,
    Ints,
    Significance,
    check_level,
    no_interval,
)
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._means import student_quantile
from steelyard.statistics._proportions import normal_quantile

ENUMERATED_UP_TO = 16
"""Up to this many tasks that differ, every pattern of signs is tried; above, random ones."""

BLOCK = 8_000_000

MIN_RESAMPLED_TASKS = 10
"""Minimum number of tasks to resample."""


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
    p_value = float(2 * scipy.special.stdtr(n - 1, -abs(statistic)))
    return (
        Interval(
            estimate=mean, low=mean - half, high=mean + half, method="paired-t", n=n, clusters=n, confidence=level
        ),
        Significance(p_value=p_value, statistic=statistic, method="paired-t", n=n, clusters=n),
    )


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
    p_value = 1.0 if n == 0 else min(1.0, 2 * float(scipy.special.bdtr(min(only_a, only_b), n, 0.5)))
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
    exact = on_grid(gaps[:, None], n)
    resampled, total = resampled_sums(exact, resamples=resamples, seed=seed), exact.sum(axis=0)
    if method == "percentile":
        low, high = percentile_bounds(resampled, level=level)
    else:
        low, high = bca_bounds(resampled, total, (total - exact) / (n - 1), level=level)
    return Interval(
        estimate=mean_of(gaps),
        low=float(low[0]) / n,
        high=float(high[0]) / n,
        method=method,
        n=n,
        clusters=n,
        confidence=level,
        seed=seed,
        resamples=resamples,
    )


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


MIN_DIFFERING = 4
"""With single attempts, minimum number of tasks that differ for Student's t without pseudo-observations."""
MAX_ATTEMPT_RATIO = 2.5
"""Above this mean ratio of attempts between the sides, the differences over tasks do not keep their level: type I error
at most 5.7% up to 2 vs. 5 attempts, but 6.7% for 1 vs. 3 and 8.6% for 1 vs. 5."""


class RowTests(NamedTuple):
    """Limits and two-sided p-values, one per data set."""

    low: Floats
    high: Floats
    p_value: Floats


class Moments(NamedTuple):
    """What the tests need to know of the differences of each data set."""

    tasks: int
    total: Floats
    """Sum over tasks."""
    squares: Floats
    """Sum of squares over tasks."""
    differing: Floats
    """Number of tasks that differ."""
    alike: npt.NDArray[np.bool_]
    """Whether all differences are equal."""


def moments_of(differences: Floats) -> Moments:
    """Return the moments of data sets (rows) of tasks (columns)."""
    return Moments(
        differences.shape[1],
        differences.sum(axis=1),
        (differences**2).sum(axis=1),
        np.count_nonzero(differences, axis=1).astype(float),
        np.ptp(differences, axis=1) == 0,
    )


def quantum_of(attempts_a: npt.ArrayLike, attempts_b: npt.ArrayLike, *, span: float = 1.0) -> float:
    """Return the squared step of a task's difference: the mean over tasks of span^2 / (attempts of A x attempts of B).

    0 if every task has a single attempt on both sides, for which `paired_mean` has another rule. For very unequal
    attempts (`unequal_attempts`) that of `margin_quantum`.

    >>> quantum_of([2, 2], [2, 2])
    0.25
    """
    products = np.asarray(attempts_a, dtype=float) * np.asarray(attempts_b, dtype=float)
    if unequal_attempts(attempts_a, attempts_b):
        return margin_quantum(attempts_a, attempts_b, span=span)
    return 0.0 if np.all(products == 1) else float(np.mean(span**2 / np.sort(products)))


MARGIN_STEPS = 2.0
"""Squared steps added to a test against a margin: the differences are skewed there, so one step passes up to 5.7%."""
UNEQUAL_STEPS = 3.0
"""Squared steps added if attempts differ by more than 1.5 times: the side with few may pass all by chance."""


def margin_quantum(attempts_a: npt.ArrayLike, attempts_b: npt.ArrayLike, *, span: float = 1.0) -> float:
    """Return the squared step for a test against a difference other than 0, such as a margin of non-inferiority.

    2 span^2 / attempts^2, with the smaller number of both sides; 3 if they differ by more than 1.5 times. With it, a
    rule exactly at its limit passes in 3% or less (pass rates of 0.5 to 0.98, 10 to 100 tasks, 1 to 10 attempts).

    >>> margin_quantum([2, 2], [2, 2]), margin_quantum([1, 1], [5, 5])
    (0.5, 3.0)
    """
    a, b = np.asarray(attempts_a, dtype=float), np.asarray(attempts_b, dtype=float)
    steps = MARGIN_STEPS if np.mean(np.maximum(a, b) / np.minimum(a, b)) <= 1.5 else UNEQUAL_STEPS
    return float(np.mean(np.sort(steps * span**2 / np.minimum(a, b) ** 2)))


def unequal_attempts(attempts_a: npt.ArrayLike, attempts_b: npt.ArrayLike) -> bool:
    """Whether attempts differ so much between the sides that a permutation within tasks must confirm the result."""
    a, b = np.asarray(attempts_a, dtype=float), np.asarray(attempts_b, dtype=float)
    return bool(np.mean(np.maximum(a, b) / np.minimum(a, b)) > MAX_ATTEMPT_RATIO)


def paired_mean_rows(moments: Moments, *, quantum: float, span: float = 1.0, level: float = LEVEL) -> RowTests:
    """Return limits and p-values for the mean difference of many data sets; see `paired_mean`."""
    n = moments.tasks
    if quantum > 0:
        return _student(moments.total, moments.squares + quantum, n, span=span, level=level)
    plain = _student(moments.total, moments.squares, n, span=span, level=level)
    size = np.where(moments.differing > 0, moments.squares / np.maximum(moments.differing, 1), span**2)
    added = _student(moments.total, moments.squares + 2 * size, n + 2, span=span, level=level)
    use_plain = (moments.differing >= MIN_DIFFERING) & ~moments.alike
    return RowTests(*(np.where(use_plain, one, other) for one, other in zip(plain, added, strict=True)))


def _student(total: Floats, squares: Floats, n: int, *, span: float, level: float) -> RowTests:
    mean = total / n
    error = np.sqrt(np.maximum(squares - total * mean, 0.0) / (n - 1) / n)
    half = student_quantile(level, n - 1) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.where(
            error > 0, 2 * scipy.special.stdtr(n - 1, -np.abs(mean / error)), np.where(mean == 0, 1.0, 0.0)
        )
    return RowTests(np.maximum(mean - half, -span), np.minimum(mean + half, span), p_value)


def paired_mean(
    differences: npt.ArrayLike, *, quantum: float, span: float = 1.0, level: float = LEVEL
) -> tuple[Interval, Significance]:
    """Return the interval and test of the mean of task differences in -span to span, both from one statistic.

    Pass rates of few attempts move in steps of 1 / attempts, so the spread seen on few tasks is often too small,
    sometimes 0. Both rules add spread where that happens.

    Several attempts (`quantum` from `quantum_of`): Student's t with one squared step added to the sum of squares,
    se = sqrt((sum((g - mean)^2) + quantum) / (n - 1) / n). Single attempts (quantum 0): Student's t if at least four
    tasks differ and not all alike, else t after adding two pseudo-observations at plus and minus the root mean square
    of the differences other than 0 (`span` if there is none). Both limits and the p-value come from the same statistic,
    so p <= 1 - level if and only if the interval excludes 0. No width of 0 occurs. Missing below two tasks.

    >>> interval, test = paired_mean([0.5, 0.5, 0.0, 0.5, 0.5, 0.0], quantum=0.25)
    >>> round(interval.low, 3), round(interval.high, 3), round(test.p_value, 3)
    (-0.025, 0.692, 0.062)
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    method = "paired-t+step" if quantum > 0 else "paired-t"
    if n < 2:
        reason = f"{n} task{'s' if n != 1 else ''} in common; at least two are needed"
        estimate = float(gaps[0]) if n else None
        interval = no_interval(reason, method=method, n=n, clusters=n, level=level, estimate=estimate)
        return interval, Significance(p_value=None, statistic=None, method=method, n=n, clusters=n, reason=reason)
    moments = moments_of(gaps[None])
    if quantum <= 0 and (moments.differing[0] < MIN_DIFFERING or moments.alike[0]):
        method = "paired-t+2"
    low, high, p_value = (float(part[0]) for part in paired_mean_rows(moments, quantum=quantum, span=span, level=level))
    mean = mean_of(gaps)
    return (
        Interval(
            # the estimate is rounded once, the limits are not
            estimate=mean,
            low=min(low, mean),
            high=max(high, mean),
            method=method,
            n=n,
            clusters=n,
            confidence=level,
        ),
        Significance(p_value=p_value, statistic=mean, method=method, n=n, clusters=n),
    )


def permutation_limits(observed: float, permuted: Floats, *, level: float = LEVEL) -> tuple[float, float, float]:
    """Return the limits and two-sided p-value of a difference from its permutation distribution under no difference.

    The half width is the order statistic of |permuted| that makes both agree: the interval excludes 0 if and only if
    p = (1 + #{|permuted| >= |observed|}) / (1 + permutations) is at most 1 - level. Infinite limits if there are too
    few permutations to reach it. Values that differ by rounding count as equal.

    >>> permutation_limits(0.5, np.linspace(-0.4, 0.4, 99))[2]
    0.01
    """
    sizes = np.sort(np.where(np.isnan(permuted), np.inf, np.abs(permuted)))[::-1]
    slack = 1e-9 * max(abs(observed), 1e-300)
    p_value = (1 + int(np.count_nonzero(sizes >= abs(observed) - slack))) / (len(sizes) + 1)
    allowed = int(np.floor((1 - level) * (len(sizes) + 1) + 1e-9)) - 1
    if allowed < 0:
        return -np.inf, np.inf, p_value
    half = float(sizes[allowed]) + slack if allowed < len(sizes) else 0.0
    return observed - half, observed + half, p_value


_MAX_CELLS = 50_000_000
"""Runs permuted at most; with more runs there are fewer permutations, but at least 999."""
_CELLS_AT_ONCE = 4_000_000


def permuted_sums(
    columns: Floats,
    tasks: Ints,
    on_b: npt.NDArray[np.bool_],
    *,
    by_task: bool,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Floats, Floats]:
    """Return the sums of each side over tasks: observed (side, column) and permuted (permutation, side, column).

    Runs are permuted between the sides within tasks, preserving each side's number of attempts. Under the null
    hypothesis every such permutation is as likely as the observed one, however skewed the values and however unequal
    the attempts: the mean of many attempts at a skewed cost is above that of one more often than not.

    `columns` has one row a run. By task each task adds its mean, else the sum of its runs. Neither the order of runs
    nor the names of tasks change a bit.
    """
    made = min(resamples, max(999, _MAX_CELLS // max(len(columns), 1)))
    random = np.random.default_rng(seed)
    size = int(tasks.max()) + 1
    attempts = np.stack([np.bincount(tasks[~on_b], minlength=size), np.bincount(tasks[on_b], minlength=size)])
    fewer = int(attempts[1].sum() < attempts[0].sum())
    seen, permuted = np.zeros((2, columns.shape[1])), np.zeros((made, 2, columns.shape[1]))
    for counts in np.unique(attempts, axis=1).T:
        if not counts.all():
            continue
        alike = np.flatnonzero((attempts == counts[:, None]).all(axis=0))
        divisors = counts.astype(float) if by_task else np.ones(2)
        table, own = _table(columns, tasks, on_b, alike, int(counts.sum()))
        whole = table.sum(axis=1)
        mine = (table * (own == fewer)[:, :, None]).sum(axis=1)
        parts = np.stack([whole - mine, mine] if fewer else [mine, whole - mine])
        seen += parts.sum(axis=1) / divisors[:, None]
        picked = _picked(random, table, int(counts[fewer]), made)
        rest = whole.sum(axis=0) - picked
        both = np.stack([rest, picked] if fewer else [picked, rest], axis=1)
        permuted += both / divisors[:, None]
    return seen, permuted


def _table(
    columns: Floats, tasks: Ints, on_b: npt.NDArray[np.bool_], alike: Ints, attempts: int
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The runs of tasks tried equally often, (task, run, column) in the order of their values, and which are of B."""
    rows = np.flatnonzero(np.isin(tasks, alike))
    order = rows[np.lexsort((on_b[rows], *columns[rows].T[::-1], tasks[rows]))]
    table = columns[order].reshape(len(alike), attempts, columns.shape[1])
    sides = on_b[order].reshape(len(alike), attempts)
    flat = np.concatenate([table.reshape(len(alike), -1), sides], axis=1)
    by_value = np.lexsort(flat.T[::-1])
    return table[by_value], sides[by_value]


def _picked(random: np.random.Generator, table: Floats, wanted: int, made: int) -> Floats:
    """Return, for each permutation, the sum of the runs assigned to the side with this many per task."""
    tasks, attempts, width = table.shape
    rows = max(1, _CELLS_AT_ONCE // (tasks * attempts))
    sums = np.empty((made, width))
    task = np.arange(tasks)[None, :, None]
    for start in range(0, made, rows):
        block = min(rows, made - start)
        keys = random.random((block, tasks, attempts), dtype=np.float32)
        chosen = np.argpartition(keys, wanted - 1, axis=2)[:, :, :wanted] if wanted > 1 else keys.argmin(2)[:, :, None]
        sums[start : start + block] = table[task, chosen].sum(axis=(1, 2))
    return sums


CLUSTER_SIGN_FLIP = "sign-flip-clusters"
MIN_CLUSTERS = 8
"""Minimum number of clusters known from a format for which a claim must also be significant over clusters."""


def effective_clusters(sizes: npt.ArrayLike) -> float:
    """Return the number of equal clusters that are worth as much: 1 / sum(fraction of tasks^2) (Kish 1965).

    >>> effective_clusters([10, 10, 10, 10]), round(effective_clusters([46] + [5] * 11), 1)
    (4.0, 4.3)
    """
    numbers = np.sort(np.asarray(sizes, dtype=float))
    return float(numbers.sum() ** 2 / (numbers**2).sum())


def cluster_sign_flip(
    differences: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Interval, Significance]:
    """Return the interval and test of the mean of task differences whose tasks come in clusters (repositories).

    Without a difference, the sign of each cluster's sum is a coin toss, whatever the dependence inside the cluster. A
    shift c of all tasks is rejected like no difference after subtracting c. Under one pattern of signs let P and M be
    the mean over tasks of the clusters that keep and that change their sign. The pattern reaches the observed sum if
    and only if c is between P and M, so the limits are order statistics of the smaller and of the larger of both over
    all patterns.

    All patterns of signs up to 16 clusters, else random ones with the observed pattern among them. p <= 1 - level if
    and only if the interval excludes 0. With n clusters p is at least 2 / 2^n, so at 95% the limits are infinite for
    five clusters or fewer. `Interval.n` counts tasks. Missing below two clusters.
    """
    gaps, labels = np.asarray(differences, dtype=float), np.asarray(clusters)
    _, codes = np.unique(labels, return_inverse=True)
    order = np.lexsort((gaps, codes))
    gaps, codes = gaps[order], codes[order]
    sums, sizes = np.bincount(codes, weights=gaps).astype(float), np.bincount(codes).astype(float)
    order = np.lexsort((sizes, sums))
    sums, sizes = on_grid(sums[order, None], max(len(sums), 2))[:, 0], sizes[order]
    n, count = len(gaps), len(sums)
    if count < 2:
        reason = f"{count} cluster{'s' if count != 1 else ''}; at least two are needed"
        estimate = float(sums.sum() / sizes.sum()) if n else None
        interval = no_interval(reason, method=CLUSTER_SIGN_FLIP, n=n, clusters=count, level=level, estimate=estimate)
        return interval, Significance(
            p_value=None, statistic=None, method=CLUSTER_SIGN_FLIP, n=n, clusters=count, reason=reason
        )
    exact = count <= ENUMERATED_UP_TO
    lows, highs, reached = _inverted(sums, sizes, resamples=resamples, seed=seed)
    patterns = len(lows)
    allowed = min(math.floor((1 - check_level(level)) * patterns + 1e-9), patterns - 1)
    low, high = float(np.partition(lows, allowed)[allowed]), -float(np.partition(-highs, allowed)[allowed])
    estimate = float(sums.sum() / sizes.sum())
    infinite = f"with {count} clusters a sign-flip test cannot reach p <= {1 - level:.3g}" if math.isinf(low) else None
    used_seed, used_resamples = (None, None) if exact else (seed, resamples)
    return (
        Interval(
            estimate=estimate,
            low=low,
            high=high,
            method=CLUSTER_SIGN_FLIP,
            n=n,
            clusters=count,
            confidence=level,
            reason=infinite,
            seed=used_seed,
            resamples=used_resamples,
        ),
        Significance(
            p_value=reached / patterns,
            statistic=estimate,
            method=CLUSTER_SIGN_FLIP,
            n=n,
            clusters=count,
            reason=None,
            seed=used_seed,
            resamples=used_resamples,
        ),
    )


def _inverted(sums: Floats, sizes: Floats, *, resamples: int, seed: int) -> tuple[Floats, Floats, int]:
    """Return, for every pattern, the smallest and largest shift it reaches, and how many reach no shift."""
    total, tasks = float(sums.sum()), float(sizes.sum())
    slack = 1e-9 * float(np.abs(sums).sum())
    lows, highs, reached = [], [], 0
    for kept in _patterns(len(sums), resamples=resamples, seed=seed):
        above, below = kept @ sums, kept @ sizes
        # sums that are 0 on paper may differ from it in the last bits
        mine, others = (np.where(np.abs(part) <= slack, 0.0, part) for part in (above, total - above))
        with np.errstate(divide="ignore", invalid="ignore"):
            mine, others = mine / below, others / (tasks - below)
        whole = (below == 0) | (below == tasks)  # all signs alike: reached by every shift
        lows.append(np.where(whole, -np.inf, np.minimum(mine, others)))
        highs.append(np.where(whole, np.inf, np.maximum(mine, others)))
        reached += int(np.count_nonzero(whole | ((lows[-1] <= 0) & (highs[-1] >= 0))))
    return np.concatenate(lows), np.concatenate(highs), reached


def _patterns(count: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of patterns: 1 for a cluster that keeps its sign, 0 for one that changes it."""
    if count <= ENUMERATED_UP_TO:
        yield (np.arange(2**count)[:, None] >> np.arange(count)[None, :] & 1).astype(float)
        return
    yield np.ones((1, count))
    random = np.random.default_rng(seed)
    rows = max(1, min(resamples, BLOCK // count))
    for start in range(0, resamples, rows):
        size = (min(rows, resamples - start), count)
        yield random.integers(0, 2, size=size, dtype=np.int8).astype(float)


SIZES = ((0.474, "large"), (0.33, "medium"), (0.147, "small"))
"""From which absolute delta a difference is called so (Romano et al. 2006)."""


def cliffs_delta(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """Probability that a value of B exceeds one of A, minus the reverse (Cliff 1993); None when a side is empty.

    Sorting makes it O(n log n); counting all pairs gives the same number.

    >>> cliffs_delta([1, 2, 3], [2, 3, 4])  # 6 of 9 pairs up, 1 down
    0.5555555555555556
    """
    first, second = np.sort(np.asarray(a, dtype=float)), np.asarray(b, dtype=float)
    if not len(first) or not len(second):
        return None
    above = int(np.searchsorted(first, second, side="left").sum())
    not_below = int(np.searchsorted(first, second, side="right").sum())
    pairs = len(first) * len(second)
    return (above - (pairs - not_below)) / pairs


def size_word(delta: float) -> str:
    """The usual word for an absolute delta.

    >>> size_word(-0.4)
    'medium'
    """
    return next((word for least, word in SIZES if abs(delta) >= least), "negligible")


def standardized(differences: npt.ArrayLike) -> float | None:
    """Mean difference divided by its standard deviation over tasks; None if that is 0 or unknown."""
    gaps = np.sort(np.asarray(differences, dtype=float))
    if len(gaps) < 2 or np.ptp(gaps) == 0:
        return None
    return float(gaps.mean() / gaps.std(ddof=1))
