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
    """Statistics of a per-run metric over the runs of a group, each also under its own name as an attribute."""

    values: Mapping[str, float | None]
    """By name, those that are shown; None where there is no value. Counts are whole."""
    reason: str | None = None
    """Why no run has a value, where none has."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """The range of the mean and of the median, where asked for."""

    def __getattr__(self, name: str) -> float | None:
        """A statistic by its name."""
        if name not in SHOWN:
            raise AttributeError(f"unknown statistic {name!r}: {', '.join(SHOWN)}")
        return self.values[name]

    def __dir__(self) -> list[str]:
        """The statistics among the attributes, for those who complete names."""
        return sorted({*object.__dir__(self), *SHOWN})

    @property
    def count(self) -> int:
        """How many runs have a value."""
        return int(self.values["count"] or 0)

    @property
    def missing(self) -> int:
        """How many runs have none."""
        return int(self.values["missing"] or 0)


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A metric of the group as a whole."""

    value: float | None
    reason: str | None = None
    """Why there is no value."""
    interval: Interval | None = None
    """Its range, where asked for."""
    count: int | None = None
    """How many runs (or tiers) it is made from; of inputs known for different runs, those of the scarcest."""
    missing: int = 0
    """How many it is not made from."""
    lower_bounds: int = 0
    """Of a total: how many runs added only a lower bound."""
    at_least: bool = False
    """Whether it is a total that is known to be too low: runs are missing from it, or added only a lower bound."""
    inputs: Mapping[str, GroupValue] = field(default_factory=dict)
    """What was put into the formula: for each input its figure over the runs."""


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
"""Where a component's metric stands among what is known of a component."""


def group_label(names: Iterable[str], values: Iterable[str | int | None]) -> str:
    """The key of a group in one line."""
    return key_label(names, values) or "all runs"


@dataclass(frozen=True, slots=True)
class Group:
    """The runs that share a key, weighed."""

    key: Mapping[str, str | int | None]
    n: int
    grade: str | None
    grade_meaning: str | None
    metrics: Mapping[str, Statistics | GroupValue]
    components: Mapping[str, ComponentFraction]

    @property
    def label(self) -> str:
        """The key in one line, for findings and messages."""
        return group_label(self.key, self.key.values())


@dataclass(frozen=True, slots=True)
class Across:
    """What differs across the tiers that share the rest of the key."""

    key: Mapping[str, str | int | None]
    base: str
    uplift: Mapping[str, GroupValue]
    values: Mapping[str, GroupValue]


@dataclass(frozen=True, repr=False)
class Measurement(Result):
    """The result of measuring runs. In a notebook it shows itself as a table."""

    profile: str
    prices: str
    by: tuple[str, ...]
    tier_scheme: str | None
    """The scheme that all tiers are named by, where groups are made by tier; None where the key holds it."""
    groups: tuple[Group, ...]
    across: tuple[Across, ...]
    findings: tuple[Finding, ...]
    n: int
    rejected: Sequence[Rejected] = ()
    interval: str = "none"
    """How ranges were asked for."""
    level: float = 0.95
    """The level of the ranges."""
    asked: tuple[str, ...] = ()
    """The metrics that were asked for; none for all."""
    weight_by: str = "runs"
    """What counts once in means and shares: runs or tasks."""
    unscored: str = "exclude"
    """What a run without a verdict counts as: left out, or failed."""
    rows: str = "run"
    """What was measured: runs, or prompts, attempts, benchmarks, submissions."""
    rejected_elsewhere: int = 0
    """Records that another command rejected, where they are only counted."""

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
        """How many records were rejected."""
        return len(self.rejected) + self.rejected_elsewhere

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings, with the records that were rejected among them."""
        return one_a_kind((*set_aside_findings(self.rejected), *self.findings))

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a group and metric; of what was asked for by name also a row a component, and a row a tier.

        A metric that no group has a value of has rows only where it was asked for or is in the overview.
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

    def _told_metrics(self) -> set[str]:
        """Metrics of the overview, those asked for, and others that any group has a value of."""
        always = {*self.asked, *(metric.name for metric in catalog().overview())}
        return always | {
            name
            for group in self.groups
            for name, value in group.metrics.items()
            if (value.value is not None if isinstance(value, GroupValue) else value.count)
        }

    def _group_rows(self) -> list[dict[str, Any]]:  # Any: cells of any type
        rows: list[dict[str, Any]] = []
        told = self._told_metrics()
        for group in self.groups:
            for name, value in group.metrics.items():
                if name not in told:
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
        """One row a group and metric, as a Polars frame."""
        import polars as pl  # heavy: not every caller wants a frame

        numbers = dict.fromkeys(("value", *FIGURES), pl.Float64)
        counts = dict.fromkeys(("n", *(name for name in SHOWN if name not in FIGURES)), pl.Int64)
        texts = dict.fromkeys(("grade", "metric", "reason", "profile"), pl.String)
        if self.interval != "none":
            numbers |= {f"{figure}_{end}": pl.Float64 for figure in _WITH_LIMITS for end in ("low", "high")}
            texts |= {f"{figure}_method": pl.String for figure in _WITH_LIMITS}
        return polars_frame(self.to_dicts(), **numbers, **counts, **texts)


def scheme_dict(tier_scheme: str | None) -> dict[str, str]:
    """The scheme of all tiers, beside keys that do not hold it."""
    return {} if tier_scheme is None else {"tier_scheme": tier_scheme}


def tier_name_dict(key: Mapping[str, str | int | None], tier_scheme: str | None) -> dict[str, str]:
    """What the tier of a key stands for, where its scheme says."""
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
    """The only statistic that can be missing where there are values."""
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
    beside = {"reasons": reasons, "tiers_used": partial}
    return {"base": across.base, **named, **values, **{name: notes for name, notes in beside.items() if notes}}
