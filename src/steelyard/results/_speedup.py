"""Result of `speedup`: the specification's payload and our figures of each attempt, and summaries by agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, pandas_frame, polars_frame, versioned

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Fields = dict[str, Any]  # Any: JSON values


class BenchmarkSpeedup(msgspec.Struct, frozen=True, gc=False):
    """One benchmark's entry. A record takes a quarter of a dictionary's memory, and there are millions of them."""

    agent: float | None = msgspec.field(name="agent/nop")
    """The agent's speedup over nop, after the failure rules; None where a side has no usable number."""
    oracle: float | None = msgspec.field(name="oracle/nop")
    """Speedup of the reference solution."""
    advantage: float | None
    """The agent's speedup minus the reference solution's."""


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The specification's fields of one attempt; None where a value is missing."""

    per_benchmark_speedups: dict[str, BenchmarkSpeedup]
    pytest_summary: dict[str, int | str] | None
    snapshot_summary: dict[str, int | str | None] | None
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


@dataclass(frozen=True, slots=True)
class BenchmarkNode:
    """A branch or leaf of the tree with its geometric means."""

    label: str
    agent: float | None
    """Geometric mean of the agent's speedups below it; None where nothing counts."""
    oracle: float | None
    """The reference solution's; None if there is none."""
    size: int
    """Benchmarks below it, valid or not."""
    valid: int
    low: float | None
    """Lower end of the interval of a single benchmark's speedup; None for a mean, and where there is no interval."""
    high: float | None
    """Upper end."""
    is_noise: bool
    """Whether no benchmark below it shows a change: the verdict of each that counts is `unclear`."""
    children: tuple[BenchmarkNode, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeedupSummary:
    """Run-level figures of one agent."""

    fields: Fields
    """The specification's, by its names; None where one is missing."""
    missing: dict[str, str]
    """Why."""
    counts: Fields
    """From how many tasks of how many each was made (`accuracy` and `total_cost`: attempts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedupAttempt:
    """One attempt of one agent at one task."""

    task: str
    trial: str
    """The task's name; later attempts carry their number."""
    number: int
    agent: str
    """The key `agent:model`."""
    payload: Payload
    missing: Mapping[str, str]
    """Why a field of the payload is missing."""
    measures: Fields
    """Our figures."""
    benchmarks: Mapping[str, Fields]
    """Statuses, intervals and verdict of each benchmark; empty when they were not asked for."""
    tree: BenchmarkNode | None
    """The benchmarks by module, class and function; None where the input is more than one task's files."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SpeedupResult(Result):
    """Speedups of one task's files, or of many tasks."""

    profile: str
    unscored: str
    """What an attempt without a verdict counts as: `fail` (not successful) or `exclude` (left out)."""
    many: bool
    """Whether the input was a folder or an FC-Eval file."""
    attempts: tuple[SpeedupAttempt, ...]
    """In order of task, number and agent."""
    summaries: Mapping[str, SpeedupSummary]
    """The specification's run-level figures of each agent."""
    overall: Mapping[str, Fields]
    """Our figures of each agent over its tasks."""
    run: Fields
    """The figures of all agents together."""
    coverage: Mapping[str, Mapping[str, int]]
    """How many attempts each agent made at each task."""
    findings: tuple[Finding, ...]
    usable: bool
    """Whether any benchmark of any attempt could be compared."""
    rejected_count: int = 0
    """How many records or files were rejected."""

    def _about(self) -> str:
        return f"{len(self.attempts):,} attempts on {len(self.coverage):,} tasks by {len(self.summaries)} agents"

    def _shape(self) -> Fields:
        return self._parts(msgspec.to_builtins)

    def to_json(self) -> str:
        """The documented JSON shape as indented text, without making a dictionary of each benchmark first."""
        encoded = msgspec.json.encode(versioned(self._parts(lambda payload: payload)))
        return msgspec.json.format(encoded, indent=2).decode()

    def _parts(self, shown: Callable[[Payload], Any]) -> Fields:
        parts: Fields = {"profile": self.profile, "unscored": self.unscored}
        parts |= {"tasks": {}} if self.many else {"agents": {}, "measures": {}, "missing": {}}
        for task, key, attempt in self.placed():
            part = parts
            if self.many:
                part = parts["tasks"].setdefault(task, {"agents": {}, "measures": {}, "missing": {}})
            part["agents"][key], part["missing"][key] = shown(attempt.payload), dict(attempt.missing)
            part["measures"][key] = attempt.measures | {"benchmarks": attempt.benchmarks}
        parts["summary"] = {key: summary.fields for key, summary in self.summaries.items()}
        parts["summary_missing"] = {key: summary.missing for key, summary in self.summaries.items()}
        parts["summary_counts"] = {key: summary.counts for key, summary in self.summaries.items()}
        parts["overall"] = dict(self.overall)
        parts["run"] = self.run
        parts["coverage"] = {task: dict(agents) for task, agents in self.coverage.items()}
        parts["findings"] = [finding_dict(finding) for finding in self.findings]
        return parts

    def placed(self) -> Iterator[tuple[str, str, SpeedupAttempt]]:
        """Each attempt with its task and its agent's key, numbered where one task has several of an agent."""
        seen: set[tuple[str, str]] = set()
        for attempt in self.attempts:
            task = attempt.trial if self.many else next(iter(self.coverage))
            key = attempt.agent if (task, attempt.agent) not in seen else f"{attempt.agent}#{attempt.number}"
            seen.add((task, key))
            yield task, key, attempt

    def to_dicts(self, *, per_benchmark: bool = False) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one row per attempt, or per benchmark with `per_benchmark`."""
        return list(self._benchmark_rows() if per_benchmark else self._attempt_rows())

    def _attempt_rows(self) -> Iterator[Fields]:
        for task, key, attempt in self.placed():
            fields = msgspec.structs.asdict(attempt.payload) | attempt.measures
            plain = {name: value for name, value in fields.items() if name not in _NESTED}
            yield {"profile": self.profile, "task": task, "agent": key, **plain}

    def _benchmark_rows(self) -> Iterator[Fields]:
        for task, key, attempt in self.placed():
            for name, speedups in attempt.payload.per_benchmark_speedups.items():
                row = {"profile": self.profile, "task": task, "agent": key, "benchmark": name}
                yield row | msgspec.to_builtins(speedups) | attempt.benchmarks.get(name, {})

    def to_polars(self, *, per_benchmark: bool = False) -> pl.DataFrame:
        """Return `to_dicts` as a Polars frame."""
        return polars_frame(self.to_dicts(per_benchmark=per_benchmark))

    def to_pandas(self, *, per_benchmark: bool = False) -> pd.DataFrame:
        """Return `to_dicts` as a pandas frame."""
        return pandas_frame(self.to_dicts(per_benchmark=per_benchmark))


_NESTED = frozenset({"per_benchmark_speedups", "pytest_summary", "snapshot_summary", "missing", "advantage_by_level"})
