"""Advantage by level: benchmarks grouped by module, class, function or not at all, for many attempts at once.

The mean over groups of gmean(agent) - gmean(oracle) is the agent's mean over groups less the expert's, so each side's
is taken by itself, and the expert's once for all agents that are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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

    @cached_property
    def sizes(self) -> Ints:
        """How many rows each group has."""
        return np.bincount(self.numbers, minlength=int(self.starts[-1]))

    @cached_property
    def owner(self) -> Ints:
        """Each group's side."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def of(self, which: Ints, rows: Ints, sizes: Ints) -> _Groups:
        """The groups of some of the sides only, whose rows and numbers of rows are given."""
        widths = np.diff(self.starts)[which]
        shifts = np.cumsum(widths) - widths - self.starts[which]
        return _Groups(self.numbers[rows] + np.repeat(shifts, sizes), np.concatenate(([0], np.cumsum(widths))))


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Rows of some sides, one side after another."""

    starts: Ints
    """First row of each side, and one past the last."""

    @property
    def sizes(self) -> Ints:
        """How many rows each side has."""
        return np.diff(self.starts)


def _stretch(sizes: Sequence[int] | Ints) -> _Stretch:
    return _Stretch(np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64)))))


@dataclass(frozen=True, eq=False)
class Levels:
    """The groups of all levels in some nop sides."""

    stretch: _Stretch
    groups: tuple[_Groups, ...]
    """Of modules, classes and functions."""

    @cached_property
    def overall(self) -> _Groups:
        """One group for each side."""
        sides = np.arange(len(self.stretch.starts))
        return _Groups(np.repeat(sides[:-1], self.stretch.sizes), sides)

    def of(self, which: Ints) -> Levels:
        """The same of some of the sides only."""
        taken = _stretch(self.stretch.sizes[which])
        rows = np.repeat(self.stretch.starts[which] - taken.starts[:-1], taken.sizes) + np.arange(taken.starts[-1])
        return Levels(taken, tuple(groups.of(which, rows, taken.sizes) for groups in self.groups))


def levels_of(nops: Sequence[Side]) -> Levels:
    """The levels of the benchmarks that these sides measured."""
    places = [nop.measured_places for nop in nops]
    stretch = _stretch([len(own_places) for own_places in places])
    size = int(stretch.starts[-1])
    firsts: list[dict[Any, int]] = [{} for _ in nops]  # Any: places
    rows = chain.from_iterable(
        _firsts(seen, own_places, range(start, start + len(own_places)))
        for seen, own_places, start in zip(firsts, places, stretch.starts.tolist(), strict=False)
    )
    functions = np.fromiter(rows, dtype=np.int64, count=size)
    # Parameters make many benchmarks of one function, so modules and classes are looked up once for each function.
    heads = np.fromiter(chain.from_iterable(seen.values() for seen in firsts), dtype=np.int64)
    modules, names = (_parts(firsts, part, len(heads)) for part in (itemgetter(0), itemgetter(1)))
    # A class is its module and its name: first rows stand for both, which makes a pair of them one number.
    _, first, pair = np.unique(modules * size + names, return_index=True, return_inverse=True)
    coarser = [_at_rows(codes, heads, functions) for codes in (modules, heads[first][pair])]
    return Levels(stretch, tuple(_numbered(codes, stretch) for codes in (*coarser, functions)))


def _parts(firsts: Sequence[dict[Any, int]], part: Callable[[Any], Any], size: int) -> Ints:  # Any: places and parts
    """For each function, side by side, the row where its module (or the name of its class) first stands."""
    rows = chain.from_iterable(_firsts({}, map(part, seen), seen.values()) for seen in firsts)
    return np.fromiter(rows, dtype=np.int64, count=size)


def _at_rows(codes: Ints, heads: Ints, functions: Ints) -> Ints:
    """What is known of each function, for each row."""
    at_heads = np.empty(len(functions), dtype=np.int64)
    at_heads[heads] = codes
    return at_heads[functions]


def _firsts(seen: dict[Any, int], keys: Iterable[Any], rows: Iterable[int]) -> Iterator[int]:  # Any: hashable keys
    """For each key the row where it first stands; `seen` is filled on the way."""
    return map(seen.setdefault, keys, rows)


def _numbered(firsts: Ints, stretch: _Stretch) -> _Groups:
    """Groups known by the row of their first member, numbered in order."""
    before = np.concatenate(([0], np.cumsum(firsts == np.arange(len(firsts)))))
    return _Groups(before[firsts], before[stretch.starts])


def level_means(levels: Levels, which: Ints, speedups: Floats, *, counted: Flags | None) -> Floats:
    """For each series of speedups the mean over groups of the geometric mean: by module, class, function, and overall.

    `which` names each series' nop side; the series stand one after another. Where `counted` is given the others are
    left out, and a series of nothing has NaN.
    """
    starts = _stretch(levels.stretch.sizes[which]).starts
    means_by_level = np.empty((len(which), 4))
    for series in _rounds(which):
        whole = len(series) == len(levels.stretch.starts) - 1
        part = levels if whole else levels.of(which[series])
        rows = np.repeat(starts[series] - part.stretch.starts[:-1], part.stretch.sizes)
        rows += np.arange(part.stretch.starts[-1])
        means_by_level[series] = _means_of_round(part, speedups[rows], None if counted is None else counted[rows])
    return means_by_level


def _rounds(which: Ints) -> Iterator[Ints]:
    """The series in rounds that have each side at most once, so that a round can use the sides' groups as they are."""
    order = np.argsort(which, kind="stable")
    sides = which[order]
    turn = np.arange(len(which)) - np.searchsorted(sides, sides)
    for round_number in range(int(turn.max(initial=-1)) + 1):
        yield order[turn == round_number]


def _means_of_round(levels: Levels, speedups: Floats, counted: Flags | None) -> Floats:
    """The means of one series for each side."""
    everything = counted is None or bool(counted.all())
    logs = np.log(speedups if everything else speedups[counted])
    means_by_level = np.empty((len(levels.stretch.starts) - 1, 4))
    with np.errstate(divide="ignore", invalid="ignore"):
        for level, groups in enumerate((*levels.groups, levels.overall)):
            numbers = groups.numbers if everything else groups.numbers[counted]
            sizes = groups.sizes if everything else np.bincount(numbers, minlength=len(groups.owner))
            means = np.exp(np.bincount(numbers, logs, minlength=len(groups.owner)) / sizes)
            if level == len(levels.groups):
                means_by_level[:, level] = means
                continue
            present = slice(None) if everything else sizes > 0
            owner = groups.owner[present]
            totals = np.bincount(owner, means[present], minlength=len(means_by_level))
            means_by_level[:, level] = totals / np.bincount(owner, minlength=len(means_by_level))
    return means_by_level
