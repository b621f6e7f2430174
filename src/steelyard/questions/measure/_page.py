"""Page of a measurement: overview by group, tiers, token components, and all statistics of each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import NumberFormat, at_least, counted, percent, quantity, table_format
from steelyard.metrics import Metric, catalog
from steelyard.questions.measure._answer import (
    FIGURES,
    OF_COMPONENT,
    ComponentUsage,
    Group,
    GroupValue,
    Measurement,
    Statistics,
    TierComparison,
)
from steelyard.records import key_label, key_text, tier_text

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable
    from steelyard.statistics import Interval

LAST_TO_LEAVE = {"pass_rate": 0, "cost_of_pass": 0, "cost_usd": 2, "composite_score": 3, "duration_seconds": 4}
"""Columns that stay longest in a narrow table: results and cost of pass first."""
MAX_DETAILED_GROUPS = 100
"""Groups with a table of all their statistics: more would not be read."""


def page(answer: Measurement) -> Page:
    """Return the results and costs of each group."""
    table, *also = _tables(answer)
    detailed = [group for group in answer.groups[:MAX_DETAILED_GROUPS] if group.metrics]
    left = len(answer.groups[MAX_DETAILED_GROUPS:])
    made = pages.Page(
        name="measure",
        title="What are the results, and what did they cost?",
        answer=sentence(answer),
        table=table,
        also=(*also, *(_all_statistics(group, number, answer) for number, group in enumerate(detailed, 1))),
        details=(f"All statistics of {counted(left, 'further group')} are in the data files.",) if left else (),
        facts=(*pages.counting_facts(answer), ("prices", answer.prices)),
    )
    return pages.with_figures(made, answer, ("dots", "pareto"))


def _tables(answer: Measurement) -> list[PageTable]:
    """Return the overview, then tiers and components where there are any; without these, at least the groups."""
    tables = [_overview(answer)] if overview_of(answer) or not answer.metrics_requested else []
    if any(across.uplift or across.values for across in answer.across):
        tables.append(_tiers(answer))
    if any(group.components for group in answer.groups) or not OF_COMPONENT.keys().isdisjoint(answer.metrics_requested):
        tables.append(_components(answer))
    return tables or [_overview(answer)]


def sentence(answer: Measurement) -> str:
    """Return the result of a single group or the range of pass rates, and how many runs have no verdict."""
    return f"{_delivered(answer)}{_excluded(answer)}"


def _excluded(answer: Measurement) -> str:
    """Return how many runs no pass rate counts, if others have a verdict."""
    rates = [rate for group in answer.groups if isinstance(rate := group.metrics.get("pass_rate"), Statistics)]
    missing = sum(rate.missing for rate in rates)
    if not missing or not any(rate.count for rate in rates):
        return ""
    return (
        f" {counted(missing, 'run')} without a verdict {'is' if missing == 1 else 'are'} excluded from the pass rate."
    )


def _delivered(answer: Measurement) -> str:
    runs = counted(answer.n, answer.row_kind)
    if len(answer.groups) == 1:
        parts = []
        for name, label in (("pass_rate", "pass rate"), ("cost_usd", "mean cost"), ("cost_of_pass", "cost of pass")):
            number = _mean(answer.groups[0], name)
            parts += [f"{label} {quantity(number, catalog()[name].unit)}"] if number is not None else []
        if parts:
            return f"{runs}: {', '.join(parts)}."
        looked_for = {"pass_rate", "cost_usd"} <= answer.groups[0].metrics.keys()
        return f"{runs}, without a verdict or a cost." if looked_for else f"{runs}."
    groups = f"{runs} in {counted(len(answer.groups), 'group')} by {', '.join(answer.by)}"
    known = [(rate, group) for group in answer.groups if (rate := _mean(group, "pass_rate")) is not None]
    if not known:
        return f"{groups}."
    (least, last), (most, first) = (pick(known, key=lambda pair: pair[0]) for pick in (min, max))
    if least == most:
        return f"{groups}, each with a pass rate of {quantity(most, 'fraction')}."
    ends = [f"{quantity(rate, 'fraction')} ({_named(group, answer)})" for rate, group in ((least, last), (most, first))]
    return f"{groups}: pass rates from {ends[0]} to {ends[1]}."


def _mean(group: Group, name: str) -> float | None:
    value = group.metrics.get(name)
    return value.value if isinstance(value, GroupValue) else None if value is None else value.mean


def _named(group: Group, answer: Measurement) -> str:
    return ", ".join(pages.key_cell(group.key, name, answer.tier_scheme) for name in answer.by)


def overview_of(answer: Measurement) -> list[Metric]:
    """Return the metrics of the first table: those requested, else those that declare a place in it."""
    shown = [catalog()[name] for name in answer.metrics_requested] or [
        metric
        for metric in catalog().overview()
        # few files are leaderboards
        if not metric.counts_tasks or any(_mean(group, metric.name) is not None for group in answer.groups)
    ]
    return [metric for metric in shown if all(metric.name in group.metrics for group in answer.groups)]


def _key_columns(answer: Measurement, groups: Sequence[Group]) -> list[Column]:
    return pages.key_columns(answer.by, [group.key for group in groups], answer.tier_scheme)


def _overview(answer: Measurement) -> PageTable:
    groups, kind = answer.groups, f"{answer.row_kind}s"
    columns = [
        *_key_columns(answer, groups),
        replace(pages.count_column(kind, kind, [group.n for group in groups]), spare=1),
        *(_metric_column(answer, metric) for metric in overview_of(answer)),
        pages.Column(
            name="grade",
            title="grade",
            values=[f"{group.grade} {group.grade_meaning}" if group.grade else None for group in groups],
            spare=1,
        ),
    ]
    runs = counted(answer.n, answer.row_kind)
    return pages.PageTable(
        caption=f"{runs}, profile {answer.profile}, prices {answer.prices}, {pages.weighting(answer)}",
        columns=tuple(columns),
    )


def _metric_column(answer: Measurement, metric: Metric) -> Column:
    values = [group.metrics[metric.name] for group in answer.groups]
    numbers = [cell_numbers(value, metric.figure) for value in values]
    column = table_format((number for several in numbers for number in several), metric.unit)
    is_requested = metric.name in answer.metrics_requested
    return pages.Column(
        name=metric.name,
        title=metric.heading(metric.figure),
        values=[figure for figure, *_ in numbers],
        decimals=6,
        texts=[
            cell_text(value, metric.figure, column, group.n) for value, group in zip(values, answer.groups, strict=True)
        ],
        spare=0 if is_requested else LAST_TO_LEAVE.get(metric.name, len(LAST_TO_LEAVE)),
        legend=pages.interval_legend([each for value in values if (each := _interval(value, metric.figure))]),
    )


def _interval(value: Statistics | GroupValue, statistic: str) -> Interval | None:
    return value.interval if isinstance(value, GroupValue) else value.intervals.get(statistic)


def cell_numbers(value: Statistics | GroupValue, statistic: str) -> tuple[float | None, ...]:
    """Return the numbers that the cell of a figure prints: its value and bounds."""
    figure = value.value if isinstance(value, GroupValue) else getattr(value, statistic)
    interval = _interval(value, statistic)
    return (figure,) if interval is None else (figure, interval.low, interval.high)


def cell_text(value: Statistics | GroupValue, statistic: str, column: NumberFormat, n: int) -> str:
    """Return the number, with "count of N" after it if some runs have none."""
    if isinstance(value, GroupValue):
        text = _group_text(value, column) + _range_text(value, "value", column)
        notes = [f"{value.count:,} of {n:,}"] if value.value is not None and value.missing else []
        notes += [counted(value.lower_bounds, "lower bound")] if value.lower_bounds else []
        return f"{text} ({', '.join(notes)})" if notes else text
    text = at_least(column.text(getattr(value, statistic)), is_bound=bool(value.lower_bounds))
    text += _range_text(value, statistic, column)
    notes = [] if value.count in (0, n) else [f"{value.count:,} of {n:,}"]
    notes += [counted(value.lower_bounds, "lower bound")] if value.lower_bounds else []
    return f"{text} ({', '.join(notes)})" if notes else text


def _group_text(value: GroupValue, column: NumberFormat) -> str:
    return f"{'at least ' if value.at_least else ''}{column.text(value.value)}"


def _range_text(value: Statistics | GroupValue, statistic: str, column: NumberFormat) -> str:
    """Return the bounds of an interval on a new line, so that columns stay narrow."""
    interval = _interval(value, statistic)
    if interval is None or interval.low is None:
        return ""
    label = f"\n{interval.mark}" if interval.mark else ""
    geometric = value.intervals.get("geometric_mean") if label and isinstance(value, Statistics) else None
    if geometric is not None and geometric.estimate is not None:
        label += f"\ngeometric mean {column.text(geometric.estimate)}"
    return f"\n{column.text(interval.low)} to {column.text(interval.high)}{label}"


def _tiers(answer: Measurement) -> PageTable:
    """Return one row for the uplift of each tier and for each figure over all of them."""
    of = f"the median {catalog()['composite_score'].title.lower()}"
    uplift_over = f"uplift of {of} over {tier_text(answer.across[0].base, answer.tier_scheme)}"
    rows = [(across, *row) for across in answer.across for row in _tier_rows(answer, across)]
    rest = [name for name in answer.by if name != "tier"]
    return pages.PageTable(
        name="tiers",
        caption=f"Across tiers: {uplift_over}, and variation of the tiers' medians",
        columns=(
            *(pages.text_column(name, name, [key_text(across.key[name]) for across, *_ in rows]) for name in rest),
            pages.text_column("figure", "figure", [label for _, label, _, _ in rows]),
            pages.Column(
                name="value",
                title="value",
                values=[value.value for *_, value, _ in rows],
                decimals=6,
                texts=[text for *_, text in rows],
                legend="; ".join(_same_medians(answer)),
            ),
            *pages.reason_columns([value.reason for *_, value, _ in rows]),
        ),
    )


def _tier_rows(answer: Measurement, across: TierComparison) -> Iterator[tuple[str, GroupValue, str]]:
    """Yield the label, the value and its text."""
    for tier, uplift in across.uplift.items():
        text = pages.DASH if uplift.value is None else percent(uplift.value, signed=True)
        yield f"tier uplift of {tier_text(tier, answer.tier_scheme)} ↑", uplift, text
    for name, value in across.values.items():
        metric = catalog()[name]
        yield " ".join(metric.heading().split()), value, pages.number_text(value.value, metric.unit)


def _same_medians(answer: Measurement) -> Iterator[str]:
    """Where a figure is 0, the median that every tier has: that of a pass rate is mostly 0 or 1, whatever the rates."""
    for across in answer.across:
        groups = [group.metrics for group in answer.groups if across.key.items() <= group.key.items()]
        within = f"{key_label(across.key, across.key.values())}, " if across.key else ""
        for declared in (catalog()[name] for name, value in across.values.items() if value.value == 0):
            behind = [spec.of or name for name, spec in declared.inputs.items()]
            for of in (catalog()[name] for name in behind if name in catalog()):
                values = [value for metrics in groups if isinstance(value := metrics.get(of.name), Statistics)]
                medians = {value.median for value in values} - {None}
                if len(medians) == 1:
                    same = f"every tier's median {of.title.lower()} is {pages.number_text(medians.pop(), of.unit)}"
                    yield f"{within}{declared.title.lower()} 0: {same}"


def _components(answer: Measurement) -> PageTable:
    """Return tokens and cost of each component type that a group uses; a row without values for a group without any."""
    none = ComponentUsage(
        tokens=None, token_fraction=None, cost_usd=None, cost_fraction=None, reason="no run has tokens by component"
    )
    rows = [
        (group, component, used)
        for group in answer.groups
        for component, used in (group.components or {pages.DASH: none}).items()
        if used.tokens != 0
    ]
    parts = [used for *_, used in rows]
    keys = _key_columns(answer, [group for group, *_ in rows])
    return pages.PageTable(
        name="components",
        caption="Tokens and cost by component",
        columns=(
            *keys,
            pages.text_column("component", "component", [component for _, component, _ in rows]),
            *(_component_column(metric, parts) for metric in OF_COMPONENT),
            *(replace(column, spare=2) for column in pages.reason_columns([part.reason for part in parts])),
        ),
    )


def _component_column(name: str, parts: Sequence[ComponentUsage]) -> Column:
    metric = catalog()[name]
    values: list[float | None] = [getattr(part, OF_COMPONENT[name]) for part in parts]
    if metric.unit == "tokens":
        texts = [pages.number_text(value, metric.unit) for value in values]
    else:
        column = table_format(values, metric.unit)
        texts = [column.text(value) for value in values]
    title = metric.title.removeprefix("Component ")
    spare = 1 if name == "component_cost_usd" else 0
    return pages.Column(name=name, title=title, values=values, decimals=6, texts=texts, spare=spare)


def _all_statistics(group: Group, number: int, answer: Measurement) -> PageTable:
    """Return a folded table of all metrics of a group; its cells are made when it is unfolded or written."""
    metrics = list(group.metrics.items())

    def figures(name: str) -> Column:
        def number_of(entry: tuple[str, Statistics | GroupValue]) -> float | None:
            value = entry[1]
            if name == "value":
                return value.value if isinstance(value, GroupValue) else None
            return None if isinstance(value, GroupValue) else getattr(value, name)

        def text_of(entry: tuple[str, Statistics | GroupValue]) -> str:
            value, unit = entry[1], catalog()[entry[0]].unit
            if isinstance(value, GroupValue) != (name == "value"):
                return ""
            if isinstance(value, GroupValue):
                return _group_text(value, table_format(cell_numbers(value, "value"), unit))
            return pages.number_text(getattr(value, name), unit)

        values, texts = pages.OnDemand(metrics, number_of), pages.OnDemand(metrics, text_of)
        return pages.Column(name=name, title=name, values=values, decimals=6, texts=texts)

    def used(entry: tuple[str, Statistics | GroupValue]) -> str:
        count = entry[1].count
        return "" if count is None else f"{count:,} of {group.n:,}"

    labels = pages.OnDemand(metrics, lambda entry: f"{entry[0]} {catalog()[entry[0]].arrow}".rstrip())
    counts = pages.OnDemand(metrics, lambda entry: entry[1].count)
    return pages.PageTable(
        name=f"statistics-{number}",
        caption=f"{group.label}: {counted(group.n, answer.row_kind)}",
        is_folded=True,
        columns=(
            pages.Column(name="metric", title="metric", values=labels),
            *(figures(name) for name in ("value", *FIGURES)),
            pages.Column(name="count", title="n of N", values=counts, decimals=0, texts=pages.OnDemand(metrics, used)),
            pages.Column(
                name="reason",
                title="why missing",
                values=pages.OnDemand(metrics, lambda entry: entry[1].reason or ""),
            ),
        ),
    )
