"""A task's own files, read from the folders that its criteria name."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.files import Budget
from steelyard.records import SuccessCriterion, Task, TestsPass, is_storable
from steelyard.settings import MAX_DIRECTORY_DEPTH, TASK_BYTES, TASK_FILES

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
