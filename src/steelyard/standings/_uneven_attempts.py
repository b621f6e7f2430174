"""Where tasks were tried unequally often, runs and tasks weigh differently: both figures are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.metrics import catalog
from steelyard.records import Finding
from steelyard.results import level_of
from steelyard.standings._samples import Samples
from steelyard.statistics import Ints, evenly_tried


def weights_differ(samples: Samples, metrics: Sequence[str], groups: Ints, labels: Sequence[str]) -> list[Finding]:
    """A finding for each group in which the two weights give other figures; -1 stands for no group."""
    inside = groups >= 0
    even = evenly_tried(groups[inside], samples.tasks[inside], size=len(labels))
    if even.all():
        return []
    by_runs, by_tasks = (
        {metric: replace(samples, weight_by=weight).figures(metric, groups, len(labels)) for metric in metrics}
        for weight in ("runs", "tasks")
    )
    findings = []
    for place in np.flatnonzero(~even).tolist():
        told = [text for metric in metrics if (text := _both(metric, by_runs[metric][place], by_tasks[metric][place]))]
        if told:
            message = f"tasks were tried unequally often: {'; '.join(told)} (--weight-by)"
            findings.append(Finding(code="uneven_attempts", severity="info", message=message, where=labels[place]))
    return findings


def _both(metric: str, by_runs: float, by_tasks: float) -> str | None:
    """Both figures, if they are not shown alike."""
    if np.isnan(by_runs) or np.isnan(by_tasks):
        return None
    declared = catalog()[metric]
    over_runs, over_tasks = (level_of(figure, declared.unit) for figure in (by_runs, by_tasks))
    if over_runs == over_tasks:
        return None
    return f"{declared.title.lower()} is {over_runs} over runs and {over_tasks} over tasks"
