"""What a submission brought along, staged in a folder of ours: plain files only, bounded in number and size.

Names and links in it are chosen by the submitter, so nothing outside of the allowed folder is ever opened.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from steelyard.errors import AbortedError, InputError, UnreadableFileError, error_message
from steelyard.files import ONE_FILE, Budget, extract, packing
from steelyard.records import Rejected
from steelyard.scratch import scratch_folder
from steelyard.settings import ARTIFACT_BYTES, ARTIFACT_FILES, MAX_DIRECTORY_DEPTH

MAX_QUOTED_CHARS = 200
"""Characters of a name that an error shows."""
NO_ARCHIVE = "artifacts must be a directory, or a tar or zip archive"
_PIECE = 1 << 20


class ArtifactError(InputError):
    """Artifacts that cannot be used: not there, outside of the allowed folder, too large, or broken."""

    kind = "invalid_artifacts"


@dataclass(frozen=True, slots=True)
class StagedArtifacts:
    """Artifacts in a folder of ours."""

    folder: Path
    sha256: str
    """Digest of every file's path and content; where they lay does not count."""
    is_empty: bool
    """Whether there is no file among them, so that there is nothing to check."""


def locate(artifacts: str, root: Path) -> Path:
    """Return the path of the artifacts; an error if it is outside the allowed directory."""
    try:
        path = (root / artifacts).resolve()
        inside = path.is_relative_to(root.resolve())
        if inside and path.exists():
            return path
    except (OSError, ValueError, RuntimeError) as error:
        raise ArtifactError(f"cannot find the artifacts: {error_message(error)}") from error
    if not inside:
        raise ArtifactError(
            "the artifacts are outside the directory of the submissions file",
            hint="use a path relative to that directory",
        )
    raise ArtifactError(f"artifacts not found: {_quoted(artifacts)}")


def _quoted(name: str) -> str:
    """Return an untrusted name, quoted for a message."""
    return repr(name if len(name) <= MAX_QUOTED_CHARS else f"{name[:MAX_QUOTED_CHARS]}...")


@contextmanager
def staged(path: Path, *, stop: Event | None = None) -> Iterator[StagedArtifacts]:
    """Copy or extract the artifacts for the duration of the block. `stop`, once set, cancels it (AbortedError)."""
    with scratch_folder() as scratch:
        folder = scratch / "all"
        folder.mkdir()
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                _copy(path, _ArtifactCopy(folder, stop))
            elif stat.S_ISREG(mode):
                _unpack(path, folder, scratch, stop)
            else:
                raise ArtifactError(NO_ARCHIVE)
        except UnreadableFileError as error:
            raise ArtifactError(f"cannot read the artifacts: {error.message}", hint=error.hint) from error
        except OSError as error:
            raise ArtifactError(f"cannot read the artifacts: {error_message(error)}") from error
        yield StagedArtifacts(folder, _digest(folder), is_empty=not any(names for _, _, names in os.walk(folder)))


def _unpack(path: Path, folder: Path, scratch: Path, stop: Event | None) -> None:
    budget, counted = Budget(ARTIFACT_BYTES, ARTIFACT_FILES), 0
    if packing(path) in ONE_FILE:  # a tar may be compressed as a whole
        _whole(extract(path, "the artifacts", scratch / "compressed", budget=budget, stop=stop))
        (path,) = (scratch / "compressed").iterdir()
        counted = path.stat().st_size
    if packing(path) not in ("tar", "zip"):
        raise ArtifactError(NO_ARCHIVE)
    _whole(extract(path, "the artifacts", folder, budget=budget, stop=stop, counted=counted))


def _whole(broken: Rejected | None) -> None:
    """Reject a truncated archive, because its content is incomplete."""
    if broken is not None:
        raise ArtifactError(f"cannot read the artifacts: {broken.reason}")


class _ArtifactCopy:
    """Where artifacts are copied to, and how much may still be."""

    def __init__(self, target: Path, stop: Event | None) -> None:
        self.target = target
        self.stop = stop
        self.budget = Budget(ARTIFACT_BYTES, ARTIFACT_FILES)

    def write(self, source: int, target: Path) -> None:
        """The rest of an open file."""
        with target.open("wb") as out:
            while piece := os.read(source, _PIECE):
                if self.stop is not None and self.stop.is_set():
                    raise AbortedError("reading the artifacts was interrupted")
                self.budget.take("the artifacts", size=len(piece))
                out.write(piece)


def _copy(folder: Path, copying: _ArtifactCopy) -> None:
    folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _copy_held(folder_fd, copying.target, copying, depth=1)
    finally:
        os.close(folder_fd)


def _copy_held(folder_fd: int, target: Path, copying: _ArtifactCopy, *, depth: int) -> None:
    """Copy the plain files in an open folder and in its folders, by what is open: a path could be exchanged."""
    if depth > MAX_DIRECTORY_DEPTH.most:
        raise MAX_DIRECTORY_DEPTH.passed("the artifacts")
    with os.scandir(folder_fd) as entries:
        for entry in entries:
            copying.budget.take("the artifacts", entries=1)
            try:
                # Not following, as a link could lead out; not waiting, as a pipe could hang.
                inner = os.open(
                    entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd
                )
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):  # a link, a socket, one that is gone
                    continue
                raise
            try:
                mode = os.fstat(inner).st_mode
                if stat.S_ISREG(mode):
                    copying.write(inner, target / entry.name)
                elif stat.S_ISDIR(mode):
                    (target / entry.name).mkdir()
                    _copy_held(inner, target / entry.name, copying, depth=depth + 1)
            finally:
                os.close(inner)


def _digest(folder: Path) -> str:
    lines = []
    for here, _, names in os.walk(folder):
        for name in names:
            path = Path(here, name)
            shown = path.relative_to(folder).as_posix().replace("\\", "\\\\").replace("\n", "\\n")
            with path.open("rb") as content:
                lines.append((shown, hashlib.file_digest(content, "sha256").hexdigest()))
    listing = "".join(f"{digest} {name}\n" for name, digest in sorted(lines))
    return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
