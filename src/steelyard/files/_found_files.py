"""Files below the given paths, with those in archives."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from steelyard import files
from steelyard.errors import InputLimitError, UnreadableFileError
from steelyard.files._decompression import CHUNK, ONE_FILE, Budget, archive_kind
from steelyard.files._file_bytes import open_file
from steelyard.files._yaml_documents import is_yaml
from steelyard.records import Finding, Rejected
from steelyard.settings import MAX_ARCHIVE_DEPTH, PIPED, STDIN, is_stdin


class SeenFiles:
    """Remembers files by size, and by a digest of their bytes where sizes agree: an archive may have thousands."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, str], Path] = {}
        self._by_content: dict[tuple[int, str], dict[bytes, Path]] = {}

    def again(self, path: Path, labels: str = "") -> Path | None:
        """The file with the same bytes and labels that came before; None for a new one."""
        key = path.stat().st_size, labels
        first = self._first.setdefault(key, path)
        if first is path:
            return None
        contents = self._by_content.get(key)
        if contents is None:
            contents = self._by_content[key] = {_digest(first): first}
        earlier = contents.setdefault(_digest(path), path)
        return None if earlier is path else earlier


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def content_of(path: Path, labels: str = "") -> bytes | None:
    """A digest of the file's bytes, by which files that one machine does not see together are compared."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            digest.update(labels.encode())
            return digest.digest()
    except OSError:
        return None


def file_repeated(shown: str) -> Finding:
    """Return the finding about a duplicate file."""
    message = "duplicate file; included once"
    return Finding(code="file_repeated", severity="info", message=message, where=shown)


PLAN_TRIALS, PLAN_LIST, PLAN_RUNS = "trials", "trials.jsonl", "runs.jsonl"
"""What the folder of a plan holds. Its runs are complete; reading the logs of its trials too would duplicate them."""
PLAN_TIMINGS = "timings"
"""Where a plan that measures speed keeps its timings."""
SKIPPED_FOLDERS = frozenset({".git", ".hg", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"})


def is_plan_folder(folder: Path) -> bool:
    """Whether the folder is that of a plan that `run` made."""
    return (folder / PLAN_TRIALS).is_dir() and (folder / PLAN_LIST).is_file()


_HERE = os.path.join(os.curdir, "")  # a text, as `scandir` gives it


class FoundFile(msgspec.Struct, frozen=True):
    """A file, and how it is named to the user: a file in an archive as `logs.zip!/inner/path`."""

    location: str
    shown: str
    size: int
    named: bool = False
    """Whether the user named this very file, so that it is an error when nothing can be made of it."""
    depth: int = 0
    """How many archives it is in."""
    alone: bool = False
    """Whether it was compressed alone (gz, zst): a tar and its packing are one archive to the user."""
    counted: int = 0
    """What the budget was charged for it, when it came out of an archive."""
    budget: Budget = msgspec.field(default_factory=Budget)
    """What the input that it came with may still come to."""

    @property
    def path(self) -> Path:
        """Its path; made on access, as most of many files are only listed."""
        return Path(self.location)


def files_below(given: Sequence[Path], scratch: Path) -> Iterator[FoundFile | Rejected | Finding]:
    """The files, in a fixed order, each once, and those named again; what is piped in is kept in the scratch folder."""
    seen: set[str] = set()
    for path in given:
        if is_stdin(path) and STDIN in seen:
            continue
        for item in _of_input(path, scratch):
            shown = STDIN if is_stdin(path) else item.path if isinstance(item, Rejected) else item.shown
            if shown not in seen:
                seen.add(shown)
                yield item
            elif isinstance(item, FoundFile):
                yield file_repeated(shown)


def _of_input(path: Path, scratch: Path) -> Iterator[FoundFile | Rejected]:
    budget = Budget()
    if is_stdin(path):
        yield piped(scratch / PIPED, budget)
    elif path.is_dir():
        yield from _below(path, budget)
    elif path.is_file():
        yield FoundFile(str(path), path.as_posix(), path.stat().st_size, named=True, budget=budget)
    else:
        reason = "not a file or directory" if path.exists() else "no such file or directory"
        yield Rejected(path=str(path), reason=reason, code="unreadable_file")


def piped(kept: Path, budget: Budget) -> FoundFile | Rejected:
    """What is piped in, as a file."""
    size = 0
    with kept.open("wb") as file:
        while chunk := sys.stdin.buffer.read(CHUNK):
            try:
                budget.take(PIPED, size=len(chunk))
            except InputLimitError as error:
                return rejected_file(error, PIPED)
            size += len(chunk)
            file.write(chunk)
    # Like an archive's: it is shown under another name.
    return FoundFile(str(kept), PIPED, size, named=True, depth=1, budget=budget)


def rejected_file(error: UnreadableFileError, shown: str) -> Rejected:
    """A file that cannot be read, as it is listed next to others that can."""
    return Rejected(path=shown, reason=error.message, hint=error.hint, code=error.kind)


def packing(path: Path) -> str | None:
    """Which packing the file has; a YAML document is read as one that holds a JSON document."""
    with open_file(path) as file:
        kind = archive_kind(file.read(512))
    return "yaml" if kind is None and is_yaml(path) else kind


def files_in(archive: FoundFile, folder: Path) -> Iterator[FoundFile | Rejected]:
    """Extract the archive into the folder; yield its files, or why it is rejected and where it is truncated.

    A file that was compressed alone is what the user meant by the archive's name.
    """
    kind = packing(archive.path)
    depth = archive.depth - 1 if kind == "tar" and archive.alone else archive.depth
    budget = archive.budget.for_compressed(archive.size)
    try:
        if depth >= MAX_ARCHIVE_DEPTH.most:
            raise MAX_ARCHIVE_DEPTH.passed(archive.shown)
        broken_off = files.extract(
            archive.path, archive.shown, folder, budget=budget, counted=archive.counted, keep_empty=False
        )
    except UnreadableFileError as error:
        yield rejected_file(error, archive.shown)
        return
    finally:
        if archive.depth:  # it is ours, and replaced by what it holds
            archive.path.unlink()
    if broken_off is not None:
        yield broken_off
    alone = kind in ONE_FILE or kind == "yaml"
    for item in _below(folder, budget):
        if isinstance(item, Rejected):
            continue  # nothing is closed to us that we decompressed
        inner = item.path.relative_to(folder).as_posix()
        shown = archive.shown if kind == "yaml" else f"{archive.shown}!/{inner}"
        inside = msgspec.structs.replace(item, shown=shown, named=archive.named and alone, depth=depth + 1, alone=alone)
        try:
            yield msgspec.structs.replace(inside, counted=_counted(inside))
        except UnreadableFileError as error:
            yield rejected_file(error, shown)


def _counted(inside: FoundFile) -> int:
    """What the budget is charged for a file out of an archive: for a zip what it holds, since it may be a log."""
    size = inside.size
    if packing(inside.path) == "zip":
        size = max(size, files.stated_bytes(inside.path, inside.shown))
        inside.budget.take(inside.shown, size=size - inside.size)
    return size


def _below(folder: Path, budget: Budget) -> Iterator[FoundFile | Rejected]:
    """Files of the folder and the folders in it; links to folders are not followed, so no circle has to be feared."""
    waiting = [str(folder)]
    while waiting:  # not os.walk: in older Pythons it breaks down in what is too deep
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"cannot read the directory: {error.strerror}"
            yield Rejected(path=Path(here).as_posix(), reason=reason, code="unreadable_file")
            continue
        folders: list[str] = []
        if {PLAN_TRIALS, PLAN_LIST} <= {entry.name for entry in inside}:
            inside = [entry for entry in inside if entry.name == PLAN_RUNS]
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS:
                    folders.append(entry.path)
                continue
            try:
                status = entry.stat()
            except OSError:
                continue  # a link that leads nowhere
            if stat.S_ISREG(status.st_mode) and status.st_size:
                location = entry.path.removeprefix(_HERE)
                yield FoundFile(location, location.replace(os.sep, "/"), status.st_size, budget=budget)
        waiting += reversed(folders)
