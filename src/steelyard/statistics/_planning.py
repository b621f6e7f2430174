"""Planning: power, sample size and minimum detectable effect, by formula and by simulation of the rule `paired_mean`.

Power is for a named effect, never for the observed difference, whose power only restates the p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from steelyard.errors import UsageError
from steelyard.statistics._estimates import LEVEL, SEED, Floats
from steelyard.statistics._means import student_quantile
from steelyard.statistics._paired import Moments, paired_mean_rows, quantum_of
from steelyard.statistics._proportions import normal_quantile

POWER = 0.8
MAX_TASKS = 10_000_000
SIMULATED_SETS = 5_000
"""Simulated data sets per sample size; the standard error of a power of 80% is 0.6 points."""
MAX_SIMULATED_TASKS = 100_000
"""Above this sample size the rule is Student's t, and its power is computed."""
RANGE_LEVEL = 0.9
"""Level of the range of a sample size."""
_DRAWN_TASKS = 200_000
_DISTINCT = 2_000


class SampleSize(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks needed to detect an effect, with a range."""

    tasks: int | None
    """Tasks needed; None if unknown or above 10 million."""
    low: int | None
    """Lower end of the range."""
    high: int | None
    """Upper end of the range; None if no number of tasks below 10 million suffices."""
    effect: float
    """True difference to detect."""
    power: float
    """Probability of detecting it."""
    reason: str | None = None
    """Reason for missing numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DifferenceDistribution:
    """Distribution of a task's difference B - A, from which data sets are drawn."""

    values: Floats
    """Distinct differences, ascending."""
    fractions: Floats
    """Probability of each."""
    quantum: float
    """Squared step of a difference; see `quantum_of`."""
    span: float = 1.0
    """Largest possible difference."""

    @classmethod
    def of_values(cls, differences: npt.ArrayLike, *, quantum: float, span: float = 1.0) -> DifferenceDistribution:
        """Return the empirical distribution; values that differ by rounding are one."""
        gaps = np.asarray(differences, dtype=float)
        values, counts = np.unique(np.round(gaps, 12), return_counts=True)
        return cls(values=values, fractions=counts / len(gaps), quantum=quantum, span=span)

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(self.fractions @ self.values)

    @property
    def variance(self) -> float:
        """Variance of the difference."""
        return float(self.fractions @ (self.values - self.mean) ** 2)

    def with_mean(self, mean: float) -> DifferenceDistribution:
        """Return the distribution with another mean on the same values, by exponential tilting.

        The weights are proportional to exp(c x value), so differences stay on their lattice and within their bounds.
        A mean that no weights give (all differences are below it) is reached by a shift instead.
        """
        size = float(np.abs(self.values).max()) or 1.0
        units = self.values / size

        def weights(slope: float) -> Floats:
            logs = np.log(self.fractions) + slope * units
            tilted = np.exp(logs - logs.max())
            return np.asarray(tilted / tilted.sum(), dtype=float)

        ends = [float(weights(slope) @ self.values) - mean for slope in (-50.0, 50.0)]
        if not ends[0] < 0 < ends[1]:
            return replace(self, values=self.values + mean - self.mean)
        slope = optimize.brentq(lambda slope: float(weights(slope) @ self.values) - mean, -50.0, 50.0, xtol=1e-12)
        return replace(self, fractions=weights(float(slope)))

    def simulated_power(
        self, tasks: int, *, level: float = LEVEL, sets: int = SIMULATED_SETS, seed: int = SEED
    ) -> float:
        """Return the fraction of simulated data sets in which `paired_mean` finds the difference in its direction."""
        counts = np.random.default_rng(seed).multinomial(tasks, self.fractions, size=sets)
        moments = Moments(
            tasks,
            counts @ self.values,
            counts @ self.values**2,
            (tasks - counts[:, self.values == 0].sum(axis=1)).astype(float),
            counts.max(axis=1) == tasks,
        )
        rows = paired_mean_rows(moments, quantum=self.quantum, span=self.span, level=level)
        return float(np.mean(rows.low > 0 if self.mean > 0 else rows.high < 0))

    def tasks_needed(self, *, level: float = LEVEL, power: float = POWER, seed: int = SEED) -> int | None:
        """Return the fewest tasks with this power for the distribution's mean; None above 10 million."""
        computed = tasks_needed(self.mean, math.sqrt(self.variance), level=level, power=power)
        if computed is None or computed > MAX_SIMULATED_TASKS:
            return computed

        def enough(tasks: int) -> bool:
            return self.simulated_power(tasks, level=level, seed=seed) >= power

        few, many = max(2, computed * 9 // 10), max(3, computed * 11 // 10)
        while not enough(many):
            few, many = many, 2 * many
            if many > MAX_TASKS:
                return None
        while few > 2 and enough(few):
            few, many = max(2, few // 2), few
        while many - few > max(1, many // 200):  # below the error of the simulation
            middle = (few + many) // 2
            few, many = (few, middle) if enough(middle) else (middle, many)
        return many


def sample_size_from_data(
    differences: npt.ArrayLike,
    effect: float,
    *,
    quantum: float,
    span: float = 1.0,
    level: float = LEVEL,
    power: float = POWER,
    seed: int = SEED,
) -> SampleSize:
    """Return the tasks needed to detect `effect`, from the task differences of a pilot.

    The pilot's differences are given the mean `effect` (`DifferenceDistribution.with_mean`), data sets are drawn from
    them, and `paired_mean` decides. The result is scaled to the variance of the pilot itself, because tilting a small
    pilot makes it smaller on average, and corrected for the skew of a sample variance. The range is a 90% CI of the
    variance, whose logarithm has the standard error sqrt((kurtosis - (n - 3) / n) / (n - 1)) (Bonett 2006). Missing
    with a reason if the pilot has no variance.
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    _check_effect(effect, span)
    reason = None
    if n < 2:
        reason = f"{n} task{'s' if n != 1 else ''} in common; at least two are needed"
    elif np.ptp(gaps) <= 1e-12 * span:
        reason = "the difference is the same on every task, so its variance cannot be estimated"
    if reason is not None:
        return SampleSize(tasks=None, low=None, high=None, effect=effect, power=power, reason=reason)
    pilot, factor = _of_pilot(gaps, effect, quantum=quantum, span=span)
    simulated = pilot.tasks_needed(level=level, power=power, seed=seed)
    apart = gaps - gaps.mean()
    kurtosis = n * float((apart**4).sum()) / float((apart**2).sum()) ** 2
    error = math.sqrt(max(kurtosis - (n - 3) / n, 1 / n) / (n - 1))
    # half of all pilots have a variance below the true one times exp(-error^2 / 2)
    needed = None if simulated is None else max(2, math.ceil(simulated * factor * math.exp(error**2 / 2)))
    width = math.exp(normal_quantile(RANGE_LEVEL) * error)
    high = None if needed is None else math.ceil(needed * width)
    return SampleSize(
        tasks=needed,
        low=None if needed is None else max(2, math.floor(needed / width)),
        high=None if high is None or high > MAX_TASKS else high,
        effect=effect,
        power=power,
        reason="more than 10 million tasks" if needed is None else None,
    )


def minimum_effect_from_data(
    differences: npt.ArrayLike,
    *,
    quantum: float,
    tasks: int | None = None,
    span: float = 1.0,
    level: float = LEVEL,
    power: float = POWER,
    seed: int = SEED,
) -> float | None:
    """Return the smallest true difference that `paired_mean` detects with this power on `tasks` tasks (default: these).

    None below two tasks, if all differences are equal, and if not even the span is detected.
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    if n < 2 or np.ptp(gaps) <= 1e-12 * span:
        return None
    size = n if tasks is None else tasks

    def missed(effect: float) -> float:
        pilot, factor = _of_pilot(gaps, effect, quantum=quantum, span=span)
        return power - pilot.simulated_power(max(2, round(size / factor)), level=level, seed=seed)

    # near the largest difference seen a tilted pilot hardly varies, so power is not monotone: search from below
    computed = minimum_detectable_effect(size, float(gaps.std(ddof=1)), level=level, power=power)
    least = most = min(0.3 * computed if computed else span, span)
    while missed(most) > 0:
        if most >= span:
            return None
        least, most = most, min(1.1 * most, span)
    if most == least:
        return most
    return float(optimize.brentq(missed, least, most, xtol=1e-4 * span))


def _of_pilot(gaps: Floats, effect: float, *, quantum: float, span: float) -> tuple[DifferenceDistribution, float]:
    """Return the differences of a pilot with the mean `effect`, and the pilot's variance relative to theirs."""
    variance = float(gaps.var(ddof=1))
    if len(np.unique(np.round(gaps, 12))) > _DISTINCT:  # continuous values: quantiles are as good
        gaps = np.quantile(gaps, (np.arange(_DISTINCT) + 0.5) / _DISTINCT)
    pilot = DifferenceDistribution.of_values(gaps, quantum=quantum, span=span).with_mean(effect)
    return pilot, variance / pilot.variance if pilot.variance > 0 else 1.0


def sample_size_from_assumptions(
    effect: float,
    *,
    pass_rate: float,
    icc: float = 0.0,
    attempts: int = 1,
    level: float = LEVEL,
    power: float = POWER,
    seed: int = SEED,
) -> SampleSize:
    """Return the tasks needed to detect a difference of pass rates, without data.

    The chance of passing is beta distributed over tasks with mean `pass_rate` and intraclass correlation `icc` on side
    A; on side B its mean is higher by `effect` (lower, if it would exceed 1). How strongly the chances of both sides
    correlate over tasks is unknown. The range is from 1 (both find the same tasks hard) to 0, and the number in between
    is for a correlation of 0.5 (Gaussian copula).
    """
    _check_effect(effect, 1.0)
    other = pass_rate + effect if pass_rate + effect < 1 else pass_rate - effect
    problems = (
        (not 0 < pass_rate < 1, f"pass_rate must be between 0 and 1 (got {pass_rate:g})"),
        (not 0 <= icc < 1, f"icc must be at least 0 and below 1 (got {icc:g})"),
        (attempts < 1, f"attempts must be at least 1 (got {attempts})"),
        (not 0 < other < 1, f"an effect of {effect:g} is impossible at a pass rate of {pass_rate:g}"),
    )
    for is_wrong, message in problems:
        if is_wrong:
            raise UsageError(message)
    sizes = [
        _assumed((pass_rate, other), icc, attempts, correlation, seed).tasks_needed(level=level, power=power, seed=seed)
        for correlation in ((1.0, 0.5, 0.0) if icc > 0 else (0.0,))
    ]
    low, middle, high = sizes if len(sizes) == 3 else sizes * 3
    reason = "more than 10 million tasks" if middle is None else None
    return SampleSize(tasks=middle, low=low, high=high, effect=effect, power=power, reason=reason)


def _assumed(
    rates: tuple[float, float], icc: float, attempts: int, correlation: float, seed: int
) -> DifferenceDistribution:
    """Return the distribution of differences of two beta-binomial pass rates."""
    random = np.random.default_rng(seed)
    first, own = random.standard_normal((2, _DRAWN_TASKS))
    second = correlation * first + math.sqrt(1 - correlation**2) * own
    sides = []
    for rate, normal in zip(rates, (first, second), strict=True):
        chance = np.full(_DRAWN_TASKS, rate)
        if icc > 0:
            spread, grid = 1 / icc - 1, np.linspace(-6, 6, 2_001)  # quantiles are slow, so most are interpolated
            quantiles = special.betaincinv(rate * spread, (1 - rate) * spread, special.ndtr(grid))
            chance = np.interp(normal, grid, quantiles)
        sides.append(random.binomial(attempts, np.clip(chance, 0.0, 1.0)) / attempts)
    quantum = quantum_of([attempts], [attempts])
    drawn = DifferenceDistribution.of_values(sides[1] - sides[0], quantum=quantum)
    return drawn.with_mean(rates[1] - rates[0])


def _check_effect(effect: float, span: float) -> None:
    if not 0 < effect < span:
        raise UsageError(f"effect size must be above 0 and below {span:g} (got {effect:g})")


def paired_power(difference: float, std_dev: float, tasks: float, *, level: float = LEVEL) -> float:
    """Return the power of a paired t test over `tasks` tasks for a true difference of this size.

    `std_dev` is the standard deviation of the differences over tasks.
    """
    degrees = tasks - 1
    critical = float(student_quantile(level, degrees))
    shift = abs(difference) / std_dev * math.sqrt(tasks)
    missed = special.nctdtr(degrees, shift, [critical, -critical])
    # far out in a tail the noncentral t has no digits left: there the chance is 0 or 1
    upper = float(missed[0]) if not math.isnan(missed[0]) else float(shift < critical)
    lower = float(missed[1]) if not math.isnan(missed[1]) else 0.0
    return 1 - upper + lower


def tasks_needed(difference: float, std_dev: float, *, level: float = LEVEL, power: float = POWER) -> int | None:
    """Tasks with which a true difference of this size is shown with the given chance; None when none would do.

    >>> tasks_needed(0.05, 0.2)  # 127.5 rounded up
    128
    """
    if difference == 0 or std_dev <= 0:
        return None
    few, many = 2, 2
    while paired_power(difference, std_dev, many, level=level) < power:
        few, many = many, many * 2
        if many > MAX_TASKS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        if paired_power(difference, std_dev, middle, level=level) < power:
            few = middle
        else:
            many = middle
    return many


def minimum_detectable_effect(
    tasks: int, std_dev: float, *, level: float = LEVEL, power: float = POWER
) -> float | None:
    """Return the smallest true difference detected with the given power; None below two tasks.

    >>> round(minimum_detectable_effect(128, 0.2), 3)
    0.05
    """
    if tasks < 2 or std_dev <= 0:
        return None
    unit = std_dev / math.sqrt(tasks)
    far = 4.0
    while paired_power(far * unit, std_dev, tasks, level=level) < power:
        far *= 2
    smallest = optimize.brentq(
        lambda size: paired_power(size * unit, std_dev, tasks, level=level) - power, 1e-9, far, xtol=1e-12
    )
    return float(smallest) * unit
