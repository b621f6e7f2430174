"""The folder that a command runs in: filled before, searched afterwards, removed whatever the command made of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.errors import UsageError
from steelyard.sandbox._sandbox_records import Content, Stay
from steelyard.scratch import make_scratch, remove_scratch
from steelyard.settings import MAX_DIRECTORY_DEPTH

_REMOVAL_SECONDS = 5.0
"""What a command made so large that it takes longer is left for later commands to remove."""
MAX_KEPT_PATH_BYTES = 2_000
"""Length of a path in a kept directory. Copies of it have other paths before theirs, and a path has at most 4,096."""
WORK, TEMPORARY, HOME = "work", "tmp", "home"
"""What is in the box: the command's files have a folder of their own, so that none of their names is taken."""


@dataclass(frozen=True)
class Box:
    """A folder for one command."""

    path: Path
    work: int
    """Descriptor of the directory with the command's files, independent of later changes at its path."""

    def collected(self, names: Sequence[str], most: int) -> dict[str, bytes]:
        """The asked-for files that are plain files, each up to `most` bytes. No link on the way is followed."""
        contents = {}
        for name in names:
            with contextlib.suppress(OSError):
                content = _read_below(self.work, PurePosixPath(name).parts, most)
                if content is not None:
                    contents[name] = content
        return contents


@contextmanager
def filled(
    files: Mapping[str, Content],
    copy: Path | None,
    uid: int | None,
    *,
    absent: Sequence[str] = (),
    stay: Stay | None = None,
    in_stay: bool = False,
) -> Iterator[Box]:
    """The box, while the block runs: a copy of the folder `copy` with `files` over it, given to the uid if any.

    Nothing is at the paths in `absent`, nor a link on the way to them.

    `in_stay` creates it in the directory of `stay`: on the same disk, and available after a crash.
    """
    outer = make_scratch(stay.folder if stay and in_stay else None)
    try:
        box = outer / "box"
        box.mkdir()
        if copy is not None:
            shutil.copytree(copy, box / WORK, symlinks=True, ignore=_only_plain)
        for name in (WORK, TEMPORARY, HOME):
            (box / name).mkdir(exist_ok=True)
        for name, content in files.items():
            _lay(box / WORK, name, content)
        for name in absent:
            _remove(_cleared(box / WORK, name, makes_folders=False))
        for name, content in (stay.home if stay else {}).items():
            _lay(box / HOME, name, content)
        if uid is not None:
            _give(box, uid)
        work = os.open(box / WORK, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            yield Box(box, work)
        finally:
            os.close(work)
            if stay is not None:
                _keep(box, stay, uid)
    finally:
        remove_scratch(outer, max_seconds=_REMOVAL_SECONDS)


def _keep(box: Path, stay: Stay, uid: int | None) -> None:
    """Move what is kept out of the box, given back to us and open to us, whatever the command made of it."""
    for name in stay.kept:
        folder = box / name
        if folder.is_symlink() or not folder.is_dir():
            continue
        _take_back(folder, uid, aside=box)
        shutil.move(folder, stay.folder / name)


def _take_back(root: Path, uid: int | None, *, aside: Path) -> None:
    """Make everything below ours. What is deeper than a copy could be is moved aside, where it is removed later."""
    waiting = [(str(root), 0)]
    start = len(os.fsencode(root))
    while waiting:
        folder, depth = waiting.pop()
        with contextlib.suppress(OSError):
            if uid is not None:
                os.chown(folder, os.getuid(), os.getgid(), follow_symlinks=False)
            os.chmod(folder, os.lstat(folder).st_mode | stat.S_IRWXU)
            if depth > MAX_DIRECTORY_DEPTH.most or len(os.fsencode(folder)) - start > MAX_KEPT_PATH_BYTES:
                os.rename(folder, aside / f"removed-{os.urandom(16).hex()}")
                continue
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
                        continue
                    if uid is not None:
                        os.chown(entry.path, os.getuid(), os.getgid(), follow_symlinks=False)
                    if entry.is_file(follow_symlinks=False):
                        os.chmod(entry.path, entry.stat(follow_symlinks=False).st_mode & 0o777 | stat.S_IRUSR)


def _cleared(folder: Path, name: str, *, makes_folders: bool = True) -> Path:
    """Return the path of the file below; a link on the way, which could lead out, gives way to a folder or nothing."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise UsageError(f"invalid sandbox file name {name!r}", hint="use a relative path without ..")
    here = folder
    for part in parts[:-1]:
        here /= part
        if here.is_symlink() or not here.is_dir():
            here.unlink(missing_ok=True)
            if not makes_folders:
                break
            here.mkdir()
    return folder.joinpath(*parts)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def _lay(folder: Path, name: str, content: Content) -> None:
    """Write the file; whatever the copy holds in its way, a link that leads out too, gives way."""
    target = _cleared(folder, name)
    _remove(target)
    if isinstance(content, bytes):
        target.write_bytes(content)
    else:
        shutil.copy2(content, target, follow_symlinks=False)


def _only_plain(folder: str, names: list[str]) -> list[str]:
    """What copying leaves out: sockets, fifos and devices, on which it could hang."""
    wanted = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return [name for name, mode in modes.items() if not any(kind(mode) for kind in wanted)]


def _give(box: Path, uid: int) -> None:
    # The box itself stays ours, so that the command cannot put something else in the place of its folders. The group is
    # the command's alone: another user who reads the path off a command line cannot enter, whatever the modes inside.
    for closed in (box.parent, box):
        os.chown(closed, -1, uid)
        closed.chmod(0o710 if closed == box.parent else 0o750)
    for folder, folders, names in os.walk(box):
        for name in (*folders, *names):
            os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)


def _read_below(folder: int, parts: tuple[str, ...], most: int) -> bytes | None:
    """What a plain file further down holds; None for anything else. The command is free to have put links anywhere."""
    if not parts or parts[0] == "/" or ".." in parts:
        return None
    here = os.dup(folder)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        # Without blocking: opening a fifo would wait for someone to write to it.
        opened = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=here)
    finally:
        os.close(here)
    with open(opened, "rb") as content:
        return content.read(most) if stat.S_ISREG(os.fstat(opened).st_mode) else None
