"""Laws that hold for every metric of the catalog, and proof that each law can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import steelyard as sy
from metric_laws import (
    check_formula_names_reducers,
    check_inside_bounds,
    check_made_from_its_inputs,
    check_nothing_measured_is_missing,
    check_scalar_is_column,
    check_twice_the_runs,
    rows_of,
    same,
)
from steelyard.errors import UsageError
from steelyard.metrics import Example, Input, Metric, Optional, Required, Value, catalog, metric
from steelyard.questions.measure import GroupValue
from steelyard.records import Missing, derived_fields, encode_run, sum_in_order
from steelyard.statistics import STATISTICS
from strategies import run_lists, runs

DOCS = Path(__file__).parent.parent / "docs" / "metrics.md"
RUN_METRICS = catalog().at("run")

OURS = [declared for declared in catalog().values() if declared.function.__module__.startswith("steelyard.metrics.")]

every_metric = pytest.mark.parametrize("declared", catalog().values(), ids=lambda one: one.name)
every_group_metric = pytest.mark.parametrize("declared", catalog().at("group"), ids=lambda one: one.name)
every_run_metric = pytest.mark.parametrize("declared", RUN_METRICS, ids=lambda one: one.name)


def check_documented(declared: Metric, page: str) -> None:
    assert f"| `{declared.name}` |" in page, f"docs/metrics.md does not list {declared.name}: run `make docs`"


# Every metric keeps them


@every_metric
def test_nothing_measured_gives_missing_and_not_zero(declared: Metric) -> None:
    check_nothing_measured_is_missing(declared)


@pytest.mark.checkout
@pytest.mark.parametrize("declared", OURS, ids=lambda declared: declared.name)
def test_it_stands_in_the_documentation(declared: Metric) -> None:
    check_documented(declared, DOCS.read_text(encoding="utf-8"))


@every_run_metric
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_plain_numbers_and_columns_give_the_same(declared: Metric, data: st.DataObject) -> None:
    check_scalar_is_column(declared, data.draw(rows_of(declared)))


@settings(max_examples=60, deadline=None)
@given(run=runs())
def test_every_run_metric_stays_inside_its_bounds(run: sy.Run) -> None:
    facts = derived_fields(run)
    known: dict[str, Any] = {}
    for declared in RUN_METRICS:
        check_inside_bounds(declared, facts, known)


@every_group_metric
def test_the_formula_says_how_inputs_are_reduced(declared: Metric) -> None:
    check_formula_names_reducers(declared)


@every_group_metric
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=run_lists)
def test_twice_the_runs_double_totals_alone(declared: Metric, made: list[sy.Run]) -> None:
    check_twice_the_runs(declared, made)


@every_group_metric
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=run_lists)
def test_a_metric_of_a_group_is_made_from_its_inputs(declared: Metric, made: list[sy.Run]) -> None:
    check_made_from_its_inputs(declared, made)


def numbers_of(result: Any) -> dict[Any, list[float | None]]:
    """Every number of a measurement, by group and metric."""
    found: dict[Any, list[float | None]] = {}
    for group in result.groups:
        for name, value in group.metrics.items():
            key = (tuple(group.key.items()), name)
            if isinstance(value, GroupValue):
                found[key] = [value.value]
            else:
                found[key] = [getattr(value, name) for name, each in STATISTICS.items() if each.shown]
    return found


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=run_lists, data=st.data())
def test_the_order_of_rows_does_not_matter(made: list[sy.Run], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(made))
    assert sy.measure(made, by=["tier"]).to_dict() == sy.measure(shuffled, by=["tier"]).to_dict()


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(made=run_lists, cut=st.integers(0, 25))
def test_splitting_rows_into_shards_does_not_matter(made: list[sy.Run], cut: int, tmp_path: Path) -> None:
    whole, first, second = (tmp_path / name for name in ("whole.jsonl", "first.jsonl", "second.jsonl"))
    lines = [encode_run(run) + b"\n" for run in made]
    whole.write_bytes(b"".join(lines))
    first.write_bytes(b"".join(lines[:cut]))
    second.write_bytes(b"".join(lines[cut:]))
    shards = [path for path in (first, second) if path.stat().st_size]
    together, apart = numbers_of(sy.measure(whole, by=["tier"])), numbers_of(sy.measure(shards, by=["tier"]))
    assert together.keys() == apart.keys()
    for key, values in together.items():
        assert all(same(a, b, 1e-12) for a, b in zip(values, apart[key], strict=True)), key


# Each law can fail


def _declared(function: Any, **changes: Any) -> Metric:
    given: dict[str, Any] = {
        "level": "run",
        "title": "Broken",
        "unit": "fraction",
        "better": "higher",
        "bounds": (0, 1),
        "spec": "outcome",
        "formula": "-",
        "example": Example({"weighted_score": 0.5}, 0.5),
    }
    return metric(**(given | changes))(function)


def broken_score(*, weighted_score: Required) -> Value:
    """Twice the score: outside its bounds and not its example."""
    return weighted_score * 2


def eager_zero(*, weighted_score: Optional = None) -> Value:
    """Takes missing for zero."""
    return 0.0 if isinstance(weighted_score, Missing) else weighted_score


def two_faced(*, weighted_score: Required) -> Value:
    """Rounds numbers but not columns."""
    return round(weighted_score, 1) if isinstance(weighted_score, float) else weighted_score


TWO = [
    sy.Run(id="1", task="t", passed=True, cost_usd=1.0),
    sy.Run(id="2", task="t", passed=False, cost_usd=4.0),
    sy.Run(id="3", task="t", passed=True),
]


def with_reducers(names: set[str], reducer: Any = "sum") -> Metric:
    """Cost of pass with these inputs reduced otherwise."""
    declared = catalog()["cost_of_pass"]
    inputs = {name: Input(reduce=reducer if name in names else "mean") for name in declared.inputs}
    return replace(declared, inputs=inputs)


def test_sums_for_means_are_caught_by_the_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    one, both = with_reducers({"cost_usd"}), with_reducers({"cost_usd", "pass_rate"})
    monkeypatch.setitem(catalog()._metrics, "cost_of_pass", one)
    with pytest.raises(AssertionError):
        check_twice_the_runs(one, TWO)
    for wrong in (one, both):  # the ratio of sums over the same runs is that of means, but the formula says otherwise
        with pytest.raises(AssertionError, match="write 'cost_usd' or 'sum of cost_usd', as its sum is taken"):
            check_formula_names_reducers(wrong)
    largest = with_reducers({"cost_usd"}, "max")
    with pytest.raises(AssertionError, match="write 'max cost_usd', as its max is taken"):
        check_formula_names_reducers(largest)


def test_the_law_of_group_values_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    right = catalog()["cost_of_pass"]
    check_made_from_its_inputs(right, TWO)
    monkeypatch.setitem(catalog()._metrics, "cost_of_pass", with_reducers({"cost_usd"}, "max"))
    with pytest.raises(AssertionError):
        check_made_from_its_inputs(right, TWO)


def test_the_bounds_laws_can_fail() -> None:
    wide = replace(catalog()["impl_rate"], bounds=(0.0, 0.5))
    with pytest.raises(AssertionError):
        check_inside_bounds(wide, {"weighted_score": 0.9}, {})
    with pytest.raises(AssertionError):
        check_inside_bounds(replace(catalog()["impl_rate"], binary=True), {"weighted_score": 0.9}, {})


def test_the_missing_law_can_fail() -> None:
    with pytest.raises(AssertionError):
        check_nothing_measured_is_missing(_declared(eager_zero))


def test_the_scalar_and_column_law_can_fail() -> None:
    with pytest.raises(AssertionError):
        check_scalar_is_column(_declared(two_faced), [{"weighted_score": 0.123}])


@pytest.mark.checkout
def test_the_documentation_law_can_fail() -> None:
    with pytest.raises(AssertionError):
        check_documented(_declared(broken_score), DOCS.read_text(encoding="utf-8"))


def test_the_order_and_shard_laws_can_fail() -> None:
    unordered = [0.1] * 3 + [1e16, 1.0, -1e16]
    # what would be compared if values were not sorted first
    assert sum_in_order(unordered) != sum_in_order(reversed(unordered))
    a = sy.measure([sy.Run(id="1", task="t", impl_rate=0.25)])
    b = sy.measure([sy.Run(id="1", task="t", impl_rate=0.5)])
    assert numbers_of(a) != numbers_of(b)
    assert a.to_dict() != b.to_dict()


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("cost_of_pass", {"cost_usd": -1.0, "pass_rate": 0.5}, "cost_usd -1.0 is out of range"),
        ("cost_of_pass", {"cost_usd": 1.0, "pass_rate": 2}, "pass_rate 2 is out of range"),
        ("composite_score", {"pass_rate": 1.0, "impl_rate": 1.5}, "impl_rate 1.5 is out of range"),
        ("composite_score", {"pass_rate": float("nan"), "impl_rate": 1.0}, "pass_rate nan is out of range"),
        ("composite_score", {"pass_rate": "all", "impl_rate": 1.0}, "pass_rate must be a number (got 'all')"),
        ("composite_score", {"pass_rate": 1.0, "impl_rate": 1.0, "pass_weight": -1.0}, "pass_weight -1.0"),
        ("cfp", {"failed_changes": 3, "total_changes": 2}, "result 1.5 is out of range (failed_changes 3"),
        ("duration_seconds", {"start_time": 10.0, "end_time": 4.0}, "result -6.0 is out of range"),
        ("cost_usd", {"reported_cost_usd": -0.5}, "reported_cost_usd -0.5 is out of range"),
        ("efficiency_score", {"token_efficiency_score": 101}, "token_efficiency_score 101 is out of range"),
    ],
)
def test_a_metric_called_with_what_cannot_be_names_it(name: str, inputs: dict[str, Any], said: str) -> None:
    declared = catalog()[name]
    full = {one: 1.0 for one in declared.inputs if not declared.inputs[one].optional} | inputs
    with pytest.raises(UsageError) as error:
        declared(**full)
    assert said in error.value.message
