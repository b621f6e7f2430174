"""Cells of the validation: a simulated design, what is counted in it, and the limit that the count must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from zlib import crc32

import numpy as np
from scipy import stats

from steelyard.statistics import Interval, holm

SEED = 20_261_119
MIN_COVERAGE = 0.93
LABEL_SLACK = 0.01
"""A labeled interval may cover this much less than its label says."""
FAILS_AT = 0.01
"""A limit is missed if its p-value is below this after Holm's correction over all counts."""

Side = Literal["least", "most", "none"]


class Count(NamedTuple):
    """How often something happened in the data sets of a cell."""

    what: str
    """What was counted."""
    hits: int
    sets: int
    side: Side
    """Whether `limit` is the least or the most that is allowed; none is shown for information."""
    limit: float

    @property
    def rate(self) -> float:
        """Fraction of data sets."""
        return self.hits / self.sets

    @property
    def room(self) -> float:
        """Distance to the limit; below 0 the observed rate misses it."""
        return {"least": self.rate - self.limit, "most": self.limit - self.rate, "none": 1.0}[self.side]

    @property
    def p_value(self) -> float:
        """Two-sided Clopper-Pearson p-value of the hypothesis that the true rate keeps the limit; 1 without a limit."""
        if self.side == "none" or self.room >= 0:
            return 1.0
        tail = stats.binom.cdf(self.hits, self.sets, self.limit)
        if self.side == "most":
            tail = stats.binom.sf(self.hits - 1, self.sets, self.limit)
        return min(1.0, 2 * float(tail))


Simulation = Callable[[np.random.Generator, int], Iterable[Count]]


@dataclass(frozen=True)
class Cell:
    """One design of a group of designs."""

    group: str
    name: str
    simulate: Simulation
    sets: int = 10_000
    is_quick: bool = False
    """Whether a short version runs with every test."""

    def counts(self, share: float = 1.0) -> list[Count]:
        """Simulate a fraction of the data sets; the random numbers depend on the names of group and cell only."""
        random = np.random.default_rng([SEED, crc32(f"{self.group}/{self.name}".encode())])
        return list(self.simulate(random, max(20, round(self.sets * share))))


def misses(counts: Iterable[Count]) -> list[bool]:
    """Return whether each count misses its limit, with Holm's correction over all of them."""
    return [bool(p < FAILS_AT) for p in holm([count.p_value for count in counts])]


def covers(intervals: Iterable[Interval], truth: float, *, what: str, is_inside: bool = True) -> list[Count]:
    """Count the intervals that contain the truth, separately by the coverage that their labels state.

    An interval without label must cover at least 93%, a labeled one at least its label minus a point. Outside the tail
    or the assumption of the label (`is_inside` false) there is no limit for labeled intervals.
    """
    room = 1e-12 * max(abs(truth), 1.0)
    held: dict[float, list[bool]] = {}
    labeled: set[float] = set()
    for each in intervals:
        if each.low is not None and each.high is not None:
            floor = 0.0 if each.approx_coverage is None else each.approx_coverage
            held.setdefault(floor, []).append(each.low - room <= truth <= each.high + room)
            labeled |= {floor} if each.label else set()
    found = []
    for floor, hits in sorted(held.items()):
        limit = MIN_COVERAGE if floor == 0 else floor - LABEL_SLACK
        side: Side = "least" if is_inside or floor not in labeled else "none"
        text = what if floor == 0 else f"{what}, label {floor:.0%}"
        found.append(Count(text, sum(hits), len(hits), side, round(limit, 4)))
    return found
