"""Intervals for the mean of scores, from counts of score cents: exact sums, the same whatever the order of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from steelyard.arena.scoring._rules import IntervalTable
from steelyard.records import Missing
from steelyard.results import ScoreInterval


def score_interval(
    counts: Mapping[int, int], limits: IntervalTable, *, confidence: float | None = None
) -> ScoreInterval:
    """The interval of the mean of scores counted in cents, held within 0 and 100.

    The specification's multipliers belong to its own level; at any other the quantile of Student's t is taken.
    """
    asked = limits.level if confidence is None else confidence
    n = sum(counts.values())
    if n < limits.least_scores:
        return ScoreInterval(low=0.0, high=100.0, level=asked, n=n, method="too few")
    total = sum(value * count for value, count in counts.items())
    squares = sum(value * value * count for value, count in counts.items())
    mean = total / n / 100
    deviation = math.sqrt((n * squares - total * total) / (n * (n - 1))) / 100
    if asked == limits.level:
        multiplier, method = _own_multiplier(n, limits), "arena"
    else:
        multiplier, method = student_quantile(n - 1, asked), "student"
    margin = multiplier * (deviation / math.sqrt(n))
    low, high = max(0.0, mean - margin), min(100.0, mean + margin)
    return ScoreInterval(low=low, high=high, level=asked, n=n, method="arena" if method == "arena" else "student")


def _own_multiplier(n: int, limits: IntervalTable) -> float:
    return limits.small_multiplier if n < limits.large_from else limits.large_multiplier


def student_quantile(freedom: int, level: float) -> float:
    """The two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # heavy: only intervals need it

    return float(stdtrit(freedom, (1 + level) / 2))


def mean_interval(values: Sequence[float], *, level: float) -> tuple[float, float, float] | Missing:
    """Mean, low and high by Student's t; missing with fewer than two values."""
    n = len(values)
    if n < 2:
        return Missing(f"{n} of 2 values that an interval needs")
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    margin = student_quantile(n - 1, level) * spread / math.sqrt(n)
    return mean, mean - margin, mean + margin
