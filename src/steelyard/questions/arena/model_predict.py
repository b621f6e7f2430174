"""Predict the next score of each agent.

Each prediction has a prediction interval at the confidence level of the profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, PredictedScore, TaskDifficulty, VersionOf, predict_scores, version_text
from steelyard.figures import Estimate, Figure, dots
from steelyard.formatting import counted, exact_percent
from steelyard.questions._answer import Drawing, Rows
from steelyard.questions._question import arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_axis, score_column, spared
from steelyard.questions.arena._models import MAX_DRAWN, VersionOptions, interval_column, tool_text, version_facts

if TYPE_CHECKING:
    from steelyard.pages import Page


class PredictOptions(VersionOptions):
    """Options of `arena model predict`."""

    task: str = doc("Task id.", kw_only=False)


class PredictedScores(ArenaAnswer, frozen=True, kw_only=True):
    """Predicted score of every agent on a task, attempted or not, best first."""

    rows: ClassVar[Rows] = Rows("scores")

    version: VersionOf | None
    """None if no model has been fitted (see `reason`)."""
    task_id: str
    task: TaskDifficulty | None
    """None if the task was not in the fit; predictions are then for an average task."""
    confidence: float
    scores: tuple[PredictedScore, ...]
    reason: str | None
    """Why there are no predictions; None if there are."""

    @property
    def about(self) -> str:
        """Task, number of agents and version."""
        agents = counted(len(self.scores), "agent")
        return f"{self.task_id}: {self.reason or f'{agents}, {version_text(self.version)}'}"


@arena_question(PredictOptions, path="/tasks/{task}/predictions", examples=({"task": "fix-race"},))
def arena_model_predict(arena: Arena, options: PredictOptions) -> PredictedScores:
    """Return the predicted score of every agent on a task, attempted or not."""
    version, model, scores = predict_scores(arena, options.task, options.version)
    return PredictedScores(
        version=version,
        task_id=options.task,
        task=next((each for each in model.tasks if each.task_id == options.task), None),
        confidence=model.confidence,
        scores=tuple(scores),
        reason=model.reason,
    )


def page(answer: PredictedScores) -> Page:
    """Return predicted scores, best agent first."""
    heading, rows = f"Predicted scores on {answer.task_id}", answer.scores
    if answer.reason is not None:
        sentence = f"{version_text(answer.version)}: {answer.reason}."
        return pages.Page(name="predictions", title=heading, answer=sentence, facts=version_facts(answer.version))
    columns = (
        pages.text_column("tool", "agent", [tool_text(row.key) for row in rows]),
        score_column("prediction", "predicted score", [row.prediction.estimate for row in rows]),
        interval_column([row.prediction for row in rows]),
        spared(score_column("correctness", "predicted correctness", [row.correctness for row in rows]), 2),
        spared(pages.count_column("submissions", "submissions so far", [row.submissions for row in rows])),
    )
    level = exact_percent(answer.confidence)
    unseen = "" if answer.task else "; the task was not in the fit, so predictions are for an average task"
    made = pages.Page(
        name="predictions",
        title=heading,
        answer=f"{answer.task_id}, {version_text(answer.version)}, {level} prediction intervals{unseen}.",
        table=pages.PageTable(caption="Predicted overall score of the next submission", columns=columns),
        facts=version_facts(answer.version, answer.confidence),
    )
    return pages.with_figures(made, answer, ("dots",)) if rows else made


def _dots(answer: PredictedScores, width: int) -> Figure:
    """Draw the predicted score of each agent on the task; hollow if the agent has not attempted it."""
    rows = [
        Estimate(
            label=tool_text(score.key),
            value=score.prediction.estimate,
            low=score.prediction.low,
            high=score.prediction.high,
            faint=not score.submissions,
            note=counted(score.submissions, "submission") if score.submissions else "not attempted",
            text=f"{score.prediction.estimate:.2f}",
        )
        for score in answer.scores[:MAX_DRAWN]
    ]
    note = answer.reason or f"{exact_percent(answer.confidence)} prediction intervals; hollow: not attempted"
    axis = score_axis("Overall score of the next submission")
    return dots(rows, title=f"Predicted scores on {answer.task_id}", axis=axis, note=note, width=width)


DRAWINGS: Mapping[str, Drawing] = {"dots": _dots}
"""Figures of the answer."""
