"""The usual intervals for many groups at once, without a loop over groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.statistics._exact_sums import exact_means
from steelyard.statistics._interval import LEVEL, Floats, Interval, Ints, no_interval, too_few
from steelyard.statistics._means import (
    effective_size,
    exact_median,
    median_rank,
    student_quantile,
    woodruff_median,
)
from steelyard.statistics._proportions import normal_quantile, wilson_bounds
from steelyard.statistics._sorted_groups import SortedGroups

SAME = 1e-12
"""A standard error this small beside its mean is what rounding leaves of none."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Values added up by group and by task within the group, whatever the order of rows."""

    groups: int
    n: Floats
    """Values in each group."""
    clusters: Floats
    """Tasks in each group."""
    mean: Floats
    """Mean over the values of each group; NaN for an empty one."""
    standard_error: Floats
    """Clustered standard error; NaN below two tasks."""


def by_group(values: npt.ArrayLike, groups: Ints, tasks: Ints, *, size: int) -> Grouped:
    """The moments of each group; `groups` and `tasks` are codes 0, 1, ..."""
    numbers = np.asarray(values, dtype=float)
    order = np.lexsort((numbers, tasks, groups))
    numbers, group, task = numbers[order], groups[order], tasks[order]
    fresh = np.ones(len(group), dtype=bool)
    fresh[1:] = (group[1:] != group[:-1]) | (task[1:] != task[:-1])
    cell = np.cumsum(fresh) - 1
    owner = group[fresh]
    sums = np.bincount(cell, weights=numbers) if len(cell) else np.empty(0)
    counts = np.bincount(cell).astype(float) if len(cell) else np.empty(0)
    n = np.bincount(group, minlength=size).astype(float)
    clusters = np.bincount(owner, minlength=size).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = exact_means(numbers, group, size)
        residual = sums - counts * mean[owner]
        squared = np.bincount(owner, weights=residual**2, minlength=size)
        error = np.where(clusters > 1, np.sqrt(squared * clusters / (clusters - 1)) / n, np.nan)
    return Grouped(size, n, clusters, mean, error)


def auto_means(
    values: npt.ArrayLike,
    groups: Ints,
    tasks: Ints,
    *,
    size: int,
    binary: bool = False,
    share: bool = False,
    level: float = LEVEL,
) -> list[Interval]:
    """For each group the interval of its mean that the metric calls for, at the cost of a few array operations.

    `binary` (0 or 1): Wilson's, clustered where tasks were tried more than once. Else the clustered Student interval
    (with one value a task it is Student's own). A `share` (0 to 1) whose tasks do not differ at all has no spread to
    make that of, and is not therefore certain: it gets Wilson's, each task counting once.
    """
    grouped = by_group(values, groups, tasks, size=size)
    usable = grouped.clusters > 1
    safe_mean = np.where(usable, grouped.mean, 0.5)
    safe_error = np.where(usable, grouped.standard_error, 1.0)
    degrees = np.where(usable, grouped.clusters - 1, 1.0)
    critical = student_quantile(level, degrees)
    single = grouped.clusters == grouped.n
    shares = np.clip(safe_mean, 0, 1)
    effective = np.where(single, np.maximum(grouped.n, 1), effective_size(shares, safe_error, grouped.clusters))
    quantile = np.where(single, normal_quantile(level), critical)
    bounds = wilson_bounds(shares, np.where(usable, effective, 1.0), quantile)
    counted = np.full(size, binary) | (share & usable & (safe_error <= SAME * np.maximum(np.abs(safe_mean), SAME)))
    low = np.where(counted, bounds[0], safe_mean - critical * safe_error)
    high = np.where(counted, bounds[1], safe_mean + critical * safe_error)
    return [
        _interval(grouped, place, float(low[place]), float(high[place]), counted=bool(counted[place]), level=level)
        for place in range(size)
    ]


def _interval(grouped: Grouped, place: int, low: float, high: float, *, counted: bool, level: float) -> Interval:
    n, clusters = int(grouped.n[place]), int(grouped.clusters[place])
    single = n == clusters
    plain, for_tasks = ("wilson", "wilson-clustered") if counted else ("student", "clustered")
    method = plain if single else for_tasks
    estimate = float(grouped.mean[place]) if n else None
    if clusters < 2:
        return no_interval(too_few(n), method=method, n=n, clusters=clusters, level=level, estimate=estimate)
    return Interval(estimate=estimate, low=low, high=high, method=method, n=n, clusters=clusters, level=level)


def auto_medians(
    values: npt.ArrayLike, groups: Ints, tasks: Ints, *, size: int, level: float = LEVEL
) -> list[Interval]:
    """For each group the interval of its median: exact with one value a task, else Woodruff's."""
    numbers = np.asarray(values, dtype=float)
    order = np.lexsort((numbers, groups))
    ordered = numbers[order]
    n = np.bincount(groups, minlength=size)
    starts = np.cumsum(n) - n
    median = np.full(size, np.nan)
    median[n > 0] = SortedGroups.of(ordered, n, ddof=0).median
    below = (numbers < median[groups]) + 0.5 * (numbers == median[groups])
    grouped = by_group(below, groups, tasks, size=size)
    ranks = {int(count): median_rank(int(count), level) for count in np.unique(n)}
    usable = grouped.clusters > 1
    error = np.where(usable, grouped.standard_error, 1.0)
    effective = effective_size(np.full(size, 0.5), error, np.maximum(grouped.clusters, 1.0))
    critical = student_quantile(level, np.where(usable, grouped.clusters - 1, 1.0))
    low, high = wilson_bounds(np.full(size, 0.5), effective, critical)
    intervals = []
    for place in range(size):
        count, clusters = int(n[place]), int(grouped.clusters[place])
        own = ordered[starts[place] : starts[place] + count]
        estimate = float(median[place]) if count else None
        if count == clusters:
            intervals.append(exact_median(own, estimate, ranks[count], level=level))
        elif clusters < 2:
            reason = too_few(count)
            method = "median-clustered"
            intervals.append(
                no_interval(reason, method=method, n=count, clusters=clusters, level=level, estimate=estimate)
            )
        else:
            limits = float(low[place]), float(high[place])
            intervals.append(woodruff_median(own, estimate, limits, clusters=clusters, level=level))
    return intervals
