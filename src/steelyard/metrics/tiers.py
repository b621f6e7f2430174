"""Differences between tiers (outcome specification, "Cross-Tier Metrics")."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any

from steelyard.metrics._declare import Example, metric
from steelyard.metrics._signatures import Input, Param
from steelyard.metrics._words import Value, missing, ratio
from steelyard.records import exact_mean, exact_quotient

# Any: a number for one group, a list of numbers over all of them
TierScore = Annotated[Any, Input(reduce="median", of="composite_score")]
BaseScore = Annotated[Any, Input(reduce="median", of="composite_score", scope="base")]
PassRateMedians = Annotated[Any, Input(reduce="median", of="pass_rate", scope="all")]
CostMedians = Annotated[Any, Input(reduce="median", of="cost_usd", scope="all")]
CompositeMedians = Annotated[Any, Input(reduce="median", of="composite_score", scope="all")]


def _variance(values: list[float], ddof: float) -> Value:
    if len(values) <= ddof:
        return missing(f"{len(values)} tiers have a value, {int(ddof) + 1} are needed")
    mean = exact_mean(values)
    return exact_quotient(((value - mean) ** 2 for value in values), len(values) - int(ddof))


@metric(
    level="across",
    title="Tier uplift",
    unit="fraction",
    better="higher",
    bounds=(-inf, inf),
    spec="outcome",
    formula="(tier_score - t0_score) / t0_score, on median composite scores",
    example=Example({"tier_score": 0.90, "t0_score": 0.75}, 0.20000000000000004),
)
def tier_uplift(*, tier_score: TierScore, t0_score: BaseScore) -> Value:
    """Improvement over the base tier."""
    return ratio(tier_score - t0_score, t0_score, at_zero=missing("the base tier's score is 0"))


@metric(
    level="across",
    title="Pass rate variance",
    unit="fraction²",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="variance of the tiers' median pass_rate",
    example=Example({"pass_rates": [0.0, 1.0]}, 0.25),
)
def pass_rate_variance(*, pass_rates: PassRateMedians, variance_ddof: Param) -> Value:
    """Variation of the pass rate between tiers."""
    return _variance(pass_rates, variance_ddof)


@metric(
    level="across",
    title="Cost variance",
    unit="USD²",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="variance of the tiers' median cost_usd",
    example=Example({"costs": [1.0, 3.0]}, 1.0),
)
def cost_variance(*, costs: CostMedians, variance_ddof: Param) -> Value:
    """Variation of the cost between tiers."""
    return _variance(costs, variance_ddof)


@metric(
    level="across",
    title="Composite variance",
    unit="fraction²",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="variance of the tiers' median composite_score",
    # mean 0.8125; (0.1125² + 0.0125² + 0.0375² + 0.0875²) / 4
    example=Example({"composite_scores": [0.70, 0.80, 0.85, 0.90]}, 0.005468750000000001),
)
def composite_variance(*, composite_scores: CompositeMedians, variance_ddof: Param) -> Value:
    """Variation of the composite score between tiers."""
    return _variance(composite_scores, variance_ddof)


@metric(
    level="across",
    title="Cost delta",
    unit="USD",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="largest - smallest of the tiers' median cost_usd",
    example=Example({"costs": [0.25, 1.0, 0.5]}, 0.75),
)
def cost_delta(*, costs: CostMedians) -> Value:
    """Difference between the most and the least expensive tier."""
    return max(costs) - min(costs) if costs else missing("no tier's cost is known")
