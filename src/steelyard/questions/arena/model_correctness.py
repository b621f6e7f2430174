"""Show the probability that untested submissions are correct.

The result contains the calibration, the coefficients and, for a task, the probability that each submission is correct.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, CorrectnessModel, CorrectnessPrediction, VersionOf, read_correctness, version_text
from steelyard.errors import UsageError
from steelyard.figures import Axis, Figure, ScoreBin, reliability
from steelyard.formatting import counted
from steelyard.questions._answer import Drawing, Rows
from steelyard.questions._question import arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, spared
from steelyard.questions.arena._models import VersionOptions, version_facts

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable

MAX_PARTS = 3
"""Contributions of features that a table shows per submission."""


class CorrectnessOptions(VersionOptions):
    """Options of `arena model correctness`."""

    task: str | None = doc("Id of a task without tests.", default=None, kw_only=False)


class CorrectnessEstimates(ArenaAnswer, frozen=True, kw_only=True):
    """The correctness model, its calibration, and its predictions for a task without tests."""

    rows: ClassVar[Rows] = Rows("model.coefficients", "predictions")

    version: VersionOf | None
    """None if no model has been fitted (see `reason`)."""
    model: CorrectnessModel
    task_id: str | None
    predictions: tuple[CorrectnessPrediction, ...]
    """Predictions for the submissions to the requested task."""

    @property
    def about(self) -> str:
        """Version and Brier score."""
        return self.model.reason or f"{version_text(self.version)}: Brier score {self.model.brier:.3f}"


@arena_question(CorrectnessOptions, path="/correctness", examples=({}, {"task": "write-docs"}))
def arena_model_correctness(arena: Arena, options: CorrectnessOptions) -> CorrectnessEstimates:
    """Return the correctness model and, for a task without tests, the probability of each submission."""
    version, model, predictions = read_correctness(arena, options.task, options.version)
    return CorrectnessEstimates(version=version, model=model, task_id=options.task, predictions=tuple(predictions))


def page(answer: CorrectnessEstimates) -> Page:
    """Return coefficients and calibration; for a task, one row per submission."""
    model = answer.model
    heading = "How likely is a submission without tests to be correct?"
    if model.reason is not None:
        sentence = f"{version_text(answer.version)}: {model.reason}."
        return pages.Page(name="correctness", title=heading, answer=sentence, facts=version_facts(answer.version))
    rows = sorted(model.coefficients, key=lambda each: -abs(each.coefficient))
    coefficients = pages.PageTable(
        name="coefficients",
        caption="Change in the logit of being correct per standard deviation",
        columns=(
            pages.text_column("feature", "feature", [row.feature for row in rows]),
            pages.number_column("coefficient", "coefficient", [row.coefficient for row in rows], sign="+"),
            pages.count_column("known", "known", [row.known for row in rows]),
            spared(pages.text_column("meaning", "meaning", [row.meaning for row in rows])),
        ),
    )
    is_of_task = answer.task_id is not None
    made = pages.Page(
        name="correctness",
        title=heading,
        answer=(
            f"{version_text(answer.version)}: {counted(model.examples, 'submission')} with tests,"
            f" {counted(model.tasks, 'task')}."
            f" Cross-validated by task: Brier score {model.brier:.3f} (baseline {model.brier_baseline:.3f}),"
            f" calibration error {model.calibration_error:.3f}."
        ),
        table=_predictions_table(answer) if is_of_task else coefficients,
        also=(coefficients,) if is_of_task else (),
        facts=version_facts(answer.version),
    )
    return pages.with_figures(made, answer, ("reliability",))


def _predictions_table(answer: CorrectnessEstimates) -> PageTable:
    rows = answer.predictions
    return pages.PageTable(
        name="predictions",
        caption=f"{answer.task_id}: predicted probability of correctness (not part of any score)",
        columns=(
            pages.id_column("submission_id", "submission", "submissions", [row.submission_id for row in rows]),
            pages.number_column("p_correct", "p(correct)", [row.p_correct for row in rows]),
            spared(pages.text_column("parts", "largest contributions", [_parts_text(row.parts) for row in rows])),
        ),
    )


def _parts_text(parts: Mapping[str, float]) -> str:
    """Return the largest contributions to the logit."""
    largest = sorted((part for part in parts.items() if part[0] != "intercept"), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {value:+.2f}" for name, value in largest[:MAX_PARTS])


def _reliability(answer: CorrectnessEstimates, width: int) -> Figure:
    """Draw the pass rate of held-out submissions by predicted probability."""
    model = answer.model
    if model.reason is not None:
        raise UsageError(f"nothing to draw: {model.reason}")
    bins = [
        ScoreBin(each.low, each.high, each.predicted, each.observed, each.observed_low, each.observed_high, each.n)
        for each in model.bins
    ]
    return reliability(
        bins,
        title="Observed pass rate by predicted probability",
        score=Axis(title="Predicted probability (leave-one-task-out)", low=0, high=1),
        rate=Axis(title="Submissions that passed", unit="fraction", low=0, high=1),
        note=f"Brier score {model.brier:.3f}, calibration error {model.calibration_error:.3f},"
        f" {counted(model.examples, 'submission')}",
        width=width,
    )


DRAWINGS: Mapping[str, Drawing] = {"reliability": _reliability}
"""Figures of the answer."""
