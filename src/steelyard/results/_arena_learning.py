"""What an arena learned from its submissions: abilities, difficulties, expected scores, chances of being right."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import Finding
from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row

Key = dict[str, str | None]
"""A tool: its agent and model, or what of them the profile names."""


class Between(msgspec.Struct, frozen=True):
    """An estimate with its interval, at the confidence of the version."""

    estimate: float
    low: float
    high: float


class ToolAbility(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, by its ability and by its plain mean."""

    key: Key
    rank: int
    """By ability; equal abilities share a rank."""
    ability: Between
    """The overall score expected on an average task: what the tasks that it tried add or take away is taken out."""
    mean_rank: int
    """By the plain mean."""
    mean_score: float
    """The mean over its tasks of its mean overall score, as the leaderboard has it."""
    correctness_ability: Between | None
    """Ability in being right, where 0 is the mean of the tools and 1 a standard deviation; None without criteria."""
    tasks: int
    submissions: int


class TaskDifficulty(msgspec.Struct, frozen=True, kw_only=True):
    """A task: what an average tool scores, and how hard it is to get right."""

    task_id: str
    submissions: int
    level: Between
    """The overall score that an average tool is expected to have."""
    shrinkage: float
    """Points that a leaned score lies below an overall score of this task: the fewer submissions, the more."""
    difficulty: Between | None
    """The ability in being right at which every second submission is right; None without criteria."""
    discrimination: Between | None
    """How sharply the task tells abilities apart: the slope there, in logits; None without criteria."""


class Surprise(msgspec.Struct, frozen=True, kw_only=True):
    """A submission that is far from what its tool and task let expect."""

    submission_id: str
    task_id: str
    key: Key
    overall_score: float
    expected: float
    deviations: float
    """How far, in standard deviations of a prediction."""


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a version of the abilities holds."""

    reason: str | None
    """Why nothing could be learned; None when it could."""
    by: tuple[str, ...] = ()
    confidence: float = 0.95
    policy: str = ""
    submissions: int = 0
    """Those that it was learned from: they count, and their tool is named."""
    unnamed: int = 0
    """Those that were left out because their tool is not named."""
    few_submissions: int = 0
    deviation: float = 0.0
    """Standard deviation of a score around what is expected."""
    repeats: float = 0.0
    """The share of that variance that repeated submissions of a tool to a task have in common."""
    reach: tuple[float, float] = (0.0, 0.0)
    """Between which deviations of a prediction a new score lies."""
    dispersion: float | None = None
    """How much more pairs of tool and task differ in being right than chance would have it; None without criteria."""
    tools: tuple[ToolAbility, ...] = ()
    """By rank."""
    tasks: tuple[TaskDifficulty, ...] = ()
    surprises: tuple[Surprise, ...] = ()
    """The largest first."""


class Coefficient(msgspec.Struct, frozen=True, kw_only=True):
    """One feature of the model of correctness."""

    feature: str
    meaning: str
    coefficient: float
    """What one standard deviation of the feature adds to the logit of being right."""
    mean: float
    deviation: float
    known: int
    """Examples in which it is known; elsewhere it adds nothing."""


class ChanceBin(msgspec.Struct, frozen=True, kw_only=True):
    """Left-out examples of about the same chance."""

    low: float
    high: float
    n: int
    chance: float
    """Their mean chance."""
    right: float
    """The share of them that passed their tests."""
    right_low: float
    right_high: float


class ToolRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How often a tool passed tests, by kind of task: logits, shrunk."""

    key: Key
    logits: dict[str, float]


class CorrectnessModel(msgspec.Struct, frozen=True, kw_only=True):
    """What a version of learned correctness holds."""

    reason: str | None
    """Why it cannot tell; None when it can."""
    by: tuple[str, ...] = ()
    examples: int = 0
    """Submissions whose tests were run."""
    tasks: int = 0
    min_examples: int = 0
    right: float = 0.0
    """The share of examples that passed."""
    brier: float = 0.0
    """Mean squared difference of chance and outcome, on tasks that were left out of the fit."""
    brier_of_base: float = 0.0
    """The same for always saying the share of right examples."""
    calibration_error: float = 0.0
    """Expected calibration error, on left-out tasks."""
    penalty: float = 0.0
    folds: int = 0
    intercept: float = 0.0
    coefficients: tuple[Coefficient, ...] = ()
    bins: tuple[ChanceBin, ...] = ()
    records: tuple[ToolRecord, ...] = ()
    base_logit: float = 0.0


class VersionOf(msgspec.Struct, frozen=True, kw_only=True):
    """Which version of what was learned."""

    kind: str
    """`abilities`, `correctness` or `weights`."""
    number: int
    made_at: str
    seen: int
    """How many submissions the arena had accepted by then; for `weights`, how many ratings it was learned from."""
    digest: str
    """The SHA-256 of all that it was learned from."""


def version_text(version: VersionOf | None) -> str:
    """The version by its number."""
    return "no version" if version is None else f"version {version.number}"


class LearnedKind(VersionOf, frozen=True, kw_only=True):
    """What learning came to."""

    is_new: bool
    """False when the latest version was learned from the same submissions under the same rules."""
    reason: str | None
    """Why nothing could be learned, or why the fixed weights stand; None when neither is the case."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Learned(FieldsResult):
    """The versions that are in force after learning."""

    profile: str
    versions: tuple[LearnedKind, ...]
    findings: tuple[Finding, ...] = ()

    def _about(self) -> str:
        return ", ".join(f"{each.kind} version {each.number}" for each in self.versions) or "nothing"

    def to_dicts(self) -> list[Row]:
        """One row a kind."""
        return flat_rows(self.versions)


@dataclass(frozen=True, kw_only=True, repr=False)
class LearnedAbilities(FieldsResult):
    """Tools by ability, beside their plain mean, and tasks by difficulty."""

    version: VersionOf | None
    """None when none has been learned; the reason says why."""
    learned: Abilities
    findings: tuple[Finding, ...] = ()
    """Surprises, for a review."""

    def _about(self) -> str:
        tools, tasks = len(self.learned.tools), len(self.learned.tasks)
        return self.learned.reason or f"{version_text(self.version)}: {tools:,} tools, {tasks:,} tasks"

    def to_dicts(self) -> list[Row]:
        """One row a tool, by rank."""
        return [
            {
                "rank": tool.rank,
                **tool.key,
                "ability": tool.ability.estimate,
                "low": tool.ability.low,
                "high": tool.ability.high,
                "mean_rank": tool.mean_rank,
                "mean_score": tool.mean_score,
                "correctness_ability": tool.correctness_ability and tool.correctness_ability.estimate,
                "tasks": tool.tasks,
                "submissions": tool.submissions,
            }
            for tool in self.learned.tools
        ]


class ExpectedScore(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool is expected to score on a task."""

    key: Key
    expected: Between
    """The overall score of a further submission, with the limits between which it lies."""
    correctness: float | None
    """The share of criteria that it is expected to meet, in percent; None without criteria."""
    submissions: int
    """How many it has made to the task when the version was learned; 0: not tried."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ExpectedScores(FieldsResult):
    """What every tool is expected to score on a task, tried or not, the best first."""

    version: VersionOf | None
    """None when none has been learned; the reason says why."""
    task_id: str
    task: TaskDifficulty | None
    """None when the version has not seen the task: then an average one is expected."""
    confidence: float
    scores: tuple[ExpectedScore, ...]
    reason: str | None = None
    """Why nothing is expected; None where something is."""

    def _about(self) -> str:
        return f"{self.task_id}: {self.reason or f'{len(self.scores):,} tools, {version_text(self.version)}'}"

    def to_dicts(self) -> list[Row]:
        """One row a tool."""
        return [
            {
                **score.key,
                "expected": score.expected.estimate,
                "low": score.expected.low,
                "high": score.expected.high,
                "correctness": score.correctness,
                "submissions": score.submissions,
            }
            for score in self.scores
        ]


class Chance(msgspec.Struct, frozen=True, kw_only=True):
    """The learned chance that a submission is right, and what it rests on."""

    submission_id: str
    task_id: str
    chance: float
    parts: dict[str, float]
    """What each feature adds to the logit, the intercept among them; features that are not known add nothing."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LearnedCorrectness(FieldsResult):
    """The model of correctness, how well it is calibrated, and its chances for a task without tests."""

    version: VersionOf | None
    """None when none has been learned; the reason says why."""
    model: CorrectnessModel
    chances: tuple[Chance, ...] = ()
    """Of the submissions to the task that was asked for."""
    task_id: str | None = None

    def _about(self) -> str:
        model = self.model
        return model.reason or f"{version_text(self.version)}: Brier score {model.brier:.3f}"

    def to_dicts(self) -> list[Row]:
        """One row a coefficient; of a task, one row a submission."""
        if self.task_id is not None:
            return [
                {"submission_id": each.submission_id, "task_id": each.task_id, "chance": each.chance}
                for each in self.chances
            ]
        return flat_rows(self.model.coefficients)


class LearnedAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned about a submission; it stands beside its scores and is in none of them."""

    abilities_version: int | None = None
    """None while no version of the abilities is there."""
    shrunken_score: float | None = None
    """The overall score, with the part that few submissions leave open leaning on the other tasks; None for a task with
    many, or one that the version has not seen."""
    shrunken_low: float | None = None
    shrunken_high: float | None = None
    expected: Between | None = None
    """What a submission of this tool to this task is expected to score; None for a tool that is not known."""
    deviations: float | None = None
    """How far its score is from that, in standard deviations of a prediction, where it was a surprise."""
    correctness_version: int | None = None
    chance: Chance | None = None
    """The chance that it is right; None where its task has tests."""
    reason: str | None = None
    """Why there is no chance."""
