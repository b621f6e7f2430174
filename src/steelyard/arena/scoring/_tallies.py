"""Tallies: how many submissions of a task have each value of a field, and the ranks and medians that follow.

Many tasks are counted at once, as columns: one sort gives counts, ranks and medians of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from sqlalchemy import BigInteger, Integer, bindparam, case, delete, func, select, union_all
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._baseline import BaselineBounds, default_bounds
from steelyard.arena.scoring._task_state import KEYS_PER_QUERY, TaskState
from steelyard.store import insert_columns
from steelyard.store.schema import tallies


class TaskValues(NamedTuple):
    """Values of tasks: the place of the task, the value, and how often it is meant."""

    which: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class LowerMedians(NamedTuple):
    """For each task the lower middle value, the number of values below it, and the median."""

    values: np.ndarray
    below: np.ndarray
    medians: np.ndarray


class CountedValues(NamedTuple):
    """How often each value occurs in each task, ordered by task and value."""

    which: np.ndarray
    """The place of the task of each value."""
    values: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    """Where each task begins, and at last where all end."""
    below: np.ndarray
    """Number of the task's smaller values."""
    totals: np.ndarray
    """How many values each task has."""
    where: np.ndarray
    """For each pair that was counted, the place of its value here."""

    def lower_medians(self, tasks: np.ndarray, n: np.ndarray) -> LowerMedians:
        """The middle of the `n` values of each of these tasks; values well above it may be absent."""
        passed = np.cumsum(self.counts)
        before = np.concatenate(([0], passed))[self.starts[tasks]]
        lower = np.searchsorted(passed, before + (n - 1) // 2, side="right")
        upper = np.searchsorted(passed, before + n // 2, side="right")
        medians = (self.values[lower] + self.values[upper]) / 2
        return LowerMedians(self.values[lower], self.below[lower], medians)


def count_values(pairs: TaskValues, tasks: int) -> CountedValues:
    """The pairs added up, task by task."""
    order = np.lexsort((pairs.values, pairs.which))
    which, values = pairs.which[order], pairs.values[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (which[1:] != which[:-1]) | (values[1:] != values[:-1])
    first = np.flatnonzero(is_first)
    where = np.empty(len(order), dtype=np.int64)
    where[order] = np.cumsum(is_first) - 1
    counts = np.add.reduceat(pairs.counts[order], first)
    which = which[first]
    starts = np.searchsorted(which, np.arange(tasks + 1))
    passed = np.concatenate(([0], np.cumsum(counts)))
    below = passed[:-1] - passed[starts[which]]
    totals = passed[starts[1:]] - passed[starts[:-1]]
    return CountedValues(which, values[first], counts, starts, below, totals, where)


def each_once(which: np.ndarray, values: np.ndarray) -> TaskValues:
    """Values that each occur once, with the places of their tasks."""
    return TaskValues(which, values, np.ones(len(which), dtype=np.int64))


def of_tallies(which: np.ndarray, tallies: Sequence[Mapping[int, int]]) -> TaskValues:
    """Values that were counted before, as value to count for each of the tasks at these places."""
    sizes = [len(tally) for tally in tallies]
    size = sum(sizes)
    values = np.fromiter(chain.from_iterable(tallies), dtype=np.int64, count=size)
    counts = np.fromiter(chain.from_iterable(tally.values() for tally in tallies), dtype=np.int64, count=size)
    return TaskValues(np.repeat(which, sizes), values, counts)


def join_values(*parts: TaskValues) -> TaskValues:
    """All pairs, part after part."""
    return TaskValues(*(np.concatenate(column) for column in zip(*parts, strict=True)))


FIELDS = {"overall": 0, "iterations": 1, "total_tokens": 2}
"""The number under which each field's tally is kept; numbers are never reused."""

WHOLE_UP_TO = 20
"""A tally is read whole when the task has at most this many submissions for each new one; else only a part of it."""
LOOK_UP_TO = 8
"""Up to this many scores of a task are looked up one by one; for more, its whole tally is read."""
BELOW_ALL = -1
"""Represents all values below those that were read; every value is at least 0."""

Counts = dict[int, int]
"""Values with how often each occurs."""

_VALUE, _N = tallies.c.value, tallies.c.n
_OF_FIELD = tallies.c.field == bindparam("of_field")
_OWN = (tallies.c.task_key == bindparam("of_task")) & _OF_FIELD
_WHOLE = select(tallies.c.task_key, _VALUE, _N).where(
    tallies.c.task_key.in_(bindparam("keys", expanding=True)), _OF_FIELD
)
_FORGET = delete(tallies).where(_OWN)
_MOST = bindparam("most", type_=Integer)
_MIDDLE = bindparam("middle", type_=BigInteger)
_BELOW = select(_VALUE, _N).where(_OWN, _VALUE < _MIDDLE).order_by(_VALUE.desc()).limit(_MOST)
_FROM = select(_VALUE, _N).where(_OWN, _VALUE >= _MIDDLE).order_by(_VALUE).limit(_MOST)
_AROUND = union_all(select(_BELOW.subquery()), select(_FROM.subquery()))
_UP_FROM = select(
    func.coalesce(func.sum(case((_VALUE > _MIDDLE, _N), else_=0)), 0),
    func.coalesce(func.sum(case((_VALUE == _MIDDLE, _N), else_=0)), 0),
).where(_OWN, _VALUE >= _MIDDLE)


def read_middles(connection: Connection, coming: Sequence[tuple[TaskState, int]], field: str) -> dict[int, Counts]:
    """By task the counts that its median may depend on while this many values arrive, and those below them."""
    counts = _read_whole(connection, [state for state, more in coming if state.n <= WHOLE_UP_TO * more], field)
    for state, more in coming:
        if state.stored_task.key not in counts:
            counts[state.stored_task.key] = _read_around(connection, state, more, field)
    return counts


def _read_whole(connection: Connection, task_states: Sequence[TaskState], field: str) -> dict[int, Counts]:
    """The whole tallies of these tasks, by their keys."""
    counts: dict[int, Counts] = {state.stored_task.key: {} for state in task_states}
    keys = [state.stored_task.key for state in task_states if state.n]
    for start in range(0, len(keys), KEYS_PER_QUERY):
        wanted = {"keys": keys[start : start + KEYS_PER_QUERY], "of_field": FIELDS[field]}
        for key, value, n in connection.execute(_WHOLE, wanted):
            counts[key][value] = n
    return counts


def _read_around(connection: Connection, state: TaskState, coming: int, field: str) -> Counts:
    """The counts around the lower middle value: each value that comes moves it by at most one of them."""
    middle = state.middles[field]
    own = {"of_task": state.stored_task.key, "of_field": FIELDS[field], "middle": middle.value, "most": coming + 2}
    counts: Counts = {row.value: row.n for row in connection.execute(_AROUND, own)}
    lower = sum(n for value, n in counts.items() if middle.value is not None and value < middle.value)
    return {BELOW_ALL: middle.below - lower, **counts} if middle.below > lower else counts


def read_scores(connection: Connection, asked: Sequence[tuple[TaskState, Sequence[int]]]) -> list[Counts]:
    """For each task the counts of overall scores that determine the number of scores above each given one."""
    few = [len(scores) <= LOOK_UP_TO and state.n > WHOLE_UP_TO * len(scores) for state, scores in asked]
    many = [state for (state, _), is_few in zip(asked, few, strict=True) if not is_few]
    whole = _read_whole(connection, many, "overall")
    return [
        _look_up(connection, state, scores) if is_few else whole[state.stored_task.key]
        for (state, scores), is_few in zip(asked, few, strict=True)
    ]


def _look_up(connection: Connection, state: TaskState, scores: Iterable[int]) -> Counts:
    """The counts of these scores, and just above each the number of scores between it and the next."""
    own = {"of_task": state.stored_task.key, "of_field": FIELDS["overall"]}
    counts: Counts = {}
    passed = 0
    for score in sorted(set(scores), reverse=True):
        above, equal = connection.execute(_UP_FROM, {**own, "middle": score}).one()
        if above > passed:
            counts[score + 1] = int(above) - passed
        counts[score] = int(equal)
        passed = int(above) + int(equal)
    return counts


def bounds_now(connection: Connection, state: TaskState) -> BaselineBounds:
    """Return the bounds that follow from the current submissions and rules."""
    if state.n < state.least:
        return default_bounds(state.stored_task.defaults)
    one = np.zeros(1, dtype=np.int64)
    iterations = count_values(of_tallies(one, [_read_around(connection, state, 0, "iterations")]), 1)
    return state.own_bounds(iterations.lower_medians(one, np.array([state.n])).medians.item())


def of_field(tasks: np.ndarray, field: str) -> np.ndarray:
    """The places of a field of these tasks among all fields of all tasks, which are counted as tasks of their own."""
    places: np.ndarray = tasks * len(FIELDS) + FIELDS[field]
    return places


def count_fields(pairs: TaskValues, tasks: int) -> CountedValues:
    """The pairs with places `of_field` added up."""
    return count_values(pairs, tasks * len(FIELDS))


def add_to_tallies(connection: Connection, keys: Sequence[int], counted: CountedValues) -> None:
    """Add what was counted by `count_fields` to the tallies of the tasks with these keys."""
    columns = {
        "task_key": np.array(keys)[counted.which // len(FIELDS)].tolist(),
        "field": (counted.which % len(FIELDS)).tolist(),
        "value": counted.values.tolist(),
        "n": counted.counts.tolist(),
    }
    insert_columns(connection, tallies, columns, adding=True)


def forget_tallies(connection: Connection, key: int) -> None:
    """Drop all tallies of a task, so that they can be recomputed."""
    connection.execute(delete(tallies).where(tallies.c.task_key == key))


def forget_scores(connection: Connection, keys: Sequence[int]) -> None:
    """Drop the tallies of the scores of these tasks, so that they can be recomputed."""
    if keys:
        connection.execute(_FORGET, [{"of_task": key, "of_field": FIELDS["overall"]} for key in sorted(keys)])


def rank_and_percentile(above: int, equal: int, n: int) -> tuple[int, float]:
    """Competition rank, and the share strictly below in percent with one decimal."""
    return above + 1, round((n - above - equal) / n * 100, 1)


NOTIFIED_RANKS = 10
"""Ranks whose loss is an event. Notifying about every rank would take as many events as there are pairs of
submissions."""


class RankedRows(NamedTuple):
    """Submissions to one task: their ordinals, and their overall scores in cents."""

    ordinals: np.ndarray
    overall: np.ndarray


class LostRank(NamedTuple):
    """A submission with a lower rank than before."""

    ordinal: int
    overall: int
    previous_ranking: int
    overall_ranking: int
    percentile: float


def lost_ranks(before: RankedRows, after: RankedRows) -> list[LostRank]:
    """Return the top submissions with a lower rank now, best first; those in only one of the two lists lost none."""
    ranks_before = _ranks(before.overall)
    is_notified = ranks_before <= NOTIFIED_RANKS
    previous = dict(zip(before.ordinals[is_notified].tolist(), ranks_before[is_notified].tolist(), strict=True))
    ranks_now, n = _ranks(after.overall), len(after.overall)
    lost = []
    for place in np.flatnonzero(np.isin(after.ordinals, list(previous))).tolist():
        ordinal, rank = int(after.ordinals[place]), int(ranks_now[place])
        if rank > previous[ordinal]:
            overall = int(after.overall[place])
            _, percentile = rank_and_percentile(rank - 1, int((after.overall == overall).sum()), n)
            lost.append(LostRank(ordinal, overall, previous[ordinal], rank, percentile))
    return sorted(lost, key=lambda row: (row.previous_ranking, row.ordinal))


def _ranks(overall: np.ndarray) -> np.ndarray:
    """Competition ranks.

    >>> _ranks(np.array([5, 9, 5, 1])).tolist()
    [2, 1, 2, 4]
    """
    ranks: np.ndarray = len(overall) - np.searchsorted(np.sort(overall), overall, side="right") + 1
    return ranks
