"""Spark: sessions, facts of an engine that stay in the cluster, and rows of bytes for reading on a cluster.

Only counts, whole sums and small results leave the cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import narwhals as nw
import polars as pl

from steelyard.errors import MAX_ERROR_CHARS, ClusterError, MissingExtraError, SteelyardError, UsageError
from steelyard.metrics.engines._lazy import Facts
from steelyard.option_names import option
from steelyard.sources import Row, Work

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


SparkName: TypeAlias = "str | SparkSession"
"""`spark`, `spark://HOST:PORT`, `sc://HOST:PORT`, or a session."""
ADDRESSES = ("spark://", "sc://", "local[")
"""How the address of a Spark cluster begins."""


def is_spark_session(given: object) -> TypeGuard[SparkSession]:
    """Whether it is a session, of Spark itself or of Spark Connect; asked without importing pyspark."""
    kind = type(given)
    return kind.__name__ == "SparkSession" and kind.__module__.split(".")[0] == "pyspark"


def is_spark(given: object) -> TypeGuard[SparkName]:
    """Whether the name, the address or the value means Spark."""
    if isinstance(given, str):
        return given == "spark" or given.startswith(ADDRESSES)
    return is_spark_session(given)


def spark_session(given: SparkName) -> SparkSession:
    """The session; by an address, one that is opened there. `spark` alone is one that runs already, or local."""
    if not isinstance(given, str):
        return given
    with quiet_spark():
        try:
            from pyspark.errors import PySparkException  # heavy and optional
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingExtraError("pyspark", extra="spark", purpose=option("engine", given)) from error
        builder = SparkSession.builder.appName("steelyard")
        if given.startswith("sc://"):
            builder = builder.remote(given)
        else:  # a running server does not allow this option
            builder = builder.config("spark.ui.showConsoleProgress", "false")
            if given.startswith(ADDRESSES):
                builder = builder.master(given)
        try:
            session = builder.getOrCreate()
            session.range(1).count()  # a server that is not there shows only now
        except ImportError as error:
            raise MissingExtraError(str(error.name), extra="spark", purpose=option("engine", given)) from error
        except (PySparkException, OSError, RuntimeError) as error:
            raise _not_opened(given, error) from error
        return session


def _not_opened(given: str, error: Exception) -> UsageError:
    message = " ".join(str(error).split())[:MAX_ERROR_CHARS]
    hint = "check the address" if given.startswith(ADDRESSES) else "Spark needs Java 17 or newer"
    if "JAVA_GATEWAY_EXITED" in message or "JAVA_HOME" in message:
        hint = "Spark needs Java 17 or newer"
    elif "regular Spark session" in message or "CONNECT" in message.upper().split("]")[0]:
        hint = "a process can use Spark or Spark Connect, not both; check the address"
    return UsageError(f"cannot open a Spark session at {given}: {message}", hint=hint)


@contextmanager
def quiet_spark() -> Iterator[None]:
    """Without Spark's word that it has not been tried with the newest pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def settings_apart(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """The session under settings of its own, so that the user's stay as they are."""
    from pyspark.errors import PySparkNotImplementedError  # heavy and optional

    try:
        apart = session.newSession()
    except (AttributeError, PySparkNotImplementedError):  # Spark Connect of earlier versions
        return session
    for name, value in settings.items():
        apart.conf.set(name, value)
    return apart


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Raise errors of the cluster as one sentence."""
    from pyspark.errors import PySparkException  # heavy and optional

    try:
        yield
    except PySparkException as error:
        raise _failed(error) from error


def _failed(error: Exception) -> SteelyardError:
    text = str(error)
    if "No module named 'steelyard'" in text:
        return UsageError(
            "steelyard is not installed on the cluster workers", hint="install the same version on every worker"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if ": " in line and not line.startswith("at ")), text)
    return ClusterError(last)


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
            frame = self._session.createDataFrame(_arrow_table(rows))
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
            yield _arrow_table(waiting).to_batches()[0]
            waiting, held = [], 0
    if waiting:
        yield _arrow_table(waiting).to_batches()[0]


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _arrow_table(rows: Sequence[Row]) -> Any:  # Any: a table of Arrow
    import pyarrow as pa  # comes with the extra

    types = (pa.int32(), pa.int64(), pa.binary(), pa.binary())
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {name: pa.array(cells, type_) for name, cells, type_ in zip(Row._fields, columns, types, strict=True)}
    )
