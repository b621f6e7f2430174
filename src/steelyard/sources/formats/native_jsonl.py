"""Our own run records, one JSON object a line (`steelyard schema run` prints the schema)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.files import numbered_lines, too_long
from steelyard.records import DecodeError, Rejected, decode_run
from steelyard.settings import SHORT_ROWS
from steelyard.sources.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.sources.formats._run_records import any_is_run, is_cut_run


def recognizes(head: Head) -> bool:
    """One of the first whole lines is a run record; a first line longer than the beginning must look like one."""
    if head.text[:1] != b"{":
        return False
    return any_is_run(head.records) if b"\n" in head.text or head.records else is_cut_run(head.shape)


def read(path: Path) -> Iterator[PlacedRun | Rejected]:
    """Each line's Run, or why it was rejected."""
    name = str(path)
    for number, line in numbered_lines(path, SHORT_ROWS):
        try:
            yield PlacedRun(decode_run(line), name, number)
        except DecodeError as error:
            yield too_long(path, number, line) or _rejected(error, name, number, cut=not line.endswith(b"\n"))


def _rejected(error: DecodeError, path: str, line: int, *, cut: bool) -> Rejected:
    if cut and error.reason.startswith("not JSON"):
        reason = "the file ends within this record"
        hint = (
            "if the file is still being written, read it again later; otherwise copy it again or remove the last line"
        )
        return Rejected(path=path, line=line, reason=reason, hint=hint)
    return Rejected(path=path, line=line, reason=error.reason, hint=error.hint)


FORMAT = LogFormat(
    name="runs-jsonl",
    title="Steelyard run records (JSON Lines)",
    kind="runs",
    yields=("every field of a run record",),
    recognizes=recognizes,
    read=read,
    priority="last",
)
