"""pyperf JSON, plain or gzip: runs are processes, and the values of one process belong together."""

from __future__ import annotations

import math
from typing import Any

from steelyard.files import count, text_or_none
from steelyard.records import SECONDS, Timing, place_of
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    each_timing,
    environment_of,
    finite_numbers,
    total_seconds,
)

_UNITS = {"second": SECONDS, "byte": "bytes", "integer": "unit"}
_ENVIRONMENT = ("hostname", "python_implementation", "python_version", "cpu_model_name")


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    if not isinstance(values, dict) or not isinstance(values.get("benchmarks"), list) or "machine_info" in values:
        return False
    return (
        all(isinstance(benchmark, dict) and "runs" in benchmark for benchmark in values["benchmarks"])
        and "version" in values
    )


def _read(opened: OpenedFile) -> TimingFile:
    values, path = opened.values, opened.path
    common = _table(values.get("metadata"))
    timings = each_timing(path, values["benchmarks"], lambda benchmark: _timing(benchmark, common))
    return collected(path, "pyperf", timings)


def _timing(benchmark: dict[str, Any], common: dict[str, Any]) -> Timing:  # Any: JSON values
    runs = benchmark["runs"]
    if not isinstance(runs, list):
        raise ValueError("runs is not a list")  # noqa: TRY004 - a fault of the file, not of a caller
    metadata = common | _run_metadata(runs) | _table(benchmark.get("metadata"))
    name = text_or_none(metadata.get("name"))
    if name is None:
        raise ValueError("missing name")
    processes = [_values(run) for run in runs]
    processes = [values for values in processes if values]
    samples = tuple(value for values in processes for value in values)
    return Timing(
        name=name,
        **place_of(name)._asdict(),
        unit=_UNITS.get(str(metadata.get("unit", "second")), str(metadata.get("unit"))),
        status="ok" if samples else "missing",
        samples=samples or None,
        measured_seconds=_measured_seconds(runs, metadata) if samples else None,
        process_sizes=tuple(len(values) for values in processes) if samples else None,
        environment=environment_of(metadata, _ENVIRONMENT),
    )


def _measured_seconds(runs: list[Any], metadata: dict[str, Any]) -> float | None:  # Any: JSON values
    """Return the time of all loops, warm-ups and calibration included; None if the number of loops is unknown."""
    total = 0.0
    for run in filter(None, map(_table, runs)):
        own = metadata | _table(run.get("metadata"))
        values, loops, inner = _values(run), count(own.get("loops")), count(own.get("inner_loops", 1)) or 1
        if values and loops is None:
            return None
        total += (total_seconds(values, times=(loops or 0) * inner)) or 0.0
        warmups = [finite_numbers(warmup) for warmup in run.get("warmups") or () if isinstance(warmup, list)]
        total += total_seconds([warmup[0] * warmup[1] * inner for warmup in warmups if len(warmup) == 2]) or 0.0
    return total if math.isfinite(total) else None


def _run_metadata(runs: list[Any]) -> dict[str, Any]:  # Any: JSON values
    """Return the first run's own metadata: pyperf keeps at the top only what all runs share."""
    return _table(runs[0].get("metadata")) if runs and isinstance(runs[0], dict) else {}


def _values(run: Any) -> tuple[float, ...]:  # Any: JSON values
    """Measured values of one process; a calibration run has none."""
    return finite_numbers(run.get("values")) if isinstance(run, dict) else ()


def _table(value: Any) -> dict[str, Any]:  # Any: JSON values
    return value if isinstance(value, dict) else {}


FORMAT = TimingFormat(
    name="pyperf", title="pyperf JSON, plain or gzip", yields=("benchmarks",), recognizes=_recognizes, read=_read
)
