"""Selection of interval methods by the type of the metric and the attempts per task."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from steelyard.errors import UnknownNameError
from steelyard.metrics import Metric
from steelyard.statistics import (
    ASSUMED_TAIL,
    LEVEL,
    NORMAL_MEANS,
    Floats,
    Interval,
    Ints,
    WeightBy,
    auto_means,
    auto_medians,
    bootstrap_mean,
    check_level,
    clopper_pearson,
    clustered,
    coverage_floor,
    evenly_tried,
    fieller,
    median_clustered,
    median_exact,
    mover_ratio,
    no_interval,
    ratio_bootstrap,
    student,
    task_means,
    weighted_means,
    wilson,
    wilson_clustered,
)

METHODS: dict[str, str] = {
    "auto": "selected by metric and attempts",
    "none": "no intervals",
    "wilson": "proportion; independent runs",
    "clopper-pearson": "proportion, conservative; independent runs",
    "gaffke": "bounded mean, clustered by task",
    "hall": "mean without an upper bound, skewness-corrected, clustered by task",
    "wilson-clustered": "proportion, clustered by task",
    "student": "mean; independent runs",
    "clustered": "mean, clustered by task",
    "percentile": "mean or ratio, bootstrap over tasks",
    "bca": "mean or ratio, bias-corrected and accelerated bootstrap over tasks",
    "fieller": "ratio of means, clustered by task",
    "mover-r": "ratio of means from the bounds of both means, clustered by task",
    "median-exact": "median, conservative; independent runs",
    "median-clustered": "median, clustered by task",
}
"""Methods of `--interval` and what each is for."""

TOO_LARGE = 1e100
"""Squares and cubes of larger values overflow, so they have no interval."""

_SHARES: dict[str, Callable[[int, int, float], Interval]] = {
    "wilson": lambda successes, n, level: wilson(successes, n, level=level),
    "clopper-pearson": lambda successes, n, level: clopper_pearson(successes, n, level=level),
}


def check_method(method: str) -> str:
    """Return the method; an unknown name raises an error with the nearest one."""
    if method not in METHODS:
        raise UnknownNameError("interval method", method, METHODS)
    return method


def group_intervals(
    metric: Metric,
    values: Floats,
    *,
    groups: Ints,
    tasks: Ints,
    size: int,
    weight_by: WeightBy,
    method: str = "auto",
    level: float = LEVEL,
) -> dict[str, list[Interval]]:
    """Intervals of mean and median in each group, under those names; a figure the method is not for is left out.

    `values` holds NaN where a run has none. The mean is weighted, the median always over runs. Where nothing bounds a
    mean above, `auto` adds the geometric mean, whose interval holds however skewed the values are.
    """
    check_level(level)
    kept = ~np.isnan(values)
    values, groups, tasks = values[kept], groups[kept], tasks[kept]
    runs = _Rows(values, groups, tasks, size, level)
    if method in ("median-exact", "median-clustered"):
        chosen = _median_exact if method == "median-exact" else _median_clustered
        medians = _each(chosen, runs)
        medians = [_with_tasks(interval, tasks[groups == place]) for place, interval in enumerate(medians)]
        return {"median": [of_figure(interval, interval.estimate, metric.bounds) for interval in medians]}
    if method in ("fieller", "mover-r", "none"):
        return {}
    figures = weighted_means(values, groups, tasks, size=size, weight_by=weight_by)
    intervals = {"mean": _weighted(metric, runs, figures, weight_by=weight_by, method=method)}
    if method == "auto":
        medians = auto_medians(values, groups, tasks, size=size, level=level)
        intervals["median"] = [of_figure(interval, interval.estimate, metric.bounds) for interval in medians]
        if metric.bounds[0] == 0 and math.isinf(metric.bounds[1]):
            intervals["geometric_mean"] = _geometric_means(runs, weight_by=weight_by)
    return intervals


def _geometric_means(rows: _Rows, *, weight_by: WeightBy) -> list[Interval]:
    """Intervals made on the logarithms; a group with a value of 0, or an infinite one, has none."""
    values, groups = rows.values, rows.groups
    usable = (np.bincount(groups[(values <= 0) | (values > TOO_LARGE)], minlength=rows.size) == 0)[groups]
    kept = np.log(values[usable]), groups[usable], rows.tasks[usable]
    logs = weighted_means(*kept, size=rows.size, weight_by=weight_by)
    intervals = auto_means(*kept, figures=logs, bounds=(-math.inf, math.inf), weight_by=weight_by, level=rows.level)
    return [exponential(interval, "student-log") for interval in intervals]


def exponential(interval: Interval, method: str) -> Interval:
    """Return the exponentials of an interval of logarithms, under the name of its method."""
    estimate, low, high = (
        None if limit is None else float(np.exp(min(limit, 700.0)))
        for limit in (interval.estimate, interval.low, interval.high)
    )
    reason = interval.reason if interval.n else "there are no values, or a value is 0 or infinite"
    return structs.replace(
        interval,
        estimate=estimate,
        low=low,
        high=high,
        method=method,
        reason=reason,
        approx_coverage=None,
        assumes=None,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Known values with the group and the task of each."""

    values: Floats
    groups: Ints
    tasks: Ints
    size: int
    level: float

    def by_task(self) -> _Rows:
        """One value a task: its mean."""
        means, owners, _ = task_means(self.values, self.groups, self.tasks)
        return _Rows(means, owners, np.arange(len(means), dtype=np.int64), self.size, self.level)


def _weighted(metric: Metric, runs: _Rows, figures: Floats, *, weight_by: WeightBy, method: str) -> list[Interval]:
    """The interval of each group's mean, of the figure itself.

    With equal attempts on all tasks both weightings agree, and the runs are used (they give the number of passes).
    Otherwise tasks that count once are taken by their means.
    """
    if method in ("auto", "gaffke", "hall"):
        intervals = _finite(metric, runs, figures, weight_by=weight_by, method=method)
    else:
        intervals = _means(metric, runs, method)
        if weight_by == "tasks":
            even = evenly_tried(runs.groups, runs.tasks, size=runs.size)
            of_tasks = _means(metric, runs.by_task(), method, binary=False)
            intervals = [interval if even[place] else of_tasks[place] for place, interval in enumerate(intervals)]
    return [
        _of_mean(metric, interval, figure, runs, place, weight_by=weight_by)
        for place, (interval, figure) in enumerate(zip(intervals, figures.tolist(), strict=True))
    ]


def _of_mean(
    metric: Metric, interval: Interval, mean: float, rows: _Rows, place: int, *, weight_by: WeightBy
) -> Interval:
    """Return the interval with its estimate; Student's if the interval does not contain it."""
    figure = None if math.isnan(mean) else mean
    own = rows.groups == place
    if not holds(interval, figure, metric.bounds):
        weighted = rows if weight_by == "runs" else rows.by_task()
        mine = weighted.groups == place
        interval = clustered(weighted.values[mine], weighted.tasks[mine], level=rows.level)
    if interval.method not in ("gaffke", "hall"):
        interval = _labeled(metric, interval, rows.tasks[own], weight_by=weight_by)
    return of_figure(interval, figure, metric.bounds)


INDEPENDENT_RUNS = "independent runs"
INDEPENDENT_TASKS = "independent tasks"


def _with_tasks(interval: Interval, tasks: Ints) -> Interval:
    """Return the interval with its assumption, if its method takes attempts on one task as independent."""
    several = interval.method in ("wilson", "clopper-pearson", "student", "median-exact") and len(
        np.unique(tasks)
    ) < len(tasks)
    return structs.replace(interval, assumes=INDEPENDENT_RUNS) if several and interval.known else interval


def _labeled(metric: Metric, interval: Interval, tasks: Ints, *, weight_by: WeightBy) -> Interval:
    """Return an interval of a method selected by name with what it assumes, by design and not by sample."""
    if not interval.known:
        return interval
    interval = _with_tasks(interval, tasks)
    if interval.method in ("wilson", "clopper-pearson"):
        return interval
    floor, assumed = None, NORMAL_MEANS
    if not math.isfinite(metric.bounds[1]):
        attempts = np.unique(tasks, return_counts=True)[1].astype(float)
        effective = attempts.sum() ** 2 / (attempts**2).sum() if weight_by == "runs" else len(attempts)
        method = "bootstrap" if interval.method in ("percentile", "bca") else "student"
        floor, assumed = coverage_floor(float(effective), method=method, level=interval.confidence), ASSUMED_TAIL
    assumes = ", ".join(filter(None, (assumed, interval.assumes)))
    return structs.replace(interval, approx_coverage=floor, assumes=assumes)


def _means(metric: Metric, rows: _Rows, method: str, *, binary: bool = True) -> list[Interval]:
    binary = binary and metric.binary

    def mean_interval(numbers: Floats, labels: Ints, level: float) -> Interval:
        return _mean(metric, numbers, labels, binary=binary, method=method, level=level)

    return _each(mean_interval, rows)


def holds(interval: Interval, figure: float | None, bounds: tuple[float, float]) -> bool:
    """Whether a method's own bounds hold the figure, cut at the metric's bounds, up to four units in the last place."""
    if interval.low is None or interval.high is None or figure is None:
        return True
    low, high = (min(max(limit, bounds[0]), bounds[1]) for limit in (interval.low, interval.high))
    room = 4 * float(np.spacing(abs(figure))) if np.isfinite(figure) else 0.0
    return bool(low - room <= figure <= high + room)


def of_figure(interval: Interval, figure: float | None, bounds: tuple[float, float]) -> Interval:
    """Return the interval for the estimate, truncated to the range of the metric.

    A width of 0 would promise too much, so there is no interval then.
    """
    if interval.low is None or interval.high is None or figure is None:
        return structs.replace(interval, estimate=figure)
    assert holds(interval, figure, bounds), f"{interval.method} does not contain its own estimate"
    low, high = (float(min(max(limit, bounds[0]), bounds[1])) for limit in (interval.low, interval.high))
    room = 4 * float(np.spacing(abs(figure))) if np.isfinite(figure) else 0.0
    low = figure if low > figure - room else low
    high = figure if high < figure + room else high
    if low == high:
        reason = "the inputs do not vary, so the variance cannot be estimated"
        return structs.replace(interval, estimate=figure, low=None, high=None, reason=reason)
    return structs.replace(interval, estimate=figure, low=low, high=high)


def _finite(metric: Metric, rows: _Rows, figures: Floats, *, weight_by: WeightBy, method: str) -> list[Interval]:
    """Gaffke's intervals within bounds, Hall's without an upper one; groups with an infinite value have none."""
    least, most = metric.bounds
    if method == "gaffke" and not np.isfinite([least, most]).all():
        reason = f"gaffke needs a bounded metric; {metric.name} is between {least:g} and {most:g}"
        return [no_interval(reason, method=method, n=0, clusters=0, level=rows.level)] * rows.size
    values, groups, tasks, level = rows.values, rows.groups, rows.tasks, rows.level
    infinite = np.bincount(groups[np.abs(values) > TOO_LARGE], minlength=rows.size) > 0
    usable = ~infinite[groups]
    intervals = auto_means(
        values[usable],
        groups[usable],
        tasks[usable],
        figures=figures,
        bounds=(least, math.inf if method == "hall" else most),
        binary=metric.binary and method != "hall",
        weight_by=weight_by,
        level=level,
    )
    return [
        _infinite(values[groups == place], interval.method, level) if infinite[place] else interval
        for place, interval in enumerate(intervals)
    ]


def _infinite(values: Floats, method: str, level: float) -> Interval:
    n = len(values)
    if np.isinf(values).any():
        return no_interval("a value is infinite", method=method, n=n, clusters=0, level=level, estimate=np.inf)
    return no_interval("a value is too large to compute with", method=method, n=n, clusters=0, level=level)


def _each(interval_of: Callable[[Floats, Ints, float], Interval], rows: _Rows) -> list[Interval]:
    order = np.argsort(rows.groups, kind="stable")
    values, tasks = rows.values[order], rows.tasks[order]
    ends = np.cumsum(np.bincount(rows.groups, minlength=rows.size))
    starts = np.concatenate(([0], ends[:-1]))
    return [
        interval_of(values[start:end], tasks[start:end], rows.level) for start, end in zip(starts, ends, strict=True)
    ]


def _median_exact(values: Floats, _tasks: Ints, level: float) -> Interval:
    return median_exact(values, level=level)


def _median_clustered(values: Floats, tasks: Ints, level: float) -> Interval:
    return median_clustered(values, tasks, level=level)


def _mean(metric: Metric, values: Floats, tasks: Ints, *, binary: bool, method: str, level: float) -> Interval:
    n = len(values)
    if np.any(np.abs(values) > TOO_LARGE):
        return _infinite(values, method, level)
    if method.startswith(("wilson", "clopper")) and not binary:
        reason = f"{method} needs a binary metric; {metric.name} is not"
        if metric.binary:
            reason = f"{method} assumes equally weighted runs, but tasks have unequal numbers of attempts"
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
        return "the metric is a total over these runs, not an estimate"
    return "the metric is neither a per-run metric nor a ratio of means"


def ratio_interval(
    declared: Metric,
    ratio_parts: tuple[Floats, Floats],
    tasks: Ints,
    figure: float | None,
    *,
    weight_by: WeightBy,
    method: str = "auto",
    level: float = LEVEL,
) -> Interval | None:
    """Interval of a ratio of means over the runs that have it; None when the method is not for ratios.

    Where tasks count once, each is taken by its means.
    """
    known = ~np.isnan(ratio_parts[0])
    above, below, tasks = ratio_parts[0][known], ratio_parts[1][known], tasks[known]
    if declared.counts_tasks and len(above) == 1 and method in ("auto", *_SHARES):
        share = _SHARES["wilson" if method == "auto" else method]
        counted = structs.replace(share(int(above[0]), int(below[0]), level), assumes=INDEPENDENT_TASKS)
        return of_figure(counted, figure, declared.bounds)
    if method not in ("auto", "fieller", "mover-r", "percentile", "bca"):
        return None
    if np.any(np.abs([above, below]) > TOO_LARGE):
        return _infinite(np.concatenate([above, below]), method, level)
    if len(below) and not below.any() and not declared.divides_by_fraction:
        reason = "the denominator is 0 in every run"
        return no_interval(reason, method=method, n=len(below), clusters=0, level=level, estimate=np.inf)
    interval = None
    if method in ("percentile", "bca", "fieller") or min(above.min(initial=0.0), below.min(initial=0.0)) < 0:
        named = tasks
        if weight_by == "tasks":
            (tops, bottoms, _), named = task_halves(above, below, tasks), np.unique(tasks)
        else:
            tops, bottoms = above, below
        if method in ("percentile", "bca"):
            interval = ratio_bootstrap(tops, bottoms, named, method=method, level=level)
        else:
            interval = fieller(tops, bottoms, named, level=level)
        interval = structs.replace(interval, n=len(tasks), assumes=NORMAL_MEANS if interval.known else None)
    if interval is None or not holds(interval, figure, declared.bounds):
        tops, bottoms, attempts = task_halves(above, below, tasks)
        weights = attempts.astype(float) if weight_by == "runs" else None
        interval = mover_ratio(tops, bottoms, weights, fraction=declared.divides_by_fraction, level=level)
        interval = structs.replace(interval, n=len(tasks))
    return of_figure(interval, figure, declared.bounds)


def task_halves(above: Floats, below: Floats, tasks: Ints) -> tuple[Floats, Floats, Ints]:
    """Return the mean numerator and denominator of each task, and its number of runs."""
    together = np.zeros(len(tasks), dtype=np.int64)
    tops, _, attempts = task_means(above, together, tasks)
    return tops, task_means(below, together, tasks)[0], attempts
