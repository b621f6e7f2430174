"""Reading on a cluster: the same files through the same formats, put together by unit, in the order of a local reading.

The executor is passed in as a `Cluster`: it spreads rows over workers, brings rows of one key together and gives
rows back in order. The work on them is here and in `_file_rows.py`, and knows no cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping as AbstractMapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import msgspec

from steelyard.errors import UsageError
from steelyard.files import Found, file_repeated
from steelyard.formats import FileResult
from steelyard.settings import is_stdin
from steelyard.tables._file_rows import (
    BOND,
    COPIES,
    FILE,
    ITEMS,
    PARTS,
    WALKED,
    FileJob,
    FileSeen,
    ReadingOnWorkers,
    Row,
    decode_items,
    joined_rows,
    link_rows,
    read_rows,
    walked_rows,
)
from steelyard.tables._joining import calls_counted_once
from steelyard.tables._units import units_of
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.mappings import Mapping
    from steelyard.tables._file_results import Gathered
    from steelyard.tables._gathering import GatheringCount, Progress

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


class How(NamedTuple):
    """How files are read."""

    format: str | None
    mapping: Mapping | None
    progress: Progress | None


def gathered_on(cluster: Cluster, paths: Sequence[Path], how: How, counted: GatheringCount) -> Iterator[Gathered]:
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
        joined = read.tagged(PARTS).moved(units_of(links)).by_key(joined_rows)
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


def _count_files(rows: Iterator[Row], how: How, counted: GatheringCount, total: int) -> dict[bytes, str]:
    """Counts the files; gives those of our own records that are copies of one before, by their order."""
    done = 0
    contents: set[bytes] = set()
    repeated: dict[bytes, str] = {}
    for row in rows:
        seen = msgspec.msgpack.decode(row.value, type=FileSeen)
        file = Found(seen.path, seen.shown, seen.size, alone=seen.alone)
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
