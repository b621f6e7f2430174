"""One task while submissions come in: its counts, extremes and medians, and the versions of its baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, bindparam, select, update
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena.scoring._baseline import BaselineBounds, LowerMedian, default_bounds
from steelyard.arena.scoring._rules import Rules
from steelyard.records import Task
from steelyard.store import insert_columns
from steelyard.store.schema import baselines, states

EXTREMES = {
    "tokens": "total_tokens",
    "tool_calls": "tool_calls",
    "execution_time": "execution_time",
    "cost": "estimated_cost",
}
"""Field of each bound, by the part of the bound's name."""

UNKNOWN_AT_ZERO = (2, 3)
"""Indices of the extremes whose 0 means unknown: time and cost."""

KEYS_PER_QUERY = 500
"""Keys or ids that one statement names."""

MEDIANS = {"iterations": "iterations", "total_tokens": "tokens"}
"""Fields with a stored median, and their part of the column names."""


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

    def __init__(self, stored_task: StoredTask, row: RowMapping, current: BaselineBounds, *, least: int) -> None:
        self.stored_task = stored_task
        self.n: int = row["n"]
        """How many submissions count."""
        self.n_before = self.n
        self.accepted: int = row["accepted"]
        """How many were ever accepted; more than count when some are excluded."""
        self.version: int = row["version"]
        self.version_before: int = self.version
        self.bounds = current
        self.bounds_before = current
        self.new_versions: list[tuple[int, int, BaselineBounds, int]] = []
        """Version, the number of accepted submissions from which it holds, its bounds, and when it began."""
        self.least = least
        self.middles = {
            field: LowerMedian(row[f"{prefix}_middle"], row[f"{prefix}_below"]) for field, prefix in MEDIANS.items()
        }
        """Where the middle of each of the MEDIANS is."""
        self._lows = [row[f"min_{name}"] for name in EXTREMES]
        self._highs = [row[f"max_{name}"] for name in EXTREMES]

    @property
    def moved(self) -> bool:
        """Whether the baseline's version changed in this transaction."""
        return self.version != self.version_before

    @property
    def extremes(self) -> tuple[Sequence[float | None], Sequence[float | None]]:
        """The lowest and the highest values so far of the EXTREMES."""
        return self._lows, self._highs

    def reach(self, n: int, lows: Sequence[float], highs: Sequence[float]) -> None:
        """Set the number of submissions and the extremes; NaN means unknown."""
        self.n = n
        self._lows = [_stored_extreme(value, place) for place, value in enumerate(lows)]
        self._highs = [_stored_extreme(value, place) for place, value in enumerate(highs)]

    def begin(self, version: int, ordinal: int, bounds: BaselineBounds, now: int) -> None:
        """Have these bounds from the submission of that ordinal on."""
        self.bounds = bounds
        self.version = version
        self.new_versions.append((version, ordinal, bounds, now))

    def own_bounds(self, median_iterations: float) -> BaselineBounds:
        """The bounds that the submissions make, however many there are."""
        default = default_bounds(self.stored_task.defaults)
        ends = [end for both in zip(self._lows, self._highs, strict=True) for end in both]
        known = [default[place] if end is None else float(end) for place, end in enumerate(ends)]
        return BaselineBounds._make((*known, median_iterations))

    def as_row(self) -> dict[str, Any]:  # Any: column values
        """The row of the task's state."""
        values: dict[str, Any] = {  # Any: as above
            "of_task": self.stored_task.key,
            "n": self.n,
            "accepted": self.accepted,
            "version": self.version,
        }
        for name, low, high in zip(EXTREMES, self._lows, self._highs, strict=True):
            values |= {f"min_{name}": low, f"max_{name}": high}
        for field, prefix in MEDIANS.items():
            values |= {f"{prefix}_middle": self.middles[field].value, f"{prefix}_below": self.middles[field].below}
        return values


def _stored_extreme(value: float, place: int) -> float | None:
    """An extreme as the store holds it: counts are whole numbers."""
    if math.isnan(value):
        return None
    return value if place in UNKNOWN_AT_ZERO else int(value)


_KEYS = bindparam("keys", type_=BigInteger, expanding=True)
_STATES = select(states).where(states.c.task_key.in_(_KEYS)).order_by(states.c.task_key)
_LOCKED = _STATES.with_for_update()
_CURRENT = (
    select(baselines)
    .join(states, (states.c.task_key == baselines.c.task_key) & (states.c.version == baselines.c.version))
    .where(baselines.c.task_key.in_(_KEYS))
)
_SAVED = update(states).where(states.c.task_key == bindparam("of_task"))


def save_task_states(connection: Connection, task_states: Sequence[TaskState]) -> None:
    """Write the states and the new versions."""
    if not task_states:
        return
    connection.execute(_SAVED, [state.as_row() for state in task_states])
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
    for start in range(0, len(keys), KEYS_PER_QUERY):
        some = keys[start : start + KEYS_PER_QUERY]
        state_rows = connection.execute(_LOCKED if lock else _STATES, {"keys": some})
        rows = {row["task_key"]: row for row in state_rows.mappings()}
        least = rules.baseline.submissions
        for row in connection.execute(_CURRENT, {"keys": some}).mappings():
            bounds = BaselineBounds(*(row[name] for name in BaselineBounds._fields))
            key = row["task_key"]
            task_states[key] = TaskState(by_key[key], rows[key], bounds, least=least)
    return task_states
