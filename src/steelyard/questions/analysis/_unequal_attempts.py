"""Tests, intervals and effect sizes for sides with unequal numbers of attempts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import structs

from steelyard.questions.analysis._samples import Mask, Samples
from steelyard.records import Missing
from steelyard.statistics import Floats, Interval, Ints, Significance, cliffs_delta, permuted_sums

METHOD = "permutation"


def runs_to_permute(
    samples: Samples, rows: tuple[Mask, Mask], names: Sequence[str], common: Mask
) -> tuple[Floats, Ints, Mask]:
    """The runs of both sides on the common tasks that have all values: the values, the task and whether it is B's."""
    columns = [values for name in names if not isinstance(values := samples.known(name), Missing)]
    known = ~np.isnan(columns).any(axis=0) & common[samples.tasks]
    places = [np.flatnonzero(side & known) for side in rows]
    chosen = np.concatenate(places)
    values = np.column_stack([column[chosen] for column in columns])
    if len(names) == 1:  # a mean is a ratio to the number of runs
        values = np.column_stack([values, np.ones(len(chosen))])
    return values, samples.tasks[chosen], np.repeat([False, True], [len(side) for side in places])


def kept_level(
    runs: tuple[Floats, Ints, Mask],
    judged: tuple[Interval, Significance],
    *,
    by_task: bool,
    resamples: int,
    seed: int,
) -> tuple[Interval, Significance]:
    """Limits and test that hold where attempts are unequal, made of those over tasks.

    Two things may be true without a difference: the sides are alike on every task, which a permutation of runs tests
    exactly, or they differ by task and even out, which the differences over tasks test. Both must reject: the larger
    p-value counts, and the limits hold those of either.
    """
    interval, test = judged
    if interval.low is None or interval.high is None or test.p_value is None:
        return judged
    seen, permuted = permuted_sums(*runs, by_task=by_task, resamples=resamples, seed=seed)
    observed, gaps = gap_of(seen[None])[0], gap_of(permuted)
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    reached = int(np.count_nonzero(np.abs(gaps) >= abs(observed) - 1e-9 * max(abs(observed), 1e-300)))
    p_value = max((reached + 1) / (len(gaps) + 1), test.p_value)
    tail = (1 - interval.confidence) / 2
    least, most = np.quantile(gaps[np.isfinite(gaps)], [tail, 1 - tail]) if np.isfinite(gaps).any() else (0.0, 0.0)
    made = len(gaps)
    low, high = min(interval.low, float(observed - most)), max(interval.high, float(observed - least))
    return (
        structs.replace(interval, low=low, high=high, method=METHOD, seed=seed, resamples=made),
        structs.replace(test, p_value=p_value, statistic=float(observed), method=METHOD, seed=seed, resamples=made),
    )


def within_sides(interval: Interval, a: Interval, b: Interval, correlation: float) -> Interval:
    """The bounds of a difference, no narrower than those of its two sides allow.

    A side with few attempts may pass everything by chance. Then its tasks do not vary, and the differences by task show
    nothing about what it could have done; its own interval does. The two are joined as Zou and Donner (2008) do it,
    with the correlation of the sides over tasks.
    """
    side_a, side_b = _reach(a), _reach(b)
    if interval.low is None or interval.high is None or side_a is None or side_b is None:
        return interval
    (mean_a, below_a, above_a), (mean_b, below_b, above_b) = side_a, side_b
    down = below_b**2 + above_a**2 - 2 * correlation * below_b * above_a
    up = above_b**2 + below_a**2 - 2 * correlation * above_b * below_a
    low, high = mean_b - mean_a - math.sqrt(max(down, 0.0)), mean_b - mean_a + math.sqrt(max(up, 0.0))
    return structs.replace(interval, low=min(interval.low, low), high=max(interval.high, high))


def _reach(side: Interval) -> tuple[float, float, float] | None:
    """Return the mean and the distances to its lower and upper bound."""
    if side.estimate is None or side.low is None or side.high is None:
        return None
    return side.estimate, side.estimate - side.low, side.high - side.estimate


def gap_of(sums: Floats) -> Floats:
    """B's ratio minus A's in each row of (side, column)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums[:, :, 0] / sums[:, :, 1]
        return np.asarray(ratios[:, 1] - ratios[:, 0], dtype=float)


def delta_within_tasks(runs: tuple[Floats, Ints, Mask]) -> float:
    """Cliff's delta of the runs of each task, averaged over tasks.

    Over task means it would lean: the mean of many attempts is in the middle more often than that of one.
    """
    values, tasks, on_b = runs
    order = np.argsort(tasks, kind="stable")
    ends = np.flatnonzero(np.diff(tasks[order])) + 1
    deltas: list[Fraction] = []
    for of_task in np.split(order, ends):
        a, b = values[of_task, 0][~on_b[of_task]], values[of_task, 0][on_b[of_task]]
        delta = cliffs_delta(a, b)
        if delta is not None:
            # deltas count pairs, and thirds that cancel must come to 0 and not to 1.7e-18
            deltas.append(Fraction(delta).limit_denominator(len(a) * len(b)))
    return float(sum(deltas, Fraction(0)) / len(deltas)) if deltas else math.nan
