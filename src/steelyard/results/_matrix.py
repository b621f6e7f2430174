"""Result of `matrix`: one metric of every task by every group, with task discrimination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, json_number
from steelyard.results._tier_schemes import scheme_dict, tier_name_dict

MatrixSort = Literal["difficulty", "discrimination", "disagreement", "task"]


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Runs of one group on one task."""

    value: float | None
    """Metric over these runs; None if no run has a value."""
    runs: int
    """Runs with a value."""
    missing: int = 0
    """Runs without a value."""
    errored: int = 0
    """Runs that ended in an error."""


@dataclass(frozen=True, slots=True)
class MatrixGroup:
    """One column: an agent or another group."""

    key: Mapping[str, str | int | None]
    value: float | None
    """Metric over all its tasks, with the weighting of the result; None if no run has a value."""
    tasks: int
    """Tasks with a value."""
    runs: int
    """Runs with a value."""


@dataclass(frozen=True, slots=True)
class MatrixTask:
    """One row: a task."""

    task: str
    cells: tuple[MatrixCell | None, ...]
    """One cell per group, in their order; None if the group did not attempt the task."""
    mean: float | None
    """Mean of the cell values, weighting groups equally; None if no cell has a value."""
    discrimination: float | None
    """Mean value on this task of the groups above the median on the other tasks, minus that of the groups below it.
    Positive if the task agrees with the other tasks, negative if it contradicts them. None if the groups tie
    on the other tasks."""
    difference: float | None
    """Candidate minus baseline; None if two groups were not selected or one has no value."""


@dataclass(frozen=True, repr=False)
class Matrix(Result):
    """Tasks by groups."""

    by: tuple[str, ...]
    tier_scheme: str | None
    """Common scheme of all tiers, when grouped by tier; None if the key contains it."""
    metric: str
    sort: MatrixSort
    groups: tuple[MatrixGroup, ...]
    """Groups in the order of their keys."""
    tasks: tuple[MatrixTask, ...]
    """Tasks in the requested order."""
    baseline: int | None
    """Group to subtract; None if two groups were not selected."""
    candidate: int | None
    """Group to subtract it from."""
    n: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """Unit of analysis of the groups' values: tasks or runs."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""

    def _about(self) -> str:
        return f"{len(self.tasks):,} tasks x {len(self.groups):,} groups by {','.join(self.by)} on {self.metric}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per task and group; a pair without runs has no value."""
        return [
            {
                **scheme_dict(self.tier_scheme),
                "task": row.task,
                **{name: value for name, value in group.key.items() if name != "task"},
                "metric": self.metric,
                "value": cell.value if cell else None,
                "runs": cell.runs if cell else 0,
                "missing": cell.missing if cell else 0,
                "errored": cell.errored if cell else 0,
                "task_mean": row.mean,
                "discrimination": row.discrimination,
                "difference": row.difference,
            }
            for row in self.tasks
            for group, cell in zip(self.groups, row.cells, strict=True)
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "profile": self.profile,
            "by": list(self.by),
            **scheme_dict(self.tier_scheme),
            "metrics": [self.metric],
            "sort": self.sort,
            "weight_by": self.weight_by,
            "unscored": self.unscored,
            "n": self.n,
            "baseline": None if self.baseline is None else dict(self.groups[self.baseline].key),
            "candidate": None if self.candidate is None else dict(self.groups[self.candidate].key),
            "groups": [
                {
                    "key": dict(group.key),
                    **tier_name_dict(group.key, self.tier_scheme),
                    "value": json_number(group.value),
                    "tasks": group.tasks,
                    "runs": group.runs,
                }
                for group in self.groups
            ],
            "tasks": [_task_dict(row) for row in self.tasks],
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _task_dict(row: MatrixTask) -> dict[str, Any]:  # Any: JSON values
    return {
        "task": row.task,
        "mean": json_number(row.mean),
        "discrimination": json_number(row.discrimination),
        "difference": json_number(row.difference),
        "cells": [
            None
            if cell is None
            else {
                "value": json_number(cell.value),
                "runs": cell.runs,
                "missing": cell.missing,
                "errored": cell.errored,
            }
            for cell in row.cells
        ],
    }
