"""Show how a submission was scored.

Each score is shown with its formula, inputs and constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import (
    NO_CRITERIA,
    Arena,
    ExtraScore,
    ModelEstimates,
    ScoredSubmission,
    ScoreReason,
    evaluation,
    model_estimates,
)
from steelyard.figures import Estimate, Figure, dots
from steelyard.formatting import decimal_bounds, plain
from steelyard.grading import CriterionResult
from steelyard.questions._answer import Drawing, Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_axis, score_column, spared, who

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable

PARTS = ("efficiency_score", "speed_score", "cost_score", "correctness_score")
DIGITS = 9
"""Significant digits of inputs and unrounded scores."""


class ShowOptions(Options):
    """Options of `arena show`."""

    submission: str = doc("Submission id.", kw_only=False)
    score: str | None = doc("Score to explain (default: all).", default=None, kw_only=False)


class SubmissionScores(ArenaAnswer, ScoredSubmission, frozen=True, kw_only=True):
    """A submission with an explanation of its scores."""

    rows: ClassVar[Rows] = Rows("scores", without=("inputs", "constants"))

    model_estimates: ModelEstimates | None
    """Model estimates for it, on which no score depends; None if the profile enables no models."""

    @property
    def about(self) -> str:
        """Submission, task, overall score and rank."""
        receipt = self.receipt
        place = "excluded" if receipt.overall_ranking is None else f"rank {receipt.overall_ranking:,}"
        return f"{receipt.submission_id} in {receipt.task_id}: {receipt.overall_score:.2f}, {place}"


@arena_question(
    ShowOptions,
    path="/submissions/{submission}",
    examples=({"submission": "run-17"}, {"submission": "run-17", "score": "speed_score"}),
)
def arena_show(arena: Arena, options: ShowOptions) -> SubmissionScores:
    """Return the scores of a submission with their formulas and inputs, optionally one of them."""
    scored = evaluation(arena, options.submission, only=options.score)
    receipt = scored.receipt
    estimates = model_estimates(arena, options.submission, overall_score=receipt.overall_score, task_id=receipt.task_id)
    fields = {name: getattr(scored, name) for name in ScoredSubmission.__struct_fields__}
    return SubmissionScores(**fields, model_estimates=estimates)


def page(answer: SubmissionScores) -> Page:
    """Return one row per score, the overall ones first, then one row per input and constant."""
    receipt, scores = answer.receipt, answer.scores[::-1]
    explained: list[ScoreReason | ExtraScore] = [*scores, *answer.extra_scores]
    unrounded = [score.unrounded for score in scores]
    table = pages.PageTable(
        caption="Scores",
        columns=(
            pages.text_column("name", "score", [score.title for score in scores]),
            score_column("value", "value", [score.value for score in scores]),
            spared(
                pages.Column(
                    name="unrounded",
                    title="unrounded",
                    values=unrounded,
                    decimals=6,
                    texts=[plain(value, digits=DIGITS) for value in unrounded],
                )
            ),
        ),
    )
    extra = [_extra_scores_table(answer.extra_scores)] if answer.extra_scores else []
    made = pages.Page(
        name="submission",
        title=f"Why did {receipt.submission_id} get {receipt.overall_score:.2f}?",
        answer=_sentence(answer),
        notes=tuple(_notes(answer)),
        table=table,
        also=(_inputs_table(explained, answer.sources), *extra),
        details=tuple(f"{_title(score)}: {score.formula}" for score in explained),
        links=(pages.PageLink(f"Leaderboard of {receipt.task_id}", pages.id_path("tasks", receipt.task_id)),),
        facts=(
            ("submitter", answer.submitter or pages.DASH),
            ("accepted", answer.accepted_at),
            ("artifacts", f"sha256 {answer.artifacts_sha256}" if answer.artifacts_sha256 else "none"),
        ),
    )
    return pages.with_figures(made, answer, ("scores",))


def _sentence(answer: SubmissionScores) -> str:
    """Return the overall score as a weighted sum, and the rank."""
    receipt = answer.receipt
    whose = f"{receipt.submission_id}{who(answer.agent, answer.model)}"
    weights: Mapping[str, float] = next(
        (score.constants for score in answer.scores if score.name == "overall_score"), {}
    )
    parts = [
        f"{weights[weight]:g} x {name.removesuffix('_score')} {getattr(receipt, name):.2f}"
        for name in PARTS
        if (weight := f"{name.removesuffix('_score')}_weight") in weights
    ]
    total = " = ".join([f"{receipt.overall_score:.2f}", *([" + ".join(parts)] if parts else [])])
    if receipt.overall_ranking is None:
        return f"{whose} is excluded from {receipt.task_id}; its score was {total}."
    return f"{whose} has rank {receipt.overall_ranking:,} in {receipt.task_id}: {total}."


def _notes(answer: SubmissionScores) -> Iterator[str]:
    """Yield when it was submitted and the settings, what to know about its values, its criteria, reviews and models."""
    receipt = answer.receipt
    percentile = "" if receipt.percentile is None else f", percentile {receipt.percentile:g}"
    yield f"Submitted {pages.minute_of(answer.submitted_at)} UTC{percentile}."
    yield f"Scored by {answer.profile}, policy {answer.policy}, baseline version {receipt.baseline_version}."
    for label, names in (
        ("Scored by a default", receipt.defaulted),
        ("Unverified claims", receipt.claimed),
        ("Lower bounds", receipt.lower_bounds),
        ("Flags", receipt.flags),
        ("Warnings", receipt.warnings),
        ("Recommended action", [receipt.recommended_action] if receipt.recommended_action else ()),
    ):
        if names:
            yield f"{label}: {', '.join(names)}."
    if not answer.criteria and any(score.name == "correctness_score" for score in answer.scores):
        yield f"{NO_CRITERIA.capitalize()}."
    yield from map(_criterion, answer.criteria)
    yield from (review.sentence for review in answer.reviews)
    if answer.model_estimates is not None:
        yield from _estimates(answer.model_estimates)


def _criterion(criterion: CriterionResult) -> str:
    claimed = ", claimed" if criterion.claimed else ""
    return f"{criterion.type} is {'met' if criterion.met else 'not met'}{claimed}: {criterion.reason}."


def _estimates(about: ModelEstimates) -> Iterator[str]:
    """Yield the model estimates, each with its version."""
    if about.abilities_version is not None:
        by = f"abilities version {about.abilities_version}"
        if about.shrunken_score is not None:
            ends = decimal_bounds(about.shrunken_low, about.shrunken_high)
            yield f"shrunken_score = {about.shrunken_score:.2f} ({ends}; {by}; not part of the overall score)"
        if about.prediction is not None:
            ends = decimal_bounds(about.prediction.low, about.prediction.high)
            yield f"prediction for its agent: {about.prediction.estimate:.2f} ({ends}; {by})"
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


def _inputs_table(scores: Sequence[ScoreReason | ExtraScore], sources: Mapping[str, str]) -> PageTable:
    """Return one row per input and constant of each score."""
    rows = [
        (score, name, value, sources.get(name) if isinstance(score, ScoreReason) else None)
        for score in scores
        for name, value in (*score.inputs.items(), *score.constants.items())
    ]
    values = [value for _, _, value, _ in rows]
    texts = ["unknown" if value is None else plain(value, digits=DIGITS) for value in values]
    return pages.PageTable(
        name="inputs",
        caption="Inputs and constants",
        columns=(
            pages.text_column("score", "score", [_title(score) for score, *_ in rows]),
            pages.text_column("name", "name", [name for _, name, *_ in rows]),
            pages.Column(name="value", title="value", values=values, decimals=6, texts=texts),
            pages.text_column("source", "source", [source or "computed" for *_, source in rows]),
        ),
    )


def _title(score: ScoreReason | ExtraScore) -> str:
    return score.title if isinstance(score, ScoreReason) else score.name


def _extra_scores_table(scores: Sequence[ExtraScore]) -> PageTable:
    return pages.PageTable(
        name="extra",
        caption="Additional scores, not part of the overall score",
        columns=(
            pages.text_column("name", "score", [score.name for score in scores]),
            score_column("value", "value", [score.value for score in scores]),
            pages.count_column("version", "version", [score.version for score in scores]),
            pages.text_column("reason", "reason for fixed weights", [score.reason for score in scores]),
        ),
    )


def _dots(answer: SubmissionScores, width: int) -> Figure:
    """Draw all scores on one axis, the overall ones first."""
    rows = [
        Estimate(label=score.title, value=score.value, text=f"{score.value:.2f}", note=score.formula)
        for score in answer.scores[::-1]
    ]
    note = f"{answer.receipt.submission_id}; profile {answer.profile}, {answer.policy}"
    axis = score_axis("Score")
    return dots(rows, title="Scores of the submission", axis=axis, note=note, width=width)


DRAWINGS: Mapping[str, Drawing] = {"scores": _dots}
"""Figures of the answer."""
