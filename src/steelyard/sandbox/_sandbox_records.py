"""Limits, options and result of a sandboxed command."""

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
"""Content of a file in the sandbox; a path is copied with its mode."""
WORK_FOLDER, HOME_FOLDER = "\0work\0", "\0home\0"
"""Placeholders for the command's directories in arguments and variables, which cannot contain NUL otherwise."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Resource limits of a command."""

    wall_seconds: float = 10.0
    """Wall-clock time."""
    cpu_seconds: int = 10
    """CPU time per process."""
    memory_bytes: int = 512 * MIB
    """Private memory per process, and resident and shared memory of all processes. With `Stay`, only used memory
    counts."""
    file_bytes: int = 16 * MIB
    """Maximum file size."""
    disk_bytes: int = 64 * MIB
    """Total size of new files in the sandbox, including unlinked open ones."""
    disk_entries: int = 20_000
    """Number of new files and directories; more count as a full disk."""
    processes: int = 32
    """Maximum number of processes and threads."""
    open_files: int = 64
    """Maximum number of open files per process."""
    output_bytes: int = MIB
    """Size of standard output and of standard error. More stops the command; with `Stay`, the rest is dropped and
    counted."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ValueError(f"limit {name} must be greater than 0")


@dataclass(frozen=True)
class Stay:
    """Options of a long-running command whose files are kept, such as an agent."""

    folder: Path
    """Directory for `stdout` and `stderr`, and for the `kept` directories afterwards."""
    home: Mapping[str, Content] = field(default_factory=dict)
    """Files in its HOME, by relative path."""
    kept: tuple[str, ...] = ("work", "home")
    """Directories of the command to keep."""
    is_over: Callable[[], bool] | None = None
    """Polled function; when it returns True the command is interrupted (SIGINT to its process group)."""
    grace_seconds: float = 10.0
    """Time between interrupting the command and killing all its processes."""


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """Isolation of a sandboxed command."""

    name: IsolationName
    """`bubblewrap`: namespaces; `landlock`: Landlock and seccomp; `none`: limits only."""
    detail: str
    """Description: versions, and why stronger isolation is unavailable."""
    own_uid: bool
    """Whether commands run under a separate uid; otherwise under the user's (never as root)."""
    python: str | None
    """Interpreter that a sandboxed command can start; None if there is none."""


class SandboxResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a sandboxed command."""

    command: tuple[str, ...]
    """Command."""
    exit_status: int | None
    """Exit status; None if a signal or a limit ended it, or it did not start."""
    signal: int | None = None
    """Signal that ended it."""
    limit_hit: LimitName | None = None
    """Limit that ended it; None if none did."""
    start_error: str | None = None
    """Why it did not start; None if it did."""
    was_interrupted: bool = False
    """Whether `Stay.is_over` interrupted it."""
    stdout: bytes = b""
    """Standard output up to the limit; empty if it was written to a file."""
    stderr: bytes = b""
    """Standard error, likewise."""
    dropped_bytes: int = 0
    """Bytes of output over the limit that were dropped."""
    collected: dict[str, bytes] = {}
    """Files of `collect` that existed after the run."""
    wall_seconds: float
    """Wall-clock time."""
    cpu_seconds: float | None = None
    """CPU time of all processes; None if it was cancelled."""
    peak_bytes: int | None = None
    """Maximum resident memory of one process; None if it was cancelled."""
    left_processes: tuple[str, ...] = ()
    """With `Stay`, names of processes that were still running when it ended by itself; they were killed."""
    network_attempts: int | None = None
    """Packets without a route out of the sandbox, and lookups of names; None if unknown (bubblewrap only)."""
    isolation: IsolationName
    """Active isolation."""

    @property
    def timed_out(self) -> bool:
        """Whether the wall-clock or CPU limit was reached."""
        return self.limit_hit in ("wall", "cpu")

    @property
    def ok(self) -> bool:
        """Whether it exited with status 0."""
        return self.exit_status == 0 and self.limit_hit is None and self.start_error is None

    @property
    def ending(self) -> str:
        """How it ended, as text."""
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


def printable(output: str) -> str:
    """Return the beginning of a command's output with control characters and lone surrogates escaped.

    >>> printable("red:" + chr(27) + chr(0xD800)) == "red:" + chr(92) + "x1b" + chr(92) + "ud800"
    True
    """
    shown = output[:_MAX_MESSAGE_CHARS]
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)[:_MAX_MESSAGE_CHARS]
