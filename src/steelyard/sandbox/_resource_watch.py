"""How much a running command uses, seen from outside."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from steelyard.sandbox._sandbox_records import LimitName, Limits

_MAX_PATH_LENGTH = 2_000
"""Longer paths below the box count as over the limit: the system accepts none of about twice this length."""
_MAX_MAPPINGS_BYTES = 8 << 20
"""More lines about mapped memory than this are taken for too much memory: reading them must not hold up the clock."""
_NAMED_SHARED = b" [anon_shmem:"
"""How the kernel shows shared memory to which a process gave a name."""
_REST = 8
"""How much longer than a look the time until the next is: most of the processor is the command's."""
_MEMORY_OF_A_LOOK = 512 << 20
"""Up to this memory limit, a command is checked at the normal rate; above it, less often in proportion, so that the
relative overshoot is the same."""
_MIN_PER_SECOND = 10
_MIN_ROOM = 10
"""A tenth of the limit on files: below that much room for more, other users' files would make us look all the time."""


class ResourceUsage(NamedTuple):
    """Contents of a directory."""

    space: int
    """Bytes on the disk."""
    entries: int
    """Files and folders."""


def measured(folder: Path, most: ResourceUsage | None = None) -> ResourceUsage | None:
    """Return the directory's contents; None if there are more than `most`, or if unknown. Without `most`, count all."""
    space = entries = 0
    waiting = [str(folder)]
    longest = len(waiting[0]) + _MAX_PATH_LENGTH
    while waiting:
        here = waiting.pop()
        listed = None if most and len(here) > longest else _entries(here, most.entries - entries if most else None)
        if listed is None and most is not None:
            return None
        for entry in listed or ():
            entries += 1
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    space += entry.stat(follow_symlinks=False).st_blocks * 512
        if most is not None and (space > most.space or entries > most.entries):
            return None
    return ResourceUsage(space, entries)


def _entries(folder: str, most: int | None) -> list[os.DirEntry[str]] | None:
    """Return up to `most` + 1 entries of the directory, none if it is gone; None if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(itertools.islice(entries, None if most is None else most + 1))
    except FileNotFoundError:
        return []
    except OSError:
        return None


def _free_entries(folder: Path) -> int:
    """How many files its file system can still take; those that do not limit them say 0."""
    return os.statvfs(folder).f_ffree


def descendants(pid: int) -> Iterator[int]:
    """The process and all it started, as far as they live."""
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        yield current
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{current}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{current}/task/{task}/children", "rb") as listed:
                    waiting += [int(child) for child in listed.read().split()]


def memory_bytes(pid: int, *, shared: bool = True) -> int:
    """Resident memory of the process and all it started that is not a file's; 0 when it has ended."""
    total = 0
    kinds = (b"RssAnon:", b"RssShmem:") if shared else (b"RssAnon:",)
    for process in descendants(pid):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{process}/status", "rb") as status:
            total += sum(int(line.split()[1]) * 1024 for line in status if line.startswith(kinds))
    return total


@dataclass
class Holdings:
    """What processes hold that no folder shows: unlinked files, open or mapped, and memory shared without a file.

    A file system keeps them until the last holder lets go. What is mapped can be measured by root alone; otherwise
    shared memory counts with the most that was ever mapped of it, and a file with the most that a file may be.
    """

    file_bytes: int
    inside: tuple[str, ...]
    """Where the command's own files are, as the kernel shows their paths."""
    is_ours: bool
    """Whether the processes are of our own uid, so that only those that close themselves are closed to us."""
    files: dict[str, int] = field(default_factory=dict)
    """Bytes of each unlinked file, by device and number."""
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes of each shared memory, likewise."""
    mappings_bytes: int = 0

    def add(self, process: int) -> None:
        """Look into one process."""
        with contextlib.suppress(OSError):  # it may end at any moment
            # Threads share what is open and mapped, but the first may have ended before the others.
            for task in os.listdir(f"/proc/{process}/task"):
                place = f"/proc/{process}/task/{task}"
                if not _has_ended(place):
                    self._look_into(place, process)
                    return

    def _look_into(self, place: str, process: int) -> None:
        with contextlib.suppress(PermissionError):
            self._add_open(place)
        try:
            self._add_mapped(place, process)
        except PermissionError:
            # An honest process may close itself to others, to keep a secret. All that could be shared counts then.
            if self.is_ours:
                self.memory[f"of {process}"] = _unexplained_bytes(place)

    def _add_open(self, place: str) -> None:
        for number in os.listdir(f"{place}/fd"):
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(f"{place}/fd/{number}")
                if status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                    name = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x} {status.st_ino}"
                    self.files[name] = status.st_blocks * 512

    def _add_mapped(self, place: str, process: int) -> None:
        with open(f"{place}/maps", "rb") as listed:
            text = listed.read(_MAX_MAPPINGS_BYTES)
        self.mappings_bytes += len(text)
        if b" (deleted)\n" not in text and _NAMED_SHARED not in text:
            return
        for line in text.splitlines():
            if line.endswith(b" (deleted)") or _NAMED_SHARED in line:
                self._add_mapping(process, line.decode(errors="replace"))

    def _add_mapping(self, process: int, line: str) -> None:
        where, access, offset, device, number, path = line.split(maxsplit=5)
        name = f"{device} {number}"
        start, end = (int(side, 16) for side in where.split("-"))
        exact = None
        with contextlib.suppress(OSError):
            exact = os.stat(f"/proc/{process}/map_files/{start:x}-{end:x}").st_blocks * 512
        if access.endswith("s") and path.startswith(("/dev/zero (deleted)", "[anon_shmem:")):
            reach = int(offset, 16) + end - start
            self.memory[name] = max(self.memory.get(name, 0), reach) if exact is None else exact
        elif path.startswith(self.inside) and name not in self.files:
            self.files[name] = self.file_bytes if exact is None else exact


def _unexplained_bytes(place: str) -> int:
    """Return mapped memory other than private data, which has its own limit, programs and libraries."""
    with open(f"{place}/status", "rb") as status:
        sizes = {line.split()[0]: int(line.split()[1]) * 1024 for line in status if line.startswith(b"Vm")}
    explained = sum(sizes.get(kind, 0) for kind in (b"VmData:", b"VmStk:", b"VmExe:", b"VmLib:"))
    return max(0, sizes.get(b"VmSize:", 0) - explained)


def _has_ended(place: str) -> bool:
    """Whether a thread is only waiting for someone to ask how it ended."""
    with open(f"{place}/stat", "rb") as facts:
        return facts.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")


@dataclass
class PollInterval:
    """When it is time to look again: often, and seldom enough that looking costs little."""

    every: float
    due: float = 0.0

    @contextlib.contextmanager
    def look(self) -> Iterator[None]:
        """A look, whose time sets the time of the next."""
        started = time.monotonic()
        yield
        ended = time.monotonic()
        self.due = ended + max(self.every, _REST * (ended - started))

    def is_time(self) -> bool:
        """Whether the next look is due."""
        return time.monotonic() >= self.due


@dataclass
class Watcher:
    """Watcher of a running command that returns the limit it exceeds."""

    box: Path
    limits: Limits
    inside: tuple[str, ...]
    launchers: int
    """How many processes, each the only child of the one before, come before the command's first."""
    is_ours: bool
    """Whether the command has our own uid."""
    _put_there: ResourceUsage = field(init=False)
    _known_memory: dict[str, int] = field(default_factory=dict)
    _free_entries: int = field(init=False)
    """How many files the file system can still take when it is time to count, whatever the pace."""
    _quick: PollInterval = field(init=False)
    _thorough: PollInterval = field(init=False)

    def __post_init__(self) -> None:
        seldom = min(max(1.0, self.limits.memory_bytes / _MEMORY_OF_A_LOOK), _MIN_PER_SECOND)
        self._quick, self._thorough = PollInterval(0.02 * seldom), PollInterval(0.05 * seldom)
        usage = measured(self.box)
        assert usage is not None  # without a bound all is counted
        self._put_there = usage
        self._expect(usage)

    def limit_hit(self, pid: int) -> LimitName | None:
        """The limit that the process and all it started are over, if it is time to look."""
        if self._quick.is_time():
            with self._quick.look():
                if memory_bytes(pid) > self.limits.memory_bytes:
                    return "memory"
        # A flood outruns the pace: the more files there are, the longer a count takes. The file system knows at once.
        if self._thorough.is_time() or _free_entries(self.box) < self._free_entries:
            with self._thorough.look():
                return self._looked_into(pid)
        return None

    def interrupt(self, pid: int) -> None:
        """Press Ctrl-C, as it were: interrupt the command and what it started in its process group."""
        for process in itertools.islice(descendants(pid), self.launchers, self.launchers + 1):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGINT)

    def disk_is_full(self, elsewhere: int = 0) -> bool:
        """Whether new files in the directory and `elsewhere` exceed the limit."""
        space = self._put_there.space + self.limits.disk_bytes - elsewhere
        usage = measured(self.box, ResourceUsage(space, self._put_there.entries + self.limits.disk_entries))
        if usage is not None:
            self._expect(usage)
        return usage is None

    def _expect(self, usage: ResourceUsage) -> None:
        """Set the number of free files below which the directory may have more than the limit."""
        most = self.limits.disk_entries
        room = max(self._put_there.entries + most - usage.entries, most // _MIN_ROOM)
        self._free_entries = _free_entries(self.box) - room

    def _looked_into(self, pid: int) -> LimitName | None:
        holdings = Holdings(self.limits.file_bytes, self.inside, self.is_ours)
        for process in itertools.islice(descendants(pid), self.launchers, None):
            holdings.add(process)
            if holdings.mappings_bytes >= _MAX_MAPPINGS_BYTES:
                return "memory"
        # Of what is still there, the most that was ever mapped: letting go of a part frees nothing of it.
        self._known_memory = {
            name: max(size, self._known_memory.get(name, 0)) for name, size in holdings.memory.items()
        }
        shared = sum(self._known_memory.values())
        if shared and memory_bytes(pid, shared=False) + shared > self.limits.memory_bytes:
            return "memory"
        return "disk" if self.disk_is_full(sum(holdings.files.values())) else None
