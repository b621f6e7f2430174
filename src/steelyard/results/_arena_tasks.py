"""The tasks of an arena, what it is scored by, and what a rescore did."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import Finding, Task
from steelyard.results._arena_leaderboard import Policy
from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


@dataclass(frozen=True, kw_only=True, repr=False)
class ArenaSettings(FieldsResult):
    """An arena: where it is, and what it is scored by."""

    store: str
    profile: str
    policy: Policy

    def _about(self) -> str:
        return f"{self.store}: {self.profile}, policy {self.policy}"

    def to_dicts(self) -> list[Row]:
        """One row."""
        return [self._shape()]


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskList(FieldsResult):
    """Every task of an arena, in the order in which they were added."""

    tasks: tuple[Task, ...]

    def _about(self) -> str:
        return f"{len(self.tasks):,} tasks"

    def to_dicts(self) -> list[Row]:
        """One flat row a task."""
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
    """What a store has of a task's own files."""

    n: int
    sha256: str
    """Digest of every folder's name and every file's path and content; where they lay does not count."""


class CombinationBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline of one tool and model alone."""

    agent: str | None
    model: str | None
    submissions: int
    baseline: dict[str, float | str] | None
    """With `last_updated`, when the last of its submissions came; None where there are too few submissions."""
    reason: str | None
    """Why there is no baseline; None when there is one."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TaskDetails(FieldsResult):
    """A task with its baseline, overall and of each tool and model."""

    task: Task
    files: FilesKept | None
    """The task's own files that the store keeps; None when there are none."""
    submissions: int
    baseline_version: int
    baseline: dict[str, float | str]
    """With `last_updated`: when it last took in or lost a submission, or was recomputed by other rules."""
    breakdown: dict[str, float]
    """The weights of the four scores by the profile in force."""
    combinations: tuple[CombinationBaseline, ...]

    def _about(self) -> str:
        return f"{self.task.id}: {self.submissions:,} submissions, baseline version {self.baseline_version}"

    def to_dicts(self) -> list[Row]:
        """One row a number of the baseline."""
        numbers = {name: value for name, value in self.baseline.items() if not isinstance(value, str)}
        return [{"name": name, "value": value} for name, value in numbers.items()]


@dataclass(frozen=True, kw_only=True, repr=False)
class Rescored(FieldsResult):
    """What a rescore did."""

    submissions: int
    """Submissions of the tasks, which were ranked anew."""
    rescored: int
    """Those among them that were scored again: under `as-submitted` none."""
    profile: str
    policy: Policy
    findings: tuple[Finding, ...]
    """Tasks whose category has no weights."""

    def _about(self) -> str:
        return f"{self.rescored:,} of {self.submissions:,} submissions rescored; {self.profile}, {self.policy}"

    def to_dicts(self) -> list[Row]:
        """One row, without the findings."""
        return [{name: value for name, value in self._shape().items() if name != "findings"}]
