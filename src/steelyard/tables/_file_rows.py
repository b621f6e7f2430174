"""What a worker of a cluster does: walk, read files, find what binds them, put units together. Rows in, rows out.

A row's order is that of a local reading: file by file and round by round (what archives hold is
read in the next round), then what was put together, by place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import chdir, nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steelyard.files import Found, content_of, files_below, files_in
from steelyard.formats import FileKind, FileResult, PlacedRun, ReadJob, RunPart, read_file
from steelyard.records import Finding, Rejected
from steelyard.scratch import scratch_folder
from steelyard.tables._file_results import Gathered, mapped_result, own_items, shown_items, shown_parts
from steelyard.tables._joining import PartPlace, join
from steelyard.tables._units import bonds_of, digest_number, linked
from steelyard.version import __version__

WALKED, FILE, ITEMS, PARTS, BOND, LINK, COPIES = range(7)
"""What a row holds: paths given, a file, its items, its parts, a key of it, two files that belong together,
and how many calls were counted once."""
WALKING, READING, ABSENT, TRIALS, CALLS, RUNS = (bytes([level]) for level in range(6))
"""Stages of the output; the first byte of every order."""
OWN_AT_ONCE = 500
"""Runs of our own records in one row."""


class Row(NamedTuple):
    """What workers hand on."""

    tag: int
    key: int
    order: bytes
    value: bytes


class ReadingOnWorkers(NamedTuple):
    """How workers read."""

    folder: str | None
    """Where relative paths begin; None where all are absolute."""
    format: str | None
    mapping: bytes | None
    """The mapping as JSON."""


class FileJob(msgspec.Struct, frozen=True, array_like=True):
    """A file to be read."""

    number: int
    path: str
    shown: str
    size: int
    named: bool


class FileSeen(msgspec.Struct, frozen=True, array_like=True):
    """What a file turned out to be."""

    path: str
    shown: str
    size: int
    kind: FileKind
    format: str | None
    alone: bool
    inside: bool
    """Whether it is in an archive."""
    content: bytes | None = None
    """A digest of its bytes, where a copy of it would add nothing."""


class _FileParts(msgspec.Struct, frozen=True, array_like=True):
    """A file's parts of runs."""

    shown: str
    parts: list[RunPart]
    content: bytes | None
    """A digest of its bytes, where a run in it has no id."""


class _Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """Run, rejected record or finding."""

    run: PlacedRun | None = None
    rejected: Rejected | None = None
    finding: Finding | None = None


# JSON keeps the zone of a time, which MessagePack does not.
_items = msgspec.json.Encoder(enc_hook=list)
_decode_items = msgspec.json.Decoder(list[_Item]).decode
_decode_jobs = msgspec.msgpack.Decoder(list[FileJob]).decode
_decode_parts = msgspec.msgpack.Decoder(_FileParts).decode


def encode_items(items: Sequence[Gathered]) -> bytes:
    """Encode runs, rejected records and findings."""
    return _items.encode([_item(item) for item in items])


def _item(item: Gathered) -> _Item:
    if isinstance(item, PlacedRun):
        return _Item(run=item)
    return _Item(rejected=item) if isinstance(item, Rejected) else _Item(finding=item)


def decode_items(value: bytes) -> Iterator[Gathered]:
    """Decode runs, rejected records and findings."""
    for item in _decode_items(value):
        content = item.run or item.rejected or item.finding
        assert content is not None
        yield content


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _at(reading: ReadingOnWorkers) -> Any:  # Any: a context, whatever it gives
    return nullcontext() if reading.folder is None else chdir(reading.folder)


def walked_rows(rows: Iterator[Row], reading: ReadingOnWorkers) -> Iterator[Row]:
    """The files below the paths, those that are named twice or are not there, and who looked."""
    for row in rows:
        yield Row(WALKED, 0, b"", __version__.encode())
        with _at(reading), scratch_folder() as scratch:
            paths = [Path(text) for text in msgspec.json.decode(row.value, type=list[str])]
            for number, item in enumerate(files_below(paths, scratch)):
                order = _number(number)
                if isinstance(item, Found) and _is_text(item.shown):
                    job = FileJob(number, str(item.path), item.shown, item.size, item.named)
                    yield Row(FILE, 0, READING + order, msgspec.msgpack.encode(job))
                elif isinstance(item, Finding):
                    yield Row(ITEMS, 0, WALKING + order, encode_items([item]))
                else:
                    absent = item if isinstance(item, Rejected) else _name_rejected(item)
                    yield Row(ITEMS, 0, ABSENT + order, encode_items([absent]))


def _is_text(name: str) -> bool:
    return name.isprintable() or name.encode("utf-8", "ignore").decode() == name


def _name_rejected(file: Found) -> Rejected:
    shown = os.fsencode(file.shown).decode("utf-8", "backslashreplace")
    return Rejected(path=shown, reason="a cluster cannot read a file whose name is not UTF-8", code="unreadable_file")


def read_rows(rows: Iterator[Row], reading: ReadingOnWorkers) -> Iterator[Row]:
    """What the files give that each row lists."""
    mapping = None
    if reading.mapping is not None:
        from steelyard.mappings import Mapping  # makes some twenty classes that readers of logs do not need

        mapping = msgspec.json.decode(reading.mapping, type=Mapping)
    for row in rows:
        with _at(reading), scratch_folder() as scratch:
            worker = _Worker(reading.format, mapping, scratch)
            for job in _decode_jobs(row.value):
                file = Found(job.path, job.shown, job.size, named=job.named)
                yield from worker.file_rows(file, (job.number,))


class _Worker:
    """Reads files, and at once what archives hold."""

    def __init__(self, format: str | None, mapping: Any, scratch: Path) -> None:  # noqa: A002 # Any: a Mapping
        self._format, self._mapping, self._scratch = format, mapping, scratch
        self._archives = 0

    def file_rows(self, file: Found, numbers: tuple[int, ...]) -> Iterator[Row]:
        """Yield the rows of one file; the numbers are its place, in the archives around it first."""
        result = self._result(file)
        place = READING + bytes([len(numbers), 0]) + b"".join(map(_number, numbers))
        by_place = self._mapping is not None and self._mapping.reads_its_place
        content = content_of(file.path) if result.kind == "own" and not by_place else None
        seen = FileSeen(
            str(file.path), file.shown, file.size, result.kind, result.format, file.alone, file.depth > 0, content
        )
        yield Row(FILE, 0, place, msgspec.msgpack.encode(seen))
        items = list(shown_items(result, file))
        if items or result.kind == "own":
            yield Row(ITEMS, 0, place + _number(0), encode_items(items))
        if result.parts:
            yield from _part_rows(shown_parts(result, file), file, place)
        if result.kind == "own":
            yield from self._own_rows(file, str(result.format), place)
        elif result.kind == "archive":
            yield from self._inner_rows(file, numbers)

    def _result(self, file: Found) -> FileResult:
        if self._mapping is not None:
            return mapped_result(0, file, self._mapping)
        return read_file(ReadJob(0, str(file.path), file.named, self._format))

    def _own_rows(self, file: Found, name: str, place: bytes) -> Iterator[Row]:
        batch: list[Gathered] = []
        number = 1
        for item in own_items(file, name, self._mapping):
            batch.append(item)
            if len(batch) == OWN_AT_ONCE:
                yield Row(ITEMS, 0, place + _number(number), encode_items(batch))
                batch, number = [], number + 1
        if batch:
            yield Row(ITEMS, 0, place + _number(number), encode_items(batch))

    def _inner_rows(self, archive: Found, numbers: tuple[int, ...]) -> Iterator[Row]:
        self._archives += 1
        place = READING + bytes([len(numbers), 1]) + b"".join(map(_number, numbers))
        for number, inside in enumerate(files_in(archive, self._scratch / str(self._archives)), 1):
            if isinstance(inside, Rejected):
                yield Row(ITEMS, 0, place + _number(number), encode_items([inside]))
            else:
                yield from self.file_rows(inside, (*numbers, number))


def _part_rows(parts: list[RunPart], file: Found, place: bytes) -> Iterator[Row]:
    content = content_of(file.path) if any(part.run.id is None for part in parts) else None
    node = digest_number(place)
    yield Row(PARTS, node, place, msgspec.msgpack.encode(_FileParts(file.shown, parts, content)))
    for key, asks in bonds_of(parts, content).items():
        yield Row(BOND, key, b"\0" if asks else b"\1", node.to_bytes(8, "big"))


def link_rows(rows: Iterator[Row]) -> Iterator[Row]:
    """Which files belong together, each pair once, from the keys that they have."""
    known: set[tuple[int, int]] = set()
    for _, holders in groupby(rows, key=lambda row: row.key):
        for pair in linked((int.from_bytes(row.value, "big"), row.order == b"\0") for row in holders):
            if pair not in known:
                known.add(pair)
                yield Row(LINK, pair[0], b"", pair[1].to_bytes(8, "big"))


def joined_rows(rows: Iterator[Row]) -> Iterator[Row]:
    """The joined runs of each unit of files."""
    for _, unit in groupby(rows, key=lambda row: row.key):
        parts: list[RunPart] = []
        first: dict[bytes, str] = {}
        copies: dict[str, str] = {}
        for row in unit:
            file = _decode_parts(row.value)
            parts += file.parts
            if file.content is not None and first.setdefault(file.content, file.shown) != file.shown:
                copies[file.shown] = first[file.content]
        joined = join(parts, copies)
        for number, (place, item) in enumerate(joined.trial_notes):
            yield Row(ITEMS, 0, TRIALS + _place_bytes(place) + _number(number), encode_items([item]))
        if joined.copied_calls:
            yield Row(COPIES, 0, CALLS + _number(0), joined.copied_calls.to_bytes(8, "big"))
        for number, (place, run) in enumerate(joined.runs):
            yield Row(ITEMS, 0, RUNS + _place_bytes(place) + _number(number), encode_items([run]))


def _place_bytes(place: PartPlace) -> bytes:
    """Bytes in the order of the places."""
    whole, path, line, id_ = place
    texts = [text.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\0" for text in (path, id_)]
    return bytes([whole]) + texts[0] + line.to_bytes(8, "big") + texts[1]
