"""Answer of `matrix`: one metric of every task by every group, with task discrimination."""

from __future__ import annotations

from typing import ClassVar, Literal

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Finding

TaskOrder = Literal["difficulty", "discrimination", "disagreement", "task"]


class MatrixCell(Part, frozen=True, kw_only=True):
    """Runs of one group on one task."""

    value: float | None
    """Metric over these runs; None if no run has a value."""
    runs: int
    """Runs with a value."""
    missing: int
    """Runs without a value."""
    errored: int
    """Runs that ended in an error."""


class MatrixGroup(Part, frozen=True, kw_only=True):
    """One column: an agent or another group."""

    key: dict[str, str | int | None]
    tier_name: str | None
    """Meaning of the tier; None without a tier or in a scheme that does not define it."""
    value: float | None
    """Metric over all its tasks, with the weighting of the answer; None if no run has a value."""
    tasks: int
    """Tasks with a value."""
    runs: int
    """Runs with a value."""


class MatrixTask(Part, frozen=True, kw_only=True):
    """One row: a task."""

    task: str
    mean: float | None
    """Mean of the cell values, weighting groups equally; None if no cell has a value."""
    discrimination: float | None
    """Mean value on this task of the groups above the median on the other tasks, minus that of the groups below it.
    Positive if the task agrees with the other tasks, negative if it contradicts them. None if the groups tie
    on the other tasks."""
    difference: float | None
    """Candidate minus baseline; None if two groups were not selected or one has no value."""
    cells: tuple[MatrixCell | None, ...]
    """One cell per group, in their order; None if the group did not attempt the task."""


class Matrix(Answer, frozen=True, kw_only=True):
    """Tasks by groups."""

    rows: ClassVar[Rows] = Rows("tasks.cells", keep=("tier_scheme", "metric"), parallel="groups")
    profile: str
    by: tuple[str, ...]
    tier_scheme: str | None
    """Common scheme of all tiers, when grouped by tier; None if the key contains it."""
    metric: str
    order: TaskOrder
    weight_by: str
    """Unit of analysis of the groups' values: tasks or runs."""
    unscored: str
    """Policy for runs without a verdict: exclude or fail."""
    n: int
    """Number of runs."""
    baseline: dict[str, str | int | None] | None
    """Key of the group to subtract; None if two groups were not selected."""
    candidate: dict[str, str | int | None] | None
    """Key of the group to subtract it from."""
    groups: tuple[MatrixGroup, ...]
    """Groups in the order of their keys."""
    tasks: tuple[MatrixTask, ...]
    """Tasks in the requested order."""
    findings: tuple[Finding, ...]
    rejected_count: int

    @property
    def about(self) -> str:
        """Tasks, groups and metric."""
        size = f"{counted(len(self.tasks), 'task')} x {counted(len(self.groups), 'group')}"
        return f"{size} by {','.join(self.by)} on {self.metric}"
