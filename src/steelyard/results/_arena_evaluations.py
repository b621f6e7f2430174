"""Evaluation of one submission, and comparison of two profiles on all submissions."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import Finding
from steelyard.results._arena_leaderboard import Policy
from steelyard.results._arena_receipts import CriterionResult, Receipt
from steelyard.results._arena_reviews import Review
from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row


class ScoreReason(msgspec.Struct, frozen=True, kw_only=True):
    """A score with its formula and inputs."""

    name: str
    title: str
    value: float
    """Rounded to two decimals, as on leaderboards."""
    unrounded: float
    formula: str
    inputs: dict[str, float | None]
    """Inputs, baseline bounds and other scores; None if unknown."""
    constants: dict[str, float]


class ExtraScore(msgspec.Struct, frozen=True, kw_only=True):
    """A score in addition to those of the specification, with its formula and inputs."""

    name: str
    value: float | None
    version: int
    """The model version that it is based on."""
    formula: str
    inputs: dict[str, float | None]
    constants: dict[str, float]
    reason: str | None
    """An additional note; None if there is none."""


class ScoredSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with an explanation of its scores."""

    receipt: Receipt
    profile: str
    """The profile of the scores; under `as-submitted`, the one at the time of submission."""
    policy: Policy
    submitted_at: str
    accepted_at: str
    agent: str | None
    model: str | None
    submitter: str | None
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None
    scores: tuple[ScoreReason, ...]
    sources: dict[str, str]
    """Source of each number: the submission, the criteria, the baseline, defaults, ..."""
    reviews: tuple[Review, ...]
    """Review decisions, in order."""
    extra_scores: tuple[ExtraScore, ...]
    """Scores in addition to those of the specification; none unless the profile enables them."""


class Mover(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with its rank under both profiles."""

    submission_id: str
    task_id: str
    first_ranking: int
    second_ranking: int
    first_score: float
    second_score: float


class TaskUnderProfiles(msgspec.Struct, frozen=True, kw_only=True):
    """One task under both profiles."""

    task_id: str
    n: int
    kendall_tau: float | None
    """Kendall's tau-b of the overall scores; None with a reason."""
    reason: str | None
    changed: int
    """Number of submissions whose rank differs."""
    leader_changes: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class ProfileComparison(FieldsResult):
    """Comparison of two profiles on the same submissions."""

    first: str
    second: str
    submissions: int
    mean_kendall_tau: float | None
    """Mean over tasks that have one."""
    tasks: tuple[TaskUnderProfiles, ...]
    movers: tuple[Mover, ...]
    """The largest rank changes, in descending order."""
    findings: tuple[Finding, ...] = ()
    """Tasks whose category has no weights in one of the profiles."""

    def _about(self) -> str:
        return f"{self.first} and {self.second}: {self.submissions:,} submissions, {len(self.tasks):,} tasks"

    def to_dicts(self) -> list[Row]:
        """Return one row per task."""
        return flat_rows(self.tasks)
