"""Many attempts as one long table of benchmarks: speedups, validity, the failure rules, task speedup and advantages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.records.missing import Missing
from steelyard.records.run import Snapshot, TestResults
from steelyard.speedups._failures import snapshot_failed, succeeded, tests_failed
from steelyard.speedups._options import AgentOnlyRule
from steelyard.speedups._sides import Flags, Floats, Ints, Pool, Side, pooled

ABSENT = -1
NO_COST = Missing("no cost is given")
NO_TRAJECTORY = Missing("no log is given")


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
    trajectory_length: int | Missing = NO_TRAJECTORY
    trajectory_origin: str | None = None

    @property
    def trial(self) -> str:
        """The task's name; later attempts carry their number."""
        return self.task if self.number == 1 else f"{self.task}#{self.number}"

    @cached_property
    def pytest_failed(self) -> bool | Missing:
        """Whether the tests failed."""
        return tests_failed(self.tests, self.oracle_tests)

    @cached_property
    def snapshot_failed(self) -> bool:
        """Whether the snapshot failed."""
        return snapshot_failed(self.snapshot)

    @cached_property
    def success(self) -> bool | Missing:
        """Whether neither failed."""
        return succeeded(self.pytest_failed, self.snapshot_failed)

    @property
    def fallback(self) -> bool:
        """Whether the agent is taken to have changed nothing."""
        return self.success is False


@dataclass(frozen=True, eq=False)
class Table:
    """One row for each benchmark measured under nop, attempt after attempt."""

    attempts: tuple[Attempt, ...]
    pool: Pool
    starts: Ints
    """First row of each attempt, and one past the last."""
    attempt: Ints
    """Which attempt a row belongs to."""
    local: Ints
    """The row's position in its nop side."""
    nop_row: Ints
    oracle_row: Ints
    agent_row: Ints
    """Rows in the pool; -1 where the side does not have the benchmark."""
    agent: Floats
    oracle: Floats
    """Speedups over nop as measured; NaN where there is none."""
    valid: Flags
    """Usable under all three."""
    agent_only: Flags
    """Usable but for the agent's side."""
    counted: Flags
    """What enters the figures: valid ones, and by the profile's rule those that failed only under the agent."""
    effective: Floats
    """The agent's speedup after the failure rules; NaN where not counted."""
    task_speedup: Floats
    advantages: Floats
    """One row for each attempt, one column for each level; NaN where nothing counts."""

    def rows(self, attempt: int) -> slice:
        """The rows of one attempt."""
        return slice(int(self.starts[attempt]), int(self.starts[attempt + 1]))

    def name(self, row: int) -> str:
        """The benchmark's name."""
        return self.attempts[int(self.attempt[row])].nop.names[int(self.local[row])]


def table_of(attempts: Sequence[Attempt], *, agent_only_failures: AgentOnlyRule = "drop") -> Table:
    """Everything the specification asks of these attempts, computed over all of them at once."""
    pool = pooled([side for one in attempts for side in (one.nop, one.oracle, one.side)])
    local, nop_row, oracle_row, agent_row = _rows(attempts, pool)
    sizes = np.array([len(one) for one in local], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    attempt = np.repeat(np.arange(len(attempts)), sizes)
    nop_rows, oracle_rows, agent_rows = _joined(nop_row), _joined(oracle_row), _joined(agent_row)
    agent = _speedup(pool, nop_rows, agent_rows)
    oracle = _speedup(pool, nop_rows, oracle_rows)
    comparable = np.isfinite(oracle)
    usable = np.isfinite(agent)
    valid, agent_only = comparable & usable, comparable & ~usable
    effective, counted = _by_rules(attempts, attempt, agent, valid, agent_only, agent_only_failures)
    task_speedup, advantages = _figures(attempts, attempt, local, effective, oracle, counted)
    return Table(
        attempts=tuple(attempts),
        pool=pool,
        starts=starts,
        attempt=attempt,
        local=_joined(local),
        nop_row=nop_rows,
        oracle_row=oracle_rows,
        agent_row=agent_rows,
        agent=agent,
        oracle=oracle,
        valid=valid,
        agent_only=agent_only,
        counted=counted,
        effective=effective,
        task_speedup=task_speedup,
        advantages=advantages,
    )


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _rows(attempts: Sequence[Attempt], pool: Pool) -> tuple[list[Ints], list[Ints], list[Ints], list[Ints]]:
    """For each attempt the positions of its benchmarks: in nop, and in the pool for each of the three sides."""
    measured: dict[int, Ints] = {}
    found: dict[tuple[int, int], Ints] = {}
    columns: tuple[list[Ints], list[Ints], list[Ints], list[Ints]] = ([], [], [], [])
    for one in attempts:
        positions = measured.setdefault(id(one.nop), np.flatnonzero(one.nop.measured))
        columns[0].append(positions)
        columns[1].append(positions + pool.row(one.nop))
        for column, side in ((columns[2], one.oracle), (columns[3], one.side)):
            key = (id(one.nop), id(side))
            if key not in found:
                found[key] = _matched(one.nop, positions, side, pool.row(side))
            column.append(found[key])
    return columns


def _matched(nop: Side, positions: Ints, side: Side, start: int) -> Ints:
    if side.names == nop.names:
        return positions + start
    where = {name: start + index for index, name in enumerate(side.names)}
    return np.array([where.get(nop.names[position], ABSENT) for position in positions.tolist()], dtype=np.int64)


def _speedup(pool: Pool, nop: Ints, other: Ints) -> Floats:
    """median(nop) / median(other), or the stated speedup; NaN unless all that goes in is finite and above 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before, after = pool.medians[nop], pool.medians[other]
        speedup = before / after
        speedup[~((before > 0) & (after > 0))] = np.nan
        if np.isfinite(pool.stated).any():
            stated = pool.stated[other] / pool.stated[nop]
            speedup = np.where(np.isfinite(speedup), speedup, stated)
        speedup[~(np.isfinite(speedup) & (speedup > 0)) | (other == ABSENT)] = np.nan
    return speedup


def _by_rules(
    attempts: Sequence[Attempt], attempt: Ints, agent: Floats, valid: Flags, agent_only: Flags, rule: AgentOnlyRule
) -> tuple[Floats, Flags]:
    """The agent's speedups after both failure rules, and what of them counts."""
    effective = np.where(valid, agent, np.nan)
    counted = valid
    if rule != "drop" and agent_only.any():
        counted = valid | agent_only
        worst = np.ones(len(attempts))
        if rule == "worst":
            np.minimum.at(worst, attempt[valid], agent[valid])
        effective[agent_only] = worst[attempt[agent_only]]
    fallback = np.array([one.fallback for one in attempts], dtype=bool)
    if fallback.any():
        effective[fallback[attempt] & counted] = 1.0
    return effective, counted


def _figures(
    attempts: Sequence[Attempt], attempt: Ints, local: list[Ints], effective: Floats, oracle: Floats, counted: Flags
) -> tuple[Floats, Floats]:
    """Task speedup and the advantage at each level, for every attempt."""
    everything = bool(counted.all())
    of_attempt = attempt if everything else attempt[counted]
    mine = np.log(effective if everything else effective[counted])
    theirs = np.log(oracle if everything else oracle[counted])
    sizes = np.bincount(of_attempt, minlength=len(attempts))
    with np.errstate(divide="ignore", invalid="ignore"):
        gmean = np.exp(np.bincount(of_attempt, mine, minlength=len(attempts)) / sizes)
        expert = np.exp(np.bincount(of_attempt, theirs, minlength=len(attempts)) / sizes)
    advantages = np.empty((len(attempts), 4))
    advantages[:, 3] = gmean - expert
    for level in range(3):
        groups, owner = _groups(attempts, local, level)
        inside = groups if everything else groups[counted]
        advantages[:, level] = _mean_of_groups(inside, owner, mine, theirs, len(attempts))
    return gmean, advantages


def _groups(attempts: Sequence[Attempt], local: list[Ints], level: int) -> tuple[Ints, Ints]:
    """For each row the number of its group among the groups of all attempts, and for each group its attempt."""
    parts: list[Ints] = []
    widths = np.empty(len(attempts), dtype=np.int64)
    start = 0
    for index, (one, positions) in enumerate(zip(attempts, local, strict=True)):
        codes = one.nop.level_codes[level]
        inside = codes if len(positions) == len(codes) else codes[positions]
        width = int(codes.max()) + 1 if len(codes) else 0
        parts.append(inside + start)
        widths[index] = width
        start += width
    return _joined(parts), np.repeat(np.arange(len(attempts)), widths)


def _mean_of_groups(groups: Ints, owner: Ints, mine: Floats, theirs: Floats, attempts: int) -> Floats:
    sizes = np.bincount(groups, minlength=len(owner))
    held = sizes > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.exp(np.bincount(groups, mine, minlength=len(owner)) / sizes) - np.exp(
            np.bincount(groups, theirs, minlength=len(owner)) / sizes
        )
        total = np.bincount(owner[held], gap[held], minlength=attempts)
        return total / np.bincount(owner[held], minlength=attempts)
