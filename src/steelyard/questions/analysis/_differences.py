"""The difference between two sides on one metric: interval, test, effect size, tasks, and what it would take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import structs

from steelyard.errors import UnknownNameError
from steelyard.metrics import GEOMETRIC, Metric, catalog
from steelyard.questions.analysis._intervals import exponential, holds, of_figure
from steelyard.questions.analysis._samples import (
    Mask,
    Samples,
    TaskMeans,
    logarithms,
    ratio_part_names,
    why_no_logarithm,
)
from steelyard.records import Missing
from steelyard.statistics import (
    LEVEL,
    MIN_CLUSTERS,
    RESAMPLES,
    SEED,
    DifferenceTest,
    FilledDifferences,
    Floats,
    Interval,
    Ints,
    SensitivityBounds,
    Significance,
    TaskRatios,
    bootstrap_difference,
    bounded_difference,
    cliffs_delta,
    clustered_difference,
    difference_bounds,
    effective_clusters,
    filled_differences,
    margin_quantum,
    mean_of,
    no_interval,
    paired_t,
    permuted_difference,
    permuted_sums,
    quantum_of,
    ratio_difference,
    sequential_difference,
    standardized,
    unbounded_difference,
    unequal_attempts,
    union_of,
    unscored_matter,
)

NO_COMMON_TASK = "no task in common"
DEPENDS_ON_CLUSTERS = "depends on clusters of tasks"
DEPENDS_ON_UNSCORED = "depends on runs without a verdict"
EFFECT_OF_INTEREST = 0.05
"""Difference of fractions that planning is for, unless another one is asked for: 5 percentage points."""
FEW_DIFFER = 10
"""Number of equal tasks from which on a gate takes an unbounded metric as constant."""

_ROUNDING = 1e-12
"""Relative size of differences that are due to rounding."""
PAIRED_METHODS = ("auto", "paired-t", "percentile", "bca")


@dataclass(frozen=True, slots=True)
class StatisticsOptions:
    """How differences are judged; shared by compare, rank and gate."""

    level: float = LEVEL
    seed: int = SEED
    resamples: int = RESAMPLES
    method: str = "auto"
    planned_tasks: int | None = None
    """Tasks planned before the first look, for a sequential test; None for a fixed sample."""

    def __post_init__(self) -> None:
        if self.method not in PAIRED_METHODS:
            raise UnknownNameError("method for a difference", self.method, PAIRED_METHODS)


class TaskValues(NamedTuple):
    """Values of both sides on a task."""

    task: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Candidate minus baseline on the tasks for which both have a value; of a geometric mean, of the logarithms."""

    metric: str
    baseline: float | None
    """Value of the baseline on the shared tasks."""
    candidate: float | None
    """Value of the candidate on the shared tasks."""
    interval: Interval
    """Difference with its interval."""
    test: Significance
    """Test of the null hypothesis of no difference; inverts the interval."""
    tasks: int
    """Tasks on which both have a value."""
    runs: tuple[int, int]
    """Runs of the baseline and the candidate on them that have a value."""
    missing: tuple[int, int]
    """Runs of the baseline and the candidate on shared tasks that have no value."""
    std_dev: float | None = None
    """Standard deviation of the differences over tasks; None if unknown."""
    cliffs_delta: float | None = None
    """Probability that a task mean of B exceeds one of A, minus the reverse."""
    standardized: float | None = None
    """Mean difference in units of its standard deviation."""
    paired: DifferenceTest | None = None
    """Procedure behind interval and test; None if there is no interval."""
    gaps: Floats | None = None
    """Difference of each task; for a ratio of means, its contribution to the difference."""
    quantum: float = 0.0
    """Squared step of a task's difference; see `quantum_of`."""
    at_margin: DifferenceTest | None = None
    """Procedure over tasks for a difference other than 0; None if it is the same."""
    margin_quantum: float = 0.0
    """Squared step of that procedure."""
    unclustered: DifferenceTest | None = None
    """Procedure over tasks, where clusters must confirm it; None without them."""
    clustered: DifferenceTest | None = None
    """Procedure over clusters of tasks; None without clusters, or if they are too few to matter."""
    effective_clusters: float | None = None
    """Number of equal clusters that are worth as much as these; None without clusters."""
    unfilled: DifferenceTest | None = None
    """Procedure before missing verdicts were filled; None if they were not."""
    filled: FilledDifferences | None = None
    """Differences with missing verdicts filled at worst; None if none is missing or there is no bound."""
    higher: tuple[TaskValues, ...] = ()
    """Tasks on which the candidate is higher, largest difference first."""
    lower: tuple[TaskValues, ...] = ()
    """Tasks on which the candidate is lower, largest difference first."""
    same: tuple[tuple[float, int], ...] = ()
    """Values equal on both sides, each with its number of tasks."""
    bounds: SensitivityBounds | None = None
    """Worst-case bounds of the difference over all missing values; None if none is missing or there is no bound."""
    geometric_ratio: Interval | None = None
    """Ratio of the geometric means, candidate to baseline; None if a value is not positive or the metric has an upper
    bound."""

    @property
    def value(self) -> float | None:
        """The difference itself."""
        return self.interval.estimate


def difference(samples: Samples, a: Mask, b: Mask, metric: str, *, options: StatisticsOptions) -> Difference:
    """The paired difference of one metric between two sets of runs."""
    declared = catalog()[metric]
    names = ratio_part_names(metric) if declared.is_ratio else (metric,)
    if not (samples.attempted(a) & samples.attempted(b)).any():
        return _nothing(metric, NO_COMMON_TASK, options)
    for name in names:
        values = samples.known(name)
        if isinstance(values, Missing):
            return _nothing(metric, values.reason, options)
        reason = why_no_logarithm(values[a | b]) if declared.is_geometric else None
        if reason is not None:
            return _nothing(metric, reason, options)
        if np.isinf(values[a | b]).any():
            return _nothing(metric, f"some runs have an infinite value{_other_metric(metric)}", options)
    sides = samples.by_task(names[0], a), samples.by_task(names[0], b)
    common = sides[0].usable & sides[1].usable
    missing = _missing(samples, sides, a, b)
    if not common.any():
        return replace(_nothing(metric, "no task has a value on both sides", options), missing=missing)
    figures = _figure(samples, metric, a, common), _figure(samples, metric, b, common)
    compared = replace(
        _nothing(metric, "", options),
        baseline=figures[0],
        candidate=figures[1],
        tasks=int(np.count_nonzero(common)),
        runs=(int(sides[0].known[common].sum()), int(sides[1].known[common].sum())),
        missing=missing,
    )
    if declared.is_ratio:
        judged = _ratio_difference(samples, (a, b), names, compared, common, options)
    else:
        judged = _mean_difference(samples, (a, b), sides, compared, common, options)
    return judged if samples.clusters is None else _over_clusters(samples, judged, common, options)


def _over_clusters(samples: Samples, judged: Difference, common: Mask, options: StatisticsOptions) -> Difference:
    """Return the difference judged over clusters of tasks, as the unit or in addition to tasks.

    Clusters known from task ids must confirm a claim if there are at least eight.
    """
    assert samples.clusters is not None
    labels = [samples.clusters[samples.task_names[place]] for place in np.flatnonzero(common)]
    if judged.gaps is None or judged.paired is None or len(labels) != len(judged.gaps):
        return judged
    sizes = np.unique(labels, return_counts=True)[1]
    effective = effective_clusters(sizes)
    found = clustered_difference(judged.gaps, labels, resamples=options.resamples, seed=options.seed)
    if samples.are_clusters_units:
        reason = f"{len(sizes)} cluster of tasks; at least two are needed"
        made = tested(judged, found, reason, options)
        return replace(made, clustered=found, effective_clusters=effective)
    if found is None or len(sizes) < MIN_CLUSTERS:
        return replace(judged, effective_clusters=effective)
    made = tested(judged, union_of([judged.paired, found]), "", options)
    return replace(made, unclustered=judged.paired, clustered=found, effective_clusters=effective)


def over_clusters(
    samples: Samples, interval: Interval, values: Floats, tasks: Ints, options: StatisticsOptions, declared: Metric
) -> Interval:
    """Return the interval of a mean of the tasks' values over clusters, or its union with the one over tasks."""
    assert samples.clusters is not None
    labels = [samples.clusters[samples.task_names[task]] for task in tasks]
    found = clustered_difference(values, labels, resamples=options.resamples, seed=options.seed)
    if found is None or interval.low is None or interval.high is None:
        return interval
    low, high = found.limits(options.level)
    if not samples.are_clusters_units:
        if found.clusters < MIN_CLUSTERS:
            return interval
        low, high = min(low, interval.low), max(high, interval.high)
    low, high = (min(max(end, declared.bounds[0]), declared.bounds[1]) for end in (low, high))
    return structs.replace(interval, low=low, high=high, method=found.method, clusters=found.clusters)


def _other_metric(metric: str) -> str:
    whole = metric.removesuffix("_per_run")
    return f"; compare {whole} instead" if whole != metric and catalog()[whole].is_ratio else ""


def _figure(samples: Samples, metric: str, rows: Mask, common: Mask) -> float | None:
    figure = float(samples.figures(metric, np.where(rows & common[samples.tasks], 0, -1), 1)[0])
    return None if np.isnan(figure) else figure


def _evenly_weighted(samples: Samples, sides: tuple[TaskMeans, TaskMeans], common: Mask) -> bool:
    """Whether every common task counts the same on each side."""
    return samples.weight_by == "tasks" or all(np.ptp(side.known[common]) == 0 for side in sides)


def _unequally_tried(sides: tuple[TaskMeans, TaskMeans], common: Mask) -> bool:
    """Whether the two sides have another number of values on a common task."""
    return bool(np.any(sides[0].known[common] != sides[1].known[common]))


def _mean_difference(
    samples: Samples,
    rows: tuple[Mask, Mask],
    sides: tuple[TaskMeans, TaskMeans],
    compared: Difference,
    common: Mask,
    options: StatisticsOptions,
) -> Difference:
    metric = compared.metric
    a, b = (side.mean[common] for side in sides)
    attempts = sides[0].known[common], sides[1].known[common]
    declared = catalog()[metric]
    # differences that are 0 on paper are 0: 0.1 + 0.2 against 0.3 is no difference
    same = np.abs(b - a) <= _ROUNDING if declared.is_geometric else _same(a, b)
    gaps = np.where(same, 0.0, b - a)
    if np.ptp(gaps) <= _ROUNDING * max(np.abs(a).max(), np.abs(b).max()):
        gaps = np.full(len(gaps), gaps[0])  # 0.3 - 0.1 and 0.4 - 0.2 are the same difference
    evenly = _evenly_weighted(samples, sides, common)
    contributions = gaps
    if not evenly:
        ratio_parts = [
            (side.weighted(samples.weight_by)[common], side.weights(samples.weight_by)[common]) for side in sides
        ]
        contributions = linearized(*ratio_parts[1]) - linearized(*ratio_parts[0])
    quantum = _quantum(metric, attempts)
    has_margin = options.method == "auto" and options.planned_tasks is None and declared.binary
    margin = margin_quantum(*attempts) if has_margin else 0.0
    if options.planned_tasks is not None:
        found = sequential_difference(
            gaps[_by_completion(samples, rows, common)],
            planned=options.planned_tasks,
            span=reach_of(compared),
            level=options.level,
        )
    else:
        found = _test(metric, contributions, quantum, options)
    delta = cliffs_delta(a, b)
    unequal = _unequally_tried(sides, common)
    if unequal:
        delta = delta_within_tasks(runs_to_permute(samples, rows, (metric,), common))
    if found is not None and options.planned_tasks is None and _needs_permutation(metric, attempts):
        found = _permuted(samples, rows, (metric,), common, found, options)
    values = samples.known(metric)
    assert not isinstance(values, Missing)
    judged = replace(
        tested(compared, found, _reason(len(gaps)), options),
        gaps=contributions,
        quantum=quantum,
        at_margin=_test(metric, contributions, margin, options) if margin else None,
        margin_quantum=margin,
        geometric_ratio=None if declared.is_geometric else _geometric_ratio(samples, metric, rows, common, options),
    )
    if not evenly:
        return judged
    means = [np.exp(side.mean) if declared.is_geometric else side.mean for side in sides]
    higher, lower = _differing(samples.task_names, means[0], means[1], common)
    filled = _filled(samples, values, metric, *rows)
    return replace(
        judged,
        std_dev=float(np.sort(gaps).std(ddof=1)) if len(gaps) > 1 and np.ptp(gaps) > 0 else None,
        cliffs_delta=delta,
        standardized=standardized(gaps),
        higher=higher,
        lower=lower,
        same=_ties(means[0], means[1], common),
        bounds=_bounds(samples, values, metric, *rows),
        filled=filled,
    )


def _by_completion(samples: Samples, rows: tuple[Mask, Mask], common: Mask) -> Ints:
    """Return the order in which the common tasks were completed: when the last run of either side ended."""
    assert samples.completed is not None
    last = np.full(len(samples.task_names), -math.inf)
    used = rows[0] | rows[1]
    np.maximum.at(last, samples.tasks[used], samples.completed[used])
    return np.argsort(last[common], kind="stable")


def _quantum(metric: str, attempts: tuple[Ints, Ints]) -> float:
    """Return the squared step of a binary metric's differences; other values do not move in steps."""
    return quantum_of(*attempts) if catalog()[metric].binary else 0.0


def for_margin(difference: Difference, options: StatisticsOptions) -> Difference:
    """Return a difference judged against a margin and not against 0: its interval allows for the skewness there."""
    if difference.paired is None or difference.at_margin is None or difference.paired is difference.clustered:
        return difference
    union = union_of([difference.paired, difference.at_margin])
    return replace(tested(difference, union, "", options), quantum=difference.margin_quantum)


def _test(metric: str, gaps: Floats, quantum: float, options: StatisticsOptions) -> DifferenceTest | None:
    """Return the procedure of a mean difference, by method and range of the metric."""
    if catalog()[metric].is_geometric:
        found = _test_of_logarithms(gaps, options)
        return None if found is None else replace(found, method=f"{found.method}-log", tail=None, assumes=None)
    span = _span(metric)
    if options.method in ("percentile", "bca"):
        drawn = {"resamples": options.resamples, "seed": options.seed}
        return bootstrap_difference(gaps, method=options.method, unbounded=span is None, **drawn)
    if options.method == "paired-t" or span is None:
        return unbounded_difference(gaps, skewed=options.method == "auto", bounded=span is not None)
    return bounded_difference(gaps, quantum=quantum, span=max(span, float(np.abs(gaps).max(initial=0.0))))


def _test_of_logarithms(gaps: Floats, options: StatisticsOptions) -> DifferenceTest | None:
    if options.method in ("percentile", "bca"):
        drawn = {"resamples": options.resamples, "seed": options.seed}
        return bootstrap_difference(gaps, method=options.method, unbounded=True, **drawn)
    return unbounded_difference(gaps, skewed=False)


def _needs_permutation(metric: str, attempts: tuple[Ints, Ints]) -> bool:
    """Whether the attempts of the sides differ too much for a test over tasks; skewed values never allow it."""
    if _span(metric) is None or catalog()[metric].is_ratio:
        return bool(np.any(attempts[0] != attempts[1]))
    return unequal_attempts(*attempts)


def _permuted(
    samples: Samples,
    rows: tuple[Mask, Mask],
    names: Sequence[str],
    common: Mask,
    found: DifferenceTest,
    options: StatisticsOptions,
) -> DifferenceTest:
    """Return a test that holds where attempts are unequal.

    Two things may be true without a difference: the sides are alike on every task, which a permutation of runs tests
    exactly, or they differ by task and even out, which the differences over tasks test. Both must reject.
    """
    runs, by_task = runs_to_permute(samples, rows, names, common), samples.weight_by == "tasks"
    seen, permuted = permuted_sums(*runs, by_task=by_task, resamples=options.resamples, seed=options.seed)
    return permuted_difference(found, float(gap_of(seen[None])[0]), gap_of(permuted), seed=options.seed)


def tested(compared: Difference, found: DifferenceTest | None, reason: str, options: StatisticsOptions) -> Difference:
    """Return the difference with the interval and the p-value of one procedure, or with the reason for none."""
    if found is None:
        n = compared.tasks
        value = _value_of(compared)
        interval = no_interval(reason, method=options.method, n=n, clusters=n, level=options.level, estimate=value)
        test = Significance(p_value=None, statistic=None, method=options.method, n=n, clusters=n, reason=reason)
        return replace(compared, interval=interval, test=test, paired=None)
    interval = found.interval(options.level)
    return replace(compared, interval=_of_difference(interval, compared), test=found.significance, paired=found)


def with_fills(difference: Difference, options: StatisticsOptions) -> Difference:
    """Return a difference of verdicts judged with the missing ones filled against either claim, where they may matter.

    They may if the missing fractions of the sides differ or one is above 10% (`unscored_matter`). A claim must hold for
    both fills, and the p-value is the larger one.
    """
    filled, declared = difference.filled, catalog()[difference.metric]
    if filled is None or difference.paired is None or not declared.binary:
        return difference
    runs = int(filled.attempts[0].sum()), int(filled.attempts[1].sum())
    if not unscored_matter((int(filled.missing[0].sum()), int(filled.missing[1].sum())), runs):
        return difference
    span = declared.bounds[1] - declared.bounds[0]
    quantum = quantum_of(*filled.attempts, span=span)
    fills = [bounded_difference(gaps, quantum=quantum, span=span) for gaps in (filled.lowest, filled.highest)]
    worst = union_of([difference.paired, *(fill for fill in fills if fill is not None)])
    return replace(tested(difference, worst, "", options), unfilled=difference.paired)


def _reason(n: int) -> str:
    if n < 2:
        return f"{n} task{'s' if n != 1 else ''} in common; at least two are needed"
    return "the difference is the same on every task, so its variance cannot be estimated"


def _geometric_ratio(
    samples: Samples, metric: str, rows: tuple[Mask, Mask], common: Mask, options: StatisticsOptions
) -> Interval | None:
    """B's geometric mean over A's: Student's interval for the differences of mean logarithms, taken back."""
    values = samples.known(metric)
    least, most = catalog()[metric].bounds
    if isinstance(values, Missing) or least != 0 or np.isfinite(most):
        return None
    used = (rows[0] | rows[1]) & common[samples.tasks] & ~np.isnan(values)
    if not (values[used] > 0).all():
        return None
    logs = replace(samples, values={metric: np.log(np.where(used, values, np.nan))})
    a, b = (logs.by_task(metric, side).mean[common] for side in rows)
    return exponential(paired_t(np.where(_same(a, b), 0.0, b - a), level=options.level)[0], "paired-t-log")


def as_ratio(interval: Interval) -> Interval:
    """Return the ratio of geometric means of a difference of logarithms."""
    estimate, low, high = (
        None if end is None else float(np.exp(min(end, 700.0)))
        for end in (interval.estimate, interval.low, interval.high)
    )
    return structs.replace(interval, estimate=estimate, low=low, high=high)


def _same(a: npt.ArrayLike, b: npt.ArrayLike) -> Mask:
    return np.asarray(np.abs(np.subtract(b, a)) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b)))


def _value_of(compared: Difference) -> float | None:
    if compared.baseline is None or compared.candidate is None:
        return None
    if not np.isfinite([compared.baseline, compared.candidate]).all():
        return None
    if _same(compared.baseline, compared.candidate):
        return 0.0
    if catalog()[compared.metric].is_geometric:
        return math.log(compared.candidate / compared.baseline)
    return compared.candidate - compared.baseline


def reach_of(compared: Difference) -> float:
    """Return the largest possible difference; infinite without bounds."""
    span = None if catalog()[compared.metric].is_ratio else _span(compared.metric)
    # a scaled side may go a little beyond
    return math.inf if span is None else max(span, abs(_value_of(compared) or 0.0))


def _of_difference(interval: Interval, compared: Difference) -> Interval:
    """The interval of B's figure minus A's, within what the metric can differ by."""
    value = _value_of(compared)
    if value is None:
        return interval
    reach = reach_of(compared)
    if not holds(interval, value, (-reach, reach)):  # the figure is rounded once, the differences of tasks each
        assert interval.low is not None
        assert interval.high is not None
        interval = structs.replace(interval, low=min(interval.low, value), high=max(interval.high, value))
    return of_figure(interval, value, (-reach, reach))


def _span(metric: str) -> float | None:
    low, high = catalog()[metric].bounds
    return high - low if np.isfinite(high - low) else None


def _missing(samples: Samples, sides: tuple[TaskMeans, TaskMeans], a: Mask, b: Mask) -> tuple[int, int]:
    both = samples.attempted(a) & samples.attempted(b)
    return int(sides[0].missing[both].sum()), int(sides[1].missing[both].sum())


def _bounds(samples: Samples, values: Floats, metric: str, a: Mask, b: Mask) -> SensitivityBounds | None:
    low, high = catalog()[metric].bounds
    if not np.isfinite(high - low):
        return None
    bounds = difference_bounds(
        values[a], values[b], tasks_a=samples.tasks[a], tasks_b=samples.tasks[b], span=(float(low), float(high))
    )
    return bounds if bounds is not None and bounds.missing else None


def _differing(
    names: tuple[str, ...], a: Floats, b: Floats, common: Mask
) -> tuple[tuple[TaskValues, ...], tuple[TaskValues, ...]]:
    differing = [
        TaskValues(names[place], float(a[place]), float(b[place]))
        for place in np.flatnonzero(common)
        if a[place] != b[place]
    ]
    ordered = sorted(differing, key=lambda each: (-abs(each.candidate - each.baseline), each.task))
    return tuple(each for each in ordered if each.candidate > each.baseline), tuple(
        each for each in ordered if each.candidate < each.baseline
    )


def _ties(a: Floats, b: Floats, common: Mask) -> tuple[tuple[float, int], ...]:
    values, counts = np.unique(a[common & (a == b)], return_counts=True)
    return tuple(zip(values.tolist(), counts.tolist(), strict=True))


def _nothing(metric: str, reason: str, options: StatisticsOptions) -> Difference:
    interval = no_interval(reason, method=options.method, n=0, clusters=0, level=options.level)
    test = Significance(p_value=None, statistic=None, method="none", n=0, clusters=0, reason=reason)
    return Difference(
        metric=metric, baseline=None, candidate=None, interval=interval, test=test, tasks=0, runs=(0, 0), missing=(0, 0)
    )


def _filled(samples: Samples, values: Floats, metric: str, a: Mask, b: Mask) -> FilledDifferences | None:
    low, high = catalog()[metric].bounds
    if not np.isfinite(high - low) or not np.isnan(values[a | b]).any():
        return None
    return filled_differences(
        values[a], values[b], tasks_a=samples.tasks[a], tasks_b=samples.tasks[b], span=(float(low), float(high))
    )


def _ratio_difference(
    samples: Samples,
    rows: tuple[Mask, Mask],
    names: Sequence[str],
    compared: Difference,
    common: Mask,
    options: StatisticsOptions,
) -> Difference:
    """The difference of two ratios of means over the same tasks."""
    sides = [[samples.by_task(name, side) for name in names] for side in rows]
    n = int(np.count_nonzero(common))
    attempts = sides[0][0].known[common], sides[1][0].known[common]
    reason = _reason(n)
    if any(not bottom.mean[common].any() for _, bottom in sides):
        return tested(compared, None, "the denominator of one side is 0 on the shared tasks", options)
    weighted = [tuple(part.weighted(samples.weight_by)[common] for part in side) for side in sides]
    gaps = linearized(*weighted[1]) - linearized(*weighted[0])
    is_signed = any(part.mean[common].min(initial=0.0) < 0 for side in sides for part in side)
    if options.method == "auto" and not is_signed:
        a, b = (
            TaskRatios(
                above=top.mean[common],
                below=bottom.mean[common],
                weights=top.weights(samples.weight_by)[common],
                groups=np.zeros(n, dtype=np.int64),
                size=1,
                fraction=catalog()[compared.metric].divides_by_fraction,
            )
            for top, bottom in sides
        )
        found = ratio_difference(a, b)
    elif options.method in ("percentile", "bca"):
        drawn = {"resamples": options.resamples, "seed": options.seed}
        found = bootstrap_difference(gaps, method=options.method, unbounded=True, **drawn)
    else:
        found = unbounded_difference(gaps, skewed=options.method == "auto")
    if found is not None and _needs_permutation(compared.metric, attempts):
        found = _permuted(samples, rows, names, common, found, options)
    return replace(tested(compared, found, reason, options), gaps=gaps)


def linearized(above: Floats, below: Floats) -> Floats:
    """What each task adds to the ratio of means (the delta method): their mean is the ratio. Columns, if it has any."""
    tops, bottoms = (np.apply_along_axis(mean_of, 0, half) for half in (above, below))
    ratios = tops / bottoms
    return np.asarray(ratios + (above - ratios * below) / bottoms, dtype=float)


def runs_to_permute(
    samples: Samples, rows: tuple[Mask, Mask], names: Sequence[str], common: Mask
) -> tuple[Floats, Ints, Mask]:
    """The runs of both sides on the common tasks that have all values: the values, the task and whether it is B's."""
    columns = [
        logarithms(values) if name.endswith(GEOMETRIC) else values
        for name in names
        if not isinstance(values := samples.known(name), Missing)
    ]
    known = ~np.isnan(columns).any(axis=0) & common[samples.tasks]
    places = [np.flatnonzero(side & known) for side in rows]
    chosen = np.concatenate(places)
    values = np.column_stack([column[chosen] for column in columns])
    if len(names) == 1:  # a mean is a ratio to the number of runs
        values = np.column_stack([values, np.ones(len(chosen))])
    return values, samples.tasks[chosen], np.repeat([False, True], [len(side) for side in places])


def gap_of(sums: Floats) -> Floats:
    """B's ratio minus A's in each row of (side, column)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums[:, :, 0] / sums[:, :, 1]
        return np.asarray(ratios[:, 1] - ratios[:, 0], dtype=float)


def delta_within_tasks(runs: tuple[Floats, Ints, Mask]) -> float:
    """Cliff's delta of the runs of each task, averaged over tasks.

    Over task means it would lean: the mean of many attempts is in the middle more often than that of one.
    """
    values, tasks, on_b = runs
    order = np.argsort(tasks, kind="stable")
    ends = np.flatnonzero(np.diff(tasks[order])) + 1
    deltas: list[Fraction] = []
    for of_task in np.split(order, ends):
        a, b = values[of_task, 0][~on_b[of_task]], values[of_task, 0][on_b[of_task]]
        delta = cliffs_delta(a, b)
        if delta is not None:
            # deltas count pairs, and thirds that cancel must come to 0 and not to 1.7e-18
            deltas.append(Fraction(delta).limit_denominator(len(a) * len(b)))
    return float(sum(deltas, Fraction(0)) / len(deltas)) if deltas else math.nan
