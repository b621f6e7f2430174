"""Worst-case fills and tipping points for missing outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.statistics._estimates import LEVEL, Floats, Ints
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._means import codes_of
from steelyard.statistics._paired import Moments, paired_mean_rows, quantum_of

MAX_UNSCORED = 0.1
"""Fraction of unscored runs on a side above which a claim must also be significant with all filled against it."""
UNSCORED_P = 0.2
"""P-value of Fisher's exact test below which the unscored fractions of two sides count as different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityBounds:
    """Worst-case bounds of an estimate over all possible missing outcomes (Manski 1989)."""

    low: float
    """Lower bound: every missing outcome at its least favorable value."""
    high: float
    """Upper bound: every missing outcome at its most favorable value."""
    known: int
    """Number of known outcomes."""
    missing: int
    """Number of missing outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilledDifferences:
    """Differences B - A of common tasks with every missing outcome filled, in the order of the tasks' labels."""

    lowest: Floats
    """Missing outcomes of A at the highest and of B at the lowest value: against a claim that B is higher."""
    highest: Floats
    """Missing outcomes of A at the lowest and of B at the highest value: against a claim that B is lower."""
    attempts: tuple[Ints, Ints]
    """Attempts of A and B at each task, missing outcomes included."""
    missing: tuple[Ints, Ints]
    """Missing outcomes of A and B at each task."""


def filled_differences(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike,
    span: tuple[float, float] = (0.0, 1.0),
) -> FilledDifferences | None:
    """Return worst-case task differences of outcomes within `span`; missing ones are NaN. None without a common task.

    A claim of a difference that depends on missing outcomes must be significant with `lowest` (if B is claimed to be
    higher) or `highest`, by the product's own test.
    """
    side_a, side_b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    labels = np.concatenate([np.asarray(tasks_a), np.asarray(tasks_b)])
    codes = codes_of(labels) if len(labels) else np.empty(0, dtype=np.int64)
    codes_a, codes_b = codes[: len(side_a)], codes[len(side_a) :]
    size = int(codes.max(initial=-1)) + 1
    attempts = np.bincount(codes_a, minlength=size), np.bincount(codes_b, minlength=size)
    common = (attempts[0] > 0) & (attempts[1] > 0)
    if not common.any():
        return None
    lowest = _means(side_b, codes_b, size, span[0]) - _means(side_a, codes_a, size, span[1])
    highest = _means(side_b, codes_b, size, span[1]) - _means(side_a, codes_a, size, span[0])
    missing = [
        np.bincount(side_codes[np.isnan(side)], minlength=size)
        for side, side_codes in ((side_a, codes_a), (side_b, codes_b))
    ]
    return FilledDifferences(
        lowest=lowest[common],
        highest=highest[common],
        attempts=(attempts[0][common], attempts[1][common]),
        missing=(missing[0][common], missing[1][common]),
    )


def difference_bounds(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike,
    span: tuple[float, float] = (0.0, 1.0),
) -> SensitivityBounds | None:
    """Bounds of the mean over common tasks of B - A; missing outcomes are NaN. None without a common task."""
    filled = filled_differences(a, b, tasks_a=tasks_a, tasks_b=tasks_b, span=span)
    if filled is None:
        return None
    missing = int(filled.missing[0].sum() + filled.missing[1].sum())
    return SensitivityBounds(
        low=mean_of(filled.lowest),
        high=mean_of(filled.highest),
        known=int(filled.attempts[0].sum() + filled.attempts[1].sum()) - missing,
        missing=missing,
    )


def _means(values: Floats, codes: Ints, size: int, filled: float) -> Floats:
    whole = np.where(np.isnan(values), filled, values)
    order = np.lexsort((whole, codes))
    counts = np.bincount(codes, minlength=size)
    return np.bincount(codes[order], weights=whole[order], minlength=size) / np.maximum(counts, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TippingPoint:
    """Fewest unscored runs, filled against a claim in the stated order, after which the claim is not significant."""

    a: int
    """Unscored runs of A among them."""
    b: int
    """Unscored runs of B among them."""


def tipping_point(
    filled: FilledDifferences, claim: Literal["higher", "lower"], *, span: float = 1.0, level: float = LEVEL
) -> TippingPoint | None:
    """Return how many unscored runs undo a claim that B is `higher` or `lower`; None if all of them do not.

    Start with every unscored run filled in favor of the claim, then fill them against it one at a time: the largest
    effect on a task's difference first, then in the order of tasks, B's before A's. The test is `paired_mean`. It need
    not be monotone in the number of runs filled, so every step is evaluated; the cost is O(tasks + unscored runs).
    0 of both sides if the claim is not significant even with all filled in its favor.
    """
    gaps = filled.highest if claim == "higher" else -filled.lowest
    sides, tasks, sizes = _steps(filled, span)
    before = _loss_before(tasks, sizes)
    values = gaps[tasks] - before
    total = gaps.sum() - np.concatenate([[0.0], np.cumsum(sizes)])
    squares = (gaps**2).sum() + np.concatenate([[0.0], np.cumsum((values - sizes) ** 2 - values**2)])
    is_zero = np.abs(values - sizes) < 1e-9, np.abs(values) < 1e-9
    differing = np.count_nonzero(np.abs(gaps) >= 1e-9) + np.concatenate(
        [[0], np.cumsum(is_zero[1].astype(int) - is_zero[0].astype(int))]
    )
    n = len(gaps)
    alike = squares - total**2 / n <= 1e-12 * np.maximum(squares, 1e-300)
    moments = Moments(n, total, squares, differing.astype(float), alike)
    quantum = quantum_of(*filled.attempts, span=span)
    if n < 2:
        return TippingPoint(a=0, b=0)
    lost = np.flatnonzero(~(paired_mean_rows(moments, quantum=quantum, span=span, level=level).low > 0))
    if not len(lost):
        return None
    used = sides[: int(lost[0])]
    return TippingPoint(a=int(np.count_nonzero(used == 0)), b=int(np.count_nonzero(used == 1)))


def _steps(filled: FilledDifferences, span: float) -> tuple[Ints, Ints, Floats]:
    """Return side, task and effect of each unscored run, in the order in which they are filled."""
    sides, tasks, sizes = [], [], []
    for side, (attempts, missing) in enumerate(zip(filled.attempts, filled.missing, strict=True)):
        rows = np.repeat(np.arange(len(missing)), missing)
        sides.append(np.full(len(rows), side))
        tasks.append(rows)
        sizes.append(span / attempts[rows])
    side_of, task_of, size_of = np.concatenate(sides), np.concatenate(tasks), np.concatenate(sizes)
    order = np.lexsort((-side_of, task_of, -size_of))
    return side_of[order], task_of[order], size_of[order]


def _loss_before(tasks: Ints, sizes: Floats) -> Floats:
    """Return what each step's task has lost in earlier steps."""
    order = np.argsort(tasks, kind="stable")
    added = np.cumsum(sizes[order])
    first = np.searchsorted(tasks[order], tasks[order], side="left")
    before = np.empty(len(sizes))
    before[order] = np.concatenate([[0.0], added])[:-1] - np.concatenate([[0.0], added])[first] if len(sizes) else 0.0
    return before


def fisher_exact(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test of two proportions, each (successes, n).

    >>> round(fisher_exact((8, 10), (1, 6)), 5)  # Fisher's exact test in scipy's documentation: 8, 2 against 1, 5
    0.03497
    """
    (a, n), (b, m) = first, second
    hits = np.arange(max(0, a + b - m), min(n, a + b) + 1)
    logs = _log_choose(n, hits) + _log_choose(m, a + b - hits) - _log_choose(n + m, np.array([a + b]))
    seen = logs[a - hits[0]]
    return float(min(1.0, np.exp(logs[logs <= seen + 1e-7]).sum()))


def _log_choose(n: int, k: Ints) -> Floats:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1), dtype=float)


def unscored_matter(unscored: tuple[int, int], runs: tuple[int, int]) -> bool:
    """Whether a claim must also be significant with all unscored runs of both sides filled against it.

    True if the unscored fractions of the sides differ (Fisher's exact test, p < 0.2) or one is above 10%.
    """
    if any(count > MAX_UNSCORED * total for count, total in zip(unscored, runs, strict=True)):
        return True
    return fisher_exact((unscored[0], runs[0]), (unscored[1], runs[1])) < UNSCORED_P
