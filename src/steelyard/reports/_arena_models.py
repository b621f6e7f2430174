"""Terminal sentences and tables for the models of an arena."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted, decimal_bounds
from steelyard.pages import DASH
from steelyard.results import (
    Between,
    FittedModels,
    ModelEstimates,
)


def fit_lines(fitted: FittedModels) -> Iterator[str]:
    """Return one line per model."""
    for each in fitted.versions:
        is_new = "new" if each.is_new else "unchanged (same data)"
        why = f"; {each.reason}" if each.reason else ""
        seen = counted(each.seen, "rating" if each.kind == "weights" else "submission")
        yield f"{each.kind}: version {each.number}, {is_new}, {seen}{why}"


def between_text(between: Between | None, digits: int = 2) -> str:
    """Return the bounds of the interval as text."""
    return DASH if between is None else decimal_bounds(between.low, between.high, decimals=digits)


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
