"""Runs whose cost, tokens or calls are a lower bound: figures that they are part of are lower bounds too."""

from __future__ import annotations

import numpy as np

from steelyard.metrics import lower_bound_fact
from steelyard.questions.analysis._samples import Samples
from steelyard.sources import RunTable
from steelyard.statistics import Ints


def lower_bound_runs(table: RunTable, samples: Samples, metric: str, groups: Ints, size: int) -> list[int]:
    """Count the runs of each group whose value of the metric is a lower bound; -1 is no group."""
    fact = lower_bound_fact(metric)
    if fact is None or fact not in table.frame.collect_schema().names():
        return [0] * size
    flags = table.frame.select(fact).collect()[fact].fill_null(value=False).to_numpy()
    costs = samples.values.get("cost_usd")
    if fact == "cost_is_lower_bound" and isinstance(costs, np.ndarray):
        flags = flags & ~np.isnan(costs)
    counts = np.bincount(groups[flags & (groups >= 0)], minlength=size)
    return [int(count) for count in counts]
