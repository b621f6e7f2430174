"""Intervals for the mean of scores, from counts of scores: exact sums, the same whatever the order of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from steelyard.arena.scoring._rules import IntervalTable
from steelyard.results import ScoreInterval


def score_interval(
    counts: Mapping[int, int] | Mapping[Fraction, int], limits: IntervalTable, *, confidence: float | None = None
) -> ScoreInterval:
    """The mean of the values counted in cents and its interval, cut at 0 and 100: values may be means of their own.

    The specification's multipliers belong to its own level; at any other the quantile of Student's t is taken.
    """
    asked = limits.level if confidence is None else confidence
    n = sum(counts.values())
    total = sum(value * count for value, count in counts.items())
    mean = float(Fraction(total) / (100 * n)) if n else None
    if mean is None or n < limits.least_scores:
        return ScoreInterval(estimate=mean, low=0.0, high=100.0, level=asked, n=n, method="too few")
    is_own = asked == limits.level
    multiplier = _own_multiplier(n, limits) if is_own else _student_multiplier(n, asked)
    squares = sum(value * value * count for value, count in counts.items())
    deviation = math.sqrt(Fraction(n * squares - total * total) / (n * (n - 1))) / 100
    margin = multiplier * (deviation / math.sqrt(n))
    low, high = max(0.0, mean - margin), min(100.0, mean + margin)
    return ScoreInterval(estimate=mean, low=low, high=high, level=asked, n=n, method="arena" if is_own else "student")


def _own_multiplier(n: int, limits: IntervalTable) -> float:
    return limits.small_multiplier if n < limits.large_from else limits.large_multiplier


def _student_multiplier(n: int, level: float) -> float:
    from steelyard.statistics import student_quantile  # heavy: it loads scipy, which only other levels need

    return float(student_quantile(level, n - 1))
