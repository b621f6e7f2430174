"""Grouped statistics of runs: Steelyard against pandas and against plain Python with the `statistics` module.

All three make the same numbers from the same runs in the same process: pass rate, implementation rate, cost,
duration, composite and cost of pass of each run, then median, mean, smallest most frequent value, min, max and
population standard deviation of each by agent and tier.

`file`: from a file to the numbers, every run checked and repeated ids looked for: Steelyard reads Parquet, plain Python
the same runs as CSV with the csv module. `memory`: from runs in memory, nothing checked. pandas is given its data in
memory both times and checks nothing. Plain Python measures a slice and is scaled up; what it finds must agree.

    python -m benchmarks.measure [--rows 1000000 10000000] [--quick]
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import steelyard as sy

METRICS = ("pass_rate", "impl_rate", "cost_usd", "duration_seconds", "composite_score", "cost_of_pass_per_run")
TWIN_ROWS = 100_000
BY = ("agent", "tier")
TIERS = frozenset(f"T{number}" for number in range(7))


def make_runs(rows: int, path: Path) -> None:
    """Write made-up runs of 8 agents in 7 tiers."""
    rng = np.random.default_rng(7)
    started = np.datetime64("2026-01-01T00:00:00", "us") + rng.integers(0, 10**13, rows).astype("timedelta64[us]")
    frame = pl.DataFrame(
        {
            "id": np.arange(rows),
            "task": rng.integers(0, 500, rows),
            "agent": rng.integers(0, 8, rows),
            "tier": rng.integers(0, 7, rows),
            "passed": rng.random(rows) < 0.6,
            "impl_rate": rng.integers(0, 101, rows) / 100,
            "cost_usd": np.round(rng.gamma(2.0, 0.4, rows), 4),
            "started_at": started,
            "ended_at": started + rng.integers(10**6, 10**9, rows).astype("timedelta64[us]"),
        }
    )
    named = frame.with_columns(
        pl.format("run-{}", "id").alias("id"),
        pl.format("task-{}", "task").alias("task"),
        pl.format("agent-{}", "agent").alias("agent"),
        pl.format("T{}", "tier").alias("tier"),
    )
    named.write_parquet(path, row_group_size=250_000)


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The best wall time of some repeats, and the result."""
    best, result = math.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def with_steelyard(runs: Any) -> Any:
    return sy.measure(runs, by=BY, metrics=METRICS)


def with_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.assign(pass_rate=frame["passed"].astype(float))
    frame["composite_score"] = (frame["pass_rate"] * 0.5 + frame["impl_rate"] * 0.5) / 1.0
    frame["duration_seconds"] = (frame["ended_at"] - frame["started_at"]).dt.total_seconds()
    frame["cost_of_pass_per_run"] = np.where(frame["pass_rate"] > 0, frame["cost_usd"], np.inf)
    groups = frame.groupby(list(BY), observed=True, sort=True)[list(METRICS)]
    summary = groups.agg(["median", "mean", "min", "max"])
    deviations = groups.std(ddof=0)
    for name in METRICS:
        summary[name, "std_dev"] = deviations[name]
        counts = frame.groupby([*BY, name], observed=True, sort=True).size().rename("size").reset_index()
        ordered = counts.sort_values([*BY, "size", name], ascending=[True, True, False, True], kind="stable")
        summary[name, "mode"] = ordered.drop_duplicates(list(BY)).set_index(list(BY))[name]
    return summary


def with_plain_python(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: {name: [] for name in METRICS})
    for run in rows:
        group = values[run["agent"], run["tier"]]
        pass_rate = 1.0 if run["passed"] else 0.0
        group["pass_rate"].append(pass_rate)
        group["impl_rate"].append(run["impl_rate"])
        group["cost_usd"].append(run["cost_usd"])
        group["duration_seconds"].append((run["ended_at"] - run["started_at"]).total_seconds())
        group["composite_score"].append((pass_rate * 0.5 + run["impl_rate"] * 0.5) / 1.0)
        group["cost_of_pass_per_run"].append(run["cost_usd"] / pass_rate if pass_rate else math.inf)
    return {key: {name: _plain(group[name]) for name in METRICS} for key, group in values.items()}


def plain_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The runs of a CSV file, converted and checked."""
    ids: set[str] = set()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            run: dict[str, Any] = dict(row)
            run["passed"] = {"true": True, "false": False}[row["passed"]]
            run["impl_rate"] = float(row["impl_rate"])
            run["cost_usd"] = float(row["cost_usd"])
            run["started_at"] = datetime.fromisoformat(row["started_at"])
            run["ended_at"] = datetime.fromisoformat(row["ended_at"])
            check_run(run, ids)
            yield run


def check_run(run: dict[str, Any], ids: set[str]) -> None:
    """What Steelyard checks of these runs, written plainly."""
    for name in ("id", "task", "agent", "tier"):
        if not 1 <= len(run[name]) <= 1024:
            raise ValueError(name)
    if run["tier"] not in TIERS or not 0 <= run["impl_rate"] <= 1 or not 0 <= run["cost_usd"] < math.inf:
        raise ValueError(run["id"])
    if run["ended_at"] < run["started_at"] or run["id"] in ids:
        raise ValueError(run["id"])
    ids.add(run["id"])


def _plain(values: list[float]) -> dict[str, float]:
    infinite = any(map(math.isinf, values))
    return {
        "median": statistics.median(values),
        "mean": math.inf if infinite else statistics.mean(values),
        "mode": min(statistics.multimode(values)),
        "min": min(values),
        "max": max(values),
        "std_dev": math.nan if infinite else statistics.pstdev(values),
    }


def check_agreement(path: Path) -> None:
    """The three must agree on the slice before their times are compared."""
    frame = pl.scan_parquet(path).head(TWIN_ROWS).collect()
    plain = with_plain_python(frame.to_dicts())
    panda = with_pandas(as_pandas(frame))
    with tempfile.NamedTemporaryFile(suffix=".parquet") as part:
        frame.write_parquet(part.name)
        ours = with_steelyard(Path(part.name))
    for group in ours.groups:
        key = (group.key["agent"], group.key["tier"])
        for name in METRICS:
            for statistic, expected in plain[key][name].items():
                mine = getattr(group.metrics[name], statistic)
                mine = math.nan if mine is None else mine
                theirs = panda.loc[key, (name, statistic)]
                assert _close(mine, expected), (key, name, statistic, mine, expected)
                assert math.isinf(expected) or _close(mine, theirs), (key, name, statistic, mine, theirs)


def _close(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    columns = {name: frame[name].to_numpy() for name in frame.columns if name not in ("id", "task", *BY)}
    return pd.DataFrame(columns | {name: pd.Categorical(frame[name].to_list()) for name in BY})


def peak_gib_of(path: Path) -> tuple[float, float]:
    """Wall seconds and peak memory of Steelyard alone, in a process of its own."""
    code = (
        "import json,resource,sys,time;from pathlib import Path;from benchmarks.measure import with_steelyard;"
        "t=time.perf_counter();with_steelyard(Path(sys.argv[1]));t=time.perf_counter()-t;"
        "print(json.dumps([t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, peak_kib = json.loads(done.stdout)
    return seconds, peak_kib / 2**20


def show(size: int, origin: str, ours: float, theirs: float, plain: float, peak: str) -> None:
    """One line of the table."""
    cells = (f"{size:,}", origin, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}x", f"{plain:.1f}")
    print("".join(f"{cell:>14}" for cell in (*cells, f"{plain / ours:.1f}x", peak)), flush=True)


def main() -> int:
    """Print the table of times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="200,000 rows, once")
    arguments = parser.parse_args()
    sizes = [200_000] if arguments.quick else arguments.rows
    repeats = 1 if arguments.quick else arguments.repeats
    alone: dict[int, float] = {}
    titles = ("runs", "from", "steelyard s", "pandas s", "ratio", "plain Python s", "ratio", "peak GiB")
    print("".join(f"{title:>14}" for title in titles))
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"runs-{size}.parquet"
            make_runs(size, path)
            check_agreement(path)
            part = pl.scan_parquet(path).head(TWIN_ROWS).collect()
            part.with_columns(pl.col("started_at", "ended_at").dt.to_string("iso:strict")).write_csv(
                path.with_suffix(".csv")
            )
            theirs, _ = timed(functools.partial(with_pandas, as_pandas(pl.read_parquet(path))), repeats)
            seconds, peak = peak_gib_of(path)
            alone[size] = seconds
            ours, _ = timed(lambda path=path: with_steelyard(path), repeats)
            plain, _ = timed(lambda path=path: with_plain_python(plain_rows(path.with_suffix(".csv"))), 1)
            show(size, "file", ours, theirs, plain * size / TWIN_ROWS, f"{peak:.2f}")
            ours, _ = timed(functools.partial(with_steelyard, sy.read(path)), repeats)
            plain, _ = timed(functools.partial(with_plain_python, part.to_dicts()), 1)
            show(size, "memory", ours, theirs, plain * size / TWIN_ROWS, "")
    if len(alone) > 1:
        small, large = min(alone), max(alone)
        print(f"growth from {small:,} to {large:,} runs: {alone[large] / alone[small]:.1f} times (own process)")
    print(f"plain Python: {TWIN_ROWS:,} runs measured, scaled; this process peaked at {_own_peak():.2f} GiB")
    return 0


def _own_peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    sys.exit(main())
