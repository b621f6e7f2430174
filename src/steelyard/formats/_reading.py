"""Reads one file by whichever source recognizes it, into a result that can travel between processes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from steelyard.errors import UnreadableFile
from steelyard.files import archive_kind
from steelyard.formats._catalog import each_log_format, log_format_named
from steelyard.formats._log_format import Head, LogFormat, PlacedRun, RunPart, head_of
from steelyard.records import Finding, Refused, Rejected

Kind = Literal["read", "archive", "own", "unknown"]


class ReadJob(msgspec.Struct, frozen=True, array_like=True):
    """A file to be read."""

    number: int
    path: str
    named: bool
    format: str | None = None


class FileResult(msgspec.Struct, array_like=True):
    """What became of a file: read, packed, one of our own records' files (which are streamed), or not known."""

    number: int
    kind: Kind
    format: str | None = None
    parts: list[RunPart] = []
    entries: list[PlacedRun] = []
    rejected: list[Rejected] = []
    findings: list[Finding] = []


_SHOWN_TASK = {"runs-jsonl": "task", "runs-json": "[].task"}
"""Where a file of our own records shows a task; formats of any other tool may look the same but for that."""

_latest: list[LogFormat] = []
"""The source of the file before: neighbors are often of one kind, and no two sources recognize the same file."""


def read_file(job: ReadJob) -> FileResult:
    """The file's parts; whatever is wrong with it is told as rejected, never raised."""
    path = Path(job.path)
    result = FileResult(job.number, "read")
    try:
        head = head_of(path)
        source = log_format_named(job.format) if job.format and job.named else recognized(head, named=job.named)
        if source is None or (job.format and source.name != job.format):
            return FileResult(job.number, "archive" if archive_kind(head.start) else "unknown")
        result.format = source.name
        if source.priority == "last":
            result.kind = "own"
            return result
        for item in source.read(path):
            _sort(item, result)
    except UnreadableFile as error:
        where, _, line = (error.where or job.path).rpartition(":")
        place = (where, int(line)) if where and line.isdigit() else (error.where or job.path, None)
        result.rejected.append(
            Rejected(path=place[0], line=place[1], reason=error.message, hint=error.hint, code=error.kind)
        )
    except Refused as refused:
        result.rejected.append(Rejected(path=job.path, reason=refused.reason, hint=refused.hint))
    except OSError as error:
        result.rejected.append(Rejected(path=job.path, reason=error.strerror or str(error), code="unreadable_file"))
    return result


def _sort(item: PlacedRun | RunPart | Rejected | Finding, result: FileResult) -> None:
    if isinstance(item, RunPart):
        result.parts.append(item)
    elif isinstance(item, PlacedRun):
        result.entries.append(item)
    elif isinstance(item, Rejected):
        result.rejected.append(item)
    else:
        result.findings.append(item)


def recognized(head: Head, *, named: bool = True) -> LogFormat | None:
    """The source that recognizes the file by its content; None when none does.

    Our own records are so general in shape that a file nobody named must also show a `task` to be taken for them.
    """
    if _latest and _latest[0].recognizes(head):
        return _latest[0]
    for source in each_log_format():
        if source.recognizes(head):
            if source.priority == "last":
                task = _SHOWN_TASK.get(source.name)
                return source if named or task is None or task in head.shape else None
            _latest[:] = [source]
            return source
    return None
