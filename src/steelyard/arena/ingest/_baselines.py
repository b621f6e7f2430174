"""Submissions taken in by their tasks: extremes, medians and the baseline versions that they make, over columns.

What comes out is what the submissions would have made one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from steelyard.arena.scoring import (
    EXTREMES,
    UNKNOWN_AT_ZERO,
    BaselineBounds,
    TaskState,
    default_bounds,
    running_medians,
)

LOWS, HIGHS = slice(0, 8, 2), slice(1, 8, 2)
"""Where the bounds of each of the EXTREMES are."""
MEDIAN = BaselineBounds._fields.index("median_iterations")


class Groups(NamedTuple):
    """Which rows belong to which task: those of a task are adjacent."""

    which: np.ndarray
    """The place of each row's task."""
    starts: np.ndarray
    sizes: np.ndarray

    @property
    def last(self) -> np.ndarray:
        """The last row of each task."""
        ends: np.ndarray = self.starts + self.sizes
        return ends - 1

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:  # Any: column values
        """The values of each task's rows."""
        spans = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return [values[start : start + size] for start, size in spans]


def group(sizes: Sequence[int]) -> Groups:
    """Rows in groups of these sizes, none of them empty."""
    lengths = np.array(sizes)
    return Groups(np.repeat(np.arange(len(lengths)), lengths), np.cumsum(lengths) - lengths, lengths)


def running_extremes(
    values: np.ndarray, stored_lows: np.ndarray, stored_highs: np.ndarray, groups: Groups
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest known value up to each row, of each column, beginning with what each group has stored.

    What is not a number is unknown.
    """
    lows, highs = values.copy(), values.copy()
    lows[groups.starts] = np.fmin(values[groups.starts], stored_lows)
    highs[groups.starts] = np.fmax(values[groups.starts], stored_highs)
    for start, size in zip(groups.starts.tolist(), groups.sizes.tolist(), strict=True):
        span = slice(start, start + size)
        np.fmin.accumulate(lows[span], out=lows[span])
        np.fmax.accumulate(highs[span], out=highs[span])
    return lows, highs


def take_in(
    task_states: Sequence[TaskState],
    columns: Mapping[str, Sequence[Any]],
    groups: Groups,
    *,
    earlier_iterations: Sequence[Mapping[int, int]],
    now: int,
) -> np.ndarray:
    """Take the rows of all tasks in, in their order; the baseline version that each row met.

    A new version starts whenever a number that scores depend on changes. Each task has then its new count, bounds,
    extremes, versions and middle of iterations; `earlier_iterations` are the counts that its median depends on. Any:
    column values.
    """
    which = groups.which
    place_in_task = np.arange(len(which)) - groups.starts[which] + 1
    counts = place_in_task + np.array([state.n for state in task_states])[which]
    ordinals = place_in_task + np.array([state.accepted for state in task_states])[which]
    lows, highs = _extremes_after(task_states, columns, groups)
    after = np.empty((len(which), len(BaselineBounds._fields)))
    defaults = np.array([default_bounds(state.stored_task.defaults) for state in task_states])[which]
    after[:, LOWS] = np.where(np.isnan(lows), defaults[:, LOWS], lows)
    after[:, HIGHS] = np.where(np.isnan(highs), defaults[:, HIGHS], highs)
    after[:, MEDIAN] = _medians_after(task_states, groups.split(columns["iterations"]), earlier_iterations)
    first = np.array([state.bounds for state in task_states])
    is_own = counts >= np.array([state.least for state in task_states])[which]
    after = np.where(is_own[:, None], after, first[which])
    met = np.empty_like(after)
    met[1:] = after[:-1]
    met[groups.starts] = first
    is_new = (after != met).any(axis=1)
    begun = np.cumsum(is_new) - is_new
    versions: np.ndarray = np.array([state.version for state in task_states])[which]
    versions += begun - begun[groups.starts][which]
    in_the_end = (ordinals[groups.last], counts[groups.last], lows[groups.last], highs[groups.last])
    for state, accepted, *reached in zip(task_states, *(column.tolist() for column in in_the_end), strict=True):
        state.accepted = accepted
        state.reach(*reached)
    rows = np.flatnonzero(is_new)
    starting = (which[rows], versions[rows] + 1, ordinals[rows], after[rows])
    for place, version, ordinal, values in zip(*(column.tolist() for column in starting), strict=True):
        task_states[place].begin(version, ordinal, BaselineBounds._make(values), now)
    return versions


def _extremes_after(
    task_states: Sequence[TaskState], columns: Mapping[str, Sequence[Any]], groups: Groups
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest values up to each row, a column for each of the EXTREMES. Any: column values."""
    values = np.array([columns[field] for field in EXTREMES.values()], dtype=float).T
    timed_and_priced = values[:, UNKNOWN_AT_ZERO]
    values[:, UNKNOWN_AT_ZERO] = np.where(timed_and_priced == 0, np.nan, timed_and_priced)
    stored = np.array([state.extremes for state in task_states], dtype=float)
    return running_extremes(values, stored[:, 0], stored[:, 1], groups)


def _medians_after(
    task_states: Sequence[TaskState],
    iterations: Sequence[Sequence[int | None]],
    earlier_iterations: Sequence[Mapping[int, int]],
) -> list[float]:
    """The median of iterations after each row; the tasks have the middle of the last."""
    medians: list[float] = []
    for state, reported, earlier in zip(task_states, iterations, earlier_iterations, strict=True):
        coming = [1 if turns is None else turns for turns in reported]
        after, state.middles["iterations"] = running_medians(earlier, coming, n=state.n)
        medians += after
    return medians
