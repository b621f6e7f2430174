"""What a log format is: it recognizes its files by their content and reads them into Runs or parts of Runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from steelyard import sources
from steelyard.errors import UnreadableFileError
from steelyard.files import HEAD_BYTES, Records, beginning_of, shape_of
from steelyard.records import CheckMessage, Finding, Rejected, Run, SessionStep

Role = Literal["owner", "session", "prediction", "verdict", "tests", "recording"]
FormatKind = Literal["runs", "sessions", "trials", "verdicts", "tests", "recordings"]
Precedence = Literal["first", "normal", "last"]
SQLITE = b"SQLite format 3\0"
LONG_HEAD_BYTES = 4 << 20
"""How far the keys of a JSON value are looked for."""
_STRING = re.compile(rb'"((?:[^"\\]|\\.){0,400})[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
"""A JSON string, of which the shape needs the beginning."""
NOT_SEEN = " (not tested on real files)"


class SessionLog(msgspec.Struct, frozen=True):
    """A file with a session of a run, from which its steps can be read."""

    path: str
    """The file, as it is shown: one in an archive as `logs.zip!/inner/path`."""
    format: str
    session: str | None = None
    """Id of the session, by which the format finds it in a file of several; `#LINE` if the format has no ids."""
    calls: int = 0
    """Number of model calls, by which copies of one session are ordered."""


class PlacedRun(msgspec.Struct, frozen=True):
    """A Run and the place it was read from."""

    run: Run
    path: str
    line: int | None = None
    format: str | None = None
    """The format of the file, where the run itself names an earlier one: our own records keep their `source`."""
    logs: tuple[SessionLog, ...] = ()
    """The files that it was put together from, except for files without steps."""


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a run found in one file; `tables/` joins the parts of several files."""

    run: Run
    """Content of this file. Parts of the same format, role and run id are the same run."""
    path: str
    """The file."""
    line: int | None = None
    """The line, where a file holds several runs."""
    role: Role
    """`owner`: a harness's record of a trial; files in its folder are about the same run. `session`: an agent's log.
    `prediction`, `verdict`: a patch and its verdict. `tests`, `recording`: about the run in the same folder."""
    owns: str | None = None
    """The folder that an owner's trial left behind; None when there is none."""
    tool_ids: tuple[str, ...] = ()
    """Ids of tool calls, so that the same call in two files counts once."""
    copied: tuple[str, ...] = ()
    """Ids of calls that the log itself marks as copied from another session."""
    doubtful: tuple[str, ...] = ()
    """Ids of calls whose output tokens are a placeholder."""
    marks: tuple[str, ...] = ()
    """Ids of other entries that all logs of the session contain, for a log that does not name the session."""
    parent: str | None = None
    """The session that started this one, where a subagent has a log of its own."""
    patch: str | None = None
    """Of a prediction: a digest of the patch."""
    submitted_by: tuple[str | None, str | None] = (None, None)
    """Agent and model of the submission, for a run whose own files name neither."""
    lists_passes_only: bool = False
    """Whether the verdict is from a list of the tasks that passed: those it does not name failed, but how many they
    are is not in the file."""
    is_subagent: bool = False
    """Whether it is the log of a subagent that names its parent's session as its own: part of that run."""
    started: tuple[str, ...] = ()
    """Ids of what it started and whose calls are not in this log: subagents (`#0`, `#1` where it does not name them),
    and compactions that no log of the tool has."""
    contains: tuple[str, ...] = ()
    """Ids of the subagents whose calls are in this log, where they are not sessions of their own."""
    unfinished: bool = False
    """Whether the log shows no end of the session, or calls whose tokens it lacks: its numbers are lower bounds."""
    notes: tuple[Finding, ...] = ()
    """What a reader of this run's numbers should know."""
    lacks_lines: bool = False
    """Whether lines of the file that may belong to this session were rejected. Reading sets it, no format has to."""
    is_one_record: bool = False
    """Whether one line contains all of this session, so that it lacks nothing when other lines are rejected."""


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
        """Keys of the first JSON value by path (`results[].id`), with the first scalar seen there; it may be cut.

        A long text, such as a patch, does not hide the keys after it.
        """
        if self.text[:1] not in (b"{", b"["):
            return {}
        if len(self.start) < HEAD_BYTES or b"\n{" in self.start:  # the whole file, or the first of many values
            return shape_of(self.text)
        try:
            start = beginning_of(self.path, LONG_HEAD_BYTES)
        except (OSError, UnreadableFileError):
            return shape_of(self.text)
        return shape_of(_STRING.sub(rb'"\1"', start.removeprefix(b"\xef\xbb\xbf").lstrip())[:HEAD_BYTES])

    @cached_property
    def records(self) -> Records:
        """The JSON objects on lines of their own within the beginning, decoded as they are asked for."""
        return Records(self.text, whole=len(self.start) < HEAD_BYTES)

    @cached_property
    def types(self) -> frozenset[str]:
        """The records' `type` values that are words."""
        return frozenset(kind for record in self.records if isinstance(kind := record.get("type"), str))

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table of a SQLite file; none for any other file, or one that SQLite cannot read."""
        if not self.start.startswith(SQLITE):
            return {}
        try:
            return stored_tables(self.path)
        except UnreadableFileError:
            return {}

    def has(self, *paths: str) -> bool:
        """Whether the first JSON value has all these paths."""
        return all(path in self.shape for path in paths)


@dataclass(frozen=True, slots=True)
class LogLocations:
    """Where a tool keeps its logs, for a reading that names no path."""

    tool: str
    """The tool's name as people write it."""
    paths: Callable[[Path, Mapping[str, str]], Sequence[Path]]
    """The folders and files, from the user's home and the environment; whether they exist is not asked here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """Format of runs, or of what belongs to a run. `steelyard.sources.formats` documents how to write one."""

    name: str
    """How users name it (`--format codex-exec`) and how its runs name their origin."""
    title: str
    """What it is, in a few words."""
    kind: FormatKind
    """`runs`: run records of ours. `sessions`: an agent's work, from its own log. `trials`: a harness's records.
    `verdicts`: patches and their verdicts. `tests`, `recordings`: about the run in the same folder."""
    yields: tuple[str, ...]
    """Which facts of a run the format can give."""
    recognizes: Callable[[Head], bool]
    """Whether a file that begins like this is one of the format's; never raises."""
    read: Callable[[Path], Iterator[ReadItem]]
    """Reads the file: parts or runs, findings, and rejected records."""
    steps: Callable[[Path, str | None], Iterator[SessionStep | Rejected]] | None = None
    """Yields the steps of the session with this id in the file, lazily; of the only one, or of all, for None. None in
    a format that states numbers and no messages."""
    check_messages: Callable[[Path, str | None], Iterator[CheckMessage]] | None = None
    """Yields what tests, assertions and graders say of the run with this id: why it failed, or the reasoning."""
    quotes_texts: bool = False
    """Whether the texts of steps are JSON strings of the file, so that a word that is not in the file is in no step."""
    family: str = ""
    """The tool that writes the same sessions in several formats; empty for a format that is alone."""
    leads_family: bool = False
    """Of several files of one session, this format's is the one that the others add to."""
    precedence: Precedence = "normal"
    """Which family wins where several report one trial: `first` for logs that the agent itself keeps, `last`
    for what was derived from another log."""
    totals_add_up: bool = False
    """The totals of one session in several files are of different calls; otherwise the largest is the session's."""
    shows_every_tool_call: bool = False
    """A session in which no tool call is seen made none; otherwise their number is unknown."""
    seen: bool = True
    """Whether its author has seen a real file; otherwise it follows what the tool publishes, as its title notes."""
    kept_by: LogLocations | None = None
    """Where the tool keeps its logs; None when unknown."""
    priority: Literal["normal", "plugin", "last"] = "normal"
    """When the format is asked: `last` for our own run records, which many files resemble. Those of plug-ins come
    between, whatever their value here."""
    holds_no_run: Callable[[Head], bool] | None = None
    """Whether a file that no format recognizes is one of the tool's without runs, such as its configuration."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", self.family or self.name)
        if not self.seen and not self.title.endswith(NOT_SEEN):
            object.__setattr__(self, "title", self.title + NOT_SEEN)


def stored_tables(path: Path) -> Mapping[str, frozenset[str]]:
    """The columns of each table of a SQLite file."""
    with closing(sources.SqliteStore(path)) as store:
        return store.tables


def head_of(path: Path) -> Head:
    """The beginning of the file."""
    return Head(path, beginning_of(path))
