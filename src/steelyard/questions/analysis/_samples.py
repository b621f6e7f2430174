"""Runs as the statistics need them: for each metric one value a run, and the task of each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from steelyard.engines import complete_cases
from steelyard.metrics import Metric, catalog, constants_of
from steelyard.profiles import Profile
from steelyard.records import Missing
from steelyard.statistics import Floats, Ints, WeightBy, exact_means, exact_totals, weighted_means

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TaskMeans:
    """One row a task: the mean over its attempts, in an order that does not depend on the order of runs."""

    mean: Floats
    """Mean of the known values; NaN where a task has none."""
    known: Ints
    """Attempts with a value."""
    missing: Ints
    """Attempts without one."""

    @property
    def usable(self) -> Mask:
        """Tasks that have a value."""
        return self.known > 0

    def weighted(self, weight_by: WeightBy) -> Floats:
        """What each task adds to a mean, to be divided by what `weights` has."""
        return self.mean * self.weights(weight_by)

    def weights(self, weight_by: WeightBy) -> Floats:
        """How much each task counts."""
        return self.known.astype(float) if weight_by == "runs" else np.ones(len(self.known))


@dataclass(frozen=True, slots=True)
class Samples:
    """The runs of one input."""

    task_names: tuple[str, ...]
    """The tasks, sorted by name."""
    tasks: Ints
    """Which of them each run attempted."""
    values: Mapping[str, Floats | Missing]
    """For each metric a value a run, NaN where it is missing; Missing where no run can have one. A ratio of means has
    its two halves and its inputs instead, in the runs that have all of them."""
    profile: Profile
    """Whose constants formulas take."""
    weight_by: WeightBy = "tasks"
    """Unit of analysis of means."""
    moved: frozenset[str] = frozenset()
    """Metrics that were multiplied, whose values are no longer what the metric declares."""

    @property
    def n(self) -> int:
        """Total number of runs."""
        return len(self.tasks)

    def known(self, metric: str) -> Floats | Missing:
        """The metric's values, or why there are none."""
        return self.values[metric]

    def attempted(self, rows: Mask) -> Mask:
        """The tasks that these runs attempted."""
        return np.bincount(self.tasks[rows], minlength=len(self.task_names)) > 0

    def by_task(self, metric: str, rows: Mask) -> TaskMeans:
        """Task means of these runs."""
        return self.by_group(metric, np.where(rows, 0, -1), 1)[0]

    def by_group(self, metric: str, groups: Ints, size: int) -> list[TaskMeans]:
        """Return task means of each group of runs; -1 is no group."""
        column, tasks = self.values[metric], len(self.task_names)
        inside = groups >= 0
        cells = (groups * tasks + self.tasks)[inside]
        space = size * tasks
        values = np.full(len(cells), np.nan) if isinstance(column, Missing) else column[inside]
        known = ~np.isnan(values)
        counts = np.bincount(cells[known], minlength=space)
        missing = np.bincount(cells[~known], minlength=space)
        mean = exact_means(values[known], cells[known], space)
        return [
            TaskMeans(mean[part], counts[part].astype(np.int64), missing[part].astype(np.int64))
            for part in (slice(group * tasks, (group + 1) * tasks) for group in range(size))
        ]

    def figures(self, metric: str, groups: Ints, size: int) -> Floats:
        """The metric over the runs of each group, as it is weighted; NaN where it has no value. -1 is no group.

        A ratio of means is what its formula makes of the weighted means of its inputs.
        """
        declared = catalog()[metric]
        inside = groups >= 0

        def reduced(name: str, how: str = "mean") -> Floats:
            column = self.values[name]
            if isinstance(column, Missing):
                return np.full(size, np.nan)
            values, codes, tasks = column[inside], groups[inside], self.tasks[inside]
            if how == "sum" and self.weight_by == "runs":
                known = ~np.isnan(values)
                filled = np.bincount(codes[known], minlength=size) > 0
                return np.where(filled, exact_totals(values[known], codes[known], size), np.nan)
            return weighted_means(values, codes, tasks, size=size, weight_by=self.weight_by)

        if not declared.is_ratio:
            return reduced(metric)
        if metric in self.moved:
            above, below = (reduced(name) for name in half_names(metric))
            return np.asarray(np.divide(above, below, out=np.full(size, np.inf), where=below != 0), dtype=float)
        inputs = {name: reduced(f"{metric} {name}", spec.reduce or "mean") for name, spec in declared.inputs.items()}
        constants = constants_of(declared, self.profile)
        return ratio_of(declared, inputs, constants)

    def scaled(self, metric: str, factor: float, rows: Mask) -> Samples:
        """The same runs with one metric of some of them multiplied."""
        name = half_names(metric)[0] if catalog()[metric].is_ratio else metric
        column = self.values[name]
        if isinstance(column, Missing):
            return self
        values = {**self.values, name: np.where(rows, column * factor, column)}
        return replace(self, values=values, moved=self.moved | {metric})

    def binary(self, metric: str) -> bool:
        """Whether a run's value is 0 or 1, as the metric declares."""
        return catalog()[metric].binary and metric not in self.moved


def ratio_of(declared: Metric, inputs: Mapping[str, Floats], constants: Mapping[str, float]) -> Floats:
    """What the formula of a ratio of means makes of the figures of each group; NaN where it has no value."""
    rows = zip(*(column.tolist() for column in inputs.values()), strict=True)
    return np.array([_ratio(declared, dict(zip(inputs, row, strict=True)), constants) for row in rows])


def _ratio(declared: Metric, means: Mapping[str, float], constants: Mapping[str, float]) -> float:
    if any(np.isnan(mean) for mean in means.values()):
        return np.nan
    value = declared(**means, **constants)
    return np.nan if isinstance(value, Missing) else value


def half_names(metric: str) -> tuple[str, str]:
    """Return the sample names of the numerator and denominator of a ratio of means."""
    return f"{metric} above", f"{metric} below"


def ratio_columns(
    declared: Metric, columns: Mapping[str, Floats | Missing], profile: Profile
) -> dict[str, Floats | Missing]:
    """The halves and the inputs of a ratio of means, by the names that samples hold them under."""
    above, below = half_names(declared.name)
    inputs = complete_inputs(declared, columns)
    names = [f"{declared.name} {name}" for name in declared.inputs]
    if isinstance(inputs, Missing):
        return dict.fromkeys([above, below, *names], inputs)
    halves = _halves(declared, inputs, profile)
    return {above: halves[0], below: halves[1], **dict(zip(names, inputs.values(), strict=True))}


def complete_halves(
    declared: Metric, columns: Mapping[str, Floats | Missing], profile: Profile
) -> tuple[Floats, Floats] | Missing:
    """Return the numerator and denominator of a ratio of means; NaN in runs with missing inputs."""
    inputs = complete_inputs(declared, columns)
    return inputs if isinstance(inputs, Missing) else _halves(declared, inputs, profile)


def complete_inputs(declared: Metric, columns: Mapping[str, Floats | Missing]) -> dict[str, Floats] | Missing:
    """The inputs in the complete cases: the runs that have all of them."""
    inputs: dict[str, Floats] = {}
    for name, of in declared.needs.items():
        column = columns[of]
        if isinstance(column, Missing):
            return column
        inputs[name] = column
    complete = complete_cases(inputs)
    return {name: np.where(complete, column, np.nan) for name, column in inputs.items()}


def _halves(declared: Metric, inputs: Mapping[str, Floats], profile: Profile) -> tuple[Floats, Floats]:
    above, below = declared.halves(inputs, constants_of(declared, profile))
    unknown = np.isnan(next(iter(inputs.values())))
    return np.where(unknown, np.nan, above), np.where(unknown, np.nan, below)


def joined(first: Samples, second: Samples) -> tuple[Samples, Mask]:
    """Both inputs as one, and which of its runs come from the second; tasks are the same when their names are."""
    names = tuple(sorted({*first.task_names, *second.task_names}))
    place = {name: index for index, name in enumerate(names)}
    tasks = [
        np.array([place[name] for name in samples.task_names], dtype=np.int64)[samples.tasks]
        for samples in (first, second)
    ]
    values: dict[str, Floats | Missing] = {}
    for metric, column in first.values.items():
        other = second.values[metric]
        parts = [
            np.full(samples.n, np.nan) if isinstance(part, Missing) else part
            for samples, part in ((first, column), (second, other))
        ]
        missing = next((part for part in (column, other) if isinstance(part, Missing)), None)
        values[metric] = missing if missing is not None else np.concatenate(parts)
    both = replace(first, task_names=names, tasks=np.concatenate(tasks), values=values)
    return both, np.repeat([False, True], [first.n, second.n])
