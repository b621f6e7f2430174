"""Stored tasks and their own files. A task that was added is never changed: its scores must keep their meaning.

Files that check a submission are read from folders when the task is added, and afterwards only from the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import StoredFiles
from steelyard.arena.scoring._baseline import default_bounds
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._task_state import KEYS_PER_QUERY, StoredTask
from steelyard.errors import InputLimitError, StoreError, TaskExistsError, UnknownNameError, UsageError
from steelyard.grading import TaskFiles, digests_of, folders_of, read_task_files
from steelyard.records import Task, check_task, convert_task, is_storable
from steelyard.settings import TASK_BYTES
from steelyard.store import Store
from steelyard.store.schema import baselines, states, task_files, tasks

FIRST_VERSION = 1
MAX_BYTES_IN_MEMORY = 4 * TASK_BYTES.default
"""Bytes of several tasks' files that are held while submissions to them are checked."""


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
    for start in range(0, len(wanted), KEYS_PER_QUERY):
        some = tasks.c.id.in_(wanted[start : start + KEYS_PER_QUERY])
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


def keep_task_files(connection: Connection, key: int, files: TaskFiles) -> None:
    """Keep the files of a task that was just added."""
    for number, (folder, path, digest) in enumerate(digests_of(files)):
        row = {"task_key": key, "number": number, "folder": folder, "path": path, "sha256": digest}
        connection.execute(insert(task_files), row | {"content": files[folder][path]})


def kept_digests(connection: Connection, key: int) -> list[tuple[str, str, str]]:
    """`digests_of` the files that are kept of the task."""
    columns = (task_files.c.folder, task_files.c.path, task_files.c.sha256)
    wanted = select(*columns).where(task_files.c.task_key == key).order_by(task_files.c.number)
    return [(row.folder, row.path, row.sha256) for row in connection.execute(wanted)]


def files_kept(connection: Connection, key: int) -> StoredFiles | None:
    """How many files are kept of the task, and their digest; None when there are none."""
    digests = kept_digests(connection, key)
    return StoredFiles(len(digests), hashlib.sha256(msgspec.json.encode(digests)).hexdigest()) if digests else None


class KeptFiles:
    """Tasks' own files out of the store, read when a check first needs them, and once as long as the task's turn is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._in_memory: dict[int, TaskFiles] = {}

    def of(self, stored_task: StoredTask) -> TaskFiles | None:
        """The task's own files; None when the store does not have what the task names."""
        wanted = folders_of(stored_task.task)
        if not wanted:
            return {}
        with self._lock:  # many checks of one task begin together, and one reading is enough
            if stored_task.key not in self._in_memory:
                self._in_memory[stored_task.key] = self._read(stored_task.key)
                self._make_room()
            files = self._in_memory[stored_task.key]
        return files if wanted.keys() <= files.keys() else None

    def _read(self, key: int) -> TaskFiles:
        wanted = select(task_files.c.folder, task_files.c.path, task_files.c.content).where(
            task_files.c.task_key == key
        )
        files: dict[str, dict[str, bytes]] = {}
        with self._store.read() as connection:
            for row in connection.execute(wanted.order_by(task_files.c.number)):
                files.setdefault(row.folder, {})[row.path] = bytes(row.content)
        return files

    def _make_room(self) -> None:
        """Let go of those that were read first: submissions come task by task, so these have had their turn."""
        while len(self._in_memory) > 1 and sum(map(_size, self._in_memory.values())) > MAX_BYTES_IN_MEMORY:
            del self._in_memory[next(iter(self._in_memory))]


def _size(files: TaskFiles) -> int:
    return sum(len(content) for inside in files.values() for content in inside.values())
