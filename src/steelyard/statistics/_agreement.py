"""Agreement and severity of raters: Krippendorff's alpha, Cohen's and Fleiss' kappa, and an additive two-way model.

Ratings come as a table, one row per unit that was judged and one column per judge, NaN where a judge did not judge it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import structs
from scipy import sparse, special

from steelyard.statistics._estimates import LEVEL, Floats, Interval, Ints, check_level, no_interval
from steelyard.statistics._means import clustered, codes_of, student_quantile
from steelyard.statistics._p_values import holm
from steelyard.statistics._paired import paired_plus_two

FEW_CLUSTERS = 10
"""With fewer tasks a variance of 0 may be due to chance."""

Scale = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What alpha is made of, added up over units: disagreement seen, and what chance would give."""

    seen: float
    expected: float

    @property
    def alpha(self) -> float | None:
        return 1 - self.seen / self.expected if self.expected > 0 else None


def _table(table: Floats, labels: Ints) -> tuple[Floats, Ints]:
    # a unit with one rating has no pair to agree; the order of rows must not move the last bit
    kept = np.count_nonzero(~np.isnan(table), axis=1) >= 2
    ordered, groups = np.sort(table[kept], axis=1), labels[kept]
    order = np.lexsort((groups, *ordered.T)) if len(ordered) else np.empty(0, dtype=np.int64)
    return ordered[order], groups[order]


def _value_counts(table: Floats) -> tuple[Floats, Floats]:
    values = np.unique(table[~np.isnan(table)])
    return values, np.stack([(table == value).sum(axis=1) for value in values], axis=1).astype(float)


def _distances(values: Floats, margins: Floats, scale: Scale) -> Floats:
    if scale == "nominal":
        return np.asarray(values[:, None] != values[None, :], dtype=float)
    if scale == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2, dtype=float)
    # ordinal: how many ratings are between two values, the ends counted half
    middle = np.cumsum(margins) - margins / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2, dtype=float)


def _pieces(table: Floats, scale: Scale) -> _Pieces:
    if scale == "interval":
        return _interval_pieces(table)
    values, counts = _value_counts(table)
    margins, sizes = counts.sum(axis=0), counts.sum(axis=1)
    distance = _distances(values, margins, scale)
    # nominal and ordinal distances are 0 between equal values, so pairs of a rating with itself add nothing
    seen = float(np.sum(np.einsum("ui,ij,uj->u", counts, distance, counts) / (sizes - 1)))
    total = float(margins.sum())
    return _Pieces(seen / total, float(margins @ distance @ margins) / (total * (total - 1)))


def _interval_pieces(table: Floats) -> _Pieces:
    known = ~np.isnan(table)
    sizes = known.sum(axis=1)
    centered = np.where(known, table - np.nanmean(table), 0.0)
    sums, squares = centered.sum(axis=1), (centered**2).sum(axis=1)
    total = float(sizes.sum())
    seen = float(np.sum(2 * (sizes * squares - sums**2) / (sizes - 1))) / total
    expected = 2 * (total * float(squares.sum()) - float(sums.sum()) ** 2) / (total * (total - 1))
    return _Pieces(seen, expected if np.nanmax(table) > np.nanmin(table) else 0.0)


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    scale: Scale = "interval",
    level: float = LEVEL,
) -> Interval:
    """Agreement beyond chance, 1 for full agreement and 0 for chance (Krippendorff 2011); judges may skip units.

    The interval adds four added units and leaves out one cluster of units (a task; without `clusters`, one unit) at a
    time: jackknife with Student's t. Without the four, rare verdicts and few units promise too much.
    """
    method = f"krippendorff-{scale}, jackknife+4"
    given = np.asarray(ratings, dtype=float)
    table, groups = _table(given, np.arange(len(given)) if clusters is None else codes_of(clusters))
    if clusters is None:
        groups = np.arange(len(table))
    units = len(np.unique(groups))
    if len(table) == 0:
        return no_interval("no unit has two ratings", method=method, n=0, clusters=0, level=level)
    n = int(np.count_nonzero(~np.isnan(table)))
    alpha = _pieces(table, scale).alpha
    if alpha is None:
        reason = "all ratings are equal, so agreement is undefined"
        return no_interval(reason, method=method, n=n, clusters=units, level=level)
    if units < 3:
        what = "judged run" if clusters is None else "task"
        reason = f"{units} {what}{'s' if units != 1 else ''}; an interval needs at least three"
        return no_interval(reason, method=method, n=n, clusters=units, level=level, estimate=alpha)
    widened = np.vstack([table, _made_up(table, scale)])
    apart = np.concatenate([codes_of(groups), units + np.arange(4)])
    center = _pieces(widened, scale).alpha
    limits = _jackknife(center, _left_out(widened, apart, scale), level=level) if center is not None else None
    if limits is None or not limits[0] <= alpha <= limits[1]:
        reason = "all units agree equally, so the variance cannot be estimated"
        return no_interval(reason, method=method, n=n, clusters=units, level=level, estimate=alpha)
    return Interval(estimate=alpha, low=limits[0], high=limits[1], method=method, n=n, clusters=units, confidence=level)


def _made_up(table: Floats, scale: Scale) -> Floats:
    """Four units that units like the others could have been: two on which all judges agree, two that divide them.

    Of verdicts, they have the two most frequent. Of scores, agreement is two standard deviations from the mean, and
    the two sides between a deviation within units and one of all scores (chosen by simulation, docs/statistics.md).
    """
    sizes = np.count_nonzero(~np.isnan(table), axis=1)
    judges = int(np.rint(sizes.mean()))
    if scale == "interval":
        mean, deviation = float(np.nanmean(table)), float(np.nanstd(table))
        within = math.sqrt(float(np.mean(np.nanvar(table, axis=1) * sizes / (sizes - 1))))
        half = math.sqrt(3 * within * deviation)
        ends, sides = (mean - 2 * deviation, mean + 2 * deviation), (mean - half, mean + half)
    else:
        values, counts = _value_counts(table)
        first, second = np.argsort(-counts.sum(axis=0), kind="stable")[:2]
        ends = sides = float(values[first]), float(values[second])
    units = np.full((4, table.shape[1]), np.nan)
    units[0, :judges], units[1, :judges] = ends
    for unit, (one_side, other_side) in ((2, sides), (3, sides[::-1])):
        units[unit, : judges // 2], units[unit, judges // 2 : judges] = one_side, other_side
    return units


def _left_out(table: Floats, groups: Ints, scale: Scale) -> list[float | None]:
    codes = codes_of(groups)
    if scale == "nominal":
        return _left_out_nominal(table, codes)
    if scale == "ordinal":
        return [_pieces(table[codes != group], scale).alpha for group in range(int(codes.max()) + 1)]
    known = ~np.isnan(table)
    sizes = known.sum(axis=1).astype(float)
    centered = np.where(known, table - np.nanmean(table), 0.0)
    sums, squares = centered.sum(axis=1), (centered**2).sum(axis=1)
    within = 2 * (sizes * squares - sums**2) / (sizes - 1)
    parts = [np.bincount(codes, weights=part) for part in (sizes, sums, squares, within)]
    total, added, squared, seen = (part.sum() - part for part in parts)
    apart = total * squared - added**2
    expected = 2 * apart / np.maximum(total * (total - 1), 1.0)
    usable = apart > 1e-12 * total * squared  # what remains of equal ratings is rounding
    alphas = 1 - seen / np.maximum(total, 1.0) / np.where(usable, expected, 1.0)
    return [float(alpha) if good else None for alpha, good in zip(alphas, usable, strict=True)]


def _left_out_nominal(table: Floats, codes: Ints) -> list[float | None]:
    _, counts = _value_counts(table)
    sizes = counts.sum(axis=1)
    seen = (sizes**2 - np.sum(counts**2, axis=1)) / (sizes - 1)
    seen_rest = seen.sum() - np.bincount(codes, weights=seen)
    own = np.stack([np.bincount(codes, weights=column) for column in counts.T], axis=1)
    margins = own.sum(axis=0) - own
    total = margins.sum(axis=1)
    expected = (total**2 - np.sum(margins**2, axis=1)) / np.maximum(total - 1, 1.0)
    usable = expected > 0
    alphas = 1 - seen_rest / np.where(usable, expected, 1.0)
    return [float(alpha) if good else None for alpha, good in zip(alphas, usable, strict=True)]


def _jackknife(center: float, left_out: list[float | None], *, level: float) -> tuple[float, float] | None:
    units = len(left_out)
    values = np.sort(np.array([value for value in left_out if value is not None], dtype=float))
    error = math.sqrt((units - 1) / units * float(np.sum((values - values.mean()) ** 2)))
    if len(values) < units or error <= 1e-12:
        return None
    half = float(student_quantile(level, units - 1)) * error
    return center - half, min(center + half, 1.0)


def cohens_kappa(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Agreement of two judges beyond chance, on units both judged (Cohen 1960); None when chance alone explains all.

    >>> round(cohens_kappa([1, 1, 0, 0], [1, 0, 0, 0]), 3)  # seen 3/4, by chance 1/2
    0.5
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    if not len(a):
        return None
    seen = float(np.mean(a == b))
    chance = 0.0
    for value in np.unique([a, b]):  # not `sum`, whose last digits depend on the Python
        chance += float(np.mean(a == value)) * float(np.mean(b == value))
    return (seen - chance) / (1 - chance) if chance < 1 else None


def fleiss_kappa(ratings: npt.ArrayLike) -> float | None:
    """Agreement of any number of judges beyond chance, on units that all judged (Fleiss 1971).

    None when fewer than two judged every unit, or when there is only one verdict.
    """
    table = np.asarray(ratings, dtype=float)
    whole = table[~np.isnan(table).any(axis=1)]
    if not len(whole) or whole.shape[1] < 2:
        return None
    _, counts = _value_counts(whole)
    judges = whole.shape[1]
    seen = float(np.mean((np.sum(counts**2, axis=1) - judges) / (judges * (judges - 1))))
    chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    return (seen - chance) / (1 - chance) if chance < 1 else None


def severity(ratings: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL) -> list[Interval]:
    """Return, for each judge, its scores minus the mean of the others on the same units; below 0 is strict.

    The interval keeps units of one cluster (task) together. Few clusters with identical values have none: their
    variance of 0 would promise more than they can.
    """
    table = np.asarray(ratings, dtype=float)
    labels = codes_of(clusters)
    intervals = []
    for judge in range(table.shape[1]):
        others = np.delete(table, judge, axis=1)
        counted = np.count_nonzero(~np.isnan(others), axis=1)
        used = ~np.isnan(table[:, judge]) & (counted > 0)
        rest = np.nansum(np.sort(others[used], axis=1), axis=1) / counted[used]
        intervals.append(_not_too_sure(clustered(table[used, judge] - rest, labels[used], level=level)))
    return intervals


def _not_too_sure(interval: Interval) -> Interval:
    """Return the interval; if all tasks are equal, with two pseudo-observations, or none for few tasks."""
    if interval.low is None or interval.high is None or interval.high - interval.low > 1e-12:
        return interval
    if interval.clusters >= FEW_CLUSTERS:
        widened = paired_plus_two(np.full(interval.clusters, interval.estimate), level=interval.confidence)
        return structs.replace(widened, estimate=interval.estimate, n=interval.n)
    reason = f"all {interval.clusters} tasks agree exactly, so the variance cannot be estimated"
    return structs.replace(interval, low=None, high=None, reason=reason)


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
            method="two-way",
            n=n,
            clusters=n,
            confidence=self.level,
            reason=reason,
        )


def two_way(units: Ints, raters: Ints, scores: Floats, *, level: float = LEVEL) -> TwoWay:
    """The model for ratings of units by raters, both as codes from 0 on, of which each occurs.

    A rating is quality + severity + chance. Least squares over all ratings gives both, each with its standard error by
    Student's t (Scheffe 1959, unbalanced two-way layout without interaction). Severity sums to 0 over raters that
    common submissions connect; between groups that none connects, nothing can be compared.

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
