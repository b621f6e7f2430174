"""The outcome specification's worked examples, from files through the command and from the functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import steelyard
from steelyard.errors import UsageError
from steelyard.metrics import (
    cfp,
    composite_score,
    composite_variance,
    cost_of_pass,
    cost_usd,
    duration_seconds,
    impl_rate,
    pass_rate,
    pr_revert_rate,
    r_prog,
    r_prog_simple,
    schema_overhead,
    skill_efficiency,
    strategic_drift,
    tier_uplift,
    token_efficiency_ratio,
)
from steelyard.profiles import load_profile
from steelyard.records import Missing

SAMPLES = Path(__file__).parent / "samples" / "outcome"


def measured(name: str, *options: str) -> dict:
    done = steelyard("measure", str(SAMPLES / name), "--by", "tier", "--json", "--quiet", *options)
    assert done.status == 0
    return json.loads(done.stdout)


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def test_example_1_is_a_b() -> None:
    group = measured("example-1.jsonl")["groups"][0]
    assert group["metrics"]["composite_score"]["median"] == close(0.925)  # (1.0 + 0.85) / 2
    assert group["metrics"]["cost_of_pass"]["value"] == close(0.50)  # 0.50 / 1.0
    assert group["grade"] == "B"


def test_example_1_is_an_a_under_the_profile_of_2026() -> None:
    assert measured("example-1.jsonl", "--profile", "outcome-2026")["groups"][0]["grade"] == "A"


def test_example_2_aggregates_ten_runs() -> None:
    found = measured("example-2.jsonl")["groups"][0]["metrics"]["pass_rate"]
    specified = {
        "median": 1.0,
        "mean": close(0.8),
        "mode": 1.0,
        "min": 0.0,
        "max": 1.0,
        "std_dev": close(0.4),  # sqrt((2 x 0.8² + 8 x 0.2²) / 10)
        "count": 10,
        "missing": 0,
    }
    assert {name: found[name] for name in specified} == specified


def test_example_2_with_the_sample_deviation() -> None:
    found = measured("example-2.jsonl", "--profile", "outcome-2026")["groups"][0]["metrics"]["pass_rate"]
    assert found["std_dev"] == close(0.4 * (10 / 9) ** 0.5)


def test_example_3_compares_tiers() -> None:
    (across,) = measured("example-3.jsonl")["across"]
    uplift = {tier: value["value"] for tier, value in across["uplift"].items()}
    assert uplift == {"T1": close(1 / 7), "T2": close(3 / 14), "T3": close(2 / 7)}
    values = {name: value["value"] for name, value in across["values"].items()}
    assert values["composite_variance"] == close(0.00546875)
    assert values["pass_rate_variance"] == 0
    assert values["cost_delta"] == 0


def test_example_3_against_another_base() -> None:
    (across,) = measured("example-3.jsonl", "--base-tier", "T1")["across"]
    assert across["base"] == "T1"
    assert across["uplift"]["T0"]["value"] == close((0.70 - 0.80) / 0.80)


def test_the_functions_give_the_same_on_plain_numbers() -> None:
    assert composite_score(pass_rate=1.0, impl_rate=0.85) == close(0.925)
    assert load_profile("outcome-1").grade_of(0.925).grade == "B"
    assert cost_of_pass(cost_usd=0.5, pass_rate=1.0) == 0.5
    assert cost_of_pass(cost_usd=0.5, pass_rate=0.0) == float("inf")
    assert tier_uplift(tier_score=0.80, t0_score=0.70) == close(1 / 7)
    assert tier_uplift(tier_score=0.90, t0_score=0.75) == close(0.20)
    assert composite_variance(composite_scores=[0.70, 0.80, 0.85, 0.90]) == close(0.00546875)
    assert pass_rate(passed=False) == 0.0
    assert impl_rate(weighted_score=0.85) == 0.85
    assert cost_usd(input_tokens=10**6, output_tokens=10**6, input_price=15.0, output_price=75.0) == 90.0
    assert duration_seconds(start_time=100.0, end_time=160.5) == 60.5


def test_process_and_token_functions_on_plain_numbers() -> None:
    assert r_prog(achieved_weighted_steps=3.0, expected_weighted_steps=4.0) == 0.75
    assert r_prog_simple(achieved_steps=1, expected_steps=2) == 0.5
    assert strategic_drift(aligned_weight=3.0, action_weight=4.0) == 0.25
    assert cfp(failed_changes=1, total_changes=10) == 0.1
    assert pr_revert_rate(reverted_changes=0, total_changes=3) == 0.0
    assert schema_overhead(schema_tokens=50_000) == 50_000
    assert skill_efficiency(skill_tokens=2_000, schema_tokens=8_000) == 0.2
    assert token_efficiency_ratio(schema_tokens=50_000, skill_tokens=5_000) == 10.0
    assert token_efficiency_ratio(schema_tokens=50_000, skill_tokens=0) == float("inf")


@pytest.mark.parametrize(
    "value",
    [
        tier_uplift(tier_score=0.8, t0_score=0.0),
        r_prog(achieved_weighted_steps=0.0, expected_weighted_steps=0.0),
        skill_efficiency(skill_tokens=0, schema_tokens=0),
        token_efficiency_ratio(schema_tokens=0, skill_tokens=0),
        cost_usd(input_tokens=5),
    ],
)
def test_no_answer_is_missing_with_a_reason(value: object) -> None:
    assert isinstance(value, Missing)
    assert value.reason


def test_weights_that_add_up_to_nothing_are_an_error() -> None:
    with pytest.raises(UsageError, match="their sum must be positive"):
        composite_score(pass_rate=1.0, impl_rate=1.0, pass_weight=0.0, impl_weight=0.0)


def test_each_rate_of_the_composite_has_its_own_weight() -> None:
    assert composite_score(pass_rate=1.0, impl_rate=0.0, pass_weight=3.0, impl_weight=1.0) == 0.75  # 3 / (3 + 1)
    assert composite_score(pass_rate=0.0, impl_rate=1.0, pass_weight=3.0, impl_weight=1.0) == 0.25


def test_a_reported_cost_wins_over_a_priced_one() -> None:
    assert cost_usd(reported_cost_usd=1.0, priced_cost_usd=2.0) == 1.0
    assert cost_usd(priced_cost_usd=2.0) == 2.0
