"""Reading on a cluster: the same files through the same formats, joined by unit, in the order of a local reading.

The executor is passed in as a `Cluster`: it spreads rows over workers, brings rows of one key together and returns
rows in order. What workers do with rows knows no cluster: they walk, read files, find which files belong together, and
join units. A row's order is that of a local reading: file by file and round by round (the contents of archives are
read in the next round), then what was joined, by place.

Files that may report the same run or contain the same call are one unit. The parts of a file name what they share with
other files as keys. Files that share a key are one unit, and units are joined apart from each other. A key too many
only makes a unit larger, so keys may be short digests, and a key that some files merely offer (their folder) binds only
where another asks for it (the trial that owns the folder).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping as AbstractMapping, Sequence
from contextlib import chdir, nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import msgspec

from steelyard.errors import UsageError
from steelyard.files import FoundFile, content_of, file_repeated, files_below, files_in
from steelyard.records import NO_LABELS, Finding, Labels, Rejected
from steelyard.scratch import scratch_folder
from steelyard.settings import is_stdin
from steelyard.sources.formats._catalog import log_format_named
from steelyard.sources.formats._file_reader import FileKind, FileResult, ReadJob, read_file
from steelyard.sources.formats._log_format import PlacedRun, RunPart
from steelyard.sources.mappings._mapping import Mapping
from steelyard.sources.tables._file_results import Gathered, mapped_result, own_items, shown_items, shown_parts
from steelyard.sources.tables._join import PartPlace, calls_counted_once, join
from steelyard.sources.tables._submissions import submission_folder
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.sources.tables._file_runs import GatheringCount, Progress


class Row(NamedTuple):
    """What workers hand on."""

    tag: int
    key: int
    order: bytes
    value: bytes


Work = Callable[[Iterator[Row]], Iterator[Row]]
"""What a worker does with the rows it was given."""


class Rows(Protocol):
    """Rows in a cluster."""

    def mapped(self, work: Work) -> Self:
        """What the workers make of the rows, each of those it holds."""
        ...

    def by_key(self, work: Work) -> Self:
        """The same where a worker holds all rows of a key, sorted by key and order."""
        ...

    def tagged(self, *tags: int) -> Self:
        """Those with one of these tags."""
        ...

    def moved(self, keys: AbstractMapping[int, int]) -> Self:
        """The rows with other keys, where one is given for theirs."""
        ...

    def with_rows(self, others: Self) -> Self:
        """These and the others."""
        ...

    def kept(self) -> Self:
        """The same rows, made once however often they are asked for."""
        ...

    def in_order(self) -> Iterator[Row]:
        """All rows, in their order, as the memory of one machine allows."""
        ...

    def dropped(self) -> None:
        """Not needed any more."""
        ...


class Cluster(Protocol):
    """Where a reading is executed."""

    def rows(self, rows: Sequence[Row]) -> Rows:
        """These rows, each where a worker can take it up."""
        ...


TASK_BYTES = 32 << 20
"""Maximum bytes of neighboring files that one task reads."""
TASK_FILES = 256
"""Maximum number of files that one task reads."""


class ReadSettings(NamedTuple):
    """Settings with which files are read."""

    format: str | None
    mapping: Mapping | None
    progress: Progress | None
    labels: Labels = NO_LABELS


def gathered_on(
    cluster: Cluster, paths: Sequence[Path], how: ReadSettings, counted: GatheringCount
) -> Iterator[Gathered]:
    """The runs of all files below the paths, what was rejected, and findings, in the order of a local reading.

    The paths are those that workers see; one that is relative is taken from the folder that this process works in.
    """
    if any(is_stdin(path) for path in paths):
        raise UsageError("a cluster cannot read stdin", hint="use files or directories that its workers can access")
    relative = any(not path.is_absolute() for path in paths)
    reading = ReadingOnWorkers(
        folder=os.getcwd() if relative else None,
        format=how.format,
        mapping=None if how.mapping is None else msgspec.json.encode(how.mapping),
        labels=how.labels,
    )
    jobs: list[FileJob] = []
    absent: list[Row] = []
    given = Row(WALKED, 0, b"", msgspec.json.encode([str(path) for path in paths]))
    for row in cluster.rows([given]).mapped(partial(walked_rows, reading=reading)).in_order():
        if row.tag == FILE:
            jobs.append(msgspec.msgpack.decode(row.value, type=FileJob))
        elif row.tag == WALKED:
            _same_version(row.value.decode())
        elif row.order[:1] == b"\0":
            yield from decode_items(row.value)
        else:
            absent.append(row)
    read = cluster.rows(list(_tasks(jobs))).mapped(partial(read_rows, reading=reading)).kept()
    try:
        repeated = _count_files(read.tagged(FILE).in_order(), how, counted, sum(job.size for job in jobs))
        links = ((row.key, int.from_bytes(row.value, "big")) for row in read.tagged(BOND).by_key(link_rows).in_order())
        joined = read.tagged(PARTS).moved(units_of(links)).by_key(partial(joined_rows, reading=reading))
        everything = read.tagged(ITEMS).with_rows(joined).kept()
        try:
            yield from _in_local_order(everything.in_order(), repeated, absent)
        finally:
            everything.dropped()
    finally:
        read.dropped()


def _tasks(jobs: Iterable[FileJob]) -> Iterator[Row]:
    """Neighboring files together, so that a worker meets one kind of file for a while."""
    batch: list[FileJob] = []
    batch_bytes = number = 0
    for job in jobs:
        if batch and (batch_bytes >= TASK_BYTES or len(batch) >= TASK_FILES):
            yield Row(FILE, number, b"", msgspec.msgpack.encode(batch))
            batch, batch_bytes, number = [], 0, number + 1
        batch.append(job)
        batch_bytes += job.size
    if batch:
        yield Row(FILE, number, b"", msgspec.msgpack.encode(batch))


def _count_files(rows: Iterator[Row], how: ReadSettings, counted: GatheringCount, total: int) -> dict[bytes, str]:
    """Counts the files; gives those of our own records that are copies of one before, by their order."""
    done = 0
    contents: set[bytes] = set()
    repeated: dict[bytes, str] = {}
    for row in rows:
        seen = msgspec.msgpack.decode(row.value, type=ClusterFile)
        file = FoundFile(seen.path, seen.shown, seen.size, named=seen.named, alone=seen.alone)
        counted.count(FileResult(0, seen.kind, seen.format), file)
        if seen.content is not None and seen.content in contents:
            repeated[row.order] = seen.shown
        elif seen.content is not None:
            contents.add(seen.content)
        if how.progress and not seen.inside:
            done += seen.size
            how.progress(done, total)
    return repeated


def _in_local_order(
    rows: Iterator[Row], repeated: AbstractMapping[bytes, str], absent: Sequence[Row]
) -> Iterator[Gathered]:
    """Everything in the order of a local reading: file by file, paths that are not there, then what was joined."""
    waiting = list(absent)
    for order, several in groupby(rows, key=lambda row: (row.tag, row.order[:-4])):
        tag, place = order
        if waiting and not place.startswith(b"\1"):
            for row in waiting:
                yield from decode_items(row.value)
            waiting = []
        if tag == COPIES:
            copies = [int.from_bytes(row.value, "big") for row in several]
            yield from calls_counted_once(sum(copies))
            continue
        for number, row in enumerate(several):
            if number == 1 and place in repeated:
                break
            yield from decode_items(row.value)
        if place in repeated:
            yield file_repeated(repeated[place])
    for row in waiting:
        yield from decode_items(row.value)


def _same_version(version: str) -> None:
    if version != __version__:
        raise UsageError(
            f"the cluster's workers run steelyard {version}, this machine {__version__}",
            hint=f"install steelyard {__version__} on every worker",
        )


WALKED, FILE, ITEMS, PARTS, BOND, LINK, COPIES = range(7)
"""What a row holds: paths given, a file, its items, its parts, a key of it, two files that belong together,
and how many calls were counted once."""
WALKING, READING, ABSENT, TRIALS, CALLS, RUNS = (bytes([level]) for level in range(6))
"""Stages of the output; the first byte of every order."""
OWN_AT_ONCE = 500
"""Runs of our own records in one row."""


class ReadingOnWorkers(NamedTuple):
    """How workers read."""

    folder: str | None
    """Where relative paths begin; None where all are absolute."""
    format: str | None
    mapping: bytes | None
    """The mapping as JSON."""
    labels: Labels = NO_LABELS


class FileJob(msgspec.Struct, frozen=True, array_like=True):
    """A file to be read."""

    number: int
    path: str
    shown: str
    size: int
    named: bool


class ClusterFile(msgspec.Struct, frozen=True, array_like=True):
    """What a file turned out to be."""

    path: str
    shown: str
    size: int
    kind: FileKind
    format: str | None
    named: bool
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
                if isinstance(item, FoundFile) and _is_text(item.shown):
                    job = FileJob(number, str(item.path), item.shown, item.size, item.named)
                    yield Row(FILE, 0, READING + order, msgspec.msgpack.encode(job))
                elif isinstance(item, Finding):
                    yield Row(ITEMS, 0, WALKING + order, encode_items([item]))
                else:
                    absent = item if isinstance(item, Rejected) else _name_rejected(item)
                    yield Row(ITEMS, 0, ABSENT + order, encode_items([absent]))


def _is_text(name: str) -> bool:
    return name.isprintable() or name.encode("utf-8", "ignore").decode() == name


def _name_rejected(file: FoundFile) -> Rejected:
    shown = os.fsencode(file.shown).decode("utf-8", "backslashreplace")
    return Rejected(path=shown, reason="a cluster cannot read a file whose name is not UTF-8", code="unreadable_file")


def read_rows(rows: Iterator[Row], reading: ReadingOnWorkers) -> Iterator[Row]:
    """What the files give that each row lists."""
    mapping = None
    if reading.mapping is not None:
        mapping = msgspec.json.decode(reading.mapping, type=Mapping)
    for row in rows:
        with _at(reading), scratch_folder() as scratch:
            worker = _Worker(reading, mapping, scratch)
            for job in _decode_jobs(row.value):
                file = FoundFile(job.path, job.shown, job.size, named=job.named)
                yield from worker.file_rows(file, (job.number,))


class _Worker:
    """Reads files, and at once what archives hold."""

    def __init__(self, reading: ReadingOnWorkers, mapping: Any, scratch: Path) -> None:  # Any: a Mapping
        self._format, self._labels, self._mapping, self._scratch = reading.format, reading.labels, mapping, scratch
        self._archives = 0

    def file_rows(self, file: FoundFile, numbers: tuple[int, ...]) -> Iterator[Row]:
        """Yield the rows of one file; the numbers are its place, in the archives around it first."""
        result = self._result(file)
        place = READING + bytes([len(numbers), 0]) + b"".join(map(_number, numbers))
        by_place = self._mapping is not None and self._mapping.reads_its_place
        labels = self._labels.key(file.shown)
        content = content_of(file.path, labels) if result.kind == "own" and not by_place else None
        seen = ClusterFile(
            str(file.path),
            file.shown,
            file.size,
            result.kind,
            result.format,
            file.named,
            file.alone,
            file.depth > 0,
            content,
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

    def _result(self, file: FoundFile) -> FileResult:
        if self._mapping is not None:
            return mapped_result(0, file, self._mapping)
        return read_file(ReadJob(0, str(file.path), file.named, self._format))

    def _own_rows(self, file: FoundFile, name: str, place: bytes) -> Iterator[Row]:
        batch: list[Gathered] = []
        number = 1
        for item in own_items(file, name, self._mapping):
            batch.append(item)
            if len(batch) == OWN_AT_ONCE:
                yield Row(ITEMS, 0, place + _number(number), encode_items(batch))
                batch, number = [], number + 1
        if batch:
            yield Row(ITEMS, 0, place + _number(number), encode_items(batch))

    def _inner_rows(self, archive: FoundFile, numbers: tuple[int, ...]) -> Iterator[Row]:
        self._archives += 1
        place = READING + bytes([len(numbers), 1]) + b"".join(map(_number, numbers))
        for number, inside in enumerate(files_in(archive, self._scratch / str(self._archives)), 1):
            if isinstance(inside, Rejected):
                yield Row(ITEMS, 0, place + _number(number), encode_items([inside]))
            else:
                yield from self.file_rows(inside, (*numbers, number))


def _part_rows(parts: list[RunPart], file: FoundFile, place: bytes) -> Iterator[Row]:
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


def joined_rows(rows: Iterator[Row], reading: ReadingOnWorkers) -> Iterator[Row]:
    """The joined runs of each unit of files."""
    with _at(reading):  # a label may be part of a path that is relative
        yield from _joined_rows(rows, reading.labels)


def _joined_rows(rows: Iterator[Row], labels: Labels) -> Iterator[Row]:
    for _, unit in groupby(rows, key=lambda row: row.key):
        parts: list[RunPart] = []
        first: dict[bytes, str] = {}
        copies: dict[str, str] = {}
        for row in unit:
            file = _decode_parts(row.value)
            parts += file.parts
            if file.content is not None and first.setdefault(file.content, file.shown) != file.shown:
                copies[file.shown] = first[file.content]
        joined = join(parts, copies, labels)
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


Bond = tuple[int, bool]
"""A key, and whether the file asks for others that have it, or merely offers it."""


def digest_number(*texts: str | bytes) -> int:
    """Return a 63-bit hash of the texts, the same on every machine.

    >>> digest_number("a", "b") == digest_number("ab")
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return int.from_bytes(digest.digest(), "big") >> 1


def bonds_of(parts: Sequence[RunPart], content: bytes | None = None) -> dict[int, bool]:
    """What a file's parts have to do with other files: each key, and whether the file asks for it.

    `content` is the digest of the file's bytes, where a copy of the file would add nothing.
    """
    bonds: dict[int, bool] = {}
    for part in parts:
        for key, asks in _bonds(part):
            bonds[key] = bonds.get(key, False) or asks
    if content is not None:
        bonds[digest_number("content", content)] = True
    return bonds


def _bonds(part: RunPart) -> Iterator[Bond]:
    run, role, declared = part.run, part.role, log_format_named((part.run.source and part.run.source.format) or "")
    folder = part.path.rpartition("/")[0]
    yield digest_number("folder", folder), role in ("tests", "recording")
    if role == "owner":
        if run.id:
            yield digest_number("trial", declared.name, run.id), True
        if part.owns:
            yield digest_number("in", part.owns), True
        return
    while folder:
        yield digest_number("in", folder), False
        folder = folder.rpartition("/")[0]
    if role in ("tests", "recording"):
        return
    asks = role != "session"
    yield digest_number("task", run.task), asks
    yield digest_number("submission", submission_folder(part.path, run.task)), asks
    if role == "session":
        for id_ in (run.id, part.parent):
            if id_:
                yield digest_number("session", id_), True
        for call in run.calls or ():
            if call.id is not None:
                yield digest_number("call", declared.family, call.id), True
        for tool in part.tool_ids:
            yield digest_number("tool", declared.family, tool), not run.id


def linked(holders: Iterable[tuple[int, bool]]) -> Iterator[tuple[int, int]]:
    """Pairs of files that one key binds, from the files that have it and whether each asks for it, those first.

    >>> list(linked([(7, True), (7, False), (8, False)])), list(linked([(7, False), (8, False)]))
    ([(7, 8)], [])
    """
    first: int | None = None
    for file, asks in holders:
        if first is None:
            if not asks:
                return
            first = file
        elif file != first:
            yield first, file


def units_of(links: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Map each file that is linked with another to the file that represents its unit.

    >>> units_of([(1, 2), (5, 6), (2, 3)])
    {1: 1, 2: 1, 5: 5, 6: 5, 3: 1}
    """
    above: dict[int, int] = {}

    def top(file: int) -> int:
        while (over := above.setdefault(file, file)) != file:
            above[file] = file = above[over]
        return file

    for one, other in links:
        first, second = sorted((top(one), top(other)))
        above[second] = first
    return {file: top(file) for file in above}
