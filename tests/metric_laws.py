"""Laws of every metric, ours or a plug-in's."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import polars as pl
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.metrics import Metric, evaluate
from steelyard.profiles import load_profile
from steelyard.records import FACTS, Missing

PROFILE = load_profile("outcome-1")


def same(a: float | None, b: float | None, tolerance: float = 0.0) -> bool:
    if a is None or b is None:
        return a is None and b is None
    return a == b or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def check_example(declared: Metric) -> None:
    result = declared(**declared.example.inputs)
    expected = declared.example.result
    assert same(None if isinstance(result, Missing) else result, expected, 1e-12)


def check_example_inside_bounds(declared: Metric) -> None:
    low, high = declared.bounds
    assert declared.example.result is None or low <= declared.example.result <= high


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


def _type_of(name: str) -> type[pl.DataType]:
    kind = FACTS[name].kind if name in FACTS else "amount"
    return {"text": pl.String, "flag": pl.Boolean, "count": pl.Int64, "amount": pl.Float64}[kind]


def values_of(name: str) -> st.SearchStrategy:
    kind = FACTS[name].kind if name in FACTS else "amount"
    known = {
        "flag": st.booleans(),
        "count": st.sampled_from([0, 1, 2, 3]) | st.integers(0, 10**9),
        "amount": st.sampled_from([0.0, 0.5, 1.0, 1e-9, 1e12]) | st.floats(0, 1e12),
    }[kind]
    return st.none() | known


def rows_of(declared: Metric) -> st.SearchStrategy:
    """Tables of the metric's inputs."""
    row = st.fixed_dictionaries({name: values_of(name) for name in declared.inputs})
    return st.lists(row, min_size=1, max_size=8)
