"""Our own run records as one JSON array; large files are better streamed as one record per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from steelyard.files import unreadable, whole_file
from steelyard.records import JSON_ERRORS, DecodeError, Rejected, decode_run
from steelyard.sources.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.sources.formats._run_records import any_is_run, first_elements, is_cut_run

_RECORDS = msgspec.json.Decoder(list[msgspec.Raw])


def recognizes(head: Head) -> bool:
    """An array in which one of the first whole elements is a run record, or an empty one."""
    if head.text[:1] != b"[":
        return False
    inside = head.text[1:].lstrip()
    if inside[:1] != b"{":
        return inside[:1] == b"]"
    elements = list(first_elements(inside))
    return any_is_run(elements) if elements else is_cut_run(head.shape, within="[].")


def read(path: Path) -> Iterator[PlacedRun | Rejected]:
    """Each element's Run, or why it was rejected; the line is the element's number from 1."""
    name = str(path)
    try:
        elements = _RECORDS.decode(whole_file(path))
    except JSON_ERRORS as error:
        hint = "fix the file, or write one record per line, so that valid lines can be read"
        raise unreadable(name, error, hint=hint) from error
    for number, element in enumerate(elements, 1):
        try:
            yield PlacedRun(decode_run(bytes(element)), name, number)
        except DecodeError as error:
            yield Rejected(path=name, line=number, reason=error.reason, hint=error.hint)


FORMAT = LogFormat(
    name="runs-json",
    title="Steelyard run records (a JSON array)",
    kind="runs",
    yields=("every field of a run record",),
    recognizes=recognizes,
    read=read,
    priority="last",
)
