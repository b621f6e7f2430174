"""Declarations of group statistics: name, computation and where each may be used.

An entry here is all it takes: the engine computes it, `measure` shows it (JSON, CSV, frames, tables), the inputs of
group metrics may name it and the documentation lists it. Nothing here loads numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.statistics._estimates import Floats, Ints
    from steelyard.statistics._groups import GroupedValues


@dataclass(frozen=True, slots=True)
class Statistic:
    """A declared statistic."""

    name: str
    meaning: str
    take: Callable[[GroupedValues], Floats | Ints]
    """One number for each group that has values; of a count, for each group."""
    shown: bool = True
    """Whether `measure` shows it."""
    reduces: bool = True
    """Whether an input of a group metric may be reduced by it."""
    between: bool = True
    """Whether it is between the smallest and the largest value, so that it has their bounds."""
    counts: bool = False
    """Whether it counts values: a whole number that no group lacks."""


STATISTICS: dict[str, Statistic] = {
    statistic.name: statistic
    for statistic in (
        Statistic("median", "The median.", lambda groups: groups.median),
        Statistic("mean", "The arithmetic mean.", lambda groups: groups.mean),
        Statistic("mode", "The most frequent value; the smallest if tied.", lambda groups: groups.mode, reduces=False),
        Statistic("min", "The smallest value.", lambda groups: groups.smallest),
        Statistic("max", "The largest value.", lambda groups: groups.largest),
        Statistic(
            "std_dev",
            "The standard deviation (population or sample, set by the profile).",
            lambda groups: groups.deviation,
            reduces=False,
            between=False,
        ),
        Statistic("sum", "The sum.", lambda groups: groups.total, shown=False, between=False),
        Statistic("count", "Number of runs with a value.", lambda groups: groups.counts, between=False, counts=True),
        Statistic(
            "missing",
            "Number of runs without a value.",
            lambda groups: groups.missing,
            reduces=False,
            between=False,
            counts=True,
        ),
    )
}
