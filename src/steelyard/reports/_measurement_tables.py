"""Measurements as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rich.table import Table

from steelyard.metrics import Metric, catalog
from steelyard.plain_text import clean
from steelyard.records import key_text, sum_in_order, tier_text
from steelyard.reports._terminal_tables import add_row, plain_table
from steelyard.results import (
    FIGURES,
    Comparison,
    Gate,
    Group,
    GroupValue,
    Matrix,
    Measurement,
    Ranking,
    Statistics,
)

ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}
DASH = "-"


def measurement_tables(result: Measurement, *, every: bool = False) -> Iterator[Table]:
    """The overview by group, then tiers and token components where there are any; with `every`, all statistics too."""
    yield _overview(result)
    if result.across:
        yield _tiers(result)
    if any(group.components for group in result.groups):
        yield _components(result)
    if every:
        for group in result.groups:
            yield _all_statistics(group)


def number_text(value: float | None, unit: str) -> str:
    """A number as people read it: dollars to the hundredth of a cent, shares to three places, counts with commas."""
    if value is None:
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if unit in ("tokens", "tool calls", "iterations"):
        return f"{value:,.0f}"
    if unit == "USD":
        return f"{value:,.4f}"
    if unit == "s":
        return f"{value:,.1f}"
    return f"{value:.3f}"


def weighting(result: Measurement | Comparison | Ranking | Gate | Matrix) -> str:
    """What counts once in means and shares, and what becomes of runs without a verdict where they are not left out."""
    failed = ", runs without a verdict failed" if result.unscored == "fail" else ""
    return f"weighted by {result.weight_by}{failed}"


def heading(name: str, statistic: str | None = None) -> str:
    """A metric's title with its unit and the direction that is better."""
    declared = catalog()[name]
    arrow = ARROWS[declared.better]
    second = "" if statistic in (None, "value") else f"{statistic} "
    unit = "" if declared.unit in ("share", "ratio") else f"{declared.unit} "
    return f"{declared.title}\n{second}{unit}{arrow}".rstrip()


def _overview(result: Measurement) -> Table:
    runs = "1 run" if result.n == 1 else f"{result.n:,} runs"
    table = plain_table(f"{runs}, profile {result.profile}, prices {result.prices}, {weighting(result)}")
    for name in result.by:
        table.add_column(name)
    if not result.by:
        table.add_column("")
    table.add_column("runs", justify="right")
    shown = overview_of(result)
    for declared in shown:
        table.add_column(heading(declared.name, declared.figure), justify="right")
    table.add_column("grade")
    for group in result.groups:
        cells = [key_cell(group.key, name, result.tier_scheme) for name in result.by] or ["all"]
        cells.append(f"{group.n:,}")
        cells += [cell_text(group.metrics[metric.name], metric.figure, metric.unit, group.n) for metric in shown]
        cells.append(f"{group.grade} {group.grade_meaning}" if group.grade else DASH)
        add_row(table, *cells)
    return table


def overview_of(result: Measurement) -> list[Metric]:
    """The metrics of the first table: those that were asked for, else those that declare a place in it."""
    shown = [catalog()[name] for name in result.asked] or catalog().overview()
    return [metric for metric in shown if all(metric.name in group.metrics for group in result.groups)]


def key_cell(key: Mapping[str, str | int | None], name: str, tier_scheme: str | None) -> str:
    """The value of a group's key; a tier with what it means in its scheme: the key's own, or that of all tiers."""
    value = key[name]
    if name != "tier" or value is None:
        return clean(key_text(value))
    scheme = key.get("tier_scheme", tier_scheme)
    return clean(tier_text(str(value), None if scheme is None else str(scheme)))


def cell_text(value: Statistics | GroupValue, statistic: str, unit: str, n: int) -> str:
    """The number, with "count of N" behind it when not all runs have one."""
    if isinstance(value, GroupValue):
        text = _group_text(value, unit) + _range_text(value, "value", unit)
        beside = [f"{value.count:,} of {n:,}"] if value.value is not None and value.missing else []
        beside += [f"{value.lower_bounds:,} lower bounds"] if value.lower_bounds else []
        return f"{text} ({', '.join(beside)})" if beside else text
    text = number_text(getattr(value, statistic), unit) + _range_text(value, statistic, unit)
    return text if value.count in (0, n) else f"{text} ({value.count:,} of {n:,})"


def _group_text(value: GroupValue, unit: str) -> str:
    return f"{'at least ' if value.at_least else ''}{number_text(value.value, unit)}"


def _range_text(value: Statistics | GroupValue, statistic: str, unit: str) -> str:
    """The limits behind a figure; a new line, so that columns stay narrow."""
    interval = value.interval if isinstance(value, GroupValue) else value.intervals.get(statistic)
    if interval is None or interval.low is None:
        return ""
    label = f"\n{interval.label}" if interval.label else ""
    beside = value.intervals.get("geometric_mean") if label and isinstance(value, Statistics) else None
    if beside is not None and beside.estimate is not None:
        label += f"\ngeometric mean {number_text(beside.estimate, unit)}"
    return f"\n{number_text(interval.low, unit)} to {number_text(interval.high, unit)}{label}"


def _tiers(result: Measurement) -> Table:
    base = result.across[0].base
    table = plain_table(f"Across tiers: uplift over {clean(tier_text(base, result.tier_scheme))}")
    rest = [name for name in result.by if name != "tier"]
    tiers = list(dict.fromkeys(tier for across in result.across for tier in across.uplift))
    for name in rest:
        table.add_column(name)
    for tier in tiers:
        table.add_column(f"{clean(tier_text(tier, result.tier_scheme))}\nuplift ↑", justify="right")
    names = list(result.across[0].values)
    for name in names:
        table.add_column(heading(name), justify="right")
    for across in result.across:
        cells = [key_text(across.key[name]) for name in rest]
        for tier in tiers:
            uplift = across.uplift[tier].value if tier in across.uplift else None
            cells.append(DASH if uplift is None else f"{uplift:+.1%}")
        cells += [_significant(across.values[name].value) for name in names]
        add_row(table, *cells)
    return table


def _significant(value: float | None) -> str:
    return DASH if value is None else f"{value:.4g}"


def _components(result: Measurement) -> Table:
    table = plain_table("Tokens by component: share of tokens / share of cost")
    for name in result.by:
        table.add_column(name)
    if not result.by:
        table.add_column("")
    types = [
        name
        for name in next(group.components for group in result.groups if group.components)
        if any(group.components and (group.components[name].tokens or 0) > 0 for group in result.groups)
    ]
    table.add_column("tokens", justify="right")
    for name in types:
        table.add_column(name.replace("_", "\n"), justify="right")
    for group in result.groups:
        cells = [key_cell(group.key, name, result.tier_scheme) for name in result.by] or ["all"]
        tokens = [part.tokens for part in group.components.values() if part.tokens is not None]
        cells.append(f"{sum_in_order(tokens):,.0f}" if tokens else DASH)
        for name in types:
            part = group.components.get(name)
            cells.append(f"{_percent(part.token_share)} / {_percent(part.cost_share)}" if part else DASH)
        add_row(table, *cells)
    return table


def _percent(share: float | None) -> str:
    return DASH if share is None else f"{share:.0%}"


def _all_statistics(group: Group) -> Table:
    table = plain_table(f"{group.label}: {group.n:,} runs")
    table.add_column("metric")
    for name in ("value", *FIGURES, "n of N"):
        table.add_column(name, justify="right")
    table.add_column("why missing")
    for name, value in group.metrics.items():
        unit = catalog()[name].unit
        label = f"{name} {ARROWS[catalog()[name].better]}".rstrip()
        if isinstance(value, GroupValue):
            used = "" if value.count is None else f"{value.count:,} of {group.n:,}"
            cells = [_group_text(value, unit), *[""] * len(FIGURES), used]
        else:
            numbers = [number_text(getattr(value, statistic), unit) for statistic in FIGURES]
            cells = ["", *numbers, f"{value.count:,} of {group.n:,}"]
        add_row(table, label, *cells, value.reason or "")
    return table
