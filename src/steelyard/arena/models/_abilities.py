"""Tools' abilities and tasks' difficulties, estimated together from all scores and from all that was right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.arena.models._submission_columns import Ints, Key, SubmissionColumns
from steelyard.arena.scoring import AbilitiesTable, points
from steelyard.results import Abilities, Anomaly, Between, Policy, TaskDifficulty, ToolAbility
from steelyard.statistics import (
    CrossedEffects,
    ItemResponse,
    Responses,
    crossed_effects,
    distinct_pairs,
    item_response,
    student_quantile,
)

MAX_ANOMALIES = 100
DIGITS = 6
Floats = npt.NDArray[np.float64]


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
    for what, count, least in (("tools", len(given.keys), table.min_tools), ("tasks", len(tasks), table.min_tasks)):
        if count < least:
            return Abilities(**summary, reason=f"not enough {what} to fit abilities: {count} of {least}")
    second = np.searchsorted(tasks, given.task[named])
    scores = np.array(given.columns["overall"], dtype=np.float64)[named] / 100
    fit = crossed_effects(given.tool[named], second, scores, level=table.confidence)
    right = _Rightness(given, named, table.confidence)
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


class _Rightness:
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

    def ability(self, tool: int) -> Between | None:
        """Of a tool that submitted to a task with criteria."""
        place = _place(self.tools, tool)
        if self.fit is None or place is None:
            return None
        return _between(self.fit.ability[place], self.reach * self.fit.ability_error[place])

    def difficulty(self, task: int) -> tuple[Between | None, Between | None]:
        """Difficulty and discrimination of a task with criteria."""
        place = _place(self.tasks, task)
        if self.fit is None or place is None:
            return None, None
        slope, error = self.fit.log_discrimination[place], self.reach * self.fit.log_discrimination_error[place]
        sharp = Between(*(_round(np.exp(value)) for value in (slope, slope - error, slope + error)))
        return _between(self.fit.difficulty[place], self.reach * self.fit.difficulty_error[place]), sharp


def _tools(
    given: SubmissionColumns,
    named: Ints,
    by: Sequence[str],
    fit: CrossedEffects,
    right: _Rightness,
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
    given: SubmissionColumns, tasks: Ints, second: Ints, fit: CrossedEffects, right: _Rightness, table: AbilitiesTable
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


def _between(estimate: float, reach: float) -> Between:
    return Between(_round(estimate), _round(estimate - reach), _round(estimate + reach))


def _round(value: float) -> float:
    """To digits that no interval reaches: what differs in the last bits alone is the same version."""
    return round(float(value), DIGITS)
