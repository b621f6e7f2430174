"""Many submissions to ranks small tasks taken in at once: extremes, medians and the baseline versions they make.

`TaskState.take_in` says what happens one by one; here it is done over columns, with the same outcome.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from steelyard.arena.scoring import (
    EXTREMES,
    UNKNOWN_AT_ZERO,
    BaselineBounds,
    TaskState,
    default_bounds,
    unpack_all,
    unpack_tally,
)

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

COUNTED_UP_TO = 64
"""Up to so ranks distinct values, medians are found by counting each of them in every row."""

MEDIAN = BaselineBounds._fields.index("median_iterations")


class Groups(NamedTuple):
    """Which rows belong to which task: those of a task lie side by side."""

    which: np.ndarray
    """The place of each row's task."""
    starts: np.ndarray
    sizes: np.ndarray

    @property
    def last(self) -> np.ndarray:
        """The last row of each task."""
        ends: np.ndarray = self.starts + self.sizes
        return ends - 1


class Taken(NamedTuple):
    """What the rows met and what they left."""

    versions: np.ndarray
    """The baseline version that each row met."""
    met: np.ndarray
    """Its bounds: a row for each, a column for each bound."""
    left: np.ndarray
    """The bounds of each task in the end."""
    ordinals: np.ndarray
    """The number of each row in its task."""


def group(sizes: Sequence[int]) -> Groups:
    """Rows in groups of these sizes, none of them empty."""
    import numpy as np  # heavy: a single submission is accepted without it

    lengths = np.array(sizes)
    return Groups(np.repeat(np.arange(len(lengths)), lengths), np.cumsum(lengths) - lengths, lengths)


def running_medians(ordered: list[int], coming: Sequence[int]) -> list[float]:
    """The median after each value that comes to the sorted ones.

    >>> running_medians([1], [4, 2])
    [2.5, 2]
    """
    medians: list[float] = []
    for n, value in enumerate(coming, len(ordered) + 1):
        insort(ordered, value)
        half = n // 2
        medians.append(ordered[half] if n % 2 else (ordered[half - 1] + ordered[half]) / 2)
    return medians


def group_medians(packed: Sequence[bytes], coming: np.ndarray, groups: Groups) -> np.ndarray:
    """The median of the group after each row, beginning with the group's tally as the store keeps it."""
    import numpy as np  # heavy: a single submission is accepted without it

    rows = len(coming)
    tallies = unpack_all(packed)
    distinct, places = np.unique(np.concatenate((coming, tallies.values)), return_inverse=True)
    if len(distinct) > COUNTED_UP_TO:
        values, medians = coming.tolist(), []
        for tally, start, size in zip(packed, groups.starts.tolist(), groups.sizes.tolist(), strict=True):
            ordered = [value for value, n in unpack_tally(tally).items() for _ in range(n)]
            medians += running_medians(ordered, values[start : start + size])
        return np.array(medians, dtype=float)
    first = np.zeros((len(packed), len(distinct)), dtype=np.int64)
    first[tallies.which, places[rows:]] = tallies.counts
    came = np.zeros((rows, len(distinct)), dtype=np.int64)
    came[np.arange(rows), places[:rows]] = 1
    came = np.cumsum(came, axis=0)
    n = np.arange(rows) - groups.starts[groups.which] + 1 + first.sum(axis=1)[groups.which]
    first[1:] -= came[groups.starts[1:] - 1]
    up_to = np.cumsum(came + first[groups.which], axis=1)  # how ranks are at most each of the distinct values
    lower, upper = (np.sum(up_to <= place[:, None], axis=1) for place in ((n - 1) // 2, n // 2))
    medians_: np.ndarray = (distinct[lower] + distinct[upper]) / 2
    return medians_


def running_extremes(values: np.ndarray, is_known: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest known value of the group up to each row; not a number while there is none."""
    import numpy as np  # heavy: a single submission is accepted without it

    distinct, places = np.unique(values[is_known], return_inverse=True)
    ranks = len(distinct) + 1
    # Ranks instead of values: shifted by group they can run through all groups in one go, exactly.
    down = (len(groups.starts) - groups.which) * ranks
    lowest = np.full(len(values), ranks - 1)
    lowest[is_known] = places
    lows = np.minimum.accumulate(lowest + down) - down
    up = groups.which * ranks
    highest = np.full(len(values), -1)
    highest[is_known] = places
    highs = np.maximum.accumulate(highest + up) - up
    shown = np.append(distinct, np.nan)
    return shown[lows], shown[highs]


def take_in_all(task_states: Sequence[TaskState], facts: pl.DataFrame, groups: Groups, *, now: int) -> Taken:
    """Take the rows of all tasks in; each has then its new count, bounds, extremes and versions."""
    import numpy as np  # heavy: a single submission is accepted without it

    which = groups.which
    ordinals = np.arange(len(which)) - groups.starts[which] + np.array([state.n for state in task_states])[which] + 1
    first = np.array([state.bounds for state in task_states])
    after, lows, highs = _bounds_after(task_states, facts, groups)
    is_own = ordinals >= np.array([state.least for state in task_states])[which]
    after = np.where(is_own[:, None], after, first[which])
    met = np.empty_like(after)
    met[1:] = after[:-1]
    met[groups.starts] = first
    is_new = (after != met).any(axis=1)
    begun = np.cumsum(is_new) - is_new
    versions = np.array([state.version for state in task_states])[which] + begun - begun[groups.starts][which]
    for state, low, high, n in zip(task_states, lows, highs, ordinals[groups.last].tolist(), strict=True):
        state.reach(n, low, high)
    rows = np.flatnonzero(is_new)
    starting = (which[rows], versions[rows] + 1, ordinals[rows], after[rows])
    for place, version, n, values in zip(*(column.tolist() for column in starting), strict=True):
        task_states[place].begin(version, n, BaselineBounds._make(values), now)
    return Taken(versions, met, after[groups.last], ordinals)


def _bounds_after(
    task_states: Sequence[TaskState], facts: pl.DataFrame, groups: Groups
) -> tuple[np.ndarray, list[list[float]], list[list[float]]]:
    """The bounds that the submissions up to each row make; and each task's lowest and highest values in the end."""
    import numpy as np  # heavy: a single submission is accepted without it
    import polars as pl  # heavy: as above

    defaults = np.array([default_bounds(state.stored_task.defaults) for state in task_states])
    after = np.empty((len(groups.which), len(BaselineBounds._fields)))
    ends: list[np.ndarray] = []
    for place, field in enumerate(EXTREMES.values()):
        values = facts[field].cast(pl.Float64).to_numpy()
        is_known = values > 0 if place in UNKNOWN_AT_ZERO else ~np.isnan(values)
        lows, highs = running_extremes(values, is_known, groups)
        stored_extremes = np.array([state.extremes(place) for state in task_states], dtype=float)
        sides = np.fmin(lows, stored_extremes[groups.which, 0]), np.fmax(highs, stored_extremes[groups.which, 1])
        for side, bounds in enumerate(sides):
            column = 2 * place + side
            after[:, column] = np.where(np.isnan(bounds), defaults[groups.which, column], bounds)
            ends.append(bounds[groups.last])
    packed = [state.packed.iterations if state.packed else b"" for state in task_states]
    after[:, MEDIAN] = group_medians(packed, facts["iterations"].fill_null(1).to_numpy(), groups)
    return after, np.column_stack(ends[0::2]).tolist(), np.column_stack(ends[1::2]).tolist()
