"""Digests of files and directories, independent of their names and locations."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from steelyard.files import file_chunks

_GIT = ".git"
_OF_GIT = ("HEAD", "packed-refs", "refs")
"""Files that define a repository's state; the rest is derived or changes on read access (the index)."""


ID_DIGITS = 16


def digest_of(*parts: object) -> str:
    """The SHA-256 of JSON values, keys in order."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def trial_id(*parts: object) -> str:
    """The id of a trial that is made of these parts."""
    return digest_of(*parts)[:ID_DIGITS]


def tree_digest(path: Path) -> str:
    """The SHA-256 of a file, or of a folder: relative names, contents, executable bits and where links lead.

    Times, owners and other modes do not count. Of a Git repository its refs count, not its index.
    """
    if not path.is_dir():
        return digest_of("file", file_digest(path))
    listed = [
        (_named(inner.relative_to(path)), *_entry(inner, status))
        for inner, status in sorted(_entries(path, path / _GIT))
    ]
    return digest_of("folder", listed)


def _entries(folder: Path, git: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for inner in folder.iterdir():
        if folder == git and inner.name not in _OF_GIT:
            continue
        status = inner.lstat()
        if stat.S_ISDIR(status.st_mode):
            yield from _entries(inner, git)
        if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
            yield inner, status


def _entry(path: Path, status: os.stat_result) -> tuple[str, str]:
    if stat.S_ISDIR(status.st_mode):
        return "folder", ""
    if stat.S_ISLNK(status.st_mode):
        return "link", _named(path.readlink())
    return "program" if status.st_mode & stat.S_IXUSR else "file", file_digest(path)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content."""
    digest = hashlib.sha256()
    for chunk in file_chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


def _named(path: Path) -> str:
    """The path as text, whatever bytes it is made of."""
    return os.fsencode(path).decode("latin-1")
