"""Findings for groups whose values differ between weighting by runs and by tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.formatting import quantity
from steelyard.metrics import RUNS, Engine, KeyCoder, catalog, constants_of
from steelyard.questions.analysis._samples import ratio_of
from steelyard.records import Finding, Missing
from steelyard.statistics import Floats, Ints, evenly_tried

if TYPE_CHECKING:
    from steelyard.questions.analysis._samples import Samples


def weights_differ(samples: Samples, metrics: Sequence[str], groups: Ints, labels: Sequence[str]) -> list[Finding]:
    """Return a finding for each group in which the weightings differ; -1 is no group."""
    inside = groups >= 0
    even = evenly_tried(groups[inside], samples.tasks[inside], size=len(labels))
    if even.all():
        return []
    both = [
        {metric: replace(samples, weight_by=weight).figures(metric, groups, len(labels)) for metric in metrics}
        for weight in ("runs", "tasks")
    ]
    return _findings(both, even, labels)


def uneven_groups(engine: Engine, metrics: Sequence[str], by: Sequence[str], labels: Sequence[str]) -> list[Finding]:
    """The same for the groups that keys make."""
    cells = engine.tally(list(dict.fromkeys([*by, "task"])), counts={})
    owners = KeyCoder(cells.lazy(), cells.height).combine(by).rows
    least, most = np.full(len(labels), np.iinfo(np.int64).max), np.zeros(len(labels), dtype=np.int64)
    np.minimum.at(least, owners, cells[RUNS].to_numpy())
    np.maximum.at(most, owners, cells[RUNS].to_numpy())
    even = np.asarray(least >= most, dtype=bool)
    if even.all():
        return []
    both = [
        {metric: _figures(engine.weighted(weight), metric, by, len(labels)) for metric in metrics}
        for weight in ("runs", "tasks")
    ]
    return _findings(both, even, labels)


def _figures(engine: Engine, metric: str, by: Sequence[str], size: int) -> Floats:
    """The metric of each group as the engine weighs it; NaN where it has no value."""
    declared = catalog()[metric]
    if not declared.is_ratio:
        figures = engine.means([metric], by)[metric]
        return np.full(size, np.nan) if isinstance(figures, Missing) else figures["mean"]
    means = engine.means(list(dict.fromkeys(declared.needs.values())), by, complete=True)
    inputs: dict[str, Floats] = {}
    for name, of in declared.needs.items():
        figures = means[of]
        if isinstance(figures, Missing):
            return np.full(size, np.nan)
        summed = declared.inputs[name].reduce == "sum" and engine.weight_by == "runs"
        inputs[name] = figures["sum" if summed else "mean"]
    return ratio_of(declared, inputs, constants_of(declared, engine.profile))


def _findings(both: Sequence[dict[str, Floats]], even: np.ndarray, labels: Sequence[str]) -> list[Finding]:
    by_runs, by_tasks = both
    metrics = list(by_runs)
    findings = []
    for place in np.flatnonzero(~even).tolist():
        texts = [text for metric in metrics if (text := _both(metric, by_runs[metric][place], by_tasks[metric][place]))]
        if texts:
            message = f"unequal number of attempts per task: {'; '.join(texts)}"
            findings.append(Finding(code="uneven_attempts", severity="info", message=message, where=labels[place]))
    return findings


def _both(metric: str, by_runs: float, by_tasks: float) -> str | None:
    """Both figures, if they are not shown alike."""
    if np.isnan(by_runs) or np.isnan(by_tasks):
        return None
    declared = catalog()[metric]
    over_runs, over_tasks = (quantity(figure, declared.unit) for figure in (by_runs, by_tasks))
    if over_runs == over_tasks:
        return None
    return f"{declared.title.lower()} is {over_runs} weighted by runs and {over_tasks} weighted by tasks"
