"""Included submissions of all tasks as columns: the data for the models."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import find_task, load_tasks
from steelyard.arena.scoring import Rules
from steelyard.arena.views import view_tasks
from steelyard.records import Task
from steelyard.results import Policy
from steelyard.store.schema import states

Ints = npt.NDArray[np.int64]
Key = tuple[str | None, ...]
USAGE_FIELDS = ("total_tokens", "tool_calls", "iterations", "execution_time", "estimated_cost")
STORED_FIELDS = ("id", "overall", "criteria_met", "criteria_total", "success", "details", *USAGE_FIELDS)

_ACCEPTED = select(func.coalesce(func.sum(states.c.accepted), 0))
"""Asked with every submission: putting the question together takes longer than the answer."""


@dataclass(frozen=True, slots=True, eq=False)
class SubmissionColumns:
    """Submissions by the ids of their tasks, in the order of acceptance: no path into the arena changes it."""

    seen: int
    """How many the arena has accepted, those included that do not count."""
    tasks: Sequence[Task]
    """Those with submissions, by their ids."""
    keys: Sequence[Key]
    """The tools, sorted; one that is not named is not among them."""
    task: Ints
    """The number of each submission's task."""
    tool: Ints
    """The number of each submission's tool; -1 where it is not named."""
    columns: dict[str, list[Any]]  # Any: column values

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """A column of numbers; what is not known is NaN."""
        return np.array([np.nan if value is None else value for value in self.columns[name]], dtype=np.float64)

    def digest(self, *also: object) -> str:
        """Return the SHA-256 of the data in the fit."""
        digest = hashlib.sha256()
        for part in (*also, self.tasks, self.keys, self.task.tolist(), self.tool.tolist()):
            digest.update(msgspec.json.encode(part))
        for name in STORED_FIELDS:
            digest.update(msgspec.json.encode(self.columns[name]))
        return digest.hexdigest()


def accepted_so_far(connection: Connection) -> int:
    """How many submissions the arena has ever accepted."""
    return int(connection.execute(_ACCEPTED).scalar_one())


def read_columns(
    connection: Connection, rules: Rules, policy: Policy, by: Sequence[str], *, task_id: str | None = None
) -> SubmissionColumns:
    """Every submission (to the task, or to all) that counts, as it is scored now."""
    stored = load_tasks(connection, rules).values() if task_id is None else [find_task(connection, task_id, rules)]
    views = [view for view in view_tasks(connection, stored, policy=policy) if len(view.rows)]
    views.sort(key=lambda view: view.stored_task.task.id)
    columns: dict[str, list[Any]] = {name: [] for name in STORED_FIELDS}  # Any: as above
    named: list[Key] = []
    for view in views:
        for name in STORED_FIELDS:
            columns[name] += view.rows[name].to_list()
        named += zip(*(view.rows[name].to_list() for name in by), strict=True)
    keys = sorted({key for key in named if any(key)}, key=lambda key: [(part is not None, part or "") for part in key])
    numbers = {key: number for number, key in enumerate(keys)}
    sizes = [len(view.rows) for view in views]
    return SubmissionColumns(
        seen=accepted_so_far(connection),
        tasks=[view.stored_task.task for view in views],
        keys=keys,
        task=np.repeat(np.arange(len(views), dtype=np.int64), sizes),
        tool=np.array([numbers.get(key, -1) for key in named], dtype=np.int64),
        columns=columns,
    )
