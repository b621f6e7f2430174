"""One task while submissions come in: its counts, extremes and medians, and the baseline version they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena.scoring._baseline import BaselineBounds, default_bounds
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._running_median import LowerMedian, RunningMedian, Tally
from steelyard.arena.scoring._stored_tallies import PackedTallies, StoredTally, read_packed, unpack_tally
from steelyard.records import Task
from steelyard.store import insert_columns
from steelyard.store.schema import baselines, states

EXTREMES = {
    "tokens": "total_tokens",
    "tool_calls": "tool_calls",
    "execution_time": "execution_time",
    "cost": "estimated_cost",
}
"""The part of a bound's name that says which field it bounds."""

UNKNOWN_AT_ZERO = (2, 3)
"""Places among the extremes whose 0 means unknown: time and cost."""

PRELOAD = 20
"""A tally is read whole when the task has at most this many submissions for each new one; else value by value."""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task as the store holds it, with the constants its scores are made with."""

    key: int
    task: Task
    constants: Mapping[str, float]
    defaults: Mapping[str, float]
    asks_nothing: bool
    """Whether any tool and model may take part and no criterion is to be checked."""


class TaskState:
    """The state of one task inside one transaction."""

    def __init__(
        self,
        stored_task: StoredTask,
        row: RowMapping,
        current: BaselineBounds,
        *,
        least: int,
        packed: PackedTallies | None,
    ) -> None:
        self.stored_task = stored_task
        self.packed = packed if packed is not None or row["n"] else PackedTallies()
        """The tallies when this began, if they fit in one row; None when they are rows of the store."""
        self.n: int = row["n"]
        self.n_before = self.n
        self.version: int = row["version"]
        self.version_before: int = self.version
        self.bounds = current
        self.versions_before: list[int] = []
        self.new_versions: list[tuple[int, int, BaselineBounds, int]] = []
        """Version, the number of submissions from which it holds, its bounds, and when it began."""
        self.least = least
        self._lower_medians: tuple[LowerMedian, LowerMedian] | None = None
        self._lows = [row[f"min_{name}"] for name in EXTREMES]
        self._highs = [row[f"max_{name}"] for name in EXTREMES]
        self._row = row
        self._default_ends = default_bounds(stored_task.defaults)

    @property
    def moved(self) -> bool:
        """Whether the baseline's version changed in this transaction."""
        return self.version != self.version_before

    def prepare(self, connection: Connection, coming: int) -> None:
        """Get ready for `coming` submissions: read the tallies whole or be ready to look values up."""
        self.iterations = self._running_median(connection, "iterations", "iterations", coming)
        self.tokens = self._running_median(connection, "total_tokens", "tokens", coming)

    def _running_median(self, connection: Connection, field: str, prefix: str, coming: int) -> RunningMedian:
        if self.packed is not None:
            tally = Tally(unpack_tally(getattr(self.packed, field)))
        elif self.n <= PRELOAD * coming:
            tally = Tally(StoredTally(connection, self.stored_task.key, field).all())
        else:
            tally = Tally(source=StoredTally(connection, self.stored_task.key, field))
        value, below = self._row[f"{prefix}_middle"], self._row[f"{prefix}_below"]
        return RunningMedian(tally, n=self.n, value=value, below=below)

    def take_in(self, facts: Mapping[str, Sequence[Any]], now: int) -> None:
        """Take submissions in, in their order; a new version starts whenever a number that scores depend on changes.

        Afterwards `versions_before` holds the version that each of them met. Any: facts, None where unknown.
        """
        self.tokens.add_all(facts["total_tokens"])
        columns = [facts[field] for field in EXTREMES.values()]
        lows, highs, iterations = self._lows, self._highs, self.iterations
        for turns, *extremes in zip(facts["iterations"], *columns, strict=True):
            self.versions_before.append(self.version)
            self.n += 1
            iterations.add(1 if turns is None else turns)
            is_extreme = self.n == self.least
            for place, value in enumerate(extremes):
                if value is None or (value == 0 and place in UNKNOWN_AT_ZERO):
                    continue
                low = lows[place]
                if low is None:
                    lows[place] = highs[place] = value
                elif value < low:
                    lows[place] = value
                elif value > highs[place]:
                    highs[place] = value
                else:
                    continue
                is_extreme = True
            if self.n >= self.least and (is_extreme or iterations.median() != self.bounds.median_iterations):
                bounds = self._own_bounds()
                if bounds != self.bounds:
                    self.set_bounds(bounds, now)

    def extremes(self, place: int) -> tuple[float | None, float | None]:
        """The lowest and the highest value so far of one of the EXTREMES."""
        return self._lows[place], self._highs[place]

    def reach(self, n: int, lows: Sequence[float], highs: Sequence[float]) -> None:
        """Have so many submissions with these extremes; what is not a number is unknown."""
        self.n = n
        self._lows = [_stored_extreme(value, place) for place, value in enumerate(lows)]
        self._highs = [_stored_extreme(value, place) for place, value in enumerate(highs)]

    def rest(self, iterations: LowerMedian, tokens: LowerMedian) -> None:
        """Have these middle values, found without following the medians one by one."""
        self._lower_medians = iterations, tokens

    def begin(self, version: int, n: int, bounds: BaselineBounds, now: int) -> None:
        """Have these bounds from the n-th submission on."""
        self.bounds = bounds
        self.version = version
        self.new_versions.append((version, n, bounds, now))

    def set_bounds(self, bounds: BaselineBounds, now: int) -> None:
        """Start a new version with these bounds."""
        self.begin(self.version + 1, self.n, bounds, now)

    def bounds_now(self) -> BaselineBounds:
        """The bounds as they follow from the submissions and the rules at this moment."""
        return self._own_bounds() if self.n >= self.least else default_bounds(self.stored_task.defaults)

    def _own_bounds(self) -> BaselineBounds:
        default = self._default_ends
        lows, highs = self._lows, self._highs
        ends = [
            default[place] if value is None else float(value)
            for place, value in enumerate((lows[0], highs[0], lows[1], highs[1], lows[2], highs[2], lows[3], highs[3]))
        ]
        return BaselineBounds._make((*ends, float(self.iterations.median())))

    def as_row(self) -> dict[str, Any]:  # Any: column values
        """The row of the task's state."""
        values: dict[str, Any] = {
            "of_task": self.stored_task.key,
            "n": self.n,
            "version": self.version,
        }  # Any: as above
        for name, low, high in zip(EXTREMES, self._lows, self._highs, strict=True):
            values |= {f"min_{name}": low, f"max_{name}": high}
        lower_medians = self._lower_medians or (self.iterations.lower_median, self.tokens.lower_median)
        for prefix, lower_median in zip(("iterations", "tokens"), lower_medians, strict=True):
            values |= {f"{prefix}_middle": lower_median.value, f"{prefix}_below": lower_median.below}
        return values


def _stored_extreme(value: float, place: int) -> float | None:
    """An extreme as the store holds it: counts are whole numbers."""
    if math.isnan(value):
        return None
    return value if place in UNKNOWN_AT_ZERO else int(value)


def save_task_states(connection: Connection, task_states: Sequence[TaskState]) -> None:
    """Write the states and the new versions."""
    if not task_states:
        return
    connection.execute(
        update(states).where(states.c.task_key == bindparam("of_task")), [state.as_row() for state in task_states]
    )
    made = [
        (state.stored_task.key, version, from_n, *bounds, now)
        for state in task_states
        for version, from_n, bounds, now in state.new_versions
    ]
    if made:
        names = ("task_key", "version", "from_n", *BaselineBounds._fields, "created_at")
        insert_columns(connection, baselines, dict(zip(names, zip(*made, strict=True), strict=True)))


def load_task_states(
    connection: Connection, stored_tasks: Sequence[StoredTask], rules: Rules, *, lock: bool = True
) -> dict[int, TaskState]:
    """The states of these tasks. PostgreSQL locks their rows, in the order of keys so that none waits in a circle."""
    by_key = {task.key: task for task in stored_tasks}
    task_states: dict[int, TaskState] = {}
    keys = sorted(by_key)
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        wanted = select(states).where(states.c.task_key.in_(some)).order_by(states.c.task_key)
        state_rows = connection.execute(wanted.with_for_update() if lock else wanted)
        rows = {row["task_key"]: row for row in state_rows.mappings()}
        joined = states.c.task_key == baselines.c.task_key
        current = (
            select(baselines)
            .join(states, joined & (states.c.version == baselines.c.version))
            .where(baselines.c.task_key.in_(some))
        )
        packed = read_packed(connection, some)
        least = rules.baseline.submissions
        for row in connection.execute(current).mappings():
            bounds = BaselineBounds(*(row[name] for name in BaselineBounds._fields))
            key = row["task_key"]
            task_states[key] = TaskState(by_key[key], rows[key], bounds, least=least, packed=packed.get(key))
    return task_states
