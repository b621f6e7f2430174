"""Additive two-way model of ratings: quality of submissions and severity of raters.

A rating is quality + severity + chance. Least squares over all ratings gives both, each with its standard error by
Student's t (Scheffe 1959, unbalanced two-way layout without interaction). Severity sums to 0 over raters that common
submissions connect; between groups that none connects, nothing can be compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._interval import Floats, Ints, check_level
from steelyard.statistics._means import student_quantile
from steelyard.statistics._multiplicity import holm

METHOD = "two-way"
UNITS_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWay:
    """Qualities of units and severity of raters; every array is in the order of the codes."""

    quality: Floats
    """What each unit would get from raters of mean severity."""
    quality_error: Floats
    """Its standard error; NaN without a standard deviation."""
    severity: Floats
    """How far each rater rates below (positive) or above (negative) the mean of the raters of its group."""
    severity_error: Floats
    residuals: Floats
    """What each rating deviates by from quality minus severity."""
    std_dev: float | None
    """The standard deviation of chance; None without degrees of freedom."""
    freedom: int
    """Degrees of freedom: ratings less what was estimated from them."""
    group: Ints
    """For each rater, the group that common submissions connect; groups are numbered by their first rater."""
    level: float

    def quality_interval(self, unit: int, n: int) -> Interval:
        """The quality of a unit that has n ratings."""
        return self._interval(float(self.quality[unit]), float(self.quality_error[unit]), n)

    def severity_interval(self, rater: int, n: int) -> Interval:
        """The severity of a rater with n ratings."""
        alone = int(np.count_nonzero(self.group == self.group[rater])) == 1
        reason = "no other reviewer rated the same submissions" if alone else None
        return self._interval(float(self.severity[rater]), float(self.severity_error[rater]), n, reason)

    def _interval(self, estimate: float, error: float, n: int, reason: str | None = None) -> Interval:
        if reason is None and (self.freedom < 1 or not math.isfinite(error)):
            reason = "fewer ratings than parameters"
        margin = None if reason else float(student_quantile(self.level, self.freedom)) * error
        return Interval(
            estimate=estimate,
            low=None if margin is None else estimate - margin,
            high=None if margin is None else estimate + margin,
            method=METHOD,
            n=n,
            clusters=n,
            confidence=self.level,
            reason=reason,
        )


def two_way(units: Ints, raters: Ints, scores: Floats, *, level: float = LEVEL) -> TwoWay:
    """The model for ratings of units by raters, both as codes from 0 on, of which each occurs.

    >>> fit = two_way(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([60.0, 70.0, 80.0, 90.0]))
    >>> fit.quality.tolist(), fit.severity.tolist()
    ([65.0, 85.0], [5.0, -5.0])
    """
    check_level(level)
    counted, rated = np.bincount(units), np.bincount(raters)
    means = np.bincount(units, scores) / counted
    # The submissions are eliminated: what is left is the Laplacian of the raters, joined by common submissions.
    shape = (len(rated), len(counted))
    shares = sparse.csc_array((np.ones(len(scores)), (raters, units)), shape=shape)
    weights = sparse.csc_array((1 / counted[units], (raters, units)), shape=shape)  # of each rater in a unit's mean
    joined = np.diag(rated.astype(float)) - (weights @ shares.T).toarray()
    group = _groups(joined)
    inverse = _inverse(joined, group)
    lenience = inverse @ (np.bincount(raters, scores) - shares @ means)
    quality = means - weights.T @ lenience
    residuals = scores - quality[units] - lenience[raters]
    freedom = len(scores) - len(counted) - len(rated) + int(group.max()) + 1
    std_dev = math.sqrt(float(residuals @ residuals) / freedom) if freedom > 0 else None
    unknown = math.nan if std_dev is None else std_dev
    return TwoWay(
        quality=quality,
        quality_error=unknown * np.sqrt(1 / counted + _variances(weights, inverse)),
        severity=-lenience + 0.0,  # no -0.0
        severity_error=unknown * np.sqrt(np.clip(np.diag(inverse), 0, None)),
        residuals=residuals,
        std_dev=std_dev,
        freedom=max(freedom, 0),
        group=group,
        level=level,
    )


def _groups(joined: Floats) -> Ints:
    """For each rater the number of its connected group."""
    group = np.full(len(joined), -1, dtype=np.int64)
    for first in range(len(joined)):
        if group[first] >= 0:
            continue
        number, reached = int(group.max()) + 1, [first]
        while reached:
            rater = reached.pop()
            if group[rater] < 0:
                group[rater] = number
                reached += np.flatnonzero((joined[rater] < 0) & (group < 0)).tolist()
    return group


def _inverse(joined: Floats, group: Ints) -> Floats:
    """The pseudo-inverse of the Laplacian, group by group: constants sum to 0 within each."""
    inverse = np.zeros_like(joined)
    for number in range(int(group.max()) + 1):
        own = np.flatnonzero(group == number)
        part, mean = joined[np.ix_(own, own)], np.full((len(own), len(own)), 1 / len(own))
        inverse[np.ix_(own, own)] = np.linalg.inv(part + mean) - mean
    return inverse


def _variances(weights: sparse.csc_array, inverse: Floats) -> Floats:
    """For each unit, the variance that comes from its raters' severity being estimated."""
    parts = []
    for start in range(0, weights.shape[1], UNITS_AT_ONCE):
        some = weights[:, start : start + UNITS_AT_ONCE].toarray()
        parts.append(np.sum((inverse @ some) * some, axis=0))
    return np.concatenate(parts)


def deviations(fit: TwoWay, raters: Ints, *, level: float = LEVEL) -> list[tuple[str, ...]]:
    """For each rater what is shown against chance: `strict` or `lenient`, and `erratic` where ratings scatter more.

    Severity is tested by Student's t, scatter by the rater's own sum of squared residuals against that of the others
    (F). Both are corrected for the number of raters (Holm), so that with identical raters about one list in
    twenty contains a name.
    """
    if fit.freedom < 1 or not fit.std_dev:
        return [()] * len(fit.severity)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(fit.severity_error > 0, np.abs(fit.severity) / fit.severity_error, 0.0)
    p_strict = holm(2 * special.stdtr(fit.freedom, -ratios))
    squares, total = np.bincount(raters, fit.residuals**2), float(fit.residuals @ fit.residuals)
    own = np.maximum(np.bincount(raters) * fit.freedom / len(raters), 1.0)  # its fraction of the degrees of freedom
    rest = np.maximum(fit.freedom - own, 1.0)
    scatter = (squares / own) / np.maximum((total - squares) / rest, np.finfo(float).tiny)
    p_erratic = holm(special.fdtrc(own, rest, scatter))
    words: list[tuple[str, ...]] = []
    for place, severity in enumerate(fit.severity):
        severities = [("strict" if severity > 0 else "lenient")] if p_strict[place] < 1 - level else []
        words.append((*severities, *(["erratic"] if p_erratic[place] < 1 - level else [])))
    return words
