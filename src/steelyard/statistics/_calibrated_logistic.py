"""Probability of correctness from labeled examples: calibrated logistic regression.

Regularized (ridge) on standardized features, so that coefficients compare. All its diagnostics come
from predictions of groups (tasks) that were left out of the fit, and so does the calibration (Platt 1999): a second
logistic regression, on the left-out predictions, which takes back confidence that does not carry over to new tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.statistics._estimates import Floats, Ints
from steelyard.statistics._proportions import wilson

FOLDS = 5
PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
BINS = 10
STEPS = 50
TOLERANCE = 1e-8
RECORD_WEIGHT = 5.0
"""A record of this many examples counts as much as what it is shrunk toward."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """What is known of each example."""

    features: Floats
    """One row an example; NaN where a feature is not known."""
    tools: Ints
    """Tool that made it, by number from 0; -1 for a tool without a record."""
    kinds: Ints
    """What it is alike to, by number from 0."""
    groups: Ints
    """What is left out together."""
    tool_count: int
    kind_count: int


class ReliabilityBin:
    """Examples of about the same predicted chance."""

    __slots__ = ("high", "low", "n", "predicted", "rate", "rate_high", "rate_low")

    def __init__(self, predicted: Floats, right: Floats) -> None:
        share = wilson(int(right.sum()), len(right))
        self.n = len(right)
        self.low, self.high = float(predicted.min()), float(predicted.max())
        self.predicted, self.rate = float(predicted.mean()), float(right.mean())
        self.rate_low, self.rate_high = share.low or 0.0, 1.0 if share.high is None else share.high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """How often each tool was right, as logits by tool and kind: shrunk toward its record on all kinds."""

    by_kind: Floats
    of_all: float

    def of(self, tools: Ints, kinds: Ints) -> Floats:
        """The records of these tools on these kinds."""
        known = tools >= 0
        if not len(self.by_kind):
            return np.full(len(tools), self.of_all)
        return np.where(known, self.by_kind[np.where(known, tools, 0), kinds], self.of_all)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedLogistic:
    """The model with its left-out figures."""

    n: int
    right: float
    """The fraction of examples that are right."""
    center: Floats
    scale: Floats
    """Mean and deviation of each feature, the tool's record last."""
    coefficients: Floats
    """Change of the logit for one deviation of each feature, the tool's record last; calibrated."""
    intercept: float
    penalty: float
    records: Records
    brier: float
    """Mean squared difference of left-out chance and outcome."""
    brier_of_base: float
    """The same for a chance that is always the fraction of right examples among the others."""
    calibration_error: float
    """Expected calibration error: the mean gap of chance and share over bins of as many examples each."""
    bins: tuple[ReliabilityBin, ...]
    folds: int

    def parts(self, given: Examples) -> Floats:
        """What each feature adds to the logit of each example."""
        return np.asarray(self.coefficients * _standardized(_with_record(given, self.records), self.center, self.scale))

    def probabilities(self, given: Examples) -> Floats:
        """The chance of each example."""
        return _logistic(self.intercept + self.parts(given).sum(axis=1))


def fit_calibrated_logistic(given: Examples, right: Floats) -> CalibratedLogistic:
    """Fit, cross-validated by group. At least two groups and both outcomes are needed."""
    folds = _folds(given.groups)
    left_out = np.full((len(PENALTIES), len(right)), np.nan)
    base = np.empty(len(right))
    for fold in range(int(folds.max()) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        train, test = _chosen(given, inside), _chosen(given, outside)
        base[outside] = (right[inside].sum() + 1) / (len(inside) + 2)
        design, center, scale = _design(train, right[inside])
        records = _records(train, right[inside])
        applied = _standardized(_with_record(test, records), center, scale)
        for place, beta in enumerate(_path(design, right[inside])):
            left_out[place, outside] = beta[0] + applied @ beta[1:]
    losses = [float(np.mean(np.logaddexp(0, logits) - right * logits)) for logits in left_out]
    best = int(np.argmin(losses))
    shift, slope = _calibration(left_out[best], right)
    probabilities = _logistic(shift + slope * left_out[best])
    design, center, scale = _design(given, right)
    beta = _path(design, right)[best]
    bins = tuple(ReliabilityBin(probabilities[chosen], right[chosen]) for chosen in _equal_parts(probabilities))
    return CalibratedLogistic(
        n=len(right),
        right=float(right.mean()),
        center=center,
        scale=scale,
        coefficients=slope * beta[1:],
        intercept=float(shift + slope * beta[0]),
        penalty=PENALTIES[best],
        records=_records(given, right),
        brier=float(np.mean((probabilities - right) ** 2)),
        brier_of_base=float(np.mean((base - right) ** 2)),
        calibration_error=float(np.sum([part.n * abs(part.predicted - part.rate) for part in bins]) / len(right)),
        bins=bins,
        folds=int(folds.max()) + 1,
    )


def _folds(groups: Ints) -> Ints:
    """Return the cross-validation fold of each example: whole groups, balanced in size."""
    sizes = np.bincount(groups)
    order = np.argsort(-sizes, kind="stable")
    fold = np.empty(len(sizes), dtype=np.int64)
    used = min(FOLDS, int(np.count_nonzero(sizes)))
    fold[order] = np.arange(len(sizes)) % used
    return np.asarray(fold[groups])


def _chosen(given: Examples, rows: Ints) -> Examples:
    return replace(
        given,
        features=given.features[rows],
        tools=given.tools[rows],
        kinds=given.kinds[rows],
        groups=given.groups[rows],
    )


def _records(given: Examples, right: Floats) -> Records:
    """The records, as those meet them who are not among the examples."""
    tools, kinds = given.tool_count, given.kind_count
    known = given.tools >= 0
    keys = given.tools[known] * kinds + given.kinds[known]
    n = np.bincount(keys, minlength=tools * kinds).reshape(tools, kinds)
    won = np.bincount(keys, right[known], minlength=tools * kinds).reshape(tools, kinds)
    base = (right.sum() + 1) / (len(right) + 2)
    of_tool = _shrunk(won.sum(axis=1), n.sum(axis=1), base)
    return Records(by_kind=_logit(_shrunk(won, n, of_tool[:, None])), of_all=float(_logit(base)))


def _own_records(given: Examples, right: Floats) -> Floats:
    """The record of each example's tool without the examples of its own group."""
    tools = given.tools + 1  # those without a record together, at 0
    base = (right.sum() + 1) / (len(right) + 2)

    def without_group(keys: Ints, toward: Floats | float) -> Floats:
        of_pair = np.unique(keys * (int(given.groups.max()) + 1) + given.groups, return_inverse=True)[1]
        won, n = (
            np.bincount(keys, values)[keys] - np.bincount(of_pair, values)[of_pair]
            for values in (right, np.ones(len(right)))
        )
        return _shrunk(won, n, toward)

    found = _logit(without_group(tools * given.kind_count + given.kinds, without_group(tools, base)))
    return np.where(given.tools >= 0, found, _logit(base))


def _shrunk(won: Floats | Ints, n: Floats | Ints, toward: Floats | float) -> Floats:
    return np.asarray((won + RECORD_WEIGHT * toward) / (n + RECORD_WEIGHT))


def _with_record(given: Examples, records: Records) -> Floats:
    return np.column_stack([given.features, records.of(given.tools, given.kinds)])


def _design(given: Examples, right: Floats) -> tuple[Floats, Floats, Floats]:
    """The standardized features for a fit, and what they were standardized by."""
    whole = np.column_stack([given.features, _own_records(given, right)])
    known = np.isfinite(whole)
    counts = np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, whole, 0)
    center = filled.sum(axis=0) / counts
    scale = np.sqrt(np.where(known, (whole - center) ** 2, 0).sum(axis=0) / counts)
    scale = np.where(scale > 1e-9, scale, 1)  # constant features
    return _standardized(whole, center, scale), center, scale


def _standardized(whole: Floats, center: Floats, scale: Floats) -> Floats:
    """Impute missing features by the mean."""
    return np.where(np.isfinite(whole), (whole - center) / scale, 0).clip(-5, 5)


def _path(design: Floats, right: Floats) -> list[Floats]:
    """The coefficients for each penalty, the intercept first and free of it."""
    columns = np.column_stack([np.ones(len(design)), design])
    beta = np.zeros(columns.shape[1])
    beta[0] = _logit((right.sum() + 1) / (len(right) + 2))
    found: dict[float, Floats] = {}
    for penalty in sorted(PENALTIES, reverse=True):
        ridge = np.full(len(beta), penalty)
        ridge[0] = 1e-6
        beta = _newton(columns, right, beta, ridge)
        found[penalty] = beta
    return [found[penalty] for penalty in PENALTIES]


def _newton(columns: Floats, right: Floats, beta: Floats, ridge: Floats) -> Floats:
    for _ in range(STEPS):
        chance = _logistic(columns @ beta)
        weight = np.maximum(chance * (1 - chance), 1e-9)
        curvature = (columns * weight[:, None]).T @ columns + np.diag(ridge)
        change = np.linalg.solve(curvature, columns.T @ (right - chance) - ridge * beta).clip(-2, 2)
        beta = beta + change
        if np.max(np.abs(change)) < TOLERANCE:
            break
    return beta


def _calibration(logits: Floats, right: Floats) -> tuple[float, float]:
    """Return shift and slope of the logits; the slope is never negative, and shrunk with few examples."""
    columns = np.column_stack([np.ones(len(logits)), logits])
    shift, slope = _newton(columns, right, np.array([0.0, 1.0]), np.array([1e-6, 1.0]))
    if slope <= 0:
        return float(_logit((right.sum() + 1) / (len(right) + 2))), 0.0
    return float(shift), float(slope)


def _equal_parts(probabilities: Floats) -> list[Ints]:
    order = np.argsort(probabilities, kind="stable")
    return list(np.array_split(order, min(BINS, len(order))))


def _logistic(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -35, 35))))


def _logit(share: Floats | float) -> Floats:
    return np.asarray(np.log(share) - np.log1p(-np.asarray(share)))
