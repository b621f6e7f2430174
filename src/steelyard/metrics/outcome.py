"""Metrics of one run and differences between tiers (outcome specification, "Per-Run" and "Cross-Tier Metrics")."""

from __future__ import annotations

from math import inf, isfinite, isinf
from typing import Annotated, Any

from steelyard.errors import UsageError
from steelyard.metrics._declare import Example, Input, Mean, Optional, Param, Required, Sum, metric
from steelyard.metrics._words import INFINITY, Value, first_known, missing, number, ratio, when
from steelyard.records import TOO_LARGE, exact_mean, exact_quotient

# Any: a number for one group, a list of numbers over all of them
TierScore = Annotated[Any, Input(reduce="median", of="composite_score")]
BaseScore = Annotated[Any, Input(reduce="median", of="composite_score", scope="base")]
PassRateMedians = Annotated[Any, Input(reduce="median", of="pass_rate", scope="all")]
CostMedians = Annotated[Any, Input(reduce="median", of="cost_usd", scope="all")]
CompositeMedians = Annotated[Any, Input(reduce="median", of="composite_score", scope="all")]

_NO_DENOMINATOR = missing(
    "the file lists only tasks that passed, so the number of failures is unknown; specify the expected tasks"
)


def _variance(values: list[float], ddof: float) -> Value:
    if len(values) <= ddof:
        return missing(f"{len(values)} tiers have a value, {int(ddof) + 1} are needed")
    mean = exact_mean(values)
    try:
        return exact_quotient(((value - mean) ** 2 for value in values), len(values) - int(ddof))
    except OverflowError:
        return missing(TOO_LARGE)


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


@metric(
    level="run",
    title="Pass rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="1 if the run passed, otherwise 0",
    example=Example({"passed": True}, 1.0),
    binary=True,
    overview=1,
)
def pass_rate(
    *,
    passed: Optional = None,
    tests_run: Optional = None,
    tests_not_passed: Optional = None,
    judge_votes: Optional = None,
    judge_passes: Optional = None,
    lists_passes_only: Optional = None,
    unscored_fails: Param = 0,
) -> Value:
    """Whether the run passed: by test results, else by the reported verdict, else by a strict majority of the judges.

    A run without any of these has no verdict. It is excluded, or counted as failed with `--unscored fail`. If a file
    lists only the tasks that passed, the rate is missing until the expected tasks are known (`--tasks`).
    """
    by_tests = when(tests_run > 0, tests_not_passed <= 0, missing("no test ran"))
    by_judges = when(judge_votes > 0, judge_passes * 2 > judge_votes, missing("no judge voted"))
    verdicts = number(by_tests), number(passed), number(by_judges)
    verdict = first_known(*verdicts, 0.0) if unscored_fails else first_known(*verdicts)
    return when(first_known(number(lists_passes_only), 0.0) > 0, _NO_DENOMINATOR, verdict)


@metric(
    level="group",
    title="Summary pass rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="tasks passed / tasks, of records that summarize several tasks",
    example=Example({"summarized_passes": 80, "summarized_tasks": 225}, 0.35555555555555557),
    counts_tasks=True,
    overview=7,
)
def summary_pass_rate(*, summarized_passes: Sum, summarized_tasks: Sum) -> Value:
    """Fraction of tasks passed, of which only the counts are known, as on a leaderboard.

    The interval of a single summary takes the tasks as independent and needs no other runs.
    """
    return ratio(summarized_passes, summarized_tasks, at_zero=missing("no task is summarized"))


@metric(
    level="run",
    title="Implementation rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="the reported rate if there is one; otherwise the mean of the judges' weighted scores",
    example=Example({"weighted_score": 0.85}, 0.85),
    overview=2,
)
def impl_rate(*, stated_impl_rate: Optional = None, weighted_score: Optional = None) -> Value:
    """Fraction of the requirements met."""
    return first_known(stated_impl_rate, weighted_score)


@metric(
    level="run",
    title="Cost",
    unit="USD",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="the reported cost if there is one; otherwise tokens x price per million tokens",
    # 1,000 x 3 / 1e6 + 500 x 15 / 1e6 = 0.003 + 0.0075
    example=Example({"input_tokens": 1000, "output_tokens": 500, "input_price": 3.0, "output_price": 15.0}, 0.0105),
    overview=4,
)
def cost_usd(
    *,
    reported_cost_usd: Optional = None,
    priced_cost_usd: Optional = None,
    input_tokens: Optional = None,
    output_tokens: Optional = None,
    input_price: Optional = None,
    output_price: Optional = None,
) -> Value:
    """Cost of the run. A cost reported in the record takes precedence over one priced from tokens."""
    by_hand = (input_tokens * input_price + output_tokens * output_price) / 1_000_000
    return first_known(reported_cost_usd, priced_cost_usd, by_hand)


@metric(
    level="run",
    title="Duration",
    unit="s",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="the reported duration if there is one; otherwise end_time - start_time",
    example=Example({"start_time": 100.0, "end_time": 112.5}, 12.5),
    overview=6,
)
def duration_seconds(
    *,
    stated_duration_seconds: Optional = None,
    elapsed_seconds: Optional = None,
    start_time: Optional = None,
    end_time: Optional = None,
) -> Value:
    """Reported duration, otherwise the time from start to end."""
    return first_known(stated_duration_seconds, elapsed_seconds, end_time - start_time)


@metric(
    level="group",
    title="Cost of pass",
    unit="USD",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="mean cost_usd / mean pass_rate; infinite without a pass",
    example=Example({"cost_usd": 0.5, "pass_rate": 0.8}, 0.625),
    per_run=True,
    overview=5,
)
def cost_of_pass(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    """Expected cost of one pass."""
    cost = ratio(cost_usd, pass_rate, at_zero=INFINITY)
    if isinstance(cost, float) and isinf(cost) and pass_rate != 0 and isfinite(cost_usd):
        return missing(TOO_LARGE)
    return cost


@metric(
    level="run",
    title="Composite score",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="(pass_rate x pass_weight + impl_rate x impl_weight) / (pass_weight + impl_weight)",
    example=Example({"pass_rate": 1.0, "impl_rate": 0.85}, 0.925),
    overview=3,
)
def composite_score(*, pass_rate: Required, impl_rate: Required, pass_weight: Param, impl_weight: Param) -> Value:
    """Weighted mean of pass rate and implementation rate."""
    if min(pass_weight, impl_weight) < 0 or pass_weight + impl_weight <= 0:
        message = f"pass_weight {pass_weight} and impl_weight {impl_weight} are not valid weights"
        raise UsageError(message, hint="weights must not be negative, and their sum must be positive")
    return (pass_rate * pass_weight + impl_rate * impl_weight) / (pass_weight + impl_weight)
