"""Versions of fitted models: fitting them (outside of write transactions), storing them, and queries on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import (
    Abilities,
    Anomaly,
    CorrectnessModel,
    CorrectnessPrediction,
    FittedModel,
    IntervalEstimate,
    ModelEstimates,
    Policy,
    PredictedScore,
    TaskDifficulty,
    ToolAbility,
    VersionOf,
)
from steelyard.arena._model_fits import (
    SubmissionColumns,
    accepted_so_far,
    fit_abilities,
    fit_correctness,
    has_tests,
    predict_correctness,
    read_columns,
)
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._tasks import find_task
from steelyard.arena.scoring._fitted_models import (
    ABILITIES,
    SHRUNKEN_SCORE,
    decoded_abilities,
    fitted_model,
    shrunken_score,
    sparse_task,
    version_of,
)
from steelyard.arena.scoring._rules import ModelsTable
from steelyard.errors import UsageError
from steelyard.records import Finding
from steelyard.statistics import student_quantile
from steelyard.store import KeptVersion, ModelVersion, model_seen, model_version, save_model
from steelyard.store.schema import submissions, tasks

CORRECTNESS = "correctness"
TYPES: dict[str, type[Abilities | CorrectnessModel]] = {ABILITIES: Abilities, CORRECTNESS: CorrectnessModel}
SWITCHED_OFF = "the arena's profile does not enable models"
HINT = "rescore the arena with the profile arena-models-1"


def fit_models(arena: Arena) -> tuple[list[FittedModel], tuple[Finding, ...]]:
    """Fit all enabled models to the included submissions as currently scored; return the versions and the anomalies.

    A version fitted to the same data is kept.
    """
    with arena.read() as connection:
        rules, policy, table = arena.rules, arena.policy, arena.rules.models
        if table is None:
            raise UsageError(SWITCHED_OFF, hint=HINT)
        given = read_columns(connection, rules, policy, table.by)
        latest = {kind: model_version(connection, kind) for kind in kinds_of(table)}
    versions: list[FittedModel] = []
    findings: tuple[Finding, ...] = ()
    for kind, before in latest.items():
        digest = given.digest(kind, table, policy)
        if before is not None and before.digest == digest:
            version = KeptVersion(before, is_new=False)
        else:
            version = _keep(arena, kind, digest, given, table, policy)
        fitted = msgspec.json.decode(version.version.content, type=TYPES[kind])
        versions.append(fitted_model(version, fitted.reason))
        if isinstance(fitted, Abilities):
            findings = anomaly_findings(fitted.anomalies)
    return versions, findings


def _keep(
    arena: Arena, kind: str, digest: str, given: SubmissionColumns, table: ModelsTable, policy: Policy
) -> KeptVersion:
    """Fit and store a model; another process may have stored the same one in the meantime."""
    fitted: Abilities | CorrectnessModel | None = None
    if kind == ABILITIES and table.abilities is not None:
        fitted = fit_abilities(given, table.by, table.abilities, policy)
    elif kind == CORRECTNESS and table.correctness is not None:
        fitted = fit_correctness(given, table.by, table.correctness)
    content = msgspec.json.encode(fitted).decode()

    def work(connection: Connection) -> KeptVersion:
        return save_model(connection, kind, digest=digest, seen=given.seen, content=content)

    return arena.store.in_transaction(work)


def kinds_of(table: ModelsTable) -> list[str]:
    """Return the enabled models."""
    on = {ABILITIES: table.abilities, CORRECTNESS: table.correctness}
    return [kind for kind, own in on.items() if own is not None]


def anomaly_findings(anomalies: Sequence[Anomaly]) -> tuple[Finding, ...]:
    """Return a finding per anomaly, recommending a manual review."""
    return tuple(
        Finding(
            code="anomalous_score",
            message=f"score {each.overall_score:.2f} vs. prediction {each.predicted:.2f} for"
            f" {' '.join(part for part in each.key.values() if part)} ({each.standardized_residual:+.1f} SD);"
            " recommended: manual_review",
            where=f"{each.task_id}: {each.submission_id}",
        )
        for each in anomalies
    )


def stops(table: ModelsTable) -> Callable[[int], tuple[int, int]]:
    """Return a function from a number of submissions to the last count at which a fit was due (0: none) and the next.

    The counts grow geometrically, so the amortized cost of fitting per submission is constant.
    """

    def around(accepted: int) -> tuple[int, int]:
        last, following = 0, table.first
        while following <= accepted:
            last, following = following, max(following + 1, int(following * table.growth))
        return last, following

    return around


def fit_if_due(arena: Arena) -> int | None:
    """Fit the models if a version is due; return the number of submissions until the next one. None: models are off.

    A version is due when the arena has reached the count and no version includes as many submissions. If a process is
    killed between accepting a submission and fitting, the next process fits.
    """
    if arena.rules.models is None:
        return None
    with arena.store.read() as connection:
        accepted = accepted_so_far(connection)
        last, following = stops(arena.rules.models)(accepted)
        is_due = last > arena.fitted_up_to and any(
            model_seen(connection, kind) < last for kind in kinds_of(arena.rules.models)
        )
    if is_due:
        fit_models(arena)
    arena.fitted_up_to = last
    return following - accepted


MIN_SCORE, MAX_SCORE = 0.0, 100.0


def read_abilities(arena: Arena, version: int | None = None) -> tuple[VersionOf | None, Abilities]:
    """Return the latest version of the ability model, or the given one."""
    with arena.read() as connection:
        kept = model_version(connection, ABILITIES, version)
    return version_of(kept), _abilities(arena, kept)


def predict_scores(
    arena: Arena, task_id: str, version: int | None = None
) -> tuple[VersionOf | None, Abilities, list[PredictedScore]]:
    """Return the model and the predicted score of every agent on the task, attempted or not, best first."""
    with arena.read() as connection:
        find_task(connection, task_id, arena.rules)
        kept = model_version(connection, ABILITIES, version)
        model = _abilities(arena, kept)
        tried = {} if kept is None else _tried(connection, task_id, model.by, kept)
    task = next((each for each in model.tasks if each.task_id == task_id), None)
    scores = [
        PredictedScore(
            key=tool.key,
            prediction=_prediction(model, tool, task),
            correctness=_correctness(tool, task),
            submissions=tried.get(tuple(tool.key.values()), 0),
        )
        for tool in model.tools
    ]
    scores.sort(key=lambda score: -score.prediction.estimate)
    return version_of(kept), model, scores


def _tried(
    connection: Connection, task_id: str, by: Sequence[str], kept: ModelVersion
) -> dict[tuple[str | None, ...], int]:
    """How many submissions of each agent to the task were included when the version was fitted."""
    chosen = select(*(submissions.c[name] for name in by)).join(tasks, tasks.c.task_key == submissions.c.task_key)
    there = (tasks.c.id == task_id) & (submissions.c.accepted_at <= kept.made_at) & submissions.c.excluded_at.is_(None)
    counts: dict[tuple[str | None, ...], int] = {}
    for row in connection.execute(chosen.where(there)):
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    return counts


def read_correctness(
    arena: Arena, task_id: str | None = None, version: int | None = None
) -> tuple[VersionOf | None, CorrectnessModel, Sequence[CorrectnessPrediction]]:
    """Return the correctness model; with a task that has no tests, also the probability of each submission."""
    with arena.read() as connection:
        kept = model_version(connection, CORRECTNESS, version)
        model = CorrectnessModel(reason=_why_none(arena, CORRECTNESS))
        if kept is not None:
            model = msgspec.json.decode(kept.content, type=CorrectnessModel)
        columns = None
        if task_id is not None:
            task = find_task(connection, task_id, arena.rules).task
            if has_tests(task):
                raise UsageError(
                    "the task has tests, which determine correctness", where=task_id, hint="choose a task without tests"
                )
            if model.reason is None:
                columns = read_columns(connection, arena.rules, arena.policy, model.by, task_id=task_id)
    predictions = () if columns is None else predict_correctness(model, columns, np.arange(len(columns.task)))
    return version_of(kept), model, predictions


def model_estimates(arena: Arena, submission_id: str, *, overall_score: float, task_id: str) -> ModelEstimates | None:
    """Return the estimates of the latest models for a submission; None if the profile enables no models."""
    if arena.rules.models is None:
        return None
    about = ModelEstimates()
    with arena.read() as connection:
        abilities = model_version(connection, ABILITIES)
        correctness = model_version(connection, CORRECTNESS)
        task = find_task(connection, task_id, arena.rules).task
        row = connection.execute(select(submissions).where(submissions.c.id == submission_id)).mappings().one()
        if correctness is not None:
            model = msgspec.json.decode(correctness.content, type=CorrectnessModel)
            about = msgspec.structs.replace(about, correctness_version=correctness.number, reason=model.reason)
            if has_tests(task):
                about = msgspec.structs.replace(about, reason="the task has tests, which determine correctness")
            elif model.reason is None:
                columns = read_columns(connection, arena.rules, arena.policy, model.by, task_id=task_id)
                ids: list[str] = columns.columns["id"]
                if submission_id in ids:  # one that is excluded is not
                    prediction = predict_correctness(model, columns, np.array([ids.index(submission_id)]))[0]
                    about = msgspec.structs.replace(about, correctness=prediction)
    if abilities is not None:
        ability_model = decoded_abilities(abilities.content)
        about = msgspec.structs.replace(about, abilities_version=abilities.number)
        key = tuple(row[name] for name in ability_model.by)
        return _with_abilities(about, ability_model, submission_id, key, overall_score=overall_score, task_id=task_id)
    return about


def _with_abilities(
    about: ModelEstimates,
    model: Abilities,
    submission_id: str,
    key: tuple[str | None, ...],
    *,
    overall_score: float,
    task_id: str,
) -> ModelEstimates:
    task = next((each for each in model.tasks if each.task_id == task_id), None)
    tool = next((each for each in model.tools if tuple(each.key.values()) == key), None)
    anomaly = next((each for each in model.anomalies if each.submission_id == submission_id), None)
    found: dict[str, object] = {"standardized_residual": None if anomaly is None else anomaly.standardized_residual}
    if tool is not None:
        found["prediction"] = _prediction(model, tool, task)
    sparse = sparse_task(model, task_id)
    if sparse is not None:
        reach = (sparse.level.high - sparse.level.low) / 2
        ends = {SHRUNKEN_SCORE: 0.0, "shrunken_low": -reach, "shrunken_high": reach}
        found |= {name: shrunken_score(sparse, overall_score, further=further) for name, further in ends.items()}
    return msgspec.structs.replace(about, **found)


def _abilities(arena: Arena, kept: ModelVersion | None) -> Abilities:
    if kept is None:
        return Abilities(reason=_why_none(arena, ABILITIES))
    return decoded_abilities(kept.content)


def _why_none(arena: Arena, kind: str) -> str:
    """Return why there is no version and how to fit one."""
    if arena.rules.models is None or getattr(arena.rules.models, kind) is None:
        return f"{SWITCHED_OFF} ({HINT})"
    return f"the {kind} model has not been fitted yet (run: steelyard arena model fit)"


def _prediction(model: Abilities, tool: ToolAbility, task: TaskDifficulty | None) -> IntervalEstimate:
    """Return the prediction for the next submission; for a task outside the fit, on an average task."""
    level = float(np.mean([each.level.estimate for each in model.tasks]))
    spread = float(np.std([each.level.estimate for each in model.tasks]))
    middle = tool.ability.estimate + (0.0 if task is None else task.level.estimate - level)
    of_tool = _error(tool.ability, model.confidence, len(model.tools))
    of_task = spread if task is None else _error(task.level, model.confidence, len(model.tasks))
    width = float(np.sqrt(model.residual_sd**2 + of_tool**2 + of_task**2))
    ends = (middle, middle + model.prediction_quantiles[0] * width, middle + model.prediction_quantiles[1] * width)
    return IntervalEstimate(*(round(_inside(end), 2) for end in ends))


def _error(between: IntervalEstimate, confidence: float, count: int) -> float:
    """Return the standard error behind an interval."""
    return (between.high - between.low) / 2 / float(student_quantile(confidence, count - 1))


def _correctness(tool: ToolAbility, task: TaskDifficulty | None) -> float | None:
    if tool.correctness_ability is None or task is None or task.difficulty is None or task.discrimination is None:
        return None
    above = task.discrimination.estimate * (tool.correctness_ability.estimate - task.difficulty.estimate)
    return round(float(100 / (1 + np.exp(-above))), 2)


def _inside(score: float) -> float:
    return min(max(score, MIN_SCORE), MAX_SCORE)
