"""Results of statistics: intervals and tests with their methods, and reasons for missing ones.

Does not load numpy, because the options of every command import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from steelyard.errors import UsageError
from steelyard.formatting import percent
from steelyard.option_names import option

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
WeightBy: TypeAlias = Literal["runs", "tasks"]
"""What counts once in a mean."""

LEVEL = 0.95
SEED = 20261115
RESAMPLES = 10_000


class Interval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
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
    confidence: float
    """Confidence level."""
    seed: int | None = None
    """Random seed; None if nothing was resampled."""
    resamples: int | None = None
    """Number of resamples; None if nothing was resampled."""
    reason: str | None = None
    """Reason for missing or infinite bounds."""
    approx_coverage: float | None = None
    """Lowest actual coverage, if it can be below the nominal level although what the interval assumes is true."""
    assumes: str | None = None
    """Assumptions that the data cannot confirm; None if there are none."""

    @property
    def known(self) -> bool:
        """Whether there are bounds."""
        return self.low is not None and self.high is not None

    @property
    def mark(self) -> str:
        """Lowest coverage, or * for an assumption alone, where a legend explains it."""
        if self.approx_coverage is None:
            return "*" if self.assumes and self.known else ""
        return f"\u2265{percent(self.approx_coverage, decimals=0)}"

    @property
    def label(self) -> str:
        """Lowest coverage and assumptions as a phrase; empty if the interval needs neither."""
        if self.approx_coverage is None:
            return f"assuming {self.assumes}" if self.assumes and self.known else ""
        text = f"at least {percent(self.approx_coverage, decimals=0)} actual coverage"
        return f"{text}, assuming {self.assumes}" if self.assumes else text

    def excludes(self, value: float) -> bool:
        """Whether the value is outside the bounds; false without bounds."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    def as_dict(self) -> dict[str, Any]:  # Any: numbers, text and nulls
        """Return the fields; optional ones are omitted if they are None."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields


class Significance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
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
        """Return the fields; optional ones are omitted if they are None."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields


class Equivalence(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an equivalence or non-inferiority test."""

    verdict: Literal["equivalent", "non-inferior", "inconclusive"]
    """Claim, if the interval is inside the margin."""
    p_value: float
    """Larger of the two one-sided p-values; for non-inferiority, the p-value of the side tested."""
    low: float
    """Lower limit at level `confidence`."""
    high: float
    """Upper limit at level `confidence`."""
    confidence: float
    """1 - 2 alpha: 0.9 for a test at 0.05."""


class JudgeAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy of a judge on runs with a gold label."""

    sensitivity: Interval
    """Fraction of truly passed runs that the judge passes."""
    specificity: Interval
    """Fraction of truly failed runs that the judge fails."""
    agreement: Interval
    """Fraction of runs with the same verdict."""
    kappa: float | None
    """Cohen's kappa; None if chance alone explains all."""
    labels: int
    """Runs with a judgment and a gold label."""


class CorrectedRate(msgspec.Struct, frozen=True, kw_only=True):
    """Judged pass rate corrected with gold labels."""

    interval: Interval
    """Corrected rate with its interval; `n` counts judged runs."""
    judged_rate: float | None
    """Rate by the judge alone; None without a judgment."""
    labels: int
    """Gold labels used."""
    tuning: float | None
    """Weight of the judge in PPI++, 0 to 1; None for other methods."""
    label: str | None
    """Why the coverage may be below the level; None if simulations cover the case."""


class KruskalWallis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Result of a Kruskal-Wallis test; without a statistic if `reason` is set."""

    h: float | None
    """Test statistic, corrected for ties."""
    df: int | None
    """Degrees of freedom: the number of groups with a value, minus one."""
    p_value: float | None
    """P-value under the null hypothesis that all groups have the same distribution (chi-square approximation)."""
    groups: int
    """Groups with a value."""
    n: int
    """Values used."""
    reason: str | None = None
    """Reason for a missing result."""


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
