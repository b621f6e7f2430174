"""Tasks at rest. A task that was added is never changed: scores made under it must keep their meaning."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from steelyard.arena.grading import TaskFiles, digests_of, keep_task_files, kept_digests, read_task_files
from steelyard.arena.scoring import Rules, StoredTask, default_bounds
from steelyard.errors import InputLimitError, StoreError, TaskExistsError, UnknownNameError, UsageError
from steelyard.records import Task, check_task, convert_task, is_storable
from steelyard.store.schema import baselines, states, tasks

FIRST_VERSION = 1
IDS_PER_QUERY = 500


class NewTask(NamedTuple):
    """A task that was checked, with all that is kept of it."""

    task: Task
    definition: str
    files: TaskFiles


def new_task(task: Task, base_dir: Path) -> NewTask:
    """The task with its own files, whose folders are found from `base_dir`."""
    try:
        return NewTask(task, check_task(task), read_task_files(task, base_dir))
    except InputLimitError as error:
        raise UsageError(error.message, where=str(task.id)[:200], hint=error.hint) from error
    except ValueError as error:
        raise UsageError(str(error), where=str(task.id)[:200]) from error


def add_task(connection: Connection, new: NewTask, *, rules: Rules, now: int) -> bool:
    """Add the task; False if an identical one exists. A different task with the same id is an error."""
    task, definition, files = new
    rules.check_task(task)
    stored = connection.execute(select(tasks.c.task_key, tasks.c.definition).where(tasks.c.id == task.id)).first()
    if stored is not None:
        if stored.definition == definition and kept_digests(connection, stored.task_key) == digests_of(files):
            return False
        other = "other files" if stored.definition == definition else "another definition"
        raise TaskExistsError(task.id, other=other)
    row = {"id": task.id, "definition": definition, "category": task.category, "created_at": now}
    key = connection.execute(insert(tasks).values(row).returning(tasks.c.task_key)).scalar_one()
    nothing = dict.fromkeys(("n", "accepted", "iterations_below", "tokens_below"), 0)
    connection.execute(insert(states), {"task_key": key, "version": FIRST_VERSION, **nothing})
    bounds = default_bounds(rules.defaults_of(task))._asdict()
    first = {"task_key": key, "version": FIRST_VERSION, "from_n": 0, "created_at": now}
    connection.execute(insert(baselines), first | bounds)
    keep_task_files(connection, key, files)
    return True


def load_tasks(connection: Connection, rules: Rules) -> dict[str, StoredTask]:
    """Every task by its id."""
    rows = connection.execute(select(tasks.c.task_key, tasks.c.definition).order_by(tasks.c.task_key))
    return {stored.task.id: stored for stored in (_stored_task(row.task_key, row.definition, rules) for row in rows)}


def find_tasks(connection: Connection, ids: Iterable[str], rules: Rules) -> dict[str, StoredTask]:
    """The tasks of these ids that are there."""
    wanted = sorted(name for name in ids if is_storable(name))
    by_id: dict[str, StoredTask] = {}
    for start in range(0, len(wanted), IDS_PER_QUERY):
        some = tasks.c.id.in_(wanted[start : start + IDS_PER_QUERY])
        for row in connection.execute(select(tasks.c.task_key, tasks.c.definition).where(some)):
            stored_task = _stored_task(row.task_key, row.definition, rules)
            by_id[stored_task.task.id] = stored_task
    return by_id


def find_task(connection: Connection, task_id: str, rules: Rules) -> StoredTask:
    """The task of that id, or an error with the nearest."""
    by_id = find_tasks(connection, [task_id], rules)
    if task_id not in by_id:
        raise UnknownNameError("task", task_id[:200], connection.execute(select(tasks.c.id)).scalars())
    return by_id[task_id]


def _stored_task(key: int, definition: str, rules: Rules) -> StoredTask:
    try:
        task = convert_task(msgspec.json.decode(definition))
    except ValueError as error:  # stored by an older version without this check
        raise StoreError(f"invalid task in the arena: {error}", hint="create a new arena and submit again") from error
    asks_nothing = not task.success_criteria and task.tools is None and task.models is None
    return StoredTask(key, task, rules.constants_of(task), rules.defaults_of(task), asks_nothing)
