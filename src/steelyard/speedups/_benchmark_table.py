"""Many attempts as one long table of benchmarks: speedups, validity, the failure rules, task speedup and advantages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from steelyard.records import Missing, Snapshot, TestResults
from steelyard.speedups._benchmark_rows import ABSENT, Rows, rows_of
from steelyard.speedups._constants import AgentOnlyRule
from steelyard.speedups._failures import broke_tests, snapshot_failed, succeeded
from steelyard.speedups._levels import level_means, levels_of
from steelyard.speedups._sides import Flags, Floats, Ints, Pool, Side, pooled

IMPLAUSIBLE = 1e50
"""A speedup this far from 1 is no measurement, and sums of such numbers would overflow."""
PORTION = 40_000
"""Rows that are worked on at a time."""
NO_COST = Missing("no cost is given")
NO_TRAJECTORY = Missing("no log is given")

CostOrigin = Literal["stated", "priced", "lower_bound"]
"""How a cost came to be known; of a lower bound, that at least so much was paid."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """One attempt of one agent at one task, with the two baselines it is measured against."""

    task: str
    agent: str
    """The key `agent:model`."""
    nop: Side
    oracle: Side
    side: Side
    number: int = 1
    nop_again: Side | None = None
    tests: TestResults | None = None
    oracle_tests: TestResults | None = None
    snapshot: Snapshot | None = None
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
        return succeeded(self.pytest_failed, self.snapshot_failed)

    @property
    def fallback(self) -> bool:
        """Whether the agent is taken to have changed nothing."""
        return self.success is False


@dataclass(frozen=True, eq=False)
class BenchmarkTable:
    """One row for each benchmark measured under nop, attempt after attempt."""

    attempts: tuple[Attempt, ...]
    pool: Pool
    positions: Rows
    agent: Floats
    oracle: Floats
    """Speedups over nop as measured; NaN where there is none."""
    counted: Flags
    """What enters the figures: valid ones, and by the profile's rule those that failed only under the agent."""
    effective: Floats
    """The agent's speedup after the failure rules; NaN where not counted."""
    task_speedup: Floats
    advantages: Floats
    """One row for each attempt, one column for each level; NaN where nothing counts."""

    @property
    def starts(self) -> Ints:
        """First row of each attempt, and one past the last."""
        return self.positions.starts

    @cached_property
    def attempt(self) -> Ints:
        """Which attempt a row belongs to."""
        return np.repeat(np.arange(len(self.attempts)), np.diff(self.starts))

    @cached_property
    def local(self) -> Ints:
        """The row's position in its nop side."""
        return self.positions.local.numbers(0, len(self.attempts))

    @cached_property
    def nop_row(self) -> Ints:
        """The row's place in the pool under nop."""
        return self.positions.nop.numbers(0, len(self.attempts))

    @cached_property
    def oracle_row(self) -> Ints:
        """The row's place in the pool under oracle; -1 where it has none."""
        return self.positions.oracle.numbers(0, len(self.attempts))

    @cached_property
    def agent_row(self) -> Ints:
        """The row's place in the pool under the agent; -1 where it has none."""
        return self.positions.agent.numbers(0, len(self.attempts))

    @cached_property
    def valid(self) -> Flags:
        """Usable under all three."""
        return np.isfinite(self.agent) & np.isfinite(self.oracle)

    @cached_property
    def agent_only(self) -> Flags:
        """Usable but for the agent's side."""
        return np.isfinite(self.oracle) & ~np.isfinite(self.agent)

    def rows(self, attempt: int) -> slice:
        """The rows of one attempt."""
        return slice(int(self.starts[attempt]), int(self.starts[attempt + 1]))

    def name(self, row: int) -> str:
        """The benchmark's name."""
        return self.attempts[int(self.attempt[row])].nop.names[int(self.local[row])]


def table_of(attempts: Sequence[Attempt], *, agent_only_failures: AgentOnlyRule = "drop") -> BenchmarkTable:
    """Everything the specification asks of these attempts, computed over many of them at once."""
    pool = pooled(side for one_attempt in attempts for side in (one_attempt.nop, one_attempt.oracle, one_attempt.side))
    positions = rows_of([(one_attempt.nop, one_attempt.oracle, one_attempt.side) for one_attempt in attempts], pool)
    starts = positions.starts
    size = int(starts[-1])
    agent, oracle, effective = np.empty(size), np.empty(size), np.empty(size)
    counted = np.empty(size, dtype=bool)
    task_speedup, advantages = np.empty(len(attempts)), np.empty((len(attempts), 4))
    for first, last in _portions(starts):
        rows, some = slice(int(starts[first]), int(starts[last])), slice(first, last)
        nop = positions.nop.numbers(first, last)
        agent[rows] = _speedup(pool, nop, positions.agent.numbers(first, last))
        oracle[rows] = _speedup(pool, nop, positions.oracle.numbers(first, last))
        attempt = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        effective[rows], counted[rows] = _by_rules(
            attempts[some], attempt, agent[rows], oracle[rows], agent_only_failures
        )
        task_speedup[some], advantages[some] = _figures(
            attempts[some], starts[first : last + 1] - starts[first], effective[rows], oracle[rows], counted[rows]
        )
    return BenchmarkTable(
        attempts=tuple(attempts),
        pool=pool,
        positions=positions,
        agent=agent,
        oracle=oracle,
        counted=counted,
        effective=effective,
        task_speedup=task_speedup,
        advantages=advantages,
    )


def _portions(starts: Ints) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) attempt of portions whose rows fit the cache: touching fresh memory costs most."""
    attempts = len(starts) - 1
    first = 0
    while first < attempts:
        last = int(np.searchsorted(starts, starts[first] + PORTION, side="right")) - 1
        last = min(max(last, first + 1), attempts)
        yield first, last
        first = last


def _speedup(pool: Pool, nop: Ints, other: Ints) -> Floats:
    """median(nop) / median(other), or the stated speedup; NaN unless all of it is finite and above 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before, after = pool.medians[nop], pool.medians[other]
        speedup = before / after
        speedup[~((before > 0) & (after > 0))] = np.nan
        if pool.stated is not None:
            stated = pool.stated[other] / pool.stated[nop]
            speedup = np.where(np.isfinite(speedup), speedup, stated)
        speedup[~((speedup > 1 / IMPLAUSIBLE) & (speedup < IMPLAUSIBLE)) | (other == ABSENT)] = np.nan
    return speedup


def _by_rules(
    attempts: Sequence[Attempt], attempt: Ints, agent: Floats, oracle: Floats, rule: AgentOnlyRule
) -> tuple[Floats, Flags]:
    """The agent's speedups after both failure rules, and what of them counts."""
    comparable = np.isfinite(oracle)
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
    fallback = np.array([one_attempt.fallback for one_attempt in attempts], dtype=bool)
    if fallback.any():
        effective[fallback[attempt] & counted] = 1.0
    return effective, counted


def _figures(
    attempts: Sequence[Attempt], starts: Ints, effective: Floats, oracle: Floats, counted: Flags
) -> tuple[Floats, Floats]:
    """Task speedup and the advantage at each level, for every attempt."""
    nops = {id(attempt.nop): attempt.nop for attempt in attempts}
    order = dict(zip(nops, range(len(nops)), strict=True))
    which = np.array([order[id(attempt.nop)] for attempt in attempts], dtype=np.int64)
    levels = levels_of(list(nops.values()))
    if not counted.all():
        mine = level_means(levels, which, effective, counted=counted)
        return mine[:, 3], mine - level_means(levels, which, oracle, counted=counted)
    mine = level_means(levels, which, effective, counted=None)
    pairs: dict[tuple[int, int], int] = {}
    pair = np.array(
        [pairs.setdefault((id(attempt.nop), id(attempt.oracle)), len(pairs)) for attempt in attempts], dtype=np.int64
    )
    first = np.unique(pair, return_index=True)[1]
    once = np.concatenate([oracle[starts[index] : starts[index + 1]] for index in first.tolist()])
    return mine[:, 3], mine - level_means(levels, which[first], once, counted=None)[pair]
