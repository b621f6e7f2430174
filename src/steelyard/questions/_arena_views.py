"""Arena: the commands that only look: tasks, leaderboard, leaders, evaluations, history, other profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard import arena as views
from steelyard.arena import RANKED_SCORES, Arena, Watch
from steelyard.errors import UnknownNameError
from steelyard.profiles import load_profile
from steelyard.questions._arena import opened, policy_named
from steelyard.records import end_of, microseconds_of
from steelyard.results import (
    AllLeaderboards,
    Leaderboard,
    LeaderKey,
    Policy,
    ProfileComparison,
    RankedScore,
    TaskLeaderboard,
    ToolBias,
    ToolMetrics,
)
from steelyard.statistics import check_level

LEADER_KEYS: dict[str, LeaderKey] = {"agent": "agent", "model": "model", "submitter": "submitter", "team": "team"}


def task_leaderboard(
    arena: Arena | str,
    task: str,
    *,
    policy: str | None = None,
    confidence: float | None = None,
    sort: str = "overall",
    top: int | None = None,
    until: str | None = None,
    submitter: str | None = None,
    metrics: Sequence[str] = (),
) -> TaskLeaderboard:
    """Return the leaderboard of a task, sorted by one score; `top` limits the number of entries.

    `until` selects the leaderboard at the end of a day or before a time, `submitter` the entries of one submitter, and
    `metrics` the tool metrics returned in `extra_scores`.
    """
    asked, by = _asked_policy(policy, confidence), _ranked_score(sort)
    last = None if until is None else microseconds_of(end_of(until, option="until")) - 1
    first = top if submitter is None else None
    shown = views.task_leaderboard(
        opened(arena), task, policy=asked, confidence=confidence, sort=by, top=first, until=last, metrics=metrics
    )
    if submitter is None:
        return shown
    own = [entry for entry in shown.leaderboard if entry.submitter == submitter]
    return replace(shown, leaderboard=tuple(own[:top]))


def all_leaderboards(
    arena: Arena | str,
    *,
    policy: str | None = None,
    confidence: float | None = None,
    sort: str = "overall",
    top: int | None = None,
) -> AllLeaderboards:
    """Return the leaderboards of all tasks."""
    arena = opened(arena)
    return AllLeaderboards(
        tasks=tuple(
            task_leaderboard(arena, task.id, policy=policy, confidence=confidence, sort=sort, top=top)
            for task in arena.tasks()
        )
    )


def leaderboard(
    arena: Arena | str,
    *,
    by: Sequence[str] = ("agent", "model"),
    policy: str | None = None,
    confidence: float | None = None,
    top: int | None = None,
) -> Leaderboard:
    """Return the leaderboard across all tasks and within each category."""
    asked = _asked_policy(policy, confidence)
    for name in by:
        if name not in LEADER_KEYS:
            raise UnknownNameError("key", name, LEADER_KEYS)
    keys = [LEADER_KEYS[name] for name in by]
    return views.leaderboard(opened(arena), by=keys, policy=asked, confidence=confidence).first(top)


def _asked_policy(policy: str | None, confidence: float | None) -> Policy | None:
    if confidence is not None:
        check_level(confidence)
    return policy_named(policy) if policy else None


def _ranked_score(name: str) -> RankedScore:
    for score in RANKED_SCORES:
        if score == name:
            return score
    raise UnknownNameError("score", name, RANKED_SCORES)


def tool_bias(arena: Arena | str, *, policy: str | None = None, confidence: float = 0.95) -> ToolBias:
    """Return the systematic advantages of agents across tasks."""
    return views.tool_bias(opened(arena), policy=_asked_policy(policy, confidence), confidence=confidence)


def compare_profiles(
    arena: Arena | str, first: str, second: str, *, task: str | None = None, movers: int = 10
) -> ProfileComparison:
    """Compare the ranks of the current submissions under two profiles."""
    pair = load_profile(first), load_profile(second)
    return views.compare_profiles(opened(arena), *pair, task_id=task, movers=movers)


def tool_metrics(arena: Arena | str, agent: str) -> ToolMetrics:
    """Return the metrics of one agent, with its submissions ranked against each other."""
    return views.tool_metrics(opened(arena), agent)


def watch_arena(arena: Arena | str) -> Watch:
    """Watch the arena from now on; `news()` returns the events since the last call."""
    return Watch(opened(arena))
