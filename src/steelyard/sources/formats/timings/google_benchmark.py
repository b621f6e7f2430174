"""Google Benchmark JSON (`--benchmark_out_format=json`): a row for each repetition, and rows that sum repetitions up.

The wall time (`real_time`) counts. Each row has a unit of its own. Options that only set how long was measured
(`/repeats:3`, `/min_time:0.1`) are no part of the name, so that two sides match whatever they were measured with.
"""

from __future__ import annotations

import math
import re
from typing import Any

from steelyard.files import count, number, text_or_none
from steelyard.records import Timing, TimingStatus, TimingSummary
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    each_timing,
    environment_of,
)

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MEASURED_HOW = re.compile(r"(?:repeats|min_time|min_warmup_time|iterations):[^/]*")
_OLD_AGGREGATE = re.compile(r"(.+)_(mean|median|stddev|cv|BigO|RMS)")
"""Marks rows that sum others up in files of before 1.5, which have no `run_type`."""

Row = dict[str, Any]  # Any: JSON values


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    if not isinstance(values, dict) or not isinstance(values.get("context"), dict):
        return False
    rows = values.get("benchmarks")
    return isinstance(rows, list) and all(isinstance(row, dict) and "name" in row for row in rows)


def _read(opened: OpenedFile) -> TimingFile:
    context = opened.values["context"]
    environment = environment_of(context, ("host_name", "library_build_type"))
    suite = text_or_none(context.get("executable"))
    rows = opened.values["benchmarks"]
    names = {row["name"] for row in rows if isinstance(row["name"], str)}
    by_name: dict[str | None, dict[str, list[Row]]] = {}
    for row in rows:
        name, kind = _about(row, names)
        by_name.setdefault(name, {}).setdefault(kind, []).append(row)
    timings = each_timing(opened.path, by_name.items(), lambda item: _timing(*item, suite, environment))
    return collected(opened.path, "google-benchmark", timings)


def _about(row: Row, names: set[str]) -> tuple[str | None, str]:
    """The benchmark's name without how long it was measured, and what the row gives: `iteration`, `median`, ..."""
    name = text_or_none(row.get("run_name")) or text_or_none(row["name"])
    if name is None:
        return None, "iteration"
    kind = row.get("aggregate_name") if row.get("run_type") == "aggregate" else "iteration"
    sums_up = None if "run_type" in row else _OLD_AGGREGATE.fullmatch(name)
    if sums_up and sums_up[1] in names:
        name, kind = sums_up.groups()
    return "/".join(part for part in name.split("/") if not _MEASURED_HOW.fullmatch(part)), str(kind)


def _timing(name: str | None, rows: dict[str, list[Row]], suite: str | None, environment: str | None) -> Timing:
    if not name:
        raise ValueError("missing name")
    repetitions, medians = rows.get("iteration", []), rows.get("median", [])
    status = _status(repetitions)
    times = [] if status == "failed" else [_seconds(row) for row in repetitions if not row.get("skipped")]
    median = _seconds(medians[0]) if medians else None
    function, *params = name.split("/")
    return Timing(
        name=name,
        suite=suite,
        function=function,
        params=tuple(params),
        status="missing" if status == "ok" and not times and median is None else status,
        samples=tuple(times) or None,
        summary=TimingSummary(median=median, rounds=count(medians[0].get("repetitions"))) if medians else None,
        environment=environment,
    )


def _status(repetitions: list[Row]) -> TimingStatus:
    """A repetition that broke leaves a time of 0, so it fails the benchmark."""
    if any(row.get("error_occurred") for row in repetitions):
        return "failed"
    return "skipped" if repetitions and all(row.get("skipped") for row in repetitions) else "ok"


def _seconds(row: Row) -> float:
    unit = row.get("time_unit", "ns")
    time = number(row.get("real_time"))
    if not isinstance(unit, str) or unit not in _PER_SECOND:
        raise ValueError(f"unknown time_unit {unit!r}; supported: {', '.join(_PER_SECOND)}")
    if time is None or not math.isfinite(time):
        raise ValueError("real_time is not a number")
    return time / _PER_SECOND[unit]


FORMAT = TimingFormat(
    name="google-benchmark",
    title="Google Benchmark JSON",
    yields=("benchmarks",),
    recognizes=_recognizes,
    read=_read,
)
