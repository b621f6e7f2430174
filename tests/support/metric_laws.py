"""Laws of every metric, ours or a plug-in's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import msgspec
import narwhals as nw
import polars as pl
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.metrics import Metric, catalog, evaluate
from steelyard.metrics._declare import REDUCERS
from steelyard.profiles import load_profile
from steelyard.questions.measure import GroupValue, measure
from steelyard.records import RUN_FIELDS, Missing, Run, derived_fields

PROFILE = load_profile("outcome-1")


def same(a: float | None, b: float | None, tolerance: float = 0.0) -> bool:
    if a is None or b is None:
        return a is None and b is None
    return a == b or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def check_nothing_measured_is_missing(declared: Metric) -> None:
    result = declared()
    if declared.defined_when_empty is None:
        assert isinstance(result, Missing)
        assert result.reason
    else:
        assert result == declared.defined_when_empty


def check_scalar_is_column(declared: Metric, rows: list[dict[str, Any]]) -> None:
    frame = pl.DataFrame(rows, schema={name: _type_of(name) for name in declared.inputs}, orient="row")
    constants = dict(declared.constants)
    expression = declared.expression({name: nw.col(name) for name in declared.inputs}, constants).alias("result")
    in_columns = nw.from_native(frame).select(expression).to_native()["result"].to_list()
    directly = declared.expression({name: pl.col(name) for name in declared.inputs}, constants).alias("result")
    assert frame.select(directly)["result"].to_list() == in_columns
    for row, in_column in zip(rows, in_columns, strict=True):
        try:
            alone = declared(**row)
        except UsageError:  # a call refuses what a table cannot hold: more failed changes than changes
            limits = [(row[one], *declared.limits[one]) for one in declared.limits if row[one] is not None]
            held = [*limits, (in_column, *declared.bounds)]
            assert any(not low <= value <= high for value, low, high in held)
            continue
        assert same(None if isinstance(alone, Missing) else alone, in_column, 1e-13), (row, alone, in_column)


def check_inside_bounds(declared: Metric, facts: dict[str, Any], known: dict[str, Any]) -> None:
    value = evaluate(declared.name, facts, PROFILE, known)
    low, high = declared.bounds
    assert isinstance(value, Missing) or low <= value <= high + 1e-12
    assert isinstance(value, Missing) or not declared.binary or value in (0, 1)


def check_formula_names_reducers(declared: Metric) -> None:
    """The formula says `mean cost_usd` where the mean is taken, and no such word where values are added up."""
    for name, spec in declared.inputs.items():
        of = spec.of or name
        said = [how for how in REDUCERS if f"{how} {of}" in declared.formula]
        added_up = spec.reduce == "sum"
        remedy = f"'{of}' or 'sum of {of}'" if added_up else f"'{spec.reduce} {of}'"
        told = f"the formula of {declared.name} is {declared.formula!r}: write {remedy}, as its {spec.reduce} is taken"
        assert said == ([] if added_up else [spec.reduce]), told


def check_twice_the_runs(declared: Metric, runs: list[Run]) -> None:
    """Every run a second time leaves a metric of a group as it is; a total alone doubles."""
    again = [*runs, *(msgspec.structs.replace(run, id=f"{run.id} again") for run in runs)]
    once, twice = (measure(some, metrics=[declared.name]).groups[0].metrics[declared.name] for some in (runs, again))
    assert isinstance(once, GroupValue)
    assert isinstance(twice, GroupValue)
    factor = 2 if declared.is_total else 1
    assert same(None if once.value is None else once.value * factor, twice.value, 1e-12), (declared.name, once, twice)


def check_made_from_its_inputs(declared: Metric, runs: list[Run]) -> None:
    """The engine's value is the formula of what the plain twin below reduces the runs to."""
    runs = [msgspec.structs.replace(run, model=None) for run in runs]  # facts alone, nothing priced
    value = measure(runs, metrics=[declared.name]).groups[0].metrics[declared.name]
    assert isinstance(value, GroupValue)
    rows = [{of: evaluate(of, derived_fields(run), PROFILE, {}) for of in declared.needs.values()} for run in runs]
    complete = [row for row in rows if not any(isinstance(cell, Missing) for cell in row.values())]
    inputs: dict[str, Any] = {}
    for name, of in declared.needs.items():
        known = [row[of] for row in (complete if declared.is_ratio else rows) if not isinstance(row[of], Missing)]
        inputs[name] = _PLAIN[declared.inputs[name].reduce or ""](known) if known else None
    expected = declared(**inputs)
    assert same(None if isinstance(expected, Missing) else expected, value.value, 1e-12), (declared.name, inputs)


_PLAIN: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "sum": math.fsum,
    "median": statistics.median,
    "count": len,
    "min": min,
    "max": max,
}


def _type_of(name: str) -> type[pl.DataType]:
    kind = RUN_FIELDS[name].kind if name in RUN_FIELDS else "float"
    return {"str": pl.String, "bool": pl.Boolean, "int": pl.Int64, "float": pl.Float64}[kind]


def values_of(name: str) -> st.SearchStrategy:
    if name in catalog() and catalog()[name].binary:
        return st.none() | st.sampled_from([0.0, 1.0])  # a run passed or did not
    kind = RUN_FIELDS[name].kind if name in RUN_FIELDS else "float"
    known = {
        "bool": st.booleans(),
        "int": st.sampled_from([0, 1, 2, 3]) | st.integers(0, 10**9),
        "float": st.sampled_from([0.0, 0.5, 1.0, 1e-9, 1e12]) | st.floats(0, 1e12),
    }[kind]
    return st.none() | known


def rows_of(declared: Metric) -> st.SearchStrategy:
    """Tables of the metric's inputs."""
    row = st.fixed_dictionaries({name: values_of(name) for name in declared.inputs})
    return st.lists(row, min_size=1, max_size=8)
