"""The declared scores, evaluated on one submission or on a column of them. The formulas are the same functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, get_args

from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._rules import score_metrics
from steelyard.metrics import Metric
from steelyard.records import Missing
from steelyard.results import RankedScore

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

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
