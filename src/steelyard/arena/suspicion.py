"""What looks too good to be true: the specification's outlier flags and its validation of evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.arena.rules import OutlierTable, ValidationTable
from steelyard.arena.scoring import RANKED

REVIEW = "manual_review"


def outlier_flags(facts: Mapping[str, Any], median_tokens: float, limits: OutlierTable) -> tuple[str, ...]:
    """The flags of one submission. An unknown time is not a fast one. Any: facts, None where unknown."""
    flags = []
    if facts["total_tokens"] < median_tokens * limits.token_share_of_median:
        flags.append("extremely_efficient_tokens")
    if facts["execution_time"] and facts["execution_time"] < limits.fast_seconds:
        flags.append("extremely_fast")
    if facts["tool_calls"] == limits.few_tool_calls:
        flags.append("minimal_tool_usage")
    return tuple(flags)


def validate(scores: Mapping[str, float], total_tokens: int, limits: ValidationTable) -> tuple[list[str], list[str]]:
    """What is impossible about an evaluation (errors) and what is suspicious (warnings), as the specification says."""
    errors = [
        f"{name}_score out of range: {scores[f'{name}_score']}"
        for name in RANKED
        if not 0 <= scores[f"{name}_score"] <= 100
    ]
    warnings = []
    if scores["efficiency_score"] > limits.high_score and scores["speed_score"] > limits.high_score:
        warnings.append("Suspicious: Both efficiency and speed scores are extremely high")
    if total_tokens < limits.low_tokens:
        warnings.append("Suspiciously low token count")
    return errors, warnings
