"""A task's own files: read from its folders when it is added, and from then on only from the store.

Files that check a submission must not change once scores exist, nor depend on a local disk.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring import StoredTask
from steelyard.files import Budget
from steelyard.records import SuccessCriterion, Task, TestsPass, is_storable
from steelyard.results import FilesKept
from steelyard.settings import MAX_DIRECTORY_DEPTH, TASK_BYTES, TASK_FILES
from steelyard.store import Store
from steelyard.store.schema import task_files

MAX_BYTES_IN_MEMORY = 4 * TASK_BYTES.default
"""Bytes of several tasks' files that are held while submissions to them are checked."""
MADE_BY_PYTHON = "__pycache__"
"""Generated directories that are skipped."""

TaskFiles = Mapping[str, Mapping[str, bytes]]
"""The content of each file by its path, by the folder as the task names it."""


def folder_field(criterion: SuccessCriterion) -> str:
    """The field in which a criterion of this kind names its folder, if it can name one."""
    return "tests" if isinstance(criterion, TestsPass) else "files"


def folders_of(task: Task) -> dict[str, str]:
    """Return the directories that the task names, each with the first field that names it."""
    folders: dict[str, str] = {}
    for criterion in task.success_criteria:
        field = folder_field(criterion)
        named = getattr(criterion, field, None)
        if named is not None:
            folders.setdefault(named, field)
    return folders


def read_task_files(task: Task, base_dir: Path) -> TaskFiles:
    """Return the files in the directories of the task, relative to `base_dir`; ValueError for unsupported files."""
    budget = Budget(TASK_BYTES, TASK_FILES)
    return {named: _read_folder(base_dir / named, named, field, budget) for named, field in folders_of(task).items()}


def _read_folder(root: Path, named: str, field: str, budget: Budget) -> dict[str, bytes]:
    try:
        if not root.is_dir():
            raise ValueError(f"no such directory in {field}: {named[:200]!r}")
        contents = {path.relative_to(root).as_posix(): _read(path, budget) for path in _plain_files(root)}
    except OSError as error:
        why = error.strerror or "no such directory"
        raise ValueError(f"cannot read the directory {named[:200]!r} in {field}: {why}") from error
    if not contents:
        raise ValueError(f"the directory {named[:200]!r} in {field} is empty")
    return contents


def _plain_files(root: Path) -> Iterator[Path]:
    """The files below, in the order of their names. What is neither file nor folder is an error: it would be missed."""
    for folder, folders, names in os.walk(root, onerror=_raise):
        folders[:] = sorted(name for name in folders if name != MADE_BY_PYTHON)
        for name in sorted((*folders, *names)):
            path = Path(folder, name)
            shown = repr(path.relative_to(root).as_posix()[:200])
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise ValueError(f"task file {shown} is not a regular file (replace it with a copy)")
            if not is_storable(str(path.relative_to(root))):
                raise ValueError(f"the name of task file {shown} is not valid UTF-8 (rename it)")
            if len(path.relative_to(root).parts) > MAX_DIRECTORY_DEPTH.most:
                raise MAX_DIRECTORY_DEPTH.passed(str(path.relative_to(root))[:200])
            if stat.S_ISREG(mode):
                yield path


def _raise(error: OSError) -> None:
    raise error


def _read(path: Path, budget: Budget) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        budget.take(str(path), size=size, entries=1)
        return file.read(size)


def digests_of(files: TaskFiles) -> list[tuple[str, str, str]]:
    """Folder, path and digest of each file, in the one order in which they are kept."""
    return sorted(
        (folder, path, hashlib.sha256(content).hexdigest())
        for folder, inside in files.items()
        for path, content in inside.items()
    )


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


def files_kept(connection: Connection, key: int) -> FilesKept | None:
    """How many files are kept of the task, and their digest; None when there are none."""
    digests = kept_digests(connection, key)
    return FilesKept(len(digests), hashlib.sha256(msgspec.json.encode(digests)).hexdigest()) if digests else None


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
