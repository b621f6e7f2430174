"""Seasons of an arena: the leaderboard at a time, with a manifest that verifies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row


class SeasonEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A season in a list."""

    name: str
    frozen_at: str
    sha256: str
    """SHA-256 of its manifest."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Seasons(FieldsResult):
    """All seasons, oldest first."""

    seasons: tuple[SeasonEntry, ...]

    def _about(self) -> str:
        return f"{len(self.seasons):,} seasons"

    def to_dicts(self) -> list[Row]:
        """Return one row per season."""
        return flat_rows(self.seasons)


@dataclass(frozen=True, kw_only=True, repr=False)
class Season(FieldsResult):
    """A leaderboard at one time with all its inputs. `arena season verify` checks its JSON."""

    name: str
    frozen_at: str
    sha256: str
    """SHA-256 of the manifest as JSON with sorted keys and without spaces."""
    manifest: dict[str, Any]
    """Rules, tasks, baselines, the numbers, scores and digest of each submission, exclusions (Any: JSON values)."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of tasks, included submissions and excluded submissions."""
        tasks = self.manifest["tasks"]
        return len(tasks), sum(len(task["submissions"]) for task in tasks), sum(len(task["excluded"]) for task in tasks)

    def _about(self) -> str:
        tasks, submissions, excluded = self.counts
        return f"{self.name}: {tasks:,} tasks, {submissions:,} submissions, {excluded:,} excluded"

    def to_dicts(self) -> list[Row]:
        """Return one row per submission, in order of acceptance; scores in points."""
        return [
            {
                "task_id": task["definition"]["id"],
                "submission_id": row["id"],
                "overall_ranking": row["overall_ranking"],
                "overall_score": row["overall"] / 100,
                "agent": row["agent"],
                "model": row["model"],
                "submitter": row["submitter"],
                "sha256": row["sha256"],
            }
            for task in self.manifest["tasks"]
            for row in task["submissions"]
        ]


class VerifyCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one check."""

    what: str
    """`digest`, `baseline`, `scores`, `ranks`, `exclusions`; with a store, also `kept` and `submissions`."""
    task_id: str | None = None
    """The task; None for the whole manifest."""
    holds: bool
    reason: str | None
    """The difference found; None if there is none."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Verification(FieldsResult):
    """Verification of a season manifest."""

    name: str
    sha256: str
    """The recomputed SHA-256."""
    status: Literal["pass", "fail"]
    tasks: int
    submissions: int
    excluded: int
    checks: tuple[VerifyCheck, ...]

    def _about(self) -> str:
        return f"{self.name} {self.status}: {len(self.checks):,} checks"

    def to_dicts(self) -> list[Row]:
        """Return one row per check."""
        return flat_rows(self.checks)
