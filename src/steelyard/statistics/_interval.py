"""Results of statistics: estimates, intervals and tests with their methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.formatting import percent

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

LEVEL = 0.95
SEED = 20261115
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure with the range that the data leave open; without bounds where the reason says why."""

    estimate: float | None
    """The figure itself; None when there is nothing to estimate it from."""
    low: float | None
    """Lower bound; None without an interval."""
    high: float | None
    """Upper bound, infinite where the data set none; None without an interval."""
    method: str
    """The method's name, as `--interval` takes it."""
    n: int
    """Runs (or pairs) used."""
    clusters: int
    """Independent units among them, tasks as a rule."""
    level: float = LEVEL
    """How often, in the long run, such an interval holds the true value."""
    seed: int | None = None
    """Random seed; None if nothing was resampled."""
    resamples: int | None = None
    """Number of resamples; None if nothing was resampled."""
    reason: str | None = None
    """Why there are no bounds, or why one of them is infinite."""
    approx_coverage: float | None = None
    """Approximate actual coverage where the method is known to fall short of the nominal level; else None."""

    @property
    def known(self) -> bool:
        """Whether there are bounds."""
        return self.low is not None and self.high is not None

    @property
    def mark(self) -> str:
        """Approximate coverage, where a legend explains it."""
        return "" if self.approx_coverage is None else f"~{percent(self.approx_coverage, decimals=0)}"

    @property
    def label(self) -> str:
        """Approximate coverage of an interval known to fall short of its level; empty otherwise."""
        return f"{self.mark} actual coverage" if self.mark else ""

    def excludes(self, value: float) -> bool:
        """Whether the value lies outside the bounds; never without bounds."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    def as_dict(self) -> dict[str, Any]:  # Any: numbers, text and nulls
        """The shape of `--json`; seed and resamples are omitted if nothing was resampled."""
        shape = {"confidence" if name == "level" else name: getattr(self, name) for name in self.__slots__}
        optional = ("seed", "resamples", "reason", "approx_coverage")
        return {name: value for name, value in shape.items() if value is not None or name not in optional}


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """How surprising the data would be if there were no difference."""

    p_value: float | None
    """Probability of a result at least this extreme without a difference; None when it cannot be had."""
    statistic: float | None
    """The number the test looked at."""
    method: str
    """The test's name."""
    n: int
    """Pairs used."""
    clusters: int
    """Independent units among them."""
    seed: int | None = None
    """Random seed; None if nothing was resampled."""
    resamples: int | None = None
    """Number of resamples; None if nothing was resampled."""
    reason: str | None = None
    """Why there is no p-value."""

    def as_dict(self) -> dict[str, Any]:  # Any: numbers, text and nulls
        """The shape of `--json`; seed and resamples are omitted if nothing was resampled."""
        shape = {name: getattr(self, name) for name in self.__slots__}
        optional = ("seed", "resamples", "reason")
        return {name: value for name, value in shape.items() if value is not None or name not in optional}


def check_level(level: float) -> float:
    """The level itself; refused unless it lies between 0 and 1."""
    if not 0 < level < 1:
        share = level / 100 if 1 < level < 100 else LEVEL
        message = f"confidence level must be between 0 and 1 (got {level:g})"
        raise UsageError(message, hint=f"--confidence {share:g}")
    return level


def no_interval(
    reason: str, *, method: str, n: int, clusters: int, level: float, estimate: float | None = None
) -> Interval:
    """A figure whose range cannot be had, with the reason."""
    return Interval(
        estimate=estimate, low=None, high=None, method=method, n=n, clusters=clusters, level=level, reason=reason
    )


def too_few(n: int) -> str:
    """The reason for no interval below two clusters."""
    if n == 0:
        return "no value"
    if n == 1:
        return "only one run; at least two tasks are needed"
    return f"all {n} runs are attempts on one task; at least two tasks are needed"
