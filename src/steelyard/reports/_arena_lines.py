"""The arena as lines of text: receipts, evaluations, history, changes, and what other rules would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.formatting import counted
from steelyard.pages import DASH
from steelyard.results import (
    Leader,
    ProfileComparison,
    ToolBias,
)

REPORTS_FAILURE = "reports failure"
"""Note of a submission that reports its own failure: without criteria its scores do not show it."""


def unreported_text(names: Sequence[str]) -> str:
    """What a submission leaves out and is scored by a default for; nothing where it states cost and time.

    >>> unreported_text(["estimated_cost", "success"])
    'reported cost (scored 50)'
    """
    words = {"estimated_cost": "cost", "execution_time": "time"}
    unreported = [word for name, word in words.items() if name in names]
    return f"reported {' or '.join(unreported)} (scored 50)" if unreported else ""


def leader_unreported_text(leader: Leader) -> str:
    """How many submissions of a leader are scored by a default; nothing where none is."""
    if not leader.unreported:
        return ""
    unreported = unreported_text(["estimated_cost", "execution_time"])
    return f"{leader.unreported:,} of {counted(leader.submissions, 'submission')} without a {unreported}"


def bias_line(bias: ToolBias) -> str:
    """Return the number of tools with a systematic advantage or disadvantage."""
    shown = sum(bool(tool.systematic) for tool in bias.advantages)
    tools = counted(len(bias.advantages), "tool")
    return f"{shown:,} of {tools} {'has' if shown == 1 else 'have'} a systematic advantage or disadvantage."


def profile_lines(comparison: ProfileComparison) -> Iterator[str]:
    """How ranks move between two profiles."""
    shown = DASH if comparison.mean_kendall_tau is None else f"{comparison.mean_kendall_tau:.4f}"
    yield (
        f"{comparison.first} -> {comparison.second}: {counted(comparison.submissions, 'submission')},"
        f" mean Kendall's tau {shown}"
    )
    for task in comparison.tasks:
        tau = f"no tau ({task.reason})" if task.kendall_tau is None else f"tau {task.kendall_tau:.4f}"
        lead = ", new leader" if task.leader_changes else ""
        yield f"    {task.task_id}: {tau}, {task.changed} of {task.n} ranks change{lead}"
    for mover in comparison.movers:
        yield (
            f"    {mover.task_id}  {mover.submission_id}  rank {mover.first_ranking} -> {mover.second_ranking},"
            f" score {mover.first_score:.2f} -> {mover.second_score:.2f}"
        )
