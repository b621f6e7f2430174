"""Ratings by reviewers: who is to give one, what was given, and what counts of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import insert, select
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena._answer_parts import Assignment
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._parties import check_name, read_parties, teams_of
from steelyard.arena.ingest._reviews import count_ratings, unknown_submission
from steelyard.arena.ingest._tasks import find_task
from steelyard.arena.scoring._review_log import latest_ratings, read_ratings
from steelyard.arena.scoring._rules import Rules
from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.records import Task, is_storable, iso, now_microseconds
from steelyard.store.schema import assignments, ratings, submissions, tasks


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


class Entry(NamedTuple):
    """A submission that is to be rated."""

    submission_id: str
    submitter: str | None
    reviewers: frozenset[str]
    """Who is to rate it already."""


def is_own(reviewer: str, submitter: str | None, teams: Mapping[str, str]) -> bool:
    """Whether a submission is a reviewer's own: submitted by them, or by a member of their team."""
    if submitter is None:
        return False
    team = teams.get(reviewer)
    return reviewer == submitter or (team is not None and team == teams.get(submitter))


def choose_reviewers(
    entries: Sequence[Entry], reviewers: Iterable[str], *, per_submission: int, teams: Mapping[str, str], seed: int
) -> dict[str, list[str]]:
    """Return the additional reviewers of each submission.

    The same seed and the same names give the same, whatever their order: a submission's turn and who comes first among
    reviewers with equally much to do go by a digest of the names.
    """
    pool = sorted(set(reviewers))
    load = dict.fromkeys(pool, 0)
    for entry in entries:
        for reviewer in entry.reviewers & load.keys():
            load[reviewer] += 1
    able = {
        entry.submission_id: [reviewer for reviewer in pool if not is_own(reviewer, entry.submitter, teams)]
        for entry in entries
    }
    for entry in entries:
        whole = entry.reviewers.union(able[entry.submission_id])
        if len(whole) < per_submission:
            message = (
                f"not enough eligible reviewers for {entry.submission_id[:200]!r}: {len(whole)} of {per_submission}"
            )
            raise UsageError(message, hint=f"add reviewers, or reduce {option('per_submission')}")
    turns = sorted(entries, key=lambda entry: _digest(seed, entry.submission_id))
    chosen: dict[str, list[str]] = {entry.submission_id: [] for entry in entries}
    for place in range(per_submission):
        for entry in turns:
            identity = entry.submission_id
            if len(entry.reviewers) + len(chosen[identity]) > place:
                continue
            taken = entry.reviewers.union(chosen[identity])
            free = [reviewer for reviewer in able[identity] if reviewer not in taken]
            reviewer = min(free, key=lambda name: (load[name], _digest(seed, identity, name)))
            chosen[identity].append(reviewer)
            load[reviewer] += 1
    _level(turns, chosen, able, load)
    return chosen


def _level(
    entries: Sequence[Entry], chosen: dict[str, list[str]], able: Mapping[str, list[str]], load: dict[str, int]
) -> None:
    """Hand new work from those with most to those with least while their loads differ by more than one."""
    for entry in entries:
        own = chosen[entry.submission_id]
        for place, giver in enumerate(own):
            taken = entry.reviewers.union(own)
            takers = [name for name in able[entry.submission_id] if name not in taken and load[name] + 1 < load[giver]]
            if takers:
                taker = min(takers, key=lambda name: (load[name], name))
                own[place] = taker
                load[giver] -= 1
                load[taker] += 1


def _digest(seed: int, *names: str) -> str:
    return hashlib.sha256("\0".join([str(seed), *names]).encode()).hexdigest()


MAX_COMMENT_LENGTH = 10_000
"""Characters."""
BLINDED = "entry-"
"""How the name of a submission begins whose own is hidden from those who rate it."""


class NewRating(NamedTuple):
    """A new rating."""

    submission: str
    reviewer: str
    score: float
    criterion: str | None
    comment: str | None


class StoredRating(NamedTuple):
    """A rating in the store, and what it changed."""

    submission_id: str
    task_id: str
    reviewer: str
    criterion: str | None
    score: float
    comment: str | None
    replaces: float | None
    counts: bool


def check_rating(given: NewRating) -> None:
    """Reject an invalid rating."""
    if not math.isfinite(given.score) or not 0 <= given.score <= 100:
        raise UsageError(f"score {given.score:g} is not between 0 and 100", hint=option("score", "0..100"))
    check_name("reviewer", given.reviewer)
    if given.criterion is not None:
        check_name("criterion", given.criterion)
    if given.comment is not None and not is_storable(given.comment):
        raise UsageError("the comment contains a NUL byte or a lone surrogate", hint="use valid UTF-8")
    if given.comment is not None and len(given.comment) > MAX_COMMENT_LENGTH:
        raise UsageError(f"the comment is longer than {MAX_COMMENT_LENGTH:,} characters", hint="shorten it")


def rate(arena: Arena, given: NewRating) -> StoredRating:
    """Keep a rating, in one transaction with what counts of it. A later one by the same reviewer replaces it."""
    check_rating(given)

    def work(connection: Connection) -> StoredRating:
        arena.refresh(connection)
        return _rate(connection, given, arena)

    return arena.store.in_transaction(work)


def _rate(connection: Connection, given: NewRating, arena: Arena) -> StoredRating:
    row = _submission(connection, given)
    task = find_task(connection, row["task_id"], arena.rules)
    check_switched_on(arena.rules, task.task)
    if row["excluded_at"] is not None:
        raise UsageError("an excluded submission cannot be rated", where=row["id"], hint="steelyard arena show ID")
    if is_own(given.reviewer, row["submitter"], teams_of(connection)):
        raise UsageError(
            "reviewers cannot rate their own submissions", where=row["id"], hint="team members cannot rate it either"
        )
    before = latest_ratings(connection, task.key, row["ordinal"]).get((given.reviewer, given.criterion))
    now = now_microseconds()
    number = None
    if before is None or (before.score, before.comment) != (given.score, given.comment):
        values = {"task_key": task.key, "ordinal": row["ordinal"], "reviewer": given.reviewer, "rated_at": now}
        values |= {"criterion": given.criterion, "score": given.score, "comment": given.comment}
        number = connection.execute(insert(ratings).values(values).returning(ratings.c.number)).scalar_one()
    counts = count_ratings(connection, task, row, rating_number=number, rules=arena.rules, policy=arena.policy, now=now)
    return StoredRating(
        submission_id=row["id"],
        task_id=task.task.id,
        reviewer=given.reviewer,
        criterion=given.criterion,
        score=given.score,
        comment=given.comment,
        replaces=None if before is None else before.score,
        counts=counts,
    )


def check_switched_on(rules: Rules, task: Task | None) -> None:
    """Reject ratings if neither the profile nor the task enables them."""
    named = task is not None and any(getattr(criterion, "reviewers", None) for criterion in task.success_criteria)
    if rules.peer_review is None and not named:
        hint = f"rescore the arena with {option('profile', 'arena-community')}"
        raise UsageError(f"the profile {rules.name} does not enable peer review", hint=hint)


def _submission(connection: Connection, given: NewRating) -> RowMapping:
    """The submission of that id, or the one that the reviewer knows by a blinded name."""
    wanted = select(submissions, tasks.c.id.label("task_id")).join(tasks)
    name = given.submission
    if is_storable(name):
        row = connection.execute(wanted.where(submissions.c.id == name)).mappings().first()
        if row is None and name.startswith(BLINDED):
            for assigned in _assigned(connection, reviewer=given.reviewer):
                if blinded_name(assigned) == name:
                    own = (submissions.c.task_key == assigned["task_key"]) & (
                        submissions.c.ordinal == assigned["ordinal"]
                    )
                    row = connection.execute(wanted.where(own)).mappings().one()
        if row is not None:
            return row
    raise unknown_submission(connection, name)


def blinded_name(assigned: RowMapping) -> str:
    """Return the anonymous name of a submission, which cannot be derived from its id alone."""
    identity = f"{assigned['digest']}\0{assigned['task_key']}\0{assigned['ordinal']}\0{assigned['assigned_at']}"
    return BLINDED + hashlib.sha256(identity.encode()).hexdigest()[:12]


def _assigned(connection: Connection, *, reviewer: str | None = None, task_key: int | None = None) -> list[RowMapping]:
    same = (submissions.c.task_key == assignments.c.task_key) & (submissions.c.ordinal == assignments.c.ordinal)
    wanted = (
        select(
            assignments,
            submissions.c.id.label("submission_id"),
            submissions.c.digest,
            submissions.c.submitter,
            submissions.c.excluded_at,
            tasks.c.id.label("task_id"),
        )
        .join(submissions, same)
        .join(tasks, tasks.c.task_key == assignments.c.task_key)
    )
    if reviewer is not None:
        wanted = wanted.where(assignments.c.reviewer == reviewer)
    if task_key is not None:
        wanted = wanted.where(assignments.c.task_key == task_key)
    return list(connection.execute(wanted).mappings())


def assign(
    arena: Arena,
    task_id: str,
    *,
    reviewers: Sequence[str],
    per_submission: int | None,
    seed: int,
    unblind: bool = False,
) -> tuple[Assignment, ...]:
    """Give every submission to the task that counts as many reviewers as `per_submission`; existing ones are kept."""
    for name in reviewers:
        check_name("reviewer", name)

    def work(connection: Connection) -> tuple[Assignment, ...]:
        arena.refresh(connection)
        task = find_task(connection, task_id, arena.rules)
        check_switched_on(arena.rules, task.task)
        wanted = per_submission if per_submission is not None else arena.rules.reviewers_each
        pool = list(reviewers) or [party.id for party in read_parties(connection, "person")]
        if not pool:
            raise UsageError(
                "no reviewers available",
                hint=f"use {option('reviewers', 'a,b,c')}, or add users: steelyard arena user add",
            )
        has: dict[int, set[str]] = {}
        for row in _assigned(connection, task_key=task.key):
            has.setdefault(row["ordinal"], set()).add(row["reviewer"])
        own = (submissions.c.task_key == task.key) & submissions.c.excluded_at.is_(None)
        rows = list(connection.execute(select(submissions).where(own)).mappings())
        entries = [Entry(row["id"], row["submitter"], frozenset(has.get(row["ordinal"], ()))) for row in rows]
        chosen = choose_reviewers(entries, pool, per_submission=wanted, teams=teams_of(connection), seed=seed)
        now = now_microseconds()
        new = [
            {"task_key": task.key, "ordinal": row["ordinal"], "reviewer": reviewer, "assigned_at": now}
            for row in rows
            for reviewer in chosen[row["id"]]
        ]
        if new:
            connection.execute(insert(assignments), new)
        return _listed(connection, task_key=task.key, unblind=unblind)

    return arena.store.in_transaction(work)


def assignments_of(
    arena: Arena, *, reviewer: str | None = None, task_id: str | None = None, unblind: bool = False
) -> tuple[Assignment, ...]:
    """Who is to rate what, and whether they have. Submissions are blinded unless `unblind` is set."""
    with arena.read() as connection:
        key = None if task_id is None else find_task(connection, task_id, arena.rules).key
        return _listed(connection, reviewer=reviewer, task_key=key, unblind=unblind)


def _listed(
    connection: Connection, *, reviewer: str | None = None, task_key: int | None = None, unblind: bool
) -> tuple[Assignment, ...]:
    rows = [row for row in _assigned(connection, reviewer=reviewer, task_key=task_key) if row["excluded_at"] is None]
    given = connection.execute(select(ratings.c.task_key, ratings.c.ordinal, ratings.c.reviewer))
    rated = {tuple(row) for row in given}
    listed = [_assignment(row, rated, unblind=unblind) for row in rows]
    return tuple(sorted(listed, key=lambda one: (one.task_id, one.reviewer, one.entry)))


def _assignment(row: RowMapping, rated: set[tuple[Any, ...]], *, unblind: bool) -> Assignment:  # Any: rows of keys
    return Assignment(
        task_id=row["task_id"],
        entry=blinded_name(row),
        reviewer=row["reviewer"],
        rated=(row["task_key"], row["ordinal"], row["reviewer"]) in rated,
        submission_id=row["submission_id"] if unblind else None,
        assigned_at=iso(row["assigned_at"]) if unblind else None,
    )
