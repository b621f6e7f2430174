"""asv result files, format 1 and 2.

In format 2 a row follows `result_columns` and drops trailing nulls, so rows are ragged. A null result is a failure, NaN
a benchmark that skipped itself. Results, samples and statistics are lists over the product of the parameters.
`benchmarks.json`, next to the file or one folder up, has units and classes. No user named that file, so one that cannot
be read is a finding, and names are the fallback.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFileError
from steelyard.files import count, number, text_or_none
from steelyard.records import SECONDS, BenchmarkPlace, Finding, Rejected, Timing, TimingStatus, TimingSummary, place_of
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    finite_numbers,
    object_beside,
)

MAX_COMBINATIONS = 1_000_000
_UNITS = (("timeraw_", SECONDS), ("time_", SECONDS), ("peakmem_", "bytes"), ("mem_", "bytes"), ("track_", "unit"))
_SUMMARY = {
    "q25": "stats_q_25",
    "q75": "stats_q_75",
    "ci99_low": "stats_ci_99_a",
    "ci99_high": "stats_ci_99_b",
    "rounds": "stats_repeat",
}


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    return isinstance(values, dict) and "commit_hash" in values and isinstance(values.get("results"), dict)


def _read(opened: OpenedFile) -> TimingFile:
    values, path = opened.values, opened.path
    version = values.get("version")
    if version not in (1, 2):
        raise UnreadableFileError(str(path), f"unknown asv result format {version!r}", hint="supported: 1 and 2")
    columns = values.get("result_columns")
    if version == 2 and not (isinstance(columns, list) and "result" in columns):
        raise UnreadableFileError(str(path), "an asv result file of format 2 needs result_columns")
    known, findings = _benchmarks_of(path)
    environment = _environment(values)

    def read_timings() -> Iterator[Timing | Rejected | Finding]:
        yield from findings
        for name in sorted(values["results"]):
            row = values["results"][name]
            cells = _row_of_2(row, columns) if version == 2 else _row_of_1(row, name, values)
            about = known.get(name)
            try:
                yield from _timings(name, cells, about if isinstance(about, dict) else {}, environment)
            except ValueError as error:
                yield Rejected(path=str(path), reason=f"benchmark {name!r}: {error}")

    return collected(path, "asv", read_timings())


def _row_of_2(row: Any, columns: list[str]) -> dict[str, Any]:  # Any: JSON values
    if row is None:
        return {}
    return dict(zip(columns, row, strict=False)) if isinstance(row, list) else {"result": _BadCell(row)}


def _row_of_1(row: Any, name: str, values: dict[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """A row of format 1 under the column names of format 2."""
    versions = values.get("benchmark_version")
    cells: dict[str, Any] = {"version": versions.get(name) if isinstance(versions, dict) else None}
    if not isinstance(row, dict):
        return cells | {"result": [row]}
    result = row.get("result")
    cells |= {"result": result if isinstance(result, list) else [result], "params": row.get("params")}
    samples = row.get("samples")
    cells["samples"] = samples if samples is None or isinstance(result, list) else [samples]
    stats = row.get("stats")
    if stats is None:
        return cells
    stats = stats if isinstance(stats, list) else [stats]
    for new, old in (("stats_q_25", "q_25"), ("stats_q_75", "q_75"), ("stats_repeat", "repeat")):
        cells[new] = [summary.get(old) if isinstance(summary, dict) else None for summary in stats]
    for new, end in (("stats_ci_99_a", 0), ("stats_ci_99_b", 1)):
        cells[new] = [_interval_end(summary, end) for summary in stats]
    return cells


def _interval_end(stats: Any, end: int) -> Any:  # Any: JSON values
    interval = stats.get("ci_99") if isinstance(stats, dict) else None
    return interval[end] if isinstance(interval, list) and len(interval) == 2 else None


class _BadCell:
    """A cell of the wrong shape; it is rejected with the benchmark's name."""

    def __init__(self, value: object) -> None:
        self.kind = type(value).__name__


def _timings(
    name: str, cells: dict[str, Any], about: dict[str, Any], environment: str | None
) -> Iterator[Timing]:  # Any: JSON values
    if not name:
        raise ValueError("missing name")
    combinations = _combinations(cells.get("params") or [])
    results = _spread(cells.get("result"), len(combinations), "result")
    samples = _spread(cells.get("samples"), len(combinations), "samples")
    stats = {key: _spread(cells.get(column), len(combinations), column) for key, column in _SUMMARY.items()}
    place = _place(name, about)
    unit = text_or_none(about.get("unit")) or _unit(place.function or name)
    for index, params in enumerate(combinations):
        result = number(results[index])
        yield Timing(
            name=f"{name}({', '.join(params)})" if params else name,
            **place._asdict(),
            params=params,
            unit=unit,
            status=_status(results[index]),
            samples=finite_numbers(samples[index]) or None,
            summary=_summary(result, {key: column[index] for key, column in stats.items()}),
            code_version=text_or_none(cells.get("version")),
            environment=environment,
        )


def _combinations(params: Any) -> list[tuple[str, ...]]:  # Any: JSON values
    if not isinstance(params, list) or not all(isinstance(values, list) for values in params):
        raise ValueError("params is not a list of lists")
    if math.prod(len(values) for values in params) > MAX_COMBINATIONS:
        raise ValueError(f"more than {MAX_COMBINATIONS} parameter combinations")
    return [tuple(str(value) for value in combination) for combination in product(*params)]


def _spread(cell: Any, size: int, what: str) -> list[Any]:  # Any: JSON values
    """The cell's value for each combination; a null cell is null for all of them."""
    if cell is None:
        return [None] * size
    if not isinstance(cell, list):
        kind = cell.kind if isinstance(cell, _BadCell) else type(cell).__name__
        raise ValueError(f"{what} is not a list (got {kind})")  # noqa: TRY004 - a fault of the file, not of a caller
    if len(cell) != size:
        raise ValueError(f"{what} has {len(cell)} values for {size} parameter combinations")
    return cell


def _status(result: Any) -> TimingStatus:  # Any: JSON values
    value = number(result)
    if value is None:
        return "failed"
    return "skipped" if math.isnan(value) else "ok"


def _summary(result: float | None, stats: dict[str, Any]) -> TimingSummary | None:  # Any: JSON values
    if result is None or math.isnan(result):
        return None
    rounds = count(stats.pop("rounds"))
    return TimingSummary(median=result, rounds=rounds, **{key: number(value) for key, value in stats.items()})


def _place(name: str, about: dict[str, Any]) -> BenchmarkPlace:  # Any: JSON values
    """The place by name, corrected by the benchmark's code where asv kept it: it shows whether there is a class."""
    code = about.get("code")
    *outer, function = name.split(".")
    if not isinstance(code, str) or not outer:
        return place_of(name)
    if re.search(rf"^class {re.escape(outer[-1])}\b|^\s*def {re.escape(function)}\(self\b", code, re.MULTILINE):
        return BenchmarkPlace(".".join(outer[:-1]) or None, outer[-1], function)
    if re.search(rf"^def {re.escape(function)}\(", code, re.MULTILINE):
        return BenchmarkPlace(".".join(outer), None, function)
    return place_of(name)


def _unit(function: str) -> str:
    return next((unit for prefix, unit in _UNITS if function.lower().startswith(prefix)), "unknown")


def _environment(values: dict[str, Any]) -> str | None:  # Any: JSON values
    params = values.get("params") if isinstance(values.get("params"), dict) else {}
    machine = text_or_none(params.get("machine")) if isinstance(params, dict) else None
    environment = text_or_none(values.get("env_name")) or text_or_none(values.get("python"))
    return "/".join(part for part in (machine, environment) if part) or None


def _benchmarks_of(path: Path) -> tuple[dict[str, Any], tuple[Finding, ...]]:  # Any: JSON values
    """Return asv's entry for each benchmark, and a finding where there is a list that cannot be read."""
    for folder in (path.parent, path.parent / ".."):
        listing = folder / "benchmarks.json"
        if listing.is_file() and listing != path:
            return object_beside(listing, fallback="units and classes are inferred from benchmark names")
    return {}, ()


FORMAT = TimingFormat(
    name="asv", title="asv result file, format 1 or 2", yields=("benchmarks",), recognizes=_recognizes, read=_read
)
