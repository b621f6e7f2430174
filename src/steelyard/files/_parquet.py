"""A Parquet file in batches of rows, after a check that the sizes and counts that it states agree.

A page that states fewer than no values makes Polars end the whole process, which no caller can catch. The footer and
the header of each page are structs of Thrift's compact protocol; the pages themselves are not read.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.errors import InputLimitError, UnreadableFileError
from steelyard.files._decompression import Budget
from steelyard.files._file_bytes import open_file
from steelyard.settings import MAX_NESTING

if TYPE_CHECKING:
    import polars as pl

MAGIC = b"PAR1"
FOOTER_BYTES = 16 << 20
"""A footer takes about 200 bytes for each column of each row group."""
MAX_STRUCTS = 300_000
"""Of a footer that are kept in memory: two for each column of each row group."""
MAX_STRUCT_DEPTH = 32

Shape = Mapping[int, "Shape | list[Shape] | None"]
"""The fields of a struct that matter, by their numbers: a whole number (None), a struct, or a list of structs."""

_TYPE, _LENGTH, _REPETITION, _CHILDREN, _REPEATED = 1, 2, 3, 5, 2
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 16}
"""Bytes of a value in memory by its type (boolean, int32, int64, int96, float, double, text). A value costs no byte of
the file where the one before is repeated."""
_FIXED_LENGTH = 7
_NUM_VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_AT, _DICTIONARY_AT = 5, 6, 7, 9, 11
_COLUMN: Shape = {3: dict.fromkeys((_NUM_VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_AT, _DICTIONARY_AT))}
_SCHEMA, _ROWS, _ROW_GROUPS, _COLUMNS = 2, 3, 4, 1
_FOOTER: Shape = {
    _SCHEMA: [dict.fromkeys((_TYPE, _LENGTH, _REPETITION, _CHILDREN))],
    _ROWS: None,
    _ROW_GROUPS: [{_COLUMNS: [_COLUMN], _ROWS: None}],
}
_PAGE_UNCOMPRESSED, _PAGE_COMPRESSED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_VALUES, _NULLS, _PAGE_ROWS, _LEVELS = 1, 2, 3, (5, 6)
_PAGE: Shape = {
    _PAGE_UNCOMPRESSED: None,
    _PAGE_COMPRESSED: None,
    _DATA: {_VALUES: None},
    _DICTIONARY: {_VALUES: None},
    _DATA_2: dict.fromkeys((_VALUES, _NULLS, _PAGE_ROWS, *_LEVELS)),
}


class _Leaf(NamedTuple):
    """A column."""

    is_repeated: bool
    """Whether it may hold several values a row."""
    width: int
    """Bytes of a value in memory; of a text without its characters."""


Fields = dict[int, Any]  # Any: int, Fields or list[Fields], by the shape


class _MalformedLayoutError(Exception):
    """What is wrong with the file."""


def check_parquet(path: Path) -> None:
    """Reject a file whose footer or page headers contradict each other or the file's size."""
    try:
        with open_file(path, buffered=False) as file:
            size = file.seek(0, 2)
            if size < 12:
                raise _MalformedLayoutError("the file is too short")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _check_file(data, size, str(path))
    except _MalformedLayoutError as error:
        raise UnreadableFileError(str(path), f"not a readable Parquet file: {error}") from error


def _check_file(data: mmap.mmap, size: int, where: str) -> None:
    length = int.from_bytes(data[-8:-4], "little")
    if data[:4] != MAGIC or data[-4:] != MAGIC or length > size - 12:
        raise _MalformedLayoutError("the footer is missing")
    if length > FOOTER_BYTES:
        raise InputLimitError(where, f"the footer is larger than {FOOTER_BYTES:,} bytes")
    start = size - 8 - length
    footer = _Reader(data, start, size - 8).struct(_FOOTER)
    budget = Budget().for_compressed(size)
    leaves = list(_leaves(footer.get(_SCHEMA, ())))
    groups: Sequence[Fields] = footer.get(_ROW_GROUPS, ())
    if footer.get(_ROWS, -1) != sum(group.get(_ROWS, -1) for group in groups):
        raise _MalformedLayoutError("row counts of the row groups and the footer differ")
    left = start - len(MAGIC)
    for group in groups:
        rows, columns = group.get(_ROWS, -1), group.get(_COLUMNS, ())
        if rows < 0 or len(columns) != len(leaves) or not leaves:
            raise _MalformedLayoutError("a row group lacks columns or rows")
        for column, leaf in zip(columns, leaves, strict=True):
            chunk: Fields = column.get(3, {})
            left -= chunk.get(_COMPRESSED, 0)
            values = chunk.get(_NUM_VALUES, -1)
            if left < 0 or values < rows or (values > rows and not leaf.is_repeated):
                raise _MalformedLayoutError("sizes or value counts of a column and its row group differ")
            budget.take(where, size=max(values * leaf.width, _check_pages(data, chunk, start, budget, where)))


def _leaves(schema: Sequence[Fields]) -> Iterator[_Leaf]:
    """The columns; a schema lists a tree from its root down."""
    open_groups = [[1, False]]
    for element in schema:
        if not open_groups or len(open_groups) > MAX_NESTING:
            raise _MalformedLayoutError("the schema is not a tree of columns")
        open_groups[-1][0] -= 1
        repeated = bool(open_groups[-1][1] or element.get(_REPETITION) == _REPEATED)
        children = element.get(_CHILDREN, 0)
        if children > 0:
            open_groups.append([children, repeated])
        elif children == 0 and len(open_groups) > 1:
            type_ = element.get(_TYPE, -1)
            width = element.get(_LENGTH, -1) if type_ == _FIXED_LENGTH else _WIDTHS.get(type_, -1)
            if width < 0:
                raise _MalformedLayoutError("a column has an unknown type")
            yield _Leaf(repeated, max(width, 1))
        while open_groups and open_groups[-1][0] == 0:
            open_groups.pop()
    if open_groups:
        raise _MalformedLayoutError("the schema is not a tree of columns")


def _check_pages(data: mmap.mmap, chunk: Fields, most: int, budget: Budget, where: str) -> int:
    """Check the headers of a column's pages; return how many bytes the pages are when they are decompressed."""
    at: int = chunk.get(_DICTIONARY_AT) or chunk.get(_DATA_AT, 0)
    end: int = at + chunk.get(_COMPRESSED, -1)
    if not (len(MAGIC) <= at <= end <= most or chunk.get(_COMPRESSED) == 0):
        raise _MalformedLayoutError("a column chunk extends beyond the file")
    whole = 0
    values_left, uncompressed_left = chunk[_NUM_VALUES], chunk.get(_UNCOMPRESSED, -1)
    while at < end:
        reader = _Reader(data, at, end)
        page = reader.struct(_PAGE)
        compressed, decompressed = page.get(_PAGE_COMPRESSED, -1), page.get(_PAGE_UNCOMPRESSED, -1)
        about: Fields = page.get(_DATA, {}) | page.get(_DATA_2, {})
        at, uncompressed_left, values_left = (
            reader.at + compressed,
            uncompressed_left - decompressed,
            values_left - about.get(_VALUES, 0),
        )
        inside = (compressed, decompressed, end - at, uncompressed_left, values_left, *about.values())
        if min(inside) < 0 or page.get(_DICTIONARY, {}).get(_VALUES, 0) not in range(decompressed + 1):
            raise _MalformedLayoutError("sizes or value counts of a page and its column differ")
        if sum(about.get(name, 0) for name in _LEVELS) > min(compressed, decompressed):
            raise _MalformedLayoutError("sizes of a page and its levels differ")
        whole += decompressed
        budget.expect(where, size=whole)
    if values_left:
        raise _MalformedLayoutError("a column has fewer values than it states")
    return whole


_BOOLEANS, _INTEGERS = (1, 2), (4, 5, 6)
_BYTE, _DOUBLE, _TEXT, _LIST, _SET, _MAP, _STRUCT, _UUID = 3, 7, 8, 9, 10, 11, 12, 13
_FIXED = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}


class _Reader:
    """Reads Thrift's compact protocol between two places; what a shape does not name is passed over."""

    def __init__(self, data: mmap.mmap, at: int, end: int) -> None:
        self._data, self.at, self._end, self._structs_left = data, at, end, MAX_STRUCTS

    def struct(self, shape: Shape | None, deep: int = 0) -> Fields:
        """The fields of a struct that the shape names."""
        self._structs_left -= shape is not None
        if deep > MAX_STRUCT_DEPTH or self._structs_left < 0:
            raise _MalformedLayoutError("too many columns, or structs nested too deeply")
        fields: Fields = {}
        number = 0
        while head := self._byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._integer()
            if shape is None or number not in shape:
                self._pass(kind, deep)
                continue
            inner = shape[number]
            if inner is None and kind in _INTEGERS:
                fields[number] = self._integer()
            elif isinstance(inner, list) and kind == _LIST:
                fields[number] = self._structs(inner[0], deep)
            elif isinstance(inner, Mapping) and kind == _STRUCT:
                fields[number] = self.struct(inner, deep + 1)
            else:
                raise _MalformedLayoutError("a value has the wrong type")
        return fields

    def _structs(self, shape: Shape, deep: int) -> list[Fields]:
        count, kind = self._list_head()
        if count and kind != _STRUCT:
            raise _MalformedLayoutError("a list contains values of the wrong type")
        return [self.struct(shape, deep + 1) for _ in range(count)]

    def _pass(self, kind: int, deep: int) -> None:
        if kind in _BOOLEANS:
            return
        if kind in _INTEGERS:
            self._number()
        elif kind in _FIXED:
            self._skip(_FIXED[kind])
        elif kind == _TEXT:
            self._skip(self._number())
        elif kind in (_LIST, _SET):
            count, inner = self._list_head()
            self._pass_all((inner,), count, deep)
        elif kind == _MAP:
            count = self._number()
            kinds = self._byte() if count else 0
            self._pass_all((kinds >> 4, kinds & 15), count, deep)
        elif kind == _STRUCT:
            self.struct(None, deep + 1)
        else:
            raise _MalformedLayoutError("a value has an unknown type")

    def _pass_all(self, kinds: Sequence[int], count: int, deep: int) -> None:
        if deep > MAX_STRUCT_DEPTH:
            raise _MalformedLayoutError("structs are nested too deeply")
        for _ in range(count):
            for kind in kinds:
                self._pass(_BYTE if kind in _BOOLEANS else kind, deep + 1)

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        if count > self._end - self.at:
            raise _MalformedLayoutError("a list is longer than the file")
        return count, head & 15

    def _skip(self, length: int) -> None:
        self.at += length
        if self.at > self._end:
            raise _MalformedLayoutError("a value is longer than the file")

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self.at - 1]

    def _number(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise _MalformedLayoutError("a number is too long")

    def _integer(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)


READ_ROWS = 100_000
"""How much is decompressed at once: to begin in the middle of a row group costs as much as to read it."""
BATCH_ROWS = 20_000


def parquet_frame(path: Path) -> pl.LazyFrame:
    """The file's columns, not yet read; a file that contradicts itself is rejected."""
    import polars as pl  # heavy: not needed by those who read other formats

    check_parquet(path)
    return pl.scan_parquet(path)


def parquet_batches(
    path: Path, *, check: Callable[[Sequence[str]], None] | None = None
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Some rows with the number of the first, from 1; `check` sees the columns and raises when they are no use."""
    import polars as pl  # heavy: not needed by those who read other formats

    frame = parquet_frame(path)
    try:
        columns = frame.collect_schema().names()
        if check is not None:
            check(columns)
        rows = int(frame.select(pl.len()).collect().item())
        budget = Budget().for_compressed(path.stat().st_size)
        for start in range(0, rows, READ_ROWS):
            part = frame.slice(start, READ_ROWS).collect()
            budget.take(str(path), size=_text_bytes(part))
            for offset, batch in enumerate(part.iter_slices(BATCH_ROWS)):
                yield start + offset * BATCH_ROWS + 1, batch
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a broken file can make Polars panic
        raise UnreadableFileError(str(path), f"not a readable Parquet file: {error}") from error


def check_texts(path: Path, rows: pl.DataFrame) -> None:
    """Reject a file if the texts of these of its rows are larger than what it may expand to."""
    Budget().for_compressed(path.stat().st_size).expect(str(path), size=_text_bytes(rows))


def _text_bytes(rows: pl.DataFrame) -> int:
    """Bytes of all texts, equal ones too: they share their memory in a frame, but not as records."""
    return sum(map(_text_bytes_of, rows.iter_columns()))


def _text_bytes_of(column: pl.Series) -> int:
    import polars as pl  # heavy: not needed by those who read other formats

    match column.dtype:
        case pl.String:
            return int(column.str.len_bytes().sum())
        case pl.Binary:
            return int(column.bin.size().sum())
        case pl.Categorical() | pl.Enum():
            return int(column.cast(pl.String).str.len_bytes().sum())
        case pl.List() | pl.Array():
            return _text_bytes_of(column.explode())
        case pl.Struct():
            return _text_bytes(column.struct.unnest())
    return 0


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:  # Any: cells of any type
    """Each row with its number from 1."""
    for first, batch in parquet_batches(path):
        yield from enumerate(batch.iter_rows(named=True), first)
