"""Judges against gold labels: accuracy, and judged pass rates corrected by PPI++ or Rogan and Gladen.

Verdicts are 0 or 1, one per run; NaN is missing. Runs of one task stay together in every interval.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.statistics._agreement import cohens_kappa
from steelyard.statistics._estimates import (
    LEVEL,
    CorrectedRate,
    Floats,
    Interval,
    Ints,
    JudgeAccuracy,
    WeightBy,
    no_interval,
    too_few,
)
from steelyard.statistics._means import cluster, codes_of, effective_size, student_quantile
from steelyard.statistics._proportions import bounded_mean

MIN_LABELS = 50
"""Number of gold labels below which a corrected rate is labeled: with 10 labels PPI++ covers down to 84%."""
CALIBRATED_RATES = (0.2, 0.8)
"""Pass rates outside of which a corrected rate is labeled: at 0.05 with 50 labels PPI++ covers down to 87%."""
_PSEUDO_VARIANCE = 1.0
"""Added to the variance as 1 / (labels + 2)^2, so that a judge without a known error has an interval."""


def judge_accuracy(
    judge: npt.ArrayLike, gold: npt.ArrayLike, tasks: npt.ArrayLike, *, level: float = LEVEL
) -> JudgeAccuracy:
    """Return sensitivity, specificity and agreement of a judge, with intervals over tasks.

    The intervals are Gaffke's over task means weighted by their labels, which is Clopper and Pearson's for one label
    per task. Each is missing with a reason if fewer than two tasks have a run of its kind.
    """
    verdicts, truth = np.asarray(judge, dtype=float), np.asarray(gold, dtype=float)
    known = ~np.isnan(verdicts) & ~np.isnan(truth)
    verdicts, truth, labels = verdicts[known], truth[known], np.asarray(tasks)[known]

    def fraction(hits: npt.NDArray[np.bool_], of: npt.NDArray[np.bool_]) -> Interval:
        return _fraction(hits[of].astype(float), labels[of], level=level)

    everything = np.ones(len(verdicts), dtype=bool)
    return JudgeAccuracy(
        sensitivity=fraction(verdicts == 1, truth == 1),
        specificity=fraction(verdicts == 0, truth == 0),
        agreement=fraction(verdicts == truth, everything),
        kappa=cohens_kappa(verdicts, truth),
        labels=len(verdicts),
    )


def _fraction(hits: Floats, tasks: npt.NDArray[np.generic], *, level: float) -> Interval:
    by_task = cluster(hits, tasks)
    if by_task.size < 2:
        estimate = by_task.mean if by_task.n else None
        return no_interval(
            too_few(by_task.n), method="gaffke", n=by_task.n, clusters=by_task.size, level=level, estimate=estimate
        )
    interval = bounded_mean(by_task.sums / by_task.counts, weights=by_task.counts, level=level)
    return msgspec.structs.replace(interval, estimate=by_task.mean, n=by_task.n)


def ppi_rate(
    judge: npt.ArrayLike,
    gold: npt.ArrayLike,
    tasks: npt.ArrayLike,
    *,
    weight_by: WeightBy = "runs",
    level: float = LEVEL,
) -> CorrectedRate:
    """Return the rate of gold verdicts by PPI++ (Angelopoulos, Duchi and Zrnic 2023), clustered by task.

    The labels (`gold` that is not NaN) must be a random sample of these runs. With f the judge, Y gold and mean_l the
    mean over labeled runs, theta = mean_l(Y) + lambda (mean(f) - mean_l(f)). A task adds U + lambda V, with
    w = 1 / (fraction labeled) for a labeled run and 0 for others: U = sum w (Y - mean_l(Y)),
    V = sum [(f - mean(f)) - w (f - mean_l(f))]. lambda = -sum UV / sum V^2, kept in 0 to 1. The variance is
    sum (U + lambda V)^2 T / (T - 1) / runs^2 x n / (n - 2) + 1 / (n + 2)^2 for n labels on T tasks; the limits are
    Student's with (tasks with a label - 1) degrees of freedom. By tasks, every run counts 1 / attempts at its task.

    Runs without a judgment are left out. Missing with a reason for fewer than 3 labels or 2 labeled tasks.
    """
    verdicts, truth = np.asarray(judge, dtype=float), np.asarray(gold, dtype=float)
    known = ~np.isnan(verdicts)
    order = np.lexsort((truth[known], verdicts[known], codes_of(np.asarray(tasks)[known])))
    verdicts, truth = verdicts[known][order], truth[known][order]
    codes = codes_of(np.asarray(tasks)[known])[order]
    size = int(codes.max(initial=-1)) + 1
    weights = np.ones(len(codes)) if weight_by == "runs" else 1 / np.bincount(codes, minlength=size)[codes]
    labeled = ~np.isnan(truth)
    n, clusters = int(labeled.sum()), len(np.unique(codes[labeled]))
    judged = float(np.sum(weights * verdicts) / weights.sum()) if len(codes) else None
    reason = None
    if n < 3 or clusters < 2:
        reason = f"{n} gold labels on {clusters} tasks; at least 3 labels on 2 tasks are needed"
    if judged is None:
        reason = "no run has a judgment"
    if reason is not None:
        interval = no_interval(reason, method="ppi++", n=len(codes), clusters=size, level=level)
        return CorrectedRate(interval=interval, judged_rate=judged, labels=n, tuning=None, label=None)
    estimate, error, tuning = _ppi(verdicts, np.where(labeled, truth, 0.0), labeled, weights, codes)
    half = float(student_quantile(level, clusters - 1)) * error
    interval = Interval(
        estimate=min(max(estimate, 0.0), 1.0),
        low=min(max(estimate - half, 0.0), 1.0),
        high=max(min(estimate + half, 1.0), 0.0),
        method="ppi++",
        n=len(codes),
        clusters=size,
        confidence=level,
    )
    return CorrectedRate(
        interval=interval, judged_rate=judged, labels=n, tuning=tuning, label=_label(n, float(estimate))
    )


def _ppi(
    judge: Floats, gold: Floats, labeled: npt.NDArray[np.bool_], weights: Floats, codes: Ints
) -> tuple[float, float, float]:
    """Return the estimate, its standard error and lambda."""
    tasks, total = int(codes.max()) + 1, float(weights.sum())
    inside = weights * labeled
    share = float(inside.sum()) / total
    gold_mean, judge_labeled = (float(np.sum(inside * values)) / float(inside.sum()) for values in (gold, judge))
    judge_mean = float(np.sum(weights * judge)) / total
    u = np.bincount(codes, weights=inside / share * (gold - gold_mean), minlength=tasks)
    v = np.bincount(
        codes, weights=weights * (judge - judge_mean) - inside / share * (judge - judge_labeled), minlength=tasks
    )
    squares = float(v @ v)
    tuning = min(max(-float(u @ v) / squares, 0.0), 1.0) if squares > 0 else 0.0
    n = float(inside.sum() ** 2 / (inside**2).sum())  # equal weights: the number of labels
    spread = float(((u + tuning * v) ** 2).sum()) * tasks / (tasks - 1) / total**2
    variance = spread * n / max(n - 2, 1.0) + _PSEUDO_VARIANCE / (n + 2) ** 2
    return gold_mean + tuning * (judge_mean - judge_labeled), math.sqrt(variance), tuning


def _label(labels: int, rate: float) -> str | None:
    parts = []
    if labels < MIN_LABELS:
        parts.append(f"fewer than {MIN_LABELS} gold labels")
    if not CALIBRATED_RATES[0] <= rate <= CALIBRATED_RATES[1]:
        parts.append(f"rate outside {CALIBRATED_RATES[0]:g} to {CALIBRATED_RATES[1]:g}")
    return "; ".join(parts) or None


def rogan_gladen_rate(
    judge: npt.ArrayLike,
    tasks: npt.ArrayLike,
    *,
    gold_judge: npt.ArrayLike,
    gold: npt.ArrayLike,
    gold_tasks: npt.ArrayLike,
    level: float = LEVEL,
) -> CorrectedRate:
    """Return the rate of gold verdicts from a judge calibrated on other runs (Rogan and Gladen 1978).

    theta = (q + sp - 1) / (se + sp - 1) with q the judged rate of these runs, se and sp the judge's sensitivity and
    specificity on the gold runs (`gold_judge`, `gold`, `gold_tasks`). This assumes that both are the same on these
    runs. The interval is that of Lang and Reiczigel (2014): z^2 / 2 (for q) and 1 (for se and sp) added to successes
    and to failures, and a shift for the skew of the ratio. Numbers of runs are effective ones,
    fraction (1 - fraction) / se^2 with the standard error clustered by task, at most the number of runs; quantiles are
    Student's with the fewest tasks behind any of the three. Missing with a reason without truly passed or failed gold
    runs on two tasks, and if the judge is no better than chance.
    """
    verdicts = np.asarray(judge, dtype=float)
    known = ~np.isnan(verdicts)
    accuracy = judge_accuracy(gold_judge, gold, gold_tasks, level=level)
    judged = _fraction(verdicts[known], np.asarray(tasks)[known], level=level)
    reason = judged.reason
    for name, part in (("sensitivity", accuracy.sensitivity), ("specificity", accuracy.specificity)):
        if reason is None and part.reason is not None:
            reason = f"{name} of the judge is unknown: {part.reason}"
    youden = (accuracy.sensitivity.estimate or 0.0) + (accuracy.specificity.estimate or 0.0) - 1
    if reason is None and youden <= 0:
        reason = "the judge agrees with the gold labels no better than chance"
    if reason is not None or judged.estimate is None:
        interval = no_interval(
            reason or "no value", method="rogan-gladen", n=judged.n, clusters=judged.clusters, level=level
        )
        return CorrectedRate(
            interval=interval, judged_rate=judged.estimate, labels=accuracy.labels, tuning=None, label=None
        )
    truth, given = np.asarray(gold, dtype=float), np.asarray(gold_judge, dtype=float)
    labels = np.asarray(gold_tasks)
    usable = ~np.isnan(truth) & ~np.isnan(given)
    passed, failed = usable & (truth == 1), usable & (truth == 0)
    parts = (
        _effective(verdicts[known], np.asarray(tasks)[known]),
        _effective((given[passed] == 1).astype(float), labels[passed]),
        _effective((given[failed] == 0).astype(float), labels[failed]),
    )
    fewest = min(size for *_, size in parts)
    low, high = _lang_reiczigel(*(part[:2] for part in parts), z=float(student_quantile(level, fewest - 1)))
    specificity = accuracy.specificity.estimate or 0.0
    estimate = min(max((judged.estimate + specificity - 1) / youden, 0.0), 1.0)
    interval = Interval(
        estimate=estimate,
        low=min(low, estimate),
        high=max(high, estimate),
        method="rogan-gladen",
        n=judged.n,
        clusters=judged.clusters,
        confidence=level,
    )
    return CorrectedRate(
        interval=interval,
        judged_rate=judged.estimate,
        labels=accuracy.labels,
        tuning=None,
        label=_label(accuracy.labels, estimate),
    )


def _effective(hits: Floats, tasks: npt.NDArray[np.generic]) -> tuple[float, float, int]:
    """Return a fraction, its effective number of runs and its number of tasks."""
    by_task = cluster(hits, tasks)
    share, error = np.array(by_task.mean), np.array(by_task.standard_error)
    number = float(effective_size(share, error, np.array(float(by_task.size))))
    return by_task.mean, min(number, float(by_task.n)), by_task.size


def _lang_reiczigel(
    judged: tuple[float, float], sensitivity: tuple[float, float], specificity: tuple[float, float], *, z: float
) -> tuple[float, float]:
    squared = z * z
    n = judged[1] + squared
    q = (judged[0] * judged[1] + squared / 2) / n
    (se, n_se), (sp, n_sp) = (
        ((share * number + 1) / (number + 2), number + 2) for share, number in (sensitivity, specificity)
    )
    youden = se + sp - 1
    if youden <= 0:
        return 0.0, 1.0
    rate = min(max((q + sp - 1) / youden, 0.0), 1.0)
    spreads = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    if youden <= z * math.sqrt(spreads[0] + spreads[1]):
        return 0.0, 1.0  # the judge may be no better than chance
    shift = 2 * squared * (rate * spreads[0] - (1 - rate) * spreads[1])
    error = math.sqrt(q * (1 - q) / n + rate**2 * spreads[0] + (1 - rate) ** 2 * spreads[1]) / youden
    return max(rate + shift - z * error, 0.0), min(rate + shift + z * error, 1.0)
