"""Who leads in an arena: leaderboard of a task, tools and models across tasks, and what looks too good."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import msgspec

from steelyard.results._arena_reviews import Review
from steelyard.results._arena_rows import ArenaResult, FieldsResult, as_json, as_object, flat_rows
from steelyard.results._base import Row

Policy = Literal["current", "as-submitted"]
"""`current`: all scores by one baseline; `as-submitted`: each keeps the score of its day."""
RankedScore = Literal["overall", "efficiency", "speed", "cost", "correctness"]
LeaderKey = Literal["agent", "model", "submitter", "team"]
IntervalMethod = Literal["arena", "student", "gaffke", "too few"]


class ScoreInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean score with its interval, and how that was made."""

    estimate: float | None
    """The mean that the interval is for; None when there is no score."""
    low: float
    high: float
    level: float
    n: int
    """How many values the mean is the mean of: scores in a task, tasks across them."""
    method: IntervalMethod
    """`arena`: the specification's multipliers; `student`: the exact quantile; `gaffke`: for a mean over tasks that is
    near 0 or 100; `too few` values: the whole range."""


class ScoredBy(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some scores were made by one profile."""

    profile: str
    since: str | None
    """When these rules came into force: two profiles may have one name. None when that is not known."""
    submissions: int


class LeaderboardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One submission's place in its task, under the specification's field names."""

    submission_id: str
    task_id: str
    overall_ranking: int
    percentile: float
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    efficiency_ranking: int
    speed_ranking: int
    cost_ranking: int
    correctness_ranking: int
    baseline_version: int
    defaulted: tuple[str, ...]
    claimed: tuple[str, ...]
    """Types of the criteria that only the submitter's word decided."""
    lower_bounds: tuple[str, ...]
    """Counts of which only a part is stored_task, so that scores made from them are too good."""
    flags: tuple[str, ...]
    recommended_action: str | None
    """`manual_review` where flags ask for it and nobody has accepted the submission."""
    warnings: tuple[str, ...]
    agent: str | None
    model: str | None
    submitter: str | None
    submitted_at: str
    evaluated_at: str
    total_tokens: int
    tool_calls: int
    iterations: int | None
    execution_time: float | None
    estimated_cost: float | None
    success: bool | None
    """What the submission says of itself; None where it does not say. Without criteria no score depends on it."""
    profile: str
    """The profile that made the scores: under `as-submitted` that of their day."""
    breakdown: dict[str, float]
    """The weights of the four scores that the overall score was made with."""
    extra_scores: dict[str, float | None] = {}
    """Scores in addition to those of the specification, by name; empty if the profile enables none."""

    @property
    def hides_failure(self) -> bool:
        """Whether it states that it failed and is scored as correct all the same, as in a task without criteria."""
        return self.success is False and self.correctness_score == 100.0


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskLeaderboard(ArenaResult):
    """The leaderboard of a task and what made them."""

    task_id: str
    category: str | None
    profile: str
    """The profile in force, by which flags, warnings and the interval are made."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles that made the scores; under `current` the one in force."""
    policy: Policy
    baseline_version: int
    baseline: dict[str, float | str]
    breakdown: dict[str, float]
    """The weights of the four scores by the profile in force."""
    n: int
    """How many submissions count, those that are not shown included."""
    reliable: bool
    """Whether the task has enough submissions for its ranks to count."""
    confidence_interval: ScoreInterval
    """Of the mean of the task's overall scores."""
    leaderboard: tuple[LeaderboardEntry, ...]
    sorted_by: RankedScore = "overall"
    """The score whose ranks the leaderboard is ordered by."""
    reliable_from: int = 0
    """How many submissions make ranks reliable by the profile in force."""
    criteria: int | None = None
    """How many success criteria the task has; without any, correctness is 100 by the specification."""
    excluded: tuple[Review, ...] = ()
    """The submissions that do not count, each with the decision that excluded it."""
    extra_score_versions: dict[str, int] = field(default_factory=dict)
    """The learned version behind each score in `extra_scores`."""

    def extra_score_names(self) -> list[str]:
        """Return the names of extra scores that at least one listed submission has."""
        names = self.leaderboard[0].extra_scores if self.leaderboard else {}
        return [name for name in names if any(one.extra_scores[name] is not None for one in self.leaderboard)]

    def _about(self) -> str:
        return f"{len(self.leaderboard):,} of {self.n:,} submissions to {self.task_id}; {self.profile}, {self.policy}"

    def listed(self) -> list[dict[str, Any]]:  # Any: JSON values
        """The leaderboard as the JSON contract lists them: one object for each submission."""
        interval = self.confidence_interval
        shared = {
            "arena_profile": self.profile,
            "policy": self.policy,
            "mean_overall_score": interval.estimate,
            "confidence_interval": [interval.low, interval.high],
            "confidence_level": interval.level,
            "confidence_method": interval.method,
            "reliable": self.reliable,
        }
        rows: list[dict[str, Any]] = as_json(self.leaderboard)  # Any: as above
        for row in rows:
            row.update(shared)
        return rows

    def to_dicts(self) -> list[Row]:
        """One flat row a submission; lists are joined by semicolons."""
        interval = self.confidence_interval
        shared = {
            "arena_profile": self.profile,
            "policy": self.policy,
            "mean_overall_score": interval.estimate,
            "confidence_level": interval.level,
            "confidence_method": interval.method,
            "reliable": self.reliable,
            "confidence_low": interval.low,
            "confidence_high": interval.high,
        }
        rows = []
        for row in flat_rows(self.leaderboard):
            breakdown, extra = row.pop("breakdown"), row.pop("extra_scores")
            rows.append({**row, **shared, **breakdown, **extra})
        return rows

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        others = [field.name for field in fields(self) if field.name not in ("task_id", "leaderboard")]
        told = as_object({name: getattr(self, name) for name in others})
        return {"task": self.task_id, "leaderboard": self.listed(), **told}


@dataclass(frozen=True, kw_only=True, repr=False)
class AllLeaderboards(ArenaResult):
    """The leaderboard of every task of an arena."""

    tasks: tuple[TaskLeaderboard, ...]

    def _about(self) -> str:
        return f"{len(self.tasks):,} tasks, {sum(len(task.leaderboard) for task in self.tasks):,} submissions"

    def to_dicts(self) -> list[Row]:
        """One flat row a submission, task after task."""
        return [row for task in self.tasks for row in task.to_dicts()]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "leaderboard": [entry for task in self.tasks for entry in task.listed()],
            "excluded": as_json([review for task in self.tasks for review in task.excluded]),
        }


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with several suspicious marks."""

    submission_id: str
    task_id: str
    flags: tuple[str, ...]
    recommended_action: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Outliers(ArenaResult):
    """Submissions that look too good and that a person should look at."""

    outliers: tuple[Outlier, ...]

    def _about(self) -> str:
        return f"{len(self.outliers):,} for review"

    def to_dicts(self) -> list[Row]:
        """One flat row a submission."""
        return flat_rows(self.outliers)

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"outliers": as_json(self.outliers)}


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, model or submitter across tasks."""

    rank: int
    key: dict[str, str | None]
    mean_score: float
    """Mean over tasks of its mean overall score in the task, so that every task counts once."""
    tasks: int
    submissions: int
    unreported: int
    """How many of them state no cost or no time, which scores 50 by the specification."""
    reliable: bool
    """Whether it has enough submissions for its rank to count."""
    confidence_interval: ScoreInterval
    """Of the mean score, over its tasks as the mean is; rounded as that is."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Leaderboard(FieldsResult):
    """Leaders overall and in each category."""

    profile: str
    """The profile in force, by which intervals are made."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles that made the scores; under `current` the one in force."""
    policy: Policy
    by: tuple[LeaderKey, ...]
    overall: tuple[Leader, ...]
    categories: dict[str, tuple[Leader, ...]]
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    """The display names that ids were registered with, for each of `by`; they never identify."""

    def shown(self, key: str, identity: str | None) -> str | None:
        """An id as people read it: with the display name before it where it was registered with one."""
        name = self.names.get(key, {}).get(identity or "")
        return identity if name is None else f"{name} ({identity})"

    def first(self, places: int | None) -> Leaderboard:
        """Only so many of the first in each list; all of them with None."""
        categories = {name: ranking[:places] for name, ranking in self.categories.items()}
        return replace(self, overall=self.overall[:places], categories=categories)

    def _about(self) -> str:
        return f"{len(self.overall):,} by {','.join(self.by)}; {self.profile}, {self.policy}"

    def to_dicts(self) -> list[Row]:
        """One flat row a leader: of all tasks (no category), then of each category."""
        rankings = [(None, self.overall), *self.categories.items()]
        return [
            {
                "category": category,
                "rank": leader.rank,
                **leader.key,
                "mean_score": leader.mean_score,
                "tasks": leader.tasks,
                "submissions": leader.submissions,
                "unreported": leader.unreported,
                "reliable": leader.reliable,
                "confidence_low": leader.confidence_interval.low,
                "confidence_high": leader.confidence_interval.high,
                "confidence_level": leader.confidence_interval.level,
                "confidence_method": leader.confidence_interval.method,
            }
            for category, ranking in rankings
            for leader in ranking
        ]


class Advantage(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool does against the others on the tasks that both took part in."""

    agent: str
    tasks: int
    """Tasks with submissions of this tool and of others."""
    mean_difference: float | None
    """Mean over those tasks of its mean score minus that of the others."""
    low: float | None
    high: float | None
    level: float
    reason: str | None
    """Why there is no interval; None when there is one."""
    systematic: bool
    """Whether the interval leaves out 0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ToolBias(ArenaResult):
    """The systematic advantage or disadvantage of each tool across tasks."""

    advantages: tuple[Advantage, ...]

    def _about(self) -> str:
        return f"{len(self.advantages):,} tools, {sum(tool.systematic for tool in self.advantages):,} systematic"

    def to_dicts(self) -> list[Row]:
        """One row a tool."""
        return flat_rows(self.advantages)

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"advantages": as_json(self.advantages)}
