"""A Parquet file, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import UnreadableFileError
from steelyard.files._parquet_layout import check_parquet

if TYPE_CHECKING:
    import polars as pl

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
        for start in range(0, rows, READ_ROWS):
            part = frame.slice(start, READ_ROWS).collect()
            for offset, batch in enumerate(part.iter_slices(BATCH_ROWS)):
                yield start + offset * BATCH_ROWS + 1, batch
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a broken file can make Polars panic
        raise UnreadableFileError(str(path), f"not a readable Parquet file: {error}") from error


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:  # Any: cells of any type
    """Each row with its number from 1."""
    for first, batch in parquet_batches(path):
        yield from enumerate(batch.iter_rows(named=True), first)
