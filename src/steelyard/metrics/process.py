"""Process of the agent (outcome specification, "Process Metrics")."""

from __future__ import annotations

from steelyard.metrics._declare import Example, Required, metric
from steelyard.metrics._words import Value, missing, ratio

_NO_STEPS = "no steps were expected"
_NO_ACTIONS = "there were no actions"
_NO_CHANGES = "there were no changes"


@metric(
    level="run",
    title="Progress rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="achieved_weighted_steps / expected_weighted_steps",
    example=Example({"achieved_weighted_steps": 3.0, "expected_weighted_steps": 4.0}, 0.75),
)
def r_prog(*, achieved_weighted_steps: Required, expected_weighted_steps: Required) -> Value:
    """Weighted fraction of the expected steps that were achieved. Unexpected steps do not count."""
    return ratio(achieved_weighted_steps, expected_weighted_steps, at_zero=missing(_NO_STEPS))


@metric(
    level="run",
    title="Progress rate, equal weights",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="achieved_steps / expected_steps",
    example=Example({"achieved_steps": 1, "expected_steps": 4}, 0.25),
)
def r_prog_simple(*, achieved_steps: Required, expected_steps: Required) -> Value:
    """Fraction of the expected steps that were achieved."""
    return ratio(achieved_steps, expected_steps, at_zero=missing(_NO_STEPS))


@metric(
    level="run",
    title="Strategic drift",
    unit="fraction",
    better="lower",
    bounds=(0, 1),
    spec="outcome",
    formula="1 - sum(goal_alignment x weight) / sum(weight)",
    example=Example({"aligned_weight": 3.0, "action_weight": 4.0}, 0.25),
)
def strategic_drift(*, aligned_weight: Required, action_weight: Required) -> Value:
    """Weighted deviation of the actions from the goal."""
    return 1 - ratio(aligned_weight, action_weight, at_zero=missing(_NO_ACTIONS))


@metric(
    level="run",
    title="Strategic drift, binary",
    unit="fraction",
    better="lower",
    bounds=(0, 1),
    spec="outcome",
    formula="1 - goal_aligned_actions / total_actions",
    example=Example({"goal_aligned_actions": 4, "total_actions": 5}, 0.19999999999999996),
)
def strategic_drift_simple(*, goal_aligned_actions: Required, total_actions: Required) -> Value:
    """Fraction of actions that are not aligned with the goal."""
    return 1 - ratio(goal_aligned_actions, total_actions, at_zero=missing(_NO_ACTIONS))


@metric(
    level="run",
    title="Change fail percentage",
    unit="fraction",
    better="lower",
    bounds=(0, 1),
    spec="outcome",
    formula="failed_changes / total_changes",
    example=Example({"failed_changes": 1, "total_changes": 10}, 0.1),
)
def cfp(*, failed_changes: Required, total_changes: Required) -> Value:
    """Fraction of the changes that caused a failure."""
    return ratio(failed_changes, total_changes, at_zero=missing(_NO_CHANGES))


@metric(
    level="run",
    title="Change revert rate",
    unit="fraction",
    better="lower",
    bounds=(0, 1),
    spec="outcome",
    formula="reverted_changes / total_changes",
    example=Example({"reverted_changes": 1, "total_changes": 4}, 0.25),
)
def pr_revert_rate(*, reverted_changes: Required, total_changes: Required) -> Value:
    """Fraction of the changes that reviewers rejected or reverted."""
    return ratio(reverted_changes, total_changes, at_zero=missing(_NO_CHANGES))
