"""Table of the benchmarks of many attempts: speedups, validity and the failure rules.

A `Side` contains the benchmarks of one version of the code as columns. Many sides are pooled, so that arithmetic runs
once. If an attempt fails, the failure rules treat the agent as having changed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard import metrics
from steelyard.metrics import Metric
from steelyard.questions.speedup._inputs import AgentOnlyRule
from steelyard.records import SECONDS, BenchmarkPlace, Missing, Snapshot, TestResults, Timing, TimingStatus

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """One version of the code (nop, oracle or an agent's) with its benchmarks, sorted by name."""

    names: tuple[str, ...]
    places: tuple[BenchmarkPlace, ...]
    values: Floats
    """All samples, benchmark after benchmark."""
    counts: Ints
    """How many samples each benchmark has."""
    medians: Floats
    """The median that the tool stated; NaN where it stated none. Samples win over it."""
    statuses: tuple[TimingStatus, ...]
    stated: Floats | None = None
    """Speedup over nop, in files that state this instead of times; None elsewhere."""
    versions: tuple[str | None, ...] = ()
    environments: frozenset[str] = frozenset()
    processes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Sizes of the processes of a benchmark (by position), where they are known and matter."""
    intervals99: Floats | None = None
    """The tool's own 99% CIs, low and high; asv's rule falls back on them."""
    rounds: Ints | None = None
    """How many samples the tool took, kept or not; -1 where that is unknown."""
    other_units: tuple[str, ...] = ()
    """Names that are not compared because they are not in seconds."""

    @cached_property
    def measured(self) -> Flags:
        """Which benchmarks have a number at all."""
        timed = (self.counts > 0) | np.isfinite(self.medians)
        return timed if self.stated is None else timed | np.isfinite(self.stated)

    @cached_property
    def measured_names(self) -> tuple[str, ...]:
        """The names of those."""
        return self.names if self.measured.all() else tuple(compress(self.names, self.measured.tolist()))

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """For each of those the number of its module, its class and its function."""
        places = list(compress(self.places, self.measured.tolist()))
        depths = {"modules": 1, "classes": 2, "functions": 3}
        return {name: _numbered(place[:depth] for place in places) for name, depth in depths.items()}


def _numbered(names: Iterable[tuple[str | None, ...]]) -> list[int]:
    """Each name as a number, in the order in which they first come."""
    numbers: dict[tuple[str | None, ...], int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def side_of(timings: Iterable[Timing]) -> Side:
    """The side that these timings make (sources see to it that no name comes twice); only seconds are kept."""
    everything = sorted(timings, key=lambda timing: timing.name)
    kept = [timing for timing in everything if timing.unit == SECONDS]
    samples = [timing.usable_samples if timing.status == "ok" else () for timing in kept]
    summaries = [timing.summary for timing in kept]
    return Side(
        names=tuple(timing.name for timing in kept),
        places=tuple(timing.place for timing in kept),
        values=np.array([value for own_samples in samples for value in own_samples], dtype=np.float64),
        counts=np.array([len(own_samples) for own_samples in samples], dtype=np.int64),
        medians=_floats(timing.summary.median if timing.summary and timing.status == "ok" else None for timing in kept),
        stated=_floats(timing.speedup for timing in kept) if any(timing.speedup for timing in kept) else None,
        statuses=tuple(timing.status for timing in kept),
        versions=tuple(timing.code_version for timing in kept),
        environments=frozenset(timing.environment for timing in kept if timing.environment),
        processes={
            index: timing.process_sizes
            for index, timing in enumerate(kept)
            if timing.process_sizes
            and max(timing.process_sizes) > 1
            and len(samples[index]) == len(timing.samples or ())
        },
        intervals99=np.column_stack(
            (
                _floats(summary.ci99_low if summary else None for summary in summaries),
                _floats(summary.ci99_high if summary else None for summary in summaries),
            )
        ),
        rounds=np.array(
            [-1 if summary is None or summary.rounds is None else summary.rounds for summary in summaries],
            dtype=np.int64,
        ),
        other_units=tuple(timing.name for timing in everything if timing.unit != SECONDS),
    )


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Pool:
    """Many sides one after another; rows are benchmarks."""

    sides: tuple[Side, ...]
    starts: dict[int, int]
    """First row of each side, by the side's identity."""
    counts: Ints
    """How many samples each row has."""
    offsets: Ints
    """Where each row's samples begin in `values`, and one after the last."""
    values: Floats
    """All samples, sorted within each row."""
    medians: Floats
    """Median of the samples, else the one the tool stated; NaN where there is neither."""
    stated: Floats | None
    """Speedups over nop that files state instead of times; None when no side has any."""

    def row(self, side: Side) -> int:
        """The side's first row."""
        return self.starts[id(side)]


def pooled(sides: Iterable[Side]) -> Pool:
    """All distinct sides in one pool, with the median of every row."""
    distinct = tuple({id(side): side for side in sides}.values())
    lengths = [len(side.names) for side in distinct]
    counts = np.concatenate([np.empty(0, dtype=np.int64), *(side.counts for side in distinct)])
    values = np.concatenate([np.empty(0), *(side.values for side in distinct)])
    medians = np.concatenate([np.empty(0), *(side.medians for side in distinct)])
    offsets = np.concatenate(([0], np.cumsum(counts)))
    for size, rows, block in blocks(values, offsets, counts):
        block.sort(axis=1)
        values[offsets[rows][:, None] + np.arange(size)] = block
        with np.errstate(over="ignore"):  # an overflowing median is infinite, hence not valid
            medians[rows] = (block[:, (size - 1) // 2] + block[:, size // 2]) / 2
    stated = None
    if any(side.stated is not None for side in distinct):
        stated = np.concatenate(
            [np.full(len(side.names), np.nan) if side.stated is None else side.stated for side in distinct]
        )
    starts = {id(side): start for side, start in zip(distinct, accumulate(lengths, initial=0), strict=False)}
    return Pool(distinct, starts, counts, offsets, values, medians, stated)


def blocks(values: Floats, offsets: Ints, counts: Ints) -> Iterator[tuple[int, Ints, Floats]]:
    """Rows of equal length as matrices: sample count, rows, samples."""
    for size in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == size)
        yield size, rows, values[offsets[rows][:, None] + np.arange(size)]


NO_TESTS = Missing("no test results")
NO_TEST_RAN = Missing("no test ran")


def broke_tests(tests: TestResults | None, oracle: TestResults | None) -> bool | Missing:
    """Return whether tests fail because of the agent; missing without results.

    If the reference solution's results are known, its failures are allowed: by name if both give names, so
    that breaking any other test is a failure; by count otherwise.
    """
    if tests is None:
        return NO_TESTS
    if not tests.total:
        return NO_TEST_RAN  # which is no pass; the harness may have said more
    if oracle is None:
        return tests.not_passed > 0
    mine, theirs = _failing(tests), _failing(oracle)
    if mine is not None and theirs is not None:
        return bool(mine - theirs)
    return tests.not_passed > oracle.not_passed


def _failing(tests: TestResults) -> set[str] | None:
    """Names of the tests that did not pass; None where only their number is known."""
    names: set[str] = set()
    for part in (tests.failed, tests.errors):
        if isinstance(part, int) and part > 0:
            return None
        if isinstance(part, tuple):
            names.update(part)
    return names


def snapshot_failed(snapshot: Snapshot | None) -> bool:
    """Whether behavior changed: a status other than `passed`, or something that passed before and fails now.

    No snapshot is no failure; where the format demands one, its reader sets another status.
    """
    return snapshot is not None and (snapshot.status != "passed" or (snapshot.pass_to_fail or 0) > 0)


def succeeded(tests: bool | Missing, snapshot: bool, harness: bool | Missing | None = None) -> bool | Missing:
    """Whether the attempt broke neither.

    Unknown where a harness gave it no verdict, or where its tests are unknown and there is no harness. What the
    tests or the snapshot show to be broken has failed in any case.
    """
    if snapshot or tests is True:
        return False
    if isinstance(harness, Missing):
        return harness
    if isinstance(tests, Missing):
        return tests if harness is None else harness
    return True


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
        """Whether the agent is taken to have changed nothing; the baselines are what they are."""
        return self.success is False and self.agent.split(":", 1)[0].lower() not in ("nop", "oracle")


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
