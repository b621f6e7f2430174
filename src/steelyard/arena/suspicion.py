"""What looks too good to be true: the specification's outlier flags and its validation of evaluations."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.arena.rules import OutlierTable, ValidationTable
from steelyard.arena.scoring import RANKED

REVIEW = "manual_review"


SUSPECT = ("total_tokens", "execution_time", "tool_calls")
"""What flags are raised by."""


def outlier_flags(
    limits: OutlierTable, median_tokens: float, total_tokens: int, execution_time: float | None, tool_calls: int
) -> tuple[str, ...]:
    """The flags of one submission among others with this median. An unknown time is not a fast one."""
    is_frugal = total_tokens < median_tokens * limits.token_share_of_median
    is_fast = bool(execution_time) and execution_time is not None and execution_time < limits.fast_seconds
    is_minimal = tool_calls == limits.few_tool_calls
    if not (is_frugal or is_fast or is_minimal):
        return ()
    raised = zip(FLAGS, (is_frugal, is_fast, is_minimal), strict=True)
    return tuple(flag for flag, is_raised in raised if is_raised)


FLAGS = ("extremely_efficient_tokens", "extremely_fast", "minimal_tool_usage")


def validate(scores: Sequence[float], total_tokens: int, limits: ValidationTable) -> tuple[list[str], list[str]]:
    """What is impossible about an evaluation (errors) and what is suspicious (warnings), as the specification says.

    The scores come in the order in which they are ranked: overall, efficiency, speed, cost, correctness.
    """
    errors = []
    if min(scores) < 0 or max(scores) > 100:
        named = zip(RANKED, scores, strict=True)
        errors = [f"{name}_score out of range: {score}" for name, score in named if not 0 <= score <= 100]
    warnings = []
    if scores[1] > limits.high_score and scores[2] > limits.high_score:
        warnings.append("Suspicious: Both efficiency and speed scores are extremely high")
    if total_tokens < limits.low_tokens:
        warnings.append("Suspiciously low token count")
    return errors, warnings
