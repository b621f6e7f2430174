"""Totals of a group: plain sums, with what is unknown or only a lower bound beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.questions.measure import GroupValue
from steelyard.records import TOKEN_KINDS, Run, Usage

TOTALS = {metric.name for metric in catalog().at("group") if metric.lower_bound is not None}


def run(number: int, **fields: object) -> Run:
    return Run(id=str(number), task=f"t{number % 2}", **fields)  # type: ignore[arg-type]  # fields of a Run


def total(runs: list[Run], name: str, **options: object) -> GroupValue:
    value = sy.measure(runs, metrics=[name], **options).groups[0].metrics[name]  # type: ignore[call-overload]
    assert isinstance(value, GroupValue)
    return value


def test_every_kind_of_tokens_cost_tool_calls_and_iterations_have_a_total() -> None:
    assert {f"total_{kind}" for kind in TOKEN_KINDS} <= TOTALS
    assert {"total_cost_usd", "total_tokens_all_kinds", "total_tool_calls", "total_iterations"} <= TOTALS
    assert all(catalog()[name].is_total for name in TOTALS)


def test_a_total_is_the_sum_over_all_runs() -> None:
    runs = [
        run(n, cost_usd=0.1, tool_calls=n, iterations=2, usage=Usage(input_tokens=10, output_tokens=n))
        for n in (1, 2, 3)
    ]
    for name, expected in (
        ("total_cost_usd", 0.3),  # three times 0.1, rounded once
        ("total_tool_calls", 6),
        ("total_iterations", 6),
        ("total_input_tokens", 30),
        ("total_output_tokens", 6),
        ("total_tokens_all_kinds", 36),
    ):
        value = total(runs, name)
        assert (value.value, value.count, value.missing) == (pytest.approx(expected, abs=1e-15), 3, 0), name
        assert (value.at_least, value.lower_bounds) == (False, 0)


def test_a_run_that_does_not_say_leaves_a_total_of_at_least() -> None:
    value = total([run(1, cost_usd=1.0), run(2, cost_usd=0.5), run(3)], "total_cost_usd")
    assert (value.value, value.count, value.missing, value.at_least, value.lower_bounds) == (1.5, 2, 1, True, 0)


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("total_cost_usd", "cost_usd", 3.0),
        ("total_output_tokens", "usage", 30),
        ("total_tool_calls", "tool_calls", 6),
        ("total_iterations", "iterations", 4),
    ],
)
def test_a_run_that_states_a_lower_bound_leaves_a_total_of_at_least(name: str, field: str, expected: float) -> None:
    stated = {"cost_usd": 1.5, "usage": Usage(output_tokens=15), "tool_calls": 3, "iterations": 2}
    runs = [
        run(1, **stated, provenance={field: "lower_bound"}),
        run(2, **stated, provenance={field: "reported"}),
    ]
    value = total(runs, name)
    assert (value.value, value.missing, value.at_least, value.lower_bounds) == (expected, 0, True, 1)


def test_a_total_of_nothing_known_is_missing_and_not_zero() -> None:
    value = total([run(1), run(2)], "total_cost_usd")
    assert value.value is None
    assert value.reason
    assert not value.at_least


def test_a_total_is_never_weighted_and_is_no_estimate() -> None:
    runs = [run(n, cost_usd=float(n), passed=True) for n in (1, 3, 5, 2)]  # three runs of one task, one of another
    assert total(runs, "total_cost_usd", weight_by="tasks").value == total(runs, "total_cost_usd").value == 11.0
    with pytest.raises(UsageError, match="total_cost_usd"):
        sy.compare(runs, baseline="task=t0", candidate="task=t1", metrics=["total_cost_usd"])


def test_tables_json_and_rows_say_at_least(tmp_path: Path) -> None:
    runs = [run(1, cost_usd=1.0, provenance={"cost_usd": "lower_bound"}), run(2, cost_usd=0.5), run(3)]
    file = write(tmp_path / "runs.jsonl", runs)
    shown = steelyard("measure", file, "--metrics", "total_cost_usd", "--quiet").stdout
    assert "at least $1.5000 (2 of 3, 1 lower bound)" in " ".join(shown.split())
    said = json.loads(steelyard("measure", file, "--metrics", "total_cost_usd", "--json").stdout)
    stated = {"value": 1.5, "count": 2, "missing": 1, "at_least": True, "lower_bounds": 1}
    assert said["groups"][0]["metrics"]["total_cost_usd"].items() >= stated.items()
    [row] = sy.measure(runs, metrics=["total_cost_usd"]).to_dicts()
    assert (row["value"], row["at_least"]) == (1.5, True)
    assert "at least" in steelyard("explain", file, "total_cost_usd", "--by", "task", "--quiet").stdout


def test_a_metric_that_is_named_is_shown(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", [run(1, tool_calls=3, passed=True)])
    shown = steelyard("measure", file, "--metrics", "total_tool_calls,pass_rate", "--quiet").stdout
    assert shown.index("Total tool calls") < shown.index("Pass rate")
    assert "Cost" not in shown
