"""asv's own verdict: a change counts when it is significant and larger than a factor.

Significant is a two-sided Mann-Whitney U test with ties broken against the finding, exact up to 20 samples a side and
normal beyond. Where so few samples cannot reach the level, or none were kept, the two 99% CIs must not overlap.
A benchmark without statistics, or timed once, is judged by the factor alone.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
from scipy import special

from steelyard.speedups._benchmark_table import ABSENT, BenchmarkTable
from steelyard.speedups._sides import Flags, Floats, Ints

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
    """Which rows asv would call faster, and which slower, under the agent."""
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
