"""DuckDB as an engine: facts are read from Parquet by column, and what does not fit into its memory is spilled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from steelyard.errors import MissingExtra

_SMALLEST_THREADS = 256 << 20
"""Memory that each thread of DuckDB wants before it has to give up."""


class DuckDBSource:
    """Facts in Parquet files, in a database that lives in a scratch folder."""

    def __init__(self, parts: list[Path], folder: Path, *, memory_bytes: int, threads: int | None = None) -> None:
        try:
            import duckdb  # heavy and optional
        except ImportError as error:
            raise MissingExtra("DuckDB", extra="duckdb", purpose="--engine duckdb") from error
        self._folder = folder
        self._numbers = count()
        config: dict[str, str | int] = {
            "memory_limit": f"{memory_bytes}B",
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": True,
        }
        if threads is not None:
            config["threads"] = threads
        self._connection = duckdb.connect(str(folder / "work.duckdb"), config=config)  # type: ignore[arg-type] # numbers too
        self.frame: nw.LazyFrame[Any] = self._read(parts)

    def _read(self, parts: list[Path]) -> nw.LazyFrame[Any]:
        return nw.from_native(self._connection.read_parquet([str(part) for part in parts], union_by_name=True))

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
        path = self._folder / f"added-{next(self._numbers):05}.parquet"
        frame.write_parquet(path)
        return self._read([path])

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()
