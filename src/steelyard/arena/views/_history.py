"""How scores went over time, and what changed since a moment."""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena, find_task, find_tasks, load_tasks, read_parties, teams_of
from steelyard.arena.scoring import points, read_reviews, read_rules_history, settings_at
from steelyard.arena.views._task_leaderboard import ranked
from steelyard.arena.views._task_view import FIRST_VERSION, View, view_task, view_tasks
from steelyard.errors import UnknownNameError
from steelyard.records import DAY, is_storable, iso
from steelyard.results import (
    LeaderboardChange,
    LeaderboardChanges,
    Policy,
    ReviewLog,
    ScoreHistory,
    ScoreMoment,
    TaskChanges,
)
from steelyard.store.schema import baselines, submissions, tasks

NAMES_LOOKED_AT = 10_000
"""Number of names searched for a suggestion."""


def score_history(
    arena: Arena, *, task_id: str | None = None, submitter: str | None = None, team: str | None = None
) -> ScoreHistory:
    """The scores of the day of a task, of a submitter or a team, of one of them in a task, or of all."""
    wanted = select(submissions, tasks.c.id.label("task_id")).join(tasks, tasks.c.task_key == submissions.c.task_key)
    versions: list[dict[str, float | str]] = []
    with arena.read() as connection:
        if task_id is not None:
            key = find_task(connection, task_id, arena.rules).key
            wanted = wanted.where(submissions.c.task_key == key)
            versions = _versions(connection, key)
        if submitter is not None:
            _check_submitter(connection, submitter)
            wanted = wanted.where(submissions.c.submitter == submitter)
        if team is not None:
            wanted = wanted.where(submissions.c.submitter.in_(_members(connection, team)))
        # Collation differs between databases, so sort in Python.
        selected = connection.execute(wanted).mappings()
        rows = sorted(selected, key=lambda row: (row["submitted_at"], row["id"]))
        rules_history = read_rules_history(connection)
        own_rows = {(row["task_key"], row["ordinal"]) for row in rows}
        log = [logged for logged in read_reviews(connection) if (logged.task_key, logged.ordinal) in own_rows]
    rows = [row for row in rows if row["excluded_at"] is None]
    moments = []
    best = 0
    for row in rows:
        best = max(best, row["overall"])
        moments.append(
            ScoreMoment(
                submission_id=row["id"],
                task_id=row["task_id"],
                submitter=row["submitter"],
                submitted_at=iso(row["submitted_at"]),
                overall_score=points(row["overall"]),
                best_so_far=points(best),
                baseline_version=row["baseline_version"],
                profile=rules_history.of(row["task_key"], row["ordinal"]).rules.name,
            )
        )
    trend, reason = slope_per_day([row["submitted_at"] for row in rows], [row["overall"] for row in rows])
    return ScoreHistory(
        task_id=task_id,
        submitter=submitter,
        team=team,
        n=len(rows),
        trend_per_day=trend,
        reason=reason,
        moments=tuple(moments),
        baselines=tuple(versions),
        reviews=tuple(logged.review for logged in log),
    )


def review_log(arena: Arena, task_id: str | None = None) -> ReviewLog:
    """Every decision about the submissions to a task (to all), in their order."""
    with arena.read() as connection:
        key = None if task_id is None else find_task(connection, task_id, arena.rules).key
        return ReviewLog(reviews=tuple(logged.review for logged in read_reviews(connection, key)))


def _versions(connection: Connection, task_key: int) -> list[dict[str, float | str]]:
    """The versions of a task's baseline, in order."""
    own = select(baselines).where(baselines.c.task_key == task_key).order_by(baselines.c.version)
    left_out = ("task_key", "created_at")
    return [
        {name: value for name, value in row.items() if name not in left_out} | {"created_at": iso(row["created_at"])}
        for row in connection.execute(own).mappings()
    ]


def _check_submitter(connection: Connection, name: str) -> None:
    """Reject a name without submissions."""
    if is_storable(name):
        by_name = select(submissions.c.ordinal).where(submissions.c.submitter == name)
        if connection.execute(by_name.limit(1)).first() is not None:
            return
    names = select(submissions.c.submitter).where(submissions.c.submitter.is_not(None)).distinct()
    raise UnknownNameError("submitter", name[:200], connection.execute(names.limit(NAMES_LOOKED_AT)).scalars())


def _members(connection: Connection, team: str) -> list[str]:
    """The people who are in a team now."""
    known = [party.id for party in read_parties(connection, "team")]
    if team not in known:
        raise UnknownNameError("team", team[:200], known)
    return [person for person, own in teams_of(connection).items() if own == team]


def slope_per_day(moments: list[int], scores: list[int]) -> tuple[float | None, str | None]:
    """Points a day by least squares, or None and why. Sums are of whole numbers, so the order does not matter."""
    n = len(moments)
    if n < 3:
        return None, f"not enough submissions for a trend: {n} of 3"
    first = min(moments)
    times = [moment - first for moment in moments]
    spread = n * sum(time * time for time in times) - sum(times) ** 2
    if spread == 0:
        return None, "all submissions have the same time"
    together = n * sum(time * value for time, value in zip(times, scores, strict=True)) - sum(times) * sum(scores)
    slope = together / spread * DAY / 100
    return (slope, None) if math.isfinite(slope) else (None, "submission times are too close together")


def leaderboard_changes(
    arena: Arena, *, since: int, task_id: str | None = None, policy: Policy | None = None
) -> LeaderboardChanges:
    """What changed since the moment in one task, or in every task with a change.

    Then as now, leaderboards are made by the settings of the moment, so a rescore under other rules is a change.
    """
    with arena.read() as connection:
        rules_then, policy_then = settings_at(connection, since)
        every = load_tasks(connection, arena.rules)
        chosen = [find_task(connection, task_id, arena.rules)] if task_id is not None else list(every.values())
        # Earlier rules may not know the difficulty of a task that came after them.
        then = find_tasks(connection, _tasks_at(connection, since), rules_then)
        stood = [then.get(now.task.id, now) for now in chosen]
        policies = (policy or policy_then, policy or arena.policy)
        if task_id is not None:
            before = [view_task(connection, stood[0], policy=policies[0], until=since)]
            after = [view_task(connection, chosen[0], policy=policies[1])]
        else:
            before = list(view_tasks(connection, stood, policy=policies[0], until=since))
            after = list(view_tasks(connection, chosen, policy=policies[1]))
    earlier = {view.stored_task.key: view for view in before}
    about = {"since": iso(since), "then_profile": rules_then.name, "now_profile": arena.rules.name}
    about |= {"then_policy": policies[0], "now_policy": policies[1]}
    compared = [_change(earlier.get(view.stored_task.key), view, about) for view in after]
    return LeaderboardChanges(changes=tuple(change for change in compared if change.moved or task_id is not None))


def _tasks_at(connection: Connection, since: int) -> list[str]:
    """The ids of the tasks that were there at the moment."""
    return list(connection.execute(select(tasks.c.id).where(tasks.c.created_at <= since)).scalars())


def _change(before: View | None, after: View, about: dict[str, Any]) -> TaskChanges:  # Any: fields of the change
    """Return the changes in a task, which may have been empty before."""
    then = {row["id"]: row for row in ranked(before).iter_rows(named=True)} if before is not None else {}
    now = list(ranked(after).iter_rows(named=True))
    moved = [
        LeaderboardChange(
            submission_id=row["id"],
            then_ranking=earlier["overall_ranking"] if earlier else None,
            now_ranking=row["overall_ranking"],
            then_score=points(earlier["overall"]) if earlier else None,
            now_score=points(row["overall"]),
        )
        for row in now
        if (earlier := then.get(row["id"])) is None
        or (earlier["overall_ranking"], earlier["overall"]) != (row["overall_ranking"], row["overall"])
    ]
    there = {row["id"] for row in now}
    moved += [_left(row) for identity, row in then.items() if identity not in there]
    return TaskChanges(
        task_id=after.stored_task.task.id,
        then_n=len(then),
        now_n=len(now),
        then_version=before.version if before is not None else FIRST_VERSION,
        now_version=after.version,
        then_leader=next(iter(then), None),
        now_leader=now[0]["id"] if now else None,
        new=sum(change.then_ranking is None for change in moved),
        moved=tuple(moved),
        **about,
    )


def _left(row: dict[str, Any]) -> LeaderboardChange:  # Any: column values
    """Return the change of a submission that is excluded now."""
    return LeaderboardChange(
        submission_id=row["id"],
        then_ranking=row["overall_ranking"],
        now_ranking=None,
        then_score=points(row["overall"]),
        now_score=None,
    )
