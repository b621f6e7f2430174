"""Why a submission got its score: every score with its formula and the numbers put in."""

from __future__ import annotations

from steelyard.pages import DASH, Facts, Page, PageLink, PageTable, id_path, text_column, with_figures
from steelyard.reports._arena_models import model_estimate_lines
from steelyard.reports.pages._task import score_column, who
from steelyard.results import CriterionResult, Evaluation, ScoreReason

PARTS = ("efficiency_score", "speed_score", "cost_score", "correctness_score")


def submission_page(result: Evaluation) -> Page:
    """One row a score, the overall one first."""
    receipt = result.receipt
    scores = result.scores[::-1]
    columns = (
        text_column("name", "score", [score.title for score in scores]),
        score_column("value", "value", [score.value for score in scores]),
        text_column("formula", "formula", [score.formula for score in scores]),
        text_column("inputs", "with", [_inputs(score, result.sources) for score in scores]),
    )
    page = Page(
        name="submission",
        title=f"Why did {receipt.submission_id} get {receipt.overall_score:.2f}?",
        answer=_answer(result),
        notes=(
            *map(_criterion, result.criteria),
            *(review.sentence for review in result.reviews),
            *(model_estimate_lines(result.model_estimates) if result.model_estimates is not None else ()),
        ),
        table=PageTable(caption="Scores", columns=columns),
        links=(PageLink(f"Leaderboard of {receipt.task_id}", id_path("tasks", receipt.task_id)),),
        facts=_facts(result),
    )
    return with_figures(page, result, ("scores",))


def _answer(result: Evaluation) -> str:
    """The overall score as the sum that it is, and the place that it earns."""
    receipt = result.receipt
    whose = f"{receipt.submission_id}{who(result.agent, result.model)}"
    weights = next((score.constants for score in result.scores if score.name == "overall_score"), {})
    parts = [
        f"{weights[weight]:g} x {name.removesuffix('_score')} {getattr(receipt, name):.2f}"
        for name in PARTS
        if (weight := f"{name.removesuffix('_score')}_weight") in weights
    ]
    made = f" = {' + '.join(parts)}" if parts else ""
    if receipt.overall_ranking is None:
        return f"{whose} is excluded from {receipt.task_id}; its score was {receipt.overall_score:.2f}{made}."
    return f"{whose} has rank {receipt.overall_ranking:,} in {receipt.task_id}: {receipt.overall_score:.2f}{made}."


def _inputs(score: ScoreReason, sources: dict[str, str]) -> str | None:
    numbers = {**score.inputs, **score.constants}
    notes = [
        f"{name} {'unknown' if value is None else f'{value:,.6g}'}" + (f" ({sources[name]})" if name in sources else "")
        for name, value in numbers.items()
    ]
    return "; ".join(notes) or None


def _criterion(criterion: CriterionResult) -> str:
    claimed = ", claimed" if criterion.claimed else ""
    return f"{criterion.type} is {'met' if criterion.met else 'not met'}{claimed}: {criterion.reason}."


def _facts(result: Evaluation) -> Facts:
    receipt = result.receipt
    doubts = (
        ("defaulted", receipt.defaulted),
        ("claimed", receipt.claimed),
        ("lower bounds", receipt.lower_bounds),
        ("flags", receipt.flags),
        ("warnings", receipt.warnings),
    )
    return (
        ("submitted", result.submitted_at),
        ("accepted", result.accepted_at),
        ("submitter", result.submitter or DASH),
        ("profile", result.profile),
        ("policy", result.policy),
        ("baseline version", f"{receipt.baseline_version}"),
        ("percentile", DASH if receipt.percentile is None else f"{receipt.percentile:g}"),
        ("artifacts", f"sha256 {result.artifacts_sha256}" if result.artifacts_sha256 else "none"),
        *((label, ", ".join(names)) for label, names in doubts if names),
    )
