"""From a table of runs to what the statistics take, and the choice of runs by `key=value`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from steelyard.engines import Key, engine_of
from steelyard.errors import InputError, UnknownValueError, UsageError
from steelyard.metrics import catalog
from steelyard.option_names import option as mention
from steelyard.profiles import UNSCORED_FAILS, Profile
from steelyard.questions.analysis._choosing_intervals import TOO_LARGE, why_no_estimate
from steelyard.questions.analysis._samples import Mask, Samples, ratio_columns
from steelyard.records import Chosen, Missing, conditions_of, is_storable
from steelyard.statistics import Floats, WeightBy
from steelyard.tables import RunTable

Filter = Mapping[str, str]


def comparable(metrics: Sequence[str]) -> list[str]:
    """Return the metrics without duplicates; raise if one is neither per run nor a ratio of means."""
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


def counted_otherwise(table: RunTable, samples: Samples, metrics: Sequence[str]) -> Samples | None:
    """The same with runs without a verdict counted the other way; None where that changes nothing."""
    excluding = samples.profile.with_constant(UNSCORED_FAILS, 0)
    verdicts = engine_of(table, excluding).means(["pass_rate"], [])["pass_rate"]
    if not isinstance(verdicts, Missing) and int(verdicts["count"].sum()) == table.n:
        return None
    otherwise = 0 if samples.profile.unscored == "fail" else 1
    profile = samples.profile.with_constant(UNSCORED_FAILS, otherwise)
    other = samples_of(table, metrics, profile=profile, weight_by=samples.weight_by)
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


def read_filter(given: Chosen, *, option: str) -> dict[str, str]:
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
