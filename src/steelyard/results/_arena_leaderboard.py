"""Leaderboards of tasks, tools and models, and submissions flagged for review."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import msgspec

from steelyard.results._arena_reviews import Review
from steelyard.results._arena_rows import ArenaResult, FieldsResult, as_json, as_object, flat_rows
from steelyard.results._base import Row

Policy = Literal["current", "as-submitted"]
"""`current`: all scores use one baseline version; `as-submitted`: submissions keep their original scores."""
RankedScore = Literal["overall", "efficiency", "speed", "cost", "correctness"]
LeaderKey = Literal["agent", "model", "submitter", "team"]
IntervalMethod = Literal["arena", "student", "gaffke", "too few"]


class ScoreInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Mean score with its confidence interval and method."""

    estimate: float | None
    """The mean; None without scores."""
    low: float
    high: float
    level: float
    n: int
    """Number of values: scores within a task, or tasks across tasks."""
    method: IntervalMethod
    """`arena`: multipliers of the specification; `student`: Student's t; `gaffke`: bounded mean near 0 or 100;
    `too few` values: the whole range."""


class ScoredBy(msgspec.Struct, frozen=True, kw_only=True):
    """Number of scores per profile."""

    profile: str
    since: str | None
    """When the profile took effect, because two profiles may have the same name; None if unknown."""
    submissions: int


class LeaderboardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Leaderboard entry of a submission, with the field names of the specification."""

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
    """Types of the criteria that are based only on claims of the submitter."""
    lower_bounds: tuple[str, ...]
    """Counts that are lower bounds, so scores based on them are too high."""
    flags: tuple[str, ...]
    recommended_action: str | None
    """`manual_review` if flags recommend it and no reviewer has accepted the submission."""
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
    """Success as reported by the submission; None if not reported. Without criteria, no score depends on it."""
    profile: str
    """The profile of the scores; under `as-submitted`, the one at the time of submission."""
    breakdown: dict[str, float]
    """Weights of the four scores in the overall score."""
    extra_scores: dict[str, float | None] = {}
    """Scores in addition to those of the specification, by name; empty if the profile enables none."""

    @property
    def hides_failure(self) -> bool:
        """Whether it reports failure but its correctness is 100, as in a task without criteria."""
        return self.success is False and self.correctness_score == 100.0


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskLeaderboard(ArenaResult):
    """Leaderboard of a task with its settings."""

    task_id: str
    category: str | None
    profile: str
    """The current profile, which determines flags, warnings and the interval."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles of the scores; under `current`, the current one."""
    policy: Policy
    baseline_version: int
    baseline: dict[str, float | str]
    breakdown: dict[str, float]
    """Weights of the four scores in the current profile."""
    n: int
    """Number of included submissions, listed or not."""
    reliable: bool
    """Whether the task has enough submissions for reliable ranks."""
    confidence_interval: ScoreInterval
    """Interval of the task's mean overall score."""
    leaderboard: tuple[LeaderboardEntry, ...]
    sorted_by: RankedScore = "overall"
    """The score by which the leaderboard is sorted."""
    reliable_from: int = 0
    """Number of submissions required for reliable ranks."""
    criteria: int | None = None
    """Number of success criteria; with 0, correctness is 100 by the specification."""
    excluded: tuple[Review, ...] = ()
    """Excluded submissions with the decision."""
    extra_score_versions: dict[str, int] = field(default_factory=dict)
    """The model version of each score in `extra_scores`."""

    def extra_score_names(self) -> list[str]:
        """Return the names of extra scores that at least one listed submission has."""
        names = self.leaderboard[0].extra_scores if self.leaderboard else {}
        return [name for name in names if any(one.extra_scores[name] is not None for one in self.leaderboard)]

    def _about(self) -> str:
        return f"{len(self.leaderboard):,} of {self.n:,} submissions to {self.task_id}; {self.profile}, {self.policy}"

    def listed(self) -> list[dict[str, Any]]:  # Any: JSON values
        """Return the leaderboard as in JSON: one object per submission."""
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
        """Return one row per submission; lists are joined by semicolons."""
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
        shared = as_object({name: getattr(self, name) for name in others})
        return {"task": self.task_id, "leaderboard": self.listed(), **shared}


@dataclass(frozen=True, kw_only=True, repr=False)
class AllLeaderboards(ArenaResult):
    """The leaderboard of every task of an arena."""

    tasks: tuple[TaskLeaderboard, ...]

    def _about(self) -> str:
        return f"{len(self.tasks):,} tasks, {sum(len(task.leaderboard) for task in self.tasks):,} submissions"

    def to_dicts(self) -> list[Row]:
        """Return one row per submission, task by task."""
        return [row for task in self.tasks for row in task.to_dicts()]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "leaderboard": [entry for task in self.tasks for entry in task.listed()],
            "excluded": as_json([review for task in self.tasks for review in task.excluded]),
        }


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with several outlier flags."""

    submission_id: str
    task_id: str
    flags: tuple[str, ...]
    recommended_action: str


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, model or submitter across tasks."""

    rank: int
    key: dict[str, str | None]
    mean_score: float
    """Mean over tasks of the mean overall score per task."""
    tasks: int
    submissions: int
    unreported: int
    """Number of submissions without a cost or time, which score 50 by the specification."""
    reliable: bool
    """Whether it has enough submissions for a reliable rank."""
    confidence_interval: ScoreInterval
    """Interval of the mean score over tasks, rounded like the mean."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Leaderboard(FieldsResult):
    """Leaders overall and per category."""

    profile: str
    """The current profile, which determines intervals."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles of the scores; under `current`, the current one."""
    policy: Policy
    by: tuple[LeaderKey, ...]
    overall: tuple[Leader, ...]
    categories: dict[str, tuple[Leader, ...]]
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    """Display names by id, for each key in `by`."""

    def shown(self, key: str, identity: str | None) -> str | None:
        """Return the id, preceded by its display name if it has one."""
        name = self.names.get(key, {}).get(identity or "")
        return identity if name is None else f"{name} ({identity})"

    def first(self, places: int | None) -> Leaderboard:
        """Return the first entries of each list; all of them with None."""
        categories = {name: ranking[:places] for name, ranking in self.categories.items()}
        return replace(self, overall=self.overall[:places], categories=categories)

    def _about(self) -> str:
        return f"{len(self.overall):,} groups by {','.join(self.by)}; {self.profile}, {self.policy}"

    def to_dicts(self) -> list[Row]:
        """Return one row per leader: all tasks (no category), then each category."""
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
    """Score difference of a tool from the others on shared tasks."""

    agent: str
    tasks: int
    """Tasks with submissions of this tool and of others."""
    mean_difference: float | None
    """Mean over these tasks of its mean score minus that of the others."""
    low: float | None
    high: float | None
    level: float
    reason: str | None
    """Why there is no interval; None if there is one."""
    systematic: bool
    """Whether the interval excludes 0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ToolBias(ArenaResult):
    """Systematic advantage or disadvantage of each tool across tasks."""

    advantages: tuple[Advantage, ...]

    def _about(self) -> str:
        return f"{len(self.advantages):,} tools, {sum(tool.systematic for tool in self.advantages):,} systematic"

    def to_dicts(self) -> list[Row]:
        """Return one row per tool."""
        return flat_rows(self.advantages)

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"advantages": as_json(self.advantages)}
