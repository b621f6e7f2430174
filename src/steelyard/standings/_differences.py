"""The difference between two sides on one metric: interval, test, effect size, flips, and what it would take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import UnknownName
from steelyard.metrics import catalog
from steelyard.records import Missing
from steelyard.results import Difference, Flip
from steelyard.standings._choosing_intervals import inside
from steelyard.standings._samples import Mask, Samples, TaskMeans, half_names
from steelyard.statistics import (
    LEVEL,
    RESAMPLES,
    SEED,
    Floats,
    Interval,
    SensitivityBounds,
    Significance,
    cliffs_delta,
    detectable_difference,
    difference_bounds,
    mcnemar_exact,
    no_interval,
    paired_bootstrap,
    paired_plus_two,
    paired_ratios,
    paired_shares,
    paired_t,
    sign_flip,
    standardized,
)

FEW_DIFFER = 10
"""With ties among the tasks and fewer that differ, their spread is too uncertain for Student's interval."""

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
            raise UnknownName("method for a difference", self.method, PAIRED_METHODS)


def difference(samples: Samples, a: Mask, b: Mask, metric: str, *, options: StatisticsOptions) -> Difference:
    """The paired difference of one metric between two sets of runs."""
    if catalog()[metric].is_ratio:
        return _ratio_difference(samples, a, b, metric, options)
    values = samples.known(metric)
    if isinstance(values, Missing):
        return _nothing(metric, values.reason, options)
    if np.isinf(values[a | b]).any():
        whole = metric.removesuffix("_per_run")
        other = f"; compare {whole} instead" if whole in catalog() and catalog()[whole].is_ratio else ""
        return _nothing(metric, f"some runs have an infinite value{other}", options)
    side_a, side_b = sides = samples.by_task(metric, a), samples.by_task(metric, b)
    common = side_a.usable & side_b.usable
    if not common.any():
        return replace(_nothing(metric, _why_none(samples, a, b), options), missing=_missing(samples, sides, a, b))
    gaps = (side_b.mean - side_a.mean)[common]
    # differences that are 0 on paper are 0: 0.1 + 0.2 against 0.3 is no difference
    scale = np.maximum(np.abs(side_a.mean[common]), np.abs(side_b.mean[common]))
    gaps = np.where(np.abs(gaps) <= 1e-12 * scale, 0.0, gaps)
    interval, test = _judged(samples, metric, side_a, side_b, gaps, common, options)
    span = _span(metric)
    if span is not None:
        reach = max(span, float(np.max(np.abs(gaps), initial=0.0)))  # a scaled side may go a little beyond
        interval = inside(interval, (-reach, reach))
    spread = float(np.sort(gaps).std(ddof=1)) if len(gaps) > 1 and np.ptp(gaps) > 0 else None
    gained, lost = _flips(samples.task_names, side_a.mean, side_b.mean, common)
    return Difference(
        metric=metric,
        a=_mean(side_a.mean[common]),
        b=_mean(side_b.mean[common]),
        interval=interval,
        test=test,
        tasks=len(gaps),
        runs=(int(side_a.known[common].sum()), int(side_b.known[common].sum())),
        missing=_missing(samples, sides, a, b),
        spread=spread,
        cliffs_delta=cliffs_delta(side_a.mean[common], side_b.mean[common]),
        standardized=standardized(gaps),
        detectable=detectable_difference(len(gaps), spread, level=options.level) if spread else None,
        gained=gained,
        lost=lost,
        bounds=_bounds(samples, values, metric, a, b),
    )


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
        return paired_shares(only_a, only_b, len(gaps), level=options.level), mcnemar_exact(only_a, only_b)
    test = sign_flip(gaps, resamples=options.resamples, seed=options.seed)
    if options.method == "auto" and len(gaps) > 1 and _few_differ(gaps):
        return paired_plus_two(gaps, span=_span(metric), level=options.level), test
    return paired_t(gaps, level=options.level)[0], test


def _few_differ(gaps: Floats) -> bool:
    differing = int(np.count_nonzero(gaps))
    return bool(differing < min(FEW_DIFFER, len(gaps)) or np.ptp(gaps) == 0)


def _why_none(samples: Samples, a: Mask, b: Mask) -> str:
    """Why the two sides have no task to be compared on."""
    if not (samples.attempted(a) & samples.attempted(b)).any():
        return "no task in common"
    return "no task has a value on both sides"


def _span(metric: str) -> float | None:
    low, high = catalog()[metric].bounds
    return high - low if np.isfinite(high - low) else None


def _mean(values: Floats) -> float | None:
    return float(np.sort(values).mean()) if len(values) else None


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


def _flips(names: tuple[str, ...], a: Floats, b: Floats, common: Mask) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    differing = [
        Flip(names[place], float(a[place]), float(b[place])) for place in np.flatnonzero(common) if a[place] != b[place]
    ]
    ordered = sorted(differing, key=lambda flip: (-abs(flip.b - flip.a), flip.task))
    return tuple(flip for flip in ordered if flip.b > flip.a), tuple(flip for flip in ordered if flip.b < flip.a)


def _nothing(metric: str, reason: str, options: StatisticsOptions) -> Difference:
    interval = no_interval(reason, method=options.method, n=0, clusters=0, level=options.level)
    test = Significance(p_value=None, statistic=None, method="none", n=0, clusters=0, reason=reason)
    return Difference(metric=metric, a=None, b=None, interval=interval, test=test, tasks=0, runs=(0, 0), missing=(0, 0))


def _ratio_difference(samples: Samples, a: Mask, b: Mask, metric: str, options: StatisticsOptions) -> Difference:
    names = half_names(metric)
    for name in names:
        values = samples.known(name)
        if isinstance(values, Missing):
            return _nothing(metric, values.reason, options)
        if np.isinf(values[a | b]).any():
            return _nothing(metric, "some runs have an infinite value", options)
    tops, bottoms = ((samples.by_task(name, a), samples.by_task(name, b)) for name in names)
    common = tops[0].usable & tops[1].usable
    missing = _missing(samples, tops, a, b)
    if not common.any():
        return replace(_nothing(metric, _why_none(samples, a, b), options), missing=missing)
    kept = [(top.mean[common], bottom.mean[common]) for top, bottom in zip(tops, bottoms, strict=True)]
    figures = [_ratio(samples, metric, *kept[side], rows, common) for side, rows in enumerate((a, b))]
    interval, test = paired_ratios(
        kept[0], kept[1], level=options.level, resamples=options.resamples, seed=options.seed
    )
    return Difference(
        metric=metric,
        a=figures[0],
        b=figures[1],
        interval=interval,
        test=test,
        tasks=int(np.count_nonzero(common)),
        runs=(int(tops[0].known[common].sum()), int(tops[1].known[common].sum())),
        missing=missing,
    )


def _ratio(samples: Samples, metric: str, above: Floats, below: Floats, rows: Mask, common: Mask) -> float | None:
    """The ratio of the tasks' means; where there is nothing to divide by, what the formula gives then."""
    total = float(np.sort(below).sum())
    if total:
        return float(np.sort(above).sum()) / total
    declared = catalog()[metric]
    means = {name: _mean(samples.by_task(f"{metric} {name}", rows).mean[common]) for name in declared.inputs}
    value = declared(**means)
    return None if isinstance(value, Missing) else value
