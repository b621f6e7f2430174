"""Probability that a submission without tests is correct, fitted to submissions whose tests were run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.arena.models._submission_columns import USAGE_FIELDS, Ints, SubmissionColumns
from steelyard.arena.scoring import CorrectnessTable
from steelyard.records import Task
from steelyard.results import CalibrationBin, Coefficient, CorrectnessModel, CorrectnessPrediction, ToolRecord
from steelyard.statistics import CalibratedLogistic, Examples, fit_calibrated_logistic

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
    RECORD: "pass rate of the tool on other tasks of the category, as a logit",
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
class Known:
    """What is known of submissions."""

    features: Floats
    """One row a submission, without the tool's record; NaN where a feature is not known."""
    right: Floats
    """1 when all tests passed, 0 when not; NaN where none was run on artifacts."""


def what_is_known(given: SubmissionColumns, rows: Ints) -> Known:
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
    return Known(features, right)


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
    known = what_is_known(given, rows)
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
    features = what_is_known(given, rows).features
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
    return round(float(value), DIGITS)
