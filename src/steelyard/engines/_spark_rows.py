"""Rows of bytes in Spark: the interface that reading on a cluster needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from steelyard.engines._spark_session import cluster_errors, quiet_spark, settings_apart
from steelyard.tables import Row, Work

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "tag int, key long, `order` binary, value binary"
BATCH_BYTES, BATCH_ROWS = 8 << 20, 1000
"""What a worker's Python holds at once."""
MAX_TASKS = 4096


class SparkCluster:
    """Spreads a reading over the workers of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = settings_apart(session, {"spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS)})

    def rows(self, rows: Sequence[Row]) -> SparkRows:
        """These rows, each where a worker can take it up."""
        with quiet_spark():
            frame = self._session.createDataFrame(_table(rows))
            return SparkRows(frame.repartition(max(1, min(len(rows), MAX_TASKS))))


class SparkRows:
    """A frame of rows."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def mapped(self, work: Work) -> SparkRows:
        """What the workers make of the rows, each of those it holds."""
        with quiet_spark():
            return SparkRows(self._frame.mapInArrow(partial(_worked, work=work), SCHEMA))

    def by_key(self, work: Work) -> SparkRows:
        """The same where a worker holds all rows of a key, sorted by key and order."""
        return SparkRows(self._frame.repartition("key").sortWithinPartitions("key", "order")).mapped(work)

    def tagged(self, *tags: int) -> SparkRows:
        """Those with one of these tags."""
        return SparkRows(self._frame.where(self._frame["tag"].isin(*tags)))

    def moved(self, keys: Mapping[int, int]) -> SparkRows:
        """The rows with other keys, where one is given for theirs."""
        if not keys:
            return self
        import pyarrow as pa  # comes with the extra
        from pyspark.sql import functions as f

        with quiet_spark():
            pairs = pa.table({"key": pa.array(keys.keys(), pa.int64()), "other": pa.array(keys.values(), pa.int64())})
            others = self._frame.sparkSession.createDataFrame(pairs)
        joined = self._frame.join(others, "key", "left")
        return SparkRows(joined.select("tag", f.coalesce("other", "key").alias("key"), "order", "value"))

    def with_rows(self, others: SparkRows) -> SparkRows:
        """These and the others."""
        return SparkRows(self._frame.unionByName(others._frame))

    def kept(self) -> SparkRows:
        """The same rows, made once however often they are asked for; a worker that is lost makes its own again."""
        return SparkRows(self._frame.persist())

    def in_order(self) -> Iterator[Row]:
        """All rows, in their order, a partition at a time."""
        with quiet_spark(), cluster_errors():
            for tag, key, order, value in self._frame.orderBy("order").toLocalIterator():
                yield Row(tag, key, bytes(order), bytes(value))

    def dropped(self) -> None:
        """Not needed any more."""
        self._frame.unpersist()


def _worked(batches: Iterator[pa.RecordBatch], work: Work) -> Iterator[pa.RecordBatch]:
    """On a worker: batches of Arrow in and out, bounded in rows and bytes."""
    waiting: list[Row] = []
    held = 0
    for row in work(_rows(batches)):
        waiting.append(row)
        held += len(row.value)
        if held >= BATCH_BYTES or len(waiting) >= BATCH_ROWS:
            yield _table(waiting).to_batches()[0]
            waiting, held = [], 0
    if waiting:
        yield _table(waiting).to_batches()[0]


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _table(rows: Sequence[Row]) -> Any:  # Any: a table of Arrow
    import pyarrow as pa  # comes with the extra

    types = (pa.int32(), pa.int64(), pa.binary(), pa.binary())
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {name: pa.array(cells, type_) for name, cells, type_ in zip(Row._fields, columns, types, strict=True)}
    )
