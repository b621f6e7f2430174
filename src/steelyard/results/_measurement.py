"""What `measure` gives: numbers with their counts, ready to be shown, written or read by a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard.metrics import catalog
from steelyard.records import (
    Finding,
    Rejected,
    finding_dict,
    key_label,
    one_a_kind,
    set_aside_findings,
    tier_meaning,
)
from steelyard.results._base import Result, json_number, json_numbers, polars_frame
from steelyard.statistics import STATISTICS

if TYPE_CHECKING:
    import polars as pl

    from steelyard.statistics import Interval

SHOWN = {name: statistic for name, statistic in STATISTICS.items() if statistic.shown}
"""The statistics of a per-run metric that are shown, in order."""
FIGURES = tuple(name for name, statistic in SHOWN.items() if not statistic.counts)
"""Those in the metric's own unit."""
_WITH_LIMITS = ("value", "mean", "median")
"""What a range may be asked for."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a per-run metric over the runs of a group. Each is also an attribute."""

    values: Mapping[str, float | None]
    """Displayed statistics by name; None without a value. Counts are integers."""
    reason: str | None = None
    """Reason if no run has a value."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """Intervals of the mean and the median, if requested."""

    def __getattr__(self, name: str) -> float | None:
        """Return a statistic by name."""
        if name not in SHOWN:
            raise AttributeError(f"unknown statistic {name!r}: {', '.join(SHOWN)}")
        return self.values[name]

    def __dir__(self) -> list[str]:
        """List the statistics among the attributes, for completion."""
        return sorted({*object.__dir__(self), *SHOWN})

    @property
    def count(self) -> int:
        """Number of runs with a value."""
        return int(self.values["count"] or 0)

    @property
    def missing(self) -> int:
        """Number of runs without a value."""
        return int(self.values["missing"] or 0)


@dataclass(frozen=True, slots=True)
class GroupValue:
    """Value of a group metric."""

    value: float | None
    reason: str | None = None
    """Reason for a missing value."""
    interval: Interval | None = None
    """Its interval, if requested."""
    count: int | None = None
    """Number of runs (or tiers) it is based on; the smallest number if inputs are known for different runs."""
    missing: int = 0
    """Number of runs (or tiers) it is not based on."""
    lower_bounds: int = 0
    """For totals: number of runs that added only a lower bound."""
    at_least: bool = False
    """Whether it is a total that is a lower bound, because runs are missing or added only a lower bound."""
    inputs: Mapping[str, GroupValue] = field(default_factory=dict)
    """Inputs of the formula: the value of each input over the runs."""


@dataclass(frozen=True, slots=True)
class ComponentFraction:
    """One component type's tokens and cost in a group."""

    tokens: float | None
    token_fraction: float | None
    cost_usd: float | None
    cost_fraction: float | None
    reason: str | None = None


OF_COMPONENT = {
    "component_tokens": "tokens",
    "component_token_fraction": "token_fraction",
    "component_cost_usd": "cost_usd",
    "component_cost_fraction": "cost_fraction",
}
"""Key of each metric in a component's figures."""


def group_label(names: Iterable[str], values: Iterable[str | int | None]) -> str:
    """Return the key of a group as one line."""
    return key_label(names, values) or "all runs"


@dataclass(frozen=True, slots=True)
class Group:
    """Metrics of the runs that share a key."""

    key: Mapping[str, str | int | None]
    n: int
    grade: str | None
    grade_meaning: str | None
    metrics: Mapping[str, Statistics | GroupValue]
    components: Mapping[str, ComponentFraction]

    @property
    def label(self) -> str:
        """Key as one line, for findings and messages."""
        return group_label(self.key, self.key.values())


@dataclass(frozen=True, slots=True)
class Across:
    """Comparison of the tiers that share the rest of the key."""

    key: Mapping[str, str | int | None]
    base: str
    uplift: Mapping[str, GroupValue]
    values: Mapping[str, GroupValue]


@dataclass(frozen=True, repr=False)
class Measurement(Result):
    """Result of measuring runs. Notebooks display it as a table."""

    profile: str
    prices: str
    by: tuple[str, ...]
    tier_scheme: str | None
    """Common scheme of all tiers, when grouped by tier; None if the key contains it."""
    groups: tuple[Group, ...]
    across: tuple[Across, ...]
    findings: tuple[Finding, ...]
    n: int
    rejected: Sequence[Rejected] = ()
    interval: str = "none"
    """Requested interval method."""
    level: float = 0.95
    """Confidence level of the intervals."""
    asked: tuple[str, ...] = ()
    """Requested metrics; empty for all."""
    weight_by: str = "runs"
    """Unit of analysis of means and proportions: runs or tasks."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""
    rows: str = "run"
    """Kind of row: run, prompt, attempt, benchmark or submission."""
    rejected_elsewhere: int = 0
    """Number of records that another command rejected."""

    def _about(self) -> str:
        by = f" by {','.join(self.by)}" if self.by else ""
        return f"{self.n:,} {self.rows}s in {len(self.groups):,} groups{by}, profile {self.profile}"

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "profile": self.profile,
            "prices": self.prices,
            "by": list(self.by),
            **scheme_dict(self.tier_scheme),
            "n": self.n,
            **({} if self.rows == "run" else {"rows": self.rows}),
            "weight_by": self.weight_by,
            "unscored": self.unscored,
            **({"interval": self.interval, "confidence": self.level} if self.interval != "none" else {}),
            "groups": [_group_dict(group, self.tier_scheme) for group in self.groups],
            "across": _across_dict(self.across),
            "findings": [finding_dict(finding) for finding in self.all_findings],
        }

    @property
    def rejected_count(self) -> int:
        """Number of rejected records."""
        return len(self.rejected) + self.rejected_elsewhere

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings, including rejected records."""
        return one_a_kind((*set_aside_findings(self.rejected), *self.findings))

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per group and metric, and for metrics requested by name one per component and tier.

        A metric without a value in any group has rows only if it was requested or is in the overview.
        """
        rows = self._group_rows()
        extra = [*self._component_rows(), *self._across_rows()]
        names = dict.fromkeys(name for row in (*rows, *extra) for name in row)
        return [{name: row.get(name) for name in names} for row in (*rows, *extra)] if extra else rows

    def _component_rows(self) -> Iterator[dict[str, Any]]:  # Any: cells of any type
        for group in self.groups:
            for metric in (name for name in self.asked if name in OF_COMPONENT):
                for component, share in group.components.items():
                    value = getattr(share, OF_COMPONENT[metric])
                    row = {**scheme_dict(self.tier_scheme), **group.key, "n": group.n, "grade": group.grade}
                    row |= {"metric": metric, "component": component, "value": value}
                    yield row | {"reason": share.reason if value is None else None, "profile": self.profile}

    def _across_rows(self) -> Iterator[dict[str, Any]]:  # Any: cells of any type
        for across in self.across if self.asked else ():
            values: list[tuple[str, str | None, GroupValue]] = [
                *(("tier_uplift", tier, value) for tier, value in across.uplift.items()),
                *((name, None, value) for name, value in across.values.items()),
            ]
            for name, tier, value in values:
                row = {**scheme_dict(self.tier_scheme), **dict.fromkeys(self.by), **across.key, "tier": tier}
                row |= {"metric": name, "value": value.value, "count": value.count, "missing": value.missing}
                yield row | {"reason": value.reason, "profile": self.profile}

    def _listed_metrics(self) -> set[str]:
        """Metrics of the overview, requested metrics, and others for which any group has a value."""
        always = {*self.asked, *(metric.name for metric in catalog().overview())}
        return always | {
            name
            for group in self.groups
            for name, value in group.metrics.items()
            if (value.value is not None if isinstance(value, GroupValue) else value.count)
        }

    def _group_rows(self) -> list[dict[str, Any]]:  # Any: cells of any type
        rows: list[dict[str, Any]] = []
        listed = self._listed_metrics()
        for group in self.groups:
            for name, value in group.metrics.items():
                if name not in listed:
                    continue
                row: dict[str, Any] = {
                    **scheme_dict(self.tier_scheme),
                    **group.key,
                    "n": group.n,
                    "grade": group.grade,
                    "metric": name,
                }
                if isinstance(value, GroupValue):
                    row |= {"value": value.value, **dict.fromkeys(SHOWN)}
                    row |= {"count": value.count, "missing": None if value.count is None else value.missing}
                    row |= {"at_least": value.at_least}
                else:
                    row |= {"value": None, **value.values, "at_least": False}
                if self.interval != "none":
                    row |= _limits(value)
                rows.append(row | {"reason": value.reason, "profile": self.profile})
        return rows

    def to_polars(self) -> pl.DataFrame:
        """Return one row per group and metric as a Polars frame."""
        import polars as pl  # heavy: not every caller wants a frame

        numbers = dict.fromkeys(("value", *FIGURES), pl.Float64)
        counts = dict.fromkeys(("n", *(name for name in SHOWN if name not in FIGURES)), pl.Int64)
        texts = dict.fromkeys(("grade", "metric", "reason", "profile"), pl.String)
        if self.interval != "none":
            numbers |= {f"{figure}_{end}": pl.Float64 for figure in _WITH_LIMITS for end in ("low", "high")}
            texts |= {f"{figure}_method": pl.String for figure in _WITH_LIMITS}
        return polars_frame(self.to_dicts(), **numbers, **counts, **texts)


def scheme_dict(tier_scheme: str | None) -> dict[str, str]:
    """Return the scheme of all tiers, for keys that do not contain it."""
    return {} if tier_scheme is None else {"tier_scheme": tier_scheme}


def tier_name_dict(key: Mapping[str, str | int | None], tier_scheme: str | None) -> dict[str, str]:
    """Return the meaning of the tier of a key, if its scheme defines one."""
    scheme = key.get("tier_scheme", tier_scheme)
    meaning = tier_meaning(str(key.get("tier")), None if scheme is None else str(scheme))
    return {} if meaning is None else {"tier_name": meaning}


def _group_dict(group: Group, tier_scheme: str | None) -> dict[str, Any]:  # Any: JSON values
    shown: dict[str, Any] = {"key": dict(group.key), **tier_name_dict(group.key, tier_scheme), "n": group.n}
    shown["grade"] = group.grade
    shown["grade_meaning"] = group.grade_meaning
    shown["metrics"] = {name: _metric_dict(value) for name, value in group.metrics.items()}
    shown["components"] = {
        name: {
            "tokens": json_number(part.tokens),
            "token_fraction": json_number(part.token_fraction),
            "cost_usd": json_number(part.cost_usd),
            "cost_fraction": json_number(part.cost_fraction),
            **({"reason": part.reason} if part.reason else {}),
        }
        for name, part in group.components.items()
    }
    return shown


def _metric_dict(value: Statistics | GroupValue) -> dict[str, Any]:  # Any: JSON values
    if isinstance(value, GroupValue):
        shape: dict[str, Any] = {"value": json_number(value.value)}
        if value.missing:
            shape |= {"count": value.count, "missing": value.missing}
        if value.at_least:
            shape |= {"at_least": True, "lower_bounds": value.lower_bounds}
    else:
        shape = {name: json_number(number) for name, number in value.values.items()}
    if isinstance(value, Statistics) and value.intervals:
        shape["intervals"] = {name: json_numbers(interval.as_dict()) for name, interval in value.intervals.items()}
    if isinstance(value, GroupValue) and value.interval:
        shape["interval"] = json_numbers(value.interval.as_dict())
    reason = value.reason or (_why_no_deviation(value) if isinstance(value, Statistics) else None)
    return shape | ({"reason": reason} if reason else {})


def _why_no_deviation(value: Statistics) -> str | None:
    """Return the reason for a missing standard deviation, the only statistic that values may lack."""
    if value.std_dev is not None or value.count == 0:
        return None
    infinite = value.max is not None and math.isinf(value.max)
    return "std_dev is missing: " + (
        "a value is infinite" if infinite else "one value has no sample standard deviation"
    )


def _limits(value: Statistics | GroupValue) -> dict[str, Any]:  # Any: cells of any type
    """The bounds of each figure as flat cells."""
    intervals = {"value": value.interval} if isinstance(value, GroupValue) else dict(value.intervals)
    row: dict[str, Any] = {}
    for figure in _WITH_LIMITS:
        interval = intervals.get(figure)
        row |= {
            f"{figure}_low": interval.low if interval else None,
            f"{figure}_high": interval.high if interval else None,
        }
        row[f"{figure}_method"] = interval.method if interval and interval.known else None
    return row


def _across_dict(across: tuple[Across, ...]) -> dict[str, Any]:  # Any: JSON values
    """Flat when tiers are all there is to the key; else one entry for each rest of the key under "within"."""
    if len(across) == 1 and not across[0].key:
        return _one_across(across[0])
    return {"within": [{"key": dict(entry.key), **_one_across(entry)} for entry in across]} if across else {}


def _one_across(across: Across) -> dict[str, Any]:  # Any: JSON values
    named = {"tier_uplift": {tier: value.value for tier, value in across.uplift.items()}}
    reasons = {f"tier_uplift.{tier}": value.reason for tier, value in across.uplift.items() if value.reason}
    reasons |= {name: value.reason for name, value in across.values.items() if value.reason}
    values = {name: json_number(value.value) for name, value in across.values.items()}
    partial = {
        name: {"count": value.count, "missing": value.missing} for name, value in across.values.items() if value.missing
    }
    extra = {"reasons": reasons, "tiers_used": partial}
    return {"base": across.base, **named, **values, **{name: notes for name, notes in extra.items() if notes}}
