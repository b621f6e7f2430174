"""Test whether two agents have equal results on more tasks than chance explains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard.statistics._estimates import Floats, Ints

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer]
SUSPICIOUS = 1e-6
"""Agreement that is less likely than this is worth a finding."""
MIN_PROBABILITY = 0.01
"""A single task never counts for more than 1 in 100: runs at one task are closer to each other than to other tasks'."""
_CERTAIN = 10
"""Of this many results each, one pair is the same by chance: their pairs times `MIN_PROBABILITY` are 1."""
FINE_DIGITS = 4
"""Numbers with fewer significant digits (whole seconds, cents) agree too easily to be evidence."""
_EXACT_POWERS = 22
"""Up to here powers of ten are doubles, so that a division by one is rounded once, as reading a decimal number is."""
_POWERS = np.array([float(10**power) for power in range(_EXACT_POWERS + 1)])
_ODD, _OTHER_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_ROWS_AT_ONCE = 2**16
"""So few that they stay in the processor's cache."""
_COUNTED = 2_000
_MIN_SHOWN = 1e-300
_PAIRS = 2_000_000
"""Agreements that are counted; those on common values, the weakest evidence, are left out first."""


def are_fine(values: Floats) -> Bools:
    """Return whether measured numbers, in their shortest form, have enough digits to distinguish two results.

    What is missing or infinite is not fine.

    >>> are_fine(np.array([12.0, 3600.0, 0.05, 12.34, 23415.0, 0.0])).tolist()
    [False, False, False, True, True, False]
    """
    fine = np.zeros(len(values), dtype=bool)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        fine[start : start + _ROWS_AT_ONCE] = _are_fine(np.abs(values[start : start + _ROWS_AT_ONCE]))
    return fine


def _are_fine(sizes: Floats) -> Bools:
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    with np.errstate(divide="ignore"):
        moved = FINE_DIGITS - 2 - np.floor(np.log10(sizes))
    safe = np.abs(moved) <= _EXACT_POWERS
    up, down = (_POWERS[np.where(safe, np.maximum(places, 0), 0).astype(np.int64)] for places in (moved, -moved))
    whole = np.rint(sizes * up / down)  # of numbers with fewer digits, this holds them all
    fine = (sizes > 0) & ((whole * down / up != sizes) | (whole >= 10 ** (FINE_DIGITS - 1)) & (whole % 10 != 0))
    odd = np.flatnonzero(~safe & (sizes > 0))
    fine[odd] = [_digits(size) >= FINE_DIGITS for size in sizes[odd].tolist()]
    return np.asarray(fine, dtype=bool)


def _digits(value: float) -> int:
    return len(repr(value).partition("e")[0].replace(".", "").strip("0"))


@dataclass(frozen=True, slots=True)
class Coincidence:
    """Two agents with the same results."""

    first: int
    second: int
    agreeing: int
    """Tasks at which they share a result."""
    tasks: int
    """Tasks at which both have one."""
    chance: float
    """How likely so much agreement of any two agents is if results are independent; an upper bound."""

    @property
    def chance_text(self) -> str:
        """The chance as people read it."""
        return f"about {self.chance:.1g}" if self.chance > _MIN_SHOWN else f"below {_MIN_SHOWN:.0g}"


def coincidences(
    tasks: Codes, agents: Codes, values: Ints | Floats, *, only_fine: bool = False, looks: int = 1
) -> list[Coincidence]:
    """Pairs of agents that agree at too many tasks; the arguments are the task, agent and value of each result.

    With `only_fine`, results with too few digits do not count.

    At a task, the chance that the second agent's result equals the first's value is taken to be the largest of three:
    `MIN_PROBABILITY`, the fraction of the other agents with the value on the task, and (C + 1) / (N + 1), where C of
    the N results at all other tasks have it; that is exact if the result is exchangeable with those. A value that
    all agents have (an unchanged speed, a timeout) is thus no evidence. The chances of several attempts add up. That
    of the observed number of agreeing tasks or more is that of a sum of independent events (Poisson-binomial), times
    the pairs of agents and `looks`, the number of figures that are looked at.
    """
    kept = _counted(tasks, agents, values.astype(float, copy=False) if only_fine else None)
    if kept is None:
        return []
    task, agent, values = tasks[kept].astype(np.int64), agents[kept].astype(np.int64), values[kept]
    if not _any_shared(task, values):
        return []
    pool = _Pool(task, agent, np.unique(values, return_inverse=True)[1].astype(np.int64))
    suspicious: list[Coincidence] = []
    for (first, second), agreeing in sorted(pool.agreeing().items()):
        if agreeing < 2 or agreeing <= pool.min_expected(first, second):
            continue
        chances = pool.chances(first, second)
        if agreeing <= chances.sum():
            continue
        chance = min(1.0, at_least(agreeing, chances) * pool.pairs * looks)
        if chance < SUSPICIOUS:
            suspicious.append(Coincidence(first, second, agreeing, len(chances), chance))
    return suspicious


def _counted(tasks: Codes, agents: Codes, values: Floats | None) -> Bools | None:
    """Which results count: the fine ones of `values`, without them all.

    None where all agents tried all their tasks so often that sharing a result there is taken for certain: `_CERTAIN`
    results of each are enough.
    """
    width = int(agents.max(initial=0)) + 1
    size = (int(tasks.max(initial=0)) + 1) * width
    if size > max(_ROWS_AT_ONCE, 4 * len(tasks)):  # most agents tried few of the tasks: number the cells that exist
        names, numbers = np.unique(tasks.astype(np.int64) * width + agents, return_inverse=True)
        size, owner = len(names), names // width
    else:
        numbers, owner = None, np.arange(size) // width

    def cells_of(rows: slice) -> Ints:
        return tasks[rows].astype(np.int64) * width + agents[rows] if numbers is None else numbers[rows]

    step = max(_ROWS_AT_ONCE, 4 * size)
    steps = [slice(start, start + step) for start in range(0, len(tasks), step)]
    tried = np.zeros(size, dtype=bool)
    for rows in steps:
        tried[cells_of(rows)] = True
    attempts, counted = np.zeros(size), np.ones(len(tasks), dtype=bool)
    for rows in steps:
        if values is not None:
            counted[rows] = are_fine(values[rows])
        attempts += np.bincount(cells_of(rows), weights=counted[rows], minlength=size)
        if (attempts[tried] >= _CERTAIN).all():
            return None
    known = np.flatnonzero(attempts)
    order = np.lexsort((attempts[known], owners := owner[known]))
    pairs = owners[order][1:] == owners[order][:-1]  # the first pair of a task is that of its two smallest numbers
    seldom = attempts[known][order]
    stand_out = (pairs & (MIN_PROBABILITY * (seldom[1:] * seldom[:-1]) < 1)).any()
    return counted if stand_out else None


def _any_shared(tasks: Ints, values: Ints | Floats) -> bool:
    """Whether a task has a value twice, or seems to: sorting mixed numbers is far faster than sorting by two keys."""
    mixed = np.sort(values.view(np.uint64) * _ODD + tasks.view(np.uint64) * _OTHER_ODD)
    return bool((mixed[1:] == mixed[:-1]).any())


class _Pool:
    """All results, and how often each value occurs among them."""

    def __init__(self, tasks: Ints, agents: Ints, values: Ints) -> None:
        self._tasks, self._agents, self._values = tasks, agents, values
        self._width = int(agents.max()) + 1 if len(agents) else 1
        span = int(values.max()) + 1 if len(values) else 1
        places, self._place = np.unique(tasks * span + values, return_inverse=True)
        self._task_of_place = places // span
        self._of_value = np.bincount(values, minlength=span)
        self._at_task = np.bincount(tasks)
        self._at_place = np.bincount(self._place, minlength=len(places))
        self._held = _distinct(self._place * self._width + agents)  # an agent counts once at a task and value
        self._holders = np.bincount(self._held // self._width, minlength=len(places))
        self._present = np.bincount(_distinct(tasks * self._width + agents) // self._width)
        order = np.argsort(agents, kind="stable")
        names, starts = np.unique(agents[order], return_index=True)
        self._rows = dict(zip(names.tolist(), np.split(order, starts[1:]), strict=len(names) > 0))

    @property
    def pairs(self) -> int:
        """How many pairs of agents there are."""
        return len(self._rows) * (len(self._rows) - 1) // 2

    def min_expected(self, first: int, second: int) -> float:
        """At how many tasks two agents agree by chance at least: no pair of results has less than the least chance."""
        pairs = self._attempts(first) * self._attempts(second)
        return float(np.minimum(1.0, MIN_PROBABILITY * pairs).sum())

    @lru_cache(maxsize=64)  # noqa: B019 - a pool lives as long as one call
    def _attempts(self, agent: int) -> Ints:
        """How often the agent tried each task."""
        return np.bincount(self._tasks[self._rows[agent]], minlength=len(self._at_task))

    def agreeing(self) -> dict[tuple[int, int], int]:
        """At how many tasks two agents share a value; only the rarest values, where more than `_PAIRS` agree."""
        place, agent = np.divmod(self._held, self._width)
        rising = np.argsort(self._holders, kind="stable")
        agreed = np.cumsum(self._holders[rising] * (self._holders[rising] - 1) // 2)
        rare = np.zeros(len(self._holders), dtype=bool)
        rare[rising[agreed <= _PAIRS]] = True
        shared = rare[place] & (self._holders[place] > 1)
        place, agent = place[shared], agent[shared]
        together: list[Ints] = []
        for apart in range(1, int(self._holders[rare].max(initial=1))):  # agents with the same value are adjacent
            same = place[:-apart] == place[apart:]
            pair = agent[:-apart][same] * self._width + agent[apart:][same]
            together.append(self._task_of_place[place[apart:][same]] * self._width**2 + pair)
        if not together:
            return {}
        pairs, counts = np.unique(_distinct(np.concatenate(together)) % self._width**2, return_counts=True)
        return {divmod(pair, self._width): count for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)}

    def chances(self, first: int, second: int) -> Floats:
        """For each task that both tried, the chance that they share a result."""
        attempts, rows = self._attempts(second), self._rows[first]
        rows = rows[attempts[self._tasks[rows]] > 0]
        tasks, values, places = self._tasks[rows], self._values[rows], self._place[rows]
        elsewhere = self._of_value[values] - self._at_place[places]
        among = len(self._tasks) - self._at_task[tasks]
        both = np.isin(places, self._place[self._rows[second]])
        others = self._present[tasks] - 2
        share = np.where(others > 0, (self._holders[places] - 1 - both) / np.maximum(others, 1), 0.0)
        chance = np.maximum(np.maximum(MIN_PROBABILITY, share), (elsewhere + 1) / (among + 1))
        by_task = np.bincount(tasks, weights=chance * attempts[tasks], minlength=len(self._at_task))
        return np.asarray(np.minimum(1.0, by_task[by_task > 0]), dtype=float)


def _distinct(numbers: Ints) -> Ints:
    """Each number once; sorting whole numbers is several times faster than `np.unique`."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def at_least(count: int, chances: Floats) -> float:
    """Return the probability of `count` or more independent events; an upper bound beyond some thousands of them.

    >>> at_least(2, np.array([0.5, 0.5])), at_least(1, np.array([0.5, 0.5]))
    (0.25, 0.75)
    """
    wanted = min(count, _COUNTED + 2 * int(chances.sum()))
    happened = np.zeros(wanted + 1)
    happened[0] = 1.0
    for chance in np.sort(chances).tolist():  # the order of rows changes no bit
        more = happened[:-1] * chance
        happened[:-1] *= 1.0 - chance
        happened[1:] += more
    return float(happened[wanted])
