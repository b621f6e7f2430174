"""Tests of many benchmarks for a change beyond a minimum effect, robust to noise between measurement sessions.

Times are compared as logarithms of session medians. Repeating a benchmark within one process does not show how much the
next process would differ, so verdicts need a minimum effect. With one session per side it must also cover the noise
between sessions; with more, that noise is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from steelyard.statistics._estimates import LEVEL, Floats, Ints, check_level
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._means import student_quantile
from steelyard.statistics._p_values import benjamini_hochberg

ONE_SESSION_EFFECT = 0.05
"""Minimum effect with one session per side: false claims are rare up to `MAX_SESSION_SD`."""
MAX_SESSION_SD = 0.0125
"""Standard deviation between sessions up to which `ONE_SESSION_EFFECT` is valid."""
SEVERAL_SESSIONS_EFFECT = 0.02
"""Minimum effect with two or more sessions per side."""
MAX_PRIOR_DEGREES = 10.0
"""Largest number of degrees of freedom of the pooled variance: benchmarks of one session share its shift."""
DRIFT_QUANTILE = 0.9
"""Quantile over benchmarks of the drift within processes that the minimum effect must exceed with one session."""

_LARGE = 1e6
"""Degrees of freedom of a normal distribution."""
_FEW_SAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SessionTimes:
    """Medians of one side: a row per benchmark, a column per session. NaN where a session lacks a benchmark."""

    log_median: Floats
    """Logarithm of the median time."""
    error: Floats
    """Its standard error within the process; NaN if only a summary is known."""
    drift: Floats
    """Absolute difference of the log medians of the first and second half of the samples; NaN if unknown."""

    @classmethod
    def of_samples(cls, samples: Sequence[Sequence[npt.ArrayLike]]) -> SessionTimes:
        """Return the medians of times in the order of measurement: for each benchmark, the samples of each session.

        A session without samples, or with a time that is not finite and above 0, is missing.
        """
        width = max((len(sessions) for sessions in samples), default=0)
        log_median, error, drift = np.full((3, len(samples), width), np.nan)
        for row, sessions in enumerate(samples):
            for column, values in enumerate(sessions):
                times = np.asarray(values, dtype=float)
                if not len(times) or not np.all(np.isfinite(times) & (times > 0)):
                    continue
                logs, half = np.log(times), len(times) // 2
                log_median[row, column] = np.median(logs)
                if len(times) > 1:
                    error[row, column] = log_median_error(logs)
                    drift[row, column] = abs(np.median(logs[:half]) - np.median(logs[half:]))
        return cls(log_median=log_median, error=error, drift=drift)

    @property
    def sessions(self) -> Ints:
        """Number of sessions of each benchmark."""
        return np.asarray(np.count_nonzero(~np.isnan(self.log_median), axis=1), dtype=np.int64)


def log_median_error(samples: Floats) -> Floats:
    """Return the standard error of the median of log times in the order measured, along the last axis.

    The distance of the order statistics 0.98 sqrt(n) ranks from the middle, divided by 3.92. If the lag-1 correlation r
    exceeds 2 / sqrt(n), the larger of that and 1.2533 sd / sqrt(n), times sqrt((1 + r) / (1 - r)). r is the larger of
    the plain and a robust estimate, corrected for its bias (Marriott and Pope 1954). For fewer than ten samples the
    larger of both errors. At least two samples.
    """
    n = samples.shape[-1]
    middle = np.median(samples, axis=-1, keepdims=True)
    quartiles = np.quantile(samples, [0.25, 0.75], axis=-1, keepdims=True)
    spread = quartiles[1] - quartiles[0]
    clipped = np.clip((samples - middle) / np.where(spread > 0, spread, 1.0), -1, 1)
    r = np.maximum(_lag_one(clipped), _lag_one(samples))
    r = np.clip(r + (1 + 4 * r) / n, 0.0, 0.98)
    ranks = max(1, round(0.98 * math.sqrt(n)))
    ordered = np.sort(samples, axis=-1)
    order = (ordered[..., min(n - 1, n // 2 + ranks)] - ordered[..., max(0, (n - 1) // 2 - ranks)]) / 3.92
    larger = np.maximum(order, math.sqrt(math.pi / 2) * samples.std(axis=-1, ddof=1) / math.sqrt(n))
    correlated = r > 2 / math.sqrt(n)
    plain = larger if n < _FEW_SAMPLES else order
    return np.asarray(np.where(correlated, larger * np.sqrt((1 + r) / (1 - r)), plain), dtype=float)


def _lag_one(values: Floats) -> Floats:
    apart = values - values.mean(axis=-1, keepdims=True)
    squares = np.maximum((apart**2).sum(axis=-1), 1e-300)
    return np.asarray((apart[..., 1:] * apart[..., :-1]).sum(axis=-1) / squares)


def minimum_effect_p(log_ratio: Floats, error: Floats, degrees: Floats, effect: float) -> Floats:
    """Return p-values of H0: |true log ratio| <= ln(1 + effect), at the boundary of H0.

    P(T > (|d| - M) / se) + P(T > (|d| + M) / se) with M = ln(1 + effect), at most 1.
    """
    margin = math.log1p(effect)
    size = np.abs(log_ratio)
    tails = [special.stdtr(degrees, -(size - sign * margin) / error) for sign in (1, -1)]
    return np.minimum(1.0, tails[0] + tails[1])


class OverallSpeed(NamedTuple):
    """Mean log ratio over benchmarks, the logarithm of their geometric mean speedup."""

    log_ratio: float
    low: float
    high: float
    p_value: float
    """P-value of a change within the minimum effect."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeedTests:
    """Results of all benchmarks, as logarithms; above 0 is faster. NaN where a benchmark cannot be tested."""

    log_ratio: Floats
    """ln(median before) - ln(median after)."""
    low: Floats
    """Lower limit, at the level that keeps the false coverage rate of the claimed benchmarks."""
    high: Floats
    """Upper limit, likewise."""
    p_value: Floats
    """P-value of a change within the minimum effect."""
    p_adjusted: Floats
    """P-value adjusted for all benchmarks (Benjamini and Hochberg 1995)."""
    changed: Ints
    """1 for faster, -1 for slower, 0 for no claim."""
    overall: OverallSpeed | None
    """Overall speedup; None if no benchmark can be tested."""
    minimum_effect: float
    """Relative change that must be exceeded."""
    sessions: int
    """Fewest sessions per side of any benchmark tested."""
    confidence: float
    """Nominal level."""


def speed_tests(
    before: SessionTimes,
    after: SessionTimes,
    *,
    minimum_effect: float | None = None,
    baseline_sd: float | None = None,
    level: float = LEVEL,
) -> SpeedTests:
    """Return tests and intervals of every benchmark (rows of both sides) and of the overall speedup.

    One session on a side of any benchmark: the error is that within processes. The minimum effect is 5%, or the 90th
    percentile over benchmarks of the drift within processes if that is larger. It represents the noise between sessions
    (valid up to a standard deviation of 1.25%), so it widens the limits as well: they are the ratios whose p-value is
    above the error rate. With `baseline_sd`, the standard deviation between sessions of repeated baselines, it is
    max(2%, sqrt(2) q sd) instead, q the normal quantile 1 - 0.025 / benchmarks.

    Two or more sessions on both sides: sessions are the unit. Their variance s^2 is pooled over both sides and
    moderated over benchmarks (Smyth 2004), (d0 s0^2 + df s^2) / (d0 + df) with s0^2 the mean and d0 at most 10; the
    error is at least that within processes. Minimum effect 2%; limits are Student's.

    p-values are adjusted over benchmarks by Benjamini and Hochberg. With R claims among m benchmarks, limits are at
    level 1 - max(R, 1) (1 - level) / m (Benjamini and Yekutieli 2005), and those of a claim exclude no change. The
    overall is tested by the same rule over the means of complete sessions.
    """
    check_level(level)
    alpha = 1 - level
    fewest = np.minimum(before.sessions, after.sessions)
    log_ratio = _row_means(before.log_median) - _row_means(after.log_median)
    within = np.sqrt(_within(before) + _within(after))
    usable = np.isfinite(log_ratio) & (fewest > 0)
    several = bool(usable.any() and fewest[usable].min() >= 2)
    usable &= np.isfinite(within) | several
    count = int(usable.sum())
    effect = minimum_effect
    if effect is None:
        effect = SEVERAL_SESSIONS_EFFECT if several else _one_session_effect(before, after, baseline_sd, count)
    error, degrees = within, np.full(len(log_ratio), _LARGE)
    if several:
        error, degrees = _moderated(before, after, within, usable)
    error = np.maximum(error, 1e-12)
    p_value, p_adjusted, low, high = np.full((4, len(log_ratio)), np.nan)
    changed = np.zeros(len(log_ratio), dtype=np.int64)
    overall = None
    if count:
        p_value[usable] = minimum_effect_p(log_ratio[usable], error[usable], degrees[usable], effect)
        p_adjusted[usable] = benjamini_hochberg(p_value[usable])
        claimed = usable & (np.where(usable, p_adjusted, 1.0) <= alpha)
        changed = np.where(claimed, np.sign(log_ratio), 0).astype(np.int64)
        rate = max(int(claimed.sum()), 1) * alpha / count
        half = _half_width(error[usable], degrees[usable], rate, 0.0 if several else effect)
        low[usable], high[usable] = log_ratio[usable] - half, log_ratio[usable] + half
        overall = _overall(before, after, usable, (error, within, degrees), effect=effect, several=several, alpha=alpha)
    return SpeedTests(
        log_ratio=np.where(usable, log_ratio, np.nan),
        low=low,
        high=high,
        p_value=p_value,
        p_adjusted=p_adjusted,
        changed=changed,
        overall=overall,
        minimum_effect=effect,
        sessions=int(fewest[usable].min()) if count else 0,
        confidence=level,
    )


def _row_means(values: Floats) -> Floats:
    known = ~np.isnan(values)
    counts = np.where(known.any(axis=1), known.sum(axis=1), np.nan)
    return np.asarray(np.where(known, values, 0.0).sum(axis=1) / counts, dtype=float)


def _within(side: SessionTimes) -> Floats:
    """Return the variance of each benchmark's mean log median from the errors within processes."""
    return _row_means(side.error**2) / np.maximum(side.sessions, 1)


def _one_session_effect(before: SessionTimes, after: SessionTimes, baseline_sd: float | None, count: int) -> float:
    if baseline_sd is not None:
        quantile = float(special.ndtri(1 - 0.025 / max(count, 1)))
        return max(SEVERAL_SESSIONS_EFFECT, math.expm1(math.sqrt(2) * quantile * baseline_sd))
    drift = np.concatenate([before.drift.ravel(), after.drift.ravel()])
    drift = drift[~np.isnan(drift)]
    seen = math.expm1(float(np.quantile(drift, DRIFT_QUANTILE))) if len(drift) else 0.0
    return max(ONE_SESSION_EFFECT, seen)


def _moderated(
    before: SessionTimes, after: SessionTimes, within: Floats, usable: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return errors and degrees of freedom from session medians, their variance moderated over benchmarks."""
    sides = before, after
    squares = np.zeros(len(within))
    for side in sides:
        apart = side.log_median - _row_means(side.log_median)[:, None]
        squares += np.where(np.isnan(apart), 0.0, apart**2).sum(axis=1)
    counts = [np.maximum(side.sessions, 1).astype(float) for side in sides]
    degrees = np.maximum(counts[0] + counts[1] - 2, 1.0)
    variance = squares / degrees
    prior = _prior_degrees(variance[usable], degrees[usable])
    common = float(variance[usable].mean())
    variance = (prior * common + degrees * variance) / (prior + degrees)
    error = np.sqrt(variance * (1 / counts[0] + 1 / counts[1]))
    return np.fmax(error, within), degrees + prior


def _prior_degrees(variances: Floats, degrees: Floats) -> float:
    """Return the degrees of freedom of the pooled variance by the spread of log variances (Smyth 2004), at most 10."""
    if len(variances) < 2:
        return 0.0
    logs = np.log(np.maximum(variances, 1e-300)) - special.digamma(degrees / 2) + np.log(degrees / 2)
    extra = float(logs.var(ddof=1) - special.polygamma(1, degrees / 2).mean())
    if extra <= 1e-10:
        return MAX_PRIOR_DEGREES
    log_half = optimize.brentq(lambda y: float(special.polygamma(1, math.exp(y))) - extra, -12, 25)
    return min(2 * math.exp(float(log_half)), MAX_PRIOR_DEGREES)


def _half_width(error: Floats, degrees: Floats, alpha: float, effect: float) -> Floats:
    """Return the distance at which `minimum_effect_p` is alpha: Student's if the effect is 0.

    By Newton's method, or by bisection where a step would leave the interval that contains the solution.
    """
    margin = math.log1p(effect)
    above = student_quantile(1 - alpha, degrees) * error + margin
    if not effect:
        return above
    below = np.zeros(len(error))
    width = special.stdtrit(degrees, max(1 - alpha, 0.5)) * error + margin
    scale = np.exp(special.gammaln((degrees + 1) / 2) - special.gammaln(degrees / 2)) / np.sqrt(degrees * math.pi)
    for _ in range(60):
        excess = minimum_effect_p(width, error, degrees, effect) - alpha
        below, above = np.where(excess > 0, width, below), np.where(excess > 0, above, width)
        tails = [((width + sign * margin) / error) ** 2 for sign in (1, -1)]
        slope = scale / error * sum(np.exp(-(degrees + 1) / 2 * np.log1p(tail / degrees)) for tail in tails)
        step = width + excess / np.maximum(slope, 1e-300)
        inside = np.where((below <= step) & (step <= above), step, (below + above) / 2)
        before, width = width, np.where(np.abs(step - width) <= 1e-14 * width, width, inside)
        if np.array_equal(before, width):
            break
    return width


def _overall(
    before: SessionTimes,
    after: SessionTimes,
    usable: npt.NDArray[np.bool_],
    errors: tuple[Floats, Floats, Floats],
    *,
    effect: float,
    several: bool,
    alpha: float,
) -> OverallSpeed:
    """Return the mean log ratio of the tested benchmarks; `errors` are theirs, those within processes, and degrees.

    Sessions are shared by benchmarks, so their means over benchmarks are the unit. Where fewer than two sessions of a
    side are complete, errors of benchmarks are taken to be fully correlated, which is the cautious extreme.
    """
    error, within, degrees = (values[usable] for values in errors)
    ratio = mean_of((_row_means(before.log_median) - _row_means(after.log_median))[usable])
    independent = math.sqrt(float(np.sort(np.where(np.isnan(within), 0.0, within) ** 2).sum())) / len(error)
    means = [side.log_median[usable].mean(axis=0) for side in (before, after)]
    first, second = (values[~np.isnan(values)] for values in means)
    freedom = _LARGE
    if not several:
        spread = independent
    elif min(len(first), len(second)) >= 2:
        freedom = float(len(first) + len(second) - 2)
        squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
        spread = max(math.sqrt(squares / freedom * (1 / len(first) + 1 / len(second))), independent)
    else:
        spread, freedom = mean_of(error), float(degrees.min())
    row = np.array([max(spread, 1e-12)]), np.array([freedom])
    half = float(_half_width(*row, alpha, 0.0 if several else effect)[0])
    p_value = float(minimum_effect_p(np.array([ratio]), *row, effect)[0])
    return OverallSpeed(ratio, ratio - half, ratio + half, p_value)
