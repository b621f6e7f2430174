"""The declared scores, by the same functions on one submission or on a column of them, and intervals of means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, get_args

from steelyard import statistics
from steelyard.arena._answer_parts import IntervalMethod, RankedScore, ScoreInterval
from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._rules import IntervalTable, score_metrics
from steelyard.metrics import Metric
from steelyard.records import Missing

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

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
    return float(statistics.student_quantile(level, n - 1))


def _near_a_bound(counts: Mapping[int, int] | Mapping[Fraction, int], *, level: float) -> tuple[float, float]:
    values = [float(value) / 100 for value, count in sorted(counts.items()) for _ in range(count)]
    interval = statistics.bounded_mean(values, bounds=(0.0, 100.0), level=level)
    assert interval.low is not None  # there are two values or more
    assert interval.high is not None
    return interval.low, interval.high


# Further from a half than this, multiplication's own error (under 1e-11 for scores to 100) cannot turn the rounding.
_DOUBTFUL = 1e-6


def to_cents(score: float) -> int:
    """The score in hundredths.

    >>> to_cents(0.285), round(0.285, 2)
    (28, 0.28)
    """
    return round(round(score, 2) * 100)


def points(cents: int) -> float:
    """The score that `round(x, 2)` would have given: the float nearest to the decimal."""
    return cents / 100


def to_cents_column(scores: np.ndarray) -> np.ndarray:
    """`to_cents` of each score."""
    return _whole(scores, digits=2)


def tenths_column(percentages: np.ndarray) -> np.ndarray:
    """Percentages in tenths, rounded as `round(x, 1)` rounds."""
    return _whole(percentages, digits=1)


def _whole(values: np.ndarray, *, digits: int) -> np.ndarray:
    """The values in units of the last digit; only those near a half are rounded one by one."""
    import numpy as np  # heavy: only columns of scores need it

    scaled = values * 10**digits
    rounded = np.rint(scaled)
    doubtful = np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) < _DOUBTFUL)
    if len(doubtful):
        distinct, where = np.unique(values[doubtful], return_inverse=True)
        one_by_one = [round(round(value, digits) * 10**digits) for value in distinct.tolist()]
        rounded[doubtful] = np.array(one_by_one, dtype=float)[where]
    whole: np.ndarray = rounded.astype(np.int64)
    return whole


SCORE_INPUTS: tuple[str, ...] = (
    "total_tokens",
    "tool_calls",
    "iterations",
    "execution_time",
    "estimated_cost",
    "criteria_met",
    "criteria_total",
)
"""What scores take from a submission."""

RANKED_SCORES: tuple[RankedScore, ...] = get_args(RankedScore)
"""The scores that submissions are ranked by."""

KEPT_SCORES = (*RANKED_SCORES, "adjusted")
"""The scores that an evaluation keeps, by the first part of their name."""

OWN_CONSTANTS = ("efficiency_weight", "speed_weight", "cost_weight", "correctness_weight", "difficulty_factor")
"""Constants that differ from task to task."""


def unrounded_scores(
    inputs: Mapping[str, Any], bounds: BaselineBounds, constants: Mapping[str, float]
) -> dict[str, float]:
    """Compute every score of one submission, unrounded. Any: counts, or None where an input is unknown."""
    values: dict[str, Any] = bounds._asdict()  # Any: as above
    for name in SCORE_INPUTS:
        value = inputs[name]
        values[name] = _UNKNOWN if value is None else value
    plan = _plan()
    for name, function, taken, own in plan:
        values[name] = function(
            **{wanted: values[wanted] for wanted in taken}, **{wanted: constants[wanted] for wanted in own}
        )
    return {name: values[name] for name, *_ in plan}


_UNKNOWN = Missing("not reported")


@cache
def _plan() -> list[tuple[str, Callable[..., Any], tuple[str, ...], tuple[str, ...]]]:
    """The scores in order, each with its formula, its inputs and its constants. Any: a score."""
    return [(metric.name, metric.function, tuple(metric.inputs), tuple(metric.constants)) for metric in score_metrics()]


@cache
def _levels() -> list[list[Metric]]:
    """The scores in as few rounds as their needs allow: what needs nothing of each other is made together."""
    rounds: list[list[Metric]] = []
    depth: dict[str, int] = {}
    for declared in score_metrics():
        depth[declared.name] = max((depth[name] + 1 for name in declared.inputs if name in depth), default=0)
        if depth[declared.name] == len(rounds):
            rounds.append([])
        rounds[depth[declared.name]].append(declared)
    return rounds


def scores_in_cents(
    inputs: Mapping[str, Any], bounds: BaselineBounds, constants: Mapping[str, float]
) -> dict[str, int]:
    """Round the kept scores of one submission to cents."""
    scores = unrounded_scores(inputs, bounds, constants)
    return {name: to_cents(scores[f"{name}_score"]) for name in KEPT_SCORES}


def unrounded_columns(frame: pl.DataFrame, constants: Mapping[str, float]) -> pl.DataFrame:
    """Add all scores to the frame. Bounds and constants that differ between rows are columns."""
    columns = set(frame.columns)
    same = tuple((name, value) for name, value in sorted(constants.items()) if name not in columns)
    for together in _expressions(same):
        frame = frame.with_columns(*together)
    return frame


@lru_cache(maxsize=16)
def _expressions(same: tuple[tuple[str, float], ...]) -> list[list[pl.Expr]]:
    """The scores as expressions, round by round, with these constants for all rows; the others are columns.

    Polars' own: Narwhals would translate them for each frame again, which took a tenth of a batch.
    """
    import polars as pl  # heavy: a single submission is scored without it

    values = dict(same)
    rounds = []
    for together in _levels():
        expressions = []
        for declared in together:
            columns = {name: pl.col(name) for name in declared.inputs}
            own: dict[str, Any] = {  # Any: a number, or the column that holds one for each row
                name: values[name] if name in values else pl.col(name) for name in declared.constants
            }
            expressions.append(declared.expression(columns, own).alias(declared.name))
        rounds.append(expressions)
    return rounds


def columns_in_cents(
    frame: pl.DataFrame, constants: Mapping[str, float], names: Sequence[str] = KEPT_SCORES
) -> dict[str, np.ndarray]:
    """Return the named scores of each row in cents."""
    scored = unrounded_columns(frame, constants)
    return {name: to_cents_column(scored[f"{name}_score"].to_numpy()) for name in names}
