"""Runs as samples: one value per run and metric, the task of each run, and the choice of runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.errors import InputError, UnknownValueError, UsageError
from steelyard.formatting import counted
from steelyard.metrics import GEOMETRIC, Key, Metric, catalog, complete_cases, constants_of, engine_of
from steelyard.option_names import option as mention
from steelyard.profiles import UNSCORED_FAILS, Profile
from steelyard.questions.analysis._intervals import TOO_LARGE, group_intervals, ratio_interval, why_no_estimate
from steelyard.records import Missing, Selection, conditions_of, is_storable
from steelyard.sources import RunTable
from steelyard.statistics import Floats, Interval, Ints, WeightBy, exact_means, exact_totals, weighted_means

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
    its two parts and its inputs instead, in the runs that have all of them."""
    profile: Profile
    """Whose constants formulas take."""
    weight_by: WeightBy = "tasks"
    """Unit of analysis of means."""
    clusters: Mapping[str, str] | None = None
    """Cluster of each task by its name; None if tasks are independent."""
    are_clusters_units: bool = False
    """Whether the user chose clusters as the unit of analysis; otherwise they only confirm claims."""
    completed: Floats | None = None
    """When each run ended, in seconds; None unless a sequential test needs it."""
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
        """Return task means of each group of runs, of a geometric mean those of logarithms; -1 is no group."""
        column, tasks = self.values[metric], len(self.task_names)
        inside = groups >= 0
        cells = (groups * tasks + self.tasks)[inside]
        space = size * tasks
        values = np.full(len(cells), np.nan) if isinstance(column, Missing) else column[inside]
        if metric.endswith(GEOMETRIC):
            values = logarithms(values)
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

        if declared.is_geometric:
            return self._geometric_means(metric, groups, size)
        if not declared.is_ratio:
            return reduced(metric)
        if metric in self.moved:
            above, below = (reduced(name) for name in ratio_part_names(metric))
            return np.asarray(np.divide(above, below, out=np.full(size, np.inf), where=below != 0), dtype=float)
        inputs = {name: reduced(f"{metric} {name}", spec.reduce or "mean") for name, spec in declared.inputs.items()}
        constants = constants_of(declared, self.profile)
        return ratio_of(declared, inputs, constants)

    def _geometric_means(self, metric: str, groups: Ints, size: int) -> Floats:
        """Return the geometric mean of each group; NaN where a value is 0."""
        column, inside = self.values[metric], groups >= 0
        if isinstance(column, Missing):
            return np.full(size, np.nan)
        values, codes = column[inside], groups[inside]
        means = weighted_means(logarithms(values), codes, self.tasks[inside], size=size, weight_by=self.weight_by)
        zeros = np.bincount(codes[values <= 0], minlength=size) > 0
        return np.where(zeros, np.nan, np.exp(means))

    def scaled(self, metric: str, factor: float, rows: Mask) -> Samples:
        """The same runs with one metric of some of them multiplied."""
        name = ratio_part_names(metric)[0] if catalog()[metric].is_ratio else metric
        column = self.values[name]
        if isinstance(column, Missing):
            return self
        values = {**self.values, name: np.where(rows, column * factor, column)}
        return replace(self, values=values, moved=self.moved | {metric})

    def binary(self, metric: str) -> bool:
        """Whether a run's value is 0 or 1, as the metric declares."""
        return catalog()[metric].binary and metric not in self.moved


def logarithms(values: Floats) -> Floats:
    """Return natural logarithms; NaN where a value is not positive."""
    return np.asarray(np.log(np.where(values > 0, values, np.nan)), dtype=float)


def why_no_logarithm(values: Floats) -> str | None:
    """Return the reason if the values have no geometric mean."""
    zeros = int(np.count_nonzero(values <= 0))
    return f"no geometric mean, because {counted(zeros, 'run')} had a value of 0 or less" if zeros else None


def ratio_of(declared: Metric, inputs: Mapping[str, Floats], constants: Mapping[str, float]) -> Floats:
    """What the formula of a ratio of means makes of the figures of each group; NaN where it has no value."""
    rows = zip(*(column.tolist() for column in inputs.values()), strict=True)
    return np.array([_ratio(declared, dict(zip(inputs, row, strict=True)), constants) for row in rows])


def _ratio(declared: Metric, means: Mapping[str, float], constants: Mapping[str, float]) -> float:
    if any(np.isnan(mean) for mean in means.values()):
        return np.nan
    value = declared(**means, **constants)
    return np.nan if isinstance(value, Missing) else value


def ratio_part_names(metric: str) -> tuple[str, str]:
    """Return the sample names of the numerator and denominator of a ratio of means."""
    return f"{metric} above", f"{metric} below"


def ratio_columns(
    declared: Metric, columns: Mapping[str, Floats | Missing], profile: Profile
) -> dict[str, Floats | Missing]:
    """The parts and the inputs of a ratio of means, by the names that samples hold them under."""
    above, below = ratio_part_names(declared.name)
    inputs = complete_inputs(declared, columns)
    names = [f"{declared.name} {name}" for name in declared.inputs]
    if isinstance(inputs, Missing):
        return dict.fromkeys([above, below, *names], inputs)
    ratio_parts = _ratio_parts(declared, inputs, profile)
    return {above: ratio_parts[0], below: ratio_parts[1], **dict(zip(names, inputs.values(), strict=True))}


def complete_ratio_parts(
    declared: Metric, columns: Mapping[str, Floats | Missing], profile: Profile
) -> tuple[Floats, Floats] | Missing:
    """Return the numerator and denominator of a ratio of means; NaN in runs with missing inputs."""
    inputs = complete_inputs(declared, columns)
    return inputs if isinstance(inputs, Missing) else _ratio_parts(declared, inputs, profile)


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


def _ratio_parts(declared: Metric, inputs: Mapping[str, Floats], profile: Profile) -> tuple[Floats, Floats]:
    above, below = declared.ratio_parts(inputs, constants_of(declared, profile))
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
    clusters = None
    if first.clusters is not None and second.clusters is not None:
        clusters = {**first.clusters, **second.clusters}
        for name in sorted({*first.clusters} & {*second.clusters}):
            if first.clusters[name] != second.clusters[name]:
                raise _two_clusters(name, [first.clusters[name], second.clusters[name]])
    both = replace(first, task_names=names, tasks=np.concatenate(tasks), values=values, clusters=clusters)
    return both, np.repeat([False, True], [first.n, second.n])


Filter = Mapping[str, str]


def comparable(metrics: Sequence[str], *, geometric: bool = False) -> list[str]:
    """Return the metrics without duplicates; raise if one is neither per run nor a ratio of means."""
    metrics = [catalog().named(name, geometric=geometric) for name in metrics]
    for name in metrics:
        declared = catalog()[name]
        if declared.is_estimate:
            continue
        twin = f"{name}_per_run"
        hint = f"use {twin}" if twin in catalog() else "use a per-run metric or a ratio of means"
        reason = f"cannot be compared: {why_no_estimate(declared)}"
        if declared.level == "tasks":
            reason = "is a single value over all tasks; only speedup computes it"
            hint = "use a per-attempt metric: task_speedup, agent_advantage, accuracy"
        elif declared.level != "group":
            reason = "is not a per-run metric"
        raise UsageError(f"{name} {reason}", hint=hint)
    return list(dict.fromkeys(metrics))


def samples_of(
    table: RunTable, metrics: Sequence[str], *, profile: Profile, weight_by: WeightBy = "tasks", any_size: bool = False
) -> Samples:
    """Return the metrics of every run with its task; raise if values are too large, unless `any_size`."""
    engine = engine_of(table, profile)
    tasks = engine.codes(["task"])
    ratios = [declared for name in metrics if (declared := catalog()[name]).is_ratio]
    plain = [name for name in metrics if not catalog()[name].is_ratio]
    needed = dict.fromkeys([*plain, *(name for declared in ratios for name in declared.needs.values())])
    columns = {
        name: column if isinstance(column, Missing) or any_size else _computable(name, column)
        for name, column in engine.values(list(needed)).items()
    }
    values = {name: columns[name] for name in plain}
    for declared in ratios:
        values |= ratio_columns(declared, columns, profile)
    names = tasks.keys()
    return Samples(tuple(str(name) for (name,) in names), tasks.rows.astype(np.int64), values, profile, weight_by)


_INSTANCE = re.compile(r"(?P<cluster>.+__.+)-\d+")
"""A SWE-bench instance id such as `django__django-11099`: repository and number."""


def with_clusters(samples: Samples, table: RunTable, key: str | None) -> Samples:
    """Return the samples with the cluster of each task: the values of a field, or the repository in the task id.

    Without a field, only if every task is a SWE-bench instance; `none` treats tasks as independent.
    """
    if key == "none":
        return samples
    if key is None:
        matches = [_INSTANCE.fullmatch(name) for name in samples.task_names]
        if not matches or not all(matches):
            return samples
        found = {match.string: match["cluster"] for match in matches if match is not None}
        return replace(samples, clusters=found)
    if key not in table.frame.collect_schema().names():
        raise UsageError(f"no run has the field {key!r}", where=mention("cluster"))
    values = _texts(table, key).to_list()
    clusters: dict[str, str] = {}
    for task, value in zip(samples.tasks.tolist(), values, strict=True):
        name = samples.task_names[task]
        if value is None:
            message = f"task {name!r} has no value of {key}"
            raise UsageError(message, where=mention("cluster"), hint=f"{mention('cluster', 'none')} ignores clusters")
        if clusters.setdefault(name, value) != value:
            raise _two_clusters(name, [clusters[name], value])
    return replace(samples, clusters=clusters, are_clusters_units=True)


def with_completion(samples: Samples, table: RunTable, rows: Mask) -> Samples:
    """Return the samples with the time at which each run ended, or started if its end is unknown."""
    columns = [name for name in ("end_time", "start_time") if name in table.frame.collect_schema().names()]
    times = np.full(table.n, np.nan)
    if columns:
        found = table.frame.select(pl.coalesce(columns).cast(pl.Float64).alias("time")).collect()["time"]
        times = found.to_numpy().astype(float)
    unknown = int(np.count_nonzero(np.isnan(times) & rows))
    if unknown:
        raise UsageError(
            f"a sequential test needs the order of completion, and {unknown:,} of {counted(int(rows.sum()), 'run')} "
            "have neither started_at nor ended_at",
            where=mention("sequential"),
        )
    return replace(samples, completed=times)


def _two_clusters(task: str, clusters: Sequence[str]) -> UsageError:
    first, second = sorted(clusters)
    hint = "choose a field that has one value per task"
    return UsageError(
        f"task {task!r} is in two clusters: {first!r} and {second!r}", where=mention("cluster"), hint=hint
    )


def counted_otherwise(table: RunTable, samples: Samples, metrics: Sequence[str]) -> Samples | None:
    """The same with runs without a verdict counted the other way; None where that changes nothing."""
    excluding = samples.profile.with_constant(UNSCORED_FAILS, 0)
    verdicts = engine_of(table, excluding).means(["pass_rate"], [])["pass_rate"]
    if not isinstance(verdicts, Missing) and int(verdicts["count"].sum()) == table.n:
        return None
    otherwise = 0 if samples.profile.unscored == "fail" else 1
    profile = samples.profile.with_constant(UNSCORED_FAILS, otherwise)
    other = replace(
        samples_of(table, metrics, profile=profile, weight_by=samples.weight_by),
        clusters=samples.clusters,
        are_clusters_units=samples.are_clusters_units,
    )
    return None if all(_same_values(other.values[name], column) for name, column in samples.values.items()) else other


def _same_values(a: Floats | Missing, b: Floats | Missing) -> bool:
    if isinstance(a, Missing) or isinstance(b, Missing):
        return isinstance(a, Missing) and isinstance(b, Missing)
    return np.array_equal(a, b, equal_nan=True)


def _computable(metric: str, values: Floats) -> Floats:
    """Return the values with tiny ones set to 0; raise if one is too large."""
    size = np.abs(values)
    large = int(np.count_nonzero(np.isfinite(values) & (size > TOO_LARGE)))
    if large:
        message = (
            f"{metric} is above {TOO_LARGE:g} in {large:,} run{'s' if large != 1 else ''}: too large to compute with"
        )
        raise InputError(message, hint="correct or remove those records")
    return np.where(size < 1 / TOO_LARGE, 0.0, values)


def read_filter(given: Selection, *, option: str) -> dict[str, str]:
    """Parse a filter such as `agent=X,model=Y`, or a mapping; values may contain commas.

    >>> read_filter("agent=X, model=Y", option="baseline")
    {'agent': 'X', 'model': 'Y'}
    >>> read_filter("agent=Smith, John,model=Y", option="baseline")
    {'agent': 'Smith, John', 'model': 'Y'}
    """
    conditions = conditions_of(given, option=option)
    for condition in conditions:
        if not condition.equal:
            message = f"{mention(option)} selects one configuration; != is not supported ({condition.key})"
            raise UsageError(
                message, hint=f"{mention(option, f'{condition.key}=NAME')}; exclude runs with {mention('where')}"
            )
    return {condition.key: condition.value for condition in conditions}


def chosen_rows(table: RunTable, chosen: Filter, *, where: str) -> Mask:
    """Return the mask of runs with these values; an unknown value raises an error with the nearest."""
    rows = np.ones(table.n, dtype=bool)
    names = table.frame.collect_schema().names()
    for key, value in chosen.items():
        texts = _texts(table, key) if key in names else pl.Series(key, [], dtype=pl.String)
        same = (texts == value).fill_null(value=False).to_numpy() if is_storable(value) else None
        if same is None or not same.any():
            raise UnknownValueError(key, value, texts.drop_nulls().unique().sort().to_list(), where=where)
        rows &= same
    if not rows.any():
        asked = ", ".join(f"{key} {value}" for key, value in chosen.items())
        raise UsageError(f"no run matches {asked}", where=where)
    return rows


def _texts(table: RunTable, key: str) -> pl.Series:
    return table.frame.select(pl.col(key).cast(pl.String)).collect().to_series()


def groups_of(table: RunTable, by: Sequence[str], *, profile: Profile) -> tuple[list[Key], np.ndarray]:
    """The groups' keys in order, and the group of each run."""
    combinations = engine_of(table, profile).codes(by)
    return combinations.keys(), combinations.rows.astype(np.int64)


def pooled(table: RunTable, rows: Mask, chosen: Filter) -> str | None:
    """What else differs among the chosen runs, as a phrase; None when they are of one configuration."""
    mixed = []
    names = table.frame.collect_schema().names()
    for key in ("agent", "model", "tier", "experiment"):
        if key in chosen or key not in names:
            continue
        values = _texts(table, key).filter(pl.Series(rows)).n_unique()
        if values > 1:
            mixed.append(f"{values} {key}s")
    return " and ".join(mixed) or None


def scores_of(
    samples: Samples, groups: Ints, metric: str, figures: Floats, *, level: float, method: str = "auto"
) -> list[Interval]:
    """Each competitor's figure with its interval; `groups` has -1 for runs that do not count.

    The interval of a geometric mean is one of logarithms.
    """
    declared, rows, size = catalog()[metric], groups >= 0, len(figures)
    if not declared.is_ratio:
        values = samples.known(metric)
        assert not isinstance(values, Missing)
        if declared.is_geometric:
            declared, values = replace(declared, bounds=(-math.inf, math.inf)), logarithms(values)
        return group_intervals(
            declared,
            values[rows],
            groups=groups[rows],
            tasks=samples.tasks[rows],
            size=size,
            weight_by=samples.weight_by,
            method=method,
            level=level,
        )["mean"]
    above, below = (samples.known(name) for name in ratio_part_names(metric))
    assert not isinstance(above, Missing)
    assert not isinstance(below, Missing)
    intervals = []
    for place in range(size):
        own = groups == place
        ratio_parts, tasks, figure = (above[own], below[own]), samples.tasks[own], float(figures[place])
        interval = ratio_interval(
            declared, ratio_parts, tasks, figure, weight_by=samples.weight_by, method=method, level=level
        )
        assert interval is not None  # callers ask for methods that are for ratios too
        intervals.append(interval)
    return intervals
