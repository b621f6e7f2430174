"""Criterion.rs: `new/sample.json` below `target/criterion`, one file a benchmark; the folder is one side.

`times` are the totals of growing numbers of iterations, in nanoseconds. `benchmark.json` next to it has the name. What
is in `base/` is the previous run, which no user chose as a baseline, so it is not read.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from steelyard.files import number, text_or_none
from steelyard.records import Finding, Timing
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    each_timing,
    object_beside,
)

_PER_SECOND = 10**9


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    return isinstance(values, dict) and isinstance(values.get("iters"), list) and isinstance(values.get("times"), list)


def _read(opened: OpenedFile) -> TimingFile:
    about, findings = _about(opened.path)
    timings = each_timing(opened.path, [opened.values], lambda values: _timing(values, about, opened.path))
    return collected(opened.path, "criterion", (*findings, *timings))


def _timing(values: dict[str, Any], about: dict[str, Any], path: Path) -> Timing:  # Any: JSON values
    group, function = text_or_none(about.get("group_id")), text_or_none(about.get("function_id"))
    value = text_or_none(about.get("value_str"))
    return Timing(
        name=text_or_none(about.get("full_id")) or path.resolve().parent.parent.name,
        module=group if function else None,
        function=function or group,
        params=(value,) if value else (),
        samples=tuple(_times(values["iters"], values["times"])),
    )


def _times(iterations: list[Any], times: list[Any]) -> list[float]:  # Any: JSON values
    """Seconds of one iteration, for each sample."""
    if not times or len(iterations) != len(times):
        raise ValueError(f"{len(times)} times for {len(iterations)} iteration counts")
    seconds = []
    for made, total in zip(iterations, times, strict=True):
        many, nanoseconds = number(made), number(total)
        if many is None or nanoseconds is None or not many > 0 or not math.isfinite(nanoseconds / many):
            raise ValueError(f"{total!r} over {made!r} iterations is not a time")
        seconds.append(nanoseconds / many / _PER_SECOND)
    return seconds


def _about(path: Path) -> tuple[dict[str, Any], tuple[Finding, ...]]:  # Any: JSON values
    """Return Criterion's description of the benchmark, and a finding where that cannot be read."""
    description = path.parent / "benchmark.json"
    return (
        object_beside(description, fallback="the benchmark is named after its directory")
        if description.is_file()
        else ({}, ())
    )


FORMAT = TimingFormat(
    name="criterion",
    title="Criterion.rs directory target/criterion",
    yields=("benchmarks",),
    recognizes=_recognizes,
    read=_read,
    folder_pattern="**/new/sample.json",
)
