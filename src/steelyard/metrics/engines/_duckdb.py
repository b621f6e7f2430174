"""DuckDB as an engine: facts are read from Parquet by column, and what does not fit into its memory is spilled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from steelyard.errors import MissingExtraError
from steelyard.metrics.engines._lazy import Facts
from steelyard.option_names import option

THREAD_BYTES = 128 << 20
"""Memory that each thread of DuckDB should have: with less, what it sorts cannot be spilled."""


class DuckDBSource:
    """Facts in Parquet files, in a database that lives in a scratch folder."""

    def __init__(self, facts: Facts, *, memory_bytes: int) -> None:
        try:
            import duckdb  # heavy and optional
        except ImportError as error:
            raise MissingExtraError("DuckDB", extra="duckdb", purpose=option("engine", "duckdb")) from error
        self._facts = facts  # whose folder goes with it
        folder = facts.folder
        self._numbers = count()
        config: dict[str, str | int] = {
            "memory_limit": f"{memory_bytes}B",
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": True,
            "threads": max(1, min(os.cpu_count() or 1, memory_bytes // THREAD_BYTES)),
        }
        self._connection = duckdb.connect(str(folder / "work.duckdb"), config=config)  # type: ignore[arg-type] # numbers too
        self._connection.execute("SET enable_progress_bar = false")  # it is drawn on stdout, where results go
        self.frame: nw.LazyFrame[Any] = self._read(facts.path)

    def _read(self, path: Path) -> nw.LazyFrame[Any]:
        return nw.from_native(self._connection.read_parquet(str(path)))

    def collect(self, lazy: nw.LazyFrame[Any], /) -> pl.DataFrame:
        """The rows of a small result, without a detour through pyarrow."""
        return pl.DataFrame(lazy.to_native())

    @contextmanager
    def keep(self, lazy: nw.LazyFrame[Any], /) -> Iterator[nw.LazyFrame[Any]]:
        """The frame as a table of the database while the block runs."""
        name = f"kept_{next(self._numbers)}"
        lazy.to_native().create(name)
        try:
            yield nw.from_native(self._connection.table(name))
        finally:
            self._connection.execute(f"DROP TABLE {name}")

    def add(self, frame: pl.DataFrame, /) -> nw.LazyFrame[Any]:
        """Rows of ours as one more file."""
        path = self._facts.folder / f"added-{next(self._numbers):05}.parquet"
        frame.write_parquet(path)
        return self._read(path)
