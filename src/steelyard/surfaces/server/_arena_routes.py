"""What an arena answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from steelyard.results import (
    AbilityRanking,
    Assignments,
    CorrectnessEstimates,
    Evaluation,
    Leaderboard,
    LeaderboardChanges,
    Outliers,
    PeerReview,
    PredictedScores,
    Registry,
    ReviewDesk,
    ReviewLog,
    ScoreHistory,
    Season,
    Seasons,
    TaskDetails,
    TaskLeaderboard,
    TaskList,
    ToolBias,
    ToolMetrics,
    WeightVersions,
)
from steelyard.surfaces.server._route import Listed, Paged, Query, Repeated, Route
from steelyard.workflow import (
    ArenaSource,
    abilities,
    correctness,
    leaderboard,
    leaderboard_changes,
    list_tasks,
    list_users,
    outliers,
    pending_ratings,
    predict,
    ratings,
    review_desk,
    review_log,
    score_history,
    seasons,
    show_season,
    show_submission,
    show_task,
    task_leaderboard,
    tool_bias,
    tool_metrics,
    weights,
)

Values = Mapping[str, str]
PolicyName = Annotated[
    str | None, Meta(description="`current` or `as-submitted`; the arena's own unless another is named.")
]
Mine = Annotated[bool, Meta(description="Only what the holder of the token submitted; it takes a token.")]
Confidence = Annotated[float | None, Meta(description="The confidence level of intervals, as a fraction.")]


class TasksQuery(Paged, frozen=True, kw_only=True):
    """Which tasks."""

    filters: ClassVar[tuple[str, ...]] = ("category", "difficulty")
    category: Annotated[Repeated, Meta(description="Only tasks of these categories.")] = ()
    difficulty: Annotated[Repeated, Meta(description="Only tasks of these difficulties.")] = ()


class TaskLeaderboardQuery(Paged, frozen=True, kw_only=True):
    """Which leaderboard of a task."""

    filters: ClassVar[tuple[str, ...]] = ("agent", "model", "submitter")
    agent: Annotated[Repeated, Meta(description="Only submissions of these tools.")] = ()
    model: Annotated[Repeated, Meta(description="Only submissions of these models.")] = ()
    submitter: Annotated[Repeated, Meta(description="Only submissions of these submitters.")] = ()
    mine: Mine = False
    policy: PolicyName = None
    confidence: Confidence = None
    score: Annotated[
        str, Meta(description="The score whose ranks come first: overall, efficiency, speed, cost, correctness.")
    ] = "overall"
    until: Annotated[str | None, Meta(description="As they stood at the end of this day, or before this time.")] = None
    metrics: Annotated[Listed, Meta(description="Metrics that the profile names for tools, in `extra_scores`.")] = ()


class LeadersQuery(Query, frozen=True, kw_only=True):
    """Who leads by what."""

    by: Annotated[Listed, Meta(description="What to rank: agent, model, submitter, team.")] = ("agent", "model")
    policy: PolicyName = None
    confidence: Confidence = None


class BiasQuery(Query, frozen=True, kw_only=True):
    """By which policy, and how surely."""

    policy: PolicyName = None
    confidence: Annotated[float, Meta(description="The confidence level of intervals, as a fraction.")] = 0.95


class LogQuery(Paged, frozen=True, kw_only=True):
    """Of which task."""

    task: Annotated[str | None, Meta(description="Only decisions about submissions to this task.")] = None


class HistoryQuery(Paged, frozen=True, kw_only=True):
    """Whose scores over time."""

    submitter: Annotated[str | None, Meta(description="Only scores of this submitter.")] = None
    team: Annotated[str | None, Meta(description="Only scores of the people of this team.")] = None
    mine: Mine = False


class UsersQuery(Paged, frozen=True, kw_only=True):
    """Of which kind."""

    kind: Annotated[str | None, Meta(description="Only this kind: person, team or tool.")] = None


class AssignmentsQuery(Paged, frozen=True, kw_only=True):
    """Whose, and of which task."""

    reviewer: Annotated[str | None, Meta(description="Only what this reviewer is to rate.")] = None
    task: Annotated[str | None, Meta(description="Only this task.")] = None


class RatingsQuery(Query, frozen=True, kw_only=True):
    """Ratings of what."""

    task: Annotated[str | None, Meta(description="Only ratings of submissions to this task.")] = None
    criterion: Annotated[str | None, Meta(description="Ratings of this; of submissions as a whole if not given.")] = (
        None
    )
    confidence: Annotated[float, Meta(description="The confidence level of intervals, as a fraction.")] = 0.95


class ChangesQuery(Query, frozen=True, kw_only=True):
    """Since when."""

    since: Annotated[str, Meta(description="A day or a time.")]
    task: Annotated[str | None, Meta(description="Only this task.")] = None


class EvaluationQuery(Query, frozen=True, kw_only=True):
    """What of an evaluation."""

    score: Annotated[str | None, Meta(description="Explain only this score.")] = None


class OutliersQuery(Paged, frozen=True, kw_only=True):
    """Of which task."""

    task: Annotated[str | None, Meta(description="Only this task.")] = None


VersionNumber = Annotated[int | None, Meta(description="The version by its number; the latest unless one is named.")]


class VersionQuery(Query, frozen=True, kw_only=True):
    """Model version to show."""

    version: VersionNumber = None


class CorrectnessQuery(VersionQuery, frozen=True, kw_only=True):
    """Model version and task."""

    task: Annotated[
        str | None, Meta(description="A task without tests, to predict the correctness of its submissions.")
    ] = None


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


TASK = Route(
    path="/tasks/{task}",
    sentence="A task with its baseline, overall and of each tool and model.",
    verb="arena task show {task}",
    result=TaskDetails,
    page="",
    over_arena=lambda source, values, _query: show_task(source.arena, values["task"]),
)
SUBMISSION = Route(
    path="/submissions/{submission}",
    sentence="One submission, explained: each score with its formula, inputs and constants.",
    verb="arena show {submission}",
    result=Evaluation,
    query=EvaluationQuery,
    over_arena=lambda source, values, query: show_submission(source.arena, values["submission"], score=query.score),
)
SEASON = Route(
    path="/seasons/{season}",
    sentence="A season with its public manifest: rules, digests and numbers of all that counted, every exclusion.",
    verb="arena season show {season}",
    result=Season,
    over_arena=lambda source, values, _query: show_season(source.arena, values["season"]),
)

ARENA_ROUTES = (
    Route(
        path="/tasks",
        sentence="Every task of the arena, in the order in which they were added.",
        verb="arena task list",
        result=TaskList,
        query=TasksQuery,
        rows="tasks",
        over_arena=lambda source, _values, _query: list_tasks(source.arena),
    ),
    TASK,
    Route(
        path="/tasks/{task}/leaderboard",
        sentence="Who leads a task: ranks with ties, percentiles, flags, what was defaulted or claimed.",
        verb="arena leaderboard {task}",
        result=TaskLeaderboard,
        query=TaskLeaderboardQuery,
        rows="leaderboard",
        page="/tasks/{task}",
        over_arena=_task_leaderboard,
    ),
    Route(
        path="/tasks/{task}/history",
        sentence="The scores of a task in the order in which they were submitted, and their trend.",
        verb="arena history --task {task}",
        result=ScoreHistory,
        query=HistoryQuery,
        rows="moments",
        over_arena=lambda source, values, query: score_history(
            source.arena, task=values["task"], submitter=query.submitter, team=query.team
        ),
    ),
    Route(
        path="/history",
        sentence="The scores of all tasks in the order in which they were submitted, and their trend.",
        verb="arena history",
        result=ScoreHistory,
        query=HistoryQuery,
        rows="moments",
        over_arena=lambda source, _values, query: score_history(
            source.arena, submitter=query.submitter, team=query.team
        ),
    ),
    Route(
        path="/changes",
        sentence="What changed on the leaderboard since a moment.",
        verb="arena history",
        result=LeaderboardChanges,
        query=ChangesQuery,
        over_arena=lambda source, _values, query: leaderboard_changes(source.arena, since=query.since, task=query.task),
    ),
    SUBMISSION,
    Route(
        path="/leaderboard",
        sentence="Who leads across all tasks and within each category.",
        verb="arena leaderboard",
        result=Leaderboard,
        query=LeadersQuery,
        page="",
        over_arena=lambda source, _values, query: leaderboard(
            source.arena, by=query.by, policy=query.policy, confidence=query.confidence
        ),
    ),
    Route(
        path="/bias",
        sentence="Whether a tool does systematically better or worse than the others across tasks.",
        verb="arena bias",
        result=ToolBias,
        query=BiasQuery,
        page="",
        over_arena=lambda source, _values, query: tool_bias(
            source.arena, policy=query.policy, confidence=query.confidence
        ),
    ),
    Route(
        path="/abilities",
        sentence="Tools by ability, adjusted for task difficulty, and tasks by difficulty.",
        verb="arena model abilities",
        result=AbilityRanking,
        query=VersionQuery,
        over_arena=lambda source, _values, query: abilities(source.arena, version=query.version),
    ),
    Route(
        path="/tasks/{task}/predictions",
        sentence="Predicted score of every tool on a task, with prediction intervals.",
        verb="arena model predict {task}",
        result=PredictedScores,
        query=VersionQuery,
        over_arena=lambda source, values, query: predict(source.arena, values["task"], version=query.version),
    ),
    Route(
        path="/correctness",
        sentence="Probability that a submission without tests is correct: calibration, coefficients, predictions.",
        verb="arena model correctness",
        result=CorrectnessEstimates,
        query=CorrectnessQuery,
        over_arena=lambda source, _values, query: correctness(source.arena, query.task, version=query.version),
    ),
    Route(
        path="/reviews",
        sentence="The public log of decisions about submissions: what, by whom, when and why.",
        verb="arena review log",
        result=ReviewLog,
        query=LogQuery,
        rows="reviews",
        page="",
        over_arena=lambda source, _values, query: review_log(source.arena, query.task),
    ),
    Route(
        path="/users",
        sentence="People, teams and tools that are registered.",
        verb="arena user list",
        result=Registry,
        query=UsersQuery,
        rows="parties",
        over_arena=lambda source, _values, query: list_users(source.arena, query.kind),
    ),
    Route(
        path="/assignments",
        sentence="Who is to rate what, blinded: an entry's name does not tell whose it is.",
        verb="arena rating pending",
        result=Assignments,
        query=AssignmentsQuery,
        rows="assignments",
        over_arena=lambda source, _values, query: pending_ratings(
            source.arena, reviewer=query.reviewer, task=query.task
        ),
    ),
    Route(
        path="/ratings",
        sentence="Ratings adjusted for reviewer severity, agreement, and who deviates; blinded.",
        verb="arena rating list",
        result=PeerReview,
        query=RatingsQuery,
        over_arena=lambda source, _values, query: ratings(
            source.arena, query.task, criterion=query.criterion, confidence=query.confidence
        ),
    ),
    Route(
        path="/seasons",
        sentence="Every season that was frozen, with the digest of its manifest.",
        verb="arena season list",
        result=Seasons,
        query=Paged,
        rows="seasons",
        over_arena=lambda source, _values, _query: seasons(source.arena),
    ),
    SEASON,
    Route(
        path="/agents/{agent}",
        sentence="What the profile measures of one tool, each submission ranked within the tool.",
        verb="arena leaderboard --agent {agent}",
        result=ToolMetrics,
        over_arena=lambda source, values, _query: tool_metrics(source.arena, values["agent"]),
    ),
    Route(
        path="/weights",
        sentence="Versions of the weights fitted to ratings.",
        verb="arena model weights",
        result=WeightVersions,
        over_arena=lambda source, _values, _query: weights(source.arena),
    ),
    Route(
        path="/outliers",
        sentence="Submissions that look too good and wait for a review.",
        verb="arena review list",
        result=Outliers,
        query=OutliersQuery,
        rows="outliers",
        page="",
        over_arena=lambda source, _values, query: outliers(source.arena, query.task),
    ),
    Route(
        path="/review",
        sentence="What waits for a review, tools with an advantage, and the log of every decision with its reason.",
        verb="arena review list",
        result=ReviewDesk,
        over_arena=lambda source, _values, _query: review_desk(source.arena),
    ),
)
