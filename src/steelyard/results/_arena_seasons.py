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
    """The digest of its manifest."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Seasons(FieldsResult):
    """Every season that was frozen, the first one first."""

    seasons: tuple[SeasonEntry, ...]

    def _about(self) -> str:
        return f"{len(self.seasons):,} seasons"

    def to_dicts(self) -> list[Row]:
        """One row a season."""
        return flat_rows(self.seasons)


@dataclass(frozen=True, kw_only=True, repr=False)
class Season(FieldsResult):
    """The leaderboard of a moment and all that made it. Its JSON is what `arena season verify` checks."""

    name: str
    frozen_at: str
    sha256: str
    """The digest of the manifest, as JSON with names in the order of their letters and without spaces."""
    manifest: dict[str, Any]
    """Rules, tasks, baselines, the numbers, scores and digest of each submission, exclusions (Any: JSON values)."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many tasks it has, how many submissions count, and how many are excluded."""
        tasks = self.manifest["tasks"]
        return len(tasks), sum(len(task["submissions"]) for task in tasks), sum(len(task["excluded"]) for task in tasks)

    def _about(self) -> str:
        tasks, submissions, excluded = self.counts
        return f"{self.name}: {tasks:,} tasks, {submissions:,} submissions, {excluded:,} excluded"

    def to_dicts(self) -> list[Row]:
        """One row a submission, in the order of entry; scores in points."""
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
    """One thing that was checked."""

    what: str
    """`digest`, `baseline`, `scores`, `ranks`, `exclusions`; of an arena `kept` and `submissions`."""
    task_id: str | None = None
    """The task; None where it is about the whole."""
    holds: bool
    reason: str | None
    """What is wrong; None where nothing is."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Verification(FieldsResult):
    """What came of checking a season's manifest."""

    name: str
    sha256: str
    """The digest as it was recomputed."""
    status: Literal["pass", "fail"]
    tasks: int
    submissions: int
    excluded: int
    checks: tuple[VerifyCheck, ...]

    def _about(self) -> str:
        return f"{self.name} {self.status}: {len(self.checks):,} checks"

    def to_dicts(self) -> list[Row]:
        """Return the table with one row per check."""
        return flat_rows(self.checks)
