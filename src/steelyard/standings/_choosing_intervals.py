"""Which interval suits a figure: chosen by what the values are and how the runs lie, and named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from steelyard.errors import UnknownName
from steelyard.metrics import Metric
from steelyard.statistics import (
    LEVEL,
    Floats,
    Interval,
    Ints,
    auto_means,
    auto_medians,
    bootstrap_mean,
    check_level,
    clopper_pearson,
    clustered,
    fieller,
    median_clustered,
    median_exact,
    no_interval,
    ratio_bootstrap,
    student,
    wilson,
    wilson_clustered,
)

METHODS: dict[str, str] = {
    "auto": "the method that suits the metric and the runs",
    "none": "no intervals",
    "wilson": "a share; runs taken as independent",
    "clopper-pearson": "a share, never too narrow; runs taken as independent",
    "wilson-clustered": "a share, attempts at a task kept together",
    "student": "a mean; runs taken as independent",
    "clustered": "a mean, attempts at a task kept together",
    "percentile": "a mean or a ratio from draws of tasks",
    "bca": "a mean or a ratio from draws of tasks, corrected for bias and skew",
    "fieller": "a ratio of means, attempts at a task kept together",
    "median-exact": "a median, never too narrow; runs taken as independent",
    "median-clustered": "a median, attempts at a task kept together",
}
"""Every method of `--interval` and what it is for."""

TOO_LARGE = 1e100
"""The squares and cubes of larger values do not exist, so neither do their intervals."""

_SHARES: dict[str, Callable[[int, int, float], Interval]] = {
    "wilson": lambda successes, n, level: wilson(successes, n, level=level),
    "clopper-pearson": lambda successes, n, level: clopper_pearson(successes, n, level=level),
}


def check_method(method: str) -> str:
    """The method itself; an unknown one is refused with the nearest."""
    if method not in METHODS:
        raise UnknownName("interval method", method, METHODS)
    return method


def group_intervals(
    metric: Metric,
    values: Floats,
    *,
    groups: Ints,
    tasks: Ints,
    size: int,
    method: str = "auto",
    level: float = LEVEL,
) -> dict[str, list[Interval]]:
    """Intervals of mean and median in each group, under those names; a figure the method is not for is left out.

    `values` holds NaN where a run has none.
    """
    check_level(level)
    kept = ~np.isnan(values)
    values, groups, tasks = values[kept], groups[kept], tasks[kept]
    if method == "auto":
        whole = {"mean": _finite(metric, values, groups, tasks, size=size, level=level)}
        return whole | {"median": auto_medians(values, groups, tasks, size=size, level=level)}
    if method in ("median-exact", "median-clustered"):
        chosen = _median_exact if method == "median-exact" else _median_clustered
        return {"median": _each(chosen, values, groups, tasks, size=size, level=level)}
    if method in ("fieller", "none"):
        return {}

    def mean_interval(numbers: Floats, labels: Ints, level: float) -> Interval:
        return _mean(metric, numbers, labels, method=method, level=level)

    return {"mean": _each(mean_interval, values, groups, tasks, size=size, level=level)}


def inside(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """The interval without the part that the metric cannot reach."""
    if interval.low is None or interval.high is None:
        return interval
    low, high = (float(min(max(limit, bounds[0]), bounds[1])) for limit in (interval.low, interval.high))
    return dataclasses.replace(interval, low=low, high=high)


def _finite(metric: Metric, values: Floats, groups: Ints, tasks: Ints, *, size: int, level: float) -> list[Interval]:
    """Automatic intervals of means; groups with an infinite value have none."""
    endless = np.abs(values) > TOO_LARGE
    infinite = np.bincount(groups[endless], minlength=size) > 0
    usable = ~infinite[groups]
    intervals = auto_means(
        values[usable],
        groups[usable],
        tasks[usable],
        size=size,
        binary=metric.binary,
        share=metric.is_share,
        level=level,
    )
    return [
        _infinite(values[groups == place], "clustered", level) if infinite[place] else interval
        for place, interval in enumerate(intervals)
    ]


def _infinite(values: Floats, method: str, level: float) -> Interval:
    n = len(values)
    if np.isinf(values).any():
        return no_interval("a value is infinite", method=method, n=n, clusters=0, level=level, estimate=np.inf)
    return no_interval("a value is too large to compute with", method=method, n=n, clusters=0, level=level)


def _each(
    interval_of: Callable[[Floats, Ints, float], Interval],
    values: Floats,
    groups: Ints,
    tasks: Ints,
    *,
    size: int,
    level: float,
) -> list[Interval]:
    order = np.argsort(groups, kind="stable")
    values, tasks = values[order], tasks[order]
    ends = np.cumsum(np.bincount(groups, minlength=size))
    starts = np.concatenate(([0], ends[:-1]))
    return [interval_of(values[start:end], tasks[start:end], level) for start, end in zip(starts, ends, strict=True)]


def _median_exact(values: Floats, _tasks: Ints, level: float) -> Interval:
    return median_exact(values, level=level)


def _median_clustered(values: Floats, tasks: Ints, level: float) -> Interval:
    return median_clustered(values, tasks, level=level)


def _mean(metric: Metric, values: Floats, tasks: Ints, *, method: str, level: float) -> Interval:
    n = len(values)
    if np.any(np.abs(values) > TOO_LARGE):
        return _infinite(values, method, level)
    if method.startswith(("wilson", "clopper")) and not metric.binary:
        reason = f"{method} counts successes, and {metric.name} is not 0 or 1 for each run"
        return no_interval(reason, method=method, n=n, clusters=n, level=level)
    if method in _SHARES:
        return _SHARES[method](int(values.sum()), n, level)
    if method == "student":
        return student(values, level=level)
    if method == "wilson-clustered":
        return wilson_clustered(values, tasks, level=level)
    if method == "clustered":
        return clustered(values, tasks, level=level)
    return bootstrap_mean(values, tasks, method=method, level=level)


def why_no_estimate(declared: Metric) -> str:
    """Why a metric of groups that is no ratio of means has no interval."""
    if declared.is_total:
        return "it is a total of the runs at hand, not an estimate"
    return "it is neither a metric of single runs nor a ratio of means"


def ratio_interval(
    declared: Metric, halves: tuple[Floats, Floats], tasks: Ints, *, method: str = "auto", level: float = LEVEL
) -> Interval | None:
    """Interval of a ratio of means over the runs that have it; None when the method is not for ratios."""
    known = ~np.isnan(halves[0])
    above, below, tasks = halves[0][known], halves[1][known], tasks[known]
    if method not in ("auto", "fieller", "percentile", "bca"):
        return None
    if np.any(np.abs([above, below]) > TOO_LARGE):
        return _infinite(np.concatenate([above, below]), method, level)
    if len(below) and not below.any() and not declared.divides_by_share:
        reason = "what it divides by is 0 in every run"
        return no_interval(reason, method=method, n=len(below), clusters=0, level=level, estimate=np.inf)
    if method in ("auto", "fieller"):
        return fieller(above, below, tasks, level=level)
    return ratio_bootstrap(above, below, tasks, method=method, level=level)
