"""What `matrix` gives: one metric of every task by every group, and what each task says about the groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, json_number
from steelyard.results._measurement import scheme_dict, tier_name_dict

MatrixSort = Literal["difficulty", "discrimination", "disagreement", "task"]


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The runs of one group at one task."""

    value: float | None
    """The metric over these runs; None where none of them has it."""
    runs: int
    """Runs with a value."""
    missing: int = 0
    """Runs without one."""
    errored: int = 0
    """Runs that ended in an error."""


@dataclass(frozen=True, slots=True)
class MatrixGroup:
    """One column: an agent, or whatever the runs are grouped by."""

    key: Mapping[str, str | int | None]
    value: float | None
    """The metric over all its tasks, weighted as the result says; None where no run has it."""
    tasks: int
    """Tasks with a value."""
    runs: int
    """Runs with a value."""


@dataclass(frozen=True, slots=True)
class MatrixTask:
    """One row: a task."""

    task: str
    cells: tuple[MatrixCell | None, ...]
    """One for each group, in their order; None where the group did not try the task."""
    mean: float | None
    """Mean of the cells' values, every group counting once; None where no cell has one."""
    discrimination: float | None
    """Mean of the groups that are above the middle on the other tasks, minus that of those below it. Above 0 the task
    agrees with the others about who is ahead, below 0 it contradicts them. None where there is nothing to split."""
    difference: float | None
    """B's value minus A's; None where two groups were not chosen or one of them has no value."""


@dataclass(frozen=True, repr=False)
class Matrix(Result):
    """Tasks by groups."""

    by: tuple[str, ...]
    tier_scheme: str | None
    """The scheme that all tiers are named by, where groups are made by tier; None where the key holds it."""
    metric: str
    sort: MatrixSort
    groups: tuple[MatrixGroup, ...]
    """In the order of their keys."""
    tasks: tuple[MatrixTask, ...]
    """In the order that was asked for."""
    baseline: int | None
    """The group that differences are taken from; None where two groups were not chosen."""
    candidate: int | None
    """The group that is compared with it."""
    n: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """What counts once in a group's own value: tasks or runs."""
    unscored: str = "exclude"
    """What a run without a verdict counts as: left out, or failed."""

    def _about(self) -> str:
        return f"{len(self.tasks):,} tasks x {len(self.groups):,} by {','.join(self.by)} on {self.metric}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a task and group; a pair that was not run has no runs and no value."""
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
