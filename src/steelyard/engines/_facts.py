"""The facts of a table in Parquet, written once and in pieces, for engines that read files."""

from __future__ import annotations

import weakref
from pathlib import Path

import polars as pl

from steelyard.engines._lazy import ROW
from steelyard.scratch import make_scratch, remove_scratch
from steelyard.tables import RunTable


class Facts:
    """Files with one numbered row per run, removed when no longer referenced."""

    def __init__(self, table: RunTable, parent: Path | None = None) -> None:
        self.folder = make_scratch(parent)
        weakref.finalize(self, remove_scratch, self.folder)
        self.path = self.folder / "facts.parquet"
        numbered = table.frame.with_row_index(ROW).with_columns(pl.col(ROW).cast(pl.Int64), *_plain_texts(table.frame))
        numbered.sink_parquet(self.path, compression="lz4", maintain_order=True)


def _plain_texts(frame: pl.LazyFrame) -> list[pl.Expr]:
    """Names of a fixed list as texts: other engines have no such type, or give it an order of its own."""
    schema = frame.collect_schema()
    coded = [name for name, type_ in schema.items() if type_ == pl.Categorical or isinstance(type_, pl.Enum)]
    return [pl.col(name).cast(pl.String) for name in coded]
