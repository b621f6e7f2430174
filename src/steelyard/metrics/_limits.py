"""Bounds of the inputs and results of a metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.records import FACTS
from steelyard.statistics import STATISTICS

if TYPE_CHECKING:
    from steelyard.metrics._declare import Metric
    from steelyard.metrics._words import Value

Limits = tuple[float, float]

NEVER_NEGATIVE = (0.0, math.inf)
_MOMENTS = frozenset({"start_time", "end_time"})
"""Facts that count from 1970 and may be negative."""
_ROUNDING = 1e-9


def limits_of(declared: Metric, metrics: Mapping[str, Metric]) -> dict[str, Limits]:
    """Return the bounds of each numeric input: a metric's own bounds, and 0 or more for counts and amounts."""
    limits: dict[str, Limits] = {}
    for parameter, spec in declared.inputs.items():
        name = spec.of or parameter
        fact = FACTS.get(name)
        if fact is not None and fact.kind in ("int", "float") and name not in _MOMENTS:
            limits[parameter] = NEVER_NEGATIVE
        elif name in metrics and name != declared.name and _one_number(metrics[name], declared):
            low, high = metrics[name].bounds
            limits[parameter] = (low, high if spec.reduce is None or STATISTICS[spec.reduce].between else math.inf)
    return limits


def _one_number(needed: Metric, declared: Metric) -> bool:
    """Whether the input is a number: metrics over benchmarks, tasks and prompts take lists of what they are made of."""
    return declared.level in ("run", "group", "submission") and needed.level in ("run", "group", "submission")


def check_inputs(declared: Metric, given: Mapping[str, Value]) -> None:
    """Reject inputs out of bounds."""
    for name, (low, high) in declared.limits.items():
        value = given[name]
        if isinstance(value, bool | int | float):
            if not _inside(value, low, high):
                hint = f"{name} must be {_range_text(low, high)}"
                raise UsageError(f"{name} {value} is out of range", where=declared.name, hint=hint)
        elif isinstance(value, str | bytes | list | tuple | dict):
            raise UsageError(f"{name} must be a number (got {value!r:.100})", where=declared.name)


def check_result(declared: Metric, given: Mapping[str, Value], result: float) -> None:
    """Reject a result outside the metric's bounds: it came from values that contradict each other."""
    low, high = declared.bounds
    if not _inside(result, low, high):
        shown = ", ".join(f"{name} {value}" for name, value in given.items() if isinstance(value, bool | int | float))
        hint = f"{declared.name} must be {_range_text(low, high)}"
        raise UsageError(f"result {result} is out of range ({shown})", where=declared.name, hint=hint)


def _inside(value: float, low: float, high: float) -> bool:
    room = _ROUNDING * max(1.0, abs(low) if math.isfinite(low) else 0.0, abs(high) if math.isfinite(high) else 0.0)
    return low - room <= value <= high + room  # false for what is not a number


def _range_text(low: float, high: float) -> str:
    return f"{low:g} or more" if math.isinf(high) else f"between {low:g} and {high:g}"
