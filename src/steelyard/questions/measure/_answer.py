"""Answer of `measure`: metrics of groups of runs, with their counts and the reasons for missing values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import msgspec

from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Finding, key_label
from steelyard.statistics import STATISTICS, Interval

SHOWN = {name: statistic for name, statistic in STATISTICS.items() if statistic.shown}
"""The statistics of a per-run metric that are shown, in order."""
FIGURES = tuple(name for name, statistic in SHOWN.items() if not statistic.counts)
"""Those in the metric's own unit."""
OF_COMPONENT = {
    "component_tokens": "tokens",
    "component_token_fraction": "token_fraction",
    "component_cost_usd": "cost_usd",
    "component_cost_fraction": "cost_fraction",
}
"""Field of each metric in the usage of a component."""

if TYPE_CHECKING:

    class ShownStatistics(Part, frozen=True, kw_only=True):
        """The shown statistics, for type checkers."""

        count: int
        missing: int

        def __getattr__(self, name: str) -> float | None: ...

else:
    ShownStatistics = msgspec.defstruct(
        "ShownStatistics",
        [(name, int if statistic.counts else float | None) for name, statistic in SHOWN.items()],
        bases=(Part,),
        module=__name__,
        frozen=True,
        kw_only=True,
    )


class Statistics(ShownStatistics, frozen=True, kw_only=True, tag_field="kind", tag="statistics"):
    """Statistics of a per-run metric over the runs of a group; None without a value."""

    intervals: dict[str, Interval] = {}  # noqa: RUF012 # msgspec copies it
    """Intervals of the mean and the median, if requested."""
    lower_bounds: int = 0
    """Number of runs whose value is a lower bound; the statistics are lower bounds if there are any."""
    reason: str | None = None
    """Reason if no run has a value, or if the standard deviation is missing."""


class GroupValue(Part, frozen=True, kw_only=True, tag_field="kind", tag="value"):
    """Value of a group metric."""

    value: float | None
    count: int | None = None
    """Number of runs (or tiers) it is based on; the smallest number if inputs are known for different runs."""
    missing: int = 0
    """Number of runs (or tiers) it is not based on."""
    lower_bounds: int = 0
    """Number of runs whose value is only a lower bound."""
    at_least: bool = False
    """Whether it is a lower bound, because runs have only a lower bound or, for totals, are missing."""
    interval: Interval | None = None
    """Its interval, if requested."""
    inputs: dict[str, GroupValue] = {}  # noqa: RUF012 # msgspec copies it
    """Inputs of the formula: the value of each input over the runs."""
    reason: str | None = None
    """Reason for a missing value."""


class ComponentUsage(Part, frozen=True, kw_only=True):
    """One component type's tokens and cost in a group."""

    tokens: float | None
    token_fraction: float | None
    cost_usd: float | None
    cost_fraction: float | None
    reason: str | None = None
    """Reason for the first missing value."""


def group_label(names: Iterable[str], values: Iterable[str | int | None]) -> str:
    """Return the key of a group as one line."""
    return key_label(names, values) or "all runs"


class Group(Part, frozen=True, kw_only=True):
    """Metrics of the runs that share a key."""

    key: dict[str, str | int | None]
    tier_name: str | None
    """Meaning of the tier in its scheme, if the key contains one and the scheme defines it."""
    n: int
    """Number of runs."""
    grade: str | None
    grade_meaning: str | None
    metrics: dict[str, Statistics | GroupValue]
    components: dict[str, ComponentUsage]
    """By component type; empty if no run reports tokens by component."""

    @property
    def label(self) -> str:
        """Key as one line, for findings and messages."""
        return group_label(self.key, self.key.values())


class TierComparison(Part, frozen=True, kw_only=True):
    """Comparison of the tiers that share the rest of the key."""

    key: dict[str, str | int | None]
    """The key without the tier."""
    base: str
    """Tier that the others are compared with."""
    uplift: dict[str, GroupValue]
    """Uplift of each other tier over the base."""
    values: dict[str, GroupValue]
    """Metrics over all tiers, by name."""


class Measurement(Answer, frozen=True, kw_only=True):
    """Metrics of runs by group. Notebooks display it as a table."""

    rows: ClassVar[Rows] = Rows(
        "groups.metrics",
        "groups.components",
        "across.uplift",
        "across.values",
        keep=("tier_scheme", "profile"),
        without=("inputs",),
        keys={"values": "metric"},
    )
    profile: str
    prices: str
    by: tuple[str, ...]
    tier_scheme: str | None
    """Common scheme of all tiers, when grouped by tier; None if the key contains it."""
    n: int
    """Number of runs."""
    row_kind: str = "run"
    """What was measured: run, prompt, attempt, benchmark or submission."""
    weight_by: str = "runs"
    """Unit of analysis of means and proportions: runs or tasks."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""
    interval: str = "none"
    """Requested interval method."""
    confidence: float = 0.95
    """Confidence level of the intervals."""
    metrics_requested: tuple[str, ...] = ()
    """Requested metrics; empty for the standard set."""
    groups: tuple[Group, ...]
    across: tuple[TierComparison, ...]
    """One entry per rest of the key; empty unless grouped by tier."""
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0

    @property
    def about(self) -> str:
        """Runs, groups and profile."""
        by = f" by {','.join(self.by)}" if self.by else ""
        return f"{self.n:,} {self.row_kind}s in {len(self.groups):,} groups{by}, profile {self.profile}"
