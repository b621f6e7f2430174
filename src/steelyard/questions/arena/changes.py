"""Show leaderboard changes since a date or time.

The earlier leaderboard uses the settings in effect at that time, so a rescore under another profile counts as a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import select

from steelyard import pages  # its names are imported on first use
from steelyard.arena import (
    FIRST_VERSION,
    Arena,
    Policy,
    View,
    find_task,
    find_tasks,
    load_tasks,
    points,
    ranked,
    settings_at,
    view_task,
    view_tasks,
)
from steelyard.formatting import counted
from steelyard.questions._answer import Part, Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_column
from steelyard.records import iso, microseconds_of, moment_of
from steelyard.store.schema import tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from steelyard.pages import Page


class ChangesOptions(Options):
    """Options of `arena changes`."""

    since: str = doc("Date or time.")
    task: str | None = doc("Only this task.", default=None)


class LeaderboardChange(Part, frozen=True, kw_only=True):
    """Rank change of a submission; None where it did not exist then or is excluded now."""

    submission_id: str
    then_ranking: int | None
    now_ranking: int | None
    then_score: float | None
    now_score: float | None

    @property
    def kind(self) -> str:
        """The change in a word."""
        if self.now_ranking is None:
            return "excluded"
        if self.then_ranking is None:
            return "new"
        moved = self.now_ranking - self.then_ranking
        return "up" if moved < 0 else "down" if moved > 0 else "score"


class TaskChanges(Part, frozen=True, kw_only=True):
    """Changes in a task since a given time."""

    task_id: str
    since: str
    then_n: int
    now_n: int
    then_version: int
    now_version: int
    then_profile: str
    """The profile in effect; under `as-submitted`, scores may come from earlier ones."""
    now_profile: str
    then_policy: Policy
    now_policy: Policy
    then_leader: str | None
    now_leader: str | None
    new: int
    moved: tuple[LeaderboardChange, ...]
    """Submissions that are new or changed rank or score, in order of acceptance, followed by newly excluded ones."""


class LeaderboardChanges(ArenaAnswer, frozen=True, kw_only=True):
    """Leaderboard changes in one task or in all tasks."""

    rows: ClassVar[Rows] = Rows("changes.moved")

    since: str
    changes: tuple[TaskChanges, ...]

    @property
    def about(self) -> str:
        """Number of tasks."""
        return f"{counted(len(self.changes), 'task')} changed since {self.since}"


@arena_question(ChangesOptions, path="/changes", examples=({"since": "2026-11-01", "task": "fix-race"},))
def arena_changes(arena: Arena, options: ChangesOptions) -> LeaderboardChanges:
    """Return what changed on the leaderboard of a task, or of every task with a change."""
    since = microseconds_of(moment_of(options.since, option="since"))
    with arena.read() as connection:
        rules_then, policy_then = settings_at(connection, since)
        every = load_tasks(connection, arena.rules)
        is_all = options.task is None
        chosen = list(every.values()) if options.task is None else [find_task(connection, options.task, arena.rules)]
        # Earlier rules may not know the difficulty of a task that came after them.
        then = find_tasks(connection, _tasks_at(connection, since), rules_then)
        stored = [then.get(now.task.id, now) for now in chosen]
        if is_all:
            before = list(view_tasks(connection, stored, policy=policy_then, until=since))
            after = list(view_tasks(connection, chosen, policy=arena.policy))
        else:
            before = [view_task(connection, stored[0], policy=policy_then, until=since)]
            after = [view_task(connection, chosen[0], policy=arena.policy)]
    earlier = {view.stored_task.key: view for view in before}
    settings = {
        "since": iso(since),
        "then_profile": rules_then.name,
        "now_profile": arena.rules.name,
        "then_policy": policy_then,
        "now_policy": arena.policy,
    }
    compared = [_changes_in_task(earlier.get(view.stored_task.key), view, settings) for view in after]
    return LeaderboardChanges(
        since=iso(since), changes=tuple(change for change in compared if change.moved or not is_all)
    )


def _tasks_at(connection: Connection, since: int) -> list[str]:
    """Return the ids of the tasks that existed at that time."""
    return list(connection.execute(select(tasks.c.id).where(tasks.c.created_at <= since)).scalars())


def _changes_in_task(before: View | None, after: View, settings: dict[str, Any]) -> TaskChanges:  # Any: fields
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
    included = {row["id"] for row in now}
    moved += [
        LeaderboardChange(
            submission_id=row["id"],
            then_ranking=row["overall_ranking"],
            now_ranking=None,
            then_score=points(row["overall"]),
            now_score=None,
        )
        for id_, row in then.items()
        if id_ not in included
    ]
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
        **settings,
    )


def page(answer: LeaderboardChanges) -> Page:
    """Return one row per submission that is new, moved or was excluded."""
    moved = [(task.task_id, move) for task in answer.changes for move in task.moved]
    columns = (
        pages.id_column("task_id", "task", "tasks", [task for task, _ in moved]),
        pages.id_column("submission_id", "submission", "submissions", [move.submission_id for _, move in moved]),
        pages.text_column("change", "change", [move.kind for _, move in moved]),
        pages.count_column("then_ranking", "rank then", [move.then_ranking for _, move in moved]),
        pages.count_column("now_ranking", "rank now", [move.now_ranking for _, move in moved]),
        score_column("then_score", "score then", [move.then_score for _, move in moved]),
        score_column("now_score", "score now", [move.now_score for _, move in moved]),
    )
    leads = sum(task.then_leader != task.now_leader for task in answer.changes)
    sentence = f"{counted(len(answer.changes), 'task')} changed since {answer.since}; {leads:,} with a new leader."
    return pages.Page(
        name="changes",
        title="What changed on the leaderboard?",
        answer=sentence if answer.changes else f"Nothing changed since {answer.since}.",
        notes=tuple(_notes(answer)),
        table=pages.PageTable(caption="Changes", columns=columns),
    )


def _notes(answer: LeaderboardChanges) -> Iterator[str]:
    for task in answer.changes:
        leaders = f"{task.then_leader or pages.DASH} -> {task.now_leader or pages.DASH}"
        yield (
            f"{task.task_id}: {task.then_n:,} -> {counted(task.now_n, 'submission')}, baseline {task.then_version} -> "
            f"{task.now_version}, leader {leaders}."
        )
        if (task.then_profile, task.then_policy) != (task.now_profile, task.now_policy):
            yield (
                f"{task.task_id}: profile {task.then_profile}, policy {task.then_policy} -> profile "
                f"{task.now_profile}, policy {task.now_policy}."
            )
