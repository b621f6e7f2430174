"""Competitors that tried tasks unequally often: which pairs differ when their runs are dealt out anew."""

from __future__ import annotations

import itertools
import math
import zlib

import numpy as np

from steelyard.metrics import catalog
from steelyard.standings._differences import StatisticsOptions
from steelyard.standings._samples import Mask, Samples, half_names
from steelyard.standings._unequal_attempts import dealt_runs, gap_of
from steelyard.statistics import Floats, Ints, dealt_sums, step_down

MAX_PERMUTED_RUNS = 300_000_000
"""Runs that are dealt out in all: some ten seconds of work."""
DEALS = 999
"""More deals of a pair would change nothing that is shown at 95%."""


def shown_by_dealing(
    samples: Samples, groups: Ints, metric: str, common: Mask, *, size: int, options: StatisticsOptions
) -> Mask | None:
    """Entry (i, j): dealing the runs of both out anew shows that they differ, all pairs together at the level.

    Pairs that tried every task equally often need no deals and count as shown; None where all did. The mean of many
    attempts and the value of one are distributed differently, so a test of signs over tasks is not enough for others.
    """
    names = half_names(metric) if catalog()[metric].is_ratio else (metric,)
    known = np.stack([means.known[common] for means in samples.by_group(names[0], groups, size)])
    pairs = [(i, j) for i, j in itertools.combinations(range(size), 2) if np.any(known[i] != known[j])]
    if not pairs:
        return None
    runs = sum(int(known[i].sum() + known[j].sum()) for i, j in pairs)
    fewest = math.ceil(10 / (1 - options.level))
    draws = max(min(options.resamples, DEALS, MAX_PERMUTED_RUNS // runs), fewest)
    columns = [
        _statistics(
            dealt_runs(samples, (groups == i, groups == j), names, common),
            by_task=samples.weight_by == "tasks",
            draws=draws,
            seed=options.seed,
        )
        for i, j in pairs
    ]
    seen, dealt = np.array([own for own, _ in columns]), np.column_stack([drawn for _, drawn in columns])
    rising = np.argsort(seen, kind="stable")
    p_values = step_down(seen[rising], [dealt[:, rising]], exact=False)
    shown = np.ones((size, size), dtype=bool)
    for place, p_value in zip(rising.tolist(), p_values.tolist(), strict=True):
        i, j = pairs[place]
        shown[i, j] = shown[j, i] = p_value <= 1 - options.level
    return shown


def _statistics(runs: tuple[Floats, Ints, Mask], *, by_task: bool, draws: int, seed: int) -> tuple[float, Floats]:
    """How far the two are apart in units of the spread of deals: in the data, and in each deal.

    Pairs are dealt independently of each other, whatever their names, which errs to the side of showing less.
    """
    own_seed = zlib.crc32(np.sort(runs[0], axis=None).tobytes(), seed)
    seen, dealt = dealt_sums(*runs, by_task=by_task, resamples=draws, seed=own_seed)
    gap, gaps = float(gap_of(seen[None])[0]), gap_of(dealt)
    finite = np.isfinite(gaps)
    spread = float(np.sort(gaps[finite]).std()) if finite.any() else 0.0
    if spread == 0 or not math.isfinite(gap):
        return 0.0, np.zeros(len(gaps))
    # a deal that leaves one side nothing to divide by is as extreme as can be
    return abs(gap) / spread, np.where(finite, np.abs(gaps) / spread, np.inf)
