"""Results of statistics: estimates, intervals and tests with their methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.formatting import percent
from steelyard.option_names import option

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

LEVEL = 0.95
SEED = 20261115
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Interval estimate with its method; without bounds if `reason` is set."""

    estimate: float | None
    """Point estimate; None without data."""
    low: float | None
    """Lower bound; None without an interval."""
    high: float | None
    """Upper bound, infinite if the data imply none; None without an interval."""
    method: str
    """Name of the method, as accepted by `--interval`."""
    n: int
    """Runs (or pairs) used."""
    clusters: int
    """Number of independent units, usually tasks."""
    level: float = LEVEL
    """Confidence level."""
    seed: int | None = None
    """Random seed; None if nothing was resampled."""
    resamples: int | None = None
    """Number of resamples; None if nothing was resampled."""
    reason: str | None = None
    """Reason for missing or infinite bounds."""
    approx_coverage: float | None = None
    """Approximate actual coverage if it is known to be below the nominal level; else None."""

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
        """Whether the value is outside the bounds; false without bounds."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    def as_dict(self) -> dict[str, Any]:  # Any: numbers, text and nulls
        """Return the JSON shape; seed and resamples are omitted if nothing was resampled."""
        shape = {"confidence" if name == "level" else name: getattr(self, name) for name in self.__slots__}
        optional = ("seed", "resamples", "reason", "approx_coverage")
        return {name: value for name, value in shape.items() if value is not None or name not in optional}


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """Result of a significance test."""

    p_value: float | None
    """P-value under the null hypothesis of no difference; None if unknown."""
    statistic: float | None
    """Test statistic."""
    method: str
    """Name of the test."""
    n: int
    """Pairs used."""
    clusters: int
    """Number of independent units."""
    seed: int | None = None
    """Random seed; None if nothing was resampled."""
    resamples: int | None = None
    """Number of resamples; None if nothing was resampled."""
    reason: str | None = None
    """Reason for a missing p-value."""

    def as_dict(self) -> dict[str, Any]:  # Any: numbers, text and nulls
        """Return the JSON shape; seed and resamples are omitted if nothing was resampled."""
        shape = {name: getattr(self, name) for name in self.__slots__}
        optional = ("seed", "resamples", "reason")
        return {name: value for name, value in shape.items() if value is not None or name not in optional}


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
        estimate=estimate, low=None, high=None, method=method, n=n, clusters=clusters, level=level, reason=reason
    )


def too_few(n: int) -> str:
    """Return the reason for no interval with fewer than two clusters."""
    if n == 0:
        return "no value"
    if n == 1:
        return "only one run; at least two tasks are needed"
    return f"all {n} runs are attempts on one task; at least two tasks are needed"
