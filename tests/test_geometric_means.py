"""Geometric means in compare and gate: ratios, paired by task."""

from __future__ import annotations

import math

import pytest
from scipy import stats

import steelyard as sy
from steelyard.errors import UsageError

METRIC = "cost_usd:geomean"
COSTS = {"a": [0.1, 0.2, 0.4, 0.8, 1.6], "b": [0.15, 0.2, 0.7, 1.0, 2.4]}
RATIOS = [b / a for a, b in zip(*COSTS.values(), strict=True)]


def runs(costs: dict[str, list[float]]) -> list[dict[str, object]]:
    """One run per task and agent."""
    return [
        {"id": f"{agent}{task}", "task": f"t{task}", "agent": agent, "passed": True, "cost_usd": cost}
        for agent, values in costs.items()
        for task, cost in enumerate(values)
    ]


def compared(costs: dict[str, list[float]], **options: object) -> sy.questions.compare.MetricDifference:
    found = sy.compare(runs(costs), baseline="agent=a", candidate="agent=b", metrics=[METRIC], **options)
    return found.pairs[0].metrics[METRIC]


def test_geometric_mean_is_compared_by_its_ratio() -> None:
    found = compared(COSTS)
    logs = [math.log(ratio) for ratio in RATIOS]
    low, high = stats.t.interval(0.95, 4, loc=sum(logs) / 5, scale=stats.sem(logs))
    assert found.scale == "ratio"
    assert found.baseline == pytest.approx(math.prod(COSTS["a"]) ** 0.2)
    assert found.difference.estimate == pytest.approx(math.prod(RATIOS) ** 0.2)
    assert (found.difference.low, found.difference.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert found.test.p_value == pytest.approx(stats.ttest_1samp(logs, 0).pvalue, rel=1e-6)
    assert found.difference.method == found.test.method == "paired-t-log"
    assert found.difference.label == ""
    # 1.5 x 1 x 1.75 x 1.25 x 1.5 = 4.92, and its fifth root is 1.375
    assert "b has a geometric mean cost 1.38 times that of a on 5 shared tasks" in found.sentence


def test_geometric_mean_verdict_follows_the_sides() -> None:
    higher = {"a": COSTS["a"], "b": [2 * cost * 1.01**place for place, cost in enumerate(COSTS["a"])]}
    assert compared(higher).verdict == "worse"
    assert "b is more expensive" in compared(higher).sentence
    swapped = compared({"a": higher["b"], "b": higher["a"]})
    assert swapped.verdict == "better"
    assert swapped.difference.estimate == pytest.approx(1 / (compared(higher).difference.estimate or 0))


def test_geometric_mean_takes_attempts_of_a_task_together() -> None:
    several = [
        {**run, "id": f"{run['id']}-{attempt}", "cost_usd": float(str(run["cost_usd"])) * factor}
        for run in runs(COSTS)
        for attempt, factor in enumerate((0.5, 2.0))  # their geometric mean is 1
    ]
    found = sy.compare(several, baseline="agent=a", candidate="agent=b", metrics=[METRIC]).pairs[0].metrics[METRIC]
    one = compared(COSTS).difference
    assert (found.difference.estimate, found.difference.low) == pytest.approx((one.estimate, one.low))


def test_geometric_mean_is_missing_if_a_value_is_zero() -> None:
    found = compared({"a": COSTS["a"], "b": [0.0, *COSTS["b"][1:]]})
    assert found.verdict == "unknown"
    assert found.difference.estimate is None
    assert found.difference.reason == "no geometric mean, because 1 run had a value of 0 or less"


def test_geometric_mean_of_equal_sides_has_no_difference() -> None:
    found = compared({"a": COSTS["a"], "b": COSTS["a"]})
    assert found.verdict == "no difference"
    assert found.difference.estimate == 1.0


def test_geometric_mean_margin_and_effect_size_are_relative() -> None:
    near = {"a": COSTS["a"], "b": [cost * 1.01 ** (place - 1) for place, cost in enumerate(COSTS["a"])]}
    found = compared(near, margin=0.1, effect_size=0.1)
    assert found.verdict == "equivalent"
    assert found.equivalence is not None
    assert 1 / 1.1 < found.equivalence.low < 1 < found.equivalence.high < 1.1
    assert found.equivalence.confidence == 0.9
    assert found.power_analysis is not None
    assert found.power_analysis.effect_size == pytest.approx(0.1)
    assert "Margin 10.0%: equivalent" in found.sentence


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        (f"{METRIC} <= baseline * 2.5", "pass"),
        (f"{METRIC} <= +150%", "pass"),
        (f"{METRIC} <= baseline * 1.4", "inconclusive"),
        (f"{METRIC} <= baseline * 1.01", "fail"),
    ],
)
def test_gate_limits_the_ratio_of_geometric_means(rule: str, status: str) -> None:
    costs = {
        "a": COSTS["a"],
        "b": [cost * ratio for cost, ratio in zip(COSTS["a"], (1.2, 1.5, 1.7, 1.3, 1.4), strict=True)],
    }
    checked = sy.gate(runs(costs), baseline="agent=a", candidate="agent=b", rule=rule).rules[0]
    ratio = compared(costs).difference
    assert checked.status == status
    assert (checked.estimate, checked.low, checked.high) == pytest.approx((ratio.estimate, ratio.low, ratio.high))
    assert checked.difference == pytest.approx(ratio.estimate)


def test_gate_limits_a_geometric_mean() -> None:
    checked = sy.gate(runs(COSTS), rule=f"{METRIC} <= 100", where="agent=a").rules[0]
    measured = sy.measure(runs(COSTS), by=["agent"], metrics=["cost_usd"], interval="auto", weight_by="tasks")
    expected = next(iter(measured.groups)).metrics["cost_usd"].intervals["geometric_mean"]
    assert checked.status == "pass"
    assert checked.interval == expected
    assert checked.method == "student-log"


def test_gate_of_a_geometric_mean_is_inconclusive_with_zeros() -> None:
    costs = {"a": [0.0, *COSTS["a"][1:]], "b": COSTS["b"]}
    for rule, sides in ((f"{METRIC} <= 100", {}), (f"{METRIC} <= baseline", {"baseline": "agent=a"})):
        candidate = "agent=b" if sides else "agent=a"
        checked = sy.gate(runs(costs), rule=rule, candidate=candidate, **sides).rules[0]
        assert checked.status == "inconclusive"
        assert checked.reason == "no geometric mean, because 1 run had a value of 0 or less"


@pytest.mark.parametrize("limit", ["baseline + 0.1", "+0.1", "baseline * 1.1 - 0.1"])
def test_gate_rejects_a_difference_of_geometric_means(limit: str) -> None:
    with pytest.raises(UsageError, match="geometric means are compared by their ratio"):
        sy.gate(runs(COSTS), baseline="agent=a", candidate="agent=b", rule=f"{METRIC} <= {limit}")


@pytest.mark.parametrize("name", ["pass_rate:geomean", "cost_of_pass:geomean", "pass_at_k:geomean"])
def test_only_metrics_from_zero_have_a_geometric_mean(name: str) -> None:
    with pytest.raises(UsageError, match="only per-run metrics from 0 to infinity have a geometric mean"):
        sy.compare(runs(COSTS), baseline="agent=a", candidate="agent=b", metrics=[name])


def test_other_questions_reject_geometric_means() -> None:
    for ask in (
        lambda: sy.measure(runs(COSTS), metrics=[METRIC]),
        lambda: sy.rank(runs(COSTS), by=["agent"], metrics=[METRIC]),
        lambda: sy.matrix(runs(COSTS), by=["agent"], metric=METRIC),
        lambda: sy.explain(runs(COSTS), METRIC),
    ):
        with pytest.raises(UsageError, match="only compare and gate compare geometric means"):
            ask()
