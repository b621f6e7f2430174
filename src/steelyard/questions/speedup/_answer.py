"""Answer of `speedup`: speedups of attempts, and figures of each agent over its tasks."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Rows
from steelyard.records import Finding
from steelyard.statistics import Interval

Verdict = Literal["faster", "slower", "unclear", "unknown"]


class BenchmarkSpeedup(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Speedups of one benchmark. There may be millions, and a struct needs a quarter of the memory of a dictionary."""

    agent_speedup: float | None = msgspec.field(name="agent/nop")
    """Speedup of the agent's code, after the failure rules; None if a side has no usable number."""
    oracle_speedup: float | None = msgspec.field(name="oracle/nop")
    """Speedup of the reference solution."""
    advantage: float | None
    """Speedup of the agent's code minus that of the reference solution."""
    agent_status: str
    oracle_status: str
    log_speedup: float | None
    """Log of the measured speedup; this and the next fields are None if no intervals were requested."""
    log_speedup_low: float | None
    log_speedup_high: float | None
    log_ratio: float | None
    """Log of the agent's speedup divided by that of the reference solution."""
    log_ratio_low: float | None
    log_ratio_high: float | None
    verdict: Verdict | None
    samples: str | None
    """Sampling assumption of the interval: independent, correlated or processes; None without an interval."""


class BenchmarkLevel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A module, class, function or benchmark with the geometric means of its benchmarks."""

    name: str
    agent_speedup: float | None
    """None if no benchmark of it is included."""
    oracle_speedup: float | None
    """Speedup of the reference solution; None if there is none."""
    low: float | None
    """Lower bound of the interval of a single benchmark or of the mean over all; None for other means."""
    high: float | None
    num_benchmarks: int
    num_valid_benchmarks: int
    is_noise: bool
    """Whether none of its benchmarks shows a change; for the mean over all, whether it shows none itself."""


class PytestSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Test results of an attempt."""

    passed: int
    failed: int
    error: int
    total: int
    status: str
    failed_total: int


class SnapshotSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Snapshot-test results of an attempt."""

    status: str
    pass_to_fail: int | None


class SpeedupAttempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One attempt of one agent at one task. The fields up to `trajectory_length` are those of the specification."""

    task: str
    number: int
    agent: str
    """The key `agent:model`."""
    per_benchmark_speedups: dict[str, BenchmarkSpeedup]
    pytest_summary: PytestSummary | None
    snapshot_summary: SnapshotSummary | None
    pytest_failed: bool | None
    snapshot_failed: bool
    success: bool | None
    fallback_to_baseline: bool
    agent_advantage: float | None
    agent_advantage_level1: float | None
    agent_advantage_level2: float | None
    agent_advantage_level3: float | None
    agent_advantage_level4: float | None
    num_benchmarks: int
    num_valid_benchmarks: int
    task_speedup: float | None
    task_cost_usd: float | None
    trajectory_length: int | None
    num_agent_only_failures: int
    """Benchmarks that fail only with the agent's code."""
    cost_origin: str | None
    trajectory_origin: str | None
    measures: dict[str, float | None]
    """Additional metrics of the attempt by name, those of plug-ins included."""
    missing: dict[str, str]
    """Reasons for missing values by field or metric."""
    levels: tuple[BenchmarkLevel, ...]
    """Benchmarks by module, class and function; empty if there are several tasks."""

    @property
    def trial(self) -> str:
        """The task; later attempts have their number appended."""
        return self.task if self.number == 1 else f"{self.task}#{self.number}"

    @property
    def key(self) -> str:
        """The agent; later attempts have their number appended."""
        return self.agent if self.number == 1 else f"{self.agent}#{self.number}"


class SampleCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Number of tasks or attempts that a figure is based on, and their total number."""

    n: int
    of: int


class SpeedupSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures of one agent over its tasks. The fields up to `total_cost` are those of the specification."""

    mean_speedup: float | None
    mean_success_rate: float | None
    num_benchmarks: int
    num_valid_benchmarks: int
    agent_advantage: float | None
    agent_advantage_level1: float | None
    agent_advantage_level2: float | None
    agent_advantage_level3: float | None
    agent_advantage_level4: float | None
    mean_cost_per_task: float | None
    cost_weighted_advantage: float | None
    mean_trajectory_length: float | None
    accuracy: float | None
    pass_at_k: dict[str, float] | None = msgspec.field(name="pass@k")
    total_cost: float | None
    mean_log_advantage: float | None
    log_advantage_interval: Interval
    """Interval of the mean log advantage over tasks."""
    speedup_ratio_gmean_over_tasks: float | None
    speedup_ratio_hmean_over_tasks: float | None
    max_fraction: float | None
    pareto_optimal: bool | None
    """Whether no other agent is better in both cost and gain; None if its cost or gain is unknown."""
    tasks: int
    """Tasks with a log advantage."""
    fast_p: dict[str, float] | None
    opt_p: dict[str, float] | None
    opt_at_k: dict[str, float] | None = msgspec.field(name="opt@k")
    pass_at_k_beyond: dict[str, float] = msgspec.field(name="pass@k_beyond")
    """Estimates for larger k, over the tasks that have enough attempts."""
    counts: dict[str, SampleCount]
    """Number of tasks that each figure is based on; attempts for `accuracy`, `total_cost`, `fast_p` and `opt_p`."""
    counts_by_k: dict[str, dict[str, SampleCount]]
    """The same for each k."""
    missing: dict[str, str]
    """Reasons for missing figures."""


class SpeedupRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures over all agents."""

    accuracy: float | None
    pass_at_k: dict[str, float] | None = msgspec.field(name="pass@k")
    total_cost: float | None
    cost_by_agent_model: dict[str, float | None]
    counts: dict[str, SampleCount]
    counts_by_k: dict[str, dict[str, SampleCount]]
    missing: dict[str, str]


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
        tasks, agents = counted(len(self.tasks), "task"), counted(len(self.summary), "agent")
        return f"{counted(len(self.attempts), 'attempt')} on {tasks} by {agents}"

    @property
    def is_empty(self) -> bool:
        """Whether no benchmark of any attempt could be compared."""
        return not any(attempt.num_valid_benchmarks for attempt in self.attempts)
