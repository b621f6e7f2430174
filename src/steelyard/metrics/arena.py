"""Scores of a submission relative to its task's baseline (arena specification). All are 0 to 100 and unrounded here."""

from __future__ import annotations

from steelyard.metrics._declare import Example, Optional, Param, Required, metric
from steelyard.metrics._words import Value, clip, first_known, power, ratio, when


def _between(value: Value, low: Value, high: Value, share: Value) -> Value:
    """100 at or below the lowest, 0 at or above the highest, else the fraction. The lowest is tested first."""
    return when(value <= low, 100.0, when(value >= high, 0.0, share * 100.0))


@metric(
    level="submission",
    title="Token efficiency",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula="100 x (max_tokens - total_tokens) / (max_tokens - min_tokens); "
    "100 at or below min_tokens, 0 at or above max_tokens",
    example=Example({"total_tokens": 5_000, "min_tokens": 1_000, "max_tokens": 9_000}, 50.0),
)
def token_efficiency_score(*, total_tokens: Required, min_tokens: Required, max_tokens: Required) -> Value:
    """Token use, scaled from the task's minimum (100) to its maximum (0)."""
    share = ratio(max_tokens - total_tokens, max_tokens - min_tokens, at_zero=0.0)
    return _between(total_tokens, min_tokens, max_tokens, share)


@metric(
    level="submission",
    title="Tool-call efficiency",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula=(
        "100 x (max_tool_calls - tool_calls) / (max_tool_calls - min_tool_calls);"
        " 100 up to min_tool_calls, 0 from max_tool_calls"
    ),
    example=Example({"tool_calls": 8, "min_tool_calls": 2, "max_tool_calls": 10}, 25.0),
)
def tool_call_efficiency_score(*, tool_calls: Required, min_tool_calls: Required, max_tool_calls: Required) -> Value:
    """Number of tool calls, scaled from the task's minimum (100) to its maximum (0)."""
    share = ratio(max_tool_calls - tool_calls, max_tool_calls - min_tool_calls, at_zero=0.0)
    return _between(tool_calls, min_tool_calls, max_tool_calls, share)


@metric(
    level="submission",
    title="Iteration efficiency",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula=(
        "one iteration: 100; up to the median: max(iteration_floor, 100 - iteration_step x (iterations - 1));"
        " above it: max(0, iteration_floor - iteration_over_step x (iterations - median_iterations))"
    ),
    example=Example({"iterations": 3, "median_iterations": 3}, 70.0),  # 100 - (3 - 1) x 15
)
def iteration_efficiency_score(
    *,
    iterations: Optional = None,
    median_iterations: Required,
    iteration_step: Param,
    iteration_floor: Param,
    iteration_over_step: Param,
) -> Value:
    """Number of iterations relative to the median. Unknown iterations count as one."""
    count = first_known(iterations, 1.0)
    within = clip(100.0 - (count - 1) * iteration_step, iteration_floor, 100.0)
    beyond = clip(iteration_floor - (count - median_iterations) * iteration_over_step, 0.0, 100.0)
    return when(count == 1, 100.0, when(count <= median_iterations, within, beyond))


@metric(
    level="submission",
    title="Efficiency",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula=(
        "token_efficiency_score x token_weight + tool_call_efficiency_score x tool_call_weight"
        " + iteration_efficiency_score x iteration_weight"
    ),
    example=Example(
        # 50 x 0.5 + 25 x 0.3 + 70 x 0.2
        {"token_efficiency_score": 50.0, "tool_call_efficiency_score": 25.0, "iteration_efficiency_score": 70.0},
        46.5,
    ),
)
def efficiency_score(
    *,
    token_efficiency_score: Required,
    tool_call_efficiency_score: Required,
    iteration_efficiency_score: Required,
    token_weight: Param,
    tool_call_weight: Param,
    iteration_weight: Param,
) -> Value:
    """Weighted mean of token, tool-call and iteration efficiency."""
    return (
        token_efficiency_score * token_weight
        + tool_call_efficiency_score * tool_call_weight
        + iteration_efficiency_score * iteration_weight
    )


@metric(
    level="submission",
    title="Speed",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula=(
        "100 x ((max_execution_time - execution_time) / (max_execution_time - min_execution_time)) ^ speed_exponent;"
        " 100 at or below min_execution_time, 0 at or above max_execution_time, unknown_speed_score if unknown"
    ),
    example=Example({"execution_time": 60.0, "min_execution_time": 60.0, "max_execution_time": 1800.0}, 100.0),
)
def speed_score(
    *,
    execution_time: Optional = None,
    min_execution_time: Required,
    max_execution_time: Required,
    speed_exponent: Param,
    unknown_speed_score: Param,
) -> Value:
    """Time, scaled from the task's minimum (100) to its maximum (0). A time of 0 counts as unknown."""
    time = first_known(execution_time, 0.0)
    share = ratio(max_execution_time - time, max_execution_time - min_execution_time, at_zero=0.0)
    # Both branches of `when` are evaluated, and a negative number has no real power.
    score = _between(time, min_execution_time, max_execution_time, power(clip(share, 0.0, 1.0), speed_exponent))
    return when(time == 0, unknown_speed_score, score)


@metric(
    level="submission",
    title="Cost",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula=(
        "100 x (max_cost - estimated_cost) / (max_cost - min_cost);"
        " 100 at or below min_cost, 0 at or above max_cost, unknown_cost_score if unknown"
    ),
    example=Example({"estimated_cost": 0.5, "min_cost": 0.25, "max_cost": 1.25}, 75.0),
)
def cost_score(
    *,
    estimated_cost: Optional = None,
    min_cost: Required,
    max_cost: Required,
    unknown_cost_score: Param,
) -> Value:
    """Cost, scaled from the task's minimum (100) to its maximum (0). A cost of 0 counts as unknown."""
    cost = first_known(estimated_cost, 0.0)
    share = ratio(max_cost - cost, max_cost - min_cost, at_zero=0.0)
    return when(cost == 0, unknown_cost_score, _between(cost, min_cost, max_cost, share))


@metric(
    level="submission",
    title="Correctness",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula="100 x criteria met / criteria of the task; 100 if the task has none",
    example=Example({"criteria_met": 3, "criteria_total": 4}, 75.0),
)
def correctness_score(*, criteria_met: Required, criteria_total: Required) -> Value:
    """Percentage of the task's success criteria that were met."""
    return ratio(criteria_met, criteria_total, at_zero=1.0) * 100.0


@metric(
    level="submission",
    title="Overall score",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula=(
        "efficiency_score x efficiency_weight + speed_score x speed_weight + cost_score x cost_weight"
        " + correctness_score x correctness_weight"
    ),
    example=Example(
        # 46.5 x 0.35 + 100 x 0.25 + 75 x 0.2 + 75 x 0.2
        {"efficiency_score": 46.5, "speed_score": 100.0, "cost_score": 75.0, "correctness_score": 75.0},
        71.275,
    ),
)
def overall_score(
    *,
    efficiency_score: Required,
    speed_score: Required,
    cost_score: Required,
    correctness_score: Required,
    efficiency_weight: Param,
    speed_weight: Param,
    cost_weight: Param,
    correctness_weight: Param,
) -> Value:
    """Weighted mean of efficiency, speed, cost and correctness.

    The weights are those of the task, else of its category, else the defaults.
    """
    return (
        efficiency_score * efficiency_weight
        + speed_score * speed_weight
        + cost_score * cost_weight
        + correctness_score * correctness_weight
    )


@metric(
    level="submission",
    title="Adjusted score",
    unit="points",
    better="higher",
    bounds=(0, 100),
    spec="arena",
    formula="min(100, overall_score x difficulty_factor)",
    example=Example({"overall_score": 95.0, "difficulty_factor": 1.2}, 100.0),
)
def adjusted_score(*, overall_score: Required, difficulty_factor: Param = 1.0) -> Value:
    """Overall score with a bonus for difficult tasks, reported separately."""
    return clip(overall_score * difficulty_factor, 0.0, 100.0)
