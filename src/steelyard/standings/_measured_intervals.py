"""Intervals for a measurement: each figure of each group gets the one that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.engines import Grouping, LocalEngine
from steelyard.metrics import catalog
from steelyard.records import Finding, Missing
from steelyard.results import Group, GroupValue, Statistics
from steelyard.standings._choosing_intervals import (
    METHODS,
    RATIOS,
    TOTALS,
    group_intervals,
    inside,
    ratio_interval,
)
from steelyard.statistics import Floats, Interval, Ints, check_level, no_interval


def with_intervals(
    groups: Sequence[Group], engine: LocalEngine, grouping: Grouping, *, method: str, level: float
) -> list[Group]:
    """The groups with intervals on their figures; attempts at a task are kept together."""
    if not groups:
        return []
    check_level(level)
    codes = grouping.codes.astype(np.int64)
    tasks = engine.keys.combine(["task"]).rows.astype(np.int64)
    shown = list(groups[0].metrics)
    of_runs = [name for name in shown if isinstance(groups[0].metrics[name], Statistics)]
    metric_intervals: dict[str, dict[str, list[Interval]]] = {}
    for name, values in engine.values(of_runs).items():
        if not isinstance(values, Missing):
            metric_intervals[name] = group_intervals(
                catalog()[name], values, groups=codes, tasks=tasks, size=len(groups), method=method, level=level
            )
    ratios = {
        name: _ratios(engine, name, codes, tasks, groups=len(groups), method=method, level=level)
        for name in shown
        if isinstance(groups[0].metrics[name], GroupValue)
    }
    return [_group(group, place, metric_intervals, ratios) for place, group in enumerate(groups)]


def no_figure_for(groups: Sequence[Group], method: str) -> list[Finding]:
    """A finding where the asked-for method suits no figure that is shown."""
    if method == "auto":
        return []
    for group in groups:
        for value in group.metrics.values():
            if value.intervals if isinstance(value, Statistics) else value.interval:
                return []
    message = f"no figure that is shown can have an interval by {method}, which is for {METHODS[method]}"
    return [Finding(code="interval_method", message=message)]


def _group(
    group: Group,
    place: int,
    metric_intervals: dict[str, dict[str, list[Interval]]],
    ratios: dict[str, list[Interval | None]],
) -> Group:
    metrics: dict[str, Statistics | GroupValue] = {}
    for name, value in group.metrics.items():
        bounds = catalog()[name].bounds
        if isinstance(value, Statistics):
            own = {
                figure: inside(intervals[place], bounds) for figure, intervals in metric_intervals.get(name, {}).items()
            }
            metrics[name] = replace(value, intervals=own) if value.count else value
        else:
            interval = ratios[name][place]
            known = interval is not None and value.value is not None
            metrics[name] = replace(value, interval=inside(interval, bounds)) if known and interval else value
    return replace(group, metrics=metrics)


def _ratios(
    engine: LocalEngine, name: str, codes: Ints, tasks: Ints, *, groups: int, method: str, level: float
) -> list[Interval | None]:
    """The interval of a group metric in each group; None where the method is not for ratios."""
    if name not in RATIOS:
        sizes = np.bincount(codes, minlength=groups)
        total = [no_interval(TOTALS, method=method, n=int(n), clusters=0, level=level) for n in sizes]
        return list(total) if method == "auto" else [None] * groups
    above, below = RATIOS[name]
    columns: dict[str, Floats] = {}
    for column, values in engine.values(list(dict.fromkeys([*above, *below]))).items():
        if isinstance(values, Missing):
            return [None] * groups
        columns[column] = values
    top, bottom = (np.sum([columns[column] for column in part], axis=0) for part in (above, below))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=groups))
    return [
        ratio_interval(top[rows], bottom[rows], tasks[rows], method=method, level=level)
        for rows in np.split(order, ends[:-1])
    ]
