"""What a sandboxed run may use, and what became of it."""

from __future__ import annotations

from typing import Literal

import msgspec

MIB = 1024 * 1024
_LONGEST_SAID = 300

IsolationName = Literal["bubblewrap", "landlock", "none"]
LimitName = Literal["wall", "cpu", "memory", "disk", "output"]


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a command may use before it is stopped."""

    wall_seconds: float = 10.0
    """Time from start to end; also for a command that sleeps."""
    cpu_seconds: int = 10
    """Processor time of each process."""
    memory_bytes: int = 512 * MIB
    """Private memory of each process, and resident and shared memory of all processes together."""
    file_bytes: int = 16 * MIB
    """The largest file a process may write."""
    disk_bytes: int = 64 * MIB
    """All files in the sandbox's folder together, unlinked ones that are held too, beyond what was put there."""
    processes: int = 32
    """Processes and threads alive at the same time."""
    open_files: int = 64
    """Files a process may hold open."""
    output_bytes: int = MIB
    """What is kept of standard output and of standard error, each; more than that stops the command."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ValueError(f"the limit {name} must be more than 0")


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
    stdout: bytes = b""
    """Standard output, up to the limit."""
    stderr: bytes = b""
    """Standard error, up to the limit."""
    collected: dict[str, bytes] = {}
    """Files asked for with `collect` that were there after the run."""
    wall_seconds: float
    """From start to end."""
    cpu_seconds: float | None = None
    """Processor time of all its processes; None when it was stopped from outside."""
    peak_bytes: int | None = None
    """Largest resident memory of one process; None when it was stopped from outside."""
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
        if self.signal is not None:
            return f"ended by signal {self.signal}"
        if self.exit_status is None:
            return "ended without a report"
        return f"exit status {self.exit_status}"


def printable(said: str) -> str:
    """The beginning of what a command said, with what could not be stored, or would be obeyed by a terminal, escaped.

    >>> printable("red:" + chr(27) + chr(0xD800)) == "red:" + chr(92) + "x1b" + chr(92) + "ud800"
    True
    """
    shown = said[:_LONGEST_SAID]
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)[:_LONGEST_SAID]
