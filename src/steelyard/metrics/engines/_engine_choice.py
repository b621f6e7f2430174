"""Which engine a table of runs is evaluated by, and why.

`auto` holds the rows times the bytes that a row takes against the memory that is free: what takes more than half of it
goes to DuckDB. Spark is taken by name alone.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.formatting import file_size
from steelyard.metrics.engines._duckdb import DuckDBSource
from steelyard.metrics.engines._lazy import Facts, LazyEngine
from steelyard.metrics.engines._local import LocalEngine
from steelyard.metrics.engines._protocol import Engine, Source
from steelyard.metrics.engines._spark import SparkSource, is_spark, spark_session
from steelyard.option_names import option
from steelyard.profiles import Profile
from steelyard.records import Finding
from steelyard.settings import MEMORY_LIMIT, SPILL_FOLDER
from steelyard.sources import RunTable, free_bytes
from steelyard.statistics import WeightBy

ENGINES = ("auto", "local", "duckdb", "spark")
WORKING = 3
"""Memory that measuring takes, as a multiple of the table itself: values, their order, and copies of both."""
_ROWS_TRIED = 20_000
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def check_engine(engine: object) -> None:
    """Reject an unknown engine, and one whose library is not installed."""
    name = _kind(engine)
    for kind, library, shown in (("duckdb", "duckdb", "DuckDB"), ("spark", "pyspark", "PySpark")):
        if name == kind and importlib.util.find_spec(library) is None:
            raise MissingExtraError(shown, extra=kind, purpose=option("engine", kind))


def _kind(engine: object) -> str:
    """The engine that is meant: a name, the address of a cluster, or a Spark session."""
    if not isinstance(engine, str):
        if type(engine).__module__.startswith("pyspark."):
            return "spark"
        raise UsageError(f"unsupported engine of type {type(engine).__name__}", hint=option("engine", "duckdb"))
    if is_spark(engine):
        return "spark"
    if engine not in ENGINES:
        raise UnknownNameError("engine", engine, ENGINES)
    return engine


def choose_engine(table: RunTable) -> RunTable:
    """Return the table with its engine, and a note about the engine."""
    name = _kind(table.engine)
    reason = f"as requested: {_runs(table.n)}"
    if name == "auto":
        needed, free = table.n * bytes_a_row(table) * WORKING, free_bytes()
        if needed <= free // 2:
            return replace(table, engine="local")
        name = "duckdb"
        reason = f"{_runs(table.n)} need about {file_size(needed)} of memory, {file_size(free)} available"
        if importlib.util.find_spec("duckdb") is None:
            raise MissingExtraError("DuckDB", extra="duckdb", purpose=reason + ": using disk")
    if name == "local":
        return table
    if any(note.code == "engine" for note in table.notes):
        return table
    limit = f", memory limit {file_size(memory_limit())}" if name == "duckdb" else ""
    note = Finding(code="engine", severity="info", message=f"evaluated with {name}, {reason}{limit}")
    return replace(table, engine=name if table.engine == "auto" else table.engine, notes=(*table.notes, note))


def _runs(n: int) -> str:
    return "1 run" if n == 1 else f"{n:,} runs"


def bytes_a_row(table: RunTable) -> int:
    """The bytes that a row of the table takes in memory, measured on its first rows."""
    if not table.n:
        return 0
    head = table.frame.head(_ROWS_TRIED).collect()
    return int(-(-head.estimated_size() // max(head.height, 1)))


def memory_limit() -> int:
    """The memory that DuckDB may use before it spills: what is set, else half of what is free."""
    given = os.environ.get(MEMORY_LIMIT, "").strip()
    if not given:
        return max(free_bytes() // 2, 64 << 20)
    found = _SIZE.fullmatch(given)
    if found is None or found[2].upper() not in _UNITS:
        raise UsageError(f"{MEMORY_LIMIT} must be a size (got {given[:40]!r})", hint="set it to a size such as 4GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def spill_folder() -> Path | None:
    """The folder for facts and what does not fit into memory: what is set, else that for temporary files."""
    given = os.environ.get(SPILL_FOLDER, "")
    if not given:
        return None
    if not Path(given).is_dir():
        raise UsageError(
            f"{SPILL_FOLDER} must be a directory (got {given[:200]!r})", hint="create it or choose another"
        )
    return Path(given)


def engine_of(table: RunTable, profile: Profile, weight_by: WeightBy = "runs") -> Engine:
    """The engine that evaluates metrics over the table."""
    kind = _kind(table.engine)
    if kind in ("auto", "local"):
        return LocalEngine(table.frame, table.n, profile, weight_by, table.folders)
    if id(table.frame) not in table.kept:
        table.kept[id(table.frame)] = _SOURCES[kind](table), table.frame
    source = table.kept[id(table.frame)][0]
    return LazyEngine(source, table.n, profile, weight_by, table.kept.setdefault((id(table.frame), "groups"), {}))


def _duckdb(table: RunTable) -> Source:
    return DuckDBSource(Facts(table, spill_folder()), memory_bytes=memory_limit())


def _spark(table: RunTable) -> Source:
    assert is_spark(table.engine)
    return SparkSource(Facts(table, spill_folder()), spark_session(table.engine))


_SOURCES: dict[str, Callable[[RunTable], Source]] = {"duckdb": _duckdb, "spark": _spark}
