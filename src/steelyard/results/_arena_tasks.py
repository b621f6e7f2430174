"""Tasks and settings of an arena, and results of a rescore."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import Finding, Task
from steelyard.results._arena_leaderboard import Policy
from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


@dataclass(frozen=True, kw_only=True, repr=False)
class ArenaSettings(FieldsResult):
    """An arena with its store, profile and policy."""

    store: str
    profile: str
    policy: Policy

    def _about(self) -> str:
        return f"{self.store}: {self.profile}, policy {self.policy}"

    def to_dicts(self) -> list[Row]:
        """Return one row."""
        return [self._shape()]


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskList(FieldsResult):
    """All tasks of an arena, in order of addition."""

    tasks: tuple[Task, ...]

    def _about(self) -> str:
        return f"{len(self.tasks):,} tasks"

    def to_dicts(self) -> list[Row]:
        """Return one row per task."""
        return [
            {
                "id": task.id,
                "title": task.title,
                "category": task.category,
                "difficulty": task.difficulty,
                "criteria": len(task.success_criteria),
            }
            for task in self.tasks
        ]


class FilesKept(msgspec.Struct, frozen=True):
    """Task files in the store."""

    n: int
    sha256: str
    """SHA-256 of directory names, relative file paths and contents."""


class CombinationBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """Baseline of one tool and model."""

    agent: str | None
    model: str | None
    submissions: int
    baseline: dict[str, float | str] | None
    """With `last_updated`, the time of the last submission; None if there are too few."""
    reason: str | None
    """Why there is no baseline; None if there is one."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskDetails(FieldsResult):
    """A task with its baseline, overall and per agent and model."""

    task: Task
    files: FilesKept | None
    """Task files in the store; None if there are none."""
    submissions: int
    baseline_version: int
    baseline: dict[str, float | str]
    """With `last_updated`, when it last gained or lost a submission or was recomputed under another profile."""
    breakdown: dict[str, float]
    """Weights of the four scores in the current profile."""
    combinations: tuple[CombinationBaseline, ...]

    def _about(self) -> str:
        return f"{self.task.id}: {self.submissions:,} submissions, baseline version {self.baseline_version}"

    def to_dicts(self) -> list[Row]:
        """Return one row per baseline number."""
        numbers = {name: value for name, value in self.baseline.items() if not isinstance(value, str)}
        return [{"name": name, "value": value} for name, value in numbers.items()]


@dataclass(frozen=True, kw_only=True, repr=False)
class Rescored(FieldsResult):
    """Result of a rescore."""

    submissions: int
    """Number of submissions that were ranked again."""
    rescored: int
    """Number of submissions that were rescored; 0 under `as-submitted`."""
    profile: str
    policy: Policy
    findings: tuple[Finding, ...]
    """Tasks whose category has no weights."""

    def _about(self) -> str:
        return f"{self.rescored:,} of {self.submissions:,} submissions rescored; {self.profile}, {self.policy}"

    def to_dicts(self) -> list[Row]:
        """Return one row without the findings."""
        return [{name: value for name, value in self._shape().items() if name != "findings"}]
