"""What a timing format is, and what its reading gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from steelyard.records import Finding, Rejected, Run, Snapshot, TestResults, Timing


@dataclass(frozen=True, slots=True)
class TimingFile:
    """What one file says: timings, and what else it knows of the run that made them."""

    path: str
    format: str
    timings: tuple[Timing, ...]
    rejected: tuple[Rejected, ...] = ()
    tests: TestResults | None = None
    snapshot: Snapshot | None = None
    cost_usd: float | None = None
    trajectory_length: int | None = None
    run: Run | None = None
    """The run record that the file is, where it is one."""
    findings: tuple[Finding, ...] = ()
    """What a reader should know of how the file was read."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file's content, parsed once for all formats to look at."""

    path: Path
    text: str
    values: Any  # Any: whatever JSON the file holds; None when it is not JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingFormat:
    """One format that tells of timings. `steelyard.formats` says what its author writes."""

    name: str
    """How its files are named in results and messages."""
    title: str
    """What it is, in a few words."""
    yields: tuple[str, ...]
    """What the format can give: benchmarks, and what else it knows of the run."""
    recognizes: Callable[[OpenedFile], bool]
    """Whether the file is one of the format's; asked with the text alone first, then with its JSON; never raises."""
    read: Callable[[OpenedFile], TimingFile]
    """What the file says; raises UnreadableFile when it says nothing."""
    tells: ClassVar[Literal["timings"]] = "timings"

    @property
    def family(self) -> str:
        """Its own name: a file of timings is about no other."""
        return self.name


def collected(
    path: Path, name: str, entries: Iterable[Timing | Rejected], **known: Any
) -> TimingFile:  # Any: the other fields of TimingFile
    """A TimingFile of what a format finds; the second of two timings with one name and environment is set aside."""
    timings: dict[str, Timing] = {}
    rejected: list[Rejected] = []
    for entry in entries:
        if isinstance(entry, Rejected):
            rejected.append(entry)
        elif entry.name in timings:
            rejected.append(
                Rejected(path=str(path), reason=f"benchmark {entry.name!r} is listed twice", hint="keep one")
            )
        else:
            timings[entry.name] = entry
    return TimingFile(str(path), name, tuple(timings.values()), tuple(rejected), **known)
