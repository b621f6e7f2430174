"""Advantage by level: benchmarks grouped by module, class, function or not at all, for many attempts at once.

The mean over groups of gmean(agent) - gmean(oracle) is the agent's mean over groups less the expert's, so each side's
is taken by itself, and the expert's once for all agents that are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """Of modules, classes and functions."""


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
    # Parameters make many benchmarks of one function, so a class is looked up once for each of its functions, and a
    # module once for each of its classes.
    classes, by_class = _coarser(functions, firsts, itemgetter(0, 1))
    modules, _ = _coarser(classes, by_class, itemgetter(0))
    return Levels(stretch, tuple(_numbered(codes, stretch) for codes in (modules, classes, functions)))


def _coarser(
    fine: Ints, firsts: Sequence[dict[Any, int]], part: Callable[[Any], Any]
) -> tuple[Ints, list[dict[Any, int]]]:  # Any: parts of places
    """The level above: for each row the first row of its group there, and where each of those groups first stands."""
    above: list[dict[Any, int]] = [{} for _ in firsts]
    heads = np.fromiter(chain.from_iterable(seen.values() for seen in firsts), dtype=np.int64)
    rows = chain.from_iterable(
        _firsts(known, map(part, seen), seen.values()) for known, seen in zip(above, firsts, strict=True)
    )
    at_heads = np.empty(len(fine), dtype=np.int64)
    at_heads[heads] = np.fromiter(rows, dtype=np.int64, count=len(heads))
    return at_heads[fine], above


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
    taken, rows = levels.stretch.repeated(which)
    series = np.arange(len(which))
    logs = np.log(speedups if counted is None else speedups[counted])
    found = np.empty((len(which), 4))
    for level, groups in enumerate(levels.groups):
        widths = np.diff(groups.starts)[which]
        shifts = np.cumsum(widths) - widths - groups.starts[which]
        numbers = groups.numbers[rows] + np.repeat(shifts, taken.sizes)
        means, held = _group_means(numbers if counted is None else numbers[counted], logs, int(widths.sum()))
        owner = np.repeat(series, widths)[held]
        with np.errstate(invalid="ignore"):
            found[:, level] = np.bincount(owner, means, minlength=len(which)) / np.bincount(owner, minlength=len(which))
    own = np.repeat(series, taken.sizes)
    means, held = _group_means(own if counted is None else own[counted], logs, len(which))
    found[:, 3] = np.nan
    found[held, 3] = means
    return found


def _group_means(groups: Ints, logs: Floats, size: int) -> tuple[Floats, slice | Flags]:
    """The geometric mean of each group that has members, and which those are."""
    sizes, sums = np.bincount(groups, minlength=size), np.bincount(groups, logs, minlength=size)
    held = sizes > 0
    if held.all():
        return np.exp(sums / sizes), slice(None)
    return np.exp(sums[held] / sizes[held]), held
