"""Many attempts as one long table of benchmarks: speedups, validity and the failure rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from steelyard import metrics
from steelyard.metrics import Metric
from steelyard.records import Missing, Snapshot, TestResults
from steelyard.speedups._constants import AgentOnlyRule
from steelyard.speedups._failures import broke_tests, snapshot_failed, succeeded
from steelyard.speedups._sides import Flags, Floats, Ints, Pool, Side, pooled

IMPLAUSIBLE = 1e50
"""A speedup this far from 1 is no measurement, and sums of such numbers would overflow."""
ABSENT = -1
"""The row of a benchmark that a side does not have."""
NO_COST = Missing("no cost")
NO_TRAJECTORY = Missing("no log")
NO_ORACLE = Missing("no timings of a reference solution (oracle)")

CostOrigin = Literal["stated", "priced", "lower_bound"]
"""How a cost came to be known; of a lower bound, that at least so much was paid."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """One attempt of one agent at one task, with the baselines it is measured against."""

    task: str
    agent: str
    """The key `agent:model`."""
    nop: Side
    oracle: Side | None
    """Timings of the reference solution, if any."""
    side: Side
    number: int = 1
    nop_repeat: Side | None = None
    tests: TestResults | None = None
    oracle_tests: TestResults | None = None
    snapshot: Snapshot | None = None
    oracle_snapshot: Snapshot | None = None
    harness: bool | Missing | None = None
    """The verdict of the harness, or of the run record, or why there is none; None if there is neither."""
    cost_usd: float | Missing = NO_COST
    cost_origin: CostOrigin | None = None
    trajectory_length: int | Missing = NO_TRAJECTORY
    trajectory_origin: str | None = None

    @property
    def trial(self) -> str:
        """The task's name; later attempts carry their number."""
        return self.task if self.number == 1 else f"{self.task}#{self.number}"

    @property
    def pytest_failed(self) -> bool | Missing:
        """Whether the tests failed."""
        return broke_tests(self.tests, self.oracle_tests)

    @property
    def snapshot_failed(self) -> bool:
        """Whether the snapshot failed."""
        return snapshot_failed(self.snapshot)

    @property
    def success(self) -> bool | Missing:
        """Whether neither failed."""
        return succeeded(self.pytest_failed, self.snapshot_failed, self.harness)

    @property
    def is_judged(self) -> bool:
        """Whether anything was asked of it but its timings: tests, a snapshot, or a harness's verdict."""
        return not (self.tests is None and self.snapshot is None and self.harness is None)

    @property
    def fallback(self) -> bool:
        """Whether the agent is taken to have changed nothing."""
        return self.success is False


@dataclass(frozen=True, eq=False)
class BenchmarkTable:
    """One row for each benchmark measured under nop, attempt after attempt."""

    attempts: tuple[Attempt, ...]
    pool: Pool
    starts: Ints
    """First row of each attempt, and one after the last."""
    local: Ints
    """The row's position in its nop side."""
    nop_row: Ints
    """The row's place in the pool under nop."""
    oracle_row: Ints
    """Under oracle; -1 where it has none, or there is no oracle."""
    agent_row: Ints
    """Under the agent; -1 where it has none."""
    agent: Floats
    oracle: Floats
    """Speedups over nop as measured; NaN where there is none."""
    comparable: Flags
    """Valid on all sides except the agent's: nop and oracle, or nop only if there is no oracle."""
    counted: Flags
    """What enters the figures: valid ones, and by the profile's rule those that failed only under the agent."""
    effective: Floats
    """The agent's speedup after the failure rules; NaN where not counted."""

    @cached_property
    def attempt(self) -> Ints:
        """Which attempt a row belongs to."""
        return _attempt_of_rows(self.starts)

    @cached_property
    def valid(self) -> Flags:
        """Usable under all sides."""
        return self.comparable & np.isfinite(self.agent)

    @cached_property
    def agent_only(self) -> Flags:
        """Usable under all sides but the agent's."""
        return self.comparable & ~np.isfinite(self.agent)

    def rows(self, attempt: int) -> slice:
        """The rows of one attempt."""
        return slice(int(self.starts[attempt]), int(self.starts[attempt + 1]))

    def name(self, row: int) -> str:
        """The benchmark's name."""
        return self.attempts[int(self.attempt[row])].nop.names[int(self.local[row])]


def table_of(attempts: Sequence[Attempt], *, agent_only_failures: AgentOnlyRule = "drop") -> BenchmarkTable:
    """The benchmarks of these attempts with their speedups, computed over all of them at once."""
    trios = [(attempt.nop, attempt.oracle, attempt.side) for attempt in attempts]
    pool = pooled(side for trio in trios for side in trio if side is not None)
    measured = [np.flatnonzero(attempt.nop.measured) for attempt in attempts]
    nop, oracle, agent = (
        _joined([_pool_rows(trio[0], rows, trio[which], pool) for trio, rows in zip(trios, measured, strict=True)])
        for which in range(3)
    )
    starts = np.cumsum([0, *map(len, measured)])
    mine = _speedups(metrics.agent_speedup, "agent_median", pool, nop, agent)
    theirs = _speedups(metrics.oracle_speedup, "oracle_median", pool, nop, oracle)
    of_attempt = _attempt_of_rows(starts)
    without_oracle = np.array([attempt.oracle is None for attempt in attempts], dtype=bool)[of_attempt]
    unchanged = _speedups(metrics.agent_speedup, "agent_median", pool, nop, nop)
    comparable = np.isfinite(np.where(without_oracle, unchanged, theirs))
    effective, counted = _by_rules(attempts, of_attempt, mine, comparable, agent_only_failures)
    return BenchmarkTable(
        attempts=tuple(attempts),
        pool=pool,
        starts=starts,
        local=_joined(measured),
        nop_row=nop,
        oracle_row=oracle,
        agent_row=agent,
        agent=mine,
        oracle=theirs,
        comparable=comparable,
        counted=counted,
        effective=effective,
    )


def _attempt_of_rows(starts: Ints) -> Ints:
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _pool_rows(nop: Side, positions: Ints, side: Side | None, pool: Pool) -> Ints:
    """The side's row in the pool for each benchmark that nop measured."""
    if side is None:
        return np.full(len(positions), ABSENT)
    start = pool.row(side)
    if side.names == nop.names:
        return positions + start
    where = {name: start + index for index, name in enumerate(side.names)}
    return np.array([where.get(nop.names[position], ABSENT) for position in positions.tolist()], dtype=np.int64)


def _speedups(declared: Metric, changed: str, pool: Pool, nop: Ints, other: Ints) -> Floats:
    """The declared speedup of each row, or the stated one; NaN unless all of it is finite and above 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before, after = pool.medians[nop], pool.medians[other]
        speedup: Floats = declared.function(**{"nop_median": before, changed: after})
        speedup[~((before > 0) & (after > 0))] = np.nan
        if pool.stated is not None:
            stated = pool.stated[other] / pool.stated[nop]
            speedup = np.where(np.isfinite(speedup), speedup, stated)
        speedup[~((speedup > 1 / IMPLAUSIBLE) & (speedup < IMPLAUSIBLE)) | (other == ABSENT)] = np.nan
    return speedup


def _by_rules(
    attempts: Sequence[Attempt], attempt: Ints, agent: Floats, comparable: Flags, rule: AgentOnlyRule
) -> tuple[Floats, Flags]:
    """The agent's speedups after both failure rules, and what of them counts."""
    usable = np.isfinite(agent)
    counted = comparable & usable
    effective = np.where(counted, agent, np.nan)
    agent_only = comparable & ~usable
    if rule != "drop" and agent_only.any():
        worst = np.ones(len(attempts))
        if rule == "worst":
            np.minimum.at(worst, attempt[counted], agent[counted])
        effective[agent_only] = worst[attempt[agent_only]]
        counted = comparable
    fallback = np.array([failed.fallback for failed in attempts], dtype=bool)
    if fallback.any():
        effective[fallback[attempt] & counted] = 1.0
    return effective, counted
