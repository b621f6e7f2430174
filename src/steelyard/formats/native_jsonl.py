"""Our own run records, one JSON object a line (`steelyard schema run` prints the schema)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from steelyard.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.records import Refused, Rejected, decode_run

MAX_LINE_BYTES = 64 * 1024 * 1024


def recognizes(head: Head) -> bool:
    """A line that opens an object; asked last, since many tools write such lines."""
    return head.start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def read(path: Path) -> Iterator[PlacedRun | Rejected]:
    """Each line's Run, or why it was set aside."""
    name = str(path)
    with path.open("rb") as file:
        for number, line in _lines(file):
            if not line.strip():
                continue
            if len(line) > MAX_LINE_BYTES:
                yield Rejected(path=name, line=number, reason=f"the line is longer than {MAX_LINE_BYTES:,} bytes")
                continue
            try:
                yield PlacedRun(decode_run(line), name, number)
            except Refused as refused:
                yield _rejected(refused, name, number, cut=not line.endswith(b"\n"))


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Numbered lines; of one past the limit only the beginning is kept in memory."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        rest = line
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES + 1)
        yield number, line


def _rejected(refused: Refused, path: str, line: int, *, cut: bool) -> Rejected:
    if cut and refused.reason.startswith("not JSON"):
        reason = "the file ends in the middle of this record"
        return Rejected(path=path, line=line, reason=reason, hint="copy the file again, or remove its last line")
    return Rejected(path=path, line=line, reason=refused.reason, hint=refused.hint)


FORMAT = LogFormat(
    name="runs-jsonl",
    title="Steelyard run records (JSON lines)",
    tells="runs",
    yields=("everything a run record holds",),
    recognizes=recognizes,
    read=read,
    priority="last",
    needs_when_unnamed="task",
)
