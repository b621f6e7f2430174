"""What a sandboxed run may use, and the outcome of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

MIB = 1024 * 1024
_MAX_MESSAGE_CHARS = 300

IsolationName = Literal["bubblewrap", "landlock", "none"]
LimitName = Literal["wall", "cpu", "memory", "disk", "output"]
Content: TypeAlias = bytes | Path
"""What a file put into the sandbox holds; a path stands for a copy of that file or link, with its mode."""
WORK_FOLDER, HOME_FOLDER = "\0work\0", "\0home\0"
"""Stand for the command's folders in its arguments and variables. Neither can hold a NUL, so nothing else is meant."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a command may use before it is stopped."""

    wall_seconds: float = 10.0
    """Time from start to end; also for a command that sleeps."""
    cpu_seconds: int = 10
    """Processor time of each process."""
    memory_bytes: int = 512 * MIB
    """Private memory of each process, and resident and shared memory of all processes together. A command that stays
    may reserve more than it uses."""
    file_bytes: int = 16 * MIB
    """The largest file a process may write."""
    disk_bytes: int = 64 * MIB
    """All files in the sandbox's folder together, unlinked ones that are held too, beyond what was put there."""
    disk_entries: int = 20_000
    """Files and folders beyond those put there; more are a full disk, since many empty ones fill it too."""
    processes: int = 32
    """Processes and threads alive at the same time."""
    open_files: int = 64
    """Files a process may hold open."""
    output_bytes: int = MIB
    """What is kept of standard output and of standard error, each. More than that stops the command, unless it stays:
    then the rest is dropped and counted."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ValueError(f"limit {name} must be greater than 0")


@dataclass(frozen=True)
class Stay:
    """How a command is run that works for long and whose work is kept: an agent."""

    folder: Path
    """Where `stdout` and `stderr` are written as they come, and where `kept` is moved to afterwards."""
    home: Mapping[str, Content] = field(default_factory=dict)
    """Files of its HOME, by relative path."""
    kept: tuple[str, ...] = ("work", "home")
    """Which of the command's folders are kept, whatever ends it."""
    is_over: Callable[[], bool] | None = None
    """Asked again and again; once it says True the command is interrupted (SIGINT to its process group)."""
    grace_seconds: float = 10.0
    """How long an interrupted command may take to end before it is killed with all it started."""


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a command away from everything else on this machine."""

    name: IsolationName
    """`bubblewrap`: namespaces of its own; `landlock`: Landlock and seccomp; `none`: limits only."""
    detail: str
    """A sentence for people: versions, and why nothing stronger is used."""
    own_uid: bool
    """Whether commands run under a uid that nobody else has; otherwise under the user's own (never as root)."""
    python: str | None
    """An interpreter that a sandboxed command can start; None when there is none."""


class SandboxResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a sandboxed command ended."""

    command: tuple[str, ...]
    """What was run."""
    exit_status: int | None
    """The status it returned; None when a signal or a limit ended it, or it never started."""
    signal: int | None = None
    """The signal that ended it."""
    limit_hit: LimitName | None = None
    """The limit that ended it; None when none did."""
    start_error: str | None = None
    """Why it never started; None when it did."""
    was_interrupted: bool = False
    """Whether `Stay.is_over` ended it, by itself or killed after the grace."""
    stdout: bytes = b""
    """Standard output, up to the limit; empty when it was written to a file."""
    stderr: bytes = b""
    """Standard error, likewise."""
    dropped_bytes: int = 0
    """What was written past the limit by a command that stays, and not kept."""
    collected: dict[str, bytes] = {}
    """Files asked for with `collect` that were there after the run."""
    wall_seconds: float
    """From start to end."""
    cpu_seconds: float | None = None
    """Processor time of all its processes; None when it was cancelled."""
    peak_bytes: int | None = None
    """Largest resident memory of one process; None when it was cancelled."""
    isolation: IsolationName
    """What was active."""

    @property
    def timed_out(self) -> bool:
        """Whether time ran out, on the clock or on the processor."""
        return self.limit_hit in ("wall", "cpu")

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.exit_status == 0 and self.limit_hit is None and self.start_error is None

    @property
    def ending(self) -> str:
        """How it ended, as a phrase."""
        if self.start_error is not None:
            return f"did not start: {self.start_error}"
        if self.limit_hit is not None:
            return f"stopped at the {self.limit_hit} limit"
        if self.was_interrupted and self.exit_status is None:
            return "killed after an interrupt"
        if self.signal is not None:
            return f"killed by signal {self.signal}"
        if self.exit_status is None:
            return "ended without a report"
        return f"exit status {self.exit_status}"


def printable(said: str) -> str:
    """The beginning of what a command said, with what could not be stored, or would be obeyed by a terminal, escaped.

    >>> printable("red:" + chr(27) + chr(0xD800)) == "red:" + chr(92) + "x1b" + chr(92) + "ud800"
    True
    """
    shown = said[:_MAX_MESSAGE_CHARS]
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)[:_MAX_MESSAGE_CHARS]
