"""What was learned: who is able, what is hard, what is to be expected, and how surely something is right."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.formatting import confidence_level
from steelyard.reports._arena_learning import (
    abilities_line,
    between_text,
    correctness_lines,
    estimate_of,
    expected_line,
    parts_text,
    tool_text,
)
from steelyard.reports.pages._cells import count_column, id_column, number_column, text_column, with_figures
from steelyard.reports.pages._page import Column, Facts, Page, PageTable
from steelyard.results import (
    Between,
    ExpectedScores,
    LearnedAbilities,
    LearnedCorrectness,
    Surprise,
    TaskDifficulty,
    VersionOf,
)


def abilities_page(result: LearnedAbilities) -> Page:
    """One row a tool, by its ability; then tasks by difficulty, and what was a surprise."""
    told = result.learned
    page = Page(
        name="abilities",
        title="Who is able, whatever they tried?",
        answer=abilities_line(result),
        facts=_facts(result.version, told.confidence if told.reason is None else None),
    )
    if told.reason is not None:
        return page
    tools = told.tools
    columns = (
        count_column("rank", "rank", [tool.rank for tool in tools]),
        text_column("tool", "tool", [tool_text(tool.key) for tool in tools]),
        number_column("ability", "ability", [tool.ability.estimate for tool in tools], places=2),
        _interval("interval", [tool.ability for tool in tools]),
        number_column("mean_score", "plain mean", [tool.mean_score for tool in tools], places=2),
        count_column("mean_rank", "rank by mean", [tool.mean_rank for tool in tools]),
        number_column(
            "correctness_ability",
            "in being right",
            [estimate_of(tool.correctness_ability) for tool in tools],
            places=2,
            sign="+",
        ),
        count_column("tasks", "tasks", [tool.tasks for tool in tools]),
        count_column("submissions", "submissions", [tool.submissions for tool in tools]),
    )
    tables = [_tasks_table(told.tasks)] + ([_surprises_table(told.surprises)] if told.surprises else [])
    page = Page(
        name=page.name,
        title=page.title,
        answer=page.answer,
        notes=(f"A score lies {told.deviation:.2f} points (one standard deviation) around what is expected.",),
        table=PageTable(caption="Tools by the score expected on an average task", columns=columns),
        also=tuple(tables),
        facts=page.facts,
    )
    return with_figures(page, result, ("dots",))


def _tasks_table(tasks: Sequence[TaskDifficulty]) -> PageTable:
    rows = sorted(tasks, key=lambda task: task.level.estimate)
    return PageTable(
        name="tasks",
        caption="Tasks, the hardest first",
        columns=(
            id_column("task_id", "task", "tasks", [task.task_id for task in rows]),
            number_column("level", "an average tool scores", [task.level.estimate for task in rows], places=2),
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


def _surprises_table(rows: Sequence[Surprise]) -> PageTable:
    return PageTable(
        name="surprises",
        caption="Surprises, for a review",
        columns=(
            id_column("submission_id", "submission", "submissions", [row.submission_id for row in rows]),
            id_column("task_id", "task", "tasks", [row.task_id for row in rows]),
            text_column("tool", "tool", [tool_text(row.key) for row in rows]),
            number_column("overall_score", "score", [row.overall_score for row in rows], places=2),
            number_column("expected", "expected", [row.expected for row in rows], places=2),
            number_column("deviations", "deviations", [row.deviations for row in rows], places=2, sign="+"),
        ),
    )


def expected_page(result: ExpectedScores) -> Page:
    """One row a tool, the best first."""
    rows = result.scores
    columns = (
        text_column("tool", "tool", [tool_text(row.key) for row in rows]),
        number_column("expected", "expected score", [row.expected.estimate for row in rows], places=2),
        _interval("limits", [row.expected for row in rows]),
        number_column("correctness", "expected correctness", [row.correctness for row in rows], places=2),
        count_column("submissions", "submissions so far", [row.submissions for row in rows]),
    )
    is_told = result.reason is None
    page = Page(
        name="expected",
        title=f"What is to be expected on {result.task_id}?",
        answer=expected_line(result),
        table=PageTable(caption="Expected overall score of a further submission", columns=columns) if is_told else None,
        facts=_facts(result.version, result.confidence if is_told else None),
    )
    return with_figures(page, result, ("dots",)) if rows else page


def correctness_page(result: LearnedCorrectness) -> Page:
    """The coefficients and how well chances are calibrated; of a task, one row a submission."""
    model = result.model
    page = Page(
        name="correctness",
        title="How likely is a submission without tests to be right?",
        answer="; ".join(correctness_lines(result)),
        facts=_facts(result.version, None),
    )
    if model.reason is not None:
        return page
    rows = sorted(model.coefficients, key=lambda each: -abs(each.coefficient))
    coefficients = PageTable(
        name="coefficients",
        caption="What one standard deviation adds to the logit of being right",
        columns=(
            text_column("feature", "feature", [row.feature for row in rows]),
            number_column("coefficient", "coefficient", [row.coefficient for row in rows], sign="+"),
            count_column("known", "known", [row.known for row in rows]),
            text_column("meaning", "meaning", [row.meaning for row in rows]),
        ),
    )
    chances = PageTable(
        name="chances",
        caption=f"{result.task_id}: the learned chance of being right, in no score",
        columns=(
            id_column("submission_id", "submission", "submissions", [each.submission_id for each in result.chances]),
            number_column("chance", "chance", [each.chance for each in result.chances]),
            text_column("parts", "most telling", [parts_text(each.parts) for each in result.chances]),
        ),
    )
    is_of_task = result.task_id is not None
    page = Page(
        name=page.name,
        title=page.title,
        answer=page.answer,
        table=chances if is_of_task else coefficients,
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
    level = () if confidence is None else (("confidence level", confidence_level(confidence)),)
    return (
        ("version", f"{version.number}"),
        ("learned", version.made_at),
        ("submissions seen", f"{version.seen:,}"),
        *level,
        ("inputs", f"sha256 {version.digest}"),
    )
