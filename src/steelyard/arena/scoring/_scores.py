"""The declared scores, evaluated on one submission or on a column of them. The formulas are the same functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._rules import score_metrics
from steelyard.arena.scoring._score_cents import cents, cents_column
from steelyard.metrics import Metric
from steelyard.records import Missing

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

FACTS: tuple[str, ...] = (
    "total_tokens",
    "tool_calls",
    "iterations",
    "execution_time",
    "estimated_cost",
    "criteria_met",
    "criteria_total",
)
"""What scores take from a submission."""

KEPT = ("overall", "efficiency", "speed", "cost", "correctness", "adjusted")
"""The scores that an evaluation keeps, by the first part of their name."""

RANKED = KEPT[:5]
"""The scores that submissions are ranked by."""

OWN_CONSTANTS = ("efficiency_weight", "speed_weight", "cost_weight", "correctness_weight", "difficulty_factor")
"""Constants that differ from task to task."""


def score(facts: Mapping[str, Any], bounds: BaselineBounds, constants: Mapping[str, float]) -> dict[str, float]:
    """Every score of one submission, unrounded. Any: counts, or None where a fact is unknown."""
    values: dict[str, Any] = bounds._asdict()  # Any: as above
    for name in FACTS:
        value = facts[name]
        values[name] = _UNKNOWN if value is None else value
    plan = _plan()
    for name, function, inputs, own in plan:
        values[name] = function(
            **{wanted: values[wanted] for wanted in inputs}, **{wanted: constants[wanted] for wanted in own}
        )
    return {name: values[name] for name, *_ in plan}


_UNKNOWN = Missing("not stated")


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


def score_cents(facts: Mapping[str, Any], bounds: BaselineBounds, constants: Mapping[str, float]) -> dict[str, int]:
    """The kept scores of one submission in cents."""
    scores = score(facts, bounds, constants)
    return {name: cents(scores[f"{name}_score"]) for name in KEPT}


def score_columns(frame: pl.DataFrame, constants: Mapping[str, float]) -> pl.DataFrame:
    """The frame with every score beside its rows. Bounds and constants that differ between rows are columns of it."""
    columns = set(frame.columns)
    same = tuple((name, value) for name, value in sorted(constants.items()) if name not in columns)
    for together in _expressions(same):
        frame = frame.with_columns(*together)
    return frame


@lru_cache(maxsize=16)
def _expressions(same: tuple[tuple[str, float], ...]) -> list[list[pl.Expr]]:
    """The scores as expressions, round by round, with these constants for all rows; the others are columns.

    Polars' own: Narwhals would translate them anew for each frame, which took a tenth of a batch.
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


def cents_columns(frame: pl.DataFrame, constants: Mapping[str, float]) -> dict[str, np.ndarray]:
    """The kept scores of each row in cents."""
    scored = score_columns(frame, constants)
    return {name: cents_column(scored[f"{name}_score"].to_numpy()) for name in KEPT}
