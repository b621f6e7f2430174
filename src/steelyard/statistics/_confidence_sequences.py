"""Anytime-valid test and confidence sequence for paired differences, by betting (Waudby-Smith and Ramdas 2024).

A bet that the mean of d in [-1, 1] exceeds m multiplies its capital by 1 + u ((1 + d) / (1 + m) - 1) with each task. If
the mean is m, the expectation of that factor is 1 whatever the fraction u, as long as u depends on earlier tasks only.
By Ville's inequality the capital then ever reaches 2 / alpha with probability at most alpha / 2. So results may be
looked at after every task. Tasks must come in random order, and the planned number before the first look.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.statistics._estimates import LEVEL, Floats, Interval, Significance, check_level, no_interval
from steelyard.statistics._exact_sums import mean_of

METHOD = "betting"
MAX_FRACTION = 0.9
"""Largest fraction of the capital that is bet on one task."""
PLANNED_FACTOR = 1.4
"""Planned tasks of a sequential test with the power of a fixed one, as a multiple of its tasks."""
MIN_SAVING_TASKS = 60
"""Planned tasks below which a sequential test needs no fewer tasks than a fixed one in the median."""

_STEPS = 60


class SequentialTest(msgspec.Struct, frozen=True, kw_only=True):
    """State of an anytime-valid test after the tasks so far."""

    interval: Interval
    """Confidence sequence of the mean difference at this point."""
    test: Significance
    """Anytime-valid p-value of no difference."""
    decided_at: int | None
    """Number of tasks after which p first reached 1 - level; None if it has not. The decision is final."""


def bet_fractions(differences: Floats, planned: int, *, level: float = LEVEL) -> Floats:
    """Return the fraction of the capital that is bet on each task, from earlier tasks only.

    u_t = min(0.9, sqrt(2 ln(2 / alpha) / (v_{t-1} planned))), where v is the running variance, started as if one task
    with mean 0 and variance 1 had been seen. Tasks are along the last axis. This is the predictable plug-in bet with
    the planned number in the place of t log(t + 1).
    """
    count = np.arange(1, differences.shape[-1] + 1)
    mean = np.cumsum(differences, axis=-1) / (count + 1)
    variance = (1 + np.cumsum((differences - mean) ** 2, axis=-1)) / (count + 1)
    before = np.concatenate([np.ones((*differences.shape[:-1], 1)), variance[..., :-1]], axis=-1)
    return np.minimum(MAX_FRACTION, np.sqrt(2 * math.log(2 / (1 - level)) / (before * planned)))


def log_capital(differences: Floats, mean: float, fractions: Floats, *, side: int) -> Floats:
    """Return the log capital after each task of the bet that the mean is above (side 1) or below (side -1) `mean`."""
    return np.cumsum(np.log1p(fractions * ((1 + side * differences) / (1 + side * mean) - 1)), axis=-1)


def anytime_p_values(differences: Floats, planned: int, *, span: float = 1.0, level: float = LEVEL) -> Floats:
    """Return the p-value of no difference after each task: the smallest 2 / larger capital so far, at most 1.

    `differences` are in -span to span, in the order of completion along the last axis.
    """
    scaled = _scaled(differences, span)
    fractions = bet_fractions(scaled, _checked(planned), level=check_level(level))
    best = np.maximum(*(log_capital(scaled, 0.0, fractions, side=side) for side in (1, -1)))
    return np.asarray(np.minimum(1.0, 2 * np.exp(-np.maximum.accumulate(best, axis=-1))), dtype=float)


def sequential_test(
    differences: npt.ArrayLike, planned: int, *, span: float = 1.0, level: float = LEVEL
) -> SequentialTest:
    """Return the anytime-valid interval and test of the mean of task differences in the order of completion.

    The interval contains the means m for which neither bet has ever reached 2 / alpha. Each capital is monotone in m,
    so the limits are found by bisection. p <= 1 - level if and only if the interval excludes 0. If earlier tasks
    exclude the mean of all tasks so far, only the capital after the last task counts, for both. Unlike that of other
    functions of this package, the result depends on the order of the differences.

    >>> tested = sequential_test([0.5, 0.0, 0.5, 1.0] * 20, 80)
    >>> tested.decided_at, tested.interval.excludes(0.0), round(tested.interval.estimate, 2)
    (16, True, 0.5)
    """
    gaps = _scaled(np.asarray(differences, dtype=float), span)
    n = len(gaps)
    if n == 0:
        reason = "no completed task pair"
        return SequentialTest(
            interval=no_interval(reason, method=METHOD, n=0, clusters=0, level=level),
            test=Significance(p_value=None, statistic=None, method=METHOD, n=0, clusters=0, reason=reason),
            decided_at=None,
        )
    fractions = bet_fractions(gaps, _checked(planned), level=check_level(level))
    p_values = anytime_p_values(gaps, planned, level=level)
    decided = np.flatnonzero(p_values <= 1 - level)
    center, p_value = float(gaps.mean()), float(p_values[-1])
    low, high = (_limit(gaps, fractions, side=side, level=level, ever=True) for side in (1, -1))
    if not low <= center <= high:
        low, high = (_limit(gaps, fractions, side=side, level=level, ever=False) for side in (1, -1))
        best = max(float(log_capital(gaps, 0.0, fractions, side=side)[-1]) for side in (1, -1))
        p_value = min(1.0, 2 * math.exp(-best))
    estimate = mean_of(gaps) * span
    return SequentialTest(
        interval=Interval(
            estimate=estimate, low=low * span, high=high * span, method=METHOD, n=n, clusters=n, confidence=level
        ),
        test=Significance(p_value=p_value, statistic=estimate, method=METHOD, n=n, clusters=n),
        decided_at=int(decided[0]) + 1 if len(decided) else None,
    )


def _limit(gaps: Floats, fractions: Floats, *, side: int, level: float, ever: bool) -> float:
    """Return the innermost mean that the bet on one side rejects; the bound of the scale if it rejects none."""
    needed = math.log(2 / (1 - level))

    def rejected(mean: float) -> bool:
        capital = log_capital(gaps, mean, fractions, side=side)
        return bool((capital.max() if ever else capital[-1]) >= needed)

    # 0 first, so that the limit is on the same side of it as the p-value says
    outside, inside = (0.0, float(side)) if rejected(0.0) else (-float(side), 0.0)
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if abs(middle) < 1 and rejected(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _scaled(differences: Floats, span: float) -> Floats:
    scaled = differences / span
    if scaled.size and float(np.abs(scaled).max()) > 1 + 1e-9:
        largest = float(np.abs(differences).max())
        raise UsageError(
            f"a sequential test needs differences within {-span:g} and {span:g} (got {largest:g})",
            hint="use a bounded metric, such as pass_rate",
        )
    return np.clip(scaled, -1.0, 1.0)


def _checked(planned: int) -> int:
    if planned < 2:
        raise UsageError(f"a sequential test needs at least 2 planned tasks (got {planned})")
    return planned
