"""What is named is shown: in the table and in CSV, whatever the level of the metric."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import steelyard as sy
from matchups import write
from steelyard.cli import run
from steelyard.metrics import Metric, catalog

SPEEDUPS = Path(__file__).parent / "samples" / "speedup" / "fceval-results.json"
OF_RUNS = [declared for declared in catalog().values() if declared.level in ("run", "group", "across", "component")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    some = [each for place, each in enumerate(sy.demo_runs()) if place % 7 == 0]
    return write(tmp_path_factory.mktemp("named") / "runs.jsonl", some)


IN_COLUMNS = {
    "tier_uplift": "uplift",
    "component_tokens": "tokens",
    "component_token_fraction": "token_fraction",
    "component_cost_usd": "cost_usd",
    "component_cost_fraction": "cost_fraction",
}
"""Columns of metrics whose rows are tiers or components."""


def shown_as(declared: Metric) -> str:
    """What a heading holds of it, however it is broken."""
    return declared.title.removeprefix("Component ").split()[0] if declared.name != "tier_uplift" else "uplift"


@pytest.mark.parametrize("level", ["run", "group", "across", "component"])
def test_every_metric_that_is_named_is_in_table_and_csv(
    runs: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = [each for each in OF_RUNS if each.level == level]
    names = ",".join(each.name for each in declared)
    assert run(["measure", runs, "--by", "tier", "--metrics", names, "--csv", "--quiet"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    columns = {column for row in rows for column, cell in row.items() if cell}
    assert {row["metric"] for row in rows if row.get("metric")} == {
        each.name for each in declared if each.name not in IN_COLUMNS
    }
    assert {each.name for each in declared if each.name in IN_COLUMNS} == {
        name for name, column in IN_COLUMNS.items() if column in columns
    }
    for each in declared:
        assert run(["measure", runs, "--by", "tier", "--metrics", each.name, "--quiet"]) == 0
        assert shown_as(each) in capsys.readouterr().out


def test_the_rows_of_tiers_and_components_hold_the_numbers_of_json(runs: str) -> None:
    names = ["tier_uplift", "cost_delta", "component_tokens", "component_cost_fraction", "pass_rate"]
    result = sy.measure(runs, by=["tier"], metrics=names)
    rows, shape = result.to_dicts(), result.to_dict()
    (across,) = shape["across"]
    uplift = {row["uplift"]: row["value"] for row in rows if row["uplift"]}
    assert uplift == {tier: value["value"] for tier, value in across["uplift"].items()}
    assert uplift
    costs = [row["value"] for row in rows if row["metric"] == "cost_delta"]
    assert costs == [across["values"]["cost_delta"]["value"]]
    for name in ("tokens", "token_fraction", "cost_usd", "cost_fraction"):
        told = [row[name] for row in rows if row["component"]]
        assert told == [part[name] for group in shape["groups"] for part in group["components"].values()]
        assert told
    assert len({tuple(row) for row in rows}) == 1  # all rows have the same keys
    assert len(result.to_polars()) == len(rows)


def test_a_row_is_a_metric_a_component_or_the_uplift_of_a_tier(runs: str) -> None:
    rows = sy.measure(runs, by=["tier"]).to_dicts()
    assert {sum(row[name] is not None for name in ("metric", "component", "uplift")) for row in rows} == {1}
    assert {catalog()[row["metric"]].level for row in rows if row["metric"]} == {"run", "group", "across"}


def test_the_speedup_table_shows_success_levels_cost_and_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["speedup", str(SPEEDUPS), "--quiet"]) == 0
    shown = capsys.readouterr().out
    summary = next(iter(sy.speedup([SPEEDUPS]).summary.values()))
    for words in ("success", "level 1", "level 2", "level 3", "level 4", "Total cost", "Cost-weighted", "pass@1"):
        assert all(word in shown for word in words.split())
    assert f"{100 * summary.mean_success_rate:.1f}%" in shown
    assert f"{100 * summary.pass_at_k['1']:.1f}%" in shown


@pytest.mark.parametrize("name", ["pass@k", "pass@5", "opt@k", "pass_at_k"])
def test_pass_at_k_is_known_however_it_is_written(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics", name]) == 0
    assert "1 - C(n - c, k) / C(n, k)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ("skill_efficiency", "1 run."),  # whether it passed and what it cost was not asked
        ("pass_rate", "1 run: pass rate 100.0%."),
        ("", "1 run: pass rate 100.0%."),
    ],
)
def test_the_first_sentence_says_nothing_of_what_was_not_measured(metrics: str, sentence: str) -> None:
    assert sy.measure([{"task": "t", "passed": True}], metrics=metrics).page().answer == sentence
    nothing = [{"task": "t", "outcome": "not_scored"}]
    measured = sy.measure(nothing, metrics="pass_rate,cost_usd")
    assert measured.page().answer == "1 run, without a verdict or a cost."
