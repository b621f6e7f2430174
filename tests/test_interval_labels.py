"""Intervals of costs of pass, and the labels that travel with every interval."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.records import Run


def passes(agent: str = "a", cost: float = 0.10) -> list[Run]:
    return [Run(id=f"{agent}{n}", task=f"t{n}", agent=agent, passed=True, cost_usd=cost) for n in range(10)]


def is_fair(high: float, *, base: float = 0.0) -> bool:
    """Whether the upper bound of ten passes at $0.10 allows a failure that was not seen."""
    return 0.12 <= high + base <= 0.20


def test_ten_cheap_passes_have_a_fair_upper_bound_everywhere(tmp_path):
    runs = [*passes("a"), *passes("b")]
    path = str(write(tmp_path / "runs.jsonl", runs))
    measured = sy.measure(runs, by="agent", metrics="cost_of_pass", interval="auto")
    found = measured.groups[0].metrics["cost_of_pass"].interval
    assert found.low == pytest.approx(0.10)
    assert is_fair(found.high)
    assert "unseen failures that cost at most 2.1 times a pass" in found.label
    row = measured.to_dicts()[0]
    assert is_fair(row["interval_high"])
    assert row["interval_assumes"] == measured.to_polars()["interval_assumes"][0] == found.assumes
    ranked = sy.rank(runs, by="agent", metrics="cost_of_pass")
    assert all(is_fair(group.score.high) for group in ranked.groups)
    compared = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics="cost_of_pass")
    difference = compared.pairs[0].metrics["cost_of_pass"].difference
    assert is_fair(difference.high, base=0.10)  # $0.00 apart, up to what one side's bound allows
    gate = sy.gate(passes(), rule="cost_of_pass <= 0.101")
    assert gate.status == "inconclusive"
    assert is_fair(gate.rules[0].high)
    asked = ("measure", path, "--by", "agent", "--metrics", "cost_of_pass", "--interval", "auto")
    shown = json.loads(steelyard(*asked, "--json").stdout)
    assert is_fair(shown["groups"][0]["metrics"]["cost_of_pass"]["interval"]["high"])
    (first, *_) = csv.DictReader(io.StringIO(steelyard(*asked, "--csv").stdout))
    assert is_fair(float(first["interval_high"]))
    assert "2.1 times a pass" in first["interval_assumes"]


@pytest.mark.parametrize("spread", [0.0, 0.01, 3.0])
def test_the_label_depends_on_the_number_of_tasks_only(spread):
    random = np.random.default_rng(1)
    runs = [
        Run(id=f"{n}", task=f"t{n}", agent="a", passed=n > 2, cost_usd=1 + spread * random.random()) for n in range(12)
    ]
    metrics = sy.measure(runs, by="agent", metrics="cost_usd,cost_of_pass", interval="auto").groups[0].metrics
    assert metrics["cost_of_pass"].interval.approx_coverage == 0.86
    if spread:
        assert metrics["cost_usd"].intervals["mean"].approx_coverage == 0.86
    assert metrics["cost_usd"].intervals["geometric_mean"].method == "student-log"


@pytest.mark.parametrize(
    ("method", "floor"), [("clustered", 0.71), ("student", 0.71), ("percentile", 0.66), ("bca", 0.66), ("hall", 0.86)]
)
def test_methods_selected_by_name_are_labeled(method, floor):
    random = np.random.default_rng(1)
    costs = random.lognormal(0, 1, 12)
    runs = [Run(id=f"{n}", task=f"t{n}", agent="a", passed=n > 2, cost_usd=float(costs[n])) for n in range(12)]
    answer = sy.measure(runs, by="agent", metrics="cost_usd", interval=method)
    row = answer.to_dicts()[0]
    assert row["mean_approx_coverage"] == floor
    assert row["mean_assumes"] == "a tail no heavier than log-normal with sigma 1.5"
    shares = sy.measure(runs, by="agent", metrics="pass_rate", interval=method).groups[0].metrics["pass_rate"]
    expected = None if method == "hall" else "normally distributed task means"
    assert method == "hall" or shares.intervals["mean"].assumes == expected


def test_attempts_taken_as_independent_are_an_assumption():
    runs = [Run(id=f"{n}", task=f"t{n % 4}", agent="a", passed=n > 2) for n in range(12)]
    found = sy.measure(runs, by="agent", metrics="pass_rate", interval="wilson").groups[0].metrics["pass_rate"]
    assert found.intervals["mean"].label == "assuming independent runs"
    single = [Run(id=f"{n}", task=f"t{n}", agent="a", passed=n > 2) for n in range(12)]
    found = sy.measure(single, by="agent", metrics="pass_rate", interval="wilson").groups[0].metrics["pass_rate"]
    assert found.intervals["mean"].label == ""
