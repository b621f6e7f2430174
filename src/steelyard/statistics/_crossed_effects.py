"""Robust additive model with two crossed random effects, with intervals.

A value is a common level, the effect of its first side (a tool), the effect of its second (a task) and an error. Both
sides are random effects whose spreads are learned (empirical Bayes), and Huber's weights (1964) keep a few wild values
from moving them. Repeated values of a pair share what is particular to the pair, so that they count as fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse, special

from steelyard.statistics._estimates import Floats, Ints

HUBER = 1.345
"""Deviations beyond which a value's weight falls: 95% as efficient as least squares on normal errors."""
ROUNDS = 60
SOLVING_ROUNDS = 200
TOLERANCE = 1e-4
"""Of the spreads, which are known to some percent at best."""
PRIOR_EFFECTS = 1.0
"""The spread of a side is learned as if this many effects as large as an error had been seen: that of a few tools
would otherwise fall to 0 by chance now and then, and their intervals with it."""
NORMAL_MAD = 1.4826
FEW_FREEDOM = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossedEffects:
    """Estimates with their standard errors, in the unit of the values."""

    level: float
    """The expected value of an average first side at an average second."""
    first: Floats
    """Effects of the first side; their mean is 0."""
    first_error: Floats
    second: Floats
    """Effects of the second side, shrunk toward 0."""
    second_error: Floats
    second_gap: Floats
    """How much higher each effect of the second side would be were it not shrunk."""
    deviation: float
    """Standard deviation of a single value around what is expected, robust."""
    repeats: float
    """The fraction of the error's variance that repeated values of a pair have in common."""
    low: float
    """With `high`: prediction interval of a new value at the requested level, in deviations of a prediction."""
    high: float
    standardized_residuals: Floats
    """Of each value: how far it is from what all others let expect, in deviations."""

    def expected(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the expected new value of the pair, with its prediction interval."""
        middle = float(self.level + self.first[first] + self.second[second])
        width = float(np.sqrt(self.deviation**2 + self.first_error[first] ** 2 + self.second_error[second] ** 2))
        return middle, middle + self.low * width, middle + self.high * width


class DistinctPairs(NamedTuple):
    """The pairs of two sides that occur, by the first and then by the second."""

    first: Ints
    second: Ints
    of_value: Ints
    """The number of each value's pair."""
    n: Floats
    """How many values each has."""


def distinct_pairs(first: Ints, second: Ints) -> DistinctPairs:
    """The pairs that values with these numbers of their two sides fall into.

    >>> [side.tolist() for side in distinct_pairs(np.array([1, 0, 1]), np.array([2, 5, 2]))]
    [[0, 1], [5, 2], [1, 0, 1], [1.0, 2.0]]
    """
    width = int(second.max()) + 1
    keys, of_value, n = np.unique(first * width + second, return_inverse=True, return_counts=True)
    return DistinctPairs(keys // width, keys % width, of_value, n.astype(float))


@dataclass(slots=True)
class _Pairs:
    """The values by pair."""

    first: Ints
    second: Ints
    of_value: Ints
    n: Floats
    mean: Floats
    within: float
    """Variance of repeated values around their pair's mean; 0 without any."""
    has_repeats: bool


def crossed_effects(first: Ints, second: Ints, values: Floats, *, level: float = 0.95) -> CrossedEffects:
    """Fit the model to values, each given with the numbers of its two sides, which count from 0 without gaps."""
    pairs = _pairs(first, second, values)
    fit = _Fit(pairs)
    fit.run()
    for _ in range(2 if pairs.has_repeats else 0):
        total = _robust_variance(values - fit.fitted()[pairs.of_value])
        fit.have_in_common(float(np.clip(1 - pairs.within / total, 0, 0.95)))
        fit.run()
    return _result(fit, pairs, values, level)


def _pairs(first: Ints, second: Ints, values: Floats) -> _Pairs:
    pairs = distinct_pairs(first, second)
    mean = np.bincount(pairs.of_value, values) / pairs.n
    spare = len(values) - len(pairs.n)
    within = float(np.sum((values - mean[pairs.of_value]) ** 2)) / spare if spare else 0.0
    return _Pairs(*pairs, mean, within, spare >= FEW_FREEDOM)


def _robust_variance(residuals: Floats) -> float:
    """The variance of the bulk: the median of the absolute values, as large as it would be for normal errors."""
    return max((NORMAL_MAD * float(np.median(np.abs(residuals)))) ** 2, 1e-12)


class _Fit:
    """The effects on their way."""

    def __init__(self, pairs: _Pairs) -> None:
        self.pairs = pairs
        self.have_in_common(0.0)
        self.tools, self.tasks = int(pairs.first.max()) + 1, int(pairs.second.max()) + 1
        self.level = float(np.median(pairs.mean))
        self.a, self.d = np.zeros(self.tools), np.zeros(self.tasks)
        self.error = max(float(np.var(pairs.mean)), 1e-6)
        self.spread_a, self.spread_d = self.error, self.error
        self.weights = np.ones(len(pairs.n))

    def have_in_common(self, repeats: float) -> None:
        """Let repeated values of a pair have this fraction of their error's variance in common."""
        self.repeats = repeats
        self.share = repeats + (1 - repeats) / self.pairs.n
        """Variance of a pair's mean, as a fraction of a single value's."""

    def fitted(self) -> Floats:
        """What each pair is expected to be."""
        return np.asarray(self.level + self.a[self.pairs.first] + self.d[self.pairs.second])

    def run(self) -> None:
        """Reweight, solve and learn the spreads until nothing moves."""
        for _ in range(ROUNDS):
            before = np.array([self.level, self.error, self.spread_a, self.spread_d])
            self._solve()
            residuals = self.pairs.mean - self.fitted()
            scaled = residuals / np.sqrt(self.share)
            scale = np.sqrt(_robust_variance(scaled))
            far = np.abs(scaled) / scale
            self.weights = np.minimum(1, HUBER / np.maximum(far, HUBER / 2))
            # the variance that a Huber estimate of these errors has (Huber 1981, 7.6)
            squares = float(np.mean(np.minimum(far, HUBER) ** 2)) * scale**2
            spare = max(1 - (self.tools + self.tasks) / len(far), 0.25) if len(far) > 1 else 1.0
            self.error = max(squares / spare / float(np.mean(far <= HUBER)) ** 2, 1e-9)
            own, other = self.variances()[:2]
            self.spread_a, self.spread_d = self._spread(self.a, own), self._spread(self.d, other)
            after = np.array([self.level, self.error, self.spread_a, self.spread_d])
            if np.all(np.abs(after - before) <= TOLERANCE * (np.abs(before) + np.sqrt(self.error))):
                break

    def _spread(self, effects: Floats, variances: Floats) -> float:
        """The variance of the effects of a side, whose mean is 0."""
        squares = float(np.sum(effects**2 + variances)) + PRIOR_EFFECTS * self.error
        return squares / (len(effects) - 1 + PRIOR_EFFECTS)

    def _solve(self) -> None:
        """The effects at the present weights and spreads, one side after the other."""
        first, second = self.pairs.first, self.pairs.second
        precision = self.weights / (self.error * self.share)
        of_a, of_d = np.bincount(first, precision), np.bincount(second, precision)
        for _ in range(SOLVING_ROUNDS):
            old = self.a
            rest = self.pairs.mean - self.level - self.a[first]
            self.d = np.bincount(second, precision * rest) / (of_d + 1 / self.spread_d)
            self.level += float(np.mean(self.d))
            self.d = self.d - np.mean(self.d)
            rest = self.pairs.mean - self.level - self.d[second]
            self.a = np.bincount(first, precision * rest) / (of_a + 1 / self.spread_a)
            self.level += float(np.mean(self.a))
            self.a = self.a - np.mean(self.a)
            if np.max(np.abs(self.a - old)) <= 0.1 * TOLERANCE * np.sqrt(self.error):
                break

    def variances(self, *, with_shared: bool = False) -> tuple[Floats, Floats, Floats]:
        """Of the first side, of the second, and, if asked for, what both share at each pair."""
        pairs = self.pairs
        precision = 1 / (self.error * self.share)
        of_a = np.bincount(pairs.first, precision) + 1 / self.spread_a
        of_d = np.bincount(pairs.second, precision) + 1 / self.spread_d
        root = precision / np.sqrt(of_d[pairs.second])
        cross = sparse.csr_array((root, (pairs.first, pairs.second)), shape=(self.tools, self.tasks))
        effects = covariance_of_effects(np.asarray(of_a, dtype=np.float64), cross, np.ones((1, self.tools)))
        if not with_shared:
            return effects.own, effects.others / of_d, np.empty(0)
        shared = -effects.along(pairs.first, pairs.second, cross) / np.sqrt(of_d[pairs.second])
        return effects.own, effects.others / of_d, shared


def _result(fit: _Fit, pairs: _Pairs, values: Floats, level: float) -> CrossedEffects:
    own, other, shared = fit.variances(with_shared=True)
    of_fit = np.maximum(own[pairs.first] + other[pairs.second] + 2 * shared, 0)
    # what is expected without the pair itself: its pull on its own expectation taken out
    precision = fit.weights / (fit.error * fit.share)
    pull = np.minimum(precision * of_fit, 0.9)
    without = pairs.mean - (pairs.mean - fit.fitted()) / (1 - pull)
    residuals = values - without[pairs.of_value]
    deviation = np.sqrt(_robust_variance(residuals))
    standardized = residuals / np.sqrt(deviation**2 + (of_fit / (1 - pull))[pairs.of_value])
    low, high = _limits(standardized, level)
    of_d = np.bincount(pairs.second, precision)
    return CrossedEffects(
        level=fit.level,
        first=fit.a,
        first_error=np.sqrt(own),
        second=fit.d,
        second_error=np.sqrt(other),
        second_gap=fit.d / np.maximum(fit.spread_d * of_d, 1e-12),
        deviation=float(deviation),
        repeats=fit.repeats,
        low=low,
        high=high,
        standardized_residuals=standardized,
    )


def _limits(standardized: Floats, level: float) -> tuple[float, float]:
    """Return the prediction interval of a new value at `level`, in deviations.

    A new value is as likely to come in each of the n + 1 gaps between n values; where the tails hold no whole gap,
    Student's t serves, and no observed value is outside.
    """
    tail = (1 - level) / 2
    if tail * (len(standardized) + 1) >= 1:
        low, high = np.quantile(standardized, (tail, 1 - tail), method="weibull").tolist()
        return low, high
    far = float(special.stdtrit(FEW_FREEDOM, 1 - tail))
    return min(-far, float(standardized.min())), max(far, float(standardized.max()))


MAX_JOINT_EFFECTS = 3_000
"""Effects of the first side whose joint information is inverted; it takes some seconds. Above, each is separate."""
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointErrors:
    """Variances on the scale in which each effect of the second side has the variance 1 while the first is known."""

    own: Floats
    """Of the first side."""
    others: Floats
    """Of the second side."""
    pairs: Floats
    """Covariances of the second side's neighbors 0 and 1, 2 and 3, ..."""
    together: Floats | None
    """The first side's whole covariance; None above MAX_JOINT_EFFECTS."""

    def along(self, rows: Ints, columns: Ints, cross: sparse.csr_array) -> Floats:
        """Entries of the first side's covariance times `cross`, which must have them."""
        if self.together is None:
            return np.asarray(self.own[rows] * cross[rows, columns])
        products, by_column = np.empty(len(rows)), cross.tocsc()
        order = np.argsort(columns, kind="stable")
        ends = np.searchsorted(columns[order], np.arange(0, cross.shape[1] + AT_ONCE, AT_ONCE))
        for start, (begin, end) in enumerate(pairwise(ends)):
            chosen = order[begin:end]
            part = self.together @ by_column[:, start * AT_ONCE : (start + 1) * AT_ONCE].toarray()
            products[chosen] = part[rows[chosen], columns[chosen] - start * AT_ONCE]
        return products


def covariance_of_effects(information: Floats, cross: sparse.csr_array, fixed: Floats) -> JointErrors:
    """Invert [[diag(information), cross], [cross', identity]] without ever holding all of it.

    `fixed` has a row for each combination of the first side that is no estimate but a choice of scale, as their mean.
    """
    if len(information) > MAX_JOINT_EFFECTS:
        own = 1 / information
        together = None
    else:
        # a slight addition keeps a matrix invertible in which chance has left a direction open
        schur = np.diag(information * (1 + 1e-9)) - (cross @ cross.T).toarray()
        together = np.asarray(linalg.pinvh(schur) if len(schur) < 3 else _inverse(schur))
        if len(fixed):
            basis = np.asarray(linalg.orth(fixed.T))
            together = together - basis @ (basis.T @ together)
            together = together - (together @ basis) @ basis.T
        own = np.maximum(np.diag(together), 0)
    count = cross.shape[1]
    others, pairs = np.empty(count), np.empty(count // 2)
    columns = cross.tocsc()
    for start in range(0, count, AT_ONCE):
        part = columns[:, start : start + AT_ONCE].toarray()
        spread = own[:, None] * part if together is None else together @ part
        others[start : start + AT_ONCE] = 1 + np.sum(part * spread, axis=0)
        left, right = part[:, 0::2], spread[:, 1::2]
        pairs[start // 2 : start // 2 + right.shape[1]] = np.sum(left[:, : right.shape[1]] * right, axis=0)
    return JointErrors(own=own, others=others, pairs=pairs, together=together)


def _inverse(matrix: Floats) -> Floats:
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(matrix), np.eye(len(matrix))))
    except linalg.LinAlgError:
        return np.asarray(linalg.pinvh(matrix))
