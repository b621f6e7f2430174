"""The rules of an arena: the typed contents of its profile, with the tables that the specification names itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from steelyard.errors import ProfileError, UnknownNameError, UsageError
from steelyard.metrics import Metric, catalog
from steelyard.profiles import Profile
from steelyard.records import (
    MAX_VALUE,
    WEIGHTS_TOLERANCE,
    Finding,
    Fraction,
    ScoreWeights,
    Task,
    problem_text,
    sum_in_order,
)
from steelyard.suggestions import nearest

DEFAULT_PROFILE = "arena-1"
REVIEWERS_EACH = 3

Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUE)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)]
Factor = Annotated[float, msgspec.Meta(gt=0, le=MAX_VALUE)]
Score = Annotated[float, msgspec.Meta(ge=0, le=100)]
Level = Annotated[float, msgspec.Meta(gt=0, lt=1)]

RANGES: dict[str, Any] = {  # Any: a type with its limits
    "weight": Fraction,
    "step": Annotated[float, msgspec.Meta(ge=0)],
    "floor": Score,
    "score": Score,
    # Larger exponents magnify the last bit, in which Polars (times the reciprocal) and Python (division) may differ.
    "exponent": Annotated[float, msgspec.Meta(gt=0, le=100)],
    "factor": Factor,
}
"""What a constant of the scores may be, by the last word of its name; within these no score leaves 0 to 100."""


class RuleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a profile: no unknown names, every number stated."""


class BaselineTable(RuleTable, frozen=True, kw_only=True):
    """The default baseline, and the submissions a task needs to have its own."""

    submissions: Positive
    median_tokens: NotNegative
    min_tokens: NotNegative
    max_tokens: NotNegative
    median_tool_calls: NotNegative
    min_tool_calls: NotNegative
    max_tool_calls: NotNegative
    median_execution_time: NotNegative
    min_execution_time: NotNegative
    max_execution_time: NotNegative
    median_cost: NotNegative
    min_cost: NotNegative
    max_cost: NotNegative
    median_iterations: NotNegative

    def __post_init__(self) -> None:
        for name in ("tokens", "tool_calls", "execution_time", "cost"):
            low, median, high = (getattr(self, f"{which}_{name}") for which in ("min", "median", "max"))
            if not low <= median <= high:
                raise ValueError(f"min_{name}, median_{name} and max_{name} must be in ascending order")


class OutlierTable(RuleTable, frozen=True, kw_only=True):
    """From where on a submission looks too good."""

    token_fraction_of_median: Fraction
    fast_seconds: NotNegative
    few_tool_calls: Annotated[int, msgspec.Meta(ge=0, le=MAX_VALUE)]
    flags_for_review: Positive


class ValidationTable(RuleTable, frozen=True, kw_only=True):
    """From where on an evaluation looks suspicious."""

    high_score: Score
    low_tokens: NotNegative


class IntervalTable(RuleTable, frozen=True, kw_only=True):
    """The interval for a task's scores, as the specification makes it at its own level."""

    level: Level
    min_scores: Annotated[int, msgspec.Meta(ge=2, le=MAX_VALUE)]
    """A deviation needs two."""
    large_from: Positive
    small_multiplier: Factor
    large_multiplier: Factor


class LeaderboardTable(RuleTable, frozen=True, kw_only=True):
    """How many submissions make a rank reliable."""

    reliable_from: Positive


class PeerReviewTable(RuleTable, frozen=True, kw_only=True):
    """Settings of peer ratings."""

    reviewers_each: Positive
    """How many reviewers a submission gets."""


class DynamicWeightsTable(RuleTable, frozen=True, kw_only=True):
    """Settings of weights fitted to ratings."""

    max_shift: Fraction
    """Maximum shift of a weight from its fixed value."""
    min_ratings: Positive
    min_submissions: Positive
    """With fewer ratings or rated submissions, the fixed weights remain."""


class AbilitiesTable(RuleTable, frozen=True, kw_only=True):
    """Settings of the model of tool abilities and task difficulties."""

    confidence: Level
    few_submissions: Positive
    """Tasks with fewer submissions have shrunken scores."""
    anomaly_threshold: Annotated[float, msgspec.Meta(gt=0, le=MAX_VALUE)]
    """Absolute standardized residual from which a score is an anomaly."""
    min_tools: Annotated[int, msgspec.Meta(ge=2, le=MAX_VALUE)]
    min_tasks: Annotated[int, msgspec.Meta(ge=2, le=MAX_VALUE)]


class CorrectnessTable(RuleTable, frozen=True, kw_only=True):
    """Model of correctness."""

    min_examples: Annotated[int, msgspec.Meta(ge=20, le=MAX_VALUE)]
    min_tasks: Annotated[int, msgspec.Meta(ge=2, le=MAX_VALUE)]
    min_per_class: Positive
    """Examples that passed, and that failed."""


class ModelsTable(RuleTable, frozen=True, kw_only=True):
    """Which models to fit, and when; without this table, none."""

    first: Positive
    """Number of submissions at the first fit."""
    growth: Annotated[float, msgspec.Meta(gt=1, le=1000)]
    """Growth factor of the number of submissions until the next fit."""
    by: Annotated[tuple[Literal["agent", "model"], ...], msgspec.Meta(min_length=1, max_length=2)]
    """What makes a tool."""
    abilities: AbilitiesTable | None = None
    correctness: CorrectnessTable | None = None


class Rules(RuleTable, frozen=True, kw_only=True):
    """Everything about scoring that is not the same in every arena."""

    name: str
    """The profile's name, which every result carries."""
    constants: dict[str, float]
    """Constants of the score formulas."""
    category_weights: dict[str, ScoreWeights]
    difficulty_factors: dict[str, Factor]
    baseline: BaselineTable
    outliers: OutlierTable
    validation: ValidationTable
    interval: IntervalTable
    leaderboard: LeaderboardTable
    peer_review: PeerReviewTable | None = None
    """None where submissions are not rated, but by reviewers whom a task names."""

    dynamic_weights: DynamicWeightsTable | None = None
    """None if no weights are fitted."""

    tool_metrics: dict[str, tuple[str, ...]] | None = None
    """For each tool the metrics of a run that are measured of its submissions; None where there are none."""

    @property
    def reviewers_each(self) -> int:
        """Return the default number of reviewers per submission."""
        return REVIEWERS_EACH if self.peer_review is None else self.peer_review.reviewers_each

    models: ModelsTable | None = None

    def constants_of(self, task: Task) -> dict[str, float]:
        """The constants of this task's scores: its own weights, else those of its category, else the profile's."""
        constants = dict(self.constants)
        weights = task.weights or self.category_weights.get(task.category or "")
        if weights is not None:
            constants |= {f"{name}_weight": getattr(weights, name) for name in weights.__struct_fields__}
        constants["difficulty_factor"] = self._difficulty_factor(task)
        return constants

    def _difficulty_factor(self, task: Task) -> float:
        if task.difficulty is None:
            return 1.0
        if task.difficulty not in self.difficulty_factors:
            raise UnknownNameError("difficulty", task.difficulty, self.difficulty_factors, where=task.id)
        return self.difficulty_factors[task.difficulty]

    def check_task(self, task: Task) -> None:
        """Reject a task that these rules cannot score."""
        self._difficulty_factor(task)
        defaults = self.defaults_of(task)
        for name in ("tokens", "tool_calls", "execution_time", "cost"):
            if defaults[f"min_{name}"] > defaults[f"max_{name}"]:
                raise UsageError(f"the default baseline has min_{name} above max_{name}", where=task.id)

    def finding_about(self, task: Task) -> Finding | None:
        """Return a note if the task's category has no weights, so that the general ones apply."""
        if task.category is None or task.weights is not None or task.category in self.category_weights:
            return None
        close = nearest(task.category[:200], self.category_weights)
        advice = f"did you mean {close!r}?" if close else f"categories with weights: {', '.join(self.category_weights)}"
        message = (
            f"category {task.category[:200]!r} has no weights in {self.name}; the general weights apply ({advice})"
        )
        return Finding(code="unknown_category", message=message, where=task.id)

    def defaults_of(self, task: Task) -> dict[str, float]:
        """The baseline of the task while it has too few submissions: its own numbers, else the profile's."""
        defaults = {
            name: getattr(self.baseline, name) for name in BaselineTable.__struct_fields__ if name != "submissions"
        }
        if task.baseline is not None:
            own = {name: getattr(task.baseline, name) for name in task.baseline.__struct_fields__}
            defaults |= {name: value for name, value in own.items() if value is not None}
        return defaults


def score_metrics() -> list[Metric]:
    """The declared scores of a submission, each after what it needs."""
    return catalog().at("submission")


def read_rules(profile: Profile) -> Rules:
    """The profile as rules of an arena; every name and number in it is checked."""
    if profile.spec != "arena":
        raise ProfileError(
            f"the profile is for the {profile.spec} specification, not for an arena",
            where=profile.name,
            hint=DEFAULT_PROFILE,
        )
    declared: dict[str, float] = {}
    for metric in score_metrics():
        declared |= metric.constants
    tables = set(Rules.__struct_fields__) - {"name", "constants"}
    allowed = (declared.keys() | tables) - {"difficulty_factor"}  # a task's own, by the table of factors
    for name in profile.constants:
        if name not in allowed:
            raise UnknownNameError("arena constant", name, allowed, where=profile.name)
    values: dict[str, Any] = {name: profile.constants.get(name) for name in tables}  # Any: TOML values
    values["name"] = profile.name
    values["constants"] = {name: profile.constant(name, default) for name, default in declared.items()}
    _check_constants(values["constants"], profile.name)
    _check_tool_metrics(values["tool_metrics"], profile.name)
    try:
        return msgspec.convert(values, Rules)
    except msgspec.ValidationError as error:
        raise ProfileError(problem_text(error), where=profile.name) from error


def _check_tool_metrics(tables: Any, where: str) -> None:  # Any: TOML values
    """Reject unknown metrics and those that are not run metrics."""
    known = [metric.name for metric in catalog().at("run")]
    for tool, names in tables.items() if isinstance(tables, dict) else ():
        for name in names if isinstance(names, list) else ():
            if name not in known:
                raise UnknownNameError(f"run metric for the agent {tool!r}", str(name)[:200], known, where=where)


def _check_constants(constants: Mapping[str, float], where: str) -> None:
    """Reject constants that allow scores outside 0 to 100."""
    for name, value in constants.items():
        try:
            msgspec.convert(value, RANGES[name.rsplit("_", 1)[-1]])
        except msgspec.ValidationError as error:
            reason = f"{error}".replace("`", "").removeprefix("Expected ")
            raise ProfileError(f"{name} is {value:g}, expected {reason}", where=where) from error
    for metric in score_metrics():
        weights = [name for name in metric.constants if name.endswith("_weight")]
        total = sum_in_order(constants[name] for name in weights)
        if weights and abs(total - 1) > WEIGHTS_TOLERANCE:
            hint = ", ".join(f"{name} {constants[name]:g}" for name in weights)
            raise ProfileError(f"the weights of {metric.name} sum to {total:g}, not 1", where=where, hint=hint)
