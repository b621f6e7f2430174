"""Spark engine: facts stay in the cluster, and only counts, whole sums and small results leave it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from steelyard.engines._facts import Facts
from steelyard.engines._spark_session import cluster_errors, quiet_spark, settings_apart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SENT_BYTES = 64 << 20
"""Facts up to this size are sent to the cluster; larger ones are read by its workers, which must see the folder."""
_SETTINGS = {"spark.sql.caseSensitive": "true", "spark.sql.ansi.enabled": "true"}
"""Custom fields may differ in case alone; what overflows must be an error, never another number."""


class SparkSource:
    """Facts in a session of Spark."""

    def __init__(self, facts: Facts, session: SparkSession) -> None:
        self._facts = facts  # keeps its files
        is_sent = facts.path.stat().st_size <= SENT_BYTES
        few = {"spark.sql.shuffle.partitions": "4"} if is_sent else {}
        self._session = settings_apart(session, _SETTINGS | few)
        if is_sent:
            self.frame = self.add(pl.read_parquet(facts.path))
        else:
            with quiet_spark(), cluster_errors():
                self.frame = nw.from_native(self._session.read.parquet(facts.path.resolve().as_uri()))

    frame: nw.LazyFrame[Any]  # Any: a frame of Spark, which Narwhals takes

    def collect(self, lazy: nw.LazyFrame[Any], /) -> pl.DataFrame:
        """The rows of a small result."""
        with quiet_spark(), cluster_errors():
            found = pl.from_arrow(lazy.to_native().toArrow())
        assert isinstance(found, pl.DataFrame)
        return found

    @contextmanager
    def keep(self, lazy: nw.LazyFrame[Any], /) -> Iterator[nw.LazyFrame[Any]]:
        """The frame, kept by the cluster while the block runs; what a lost worker held is made again."""
        native = lazy.to_native().persist()
        try:
            yield nw.from_native(native)
        finally:
            native.unpersist()

    def add(self, frame: pl.DataFrame, /) -> nw.LazyFrame[Any]:
        """Rows of ours, sent to the cluster."""
        whole = frame.with_columns(
            pl.col(pl.UInt8, pl.UInt16, pl.UInt32).cast(pl.Int64), pl.col(pl.UInt64).reinterpret(signed=True)
        )
        plain = whole.with_columns(pl.col(pl.Null).cast(pl.String))
        with quiet_spark(), cluster_errors():
            sent: nw.LazyFrame[Any] = nw.from_native(self._session.createDataFrame(plain.to_arrow()))
        return sent
