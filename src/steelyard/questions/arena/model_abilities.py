"""Rank agents by ability, adjusted for task difficulty.

The ability is the predicted score on an average task. No score depends on this model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import (
    Abilities,
    Anomaly,
    Arena,
    TaskDifficulty,
    VersionOf,
    anomaly_findings,
    read_abilities,
    version_text,
)
from steelyard.figures import Axis, Estimate, Figure, dots
from steelyard.formatting import counted
from steelyard.questions._answer import Drawing, Rows
from steelyard.questions._question import arena_question
from steelyard.questions.arena._common import ArenaAnswer, score_column, spared
from steelyard.questions.arena._models import (
    MAX_DRAWN,
    VersionOptions,
    estimate_of,
    interval_column,
    tool_text,
    version_facts,
)
from steelyard.records import Finding

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable

TERMINAL_TASKS = 50
"""Tasks that a terminal shows."""


class AbilitiesOptions(VersionOptions):
    """Options of `arena model abilities`."""


class AbilityRanking(ArenaAnswer, frozen=True, kw_only=True):
    """Tools ranked by ability, with their plain mean, and tasks by difficulty."""

    rows: ClassVar[Rows] = Rows("model.tools")

    version: VersionOf | None
    """None if no model has been fitted (see `reason`)."""
    model: Abilities
    findings: tuple[Finding, ...]
    """Anomalous scores, for manual review."""

    @property
    def about(self) -> str:
        """Version, number of agents and tasks."""
        tools, tasks = len(self.model.tools), len(self.model.tasks)
        return self.model.reason or f"{version_text(self.version)}: {counted(tools, 'agent')}, {counted(tasks, 'task')}"


@arena_question(AbilitiesOptions, path="/abilities", examples=({}, {"version": 3}))
def arena_model_abilities(arena: Arena, options: AbilitiesOptions) -> AbilityRanking:
    """Return agents by ability and tasks by difficulty."""
    version, model = read_abilities(arena, options.version)
    return AbilityRanking(version=version, model=model, findings=anomaly_findings(model.anomalies))


def page(answer: AbilityRanking) -> Page:
    """Return agents by ability, tasks by difficulty, and anomalies."""
    model, tools = answer.model, answer.model.tools
    heading = "Which agents are best, adjusted for task difficulty?"
    if model.reason is not None:
        sentence = f"{version_text(answer.version)}: {model.reason}."
        return pages.Page(name="abilities", title=heading, answer=sentence, facts=version_facts(answer.version))
    correctness = [estimate_of(tool.correctness_ability) for tool in tools]
    unnamed = f" ({model.unnamed:,} without an agent name excluded)" if model.unnamed else ""
    columns = (
        pages.count_column("rank", "rank", [tool.rank for tool in tools]),
        pages.text_column("tool", "agent", [tool_text(tool.key) for tool in tools]),
        score_column("ability", "ability", [tool.ability.estimate for tool in tools]),
        interval_column([tool.ability for tool in tools]),
        spared(score_column("mean_score", "plain mean", [tool.mean_score for tool in tools])),
        spared(pages.count_column("mean_rank", "rank by mean", [tool.mean_rank for tool in tools])),
        spared(pages.number_column("correctness_ability", "correctness ability", correctness, places=2, sign="+"), 2),
        spared(pages.count_column("tasks", "tasks", [tool.tasks for tool in tools]), 3),
        spared(pages.count_column("submissions", "submissions", [tool.submissions for tool in tools]), 3),
    )
    made = pages.Page(
        name="abilities",
        title=heading,
        answer=(
            f"{version_text(answer.version)}: {counted(model.submissions, 'submission')}{unnamed},"
            f" {counted(len(tools), 'agent')}, {counted(len(model.tasks), 'task')}. No score depends on this model."
        ),
        notes=(f"Standard deviation of a score around its prediction: {model.residual_sd:.2f} points.",),
        table=pages.PageTable(caption="Agents by predicted score on an average task", columns=columns),
        also=(_tasks_table(model.tasks), *([_anomalies_table(model.anomalies)] if model.anomalies else [])),
        facts=version_facts(answer.version, model.confidence),
    )
    return pages.with_figures(made, answer, ("dots",))


def _tasks_table(tasks: Sequence[TaskDifficulty]) -> PageTable:
    rows = sorted(tasks, key=lambda task: task.level.estimate)
    return pages.PageTable(
        name="tasks",
        caption="Tasks by difficulty, hardest first",
        terminal_rows=TERMINAL_TASKS,
        columns=(
            pages.id_column("task_id", "task", "tasks", [task.task_id for task in rows]),
            score_column("level", "score of an average agent", [task.level.estimate for task in rows]),
            interval_column([task.level for task in rows]),
            pages.number_column(
                "difficulty", "difficulty", [estimate_of(task.difficulty) for task in rows], places=2, sign="+"
            ),
            pages.number_column(
                "discrimination", "discrimination", [estimate_of(task.discrimination) for task in rows], places=2
            ),
            spared(pages.count_column("submissions", "submissions", [task.submissions for task in rows])),
        ),
    )


def _anomalies_table(rows: Sequence[Anomaly]) -> PageTable:
    residuals = [row.standardized_residual for row in rows]
    return pages.PageTable(
        name="anomalies",
        caption="Anomalous scores, for manual review",
        columns=(
            pages.id_column("submission_id", "submission", "submissions", [row.submission_id for row in rows]),
            pages.id_column("task_id", "task", "tasks", [row.task_id for row in rows]),
            pages.text_column("tool", "agent", [tool_text(row.key) for row in rows]),
            score_column("overall_score", "score", [row.overall_score for row in rows]),
            score_column("predicted", "predicted", [row.predicted for row in rows]),
            pages.number_column("standardized_residual", "standardized residual", residuals, places=2, sign="+"),
        ),
    )


def _dots(answer: AbilityRanking, width: int) -> Figure:
    """Draw the predicted score of each agent on an average task."""
    model = answer.model
    rows = [
        Estimate(
            label=tool_text(tool.key),
            value=tool.ability.estimate,
            low=tool.ability.low,
            high=tool.ability.high,
            note=f"plain mean {tool.mean_score:.2f} (rank {tool.mean_rank}), {counted(tool.tasks, 'task')}",
            text=f"{tool.ability.estimate:.2f}",
        )
        for tool in model.tools[:MAX_DRAWN]
    ]
    note = model.reason or f"{pages.confidence_text(model.confidence)}, {counted(model.submissions, 'submission')}"
    axis = Axis(title="Predicted score on an average task")
    return dots(rows, title="Agents by ability", axis=axis, note=note, width=width)


DRAWINGS: Mapping[str, Drawing] = {"dots": _dots}
"""Figures of the answer."""
