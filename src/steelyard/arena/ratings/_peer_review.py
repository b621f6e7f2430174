"""Ratings adjusted for reviewer severity, inter-rater agreement and deviating reviewers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena, find_task
from steelyard.arena.scoring import read_ratings
from steelyard.records import Finding
from steelyard.results import PeerReview, RatedSubmission, ReviewerEstimate
from steelyard.statistics import TwoWay, deviations, krippendorff_alpha, two_way
from steelyard.store.schema import submissions, tasks


class RatingTable(NamedTuple):
    """Ratings of submissions that count, in an order that does not depend on when they came."""

    submissions: list[tuple[str, str]]
    """The task and the id of each submission, by which its code is its place."""
    keys: list[tuple[int, int]]
    """The task's key and the ordinal of each."""
    reviewers: list[str]
    units: np.ndarray
    raters: np.ndarray
    scores: np.ndarray


def rating_table(connection: Connection, task_key: int | None, criterion: str | None) -> RatingTable:
    """The ratings that hold of a task (of all) on one criterion; None is the submission as a whole."""
    held = [rating for rating in read_ratings(connection, task_key) if rating.criterion == criterion]
    wanted = (
        select(submissions.c.task_key, submissions.c.ordinal, submissions.c.id, tasks.c.id.label("task_id"))
        .join(tasks)
        .where(submissions.c.excluded_at.is_(None))
    )
    if task_key is not None:
        wanted = wanted.where(submissions.c.task_key == task_key)
    rated = {(rating.task_key, rating.ordinal) for rating in held}
    names = {
        (row.task_key, row.ordinal): (row.task_id, row.id)
        for row in connection.execute(wanted)
        if (row.task_key, row.ordinal) in rated
    }
    rows = sorted(
        (names[rating.task_key, rating.ordinal], rating.reviewer, rating.score)
        for rating in held
        if (rating.task_key, rating.ordinal) in names
    )
    units = {name: place for place, name in enumerate(sorted({name for name, _, _ in rows}))}
    raters = {name: place for place, name in enumerate(sorted({reviewer for _, reviewer, _ in rows}))}
    by_name = {name: key for key, name in names.items()}
    return RatingTable(
        list(units),
        [by_name[name] for name in units],
        list(raters),
        np.array([units[name] for name, _, _ in rows], dtype=np.int64),
        np.array([raters[reviewer] for _, reviewer, _ in rows], dtype=np.int64),
        np.array([score for _, _, score in rows], dtype=float),
    )


def peer_review(
    arena: Arena, *, task_id: str | None = None, criterion: str | None = None, confidence: float, unblind: bool = False
) -> PeerReview:
    """The ratings of a task (of all), taken apart; reviewers are blinded unless `unblind` is set."""
    with arena.read() as connection:
        key = None if task_id is None else find_task(connection, task_id, arena.rules).key
        table = rating_table(connection, key, criterion)
    shown: dict[str, Any] = {"task_id": task_id, "criterion": criterion}  # Any: fields of the result
    shown |= {"confidence": confidence, "n": len(table.scores)}
    if not len(table.scores):
        alpha = krippendorff_alpha(np.empty((0, 0)), [], scale="interval", level=confidence)
        return PeerReview(**shown, agreement=alpha.as_dict(), submissions=(), reviewers=(), std_dev=None, findings=())
    fit = two_way(table.units, table.raters, table.scores, level=confidence)
    wide = np.full((len(table.submissions), len(table.reviewers)), np.nan)
    wide[table.units, table.raters] = table.scores
    labels = [task for task, _ in table.submissions] if task_id is None else [name for _, name in table.submissions]
    alpha = krippendorff_alpha(wide, labels, scale="interval", level=confidence)
    return PeerReview(
        **shown,
        agreement=alpha.as_dict(),
        submissions=_submissions(table, fit),
        reviewers=_reviewers(table, fit, unblind=unblind),
        std_dev=fit.std_dev,
        findings=_findings(fit),
    )


def _submissions(table: RatingTable, fit: TwoWay) -> tuple[RatedSubmission, ...]:
    counts = np.bincount(table.units)
    means = np.bincount(table.units, table.scores) / counts
    return tuple(
        RatedSubmission(
            submission_id=name,
            task_id=task,
            ratings=int(counts[place]),
            mean=float(means[place]),
            estimate=interval.estimate,
            low=interval.low,
            high=interval.high,
            reason=interval.reason,
        )
        for place, (task, name) in enumerate(table.submissions)
        for interval in [fit.quality_interval(place, int(counts[place]))]
    )


def _reviewers(table: RatingTable, fit: TwoWay, *, unblind: bool) -> tuple[ReviewerEstimate, ...]:
    counts = Counter(table.raters.tolist())
    made = []
    for place, (name, words) in enumerate(zip(table.reviewers, deviations(fit, table.raters), strict=True)):
        interval = fit.severity_interval(place, counts[place])
        made.append(
            ReviewerEstimate(
                reviewer=name if unblind else blinded_reviewer(name, table.submissions),
                ratings=counts[place],
                severity=interval.estimate,
                low=interval.low,
                high=interval.high,
                reason=interval.reason,
                deviates=words,
                group=int(fit.group[place]) + 1,
            )
        )
    return tuple(made if unblind else sorted(made, key=lambda reviewer: reviewer.reviewer))


def blinded_reviewer(name: str, rated: Sequence[tuple[str, str]]) -> str:
    """What a reviewer is shown as: the same in one answer; what else was rated makes it another in the next round."""
    identity = "\0".join([name, str(len(rated)), *rated[0], *rated[-1]])
    return f"reviewer-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _findings(fit: TwoWay) -> tuple[Finding, ...]:
    groups = int(fit.group.max()) + 1
    if groups == 1:
        return ()
    message = (
        f"{groups} groups of reviewers have no submission in common; severity and estimates are comparable only"
        " within a group"
    )
    return (Finding(code="reviewers_apart", message=message),)
