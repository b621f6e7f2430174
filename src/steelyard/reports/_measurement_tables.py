"""Measurements as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from steelyard.formatting import UNITS_IN_CELLS, NumberFormat, counted, percent, quantity, table_format
from steelyard.metrics import Metric, catalog
from steelyard.pages import DASH, TextTable, add_row, number_text, plain_table, weighting
from steelyard.plain_text import clean
from steelyard.records import key_label, key_text, tier_text
from steelyard.results import FIGURES, OF_COMPONENT, Group, GroupValue, Measurement, Statistics

ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def measurement_tables(result: Measurement, *, every: bool = False) -> Iterator[TextTable]:
    """The overview by group, then tiers and token components where there are any; with `every`, all statistics too."""
    if overview_of(result) or not result.asked:
        yield _overview(result)
    if any(across.uplift or across.values for across in result.across):
        yield _tiers(result)
    asked = [name for name in result.asked if name in OF_COMPONENT]
    if any(group.components for group in result.groups) and not asked:
        yield _components(result)
    yield from (_component_table(result, name) for name in asked)
    if every:
        for group in result.groups:
            yield _all_statistics(group)


def measurement_sentence(result: Measurement) -> str:
    """What a single group delivered, or from where to where the pass rate goes, and who has no verdict."""
    return f"{_delivered(result)}{_left_out(result)}"


def _left_out(result: Measurement) -> str:
    """How many runs no pass rate counts, where others have a verdict."""
    rates = [rate for group in result.groups if isinstance(rate := group.metrics.get("pass_rate"), Statistics)]
    missing = sum(rate.missing for rate in rates)
    if not missing or not any(rate.count for rate in rates):
        return ""
    return (
        f" {counted(missing, 'run')} without a verdict {'is' if missing == 1 else 'are'} excluded from the pass rate."
    )


def _delivered(result: Measurement) -> str:
    runs = counted(result.n, "run")
    if len(result.groups) == 1:
        parts = []
        for name, label in (("pass_rate", "pass rate"), ("cost_usd", "mean cost"), ("cost_of_pass", "cost of pass")):
            number = _mean(result.groups[0], name)
            parts += [f"{label} {quantity(number, catalog()[name].unit)}"] if number is not None else []
        if parts:
            return f"{runs}: {', '.join(parts)}."
        looked_for = {"pass_rate", "cost_usd"} <= result.groups[0].metrics.keys()
        return f"{runs}, without a verdict or a cost." if looked_for else f"{runs}."
    groups = f"{runs} in {counted(len(result.groups), 'group')} by {', '.join(result.by)}"
    known = [(rate, group) for group in result.groups if (rate := _mean(group, "pass_rate")) is not None]
    if not known:
        return f"{groups}."
    (least, last), (most, first) = (pick(known, key=lambda pair: pair[0]) for pick in (min, max))
    if least == most:
        return f"{groups}, each with a pass rate of {quantity(most, 'fraction')}."
    ends = [f"{quantity(rate, 'fraction')} ({_named(group, result)})" for rate, group in ((least, last), (most, first))]
    return f"{groups}: pass rates from {ends[0]} to {ends[1]}."


def _mean(group: Group, name: str) -> float | None:
    value = group.metrics.get(name)
    return value.value if isinstance(value, GroupValue) else None if value is None else value.mean


def _named(group: Group, result: Measurement) -> str:
    return ", ".join(key_cell(group.key, name, result.tier_scheme) for name in result.by)


def heading(name: str, statistic: str | None = None) -> str:
    """A metric's title with its unit and the direction that is better."""
    declared = catalog()[name]
    arrow = ARROWS[declared.better]
    second = "" if statistic in (None, "value") else f"{statistic} "
    unit = "" if declared.unit in UNITS_IN_CELLS else f"{declared.unit} "
    return f"{declared.title}\n{second}{unit}{arrow}".rstrip()


def _overview(result: Measurement) -> TextTable:
    table = plain_table(
        f"{counted(result.n, result.rows)}, profile {result.profile}, prices {result.prices}, {weighting(result)}"
    )
    for name in result.by:
        table.add_column(name)
    if not result.by:
        table.add_column("")
    table.add_column(f"{result.rows}s", justify="right", spare=1)
    shown = overview_of(result)
    for declared in shown:
        spare = 0 if declared.name in result.asked else LAST_TO_LEAVE.get(declared.name, len(LAST_TO_LEAVE))
        table.add_column(heading(declared.name, declared.figure), justify="right", spare=spare)
    table.add_column("grade", spare=1)
    columns = {metric.name: figure_format(result.groups, metric) for metric in shown}
    for group in result.groups:
        cells = [key_cell(group.key, name, result.tier_scheme) for name in result.by] or ["all"]
        cells.append(f"{group.n:,}")
        cells += [
            cell_text(group.metrics[metric.name], metric.figure, columns[metric.name], group.n) for metric in shown
        ]
        cells.append(f"{group.grade} {group.grade_meaning}" if group.grade else DASH)
        add_row(table, *cells)
    return table


LAST_TO_LEAVE = {"pass_rate": 0, "cost_of_pass": 0, "cost_usd": 2, "composite_score": 3, "duration_seconds": 4}
"""Which columns stay in a narrow table: first what delivers and what a pass costs."""


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


def figure_format(groups: Sequence[Group], metric: Metric) -> NumberFormat:
    """Return the number format that the values and bounds of a metric's column share."""
    values = [group.metrics[metric.name] for group in groups]
    return table_format((number for value in values for number in cell_numbers(value, metric.figure)), metric.unit)


def cell_numbers(value: Statistics | GroupValue, statistic: str) -> tuple[float | None, ...]:
    """Return the numbers that the cell of a figure prints: its value and bounds."""
    figure = value.value if isinstance(value, GroupValue) else getattr(value, statistic)
    interval = value.interval if isinstance(value, GroupValue) else value.intervals.get(statistic)
    return (figure,) if interval is None else (figure, interval.low, interval.high)


def cell_text(value: Statistics | GroupValue, statistic: str, column: NumberFormat, n: int) -> str:
    """Return the number, with "count of N" after it if some runs have none."""
    if isinstance(value, GroupValue):
        text = _group_text(value, column) + _range_text(value, "value", column)
        notes = [f"{value.count:,} of {n:,}"] if value.value is not None and value.missing else []
        notes += [f"{value.lower_bounds:,} lower bounds"] if value.lower_bounds else []
        return f"{text} ({', '.join(notes)})" if notes else text
    text = column.text(getattr(value, statistic)) + _range_text(value, statistic, column)
    return text if value.count in (0, n) else f"{text} ({value.count:,} of {n:,})"


def _group_text(value: GroupValue, column: NumberFormat) -> str:
    return f"{'at least ' if value.at_least else ''}{column.text(value.value)}"


def _range_text(value: Statistics | GroupValue, statistic: str, column: NumberFormat) -> str:
    """Return the bounds of an interval on a new line, so that columns stay narrow."""
    interval = value.interval if isinstance(value, GroupValue) else value.intervals.get(statistic)
    if interval is None or interval.low is None:
        return ""
    label = f"\n{interval.label}" if interval.label else ""
    geometric = value.intervals.get("geometric_mean") if label and isinstance(value, Statistics) else None
    if geometric is not None and geometric.estimate is not None:
        label += f"\ngeometric mean {column.text(geometric.estimate)}"
    return f"\n{column.text(interval.low)} to {column.text(interval.high)}{label}"


def _tiers(result: Measurement) -> TextTable:
    """One row for the uplift of each tier and for each figure over all of them."""
    base = result.across[0].base
    of = f"the median {catalog()['composite_score'].title.lower()}"
    uplift_over = f"uplift of {of} over {clean(tier_text(base, result.tier_scheme))}"
    table = plain_table(f"Across tiers: {uplift_over}, and variation of the tiers' medians")
    rest = [name for name in result.by if name != "tier"]
    for name in (*rest, "figure"):
        table.add_column(name)
    table.add_column("value", justify="right", legend="; ".join(_same_medians(result)))
    for across in result.across:
        keys = [key_text(across.key[name]) for name in rest]
        for tier, uplift in across.uplift.items():
            text = DASH if uplift.value is None else percent(uplift.value, signed=True)
            add_row(table, *keys, f"uplift of {clean(tier_text(tier, result.tier_scheme))} ↑", text)
        for name, value in across.values.items():
            label = " ".join(heading(name).split())
            add_row(table, *keys, label, number_text(value.value, catalog()[name].unit))
    return table


def _same_medians(result: Measurement) -> Iterator[str]:
    """Where a figure is 0, the median that every tier has: that of a pass rate is mostly 0 or 1, whatever the rates."""
    for across in result.across:
        groups = [group.metrics for group in result.groups if across.key.items() <= group.key.items()]
        within = f"{clean(key_label(across.key, across.key.values()))}, " if across.key else ""
        for declared in (catalog()[name] for name, value in across.values.items() if value.value == 0):
            behind = [spec.of or name for name, spec in declared.inputs.items()]
            for of in (catalog()[name] for name in behind if name in catalog()):
                values = [value for metrics in groups if isinstance(value := metrics.get(of.name), Statistics)]
                medians = {value.median for value in values} - {None}
                if len(medians) == 1:
                    same = f"every tier's median {of.title.lower()} is {number_text(medians.pop(), of.unit)}"
                    yield f"{within}{declared.title.lower()} 0: {same}"


def _components(result: Measurement) -> TextTable:
    table = plain_table("Tokens by component")
    for name in result.by:
        table.add_column(name)
    table.add_column("component")
    for title in ("tokens", "fraction of tokens", "fraction of cost"):
        table.add_column(title, justify="right")
    parts = [part for group in result.groups for part in group.components.values()]
    of_tokens = table_format((part.token_fraction for part in parts), "fraction")
    of_cost = table_format((part.cost_fraction for part in parts), "fraction")
    for group in result.groups:
        keys = [key_cell(group.key, name, result.tier_scheme) for name in result.by]
        for component, part in group.components.items():
            if part.tokens != 0:
                fractions = of_tokens.text(part.token_fraction), of_cost.text(part.cost_fraction)
                add_row(table, *keys, component, number_text(part.tokens, "tokens"), *fractions)
    return table


def _component_table(result: Measurement, name: str) -> TextTable:
    """One metric of components that was asked for: a column a component, with why where one has no value."""
    table = plain_table(heading(name).replace("\n", ", "))
    for key in result.by or ("",):
        table.add_column(key)
    types = list(dict.fromkeys(type_ for group in result.groups for type_ in group.components))
    for type_ in types:
        table.add_column(type_.replace("_", "\n"), justify="right")
    if not types:
        table.add_column("")
    unit = catalog()[name].unit
    for group in result.groups:
        cells = [key_cell(group.key, key, result.tier_scheme) for key in result.by] or ["all"]
        shares = [group.components.get(type_) for type_ in types]
        cells += [DASH if part is None else number_text(getattr(part, OF_COMPONENT[name]), unit) for part in shares]
        add_row(table, *cells, *([] if types else [f"{DASH} no run has tokens by component"]))
    return table


def _all_statistics(group: Group) -> TextTable:
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
            cells = [_group_text(value, table_format(cell_numbers(value, "value"), unit)), *[""] * len(FIGURES), used]
        else:
            numbers = [number_text(getattr(value, statistic), unit) for statistic in FIGURES]
            cells = ["", *numbers, f"{value.count:,} of {group.n:,}"]
        add_row(table, label, *cells, value.reason or "")
    return table
