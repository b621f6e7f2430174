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
from steelyard.metrics import catalog
from steelyard.questions.analysis._intervals import exponential, group_intervals, holds, of_figure
from steelyard.questions.analysis._samples import Mask, Samples, TaskMeans, half_names
from steelyard.records import Missing
from steelyard.statistics import (
    LEVEL,
    RESAMPLES,
    SEED,
    Floats,
    Interval,
    Ints,
    SensitivityBounds,
    Significance,
    cliffs_delta,
    difference_bounds,
    mcnemar_exact,
    mean_of,
    minimum_detectable_effect,
    no_interval,
    paired_bootstrap,
    paired_plus_two,
    paired_proportions,
    paired_ratios,
    paired_t,
    permuted_sums,
    reached,
    sign_flip,
    standardized,
    student_quantile,
    variation,
    widened_for_skew,
)

NO_COMMON_TASK = "no task in common"
DEPENDS_ON_UNSCORED = "depends on runs without a verdict"
FEW_DIFFER = 10
"""With ties among the tasks and fewer that differ, their standard deviation is too uncertain for Student's interval."""

PAIRED_METHODS = ("auto", "paired-t", "percentile", "bca")


@dataclass(frozen=True, slots=True)
class StatisticsOptions:
    """How differences are judged; shared by compare, rank and gate."""

    level: float = LEVEL
    seed: int = SEED
    resamples: int = RESAMPLES
    method: str = "auto"

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
    """Candidate minus baseline on the tasks for which both have a value."""

    metric: str
    baseline: float | None
    """Value of the baseline on the shared tasks."""
    candidate: float | None
    """Value of the candidate on the shared tasks."""
    interval: Interval
    """Difference with its interval."""
    test: Significance
    """Test of the null hypothesis of no difference."""
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
    minimum_detectable_effect: float | None = None
    """Smallest true difference detected with 80% power at this sample size."""
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
    names = half_names(metric) if declared.is_ratio else (metric,)
    if not (samples.attempted(a) & samples.attempted(b)).any():
        return _nothing(metric, NO_COMMON_TASK, options)
    for name in names:
        values = samples.known(name)
        if isinstance(values, Missing):
            return _nothing(metric, values.reason, options)
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
    unequal = _unequally_tried(sides, common)
    if declared.is_ratio or not _evenly_weighted(samples, sides, common):
        judged = _ratio_difference(samples, (a, b), names, compared, common, options, unequal=unequal)
    else:
        judged = _mean_difference(samples, (a, b), sides, compared, common, options)
    if not judged.interval.known:
        return judged
    if np.isfinite(declared.bounds).all() and not declared.is_ratio:
        wider = options.method == "auto" and (unequal or _few_tasks_differ(sides, common))
        return _no_surer_than_its_sides(samples, (a, b), judged, common, options) if wider else judged
    varied = max(variation(side.mean[common]) for side in sides)
    approx_coverage = reached(judged.tasks, varied, judged.interval.confidence)
    return replace(judged, interval=structs.replace(judged.interval, approx_coverage=approx_coverage))


def _few_tasks_differ(sides: tuple[TaskMeans, TaskMeans], common: Mask) -> bool:
    """Whether several attempts at a task differ on so few tasks that they do not show how much a task may differ."""
    a, b = (side.mean[common] for side in sides)
    several = bool(np.any(sides[0].known[common] > 1) or np.any(sides[1].known[common] > 1))
    return several and 0 < int(np.count_nonzero(~_same(a, b))) < min(FEW_DIFFER, len(a))


def _no_surer_than_its_sides(
    samples: Samples, rows: tuple[Mask, Mask], judged: Difference, common: Mask, options: StatisticsOptions
) -> Difference:
    declared, values = catalog()[judged.metric], samples.known(judged.metric)
    assert not isinstance(values, Missing)
    used = np.flatnonzero((rows[0] | rows[1]) & common[samples.tasks])
    low, high = declared.bounds
    if np.nanmin(values[used]) < low or np.nanmax(values[used]) > high:
        return judged  # a side moved by what a relative rule allows
    a, b = group_intervals(
        declared,
        values[used],
        groups=rows[1][used].astype(np.int64),
        tasks=samples.tasks[used],
        size=2,
        weight_by=samples.weight_by,
        level=options.level,
    )["mean"]
    means = [samples.by_task(judged.metric, side).mean[common] for side in rows]
    varies = all(np.ptp(side) > 0 for side in means)
    correlation = max(float(np.corrcoef(means[0], means[1])[0, 1]), 0.0) if varies else 0.0
    interval = within_sides(judged.interval, a, b, correlation)
    assert judged.baseline is not None
    assert judged.candidate is not None
    return replace(judged, interval=of_figure(interval, judged.candidate - judged.baseline, (low - high, high - low)))


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
    # differences that are 0 on paper are 0: 0.1 + 0.2 against 0.3 is no difference
    gaps = np.where(_same(a, b), 0.0, b - a)
    judged = _judged(samples, metric, *sides, gaps, common, options)
    if options.method == "auto" and _span(metric) is None:
        judged = widened_for_skew(judged[0], gaps), judged[1]
    delta = cliffs_delta(a, b)
    if _unequally_tried(sides, common):
        runs = runs_to_permute(samples, rows, (metric,), common)
        judged = kept_level(runs, judged, by_task=True, resamples=options.resamples, seed=options.seed)
        delta = delta_within_tasks(runs)
    interval, test = judged
    std_dev = float(np.sort(gaps).std(ddof=1)) if len(gaps) > 1 and np.ptp(gaps) > 0 else None
    higher, lower = _differing(samples.task_names, sides[0].mean, sides[1].mean, common)
    values = samples.known(metric)
    assert not isinstance(values, Missing)
    return replace(
        compared,
        interval=_of_difference(interval, compared, gaps, options),
        test=test,
        std_dev=std_dev,
        cliffs_delta=delta,
        standardized=standardized(gaps),
        minimum_detectable_effect=minimum_detectable_effect(len(gaps), std_dev, level=options.level)
        if std_dev
        else None,
        higher=higher,
        lower=lower,
        same=_ties(sides[0].mean, sides[1].mean, common),
        bounds=_bounds(samples, values, metric, *rows),
        geometric_ratio=_geometric_ratio(samples, metric, rows, common, options),
    )


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
    return exponential(paired_t(np.where(_same(a, b), 0.0, b - a), level=options.level)[0])


def _same(a: npt.ArrayLike, b: npt.ArrayLike) -> Mask:
    return np.asarray(np.abs(np.subtract(b, a)) <= 1e-12 * np.maximum(np.abs(a), np.abs(b)))


def _of_difference(interval: Interval, compared: Difference, gaps: Floats, options: StatisticsOptions) -> Interval:
    """The interval of B's figure minus A's, within what the metric can differ by.

    Where a method's own bounds do not hold the difference, Student's are taken, which always do.
    """
    if (
        compared.baseline is None
        or compared.candidate is None
        or not np.isfinite([compared.baseline, compared.candidate]).all()
    ):
        return interval
    value = 0.0 if _same(compared.baseline, compared.candidate) else compared.candidate - compared.baseline
    span = _span(compared.metric)
    # a scaled side may go a little beyond
    reach = math.inf if span is None else max(span, abs(value))
    if not holds(interval, value, (-reach, reach)):
        interval = paired_t(gaps, level=options.level)[0]
    return of_figure(interval, value, (-reach, reach))


def _judged(
    samples: Samples,
    metric: str,
    side_a: TaskMeans,
    side_b: TaskMeans,
    gaps: Floats,
    common: Mask,
    options: StatisticsOptions,
) -> tuple[Interval, Significance]:
    single = bool(np.all(side_a.known[common] == 1) and np.all(side_b.known[common] == 1))
    if options.method in ("percentile", "bca"):
        interval = paired_bootstrap(
            gaps, method=options.method, level=options.level, resamples=options.resamples, seed=options.seed
        )
        return interval, sign_flip(gaps, resamples=options.resamples, seed=options.seed)
    if single and samples.binary(metric) and options.method == "auto":
        only_a, only_b = int(np.count_nonzero(gaps < 0)), int(np.count_nonzero(gaps > 0))
        return paired_proportions(only_a, only_b, len(gaps), level=options.level), mcnemar_exact(only_a, only_b)
    test = sign_flip(gaps, resamples=options.resamples, seed=options.seed)
    if options.method == "auto" and len(gaps) > 1 and _few_differ(gaps):
        return paired_plus_two(gaps, span=_span(metric), level=options.level), test
    return paired_t(gaps, level=options.level)[0], test


def _few_differ(gaps: Floats) -> bool:
    differing = int(np.count_nonzero(gaps))
    return bool(differing < min(FEW_DIFFER, len(gaps)) or np.ptp(gaps) == 0)


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


def _ratio_difference(
    samples: Samples,
    rows: tuple[Mask, Mask],
    names: Sequence[str],
    compared: Difference,
    common: Mask,
    options: StatisticsOptions,
    *,
    unequal: bool,
) -> Difference:
    """The difference of two ratios over the same tasks: of a ratio of means, or of a mean over uneven attempts."""
    halves = [_halves(samples, names, side, common) for side in rows]
    judged = paired_ratios(*halves, level=options.level, resamples=options.resamples, seed=options.seed)
    gaps = linearized(*halves[1]) - linearized(*halves[0]) if all(below.any() for _, below in halves) else np.empty(0)
    if options.method == "auto" and _span(compared.metric) is None:
        judged = widened_for_skew(judged[0], gaps), judged[1]
    if unequal:
        runs, by_task = runs_to_permute(samples, rows, names, common), samples.weight_by == "tasks"
        judged = kept_level(runs, judged, by_task=by_task, resamples=options.resamples, seed=options.seed)
    interval, test = judged
    return replace(compared, interval=_of_difference(interval, compared, gaps, options), test=test)


def _halves(samples: Samples, names: Sequence[str], rows: Mask, common: Mask) -> tuple[Floats, Floats]:
    """What each common task adds above and below, one side's."""
    means = [samples.by_task(name, rows) for name in names]
    above = means[0].weighted(samples.weight_by)
    below = means[1].weighted(samples.weight_by) if len(means) > 1 else means[0].weights(samples.weight_by)
    return above[common], below[common]


def linearized(above: Floats, below: Floats) -> Floats:
    """What each task adds to the ratio of means (the delta method): their mean is the ratio. Columns, if it has any."""
    tops, bottoms = (np.apply_along_axis(mean_of, 0, half) for half in (above, below))
    ratios = tops / bottoms
    return np.asarray(ratios + (above - ratios * below) / bottoms, dtype=float)


METHOD = "permutation"


def runs_to_permute(
    samples: Samples, rows: tuple[Mask, Mask], names: Sequence[str], common: Mask
) -> tuple[Floats, Ints, Mask]:
    """The runs of both sides on the common tasks that have all values: the values, the task and whether it is B's."""
    columns = [values for name in names if not isinstance(values := samples.known(name), Missing)]
    known = ~np.isnan(columns).any(axis=0) & common[samples.tasks]
    places = [np.flatnonzero(side & known) for side in rows]
    chosen = np.concatenate(places)
    values = np.column_stack([column[chosen] for column in columns])
    if len(names) == 1:  # a mean is a ratio to the number of runs
        values = np.column_stack([values, np.ones(len(chosen))])
    return values, samples.tasks[chosen], np.repeat([False, True], [len(side) for side in places])


def kept_level(
    runs: tuple[Floats, Ints, Mask],
    judged: tuple[Interval, Significance],
    *,
    by_task: bool,
    resamples: int,
    seed: int,
) -> tuple[Interval, Significance]:
    """Limits and test that hold where attempts are unequal, made of those over tasks.

    Two things may be true without a difference: the sides are alike on every task, which a permutation of runs tests
    exactly, or they differ by task and even out, which the differences over tasks test. Both must reject: the larger
    p-value counts, and the limits hold those of either.
    """
    interval, test = judged
    if interval.low is None or interval.high is None or test.p_value is None:
        return judged
    seen, permuted = permuted_sums(*runs, by_task=by_task, resamples=resamples, seed=seed)
    observed, gaps = gap_of(seen[None])[0], gap_of(permuted)
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    reached = int(np.count_nonzero(np.abs(gaps) >= abs(observed) - 1e-9 * max(abs(observed), 1e-300)))
    p_value = max((reached + 1) / (len(gaps) + 1), test.p_value)
    tail = (1 - interval.confidence) / 2
    least, most = np.quantile(gaps[np.isfinite(gaps)], [tail, 1 - tail]) if np.isfinite(gaps).any() else (0.0, 0.0)
    made = len(gaps)
    low, high = min(interval.low, float(observed - most)), max(interval.high, float(observed - least))
    return (
        structs.replace(interval, low=low, high=high, method=METHOD, seed=seed, resamples=made),
        structs.replace(test, p_value=p_value, statistic=float(observed), method=METHOD, seed=seed, resamples=made),
    )


def within_sides(interval: Interval, a: Interval, b: Interval, correlation: float) -> Interval:
    """The bounds of a difference, no narrower than those of its two sides allow.

    A side with few attempts may pass everything by chance. Then its tasks do not vary, and the differences by task show
    nothing about what it could have done; its own interval does. The two are joined as Zou and Donner (2008) do it,
    with the correlation of the sides over tasks.
    """
    side_a, side_b = _reach(a), _reach(b)
    if interval.low is None or interval.high is None or side_a is None or side_b is None:
        return interval
    (mean_a, below_a, above_a), (mean_b, below_b, above_b) = side_a, side_b
    down = below_b**2 + above_a**2 - 2 * correlation * below_b * above_a
    up = above_b**2 + below_a**2 - 2 * correlation * above_b * below_a
    low, high = mean_b - mean_a - math.sqrt(max(down, 0.0)), mean_b - mean_a + math.sqrt(max(up, 0.0))
    return structs.replace(interval, low=min(interval.low, low), high=max(interval.high, high))


def _reach(side: Interval) -> tuple[float, float, float] | None:
    """Return the mean and the distances to its lower and upper bound."""
    if side.estimate is None or side.low is None or side.high is None:
        return None
    return side.estimate, side.estimate - side.low, side.high - side.estimate


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


def std_dev_of_tasks(interval: Interval, *, metric: str, tasks: int, stated: float | None) -> float | None:
    """Return the standard deviation over tasks: as stated, else implied by a bootstrap or ratio interval."""
    if stated or interval.low is None or interval.high is None or tasks < 2:
        return stated or None
    drawn = catalog()[metric].is_ratio or interval.method.startswith("percentile")
    half = (interval.high - interval.low) / 2
    if not drawn or not math.isfinite(half):
        return None
    return half * math.sqrt(tasks) / float(student_quantile(interval.confidence, tasks - 1))
