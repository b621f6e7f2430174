"""Intervals for the mean of scores, from counts of scores: exact sums, the same whatever the order of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from steelyard.arena.scoring._rules import IntervalTable
from steelyard.results import IntervalMethod, ScoreInterval

NEAR = 5
"""Within this many standard errors of 0 or 100, values are skewed and Student's t is not valid."""


def score_interval(
    counts: Mapping[int, int] | Mapping[Fraction, int],
    limits: IntervalTable,
    *,
    confidence: float | None = None,
    over_tasks: bool = False,
) -> ScoreInterval:
    """The mean of the values counted in cents and its interval, cut at 0 and 100: values may be means of their own.

    The specification's multipliers are for the scores of a task and belong to its own level. At any other, and
    `over_tasks`, the quantile of Student's t is taken; over tasks, near 0 and 100, an interval that holds there too.
    """
    asked = limits.level if confidence is None else confidence
    n = sum(counts.values())
    total = sum(value * count for value, count in counts.items())
    mean = float(Fraction(total) / (100 * n)) if n else None
    if mean is None or n < limits.min_scores:
        return ScoreInterval(estimate=mean, low=0.0, high=100.0, level=asked, n=n, method="too few")
    is_own = asked == limits.level and not over_tasks
    multiplier = _own_multiplier(n, limits) if is_own else _student_multiplier(n, asked)
    squares = sum(value * value * count for value, count in counts.items())
    deviation = math.sqrt(Fraction(n * squares - total * total) / (n * (n - 1))) / 100
    error = deviation / math.sqrt(n)
    margin = multiplier * error
    method: IntervalMethod = "arena" if is_own else "student"
    low, high = max(0.0, mean - margin), min(100.0, mean + margin)
    if over_tasks and (error == 0 or min(mean, 100 - mean) < NEAR * error):
        low, high, method = *_near_a_bound(counts, level=asked), "gaffke"
    return ScoreInterval(estimate=mean, low=low, high=high, level=asked, n=n, method=method)


def _own_multiplier(n: int, limits: IntervalTable) -> float:
    return limits.small_multiplier if n < limits.large_from else limits.large_multiplier


def _student_multiplier(n: int, level: float) -> float:
    from steelyard.statistics import (
        student_quantile,  # heavy: it loads scipy, which a task's leaderboard doeses without
    )

    return float(student_quantile(level, n - 1))


def _near_a_bound(counts: Mapping[int, int] | Mapping[Fraction, int], *, level: float) -> tuple[float, float]:
    from steelyard.statistics import bounded_mean  # heavy: it loads scipy, which a task's leaderboard doeses without

    values = [float(value) / 100 for value, count in sorted(counts.items()) for _ in range(count)]
    interval = bounded_mean(values, bounds=(0.0, 100.0), level=level)
    assert interval.low is not None  # there are two values or more
    assert interval.high is not None
    return interval.low, interval.high
