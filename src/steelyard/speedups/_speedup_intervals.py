"""How sure a benchmark's speedup is: the interval for ln(median before) - ln(median after).

`order`: each side's median gets its interval from the order statistics, interpolated to the level asked for
(Hettmansperger and Sheather 1986); the two are combined by squares and adding (Zou and Donner 2008). No draws, and it
covers 95 to 97% for what was tried (docs/decisions/0050).
`bootstrap`: percentiles of the exact bootstrap distribution of both medians, of all pairs of order statistics at once.
Samples that came in processes are resampled by process, whatever the method: values of one process hang together.
Where processes are not known, samples that follow each other too closely widen the interval, as their number is worth
less: a median of samples whose neighbors correlate at r varies (1 + r) / (1 - r) times as much.

Every method returns the distances of the bounds from the estimate, so that rounding cannot separate the two.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy import special

from steelyard.speedups._benchmark_table import ABSENT, BenchmarkTable
from steelyard.speedups._constants import SpeedupConstants
from steelyard.speedups._sides import Flags, Floats, Ints, Pool, blocks

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
    """Intervals of `value`, which is ln(median of `before`) - ln(median of `after`), both given as rows of the pool."""
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
