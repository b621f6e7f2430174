"""Advantage by level: benchmarks grouped by module, class, function or not at all, for many attempts at once.

The mean over groups of gmean(agent) - gmean(oracle) is the agent's mean over groups less the expert's, so each side's
is taken by itself, and the expert's once for all agents that are compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from steelyard.speedups._sides import Flags, Floats, Ints, Side


@dataclass(frozen=True, eq=False)
class _Groups:
    """The groups of one level in some sides, numbered through."""

    numbers: Ints
    """For each row the number of its group."""
    starts: Ints
    """Number of each side's first group, and one past the last."""


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Rows of some sides, one side after another."""

    starts: Ints
    """First row of each side, and one past the last."""

    @property
    def sizes(self) -> Ints:
        """How many rows each side has."""
        return np.diff(self.starts)

    def repeated(self, which: Ints) -> tuple[_Stretch, Ints]:
        """The stretch that takes these sides in turn, and where each of its rows stands in this one."""
        taken = _stretch(self.sizes[which])
        return taken, np.repeat(self.starts[which] - taken.starts[:-1], taken.sizes) + np.arange(taken.starts[-1])


def _stretch(sizes: Sequence[int] | Ints) -> _Stretch:
    return _Stretch(np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64)))))


@dataclass(frozen=True, eq=False)
class Levels:
    """The groups of all levels in some nop sides."""

    stretch: _Stretch
    groups: tuple[_Groups, ...]
    """Of modules, classes and functions, and of all benchmarks together."""


def levels_of(nops: Sequence[Side]) -> Levels:
    """The levels of the benchmarks that these sides measured."""
    places = [nop.measured_places for nop in nops]
    stretch = _stretch([len(one) for one in places])
    size = int(stretch.starts[-1])
    firsts: list[dict[Any, int]] = [{} for _ in nops]  # Any: places
    rows = chain.from_iterable(
        _firsts(seen, one, range(start, start + len(one)))
        for seen, one, start in zip(firsts, places, stretch.starts.tolist(), strict=False)
    )
    functions = np.fromiter(rows, dtype=np.int64, count=size)
    heads = np.fromiter(chain.from_iterable(seen.values() for seen in firsts), dtype=np.int64)
    # Parameters make many benchmarks of one function, so modules and classes are looked up once for each function.
    coarser = []
    for part in (itemgetter(0), itemgetter(0, 1)):
        codes = chain.from_iterable(_firsts({}, map(part, seen), seen.values()) for seen in firsts)
        at_heads = np.empty(size, dtype=np.int64)
        at_heads[heads] = np.fromiter(codes, dtype=np.int64, count=len(heads))
        coarser.append(at_heads[functions])
    overall = np.repeat(stretch.starts[:-1], stretch.sizes)
    return Levels(stretch, tuple(_numbered(codes, stretch) for codes in (*coarser, functions, overall)))


def _firsts(seen: dict[Any, int], keys: Iterable[Any], rows: Iterable[int]) -> Iterator[int]:  # Any: hashable keys
    """For each key the row where it first stands; `seen` is filled on the way."""
    return map(seen.setdefault, keys, rows)


def _numbered(firsts: Ints, stretch: _Stretch) -> _Groups:
    """Groups known by the row of their first member, numbered in order."""
    before = np.concatenate(([0], np.cumsum(firsts == np.arange(len(firsts)))))
    return _Groups(before[firsts], before[stretch.starts])


def level_means(levels: Levels, which: Ints, speedups: Floats, *, counted: Flags | None) -> Floats:
    """For each series of speedups the mean over groups of the geometric mean, a column for each level.

    `which` names each series' nop side; the series stand one after another. Where `counted` is given the others are
    left out, and a series of nothing has NaN.
    """
    taken, rows = levels.stretch.repeated(which)
    logs = np.log(speedups if counted is None else speedups[counted])
    found = np.empty((len(which), len(levels.groups)))
    for level, groups in enumerate(levels.groups):
        widths = np.diff(groups.starts)[which]
        shifts = np.cumsum(widths) - widths - groups.starts[which]
        numbers = groups.numbers[rows] + np.repeat(shifts, taken.sizes)
        owner = np.repeat(np.arange(len(which)), widths)
        found[:, level] = _mean_of_groups(numbers if counted is None else numbers[counted], owner, logs, len(which))
    return found


def _mean_of_groups(groups: Ints, owner: Ints, logs: Floats, series: int) -> Floats:
    sizes = np.bincount(groups, minlength=len(owner))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.exp(np.bincount(groups, logs, minlength=len(owner)) / sizes)
        held = sizes > 0
        if not held.all():
            owner, means = owner[held], means[held]
        return np.asarray(np.bincount(owner, means, minlength=series) / np.bincount(owner, minlength=series))
