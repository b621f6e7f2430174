"""Which files there are below the paths that were given, archives unpacked on the way."""

from __future__ import annotations

import filecmp
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.records import Finding, Rejected
from steelyard.settings import PIPED, STDIN, is_stdin


class SeenFiles:
    """Remembers files by size and compares bytes only where sizes agree."""

    def __init__(self) -> None:
        self._by_size: dict[int, list[Path]] = {}

    def again(self, path: Path) -> bool:
        """Whether a file with the same bytes came before."""
        same_size = self._by_size.setdefault(path.stat().st_size, [])
        is_repeat = any(filecmp.cmp(path, other, shallow=False) for other in same_size)
        same_size.append(path)
        return is_repeat


def file_repeated(shown: str) -> Finding:
    """What is said of a file that came before."""
    message = "the file was read already; it counts once"
    return Finding(code="file_repeated", severity="info", message=message, where=shown)


MOST_STDIN_BYTES = 8 << 30

SKIPPED_FOLDERS = frozenset({".git", ".hg", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"})


@dataclass(frozen=True, slots=True)
class Found:
    """A file, and how it is named to the user: a file in an archive as `logs.zip!/inner/path`."""

    path: Path
    shown: str
    size: int
    named: bool = False
    """Whether the user named this very file, so that it is an error when nothing can be made of it."""
    depth: int = 0
    """How many archives it lies in."""
    alone: bool = False
    """Whether it was packed alone (gz, zst): a tar and its packing are one archive to the user."""


def files_below(given: Sequence[Path], scratch: Path) -> Iterator[Found | Rejected]:
    """The files, in a fixed order, each once; what is piped in is kept in the scratch folder."""
    seen: set[str] = set()
    for path in given:
        if is_stdin(path):
            if STDIN not in seen:
                seen.add(STDIN)
                yield piped(scratch / PIPED)
        elif path.is_dir():
            for item in _below(path):
                shown = item.path if isinstance(item, Rejected) else item.shown
                if shown not in seen:
                    seen.add(shown)
                    yield item
        elif path.is_file():
            shown = path.as_posix()
            if shown not in seen:
                seen.add(shown)
                yield Found(path, shown, path.stat().st_size, named=True)
        else:
            reason = "not a file or folder" if path.exists() else "there is no such file or folder"
            yield Rejected(path=str(path), reason=reason, code="unreadable_file")


def piped(kept: Path) -> Found | Rejected:
    """What is piped in, as a file."""
    size = 0
    with kept.open("wb") as file:
        while chunk := sys.stdin.buffer.read(1 << 20):
            size += len(chunk)
            if size > MOST_STDIN_BYTES:
                reason = f"more than {MOST_STDIN_BYTES:,} bytes were piped in"
                return Rejected(path=PIPED, reason=reason, hint="write them to a file", code="unreadable_file")
            file.write(chunk)
    return Found(kept, PIPED, size, named=True, depth=1)  # like an archive's: it is shown under another name


def files_unpacked(folder: Path, archive: Found, *, depth: int, alone: bool) -> Iterator[Found]:
    """The files that were unpacked from an archive; one that was packed alone is what the user meant by its name."""
    for item in _below(folder):
        if isinstance(item, Rejected):
            continue  # nothing is closed to us that we unpacked
        inner = item.path.relative_to(folder).as_posix()
        shown = f"{archive.shown}!/{inner}"
        yield Found(item.path, shown, item.size, named=archive.named and alone, depth=depth, alone=alone)


def _below(folder: Path) -> Iterator[Found | Rejected]:
    """Files of the folder and the folders in it; links to folders are not followed, so no circle has to be feared."""
    waiting = [str(folder)]
    while waiting:  # not os.walk: in older Pythons it breaks down in what is too deep
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"the folder cannot be looked into: {error.strerror}"
            yield Rejected(path=Path(here).as_posix(), reason=reason, code="unreadable_file")
            continue
        folders: list[str] = []
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS:
                    folders.append(entry.path)
                continue
            path = Path(entry.path)
            try:
                status = path.stat()
            except OSError:
                continue  # a link that leads nowhere
            if stat.S_ISREG(status.st_mode) and status.st_size:
                yield Found(path, path.as_posix(), status.st_size)
        waiting += reversed(folders)
