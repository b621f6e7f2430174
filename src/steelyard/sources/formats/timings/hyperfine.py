"""hyperfine's `--export-json`. With `-i` a command that failed has times too: they are times of a failure."""

from __future__ import annotations

from typing import Any

from steelyard.files import number, text_or_none
from steelyard.records import Timing, TimingStatus, TimingSummary
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    each_timing,
    finite_numbers,
    total_seconds,
)


def _recognizes(opened: OpenedFile) -> bool:
    results = opened.values.get("results") if isinstance(opened.values, dict) else None
    return (
        isinstance(results, list)
        and bool(results)
        and all(isinstance(result, dict) and {"command", "median"} <= result.keys() for result in results)
    )


def _read(opened: OpenedFile) -> TimingFile:
    return collected(opened.path, "hyperfine", each_timing(opened.path, opened.values["results"], _timing))


def _timing(result: dict[str, Any]) -> Timing:  # Any: JSON values
    command = text_or_none(result["command"])
    if command is None:
        raise ValueError("missing command")
    parameters = result.get("parameters")
    params = tuple(f"{key}={value}" for key, value in parameters.items()) if isinstance(parameters, dict) else ()
    samples = finite_numbers(result.get("times"))
    median = number(result["median"])
    return Timing(
        name=f"{command}({', '.join(params)})" if params else command,
        function=command,
        params=params,
        status=_status(result.get("exit_codes"), measured=bool(samples) or median is not None),
        samples=samples or None,
        measured_seconds=total_seconds(samples),
        summary=TimingSummary(median=median),
    )


def _status(exit_codes: Any, *, measured: bool) -> TimingStatus:  # Any: JSON values
    if isinstance(exit_codes, list) and any(code != 0 for code in exit_codes):
        return "failed"
    return "ok" if measured else "missing"


FORMAT = TimingFormat(
    name="hyperfine", title="hyperfine JSON", yields=("benchmarks",), recognizes=_recognizes, read=_read
)
