"""Parts of answers about an arena: the arena fills them, and questions return them."""

from __future__ import annotations

from typing import Literal

import msgspec

from steelyard.formatting import counted
from steelyard.grading import CriterionResult
from steelyard.profiles import Constant
from steelyard.records import Task

Status = Literal["accepted", "known", "excluded"]


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A stored submission with its score and rank at that time."""

    submission_id: str
    task_id: str
    status: Status
    """`accepted`: new; `known`: accepted before and not counted again; `excluded`: accepted before, and excluded by a
    reviewer or withdrawn by its submitter."""
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    overall_ranking: int | None
    """Competition rank in the task when accepted (if `known`, now); None if excluded."""
    percentile: float | None
    """Percentage of the task's scores strictly below; None if excluded."""
    baseline_version: int
    """The baseline version of the scores."""
    defaulted: tuple[str, ...] = ()
    """Unknown fields that are scored by a default."""
    claimed: tuple[str, ...] = ()
    """Types of the criteria that are based only on claims of the submitter."""
    flags: tuple[str, ...] = ()
    """Outlier flags; two or more recommend a manual review."""
    warnings: tuple[str, ...] = ()
    """Warnings of the evaluation."""
    lower_bounds: tuple[str, ...] = ()
    """Counts that are lower bounds, so scores based on them are too high."""
    recommended_action: str | None = None
    """`manual_review` if the flags recommend it and no reviewer has accepted or excluded the submission."""


Decision = Literal["accepted", "excluded", "withdrawn", "reinstated"]
"""`withdrawn` is an exclusion by the submitter; `reinstated` reverts an exclusion."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A logged decision on a submission."""

    submission_id: str
    task_id: str
    decision: Decision
    by: str | None
    """The reviewer; None if not given."""
    reason: str | None
    """The reason; required only for an exclusion by a reviewer."""
    decided_at: str

    @property
    def sentence(self) -> str:
        """The decision with who made it, when and why."""
        who = f" by {self.by}" if self.by else ""
        why = f": {self.reason}" if self.reason else "."
        return f"{self.submission_id} in {self.task_id} was {self.decision}{who} on {self.decided_at[:10]}{why}"


Policy = Literal["current", "as-submitted"]
"""`current`: all scores use one baseline version; `as-submitted`: submissions keep their original scores."""
RankedScore = Literal["overall", "efficiency", "speed", "cost", "correctness"]
LeaderKey = Literal["agent", "model", "submitter", "team"]
IntervalMethod = Literal["arena", "student", "gaffke", "too few"]


class ScoreInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Mean score with its confidence interval and method."""

    estimate: float | None
    """The mean; None without scores."""
    low: float
    high: float
    level: float
    n: int
    """Number of values: scores within a task, or tasks across tasks."""
    method: IntervalMethod
    """`arena`: multipliers of the specification; `student`: Student's t; `gaffke`: bounded mean near 0 or 100;
    `too few` values: the whole range."""


class ScoredBy(msgspec.Struct, frozen=True, kw_only=True):
    """Number of scores per profile."""

    profile: str
    since: str | None
    """When the profile took effect, because two profiles may have the same name; None if unknown."""
    submissions: int


class LeaderboardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Leaderboard entry of a submission, with the field names of the specification."""

    submission_id: str
    task_id: str
    overall_ranking: int
    percentile: float
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    efficiency_ranking: int
    speed_ranking: int
    cost_ranking: int
    correctness_ranking: int
    baseline_version: int
    defaulted: tuple[str, ...]
    claimed: tuple[str, ...]
    """Types of the criteria that are based only on claims of the submitter."""
    lower_bounds: tuple[str, ...]
    """Counts that are lower bounds, so scores based on them are too high."""
    flags: tuple[str, ...]
    recommended_action: str | None
    """`manual_review` if flags recommend it and no reviewer has accepted the submission."""
    warnings: tuple[str, ...]
    agent: str | None
    model: str | None
    submitter: str | None
    submitted_at: str
    evaluated_at: str
    total_tokens: int
    tool_calls: int
    iterations: int | None
    execution_time: float | None
    estimated_cost: float | None
    success: bool | None
    """Success as reported by the submission; None if not reported. Without criteria, no score depends on it."""
    profile: str
    """The profile of the scores; under `as-submitted`, the one at the time of submission."""
    breakdown: dict[str, float]
    """Weights of the four scores in the overall score."""
    extra_scores: dict[str, float | None] = {}
    """Scores in addition to those of the specification, by name; empty if the profile enables none."""

    @property
    def hides_failure(self) -> bool:
        """Whether it reports failure but its correctness is 100, as in a task without criteria."""
        return self.success is False and self.correctness_score == 100.0


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with several outlier flags."""

    submission_id: str
    task_id: str
    flags: tuple[str, ...]
    recommended_action: str


class ScoreReason(msgspec.Struct, frozen=True, kw_only=True):
    """A score with its formula and inputs."""

    name: str
    title: str
    value: float
    """Rounded to two decimals, as on leaderboards."""
    unrounded: float
    formula: str
    inputs: dict[str, float | None]
    """Inputs, baseline bounds and other scores; None if unknown."""
    constants: dict[str, float]


class ExtraScore(msgspec.Struct, frozen=True, kw_only=True):
    """A score in addition to those of the specification, with its formula and inputs."""

    name: str
    value: float | None
    version: int
    """The model version that it is based on."""
    formula: str
    inputs: dict[str, float | None]
    constants: dict[str, float]
    reason: str | None
    """An additional note; None if there is none."""


class ScoredSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with an explanation of its scores."""

    receipt: Receipt
    profile: str
    """The profile of the scores; under `as-submitted`, the one at the time of submission."""
    policy: Policy
    submitted_at: str
    accepted_at: str
    agent: str | None
    model: str | None
    submitter: str | None
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None
    scores: tuple[ScoreReason, ...]
    sources: dict[str, str]
    """Source of each number: the submission, the criteria, the baseline, defaults, ..."""
    reviews: tuple[Review, ...]
    """Review decisions, in order."""
    extra_scores: tuple[ExtraScore, ...]
    """Scores in addition to those of the specification; none unless the profile enables them."""


class ArenaEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Event sent to notification targets."""

    event_id: str
    """Event id, identical if the event is sent again."""
    kind: str
    created_at: str
    submission_id: str
    task_id: str
    submitter: str | None
    agent: str | None
    model: str | None
    overall_score: float
    overall_ranking: int
    """Rank at that time, like score, percentile, version and flags; for an exclusion, before it."""
    percentile: float
    baseline_version: int
    flags: tuple[str, ...] = ()
    """Outlier flags."""
    previous_ranking: int | None = None
    """The lost rank; None for other events."""
    cause_submission_id: str | None = None
    """The submission that caused the loss, by being accepted (the best of a batch) or rated."""
    rating_number: int | None = None
    """Number of the rating that caused the event; None otherwise."""
    decision: Decision | None = None
    """The review decision that caused the event; None otherwise."""
    by: str | None = None
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """The event in one line."""
        what = self.kind.removeprefix("submission.").replace("_", " ")
        before = "" if self.previous_ranking is None else f" (was {self.previous_ranking})"
        who = f"  by {self.by}" if self.by else ""
        who += f"  by a rating of {self.cause_submission_id}" if self.rating_number is not None else ""
        why = f": {self.reason}" if self.reason else ""
        return (
            f"{self.task_id}  {self.submission_id}  {self.overall_score:.2f}  rank {self.overall_ranking}{before}"
            f"  percentile {self.percentile}{'' if what == 'evaluated' else f'  {what}'}{who}{why}"
        )


Key = dict[str, str | None]
"""Key of an agent: agent and model, or the one that the profile groups by."""


class IntervalEstimate(msgspec.Struct, frozen=True):
    """Estimate with its interval, at the confidence level of the model version."""

    estimate: float
    low: float
    high: float


class ToolAbility(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, by its ability and by its plain mean."""

    key: Key
    rank: int
    """By ability; equal abilities share a rank."""
    ability: IntervalEstimate
    """The predicted overall score on an average task, adjusted for the difficulty of the tasks attempted."""
    mean_rank: int
    """By the plain mean."""
    mean_score: float
    """The mean over its tasks of its mean overall score, as on the leaderboard."""
    correctness_ability: IntervalEstimate | None
    """Ability in correctness: 0 is the mean of all agents, 1 one standard deviation; None without criteria."""
    tasks: int
    submissions: int


class TaskDifficulty(msgspec.Struct, frozen=True, kw_only=True):
    """Level, difficulty and discrimination of a task."""

    task_id: str
    submissions: int
    level: IntervalEstimate
    """The predicted overall score of an average agent."""
    shrinkage: float
    """Overall score minus shrunken score, in score points; larger for tasks with fewer submissions."""
    difficulty: IntervalEstimate | None
    """The correctness ability at which half of the submissions are correct; None without criteria."""
    discrimination: IntervalEstimate | None
    """The slope at that ability, in logits; None without criteria."""


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """Submission whose score is far from the prediction for its agent and task."""

    submission_id: str
    task_id: str
    key: Key
    overall_score: float
    predicted: float
    standardized_residual: float
    """Score minus prediction, in standard deviations of a prediction."""


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a version of the ability model."""

    reason: str | None
    """Why no model could be fitted; None if one was."""
    by: tuple[str, ...] = ()
    confidence: float = 0.95
    policy: str = ""
    submissions: int = 0
    """Submissions in the fit: those that are included and name their agent."""
    unnamed: int = 0
    """Submissions excluded because they do not name their agent."""
    few_submissions: int = 0
    residual_sd: float = 0.0
    """Standard deviation of a score around its prediction."""
    repeat_correlation: float = 0.0
    """Intraclass correlation of repeated submissions of an agent to a task."""
    prediction_quantiles: tuple[float, float] = (0.0, 0.0)
    """Bounds of a prediction interval, in standard deviations of a prediction."""
    dispersion: float | None = None
    """Overdispersion of correctness between pairs of agent and task; None without criteria."""
    tools: tuple[ToolAbility, ...] = ()
    """By rank."""
    tasks: tuple[TaskDifficulty, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    """The largest first."""


class Coefficient(msgspec.Struct, frozen=True, kw_only=True):
    """One feature of the model of correctness."""

    feature: str
    meaning: str
    coefficient: float
    """Change in the logit of being correct per standard deviation of the feature."""
    mean: float
    deviation: float
    known: int
    """Number of examples in which the feature is known. It contributes nothing to the others."""


class CalibrationBin(msgspec.Struct, frozen=True, kw_only=True):
    """Held-out examples of similar predicted probability."""

    low: float
    high: float
    n: int
    predicted: float
    """Mean predicted probability."""
    observed: float
    """Fraction that passed the tests."""
    observed_low: float
    observed_high: float


class ToolRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Pass rate of an agent per task category, as shrunken logits."""

    key: Key
    logits: dict[str, float]


class CorrectnessModel(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a version of the correctness model."""

    reason: str | None
    """Why no model could be fitted; None if one was."""
    by: tuple[str, ...] = ()
    examples: int = 0
    """Submissions whose tests were run."""
    tasks: int = 0
    min_examples: int = 0
    pass_rate: float = 0.0
    """Fraction of examples that passed."""
    brier: float = 0.0
    """Brier score on held-out tasks (leave-one-task-out cross-validation)."""
    brier_baseline: float = 0.0
    """Brier score of always predicting the pass rate."""
    calibration_error: float = 0.0
    """Expected calibration error on held-out tasks."""
    penalty: float = 0.0
    folds: int = 0
    intercept: float = 0.0
    coefficients: tuple[Coefficient, ...] = ()
    bins: tuple[CalibrationBin, ...] = ()
    records: tuple[ToolRecord, ...] = ()
    base_logit: float = 0.0


class VersionOf(msgspec.Struct, frozen=True, kw_only=True):
    """Version of a fitted model."""

    kind: str
    """`abilities`, `correctness` or `weights`."""
    number: int
    made_at: str
    seen: int
    """Number of submissions accepted by then; for `weights`, number of ratings in the fit."""
    digest: str
    """SHA-256 of the data in the fit."""


def version_text(version: VersionOf | None) -> str:
    """Return the version number as text."""
    return "no version" if version is None else f"version {version.number}"


class FittedModel(VersionOf, frozen=True, kw_only=True):
    """Result of fitting one model."""

    is_new: bool
    """False if the latest version was fitted to the same data under the same profile."""
    reason: str | None
    """Why no model could be fitted, or why the fixed weights remain; None otherwise."""


class PredictedScore(msgspec.Struct, frozen=True, kw_only=True):
    """Predicted score of an agent on a task."""

    key: Key
    prediction: IntervalEstimate
    """The overall score of the next submission, with its prediction interval."""
    correctness: float | None
    """The predicted percentage of criteria met; None without criteria."""
    submissions: int
    """Number of submissions to the task when the model was fitted; 0 if it was not attempted."""


class CorrectnessPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """Predicted probability that a submission is correct, with the contribution of each feature."""

    submission_id: str
    task_id: str
    p_correct: float
    parts: dict[str, float]
    """Contribution of each feature and the intercept to the logit; unknown features contribute nothing."""


class ModelEstimates(msgspec.Struct, frozen=True, kw_only=True):
    """Model estimates for a submission; no score depends on them."""

    abilities_version: int | None = None
    """None before the first version of the ability model."""
    shrunken_score: float | None = None
    """The overall score with the task's level shrunken toward the other tasks; None for a task with many submissions
    or one that was not in the fit."""
    shrunken_low: float | None = None
    shrunken_high: float | None = None
    prediction: IntervalEstimate | None = None
    """Predicted score of this agent on this task, with its prediction interval; None for an unknown agent."""
    standardized_residual: float | None = None
    """Score minus prediction in standard deviations of a prediction, if the score is an anomaly."""
    correctness_version: int | None = None
    correctness: CorrectnessPrediction | None = None
    """The probability that it is correct; None if its task has tests."""
    reason: str | None = None
    """Why there is no such probability."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A submission assigned to a reviewer."""

    task_id: str
    entry: str
    """Anonymous name of the submission, for `arena rating add`."""
    reviewer: str
    rated: bool
    """Whether the reviewer has rated it."""
    submission_id: str | None
    """Submission id; None if blinded."""
    assigned_at: str | None
    """Time of the assignment; None if blinded."""


class FinalRank(msgspec.Struct, frozen=True, kw_only=True):
    """Rank and score of a submission in a season."""

    task_id: str
    submission_id: str
    overall_ranking: int
    overall_score: float
    agent: str | None
    model: str | None
    submitter: str | None
    sha256: str
    """SHA-256 of the submission."""


class SeasonSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """Submission of a season with everything that its scores depend on."""

    id: str
    ordinal: int
    """Place in the order of acceptance, within the task."""
    sha256: str
    """SHA-256 of the submission."""
    agent: str | None
    model: str | None
    submitter: str | None
    submitted_at: int
    """Microseconds since 1970."""
    accepted_at: int
    """Microseconds since 1970."""
    total_tokens: int
    tool_calls: int
    iterations: int | None
    execution_time: float | None
    estimated_cost: float | None
    criteria_met: int
    criteria_total: int
    baseline_version: int
    """Version of the task's baseline that it is scored against."""
    rules: int
    """Index of its rules in the manifest."""
    overall: int
    """Overall score in hundredths, as all scores here."""
    efficiency: int
    speed: int
    cost: int
    correctness: int
    adjusted: int
    """Score times the factor of the task's difficulty."""
    overall_ranking: int


class SeasonExclusion(msgspec.Struct, frozen=True, kw_only=True):
    """Submission that does not count, with the decision."""

    submission_id: str
    decision: Decision
    by: str | None
    reason: str | None
    decided_at: str


class SeasonTask(msgspec.Struct, frozen=True, kw_only=True):
    """Task of a season with its submissions."""

    definition: Task
    files: tuple[tuple[str, str, str], ...]
    """Directory, path and SHA-256 of each task file."""
    baseline_version: int
    """Version of the baseline when the season was created."""
    baselines: dict[str, dict[str, float]]
    """Bounds of each baseline in use, by version."""
    submissions: tuple[SeasonSubmission, ...]
    """Included submissions, in order of acceptance."""
    excluded: tuple[SeasonExclusion, ...]


class SeasonManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the results of a season depend on."""

    kind: str
    format: int
    """Version of the manifest's format."""
    name: str
    frozen_at: str
    profile: str
    policy: Policy
    rules: tuple[dict[str, Constant], ...]
    """The arena's rules, and earlier ones by which a submission is scored."""
    tasks: tuple[SeasonTask, ...]


class VerifyCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one check."""

    what: str
    """`digest`, `baseline`, `scores`, `ranks`, `exclusions`, `leaderboard`; with a store `kept` and `submissions`."""
    task_id: str | None = None
    """The task; None for the whole manifest."""
    holds: bool
    reason: str | None
    """The difference found; None if there is none."""


NO_CRITERIA = "no criteria: correctness is 100 by the specification"
"""Note of a task without criteria."""


def criteria_text(count: int) -> str:
    """Return the number of criteria of a task, or what correctness is without any."""
    return counted(count, "criterion", "criteria") if count else NO_CRITERIA


class StoredFiles(msgspec.Struct, frozen=True):
    """Task files in the store."""

    n: int
    sha256: str
    """SHA-256 of directory names, relative file paths and contents."""


class CombinationBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """Baseline of one agent and model."""

    agent: str | None
    model: str | None
    submissions: int
    baseline: dict[str, float | str] | None
    """With `last_updated`, the time of the last submission; None if there are too few."""
    reason: str | None
    """Why there is no baseline; None if there is one."""


class ToolMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that the profile lists for the agent."""

    name: str
    title: str
    unit: str
    better: str | None
    """`higher` or `lower`; None if neither is better."""


class ToolValue(msgspec.Struct, frozen=True, kw_only=True):
    """Value of a metric for one submission."""

    value: float | None
    """None if the submission lacks the inputs (see `reason`)."""
    ranking: int | None
    """Rank among the agent's submissions that have a value."""
    reason: str | None
    """Why the value is missing."""


class ToolSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission of the agent with its metrics."""

    submission_id: str
    task_id: str
    metrics: dict[str, ToolValue]


class PartDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """Diagnostics of a part of the overall score."""

    name: str
    std_dev: float
    """Standard deviation within tasks, in points."""
    correlation: float | None
    """Correlation with the ratings within tasks; None without variation."""


class FittedWeights(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the fitted weights."""

    version: int = 0
    made_at: int = 0
    """In microseconds since 1970."""
    ratings: int
    submissions: int
    """Number of rated submissions to tasks without their own weights."""
    tasks: int
    max_shift: float
    """Maximum shift of a weight."""
    fixed: dict[str, float]
    """The profile's general weights."""
    weights: dict[str, float]
    """The shifted weights."""
    shift: dict[str, float]
    """Shift of every task's fixed weights, limited by `max_shift`; sums to 0."""
    slope: float | None
    """Rating points per point of the overall score; None with too few ratings."""
    p_value: float | None
    """p-value of the null hypothesis that the fixed weights are correct; None with too few ratings."""
    shrinkage: float | None
    """Shrinkage factor of the estimate; None if the weights do not change."""
    reason: str | None
    """Why the fixed weights remain; None otherwise."""
    parts: tuple[PartDiagnostic, ...]
    """Diagnostics of each part; empty with too few ratings."""
