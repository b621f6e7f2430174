"""Results of statistics: estimates, intervals and tests with their methods."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.statistics._estimates import LEVEL, Interval

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]


def check_level(level: float) -> float:
    """Return the level, or raise an error if it is not between 0 and 1."""
    if not 0 < level < 1:
        share = level / 100 if 1 < level < 100 else LEVEL
        message = f"confidence level must be between 0 and 1 (got {level:g})"
        raise UsageError(message, hint=option("confidence", f"{share:g}"))
    return level


def no_interval(
    reason: str, *, method: str, n: int, clusters: int, level: float, estimate: float | None = None
) -> Interval:
    """Return an estimate without an interval, with the reason."""
    return Interval(
        estimate=estimate, low=None, high=None, method=method, n=n, clusters=clusters, confidence=level, reason=reason
    )


def too_few(n: int) -> str:
    """Return the reason for no interval with fewer than two clusters."""
    if n == 0:
        return "no value"
    if n == 1:
        return "only one run; at least two tasks are needed"
    return f"all {n} runs are attempts on one task; at least two tasks are needed"
