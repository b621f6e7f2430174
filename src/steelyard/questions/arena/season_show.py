"""Show a season or write its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, FinalRank, SeasonManifest, StoredSeason, final_leaderboard, find_season
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_column

if TYPE_CHECKING:
    from steelyard.pages import Page

EXCLUSIONS_SHOWN = 100


class SeasonShowOptions(Options):
    """Options of `arena season show`."""

    season: str = doc("Season name.", kw_only=False)


class Season(ArenaAnswer, frozen=True, kw_only=True):
    """A leaderboard at one time with all its inputs. `arena season verify` checks its JSON."""

    rows: ClassVar[Rows] = Rows("leaderboard")

    name: str
    frozen_at: str
    sha256: str
    """SHA-256 of the manifest as JSON with sorted keys and without spaces."""
    leaderboard: tuple[FinalRank, ...]
    """The submissions of the manifest, by task and rank."""
    manifest: SeasonManifest
    """Rules, tasks, baselines, the numbers, scores and digest of each submission, and exclusions."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of tasks, included submissions and excluded submissions."""
        tasks = self.manifest.tasks
        return len(tasks), len(self.leaderboard), sum(len(task.excluded) for task in tasks)

    @property
    def about(self) -> str:
        """Name and counts."""
        tasks, submissions, excluded = self.counts
        return f"{self.name}: {counted(tasks, 'task')}, {counted(submissions, 'submission')}, {excluded:,} excluded"


@arena_question(SeasonShowOptions, path="/seasons/{season}", examples=({"season": "2026-autumn"},))
def arena_season_show(arena: Arena, options: SeasonShowOptions) -> Season:
    """Return a season with its manifest: rules, included submissions with digests and scores, and exclusions."""
    return season_of(find_season(arena, options.season))


def season_of(stored: StoredSeason) -> Season:
    """Return a stored season as an answer."""
    return Season(**stored._asdict(), leaderboard=final_leaderboard(stored.manifest))


def page(answer: Season) -> Page:
    """Return one row per submission with its final rank and score."""
    ranks = answer.leaderboard
    columns = (
        pages.text_column("task_id", "task", [row.task_id for row in ranks]),
        pages.count_column("overall_ranking", "rank", [row.overall_ranking for row in ranks]),
        pages.id_column("submission_id", "submission", "submissions", [row.submission_id for row in ranks]),
        score_column("overall_score", "overall", [row.overall_score for row in ranks]),
        pages.text_column("agent", "agent", [row.agent for row in ranks]),
        pages.text_column("model", "model", [row.model for row in ranks]),
        pages.text_column("submitter", "submitter", [row.submitter for row in ranks]),
    )
    excluded = [
        f"{task.definition.id}: {gone.submission_id} was {gone.decision}" + (f" ({gone.reason})" if gone.reason else "")
        for task in answer.manifest.tasks
        for gone in task.excluded
    ]
    return pages.Page(
        name="season",
        title="Final leaderboard of the season",
        answer=f"{answer.about}; frozen {pages.minute_of(answer.frozen_at)} UTC, SHA-256 {answer.sha256}.",
        notes=tuple(excluded[:EXCLUSIONS_SHOWN]),
        table=pages.PageTable(caption=f"Leaderboard of {answer.name}", columns=columns),
        facts=(("profile", answer.manifest.profile), ("policy", answer.manifest.policy)),
    )
