"""Models fitted to an arena's submissions: abilities, difficulties, predicted scores, probability of correctness."""

from __future__ import annotations

import msgspec

Key = dict[str, str | None]
"""A tool: its agent and model, or the one of them that the profile groups by."""


class Between(msgspec.Struct, frozen=True):
    """Estimate with its interval, at the confidence level of the model version."""

    estimate: float
    low: float
    high: float


class ToolAbility(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, by its ability and by its plain mean."""

    key: Key
    rank: int
    """By ability; equal abilities share a rank."""
    ability: Between
    """The predicted overall score on an average task, adjusted for the difficulty of the tasks attempted."""
    mean_rank: int
    """By the plain mean."""
    mean_score: float
    """The mean over its tasks of its mean overall score, as on the leaderboard."""
    correctness_ability: Between | None
    """Ability in correctness: 0 is the mean of all tools, 1 one standard deviation; None without criteria."""
    tasks: int
    submissions: int


class TaskDifficulty(msgspec.Struct, frozen=True, kw_only=True):
    """Level, difficulty and discrimination of a task."""

    task_id: str
    submissions: int
    level: Between
    """The predicted overall score of an average tool."""
    shrinkage: float
    """Overall score minus shrunken score, in score points; larger for tasks with fewer submissions."""
    difficulty: Between | None
    """The correctness ability at which half of the submissions are correct; None without criteria."""
    discrimination: Between | None
    """The slope at that ability, in logits; None without criteria."""


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """Submission whose score is far from the prediction for its tool and task."""

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
    """Submissions in the fit: those that are included and name their tool."""
    unnamed: int = 0
    """Submissions excluded because they do not name their tool."""
    few_submissions: int = 0
    residual_sd: float = 0.0
    """Standard deviation of a score around its prediction."""
    repeat_correlation: float = 0.0
    """Intraclass correlation of repeated submissions of a tool to a task."""
    prediction_quantiles: tuple[float, float] = (0.0, 0.0)
    """Bounds of a prediction interval, in standard deviations of a prediction."""
    dispersion: float | None = None
    """Overdispersion of correctness between pairs of tool and task; None without criteria."""
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
    """Pass rate of a tool per task category, as shrunken logits."""

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
    """Predicted score of a tool on a task."""

    key: Key
    prediction: Between
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
    prediction: Between | None = None
    """Predicted score of this tool on this task, with its prediction interval; None for an unknown tool."""
    standardized_residual: float | None = None
    """Score minus prediction in standard deviations of a prediction, if the score is an anomaly."""
    correctness_version: int | None = None
    correctness: CorrectnessPrediction | None = None
    """The probability that it is correct; None if its task has tests."""
    reason: str | None = None
    """Why there is no such probability."""
