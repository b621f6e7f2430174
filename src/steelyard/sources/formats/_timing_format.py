"""What a timing format is, and what its reading gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from steelyard.errors import UnreadableFileError
from steelyard.files import number, parse_json, read_text, text_or_none
from steelyard.records import Finding, Rejected, Run, Snapshot, TestResults, Timing
from steelyard.settings import BENCHMARKS

TOLERANCE = 0.01
"""Fraction by which two statements of one number may differ: tools round what they write."""


@dataclass(frozen=True, slots=True)
class TimingFile:
    """Content of one file: timings, and metadata of the run that made them."""

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
    """Format of timings. `steelyard.sources.formats` documents how to write one."""

    name: str
    """How its files are named in results and messages."""
    title: str
    """What it is, in a few words."""
    yields: tuple[str, ...]
    """What the format can give: benchmarks, and what else it knows of the run."""
    recognizes: Callable[[OpenedFile], bool]
    """Whether the file is one of the format's; asked with the text alone first, then with its JSON; never raises."""
    read: Callable[[OpenedFile], TimingFile]
    """Reads the file; raises UnreadableFileError when it has no content."""
    folder_pattern: str | None = None
    """The files in a folder that make one side together (`**/new/sample.json`); None when a side is one file."""
    kind: ClassVar[Literal["timings"]] = "timings"

    @property
    def family(self) -> str:
        """Its own name: a file of timings is about no other."""
        return self.name


def collected(
    path: Path, name: str, entries: Iterable[Timing | Rejected | Finding], **known: Any
) -> TimingFile:  # Any: the other fields of TimingFile
    """A TimingFile of what a format finds; the second of two timings with one name and environment is rejected."""
    timings: dict[str, Timing] = {}
    rejected: list[Rejected] = []
    findings: list[Finding] = []
    for entry in entries:
        if isinstance(entry, Rejected):
            rejected.append(entry)
        elif isinstance(entry, Finding):
            findings.append(entry)
        elif entry.name in timings:
            rejected.append(
                Rejected(path=str(path), reason=f"benchmark {entry.name!r} is listed twice", hint="keep one")
            )
        else:
            if len(timings) >= BENCHMARKS.most:
                raise BENCHMARKS.passed(str(path))
            timings[entry.name] = entry
    return TimingFile(
        str(path), name, tuple(timings.values()), rejected=tuple(rejected), findings=tuple(findings), **known
    )


Entry = TypeVar("Entry")


def each_timing(path: Path, entries: Iterable[Entry], read: Callable[[Entry], Timing]) -> Iterator[Timing | Rejected]:
    """The timing of each entry; one for which `read` raises a ValueError is rejected with its number and the reason."""
    for position, entry in enumerate(entries, 1):
        try:
            yield read(entry)
        except ValueError as error:
            yield Rejected(path=str(path), reason=f"benchmark {position}: {error}")


def object_beside(path: Path, *, fallback: str) -> tuple[dict[str, Any], tuple[Finding, ...]]:  # Any: JSON values
    """Return the JSON object in a file next to the timings; as no user named it, it may be unreadable: a finding."""
    try:
        values = parse_json(read_text(path), path)
    except UnreadableFileError as error:
        message = f"{fallback}: {error.message}"
        return {}, (Finding(code="unreadable_benchmark_list", message=message, where=error.where),)
    return values if isinstance(values, dict) else {}, ()


def environment_of(values: Any, keys: Iterable[str]) -> str | None:  # Any: JSON values
    """Return the texts under these keys, as the environment of a measurement."""
    known = values if isinstance(values, dict) else {}
    return ", ".join(text for key in keys if (text := text_or_none(known.get(key)))) or None


def total_seconds(samples: Sequence[float], *, times: int = 1) -> float | None:
    """Return the sum of samples that are each the mean of so many repetitions; None without samples or if too large."""
    try:
        total = math.fsum(samples) * times
    except OverflowError:
        return None
    return total if samples and math.isfinite(total) else None


def finite_numbers(values: Any) -> tuple[float, ...]:  # Any: JSON values
    """The finite numbers of a list; none of anything else."""
    numbers = [number(value) for value in values] if isinstance(values, list) else []
    return tuple(value for value in numbers if value is not None and math.isfinite(value))
