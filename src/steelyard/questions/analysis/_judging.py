"""Whether judges can be trusted: do they agree, who is strict, do they add up, do they contradict themselves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from steelyard.errors import InputError
from steelyard.records import Finding
from steelyard.results import Agreement, JudgeCorrelation, JudgeRecord, Judges, ScoreRange
from steelyard.statistics import (
    LEVEL,
    Floats,
    Interval,
    KruskalWallis,
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
    return Judges(
        overall=_agreement(scores, votes, codes, level),
        tasks=tasks,
        judges=_records(ordered, names, scores, codes, against, tolerance=tolerance, level=level),
        kappas={
            (names[i], names[j]): (cohens_kappa(votes[:, i], votes[:, j]), _both(votes[:, i], votes[:, j]))
            for i, j in itertools.combinations(range(len(names)), 2)
        },
        correlations=tuple(
            _correlation((names[i], names[j]), scores[:, i], scores[:, j])
            for i, j in itertools.combinations(range(len(names)), 2)
        ),
        by=tuple(by),
        group_tests=_group_tests(ordered, names, scores),
        contradictions=tuple(contradictions),
        runs=len(ordered),
        calibration=_calibration(ordered, scores, level),
        threshold=threshold,
        tolerance=tolerance,
        level=level,
        profile=profile,
        findings=tuple(findings),
        rejected_count=rejected_count,
    )


def _both(first: Floats, second: Floats) -> int:
    return int(np.count_nonzero(~np.isnan(first) & ~np.isnan(second)))


def _correlation(judges: tuple[str, str], first: Floats, second: Floats) -> JudgeCorrelation:
    both = ~np.isnan(first) & ~np.isnan(second)
    runs = int(np.count_nonzero(both))
    if runs < 2:
        reason = "fewer than two runs scored by both"
        return JudgeCorrelation(judges, None, None, runs, reason)
    for judge, scores in zip(judges, (first[both], second[both]), strict=True):
        if scores.min() == scores.max():
            reason = f"{judge} gave all of these runs the same score"
            return JudgeCorrelation(judges, None, None, runs, reason)
    return JudgeCorrelation(
        judges, spearman_rho(first[both], second[both]), kendall_tau(first[both], second[both]), runs
    )


def _group_tests(runs: Sequence[JudgedRun], names: Sequence[str], scores: Floats) -> dict[str | None, KruskalWallis]:
    """Of each judge's scores, and of the mean of each run's scores."""
    groups = [judged_run.group for judged_run in runs]
    rows, columns = np.nonzero(~np.isnan(scores))
    means = exact_means(scores[rows, columns], rows, len(runs))
    tests: dict[str | None, KruskalWallis] = {
        name: kruskal_wallis(scores[:, place], groups) for place, name in enumerate(names)
    }
    return tests | {None: kruskal_wallis(means, groups)}


def _calibration(runs: Sequence[JudgedRun], scores: Floats, level: float) -> tuple[ScoreRange, ...]:
    """Pass rates of the runs in ten equal ranges of their mean score; a score of 1 belongs to the last."""
    rows, columns = np.nonzero(~np.isnan(scores))
    means = exact_means(scores[rows, columns], rows, len(runs))
    verdicts = np.array([np.nan if each.passed is None else float(each.passed) for each in runs])
    usable = ~np.isnan(means) & ~np.isnan(verdicts) & (means >= 0) & (means <= 1)
    places = np.minimum((means[usable] * SCORE_RANGES).astype(np.int64), SCORE_RANGES - 1)
    ranges = []
    for place in np.unique(places).tolist():
        inside = places == place
        passed = int(verdicts[usable][inside].sum())
        rate = clopper_pearson(passed, int(inside.sum()), level=level)
        low, high = place / SCORE_RANGES, (place + 1) / SCORE_RANGES
        ranges.append(ScoreRange(low, high, mean_of(np.sort(means[usable][inside])), rate))
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
        scores=_alpha(scores, clusters, scale="interval", level=level),
        votes=_alpha(votes, clusters, scale="nominal", level=level),
        fleiss=fleiss_kappa(votes),
        split=int(np.count_nonzero(voted & (passes > 0) & (passes < counts))),
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
) -> tuple[JudgeRecord, ...]:
    severities = severity(scores, codes, level=level)
    gaps: dict[str, list[float]] = {name: [] for name in names}
    for judged_run in runs:
        for rating in judged_run.ratings:
            if rating.stated is not None and rating.recomputed is not None:
                gaps[rating.judge].append(rating.stated - rating.recomputed)
    records = []
    for place, name in enumerate(names):
        own = np.sort(np.array(gaps[name]))
        given = np.sort(scores[~np.isnan(scores[:, place]), place])
        records.append(
            JudgeRecord(
                judge=name,
                runs=len(given),
                mean=mean_of(given),
                severity=severities[place],
                checked=len(own),
                mean_error=mean_of(own) if len(own) else None,
                max_error=float(np.abs(own).max()) if len(own) else None,
                # 0.86 - 0.85 is a little more than 0.01 in binary
                differing=int(np.count_nonzero(np.abs(own) > tolerance + 1e-12)),
                contradictions=against.get(name, 0),
            )
        )
    return tuple(records)


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
