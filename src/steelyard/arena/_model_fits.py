"""Fits to all submissions: abilities of agents, difficulty of tasks, and the probability of a correct solution."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import (
    Abilities,
    Anomaly,
    CalibrationBin,
    Coefficient,
    CorrectnessModel,
    CorrectnessPrediction,
    IntervalEstimate,
    Policy,
    TaskDifficulty,
    ToolAbility,
    ToolRecord,
)
from steelyard.arena.ingest._tasks import find_task, load_tasks
from steelyard.arena.scoring._rules import AbilitiesTable, CorrectnessTable, Rules
from steelyard.arena.scoring._scores import points
from steelyard.arena.views._task_view import view_tasks
from steelyard.records import Task
from steelyard.statistics import (
    CalibratedLogistic,
    CrossedEffects,
    Examples,
    ItemResponse,
    Responses,
    crossed_effects,
    distinct_pairs,
    fit_calibrated_logistic,
    item_response,
    student_quantile,
)
from steelyard.store.schema import states

Ints = npt.NDArray[np.int64]
Key = tuple[str | None, ...]
USAGE_FIELDS = ("total_tokens", "tool_calls", "iterations", "execution_time", "estimated_cost")
STORED_FIELDS = ("id", "overall", "criteria_met", "criteria_total", "success", "details", *USAGE_FIELDS)

_ACCEPTED = select(func.coalesce(func.sum(states.c.accepted), 0))
"""Asked with every submission: putting the question together takes longer than the answer."""


@dataclass(frozen=True, slots=True, eq=False)
class SubmissionColumns:
    """Submissions by the ids of their tasks, in the order of acceptance: no path into the arena changes it."""

    seen: int
    """How many the arena has accepted, those included that do not count."""
    tasks: Sequence[Task]
    """Those with submissions, by their ids."""
    keys: Sequence[Key]
    """The agents, sorted; one that is not named is not among them."""
    task: Ints
    """The number of each submission's task."""
    tool: Ints
    """The number of each submission's agent; -1 where it is not named."""
    columns: dict[str, list[Any]]  # Any: column values

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """A column of numbers; what is not known is NaN."""
        return np.array([np.nan if value is None else value for value in self.columns[name]], dtype=np.float64)

    def digest(self, *also: object) -> str:
        """Return the SHA-256 of the data in the fit."""
        digest = hashlib.sha256()
        for part in (*also, self.tasks, self.keys, self.task.tolist(), self.tool.tolist()):
            digest.update(msgspec.json.encode(part))
        for name in STORED_FIELDS:
            digest.update(msgspec.json.encode(self.columns[name]))
        return digest.hexdigest()


def accepted_so_far(connection: Connection) -> int:
    """How many submissions the arena has ever accepted."""
    return int(connection.execute(_ACCEPTED).scalar_one())


def read_columns(
    connection: Connection, rules: Rules, policy: Policy, by: Sequence[str], *, task_id: str | None = None
) -> SubmissionColumns:
    """Every submission (to the task, or to all) that counts, as it is scored now."""
    stored = load_tasks(connection, rules).values() if task_id is None else [find_task(connection, task_id, rules)]
    views = [view for view in view_tasks(connection, stored, policy=policy) if len(view.rows)]
    views.sort(key=lambda view: view.stored_task.task.id)
    columns: dict[str, list[Any]] = {name: [] for name in STORED_FIELDS}  # Any: as above
    named: list[Key] = []
    for view in views:
        for name in STORED_FIELDS:
            columns[name] += view.rows[name].to_list()
        named += zip(*(view.rows[name].to_list() for name in by), strict=True)
    keys = sorted({key for key in named if any(key)}, key=lambda key: [(part is not None, part or "") for part in key])
    numbers = {key: number for number, key in enumerate(keys)}
    sizes = [len(view.rows) for view in views]
    return SubmissionColumns(
        seen=accepted_so_far(connection),
        tasks=[view.stored_task.task for view in views],
        keys=keys,
        task=np.repeat(np.arange(len(views), dtype=np.int64), sizes),
        tool=np.array([numbers.get(key, -1) for key in named], dtype=np.int64),
        columns=columns,
    )


MAX_ANOMALIES = 100


def fit_abilities(given: SubmissionColumns, by: Sequence[str], table: AbilitiesTable, policy: Policy) -> Abilities:
    """Fit the ability model, or return the reason why it cannot be fitted."""
    named = np.flatnonzero(given.tool >= 0)
    tasks = np.unique(given.task[named])
    summary: dict[str, Any] = {  # Any: fields of the result
        "by": tuple(by),
        "confidence": table.confidence,
        "policy": policy,
        "submissions": len(named),
        "unnamed": len(given.tool) - len(named),
        "few_submissions": table.few_submissions,
    }
    for what, count, least in (("agents", len(given.keys), table.min_tools), ("tasks", len(tasks), table.min_tasks)):
        if count < least:
            return Abilities(**summary, reason=f"not enough {what} to fit abilities: {count} of {least}")
    second = np.searchsorted(tasks, given.task[named])
    scores = np.array(given.columns["overall"], dtype=np.float64)[named] / 100
    fit = crossed_effects(given.tool[named], second, scores, level=table.confidence)
    right = _CorrectnessModel(given, named, table.confidence)
    anomalies = _find_anomalies(given, named, by, fit, scores, table.anomaly_threshold)
    return Abilities(
        **summary,
        reason=None,
        residual_sd=_round(fit.deviation),
        repeat_correlation=_round(fit.repeats),
        prediction_quantiles=(_round(fit.low), _round(fit.high)),
        dispersion=None if right.fit is None else _round(right.fit.dispersion),
        tools=_tools(given, named, by, fit, right, table),
        tasks=_tasks(given, tasks, second, fit, right, table),
        anomalies=anomalies,
    )


class _CorrectnessModel:
    """The item response model of correctness, over the tasks with criteria."""

    def __init__(self, given: SubmissionColumns, named: Ints, confidence: float) -> None:
        total = np.array(given.columns["criteria_total"], dtype=np.float64)[named]
        met = np.array(given.columns["criteria_met"], dtype=np.float64)[named]
        chosen = np.flatnonzero(total > 0)
        tools, tasks = given.tool[named][chosen], given.task[named][chosen]
        self.tools, tool = np.unique(tools, return_inverse=True)
        self.tasks, task = np.unique(tasks, return_inverse=True)
        self.fit: ItemResponse | None = None
        if len(self.tools) < 2 or len(self.tasks) < 2:
            return
        pairs = distinct_pairs(tool, task)
        right = np.asarray(np.bincount(pairs.of_value, met[chosen] / total[chosen]), dtype=np.float64)
        self.fit = item_response(Responses(tools=pairs.first, tasks=pairs.second, attempts=pairs.n, right=right))
        self.reach = float(student_quantile(confidence, len(self.tools) - 1))

    def ability(self, tool: int) -> IntervalEstimate | None:
        """Of an agent that submitted to a task with criteria."""
        place = _place(self.tools, tool)
        if self.fit is None or place is None:
            return None
        return _between(self.fit.ability[place], self.reach * self.fit.ability_error[place])

    def difficulty(self, task: int) -> tuple[IntervalEstimate | None, IntervalEstimate | None]:
        """Difficulty and discrimination of a task with criteria."""
        place = _place(self.tasks, task)
        if self.fit is None or place is None:
            return None, None
        slope, error = self.fit.log_discrimination[place], self.reach * self.fit.log_discrimination_error[place]
        sharp = IntervalEstimate(*(_round(np.exp(value)) for value in (slope, slope - error, slope + error)))
        return _between(self.fit.difficulty[place], self.reach * self.fit.difficulty_error[place]), sharp


def _tools(
    given: SubmissionColumns,
    named: Ints,
    by: Sequence[str],
    fit: CrossedEffects,
    right: _CorrectnessModel,
    table: AbilitiesTable,
) -> tuple[ToolAbility, ...]:
    tool, task, cents = given.tool[named], given.task[named], np.array(given.columns["overall"], dtype=np.int64)[named]
    pairs = distinct_pairs(tool, task)
    means = np.bincount(pairs.of_value, cents) / pairs.n
    tasks = np.bincount(pairs.first)
    mean_scores = [round(value, 2) for value in (np.bincount(pairs.first, means) / tasks / 100).tolist()]
    reach = float(student_quantile(table.confidence, len(given.keys) - 1))
    abilities = [
        _between(fit.level + effect, reach * error) for effect, error in zip(fit.first, fit.first_error, strict=True)
    ]
    estimates = [round(ability.estimate, 2) for ability in abilities]
    made = [
        ToolAbility(
            key=_key(by, key),
            rank=1 + int(np.sum(np.array(estimates) > estimates[number])),
            ability=abilities[number],
            mean_rank=1 + int(np.sum(np.array(mean_scores) > mean_scores[number])),
            mean_score=mean_scores[number],
            correctness_ability=right.ability(number),
            tasks=int(tasks[number]),
            submissions=int(np.sum(tool == number)),
        )
        for number, key in enumerate(given.keys)
    ]
    return tuple(sorted(made, key=lambda each: each.rank))


def _tasks(
    given: SubmissionColumns,
    tasks: Ints,
    second: Ints,
    fit: CrossedEffects,
    right: _CorrectnessModel,
    table: AbilitiesTable,
) -> tuple[TaskDifficulty, ...]:
    reach = float(student_quantile(table.confidence, len(tasks) - 1))
    counts = np.bincount(second)
    made = []
    for place, task in enumerate(tasks.tolist()):
        difficulty, discrimination = right.difficulty(task)
        made.append(
            TaskDifficulty(
                task_id=given.tasks[task].id,
                submissions=int(counts[place]),
                level=_between(fit.level + fit.second[place], reach * fit.second_error[place]),
                shrinkage=_round(fit.second_gap[place]),
                difficulty=difficulty,
                discrimination=discrimination,
            )
        )
    return tuple(made)


def _find_anomalies(
    given: SubmissionColumns, named: Ints, by: Sequence[str], fit: CrossedEffects, scores: Floats, least: float
) -> tuple[Anomaly, ...]:
    far = np.flatnonzero(np.abs(fit.standardized_residuals) >= least)
    far = far[np.argsort(-np.abs(fit.standardized_residuals[far]), kind="stable")][:MAX_ANOMALIES]
    made = []
    for place in far.tolist():
        row = int(named[place])
        made.append(
            Anomaly(
                submission_id=given.columns["id"][row],
                task_id=given.tasks[given.task[row]].id,
                key=_key(by, given.keys[given.tool[row]]),
                overall_score=points(given.columns["overall"][row]),
                predicted=round(float(scores[place] - fit.standardized_residuals[place] * fit.deviation), 2),
                standardized_residual=round(float(fit.standardized_residuals[place]), 2),
            )
        )
    return tuple(made)


def _key(by: Sequence[str], key: Key) -> dict[str, str | None]:
    return dict(zip(by, key, strict=True))


def _place(numbers: Ints, wanted: int) -> int | None:
    place = int(np.searchsorted(numbers, wanted))
    return place if place < len(numbers) and numbers[place] == wanted else None


def _between(estimate: float, reach: float) -> IntervalEstimate:
    return IntervalEstimate(_round(estimate), _round(estimate - reach), _round(estimate + reach))


TESTS = ("tests_pass", "min_functionality")
"""The criteria that decide whether a submission is right."""
NO_CATEGORY = ""
RECORD = "tool_record"
DIGITS = 6
Floats = npt.NDArray[np.float64]

FEATURES = {
    "judge_score": "mean of the judge scores in the submission",
    "judge_criteria": "fraction of the judge criteria met",
    "compiles": "fraction of the code_compiles criteria met",
    "commands": "fraction of the command criteria (such as linters) met",
    "other_criteria": "fraction of the file_exists and no_errors criteria met",
    "says_success": "success as reported by the submission (1 or 0)",
    "files": "size of the change: log(1 + files created)",
    "tokens": "tokens: log of the ratio to the task's median",
    "tool_calls": "tool calls: log of the ratio to the task's median",
    "iterations": "iterations: log of the ratio to the task's median",
    "time": "time: log of the ratio to the task's median",
    "cost": "cost: log of the ratio to the task's median",
    RECORD: "pass rate of the agent on other tasks of the category, as a logit",
}
"""What the model knows of a submission."""
_OF_TYPE = {
    "judge": "judge_criteria",
    "code_compiles": "compiles",
    "command": "commands",
    "file_exists": "other_criteria",
    "no_errors": "other_criteria",
}
_FEATURE_OF = dict(zip(USAGE_FIELDS, ("tokens", "tool_calls", "iterations", "time", "cost"), strict=True))


def has_tests(task: Task) -> bool:
    """Whether a criterion of the task decides what is right."""
    return any(str(criterion.__struct_config__.tag) in TESTS for criterion in task.success_criteria)


@dataclass(frozen=True, slots=True, eq=False)
class KnownSubmissions:
    """What is known of submissions."""

    features: Floats
    """One row a submission, without the agent's record; NaN where a feature is not known."""
    right: Floats
    """1 when all tests passed, 0 when not; NaN where none was run on artifacts."""


def known_submissions(given: SubmissionColumns, rows: Ints) -> KnownSubmissions:
    """The features of these submissions, and their outcome."""
    names = [name for name in FEATURES if name != RECORD]
    places = {name: place for place, name in enumerate(names)}
    features = np.full((len(rows), len(names)), np.nan)
    right = np.full(len(rows), np.nan)
    details, claims = given.columns["details"], given.columns["success"]
    for place, row in enumerate(rows.tolist()):
        if claims[row] is not None:
            features[place, places["says_success"]] = float(claims[row])
        if details[row]:
            decoded = msgspec.json.decode(details[row])
            for name, value in _from_details(decoded).items():
                features[place, places[name]] = value
            right[place] = _outcome(decoded)
    medians = _task_medians(given)
    for field, name in _FEATURE_OF.items():
        values = given.floats(field)[rows]
        ratio = np.where(values > 0, values, np.nan) / medians[field][given.task[rows]]
        features[:, places[name]] = np.log(ratio)
    return KnownSubmissions(features, right)


def _task_medians(given: SubmissionColumns) -> dict[str, Floats]:
    """Of each field, the median of what is known of it in each task; NaN where nothing is."""
    medians = {}
    ends = np.searchsorted(given.task, np.arange(len(given.tasks) + 1))
    for field in USAGE_FIELDS:
        values = given.floats(field)
        own = np.full(len(given.tasks), np.nan)
        for task, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
            known = values[start:end][values[start:end] > 0]
            own[task] = np.median(known) if len(known) else np.nan
        medians[field] = own
    return medians


def _from_details(decoded: Mapping[str, Any]) -> dict[str, float]:  # Any: JSON values
    found: dict[str, float] = {}
    scores = [judgment.get("weighted_score") for judgment in decoded.get("judgments", ())]
    known = [float(score) for score in scores if score is not None]
    if known:
        found["judge_score"] = float(np.mean(known))
    if decoded.get("files_created"):
        found["files"] = float(np.log1p(len(decoded["files_created"])))
    met: dict[str, list[bool]] = {}
    for criterion in decoded.get("criteria", ()):
        if criterion["type"] in _OF_TYPE:
            met.setdefault(_OF_TYPE[criterion["type"]], []).append(criterion["met"])
    return found | {name: float(np.mean(each)) for name, each in met.items()}


def _outcome(decoded: Mapping[str, Any]) -> float:  # Any: JSON values
    """Whether all tests passed that were run; NaN where there were no artifacts to run any on."""
    if "artifacts_sha256" not in decoded:
        return np.nan
    outcomes = [criterion["met"] for criterion in decoded.get("criteria", ()) if criterion["type"] in TESTS]
    return float(all(outcomes)) if outcomes else np.nan


def fit_correctness(given: SubmissionColumns, by: Sequence[str], table: CorrectnessTable) -> CorrectnessModel:
    """Fit the correctness model, or return the reason why it cannot be fitted."""
    tested = np.array([has_tests(task) for task in given.tasks], dtype=bool)
    rows = np.flatnonzero(tested[given.task]) if len(given.tasks) else np.empty(0, dtype=np.int64)
    known = known_submissions(given, rows)
    run = np.flatnonzero(np.isfinite(known.right))
    rows, features, right = rows[run], known.features[run], known.right[run]
    fields: dict[str, Any] = {  # Any: fields of the result
        "by": tuple(by),
        "examples": len(rows),
        "tasks": len(np.unique(given.task[rows])),
        "min_examples": table.min_examples,
    }
    reason = _why_not(right, fields["tasks"], table)
    if reason is not None:
        return CorrectnessModel(**fields, reason=reason)
    kinds = sorted({task.category or NO_CATEGORY for task in given.tasks} | {NO_CATEGORY})
    examples = _examples(given, rows, features, kinds)
    return _model(fit_calibrated_logistic(examples, right), examples, given, kinds, fields)


def _why_not(right: Floats, tasks: int, table: CorrectnessTable) -> str | None:
    if len(right) < table.min_examples:
        return f"not enough submissions with test results: {len(right)} of {table.min_examples}"
    if tasks < table.min_tasks:
        return f"not enough tasks with test results: {tasks} of {table.min_tasks}"
    rarer = int(min(right.sum(), len(right) - right.sum()))
    if rarer < table.min_per_class:
        what = "passed" if right.sum() < len(right) / 2 else "failed"
        return f"not enough submissions that {what} their tests: {rarer} of {table.min_per_class}"
    return None


def _examples(given: SubmissionColumns, rows: Ints, features: Floats, kinds: Sequence[str]) -> Examples:
    of_task = np.array([kinds.index(task.category or NO_CATEGORY) for task in given.tasks], dtype=np.int64)
    return Examples(
        features=features,
        tools=given.tool[rows],
        kinds=of_task[given.task[rows]],
        groups=given.task[rows],
        tool_count=len(given.keys),
        kind_count=len(kinds),
    )


def _model(
    fit: CalibratedLogistic,
    examples: Examples,
    given: SubmissionColumns,
    kinds: Sequence[str],
    fields: Mapping[str, Any],
) -> CorrectnessModel:  # Any: fields of the model
    counts = [*np.isfinite(examples.features).sum(axis=0).tolist(), fit.n]
    numbers = zip(FEATURES.items(), fit.coefficients, fit.center, fit.scale, counts, strict=True)
    used = np.unique(examples.tools[examples.tools >= 0]).tolist()
    return CorrectnessModel(
        **fields,
        reason=None,
        pass_rate=_round(fit.right),
        brier=_round(fit.brier),
        brier_baseline=_round(fit.brier_of_base),
        calibration_error=_round(fit.calibration_error),
        penalty=fit.penalty,
        folds=fit.folds,
        intercept=_round(fit.intercept),
        coefficients=tuple(
            Coefficient(
                feature=name,
                meaning=meaning,
                coefficient=_round(coefficient),
                mean=_round(center),
                deviation=_round(scale),
                known=count,
            )
            for (name, meaning), coefficient, center, scale, count in numbers
        ),
        bins=tuple(
            CalibrationBin(
                low=_round(part.low),
                high=_round(part.high),
                n=part.n,
                predicted=_round(part.predicted),
                observed=_round(part.rate),
                observed_low=_round(part.rate_low),
                observed_high=_round(part.rate_high),
            )
            for part in fit.bins
        ),
        records=tuple(
            ToolRecord(
                key=dict(zip(fields["by"], given.keys[tool], strict=True)),
                logits={kind: _round(value) for kind, value in zip(kinds, fit.records.by_kind[tool], strict=True)},
            )
            for tool in used
        ),
        base_logit=_round(fit.records.of_all),
    )


def predict_correctness(model: CorrectnessModel, given: SubmissionColumns, rows: Ints) -> list[CorrectnessPrediction]:
    """Return the probability of each submission, with the contribution of each feature to its logit."""
    features = known_submissions(given, rows).features
    records = {tuple(record.key.values()): record.logits for record in model.records}
    made = []
    for row, values in zip(rows.tolist(), features.tolist(), strict=True):
        task, key = given.tasks[given.task[row]], given.keys[given.tool[row]] if given.tool[row] >= 0 else None
        record = records.get(key, {}) if key is not None else {}
        values.append(record.get(task.category or NO_CATEGORY, model.base_logit))
        parts = {"intercept": model.intercept}
        for coefficient, value in zip(model.coefficients, values, strict=True):
            if np.isfinite(value):
                far = np.clip((value - coefficient.mean) / coefficient.deviation, -5, 5)
                parts[coefficient.feature] = _round(coefficient.coefficient * far)
        logit = float(np.sum(list(parts.values())))
        made.append(
            CorrectnessPrediction(
                submission_id=given.columns["id"][row],
                task_id=task.id,
                p_correct=round(float(1 / (1 + np.exp(-logit))), 4),
                parts=parts,
            )
        )
    return made


def _round(value: float) -> float:
    """To digits that no interval reaches: what differs in the last bits alone is the same version."""
    return round(float(value), DIGITS)
