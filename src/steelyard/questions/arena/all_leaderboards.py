"""List the leaderboards of all tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, rank_task
from steelyard.figures import Estimate, Figure, dots
from steelyard.formatting import counted
from steelyard.questions._answer import Drawing, Rows
from steelyard.questions._question import arena_question
from steelyard.questions.arena._common import ArenaAnswer, score_axis, score_column, spared
from steelyard.questions.arena._rankings import mean_facts, mean_interval_column, settings_text
from steelyard.questions.arena.task_leaderboard import ScoreOptions, TaskLeaderboard, entry_name, leaderboard_of

if TYPE_CHECKING:
    from steelyard.pages import Page


INTERVAL_PARTS = ("", "_low", "_high", "_level", "_n", "_method")


class AllLeaderboardsOptions(ScoreOptions):
    """Options of `arena leaderboard` with all tasks."""


class AllLeaderboards(ArenaAnswer, frozen=True, kw_only=True):
    """The leaderboard of every task of an arena."""

    rows: ClassVar[Rows] = Rows(
        "tasks.leaderboard",
        ids={"tasks": ("profile", "policy", "reliable", *(f"confidence_interval{part}" for part in INTERVAL_PARTS))},
        joined=TaskLeaderboard.rows.joined,
    )

    tasks: tuple[TaskLeaderboard, ...]

    @property
    def about(self) -> str:
        """Number of tasks and submissions."""
        submissions = sum(len(task.leaderboard) for task in self.tasks)
        return f"{counted(len(self.tasks), 'task')}, {counted(submissions, 'submission')}"


@arena_question(AllLeaderboardsOptions, command="arena leaderboard --all-tasks", path="", examples=({"top": 3},))
def arena_all_leaderboards(arena: Arena, options: AllLeaderboardsOptions) -> AllLeaderboards:
    """Return the leaderboard of every task."""
    ranked = (
        rank_task(arena, task.id, policy=options.policy, by=options.score, top=options.top) for task in arena.tasks()
    )
    return AllLeaderboards(tasks=tuple(leaderboard_of(each, options) for each in ranked))


def page(answer: AllLeaderboards) -> Page:
    """Return one row per task: its leader and the mean of its scores."""
    tasks = answer.tasks
    leaders = [task.leaderboard[0] if task.leaderboard else None for task in tasks]
    means = [task.confidence_interval for task in tasks]
    columns = (
        pages.id_column("task_id", "task", "tasks", [task.task_id for task in tasks]),
        spared(pages.text_column("category", "category", [task.category for task in tasks]), 3),
        pages.count_column("n", "submissions", [task.n for task in tasks]),
        pages.text_column("leader", "leader", [None if leader is None else entry_name(leader) for leader in leaders]),
        score_column("overall_score", "its score", [None if each is None else each.overall_score for each in leaders]),
        spared(score_column("mean_overall_score", "mean score", [mean.estimate for mean in means])),
        spared(mean_interval_column(means)),
        spared(
            pages.text_column("reliable", "ranks", ["reliable" if task.reliable else "too few" for task in tasks]), 2
        ),
    )
    reliable = sum(task.reliable for task in tasks)
    made = pages.Page(
        name="tasks",
        title="Who leads each task, and how reliable is that?",
        answer=f"{answer.about}; {counted(reliable, 'task')} with enough submissions for reliable ranks.",
        table=pages.PageTable(caption="Tasks", columns=columns),
        facts=(("scored by", settings_text(tasks[0])), *mean_facts(means[0])) if tasks else (),
    )
    return pages.with_figures(made, answer, ("dots",), tall=False)


def _dots(answer: AllLeaderboards, width: int) -> Figure:
    """Draw the mean score of each task with its interval."""
    rows = [
        Estimate(
            label=task.task_id,
            value=task.confidence_interval.estimate,
            low=task.confidence_interval.low,
            high=task.confidence_interval.high,
            note=counted(task.n, "submission"),
            faint=not task.reliable,
        )
        for task in answer.tasks
    ]
    note = f"{counted(len(answer.tasks), 'task')}; hollow: too few submissions"
    return dots(rows, title="Mean score by task", axis=score_axis("Mean overall score"), note=note, width=width)


DRAWINGS: Mapping[str, Drawing] = {"dots": _dots}
"""Figures of the answer."""
