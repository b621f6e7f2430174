"""A cost that is a lower bound is marked wherever it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from commands import steelyard
from serving import Served, serving
from steelyard.questions import RunsSource
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
    assert " ".join(text.split()).count("at least $0.4000 (3 lower bounds)") == 1  # cost of pass of b: 0.2 / 0.5


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


VARYING: list[dict[str, Any]] = [
    run | {"cost_usd": run["cost_usd"] * (1 + number % 10 / 50)} for number, run in enumerate(RUNS)
]
"""Costs of b are less than half of those of a on every task."""


@pytest.mark.parametrize(("baseline", "candidate"), [("a", "b"), ("b", "a")])
def test_lower_bounds_of_the_cheaper_side_withhold_the_claim(baseline: str, candidate: str) -> None:
    sides: dict[str, Any] = {
        "baseline": f"agent={baseline}",
        "candidate": f"agent={candidate}",
        "metrics": ["cost_usd"],
    }
    cell = sy.compare(VARYING, **sides).pairs[0].metrics["cost_usd"]
    assert cell.verdict == "inconclusive"
    assert ": inconclusive; the value is a lower bound for b (3 runs)." in cell.sentence
    known = [run | {"provenance": None} for run in VARYING]
    assert sy.compare(known, **sides).pairs[0].metrics["cost_usd"].verdict in ("better", "worse")


def test_lower_bounds_of_the_dearer_side_leave_the_claim() -> None:
    marked = [run | {"provenance": {"cost_usd": "lower_bound"} if run["agent"] == "a" else None} for run in VARYING]
    cell = (
        sy.compare(marked, baseline="agent=a", candidate="agent=b", metrics=["cost_usd"]).pairs[0].metrics["cost_usd"]
    )
    assert cell.verdict == "better"
    assert cell.sentence.endswith("The value is a lower bound for a (10 runs).")
    ranking = sy.rank(marked, by="agent", metrics=["cost_usd"])
    assert [tuple(group.rank_interval) for group in ranking.groups] == [(1, 1), (2, 2)]


def test_ranks_do_not_put_a_lower_bound_first() -> None:
    ranking = sy.rank(VARYING, by="agent", metrics=["cost_usd"])
    assert [tuple(group.rank_interval) for group in ranking.groups] == [(1, 2), (1, 2)]
    assert "inconclusive; the value is a lower bound for " in ranking.page().answer
    assert ranking.page().notes == ("Rank 1 is possible for b and a.",)


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("cost_usd <= 0.5", "inconclusive"),  # the true cost may be higher
        ("cost_usd <= 0.1", "fail"),  # and is too high already
        ("cost_usd >= 0.1", "pass"),
        ("cost_usd >= 0.5", "inconclusive"),
        ("pass_rate <= 0.9", "pass"),
    ],
)
def test_gate_is_inconclusive_where_lower_bounds_may_turn_it(rule: str, status: str) -> None:
    gate = sy.gate(VARYING, rule=rule, candidate="agent=b")
    assert gate.status == status
    counts = (gate.rules[0].baseline_lower_bounds, gate.rules[0].candidate_lower_bounds)
    assert counts == ((0, 0) if rule.startswith("pass_rate") else (0, 3))


@pytest.mark.parametrize(("baseline", "candidate", "status"), [("a", "b", "inconclusive"), ("b", "a", "inconclusive")])
def test_gate_considers_lower_bounds_of_the_baseline(baseline: str, candidate: str, status: str) -> None:
    options: dict[str, Any] = {
        "baseline": f"agent={baseline}",
        "candidate": f"agent={candidate}",
        "rule": "cost_usd <= baseline * 1.1",
    }
    assert sy.gate(VARYING, **options).status == status
    known = [run | {"provenance": None} for run in VARYING]
    assert sy.gate(known, **options).status == ("pass" if candidate == "b" else "fail")


@pytest.fixture
def served(path: Path) -> Iterator[Served]:
    with serving(RunsSource([path])) as answering:
        yield answering


def test_pages_of_the_dashboard_mark_the_cost(served: Served) -> None:
    compared = "/compare?baseline=agent%3Da&candidate=agent%3Db"
    for address in ("/", "/measure?by=agent", "/runs", "/runs/b1", "/usage", compared):
        body = re.sub(r"<[^>]+>", "", served.ask(address).body.decode())
        assert re.search(r"≥ \$?[06]\.?[02]", body), address
    assert "≥" not in re.sub(r"<[^>]+>", "", served.ask("/runs/b9").body.decode())


def test_answers_of_the_api_count_lower_bounds(served: Served) -> None:
    ranked = {group["key"]["agent"]: group["lower_bounds"] for group in served.api("/rank?by=agent")["groups"]}
    assert ranked == {"a": {}, "b": {"cost_usd": 3, "cost_of_pass": 3}}
    [a, b] = served.api("/measure?by=agent")["groups"]
    assert (a["metrics"]["cost_of_pass"]["at_least"], b["metrics"]["cost_of_pass"]["at_least"]) == (False, True)
    [pair] = served.api("/compare?baseline=agent%3Da&candidate=agent%3Db")["pairs"]
    assert pair["metrics"]["cost_usd"]["lower_bounds"] == {"baseline": 0, "candidate": 3}
    numbers = {number["name"]: number for number in served.api("/runs/b1")["numbers"]}
    assert numbers["cost_usd"]["value"] == 0.2
    assert "lower_bound" in {each["provenance"] for each in numbers["cost_usd"]["inputs"]}
