"""Numbers of an attempt: fields of the specification, declared metrics, and intervals and verdicts per benchmark."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from math import comb
from typing import Any, Literal

import numpy as np
from scipy import special

from steelyard import metrics
from steelyard.errors import UnknownNameError
from steelyard.metrics import Metric, catalog
from steelyard.questions.speedup._answer import (
    BenchmarkSpeedup,
    PytestSummary,
    SnapshotSummary,
    SpeedupAttempt,
    Verdict,
)
from steelyard.questions.speedup._benchmark_table import (
    ABSENT,
    NO_ORACLE,
    NO_TESTS,
    BenchmarkTable,
    Flags,
    Floats,
    Ints,
    Pool,
    Side,
    blocks,
    pooled,
)
from steelyard.questions.speedup._inputs import SpeedupConstants
from steelyard.records import Missing, Snapshot, TestResults
from steelyard.statistics import OverallSpeed, SessionTimes, log_median_error, speed_tests

EXACT_UP_TO = 20
_CELLS = 8_000_000


@cache
def _cumulative(m: int, n: int) -> Floats:
    """Return the cumulative distribution of U for u from 0 to m n, without ties, by integer counts."""
    ways = [1] + [0] * (m * n)
    for step in range(1, m + 1):
        # The generating function of U is a Gaussian binomial: multiply by (1 - q^(n+step)), divide by (1 - q^step).
        for u in range(m * n, n + step - 1, -1):
            ways[u] -= ways[u - n - step]
        for u in range(step, m * n + 1):
            ways[u] += ways[u - step]
    total = comb(m + n, m)
    reached, sums = 0, []
    for count in ways:
        reached += count
        sums.append(reached / total)
    return np.array(sums)


def mann_whitney_p(x: Floats, y: Floats) -> Floats:
    """Two-sided p-value for each row of two matrices of samples, ties broken toward no difference."""
    m, n = x.shape[1], y.shape[1]
    above = np.empty(len(x), dtype=np.int64)
    ties = np.empty(len(x), dtype=np.int64)
    step = max(1, _CELLS // (m * n))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        above[part] = (x[part, :, None] > y[part, None, :]).sum(axis=(1, 2))
        ties[part] = (x[part, :, None] == y[part, None, :]).sum(axis=(1, 2))
    half = m * n // 2
    ties = np.where((above <= half) & (above + ties >= half), half - above, ties)
    nearest = np.maximum(np.minimum(above, m * n - above), np.minimum(above + ties, m * n - above - ties))
    if max(m, n) > EXACT_UP_TO:
        spread = np.sqrt(m * n * (m + n + 1) / 12)
        return np.asarray(2 * special.ndtr((nearest - m * n / 2) / spread))
    cumulative = _cumulative(m, n)
    return np.asarray(cumulative[nearest] + 1 - cumulative[np.maximum(half, m * n - nearest - 1)])


def asv_changes(table: BenchmarkTable, *, p: float, factor: float) -> tuple[Flags, Flags]:
    """Return the rows that asv calls faster, and those it calls slower: significant and larger than a factor.

    Significant means a two-sided Mann-Whitney U test with ties broken against the finding, exact up to 20 samples per
    side and normal beyond. If so few samples cannot reach the level, or none were kept, the two 99% CIs must not
    overlap. A benchmark without statistics, or timed once, is judged by the factor alone.
    """
    before, after = table.nop_row, table.agent_row
    known = table.valid & (after != ABSENT)
    judged_by_factor = ~_both_repeated(table)
    different = _different(table, known & ~judged_by_factor, p)
    significant = known & (judged_by_factor | different)
    first, second = table.pool.medians[before], table.pool.medians[after]
    stated = ~np.isfinite(first) | ~np.isfinite(second)
    first, second = np.where(stated, table.agent, first), np.where(stated, 1.0, second)
    with np.errstate(invalid="ignore"):
        return significant & (second < first / factor), significant & (first < second / factor)


def _different(table: BenchmarkTable, asked: Flags, p: float) -> Flags:
    pool, before, after = table.pool, table.nop_row, table.agent_row
    low, high = _tool_intervals(table)
    with np.errstate(invalid="ignore"):
        overlap = (high[before] >= low[after]) & (low[before] <= high[after])
    # Without intervals a difference cannot be shown; asv itself would not have such a row.
    different = ~overlap & np.isfinite(high[before]) & np.isfinite(high[after])
    sizes = np.column_stack((pool.counts[before], pool.counts[after]))
    for m, n in np.unique(sizes[asked], axis=0).tolist():
        if min(m, n) == 0 or 1 / comb(m + n, min(m, n)) >= p:
            continue
        rows = np.flatnonzero(asked & (sizes[:, 0] == m) & (sizes[:, 1] == n))
        x, y = _block(table, before[rows], m), _block(table, after[rows], n)
        different[rows] = mann_whitney_p(x, y) < p
    return np.asarray(different)


def _block(table: BenchmarkTable, rows: Ints, count: int) -> Floats:
    return np.asarray(table.pool.values[table.pool.offsets[rows][:, None] + np.arange(count)])


def _tool_intervals(table: BenchmarkTable) -> tuple[Floats, Floats]:
    parts = [
        np.full((len(side.names), 2), np.nan) if side.intervals99 is None else side.intervals99
        for side in table.pool.sides
    ]
    ends = np.concatenate([np.empty((0, 2)), *parts])
    return ends[:, 0], ends[:, 1]


def _both_repeated(table: BenchmarkTable) -> Flags:
    """Rows that asv has statistics for on both sides, from more than one repetition."""
    parts = [
        np.where(side.counts > 0, side.counts, -1) if side.rounds is None else side.rounds for side in table.pool.sides
    ]
    rounds = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    several = (rounds > 1) | (table.pool.counts > 1)
    return np.asarray(several[table.nop_row] & several[table.agent_row])


CELLS = 4_000_000
"""Largest block of pairs of order statistics held at a time."""
_NEGLIGIBLE = 1e-12
MIN_PROCESSES = 5
MAX_CORRELATION = 0.95
"""Samples count for a fortieth of their number at least; a higher correlation cannot be distinguished from a trend."""

Basis = Literal["independent", "correlated", "processes"]
BASES: tuple[Basis, ...] = ("independent", "correlated", "processes")
"""What samples are taken as: each on its own, in the order of their measurement, or process by process."""


@dataclass(frozen=True, eq=False)
class LogIntervals:
    """A log speedup with its interval, row by row; NaN where there is none, or the samples do not allow one."""

    value: Floats
    low: Floats
    high: Floats
    bases: Ints
    """Which of `BASES` the samples were taken as."""

    def basis(self, row: int) -> Basis | None:
        """What the samples of a row were taken as; None where it has no interval."""
        return BASES[int(self.bases[row])] if np.isfinite(self.low[row]) else None


def samples_needed(level: float) -> int:
    """The smallest number of samples whose range holds the median as often as the level asks.

    >>> samples_needed(0.95)  # 1 - 2 / 2^6 = 0.969
    6
    """
    return max(2, math.ceil(1 - math.log2(1 - level)))


@cache
def _order_weights(count: int, level: float) -> tuple[int, float]:
    """Depth of the order statistic to start from (1 is the smallest), and how far to go toward the next."""
    depths = np.arange(1, count // 2 + 1)
    cover = 1 - 2 * special.bdtr(depths - 1, count, 0.5)
    depth = int(depths[cover >= level][-1])
    if depth == depths[-1]:
        return depth, 0.0
    share = (cover[depth - 1] - level) / (cover[depth - 1] - cover[depth])
    return depth, float((count - depth) * share / (depth + (count - 2 * depth) * share))


def median_limits(pool: Pool, *, level: float) -> tuple[Floats, Floats]:
    """Interval of the logarithm of each row's median; NaN with too few samples or one that is not above 0."""
    low = np.full(len(pool.counts), np.nan)
    high = np.full(len(pool.counts), np.nan)
    needed = samples_needed(level)
    for count, rows, block in blocks(pool.values, pool.offsets, pool.counts):
        if count < needed:
            continue
        depth, step = _order_weights(count, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.log(block[:, [depth - 1, min(depth, count - 1), count - depth, max(count - depth - 1, 0)]])
            positive = block[:, 0] > 0
            low[rows] = np.where(positive, (1 - step) * ends[:, 0] + step * ends[:, 1], np.nan)
            high[rows] = np.where(positive, (1 - step) * ends[:, 2] + step * ends[:, 3], np.nan)
    return low, high


def log_intervals(
    table: BenchmarkTable, options: SpeedupConstants, value: Floats, *, before: Ints, after: Ints
) -> LogIntervals:
    """Return intervals of `value` = ln(median of `before`) - ln(median of `after`); both are rows of the pool.

    `order`: the median of each side gets an interval from its order statistics, interpolated to the requested level
    (Hettmansperger and Sheather 1986); the two are combined by squares and adding (Zou and Donner 2008). It is not
    random, and its coverage was 95 to 97% in simulations (docs/decisions/0050).
    `bootstrap`: percentiles of the exact bootstrap distribution of both medians, over all pairs of order statistics.
    Samples from several processes are resampled by process with either method, because values of one process are
    correlated. If processes are unknown, autocorrelated samples widen the interval: the variance of a median of samples
    whose neighbors correlate at r is (1 + r) / (1 - r) times as large.

    Every method returns the distances of the bounds from the estimate, so that rounding cannot separate the two.
    """
    known = (before != ABSENT) & (after != ABSENT)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = np.log(table.pool.medians)
    widening = widening_by_order(table.pool)
    bases = np.where((widening[before] > 1) | (widening[after] > 1), BASES.index("correlated"), 0)
    if options.interval_method == "order":
        below, above = _combined(table.pool, middle, widening, before, after, level=options.interval_level)
    else:
        below, above = _exact(table.pool, middle, widening, before, after, known, level=options.interval_level)
    bases[_by_process(table, options, middle, (before, after), (below, above))] = BASES.index("processes")
    # drop intervals that do not contain their estimate
    holds = known & (below <= 0) & (above >= 0)
    low, high = (np.where(holds, value + end, np.nan) for end in (below, above))
    return LogIntervals(value, low, high, bases.astype(np.int64))


def widening_by_order(pool: Pool) -> Floats:
    """How much wider each median's interval gets because neighboring samples are alike; 1 where they are not.

    Their correlation is taken of the distances from the median in quartile ranges, at most one, so that outliers do not
    hide it; corrected for its bias (Marriott and Pope 1954) and used where it is above chance (5%, one-sided). Samples
    in rising order were sorted, which leaves nothing of the order in which they were measured.
    """
    widening = np.ones(len(pool.counts))
    unsorted = np.concatenate([np.empty(0), *(side.values for side in pool.sides)])
    for size, rows, block in blocks(unsorted, pool.offsets, pool.counts):
        quarter, start = size // 4, pool.offsets[rows]
        spread = pool.values[start + size - 1 - quarter] - pool.values[start + quarter]
        rising = (block[:, 1:] >= block[:, :-1]).all(axis=1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            apart = np.clip((block - pool.medians[rows][:, None]) / spread[:, None], -1, 1)
            apart -= apart.mean(axis=1, keepdims=True)
            alike = (apart[:, 1:] * apart[:, :-1]).sum(axis=1) / (apart**2).sum(axis=1)
        alike += (1 + 4 * np.maximum(alike, 0)) / size
        shown = (spread > 0) & ~rising & (alike > special.ndtri(0.95) / math.sqrt(size))
        alike = np.clip(np.where(shown, alike, 0.0), 0, MAX_CORRELATION)
        widening[rows] = np.sqrt((1 + alike) / (1 - alike))
    return widening


def _combined(
    pool: Pool, middle: Floats, widening: Floats, before: Ints, after: Ints, *, level: float
) -> tuple[Floats, Floats]:
    low, high = median_limits(pool, level=level)
    with np.errstate(invalid="ignore"):
        under, over = widening * (middle - low), widening * (high - middle)
        return -np.hypot(under[before], over[after]), np.hypot(over[before], under[after])


@cache
def bootstrap_weights(count: int) -> tuple[int, Floats]:
    """How likely each order statistic is to be the median of a resample, from the first that matters on.

    Exact, from binomial tails. With an even count there are two middle values, and either is taken half the time.
    """
    below = np.arange(count + 1) / count
    reached = [special.bdtrc(middle - 1, count, below) for middle in ((count + 1) // 2, count // 2 + 1)]
    weights = np.diff((reached[0] + reached[1]) / 2)
    kept = np.flatnonzero(weights > _NEGLIGIBLE)
    inside = weights[kept[0] : kept[-1] + 1]
    return int(kept[0]), inside / inside.sum()


def _exact(
    pool: Pool, middle: Floats, widening: Floats, before: Ints, after: Ints, known: Flags, *, level: float
) -> tuple[Floats, Floats]:
    low = np.full(len(before), np.nan)
    high = np.full(len(before), np.nan)
    needed = samples_needed(level)
    sizes = np.column_stack((pool.counts[before], pool.counts[after]))
    for n, m in np.unique(sizes[known], axis=0).tolist():
        if min(n, m) < needed:
            continue
        rows = np.flatnonzero(known & (sizes[:, 0] == n) & (sizes[:, 1] == m))
        first, mine = bootstrap_weights(n)
        second, theirs = bootstrap_weights(m)
        step = max(1, CELLS // (len(mine) * len(theirs)))
        for start in range(0, len(rows), step):
            chunk = rows[start : start + step]
            x = _from_median(pool, middle, before[chunk], first, len(mine)) * widening[before[chunk]][:, None]
            y = _from_median(pool, middle, after[chunk], second, len(theirs)) * widening[after[chunk]][:, None]
            low[chunk], high[chunk] = _percentiles(x, y, np.outer(mine, theirs).ravel(), level)
    return low, high


def _from_median(pool: Pool, middle: Floats, rows: Ints, first: int, size: int) -> Floats:
    """Return the logarithms of some order statistics minus that of the median."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(pool.values[pool.offsets[rows][:, None] + first + np.arange(size)])
        return np.asarray(logs - middle[rows][:, None])


def _percentiles(x: Floats, y: Floats, weights: Floats, level: float) -> tuple[Floats, Floats]:
    gaps = (x[:, :, None] - y[:, None, :]).reshape(len(x), -1)
    order = np.argsort(gaps, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    tail = (1 - level) / 2
    row = np.arange(len(x))
    ends = []
    for share in (tail, 1 - tail):
        position = np.minimum((reached < share - _NEGLIGIBLE).sum(axis=1), gaps.shape[1] - 1)
        ends.append(gaps[row, order[row, position]])
    return ends[0], ends[1]


def _by_process(
    table: BenchmarkTable,
    options: SpeedupConstants,
    middle: Floats,
    sides: tuple[Ints, Ints],
    ends: tuple[Floats, Floats],
) -> list[int]:
    """Replace the intervals of benchmarks whose samples are known to come from processes; which ones these are."""
    grouped = _grouped_rows(table.pool)
    replaced: list[int] = []
    if not grouped:
        return replaced
    for row in range(len(sides[0])):
        pair = [int(side[row]) for side in sides]
        if ABSENT in pair or not any(position in grouped for position in pair):
            continue
        replaced.append(row)
        draws = [
            _resampled_medians(grouped.get(at) or _singles(table.pool, at), options, f"{which}:{table.name(row)}")
            for which, at in enumerate(pair)
        ]
        first, second = draws
        if first is None or second is None:
            ends[0][row] = ends[1][row] = np.nan
            continue
        tail = (1 - options.interval_level) / 2
        apart = (first - middle[pair[0]]) - (second - middle[pair[1]])
        ends[0][row], ends[1][row] = np.quantile(apart, [tail, 1 - tail])
    return replaced


def _grouped_rows(pool: Pool) -> dict[int, list[Floats]]:
    """The samples of each row that is known to come from processes, process by process."""
    processes_by_row: dict[int, list[Floats]] = {}
    for side in pool.sides:
        offsets = np.concatenate(([0], np.cumsum(side.counts)))
        for position, sizes in side.processes.items():
            values = side.values[offsets[position] : offsets[position + 1]]
            processes_by_row[pool.row(side) + position] = np.split(values, np.cumsum(sizes)[:-1])
    return processes_by_row


def _singles(pool: Pool, row: int) -> list[Floats]:
    values = pool.values[pool.offsets[row] : pool.offsets[row + 1]]
    return [values[index : index + 1] for index in range(len(values))]


def _resampled_medians(processes: list[Floats], options: SpeedupConstants, name: str) -> Floats | None:
    """Logarithms of the medians of resampled processes; None where there are too few to resample.

    Each benchmark draws from its own stream, so that no benchmark's interval depends on which others there are.
    """
    if len(processes) < MIN_PROCESSES or any((values <= 0).any() for values in processes):
        return None
    random = np.random.default_rng([options.seed, zlib.crc32(name.encode())])
    picked = random.integers(0, len(processes), size=(options.resamples, len(processes)))
    if len({len(values) for values in processes}) == 1:
        pooled = np.stack(processes)[picked].reshape(options.resamples, -1)
        return np.asarray(np.log(np.median(pooled, axis=1)))
    medians = [np.median(np.concatenate([processes[index] for index in row])) for row in picked]
    return np.asarray(np.log(medians))


Fields = dict[str, Any]  # Any: JSON values, and Missing until it is taken out

NO_SNAPSHOT = Missing("no snapshot")


def payload_fields(
    table: BenchmarkTable, index: int, figures: Mapping[str, float | Missing]
) -> tuple[Fields, dict[str, str]]:
    """Return the fields of the specification for one attempt, except those of benchmarks, and reasons for None."""
    attempt, rows = table.attempts[index], table.rows(index)
    return without_missing(
        {
            "pytest_summary": _pytest_summary(attempt.tests) or NO_TESTS,
            "snapshot_summary": _snapshot_summary(attempt.snapshot) or NO_SNAPSHOT,
            "pytest_failed": attempt.pytest_failed,
            "snapshot_failed": attempt.snapshot_failed,
            "success": attempt.success,
            "fallback_to_baseline": attempt.fallback,
            "num_benchmarks": rows.stop - rows.start,
            "num_valid_benchmarks": int(np.count_nonzero(table.valid[rows])),
            **{name: value for name, value in figures.items() if name in SpeedupAttempt.__struct_fields__},
            "task_cost_usd": attempt.cost_usd,
            "trajectory_length": attempt.trajectory_length,
        }
    )


def without_missing(fields: Fields) -> tuple[Fields, dict[str, str]]:
    """The fields with None for what is missing, and the reasons by name."""
    reasons = {name: value.reason for name, value in fields.items() if isinstance(value, Missing)}
    return fields | dict.fromkeys(reasons), reasons


def nullable(values: Floats) -> list[Any]:  # Any: a float, or None for NaN
    """The numbers as a list, None for what is not finite."""
    listed: list[Any] = values.tolist()
    if np.isfinite(values).all():
        return listed
    return [value if math.isfinite(value) else None for value in listed]


def _pytest_summary(tests: TestResults | None) -> PytestSummary | None:
    if tests is None:
        return None
    passed, failed, errors = (
        part if isinstance(part, int) else len(part or ()) for part in (tests.passed, tests.failed, tests.errors)
    )
    return PytestSummary(
        passed=passed,
        failed=failed,
        error=errors,
        total=tests.total,
        status="failed" if tests.not_passed else "passed",
        failed_total=tests.not_passed,
    )


def _snapshot_summary(snapshot: Snapshot | None) -> SnapshotSummary | None:
    if snapshot is None:
        return None
    return SnapshotSummary(status=snapshot.status, pass_to_fail=snapshot.pass_to_fail)


@dataclass(frozen=True, eq=False)
class SpeedupIntervals:
    """Intervals of the log speedup and of the log ratio to the reference solution, and the verdict, per row."""

    speedup: LogIntervals
    ratio: LogIntervals
    faster: Flags
    slower: Flags
    judged: Flags
    overall: tuple[OverallSpeed | None, ...] = ()
    """Overall speedup of each attempt, as logarithms; empty with asv's rule."""

    def verdict(self, row: int) -> Verdict:
        """Return the verdict on one benchmark."""
        if not self.judged[row]:
            return "unknown"
        return "faster" if self.faster[row] else "slower" if self.slower[row] else "unclear"


def speedup_intervals_of(table: BenchmarkTable, options: SpeedupConstants) -> SpeedupIntervals:
    """Intervals and verdicts of the benchmarks as measured; the failure rules do not touch them."""
    mine, theirs = (metrics.log_speedup.function(agent_speedup=speedups) for speedups in (table.agent, table.oracle))
    speedup = log_intervals(table, options, mine, before=table.nop_row, after=table.agent_row)
    ratio = log_intervals(table, options, mine - theirs, before=table.oracle_row, after=table.agent_row)
    if options.verdict == "asv":
        faster, slower = asv_changes(table, p=options.asv_p, factor=options.asv_factor)
        return SpeedupIntervals(speedup, ratio, faster, slower, table.valid)
    return _tested(table, options, speedup, ratio)


def _tested(
    table: BenchmarkTable, options: SpeedupConstants, speedup: LogIntervals, ratio: LogIntervals
) -> SpeedupIntervals:
    """Verdicts of each attempt's benchmarks on a minimum effect, corrected for their number (`speed_tests`).

    The intervals of the speedup are replaced by those that agree with the verdicts: they allow for noise between
    sessions, which samples of one process do not show.
    """
    times, grouped = _single_sessions(table.pool), _grouped_rows(table.pool)
    low, high, changed = np.full((3, len(speedup.low)), np.nan)
    overall: list[OverallSpeed | None] = []
    for index in range(len(table.attempts)):
        rows = np.arange(table.rows(index).start, table.rows(index).stop)
        rows = rows[np.isfinite(speedup.low[rows])]
        sides = [_sessions(table.pool, times, grouped, side[rows]) for side in (table.nop_row, table.agent_row)]
        found = speed_tests(*sides, minimum_effect=options.minimum_effect, level=options.interval_level)
        low[rows], high[rows], changed[rows] = found.low, found.high, found.changed
        overall.append(found.overall)
    judged = replace(speedup, low=low, high=high)
    return SpeedupIntervals(judged, ratio, changed > 0, changed < 0, np.isfinite(low), tuple(overall))


def _single_sessions(pool: Pool) -> SessionTimes:
    """The samples of each row of the pool as one session."""
    log_median, error, drift = np.full((3, len(pool.counts), 1), np.nan)
    unsorted = np.concatenate([np.empty(0), *(side.values for side in pool.sides)])
    for size, rows, block in blocks(unsorted, pool.offsets, pool.counts):
        usable = (np.isfinite(block) & (block > 0)).all(axis=1)
        logs, kept, half = np.log(block[usable]), rows[usable], size // 2
        log_median[kept, 0] = np.log(pool.medians[kept])
        if size > 1:
            error[kept, 0] = log_median_error(logs)
            drift[kept, 0] = np.abs(np.median(logs[:, :half], axis=1) - np.median(logs[:, half:], axis=1))
    return SessionTimes(log_median=log_median, error=error, drift=drift)


def _sessions(pool: Pool, times: SessionTimes, grouped: Mapping[int, list[Floats]], rows: Ints) -> SessionTimes:
    """The sessions of one side: processes where they are known, else one."""
    if not any(row in grouped for row in rows.tolist()):
        return SessionTimes(log_median=times.log_median[rows], error=times.error[rows], drift=times.drift[rows])
    return SessionTimes.of_samples(
        [grouped.get(row) or [pool.values[pool.offsets[row] : pool.offsets[row + 1]]] for row in rows.tolist()]
    )


def task_figures(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None, options: SpeedupConstants
) -> dict[str, float | Missing]:
    """Every declared metric of a task for one attempt, plug-ins' among them, in the order of their declarations."""
    known = _task_inputs(table, index, speedup_intervals, options)
    declared_here = catalog().at("task")
    for declared in declared_here:
        inputs = {name: _input(declared, spec.of or name, known) for name, spec in declared.inputs.items()}
        constants = {name: getattr(options, name, default) for name, default in declared.constants.items()}
        known[declared.name] = declared(**inputs, **constants)
    return {declared.name: known[declared.name] for declared in sorted(declared_here, key=_place_of)}


def _place_of(declared: Metric) -> tuple[bool, str, int]:
    module = declared.function.__module__
    return not module.startswith(metrics.__name__), module, declared.function.__code__.co_firstlineno


def _input(declared: Metric, name: str, known: Mapping[str, Any]) -> Any:  # Any: numbers or lists of them
    if name not in known:
        raise UnknownNameError("input of a task's metric", name, known, where=declared.name)
    return known[name]


def _task_inputs(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None, options: SpeedupConstants
) -> dict[str, Any]:  # Any: numbers, lists of them, and Missing
    """What the metrics of a task may ask for, besides each other."""
    rows, attempt = table.rows(index), table.attempts[index]
    counted, agent_only = table.counted[rows], table.agent_only[rows]
    effective, oracle = table.effective[rows], table.oracle[rows]
    seen = counted & ~agent_only
    lows, highs = _ends(table, rows, speedup_intervals, options)
    of_oracle = {
        "oracle_speedups": oracle[counted].tolist(),
        "measured_oracle_speedups": oracle[seen].tolist(),
        "unmatched_oracle_speedups": [] if attempt.fallback else oracle[agent_only].tolist(),
        "items": metrics.advantage.function(agent_speedup=effective, oracle_speedup=oracle)[counted].tolist(),
    }
    return {
        **(dict.fromkeys(of_oracle, NO_ORACLE) if attempt.oracle is None else of_oracle),
        "agent_speedups": effective[counted].tolist(),
        **{name: list(compress(numbers, counted.tolist())) for name, numbers in attempt.nop.groups.items()},
        "measured_agent_speedups": effective[seen].tolist(),
        "log_speedup_lows": lows,
        "log_speedup_highs": highs,
        "task_cost": attempt.cost_usd,
        "repeat_log_ratios": _repeat_log_ratios(attempt.nop, attempt.nop_repeat),
    }


def measures(figures: Mapping[str, float | Missing]) -> tuple[dict[str, Any], dict[str, str]]:  # Any: numbers or None
    """Return the metrics of one attempt beyond the specification's fields, and the reasons for missing ones."""
    return without_missing(
        {name: value for name, value in figures.items() if name not in SpeedupAttempt.__struct_fields__}
    )


def _ends(
    table: BenchmarkTable, rows: slice, speedup_intervals: SpeedupIntervals | None, options: SpeedupConstants
) -> tuple[list[float], list[float]]:
    """Lower and upper ends of the intervals of the log speedup, as far as there are any."""
    if speedup_intervals is None:
        return [], []
    valid, low, high = table.valid[rows], speedup_intervals.speedup.low[rows], speedup_intervals.speedup.high[rows]
    known = valid & np.isfinite(low)
    if options.verdict == "asv":
        # Metrics ask for the upper end; asv's rule has no interval, only whether there is a change.
        return low[known].tolist(), np.where(speedup_intervals.slower[rows], -1.0, 1.0)[valid].tolist()
    return low[known].tolist(), high[known].tolist()


def _repeat_log_ratios(nop: Side, again: Side | None) -> list[float]:
    """ln(nop / nop repeat) of each benchmark that was measured twice."""
    if again is None:
        return []
    first, second = _medians(nop), _medians(again)
    return [math.log(first[name]) - math.log(second[name]) for name in sorted(first.keys() & second.keys())]


def _medians(side: Side) -> Mapping[str, float]:
    medians: Floats = pooled([side]).medians
    usable = np.isfinite(medians) & (medians > 0)
    return dict(compress(zip(side.names, medians.tolist(), strict=True), usable.tolist()))


def benchmark_speedups(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None
) -> dict[str, BenchmarkSpeedup]:
    """Return the speedups, statuses, intervals and verdict of each benchmark of one attempt."""
    attempt, rows = table.attempts[index], table.rows(index)
    oracle = table.oracle[rows]
    agent = np.where(table.counted[rows], table.effective[rows], table.agent[rows])
    columns: list[list[Any]] = [
        nullable(agent),
        nullable(oracle),
        nullable(metrics.advantage.function(agent_speedup=agent, oracle_speedup=oracle)),
        _statuses(attempt.side, table, table.agent_row[rows]),
        _statuses(attempt.oracle, table, table.oracle_row[rows]),
    ]
    if speedup_intervals is None:
        columns += [[None] * len(agent)] * 8
    else:
        for intervals in (speedup_intervals.speedup, speedup_intervals.ratio):
            columns += [nullable(ends[rows]) for ends in (intervals.value, intervals.low, intervals.high)]
        columns.append([speedup_intervals.verdict(row) for row in range(rows.start, rows.stop)])
        columns.append([speedup_intervals.speedup.basis(row) for row in range(rows.start, rows.stop)])
    return dict(zip(attempt.nop.measured_names, map(BenchmarkSpeedup, *columns), strict=True))


def _statuses(side: Side | None, table: BenchmarkTable, rows: Ints) -> list[str]:
    if side is None:
        return ["missing"] * len(rows)
    start = table.pool.row(side)
    return ["missing" if row == ABSENT else side.statuses[row - start] for row in rows.tolist()]
