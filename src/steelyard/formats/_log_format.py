"""What a source is: it recognizes its files by their content and reads them into Runs or parts of Runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from steelyard.files import Records, shape_of
from steelyard.records import Finding, Rejected, Run

HEAD_BYTES = 65_536
"""How much of a file a source sees to recognize it."""

Role = Literal["owner", "session", "prediction", "verdict", "tests", "recording"]


class PlacedRun(msgspec.Struct, frozen=True):
    """A Run and the place it was read from."""

    run: Run
    path: str
    line: int | None = None
    format: str | None = None
    """The format of the file, where the run itself tells of an earlier one: our own records keep their `source`."""


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says of a run that other files may say more of; `_assemble.py` puts parts together."""

    run: Run
    """What this file says. Parts of the same format, role and run id are the same run."""
    path: str
    """The file."""
    line: int | None = None
    """The line, where a file holds several runs."""
    role: Role
    """`owner`: a harness's record of a trial; what lies in its folder is about the same run. `session`: an agent's log.
    `prediction`, `verdict`: a patch and what became of it. `tests`, `recording`: about the run they lie beside."""
    owns: str | None = None
    """The folder that an owner's trial left behind; None when there is none."""
    tool_ids: tuple[str, ...] = ()
    """Ids of tool calls, so that the same call in two files counts once."""
    copied: tuple[str, ...] = ()
    """Ids of calls that the log itself marks as copied from another session."""
    doubtful: tuple[str, ...] = ()
    """Ids of calls whose output tokens are a placeholder."""
    parent: str | None = None
    """The session that started this one, where a subagent has a log of its own."""
    notes: tuple[Finding, ...] = ()
    """What a reader of this run's numbers should know."""


ReadItem = PlacedRun | RunPart | Rejected | Finding


@dataclass(frozen=True)
class Head:
    """The beginning of a file, for recognition."""

    path: Path
    start: bytes

    @cached_property
    def text(self) -> bytes:
        """The beginning without a byte order mark and blanks."""
        return self.start.removeprefix(b"\xef\xbb\xbf").lstrip()

    @cached_property
    def shape(self) -> dict[str, Any]:  # Any: JSON scalars
        """Keys of the first JSON value by path (`results[].id`), with the first scalar seen there; it may be cut."""
        return shape_of(self.text) if self.text[:1] in (b"{", b"[") else {}

    @cached_property
    def records(self) -> Records:
        """The JSON objects that stand on lines of their own within the beginning, decoded as they are asked for."""
        return Records(self.text, whole=len(self.start) < HEAD_BYTES)

    @cached_property
    def types(self) -> frozenset[str]:
        """What the records say under `type`, where that is a word."""
        return frozenset(kind for record in self.records if isinstance(kind := record.get("type"), str))

    def has(self, *paths: str) -> bool:
        """Whether the first JSON value has all these paths."""
        return all(path in self.shape for path in paths)


@dataclass(frozen=True, slots=True)
class LogFormat:
    """One format: standing in this folder as `FORMAT` is being registered."""

    name: str
    title: str
    yields: tuple[str, ...]
    """Which facts of a run the format can give."""
    recognizes: Callable[[Head], bool]
    read: Callable[[Path], Iterator[ReadItem]]
    priority: Literal["normal", "last"] = "normal"
    """`last` for formats so general that they are asked only when no other recognizes the file."""


def head_of(path: Path) -> Head:
    """The beginning of the file."""
    with path.open("rb", buffering=0) as file:
        return Head(path, file.read(HEAD_BYTES))
