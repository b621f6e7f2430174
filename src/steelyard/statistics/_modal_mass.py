"""How surely the most frequent of several values is that frequent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.statistics._interval import LEVEL, RESAMPLES, SEED, Interval, check_level, no_interval, too_few


def modal_mass(
    counts: Sequence[int], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Percentile bootstrap of the share of the most frequent value, drawn anew from all values.

    The share is a largest of several, not a share of successes, so an interval for a proportion would be wrong. A
    drawn sample has its mode by chance elsewhere, so with many rare values the limits lie high; they show that the
    data cannot tell.

    >>> modal_mass([5]).low
    1.0
    """
    n = int(sum(counts))
    if n < 2:
        estimate = 1.0 if n else None
        return no_interval(too_few(n), method="bootstrap", n=n, clusters=n, level=level, estimate=estimate)
    ordered = np.sort(np.asarray(counts, dtype=np.int64))[::-1]
    random = np.random.default_rng(seed)
    drawn = random.multinomial(n, ordered / n, size=resamples).max(axis=1) / n
    tail = (1 - check_level(level)) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(
        estimate=float(ordered[0]) / n,
        low=float(low),
        high=float(high),
        method="bootstrap",
        n=n,
        clusters=n,
        level=level,
        seed=seed,
        resamples=resamples,
    )
