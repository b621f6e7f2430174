"""What looks too good to be true: the specification's outlier flags and its validation of evaluations."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.arena.scoring._rules import OutlierTable, ValidationTable
from steelyard.arena.scoring._scores import RANKED_SCORES

REVIEW = "manual_review"


SUSPECT = ("total_tokens", "execution_time", "tool_calls")
"""What flags are raised by."""


def outlier_flags(
    limits: OutlierTable, median_tokens: float, total_tokens: int, execution_time: float | None, tool_calls: int
) -> tuple[str, ...]:
    """The flags of one submission among others with this median. An unknown time is not a fast one."""
    is_frugal = total_tokens < median_tokens * limits.token_fraction_of_median
    is_fast = bool(execution_time) and execution_time is not None and execution_time < limits.fast_seconds
    is_minimal = tool_calls == limits.few_tool_calls
    raised = zip(FLAGS, (is_frugal, is_fast, is_minimal), strict=True)
    return tuple(flag for flag, is_raised in raised if is_raised)


def flags_of(
    limits: OutlierTable,
    medians: Sequence[float],
    tokens: Sequence[int],
    times: Sequence[float | None],
    calls: Sequence[int],
) -> list[tuple[str, ...]]:
    """`outlier_flags` of each row, with the median among the others of its task; most have none."""
    share, fast, few = limits.token_fraction_of_median, limits.fast_seconds, limits.few_tool_calls
    return [
        ()
        if count >= median * share and (not time or time >= fast) and call != few
        else outlier_flags(limits, median, count, time, call)
        for median, count, time, call in zip(medians, tokens, times, calls, strict=True)
    ]


FLAGS = ("extremely_efficient_tokens", "extremely_fast", "minimal_tool_usage")


def validate(scores: Sequence[float], total_tokens: int, limits: ValidationTable) -> tuple[list[str], list[str]]:
    """Return the impossible (errors) and suspicious (warnings) values of an evaluation, per the specification.

    The scores come in the order in which they are ranked: overall, efficiency, speed, cost, correctness.
    """
    errors = []
    if min(scores) < 0 or max(scores) > 100:
        named = zip(RANKED_SCORES, scores, strict=True)
        errors = [f"{name}_score out of range: {score}" for name, score in named if not 0 <= score <= 100]
    warnings = []
    if scores[1] > limits.high_score and scores[2] > limits.high_score:
        warnings.append("Suspicious: Both efficiency and speed scores are extremely high")
    if total_tokens < limits.low_tokens:
        warnings.append("Suspiciously low token count")
    return errors, warnings


def warnings_of(
    limits: ValidationTable, scores: Sequence[Sequence[float]], tokens: Sequence[int]
) -> list[tuple[str, ...]]:
    """The warnings of each row, its scores in ranked order; most have none."""
    high, low = limits.high_score, limits.low_tokens
    return [
        () if count >= low and (row[1] <= high or row[2] <= high) else tuple(validate(row, count, limits)[1])
        for row, count in zip(zip(*scores, strict=True), tokens, strict=True)
    ]
