"""The engines on the same file in one run, each beside what an experienced hand would write in it.

Six metrics of each run, then median, mean, most frequent value, smallest, largest and standard deviation by tier. What
stands beside an engine adds doubles in whatever order they come, checks no row and looks for no repeated id: raw Polars
beside `local`, SQL beside `duckdb` and `spark` (a local session, with `steelyard[spark]` and Java). Each is a process
of its own; CPU seconds count, those of Java too, as the machine may be busy.

`--growth` measures runs with tokens to price on DuckDB as their number grows tenfold, in files of ten million, under a
memory limit of 2 GB, with the memory of the whole process. `benchmarks.measure` is local against plain Python.

    python -m benchmarks.engines [--rows 10000000] [--engines local duckdb spark] [--growth 1000000 10000000 100000000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import METRICS, make_runs

LIMITS = {"local": 2.0, "duckdb": 2.5}
"""How many times the CPU of the hand-written way an engine may take."""
GROWTH = 11.0
FILE_ROWS = 10_000_000
BATCH_ROWS = 1_000_000

OURS = """
import steelyard as sy
measured = sy.measure({paths}, by=["tier"], metrics={metrics}, engine={engine!r})
groups = len(measured.groups)
"""

POLARS = """
import polars as pl
seconds = (pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds() / 1_000_000
passed = pl.col("passed").cast(pl.Float64)
rows = pl.scan_parquet({paths}).select(
    "tier", passed.alias("pass_rate"), "impl_rate", "cost_usd", seconds.alias("duration_seconds"),
    (0.5 * passed + 0.5 * pl.col("impl_rate")).alias("composite_score"),
    pl.when(pl.col("passed")).then("cost_usd").otherwise(float("inf")).alias("cost_of_pass_per_run"),
)
taken = []
for name in {metrics}:
    column = pl.col(name)
    taken += [column.median().alias(name + " median"), column.mean().alias(name + " mean"),
              column.mode().min().alias(name + " mode"), column.min().alias(name + " min"),
              column.max().alias(name + " max"), column.std(ddof=0).alias(name + " std")]
groups = rows.group_by("tier").agg(taken).collect().height
"""

SQL = """
import duckdb
duckdb.sql("SET enable_progress_bar = false")
taken = ", ".join(
    f"median({{name}}), avg({{name}}), mode({{name}}), min({{name}}), max({{name}}), stddev_pop({{name}})"
    if name != "cost_of_pass_per_run"  # which is infinite of failures, and SQL refuses its deviation
    else f"median({{name}}), avg({{name}}), mode({{name}}), min({{name}}), max({{name}})"
    for name in {metrics}
)
rows = '''SELECT tier, passed::DOUBLE AS pass_rate, impl_rate, cost_usd,
    epoch_us(ended_at - started_at) / 1e6 AS duration_seconds,
    0.5 * passed::DOUBLE + 0.5 * impl_rate AS composite_score,
    CASE WHEN passed THEN cost_usd ELSE 'infinity'::DOUBLE END AS cost_of_pass_per_run FROM read_parquet({paths})'''
groups = len(duckdb.sql(f"SELECT tier, {{taken}} FROM ({{rows}}) GROUP BY tier").fetchall())
"""

SPARK_SQL = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
taken = ", ".join(
    f"median({{name}}), avg({{name}}), mode({{name}}, true), min({{name}}), max({{name}}), stddev_pop({{name}})"
    for name in {metrics}
)
spark.read.parquet(*{paths}).createOrReplaceTempView("runs")
rows = '''SELECT tier, CAST(passed AS DOUBLE) AS pass_rate, impl_rate, cost_usd,
    (unix_micros(CAST(ended_at AS TIMESTAMP)) - unix_micros(CAST(started_at AS TIMESTAMP))) / 1e6 AS duration_seconds,
    0.5 * CAST(passed AS DOUBLE) + 0.5 * impl_rate AS composite_score,
    CASE WHEN passed THEN cost_usd ELSE CAST('Infinity' AS DOUBLE) END AS cost_of_pass_per_run FROM runs'''
groups = len(spark.sql(f"SELECT tier, {{taken}} FROM ({{rows}}) GROUP BY tier").collect())
"""

TOLD = """
import json, os, resource
from pathlib import Path

def used_by(process):  # of a process that is still running, such as Java, and of those it started
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    started = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(used_by, started))

held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cpu": used_by(os.getpid()), "mib": held, "groups": groups}))
"""


def run(
    code: str, paths: Sequence[Path], engine: str = "", settings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """CPU seconds and peak memory of the code in a process of its own."""
    told = [str(path) for path in paths]
    script = code.format(paths=told, metrics=list(METRICS), engine=engine) + TOLD
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ | (settings or {})
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1]) | {"wall": time.perf_counter() - start}


def make_priced_runs(rows: int, folder: Path) -> list[Path]:
    """Made-up runs of seven tiers with tokens to price and no stated cost, in files of ten million."""
    rng, paths = np.random.default_rng(11), []
    for start in range(0, rows, FILE_ROWS):
        parts = []
        for low in range(start, min(start + FILE_ROWS, rows), BATCH_ROWS):
            size = min(BATCH_ROWS, rows - low)
            part = folder / f"part-{low:012}.parquet"
            _priced_batch(rng, size, part)
            parts.append(part)
        path = folder / f"runs-{start:012}.parquet"
        pl.scan_parquet(parts).sink_parquet(path, row_group_size=BATCH_ROWS)
        for part in parts:
            part.unlink()
        paths.append(path)
    return paths


def _priced_batch(rng: np.random.Generator, size: int, path: Path) -> None:
    started = np.datetime64("2026-01-01T00:00:00", "us") + rng.integers(0, 10**13, size).astype("timedelta64[us]")
    frame = pl.DataFrame(
        {
            "task": rng.integers(0, 500, size),
            "tier": rng.integers(0, 7, size),
            "model": rng.choice(["gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5"], size),
            "passed": rng.random(size) < 0.6,
            "impl_rate": rng.integers(0, 101, size) / 100,
            "usage.input_tokens": rng.integers(1_000, 200_000, size),
            "usage.output_tokens": rng.integers(100, 20_000, size),
            "started_at": started,
            "ended_at": started + rng.integers(10**6, 10**9, size).astype("timedelta64[us]"),
        }
    )
    named = frame.with_columns(pl.format("task-{}", "task").alias("task"), pl.format("T{}", "tier").alias("tier"))
    named.write_parquet(path)


def beside_by_hand(rows: int, engines: Sequence[str]) -> bool:
    """Every engine and the hand-written way on one file; whether all keep to their limit."""
    by_hand = {"local": ("raw Polars", POLARS), "duckdb": ("plain SQL", SQL), "spark": ("Spark SQL", SPARK_SQL)}
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.parquet"
        make_runs(rows, path)
        print(f"{rows:,} runs, 7 groups, CPU seconds")
        for engine in engines:
            name, code = by_hand[engine]
            ours, hand = run(OURS, [path], engine), run(code, [path])
            times = ours["cpu"] / hand["cpu"]
            limit = LIMITS.get(engine)
            kept &= limit is None or times <= limit
            print(
                f"  {engine:8} {ours['cpu']:7.1f} s {ours['mib']:7,.0f} MiB   {name:10} {hand['cpu']:7.1f} s "
                f"{hand['mib']:7,.0f} MiB   {times:.2f} times{f' (limit {limit:g})' if limit else ''}",
                flush=True,
            )
    return kept


def growth(sizes: Sequence[int], *, folder: Path | None = None) -> bool:
    """CPU and memory of DuckDB as the runs grow; whether ten times the rows take at most eleven times the CPU."""
    print("runs with tokens to price, 7 groups, on DuckDB")
    before, kept = None, True
    for rows in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as files:
            found = run(OURS, make_priced_runs(rows, Path(files)), "duckdb", {"STEELYARD_MEMORY_LIMIT": "2GB"})
        times = None if before is None else found["cpu"] / before[1] / (rows / before[0]) * 10
        kept &= times is None or times <= GROWTH
        told = "" if times is None else f"   {times:.1f} times for 10 times the rows (limit {GROWTH:g})"
        print(f"  {rows:13,} {found['cpu']:8.1f} CPU s {found['mib']:7,.0f} MiB{told}", flush=True)
        before = rows, found["cpu"]
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--engines", nargs="*", default=list(LIMITS), choices=[*LIMITS, "spark"])
    parser.add_argument("--growth", nargs="*", type=int, default=[])
    parser.add_argument("--quick", action="store_true", help="a million runs")
    given = parser.parse_args()
    kept = beside_by_hand(1_000_000 if given.quick else given.rows, given.engines) if given.engines else True
    if given.growth:
        kept &= growth(given.growth)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
