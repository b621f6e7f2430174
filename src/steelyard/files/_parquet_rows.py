"""Rows of a Parquet file, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFile

BATCH_ROWS = 20_000


def parquet_rows(
    path: Path, *, check: Callable[[Sequence[str]], None] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:  # Any: cells of any type
    """Each row with its number from 1; `check` is shown the columns first and raises when they cannot be used."""
    import polars as pl  # heavy: not needed by those who read other formats

    try:
        frame = pl.scan_parquet(path)
        columns = frame.collect_schema().names()
        if check is not None:
            check(columns)
        rows = int(frame.select(pl.len()).collect().item())
        for start in range(0, rows, BATCH_ROWS):
            batch = frame.slice(start, BATCH_ROWS).collect()
            yield from enumerate(batch.iter_rows(named=True), start + 1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a broken file can make Polars panic
        raise UnreadableFile(str(path), f"not a readable Parquet file: {error}") from error
