"""Answer of `speedup`: speedups of attempts, and figures of each agent over its tasks."""

from __future__ import annotations

from typing import ClassVar

from steelyard.questions._answer import Answer, Rows
from steelyard.records import Finding
from steelyard.speedups import SpeedupAttempt, SpeedupRun, SpeedupSummary

CURVES = {
    "pass_at_k": "pass@k",
    "pass_at_k_beyond": "pass@k_beyond",
    "opt_at_k": "opt@k",
    "fast_p": "fast_p",
    "opt_p": "opt_p",
}
"""Figures of an agent with several values, by field, with their names in the JSON."""


class SpeedupResult(Answer, frozen=True, kw_only=True):
    """Speedups of one task or of several tasks.

    A row is an agent over its tasks (no task), an attempt (no benchmark) or a benchmark of an attempt.
    """

    rows: ClassVar[Rows] = Rows(
        "summary",
        "attempts",
        "attempts.per_benchmark_speedups",
        keep=("profile",),
        without=(*CURVES, "counts", "counts_by_k", "missing"),
        keys={"summary": "agent", "per_benchmark_speedups": "benchmark"},
        ids={"attempts": ("task", "number", "agent")},
    )
    profile: str
    unscored: str
    """What an attempt without a verdict counts as: `fail` (not successful) or `exclude` (excluded)."""
    summary: dict[str, SpeedupSummary]
    """By agent."""
    run: SpeedupRun
    attempts: tuple[SpeedupAttempt, ...]
    """In order of task, number and agent."""
    findings: tuple[Finding, ...]
    rejected_count: int
    """Number of rejected records or files."""

    @property
    def tasks(self) -> list[str]:
        """The tasks in order."""
        return list(dict.fromkeys(attempt.task for attempt in self.attempts))

    @property
    def about(self) -> str:
        """Short summary, for `repr`."""
        return f"{len(self.attempts):,} attempts on {len(self.tasks):,} tasks by {len(self.summary)} agents"

    @property
    def is_empty(self) -> bool:
        """Whether no benchmark of any attempt could be compared."""
        return not any(attempt.num_valid_benchmarks for attempt in self.attempts)
