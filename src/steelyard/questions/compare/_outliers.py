"""Means dominated by outliers, where the typical run shows the opposite."""

from __future__ import annotations

import numpy as np
import polars as pl

from steelyard.formatting import quantity
from steelyard.metrics import catalog
from steelyard.questions.analysis import Difference, Mask, Samples
from steelyard.records import Finding, Missing, Place
from steelyard.sources import RunTable
from steelyard.statistics import Floats, Ints, size_word

OUTLIER_DOMINATED = "the largest runs dominate the mean; medians differ in the other direction"
NAMED_RUNS = 3
MAX_ID_LENGTH, SHORT_ID = 40, 12
"""Digests are cut: `explain` and `show` take the beginning of an id."""


def outlier_dominated_mean(
    table: RunTable, samples: Samples, found: Difference, *, rows: tuple[Mask, Mask], labels: tuple[str, str]
) -> Finding | None:
    """Return a finding if a few large runs dominate a side's mean; `rows` and `labels` are baseline and candidate."""
    declared = catalog()[found.metric]
    values = None if declared.is_ratio or declared.is_geometric else samples.known(found.metric)
    if (
        values is None
        or isinstance(values, Missing)
        or not found.value
        or found.baseline is None
        or found.candidate is None
    ):
        return None
    common = samples.attempted(rows[0]) & samples.attempted(rows[1])
    used = [np.flatnonzero(side & common[samples.tasks] & ~np.isnan(values)) for side in rows]
    medians = [float(np.median(values[side])) for side in used]
    if not _typically_opposite(found, medians):
        return None
    carried = int(found.value > 0)
    largest = _carrying(values, used[carried], float(values[used[1 - carried]].mean()))
    if not largest:
        return None
    rest = np.full(samples.n, -1)
    rest[np.setdiff1d(used[carried], largest)] = 0
    without, mean, median, other = (
        quantity(figure, declared.unit)
        for figure in (
            float(samples.figures(found.metric, rest, 1)[0]),
            (found.baseline, found.candidate)[carried],
            medians[carried],
            medians[1 - carried],
        )
    )
    names = dict(zip(largest, _names(table, samples, largest), strict=True))
    first = sorted(largest, key=lambda row: (-values[row], names[row]))[:NAMED_RUNS]
    named = [f"{quantity(float(values[row]), declared.unit)} ({names[row]})" for row in first]
    if len(largest) > NAMED_RUNS:
        named.append(f"{len(largest) - NAMED_RUNS:,} more")
    which = "the largest run" if len(largest) == 1 else f"the {len(largest):,} largest runs"
    message = f"mean {declared.title.lower()} {mean}, but {without} without {which}: {', '.join(named)}"
    message += f"; median {median} vs. {other} for {labels[1 - carried]}"
    return Finding(
        code="outlier_dominated_mean",
        message=OUTLIER_DOMINATED,
        places=(Place(where=labels[carried], message=message),),
    )


def _typically_opposite(found: Difference, medians: list[float]) -> bool:
    """Whether geometric means, or medians with a Cliff's delta of at least medium size, clearly differ the other way.

    Only an amount without an upper bound has a mean that a few runs can carry.
    """
    value, ratio, delta = found.value or 0.0, found.geometric_ratio, found.cliffs_delta
    if np.isfinite(catalog()[found.metric].bounds[1]):
        return False
    if ratio is not None and ratio.estimate is not None and ratio.excludes(1.0):
        return (ratio.estimate > 1) == (value < 0)
    if delta is None or size_word(delta) not in ("medium", "large"):
        return False
    return (medians[1] - medians[0]) * value < 0 and delta * value < 0


def _carrying(values: Floats, used: Ints, other: float) -> list[int]:
    """The fewest of the largest runs, equal ones together, without which the mean is below that of the other side."""
    ordered = used[np.argsort(-values[used], kind="stable")]
    rests = np.cumsum(values[ordered][::-1])[::-1] / np.arange(len(ordered), 0, -1)
    below = np.flatnonzero(rests[1:] < other)
    count = 1 + int(below[0]) if len(below) else min(NAMED_RUNS, len(ordered) - 1)
    if count < 1:
        return []
    carrying: list[int] = ordered[values[ordered] >= values[ordered[count - 1]]].tolist()
    return carrying


def _names(table: RunTable, samples: Samples, rows: list[int]) -> list[str]:
    """The task of each run, with its id or, where the table has none, its file and line."""
    known = set(table.frame.collect_schema().names())
    columns = [pl.col(name) if name in known else pl.lit(None).alias(name) for name in ("id", "_path", "_line")]
    chosen = table.frame.select(pl.struct(columns).gather(rows)).collect().to_series()
    return [
        ", ".join(filter(None, (samples.task_names[samples.tasks[row]], _place(**place))))
        for row, place in zip(rows, chosen, strict=True)
    ]


def _place(id: str | None, _path: str | None, _line: int | None) -> str:  # noqa: A002 # the name of the column
    if id is None:
        return f"{_path}:{_line}" if _path else ""
    return f"run {id if len(id) <= MAX_ID_LENGTH else id[:SHORT_ID]}"
