"""What an arena answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from steelyard.questions import (
    ArenaSource,
    leaderboard,
    task_leaderboard,
    tool_bias,
    tool_metrics,
)
from steelyard.results import (
    Leaderboard,
    TaskLeaderboard,
    ToolBias,
    ToolMetrics,
)
from steelyard.server._question_routes import question_route
from steelyard.server._route import Listed, Paged, Query, Repeated, Route

Values = Mapping[str, str]
PolicyName = Annotated[str | None, Meta(description="`current` or `as-submitted` (default: the policy of the arena).")]
Mine = Annotated[bool, Meta(description="Only submissions by the token owner; requires a token.")]
Confidence = Annotated[float | None, Meta(description="Confidence level, between 0 and 1.")]


class TaskLeaderboardQuery(Paged, frozen=True, kw_only=True):
    """Filters and options for the leaderboard of a task."""

    filters: ClassVar[tuple[str, ...]] = ("agent", "model", "submitter")
    agent: Annotated[Repeated, Meta(description="Only submissions of these agents.")] = ()
    model: Annotated[Repeated, Meta(description="Only submissions of these models.")] = ()
    submitter: Annotated[Repeated, Meta(description="Only submissions of these submitters.")] = ()
    mine: Mine = False
    policy: PolicyName = None
    confidence: Confidence = None
    score: Annotated[str, Meta(description="Score to rank by: overall, efficiency, speed, cost or correctness.")] = (
        "overall"
    )
    until: Annotated[
        str | None, Meta(description="The leaderboard at the end of this day, or just before this time.")
    ] = None
    metrics: Annotated[
        Listed, Meta(description="Tool metrics defined by the profile, returned in `extra_scores`.")
    ] = ()


class LeadersQuery(Query, frozen=True, kw_only=True):
    """Grouping of the leaderboard."""

    by: Annotated[Listed, Meta(description="Group by agent, model, submitter or team.")] = ("agent", "model")
    policy: PolicyName = None
    confidence: Confidence = None


class BiasQuery(Query, frozen=True, kw_only=True):
    """Policy and confidence level."""

    policy: PolicyName = None
    confidence: Annotated[float, Meta(description="Confidence level, between 0 and 1.")] = 0.95


def _task_leaderboard(source: ArenaSource, values: Values, query: TaskLeaderboardQuery) -> TaskLeaderboard:
    return task_leaderboard(
        source.arena,
        values["task"],
        policy=query.policy,
        confidence=query.confidence,
        sort=query.score,
        until=query.until,
        metrics=query.metrics,
    )


TASK = question_route("arena_task_show", page="")
SUBMISSION = question_route("arena_show")

ARENA_ROUTES = (
    question_route("arena_task_list"),
    TASK,
    Route(
        path="/tasks/{task}/leaderboard",
        sentence="Leaderboard of a task: ranks, percentiles, flags, default values and unverified claims.",
        command="arena leaderboard {task}",
        result=TaskLeaderboard,
        query=TaskLeaderboardQuery,
        rows="leaderboard",
        page="/tasks/{task}",
        over_arena=_task_leaderboard,
    ),
    question_route("arena_history"),
    question_route("arena_history", path="/tasks/{task}/history"),
    question_route("arena_changes"),
    SUBMISSION,
    Route(
        path="/leaderboard",
        sentence="Leaderboard across all tasks and within each category.",
        command="arena leaderboard",
        result=Leaderboard,
        query=LeadersQuery,
        page="",
        over_arena=lambda source, _values, query: leaderboard(
            source.arena, by=query.by, policy=query.policy, confidence=query.confidence
        ),
    ),
    Route(
        path="/bias",
        sentence="Systematic advantages of agents across tasks, with confidence intervals.",
        command="arena bias",
        result=ToolBias,
        query=BiasQuery,
        over_arena=lambda source, _values, query: tool_bias(
            source.arena, policy=query.policy, confidence=query.confidence
        ),
    ),
    question_route("arena_model_abilities"),
    question_route("arena_model_predict"),
    question_route("arena_model_correctness"),
    question_route("arena_review_log"),
    question_route("arena_user_list"),
    question_route("arena_rating_pending"),
    question_route("arena_rating_list"),
    question_route("arena_season_list"),
    question_route("arena_season_show"),
    Route(
        path="/agents/{agent}",
        sentence="Metrics of one agent, with its submissions ranked against each other.",
        command="arena leaderboard --agent {agent}",
        result=ToolMetrics,
        over_arena=lambda source, values, _query: tool_metrics(source.arena, values["agent"]),
    ),
    question_route("arena_model_weights"),
    question_route("arena_review_list", page="/review"),
)
