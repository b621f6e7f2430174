"""Pages of fitted models: abilities, task difficulty, predicted scores, probability of correctness."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.formatting import exact_percent
from steelyard.pages import (
    Column,
    Facts,
    Page,
    PageTable,
    count_column,
    id_column,
    number_column,
    text_column,
    with_figures,
)
from steelyard.reports._arena_models import (
    abilities_line,
    between_text,
    correctness_lines,
    estimate_of,
    parts_text,
    prediction_line,
    tool_text,
)
from steelyard.results import (
    AbilityRanking,
    Anomaly,
    Between,
    CorrectnessEstimates,
    PredictedScores,
    TaskDifficulty,
    VersionOf,
)


def abilities_page(result: AbilityRanking) -> Page:
    """Return the page with tools by ability, tasks by difficulty, and anomalies."""
    model = result.model
    page = Page(
        name="abilities",
        title="Which tools are best, adjusted for task difficulty?",
        answer=abilities_line(result),
        facts=_facts(result.version, model.confidence if model.reason is None else None),
    )
    if model.reason is not None:
        return page
    tools = model.tools
    columns = (
        count_column("rank", "rank", [tool.rank for tool in tools]),
        text_column("tool", "tool", [tool_text(tool.key) for tool in tools]),
        number_column("ability", "ability", [tool.ability.estimate for tool in tools], places=2),
        _interval("interval", [tool.ability for tool in tools]),
        number_column("mean_score", "plain mean", [tool.mean_score for tool in tools], places=2),
        count_column("mean_rank", "rank by mean", [tool.mean_rank for tool in tools]),
        number_column(
            "correctness_ability",
            "correctness ability",
            [estimate_of(tool.correctness_ability) for tool in tools],
            places=2,
            sign="+",
        ),
        count_column("tasks", "tasks", [tool.tasks for tool in tools]),
        count_column("submissions", "submissions", [tool.submissions for tool in tools]),
    )
    tables = [_tasks_table(model.tasks)] + ([_anomalies_table(model.anomalies)] if model.anomalies else [])
    page = Page(
        name=page.name,
        title=page.title,
        answer=page.answer,
        notes=(f"Standard deviation of a score around its prediction: {model.residual_sd:.2f} points.",),
        table=PageTable(caption="Tools by predicted score on an average task", columns=columns),
        also=tuple(tables),
        facts=page.facts,
    )
    return with_figures(page, result, ("dots",))


def _tasks_table(tasks: Sequence[TaskDifficulty]) -> PageTable:
    rows = sorted(tasks, key=lambda task: task.level.estimate)
    return PageTable(
        name="tasks",
        caption="Tasks by difficulty, hardest first",
        columns=(
            id_column("task_id", "task", "tasks", [task.task_id for task in rows]),
            number_column("level", "score of an average tool", [task.level.estimate for task in rows], places=2),
            _interval("interval", [task.level for task in rows]),
            number_column(
                "difficulty",
                "difficulty",
                [estimate_of(task.difficulty) for task in rows],
                places=2,
                sign="+",
            ),
            number_column(
                "discrimination",
                "discrimination",
                [estimate_of(task.discrimination) for task in rows],
                places=2,
            ),
            count_column("submissions", "submissions", [task.submissions for task in rows]),
        ),
    )


def _anomalies_table(rows: Sequence[Anomaly]) -> PageTable:
    return PageTable(
        name="anomalies",
        caption="Anomalous scores, for manual review",
        columns=(
            id_column("submission_id", "submission", "submissions", [row.submission_id for row in rows]),
            id_column("task_id", "task", "tasks", [row.task_id for row in rows]),
            text_column("tool", "tool", [tool_text(row.key) for row in rows]),
            number_column("overall_score", "score", [row.overall_score for row in rows], places=2),
            number_column("predicted", "predicted", [row.predicted for row in rows], places=2),
            number_column(
                "standardized_residual",
                "standardized residual",
                [row.standardized_residual for row in rows],
                places=2,
                sign="+",
            ),
        ),
    )


def predictions_page(result: PredictedScores) -> Page:
    """Return the page with predicted scores, best tool first."""
    rows = result.scores
    columns = (
        text_column("tool", "tool", [tool_text(row.key) for row in rows]),
        number_column("prediction", "predicted score", [row.prediction.estimate for row in rows], places=2),
        _interval("interval", [row.prediction for row in rows]),
        number_column("correctness", "predicted correctness", [row.correctness for row in rows], places=2),
        count_column("submissions", "submissions so far", [row.submissions for row in rows]),
    )
    has_model = result.reason is None
    page = Page(
        name="predictions",
        title=f"Predicted scores on {result.task_id}",
        answer=prediction_line(result),
        table=PageTable(caption="Predicted overall score of the next submission", columns=columns)
        if has_model
        else None,
        facts=_facts(result.version, result.confidence if has_model else None),
    )
    return with_figures(page, result, ("dots",)) if rows else page


def correctness_page(result: CorrectnessEstimates) -> Page:
    """Return the page with coefficients and calibration; for a task, one row per submission."""
    model = result.model
    page = Page(
        name="correctness",
        title="How likely is a submission without tests to be correct?",
        answer="; ".join(correctness_lines(result)),
        facts=_facts(result.version, None),
    )
    if model.reason is not None:
        return page
    rows = sorted(model.coefficients, key=lambda each: -abs(each.coefficient))
    coefficients = PageTable(
        name="coefficients",
        caption="Change in the logit of being correct per standard deviation",
        columns=(
            text_column("feature", "feature", [row.feature for row in rows]),
            number_column("coefficient", "coefficient", [row.coefficient for row in rows], sign="+"),
            count_column("known", "known", [row.known for row in rows]),
            text_column("meaning", "meaning", [row.meaning for row in rows]),
        ),
    )
    rows_of_task = result.predictions
    predictions = PageTable(
        name="predictions",
        caption=f"{result.task_id}: predicted probability of correctness (not part of any score)",
        columns=(
            id_column("submission_id", "submission", "submissions", [each.submission_id for each in rows_of_task]),
            number_column("p_correct", "p(correct)", [each.p_correct for each in rows_of_task]),
            text_column("parts", "largest contributions", [parts_text(each.parts) for each in rows_of_task]),
        ),
    )
    is_of_task = result.task_id is not None
    page = Page(
        name=page.name,
        title=page.title,
        answer=page.answer,
        table=predictions if is_of_task else coefficients,
        also=(coefficients,) if is_of_task else (),
        facts=page.facts,
    )
    return with_figures(page, result, ("reliability",))


def _interval(name: str, values: Sequence[Between]) -> Column:
    return Column(
        name=name,
        title=name,
        values=[value.low for value in values],
        decimals=6,
        texts=[between_text(value) for value in values],
    )


def _facts(version: VersionOf | None, confidence: float | None) -> Facts:
    if version is None:
        return ()
    level = () if confidence is None else (("confidence level", exact_percent(confidence)),)
    return (
        ("version", f"{version.number}"),
        ("fitted", version.made_at),
        ("submissions", f"{version.seen:,}"),
        *level,
        ("inputs", f"sha256 {version.digest}"),
    )
