"""A cost that is a lower bound is marked wherever it is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.questions.measure import GroupValue, Statistics

RUNS: list[dict[str, Any]] = [
    {"id": f"{agent}{n}", "task": f"t{n}", "agent": agent, "passed": n % 2 == 0, "cost_usd": cost}
    | ({"provenance": {"cost_usd": "lower_bound"}} if agent == "b" and n < 3 else {})
    for agent, cost in (("a", 0.4), ("b", 0.2))
    for n in range(10)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(run) + "\n" for run in RUNS), encoding="utf-8")
    return file


def shown(*arguments: str) -> str:
    done = steelyard(*arguments)
    assert done.status in (0, 3, 4), done.stderr
    return done.stdout


def test_measure_marks_means_and_cost_of_pass(path: Path) -> None:
    a, b = sy.measure(path, by="agent").groups
    for group, bounds in ((a, 0), (b, 3)):
        cost, of_pass = group.metrics["cost_usd"], group.metrics["cost_of_pass"]
        assert isinstance(cost, Statistics)
        assert isinstance(of_pass, GroupValue)
        assert (cost.lower_bounds, of_pass.lower_bounds, of_pass.at_least) == (bounds, bounds, bool(bounds))
    text = shown("measure", str(path), "--by", "agent")
    assert "≥ $0.2000 (3 lower bounds)" in " ".join(text.split())
    assert "≥ $0.4" not in text


def test_rank_marks_costs_scores_and_the_frontier(path: Path) -> None:
    ranking = sy.rank(path, by="agent", metrics=["pass_rate"])
    assert {group.key["agent"]: group.lower_bounds for group in ranking.groups} == {
        "a": {},
        "b": {"cost_usd": 3, "cost_of_pass": 3},
    }
    text = " ".join(shown("rank", str(path), "--by", "agent", "--metrics", "pass_rate,cost_usd,cost_of_pass").split())
    assert "≥ $0.2000" in text
    assert "≥ $0.4000" in text  # cost of pass of b: 0.2 / 0.5
    by_cost = sy.rank(path, by="agent", metrics=["cost_usd"])
    [finding] = [finding for finding in by_cost.findings if finding.code == "rank_lower_bound"]
    assert [(place.where, place.message) for place in finding.places] == [("agent b", "3 runs")]


def test_compare_marks_the_side(path: Path) -> None:
    compared = sy.compare(
        path, baseline="agent=a", candidate="agent=b", metrics=["cost_usd", "cost_of_pass", "pass_rate"]
    )
    cells = compared.pairs[0].metrics
    assert {name: (cell.lower_bounds.baseline, cell.lower_bounds.candidate) for name, cell in cells.items()} == {
        "cost_usd": (0, 3),
        "cost_of_pass": (0, 3),
        "pass_rate": (0, 0),
    }
    assert cells["cost_usd"].sentence.endswith("The value is a lower bound for b (3 runs).")
    assert "≥ $0.2000" in shown("compare", str(path), "-a", "agent=a", "-b", "agent=b", "--metrics", "cost_usd")


def test_lists_and_pages_of_runs_mark_the_cost(path: Path, tmp_path: Path) -> None:
    assert "≥ $0.2000" in "".join(shown("show", str(path), "--run", "b1").splitlines()[:4])
    assert "≥" not in shown("show", str(path), "--run", "b9")
    out = tmp_path / "report.html"
    shown("report", str(path), "--out", str(out))
    assert "≥ $0.2000" in out.read_text(encoding="utf-8")


def test_a_metric_of_pass_rates_is_no_lower_bound(path: Path) -> None:
    for group in sy.measure(path, by="agent").groups:
        rate = group.metrics["pass_rate"]
        assert isinstance(rate, Statistics)
        assert rate.lower_bounds == 0


def test_an_unreported_kind_of_tokens_is_not_missing_usage() -> None:
    run = {"id": "x", "task": "t", "usage": {"input_tokens": 5, "output_tokens": 5}}
    explained = sy.explain([run], metric="cost_usd", run="x")
    text = str(sy.explain([run], metric="cost_usd", run="x")) + json.dumps(explained.to_dict())
    assert "the record has no usage" not in text
