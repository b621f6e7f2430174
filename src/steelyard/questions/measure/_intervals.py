"""Intervals for a measurement: each figure of each group gets the one that suits it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from steelyard.formatting import bounds_text, interval_name
from steelyard.metrics import Engine, Metric, catalog
from steelyard.profiles import Profile
from steelyard.questions.analysis import METHODS, complete_ratio_parts, group_intervals, ratio_interval, why_no_estimate
from steelyard.questions.measure import Group, GroupValue, Statistics
from steelyard.records import Finding, Missing
from steelyard.statistics import Floats, Interval, Ints, check_level, no_interval


def with_intervals(
    groups: Sequence[Group], engine: Engine, by: Sequence[str], *, method: str, level: float
) -> list[Group]:
    """The groups with intervals on their figures; attempts at a task are kept together."""
    if not groups:
        return []
    check_level(level)
    codes = engine.codes(by).rows.astype(np.int64)
    tasks = engine.tasks
    shown = list(groups[0].metrics)
    of_runs = [name for name in shown if isinstance(groups[0].metrics[name], Statistics)]
    metric_intervals: dict[str, dict[str, list[Interval]]] = {}
    for name, values in engine.values(of_runs).items():
        if not isinstance(values, Missing):
            metric_intervals[name] = group_intervals(
                catalog()[name],
                values,
                groups=codes,
                tasks=tasks,
                size=len(groups),
                weight_by=engine.weight_by,
                method=method,
                level=level,
            )
    ratios = {
        name: _ratios(engine, name, codes, tasks, groups=groups, method=method, level=level)
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
    message = f"no metric shown supports the interval method {method} ({METHODS[method]})"
    return [Finding(code="interval_method", message=message)]


def uncertain_grades(groups: Sequence[Group], profile: Profile) -> Iterator[Finding]:
    """Yield a finding for each group whose interval for the median composite score spans more than two grades."""
    letters = [grade.grade for grade in profile.grades]
    for group in groups:
        composite = group.metrics.get("composite_score")
        median = composite.intervals.get("median") if isinstance(composite, Statistics) else None
        if group.grade is None or median is None or median.low is None or median.high is None:
            continue
        lowest, highest = (profile.grade_of(end).grade for end in (median.low, median.high))
        if letters.index(lowest) - letters.index(highest) > 1:
            ends = bounds_text(median.low, median.high, "fraction", bare=False)
            message = (
                f"grade {group.grade} is uncertain: the {interval_name(median.confidence)} of the median composite "
                f"score ({ends}) spans grades {lowest} to {highest}"
            )
            yield Finding(code="uncertain_grade", severity="info", message=message, where=group.label)


def _group(
    group: Group,
    place: int,
    metric_intervals: dict[str, dict[str, list[Interval]]],
    ratios: dict[str, list[Interval | None]],
) -> Group:
    metrics: dict[str, Statistics | GroupValue] = {}
    for name, value in group.metrics.items():
        if isinstance(value, Statistics):
            own = {figure: intervals[place] for figure, intervals in metric_intervals.get(name, {}).items()}
            metrics[name] = replace(value, intervals=own) if value.count else value
        else:
            metrics[name] = _with_interval(value, ratios[name][place])
    return replace(group, metrics=metrics)


def _with_interval(value: GroupValue, interval: Interval | None) -> GroupValue:
    return value if value.value is None or interval is None else replace(value, interval=interval)


def _ratios(
    engine: Engine, name: str, codes: Ints, tasks: Ints, *, groups: Sequence[Group], method: str, level: float
) -> list[Interval | None]:
    """The interval of a group metric in each group; None where the method is not for ratios."""
    declared, size = catalog()[name], len(groups)
    if not declared.is_ratio:
        sizes = np.bincount(codes, minlength=size)
        reason = why_no_estimate(declared)
        none = [no_interval(reason, method=method, n=int(n), clusters=0, level=level) for n in sizes]
        return list(none) if method == "auto" else [None] * size
    ratio_parts = complete_ratio_parts(
        declared, engine.values(list(dict.fromkeys(declared.needs.values()))), engine.profile
    )
    if isinstance(ratio_parts, Missing):
        return [None] * size
    above, below = ratio_parts
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=size))
    return [
        _ratio(engine, declared, (above[rows], below[rows]), tasks[rows], group, method=method, level=level)
        for rows, group in zip(np.split(order, ends[:-1]), groups, strict=True)
    ]


def _ratio(
    engine: Engine,
    declared: Metric,
    ratio_parts: tuple[Floats, Floats],
    tasks: Ints,
    group: Group,
    *,
    method: str,
    level: float,
) -> Interval | None:
    shown = group.metrics[declared.name]
    figure = shown.value if isinstance(shown, GroupValue) else None
    if figure is not None and np.isfinite(figure) and not np.nansum(np.abs(ratio_parts[1])):
        reason = "the denominator is 0, so the value is set by convention and is not an estimate"
        return no_interval(reason, method=method, n=int(np.isfinite(ratio_parts[1]).sum()), clusters=0, level=level)
    return ratio_interval(declared, ratio_parts, tasks, figure, weight_by=engine.weight_by, method=method, level=level)
