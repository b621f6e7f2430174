"""Statistics of judges: agreement, severity, recomputed scores, contradictory votes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from steelyard.errors import InputError
from steelyard.questions.judges._answer import Agreement, JudgePair, JudgeRecord, Judges, ScoreRange
from steelyard.records import Finding, one_a_kind
from steelyard.statistics import (
    LEVEL,
    Floats,
    Interval,
    Scale,
    clopper_pearson,
    cohens_kappa,
    exact_means,
    fleiss_kappa,
    kendall_tau,
    krippendorff_alpha,
    kruskal_wallis,
    mean_of,
    severity,
    spearman_rho,
)

MAX_JUDGES = 200
"""How many judges can be compared; more are a mistake in the names."""

SCORE_RANGES = 10
"""Into how many equal ranges scores are put to compare them with verdicts."""


@dataclass(frozen=True, slots=True)
class Rating:
    """Rating of one run by one judge."""

    judge: str
    score: float
    stated: float | None
    recomputed: float | None
    passed: bool | None


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with its ratings."""

    run: str
    task: str
    group: tuple[str | None, ...]
    """Its values of the keys that groups are made by."""
    ratings: tuple[Rating, ...]
    passed: bool | None = None
    """Its verdict; None without one."""


def examine(
    runs: Sequence[JudgedRun],
    *,
    by: Sequence[str],
    threshold: float,
    tolerance: float,
    profile: str,
    level: float = LEVEL,
    findings: Sequence[Finding] = (),
    rejected_count: int = 0,
) -> Judges:
    """Return all statistics of the judges of these runs; a unit is a run, runs of a task stay together."""
    ordered = sorted(runs, key=lambda judged_run: (judged_run.task, judged_run.run))
    names = sorted({rating.judge for judged_run in ordered for rating in judged_run.ratings})
    if len(names) > MAX_JUDGES:
        raise InputError(f"too many judges: {len(names):,} (at most {MAX_JUDGES})")
    scores, votes = _tables(ordered, names)
    place = {task: index for index, task in enumerate(dict.fromkeys(judged_run.task for judged_run in ordered))}
    codes = np.array([place[judged_run.task] for judged_run in ordered], dtype=np.int64)
    ends = np.cumsum(np.bincount(codes))
    # runs are ordered by task, so each task is a slice
    tasks = {
        task: _agreement(scores[start:end], votes[start:end], None, level)
        for task, start, end in zip(place, [0, *ends[:-1].tolist()], ends.tolist(), strict=True)
    }
    contradictions, against = _contradictions(ordered, threshold)
    rows, columns = np.nonzero(~np.isnan(scores))
    means = exact_means(scores[rows, columns], rows, len(ordered))
    return Judges(
        profile=profile,
        runs=len(ordered),
        confidence=level,
        pass_threshold=threshold,
        score_tolerance=tolerance,
        by=tuple(by),
        overall=_agreement(scores, votes, codes, level),
        tasks=tasks,
        judges=_records(ordered, names, scores, codes, against, tolerance=tolerance, level=level),
        pairs=tuple(_pairs(names, scores, votes)),
        kruskal_wallis=kruskal_wallis(means, [judged_run.group for judged_run in ordered]),
        calibration=_calibration(ordered, means, level),
        gold_source=None,
        pass_rates=(),
        findings=one_a_kind([*contradictions, *findings]),
        rejected_count=rejected_count,
    )


def _pairs(names: Sequence[str], scores: Floats, votes: Floats) -> Iterator[JudgePair]:
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        both = ~np.isnan(scores[:, i]) & ~np.isnan(scores[:, j])
        scored = {first: scores[both, i], second: scores[both, j]}
        constant = [name for name, given in scored.items() if len(given) and given.min() == given.max()]
        reason = None
        if np.count_nonzero(both) < 2:
            reason = "fewer than two runs scored by both"
        elif constant:
            reason = f"{constant[0]} gave all of these runs the same score"
        yield JudgePair(
            judge=first,
            other_judge=second,
            cohens_kappa=cohens_kappa(votes[:, i], votes[:, j]),
            runs_voted=int(np.count_nonzero(~np.isnan(votes[:, i]) & ~np.isnan(votes[:, j]))),
            spearman=spearman_rho(*scored.values()) if reason is None else None,
            kendall_tau_b=kendall_tau(*scored.values()) if reason is None else None,
            runs_scored=int(np.count_nonzero(both)),
            reason=reason,
        )


def _calibration(runs: Sequence[JudgedRun], means: Floats, level: float) -> tuple[ScoreRange, ...]:
    """Return the pass rates of the runs in ten equal ranges of their mean score; a score of 1 is in the last."""
    verdicts = np.array([np.nan if each.passed is None else float(each.passed) for each in runs])
    usable = ~np.isnan(means) & ~np.isnan(verdicts) & (means >= 0) & (means <= 1)
    places = np.minimum((means[usable] * SCORE_RANGES).astype(np.int64), SCORE_RANGES - 1)
    ranges = []
    for place in np.unique(places).tolist():
        inside = places == place
        passed = int(verdicts[usable][inside].sum())
        rate = clopper_pearson(passed, int(inside.sum()), level=level)
        low, high = place / SCORE_RANGES, (place + 1) / SCORE_RANGES
        score = mean_of(np.sort(means[usable][inside]))
        ranges.append(ScoreRange(low=low, high=high, mean_score=score, pass_rate=rate))
    return tuple(ranges)


def _tables(runs: Sequence[JudgedRun], names: Sequence[str]) -> tuple[Floats, Floats]:
    """Scores and votes, one row a run and one column a judge, NaN where there is none."""
    place = {name: index for index, name in enumerate(names)}
    scores = np.full((len(runs), len(names)), np.nan)
    votes = np.full((len(runs), len(names)), np.nan)
    for row, judged_run in enumerate(runs):
        for rating in judged_run.ratings:
            scores[row, place[rating.judge]] = rating.score
            if rating.passed is not None:
                votes[row, place[rating.judge]] = float(rating.passed)
    return scores, votes


def _agreement(scores: Floats, votes: Floats, clusters: np.ndarray | None, level: float) -> Agreement:
    voted = np.count_nonzero(~np.isnan(votes), axis=1) >= 2
    passes = np.nansum(votes, axis=1)
    counts = np.count_nonzero(~np.isnan(votes), axis=1)
    return Agreement(
        runs=int(np.count_nonzero(np.count_nonzero(~np.isnan(scores), axis=1) >= 2)),
        alpha_scores=_alpha(scores, clusters, scale="interval", level=level),
        alpha_votes=_alpha(votes, clusters, scale="nominal", level=level),
        fleiss_kappa=fleiss_kappa(votes),
        split_votes=int(np.count_nonzero(voted & (passes > 0) & (passes < counts))),
        voted=int(np.count_nonzero(voted)),
    )


def _alpha(ratings: Floats, clusters: np.ndarray | None, *, scale: Scale, level: float) -> Interval:
    """Krippendorff's alpha of two judged runs or more: of one it is 0 by definition, whatever the ratings."""
    alpha = krippendorff_alpha(ratings, clusters, scale=scale, level=level)
    if np.count_nonzero(np.count_nonzero(~np.isnan(ratings), axis=1) >= 2) != 1:
        return alpha
    reason = "agreement needs at least two judged runs"
    return structs.replace(alpha, estimate=None, low=None, high=None, reason=reason)


def _records(
    runs: Sequence[JudgedRun],
    names: Sequence[str],
    scores: Floats,
    codes: np.ndarray,
    against: dict[str, int],
    *,
    tolerance: float,
    level: float,
) -> dict[str, JudgeRecord]:
    severities = severity(scores, codes, level=level)
    gaps: dict[str, list[float]] = {name: [] for name in names}
    for judged_run in runs:
        for rating in judged_run.ratings:
            if rating.stated is not None and rating.recomputed is not None:
                gaps[rating.judge].append(rating.stated - rating.recomputed)
    records = {}
    groups = [judged_run.group for judged_run in runs]
    for place, name in enumerate(names):
        own = np.sort(np.array(gaps[name]))
        given = np.sort(scores[~np.isnan(scores[:, place]), place])
        records[name] = JudgeRecord(
            runs=len(given),
            mean_score=mean_of(given),
            severity=severities[place],
            checked=len(own),
            mean_error=mean_of(own) if len(own) else None,
            max_error=float(np.abs(own).max()) if len(own) else None,
            # 0.86 - 0.85 is a little more than 0.01 in binary
            differing=int(np.count_nonzero(np.abs(own) > tolerance + 1e-12)),
            contradictions=against.get(name, 0),
            kruskal_wallis=kruskal_wallis(scores[:, place], groups),
            accuracy=None,
        )
    return records


def _contradictions(runs: Sequence[JudgedRun], threshold: float) -> tuple[list[Finding], dict[str, int]]:
    """Votes against the judge's own score, and how many there are for each judge."""
    findings: list[Finding] = []
    counted: dict[str, int] = {}
    for judged_run in runs:
        for rating in judged_run.ratings:
            if rating.passed is None or rating.passed == (rating.score >= threshold):
                continue
            counted[rating.judge] = counted.get(rating.judge, 0) + 1
            vote = "pass" if rating.passed else "fail"
            message = f"{rating.judge} voted {vote} with a score of {rating.score:g} (pass threshold {threshold:g})"
            findings.append(Finding(code="judge_contradiction", message=message, where=f"run {judged_run.run}"))
    return findings, counted
