"""Terminal sentences and tables for the models of an arena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.formatting import counted, decimal_bounds, exact_percent
from steelyard.pages import DASH, TextTable, add_row, plain_table
from steelyard.results import (
    AbilityRanking,
    Between,
    CorrectnessEstimates,
    FittedModels,
    ModelEstimates,
    PredictedScores,
    version_text,
)

TASKS_SHOWN = 50
"""Maximum number of rows in a terminal table; --out and --json include all."""


def fit_lines(fitted: FittedModels) -> Iterator[str]:
    """Return one line per model."""
    for each in fitted.versions:
        is_new = "new" if each.is_new else "unchanged (same data)"
        why = f"; {each.reason}" if each.reason else ""
        seen = counted(each.seen, "rating" if each.kind == "weights" else "submission")
        yield f"{each.kind}: version {each.number}, {is_new}, {seen}{why}"


def tool_text(key: Mapping[str, str | None]) -> str:
    """Return the tool's name."""
    return " ".join(part or DASH for part in key.values())


def estimate_of(between: Between | None) -> float | None:
    """Return the estimate without its interval."""
    return None if between is None else between.estimate


def between_text(between: Between | None, digits: int = 2) -> str:
    """Return the bounds of the interval as text."""
    return DASH if between is None else decimal_bounds(between.low, between.high, decimals=digits)


def abilities_line(ranking: AbilityRanking) -> str:
    """Return the sample size of the fit, or the reason why there is none."""
    model = ranking.model
    if model.reason is not None:
        return f"{version_text(ranking.version)}: {model.reason}."
    unnamed = f" ({model.unnamed:,} without a tool name excluded)" if model.unnamed else ""
    return (
        f"{version_text(ranking.version)}: {counted(model.submissions, 'submission')}{unnamed},"
        f" {counted(len(model.tools), 'tool')}, {counted(len(model.tasks), 'task')}. No score depends on this model."
    )


def abilities_tables(ranking: AbilityRanking) -> Iterator[TextTable]:
    """Return the tools by rank, and the hardest tasks."""
    model = ranking.model
    if model.reason is not None:
        return
    table = plain_table("Tools by ability (predicted score on an average task)")
    for name, spare in (("rank", 0), *((key, 0) for key in model.by), ("ability", 0), ("interval", 0)):
        table.add_column(name, justify="left" if name in model.by else "right", spare=spare)
    for name, spare in (("mean", 1), ("rank by mean", 1), ("correctness", 2), ("tasks", 2), ("submissions", 2)):
        table.add_column(name, justify="right", spare=spare)
    for tool in model.tools:
        right = tool.correctness_ability
        add_row(
            table,
            f"{tool.rank}",
            *(part or DASH for part in tool.key.values()),
            f"{tool.ability.estimate:.2f}",
            between_text(tool.ability),
            f"{tool.mean_score:.2f}",
            f"{tool.mean_rank}",
            DASH if right is None else f"{right.estimate:+.2f}",
            f"{tool.tasks:,}",
            f"{tool.submissions:,}",
        )
    yield table
    hardest = sorted(model.tasks, key=lambda task: task.level.estimate)[:TASKS_SHOWN]
    table = plain_table("Tasks by difficulty, hardest first (predicted score of an average tool)")
    for name, spare in (("task", 0), ("level", 0), ("interval", 0), ("difficulty", 1), ("discrimination", 1)):
        table.add_column(name, justify="left" if name == "task" else "right", spare=spare)
    table.add_column("submissions", justify="right", spare=2)
    for task in hardest:
        add_row(
            table,
            task.task_id,
            f"{task.level.estimate:.2f}",
            between_text(task.level),
            DASH if task.difficulty is None else f"{task.difficulty.estimate:+.2f}",
            DASH if task.discrimination is None else f"{task.discrimination.estimate:.2f}",
            f"{task.submissions:,}",
        )
    yield table


def prediction_line(scores: PredictedScores) -> str:
    """Return the task and the model version."""
    if scores.reason is not None:
        return f"{version_text(scores.version)}: {scores.reason}."
    unseen = "" if scores.task else "; the task was not in the fit, so predictions are for an average task"
    level = exact_percent(scores.confidence)
    return f"{scores.task_id}, {version_text(scores.version)}, {level} prediction intervals{unseen}."


def prediction_table(scores: PredictedScores) -> TextTable:
    """Return one row per tool, best first."""
    table = plain_table("Predicted overall score of the next submission")
    table.add_column("tool", spare=0)
    for name, spare in (("prediction", 0), ("interval", 0), ("correctness", 1), ("submissions so far", 1)):
        table.add_column(name, justify="right", spare=spare)
    for score in scores.scores:
        right = DASH if score.correctness is None else f"{score.correctness:.1f}"
        tried = f"{score.submissions:,}" if score.submissions else "not attempted"
        ends = between_text(score.prediction)
        add_row(table, tool_text(score.key), f"{score.prediction.estimate:.2f}", ends, right, tried)
    return table


def correctness_lines(estimates: CorrectnessEstimates) -> Iterator[str]:
    """Return the calibration of the model, or the reason why there is none."""
    model = estimates.model
    if model.reason is not None:
        yield f"{version_text(estimates.version)}: {model.reason}."
        return
    yield (
        f"{version_text(estimates.version)}: {counted(model.examples, 'submission')} with tests,"
        f" {counted(model.tasks, 'task')}."
        f" Cross-validated by task: Brier score {model.brier:.3f} (baseline {model.brier_baseline:.3f}),"
        f" calibration error {model.calibration_error:.3f}."
    )


def correctness_tables(estimates: CorrectnessEstimates) -> Iterator[TextTable]:
    """Return the coefficients; for a task, the probability of each submission."""
    if estimates.model.reason is not None:
        return
    if estimates.task_id is not None:
        table = plain_table(f"{estimates.task_id}: predicted probability of correctness (not part of any score)")
        table.add_column("submission", spare=0)
        table.add_column("p(correct)", justify="right", spare=0)
        table.add_column("largest contributions", spare=1)
        for prediction in estimates.predictions:
            add_row(table, prediction.submission_id, f"{prediction.p_correct:.3f}", parts_text(prediction.parts))
        yield table
        return
    table = plain_table("Coefficients (change in the logit of being correct per standard deviation)")
    table.add_column("feature", spare=0)
    table.add_column("coefficient", justify="right", spare=0)
    table.add_column("known", justify="right", spare=1)
    table.add_column("meaning", spare=2)
    for each in sorted(estimates.model.coefficients, key=lambda each: -abs(each.coefficient)):
        add_row(table, each.feature, f"{each.coefficient:+.3f}", f"{each.known:,}", each.meaning)
    yield table


def parts_text(parts: Mapping[str, float], most: int = 3) -> str:
    """Return the largest contributions to the logit."""
    largest = sorted((part for part in parts.items() if part[0] != "intercept"), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {value:+.2f}" for name, value in largest[:most])


def model_estimate_lines(about: ModelEstimates) -> Iterator[str]:
    """Return the model estimates for a submission, each with its version."""
    if about.abilities_version is not None:
        by = f"abilities version {about.abilities_version}"
        if about.shrunken_score is not None:
            ends = decimal_bounds(about.shrunken_low, about.shrunken_high)
            yield f"shrunken_score = {about.shrunken_score:.2f} ({ends}; {by}; not part of the overall score)"
        if about.prediction is not None:
            yield f"prediction for its tool: {about.prediction.estimate:.2f} ({between_text(about.prediction)}; {by})"
        if about.standardized_residual is not None:
            far = f"{about.standardized_residual:+.1f} SD from the prediction"
            yield f"anomaly: {far}; recommended: manual_review ({by})"
    if about.correctness_version is not None:
        by = f"correctness version {about.correctness_version}"
        if about.correctness is not None:
            parts = ", ".join(f"{name} {value:+.2f}" for name, value in about.correctness.parts.items())
            yield f"p_correct = {about.correctness.p_correct:.3f} ({by}; logit: {parts}; not part of any score)"
        elif about.reason is not None:
            yield f"p_correct is missing: {about.reason} ({by})"
