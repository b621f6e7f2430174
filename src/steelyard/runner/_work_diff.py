"""What an agent changed: two folders compared file by file, as a judge is shown it.

The folder is the agent's and may hold anything: links are not followed, and what is large or no text is only named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import UnreadableFileError
from steelyard.files import whole_file
from steelyard.runner._digests import file_digest

LEFT_OUT = frozenset({".git", ".hg", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules"})
"""Folders that tools fill by themselves."""
MAX_FILE = 512 << 10
MAX_LINES = 5_000
"""Longer files are named and not shown: comparing takes time that grows with the product of their lengths."""
MAX_FILES = 20_000


class FileDiff(NamedTuple):
    """One file that was added, removed or changed."""

    path: str
    text: str
    """The change as a unified diff, or the reason why it is not shown."""


def work_diff(before: Iterable[Path], after: Path) -> tuple[FileDiff, ...]:
    """Return the differences between the merged directories `before` and the directory `after`, ordered by path."""
    old: dict[str, Path] = {}
    for folder in before:
        old |= dict(_files(folder))
    new = dict(_files(after))
    paths = sorted(old.keys() | new.keys())
    changed = ((path, _change(path, old.get(path), new.get(path))) for path in paths)
    return tuple(FileDiff(path, text) for path, text in changed if text)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for name in sorted(files):
            count += 1
            if count > MAX_FILES:
                return
            path = Path(place, name)
            yield path.relative_to(folder).as_posix(), path


def _change(path: str, old: Path | None, new: Path | None) -> str:
    """The diff of one file; empty where nothing differs."""
    sides = [_content(side) for side in (old, new)]
    if sides[0] == sides[1]:
        return ""
    names = [f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null"]
    head = f"--- {names[0]}\n+++ {names[1]}\n"
    lines = [_lines(side) for side in sides]
    first, second = lines
    if first is None or second is None:
        return f"{head}(omitted: binary or too long)\n"
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(first, second, names[0], names[1])
    )


def _content(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        if path.is_symlink():
            return f"(a link to {path.readlink()})\n".encode("utf-8", "surrogateescape")
        if not path.is_file():
            return b"(not a regular file)\n"
        if path.stat().st_size <= MAX_FILE:
            return whole_file(path)
        return b"\0" + file_digest(path).encode()  # as no text, it is named and not shown
    except (OSError, UnreadableFileError):
        return b"(not readable)\n"


def _lines(content: bytes | None) -> list[str] | None:
    """The lines of a text; None for what cannot be shown as one."""
    if content is None:
        return []
    if b"\0" in content:
        return None
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    return lines if len(lines) <= MAX_LINES else None
