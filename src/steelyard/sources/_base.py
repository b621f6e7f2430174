"""What a source is: it recognises its files by their content and reads them into Runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from steelyard.records.finding import Rejected
from steelyard.records.run import Run

HEAD_BYTES = 65_536
"""How much of a file a source sees to recognise it."""


class Entry(msgspec.Struct, frozen=True):
    """A Run and the place it was read from."""

    run: Run
    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, for recognition."""

    path: Path
    start: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """One format: standing in this folder as `SOURCE` is being registered."""

    name: str
    title: str
    yields: tuple[str, ...]
    """Which facts of a run the format can give."""
    recognises: Callable[[Head], bool]
    read: Callable[[Path], Iterator[Entry | Rejected]]
    priority: Literal["normal", "last"] = "normal"
    """`last` for formats so general that they are asked only when no other recognises the file."""


def head_of(path: Path) -> Head:
    """The beginning of the file."""
    with path.open("rb") as file:
        return Head(path, file.read(HEAD_BYTES))
