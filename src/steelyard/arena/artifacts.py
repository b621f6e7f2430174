"""What a submission brought along, staged in a folder of ours: plain files only, bounded in number and size.

Names and links in it are written by whoever submits, so nothing outside of the allowed folder is ever opened.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from threading import Event
from typing import IO

from steelyard.errors import BadInput, Interrupted

MOST_FILES = 20_000
MOST_BYTES = 512 * 1024 * 1024
MOST_FOLDERS_DEEP = 100
"""What copies and removes trees goes down them step by step, and Python's steps are bounded."""
MOST_QUOTED = 200
"""Characters of a name or of another program's message that an error shows."""
_PIECE = 1 << 20


class BadArtifacts(BadInput):
    """Artifacts that cannot be used: not there, outside of the allowed folder, too large, or broken."""

    kind = "bad_artifacts"


@dataclass(frozen=True, slots=True)
class Staged:
    """Artifacts in a folder of ours."""

    folder: Path
    sha256: str
    """Digest of every file's path and content; where they lay does not count."""


def locate(artifacts: str, root: Path) -> Path:
    """Where the artifacts lie; refused when that is outside of the folder that submissions may name."""
    try:
        path = (root / artifacts).resolve()
        inside = path.is_relative_to(root.resolve())
        if inside and path.exists():
            return path
    except (OSError, ValueError, RuntimeError) as error:
        raise BadArtifacts(f"the artifacts cannot be found: {_why(error)}") from error
    if not inside:
        raise BadArtifacts(
            "the artifacts lie outside of the folder of the submissions", hint="name them relative to it"
        )
    raise BadArtifacts(f"there are no artifacts at {_quoted(artifacts)}")


def _quoted(name: str) -> str:
    """A name that somebody else chose, as a message may show it."""
    return repr(name if len(name) <= MOST_QUOTED else f"{name[:MOST_QUOTED]}...")


def _why(error: Exception) -> str:
    """What went wrong, without the path: that is one of ours, and may be as long as whoever submits likes."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said if len(said) <= MOST_QUOTED else f"{said[:MOST_QUOTED]}..."


@contextmanager
def staged(path: Path, *, stop: Event | None = None) -> Iterator[Staged]:
    """The artifacts, copied or unpacked, while the block runs. `stop`, once set, ends the copying (Interrupted)."""
    with TemporaryDirectory(prefix="steelyard-artifacts-", ignore_cleanup_errors=True) as name:
        stage = _Stage(Path(name), stop)
        try:
            for relative, content in _files(path):
                stage.put(relative, content)
        except (OSError, tarfile.TarError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            raise BadArtifacts(f"the artifacts cannot be read: {_why(error)}") from error
        yield Staged(Path(name), stage.digest())


class _Stage:
    def __init__(self, folder: Path, stop: Event | None) -> None:
        self._folder = folder
        self._stop = stop
        self._digests: dict[str, str] = {}
        self._files_left = MOST_FILES
        self._left = MOST_BYTES

    def put(self, relative: str, content: IO[bytes]) -> None:
        name = _safe_name(relative)
        self._files_left -= 1  # an archive can hold one name any number of times
        if self._files_left < 0:
            raise BadArtifacts(f"there are more than {MOST_FILES} files among the artifacts")
        target = self._folder / name
        digest = hashlib.sha256()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            out = target.open("wb")
        except OSError as error:
            raise BadArtifacts(f"a file of the artifacts cannot be kept: {_quoted(relative)}: {_why(error)}") from error
        with out:
            while piece := content.read(_PIECE):
                if self._stop is not None and self._stop.is_set():
                    raise Interrupted("reading the artifacts was stopped")
                self._left -= len(piece)
                if self._left < 0:
                    raise BadArtifacts(f"the artifacts are larger than {MOST_BYTES} bytes")
                digest.update(piece)
                out.write(piece)
        self._digests[name] = digest.hexdigest()

    def digest(self) -> str:
        lines = [f"{digest} {name}\n" for name, digest in sorted(self._digests.items())]
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _safe_name(relative: str) -> str:
    path = PurePosixPath(relative.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in relative:
        raise BadArtifacts(f"a file of the artifacts is named {_quoted(relative)}", hint="use relative paths")
    if len(path.parts) > MOST_FOLDERS_DEEP:
        raise BadArtifacts(f"artifacts lie more than {MOST_FOLDERS_DEEP} folders deep: {_quoted(relative)}")
    return str(path)


def _files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if path.is_dir():
        yield from _in_folder(path)
    elif tarfile.is_tarfile(path):
        yield from _in_tar(path)
    elif zipfile.is_zipfile(path):
        yield from _in_zip(path)
    else:
        raise BadArtifacts("the artifacts are neither a folder nor a tar or zip archive")


def _in_folder(root: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for folder, folders, names in os.walk(root):
        for inner in folders:
            _safe_name(str(Path(folder, inner).relative_to(root)))  # walking on would go as deep as they do
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if not stat.S_ISREG(path.lstat().st_mode):
                continue  # a link could lead out, a pipe could hang
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as content:
                yield str(path.relative_to(root)), content


def _in_tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, content


def _in_zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.is_dir() or stat.S_ISLNK(member.external_attr >> 16):
                continue
            with archive.open(member) as content:
                yield member.filename, content
