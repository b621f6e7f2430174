"""Fit the models enabled by the profile.

Profile arena-models-1 enables the ability and correctness models, fitted to submissions. Profile arena-community
enables the weight model, fitted to ratings. The arena's profile sets how often the ability and correctness models are
fitted automatically. Each fit is stored as a numbered version and does not change scores. If the data and the profile
are unchanged, no new version is fitted.
"""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, FittedModel, fit_arena_weights, fit_models
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_action
from steelyard.questions.arena._common import ArenaAnswer, spared
from steelyard.records import Finding


class ModelFitOptions(Options):
    """Options of `arena model fit`."""


class FittedModels(ArenaAnswer, frozen=True, kw_only=True):
    """Model versions in effect after fitting."""

    rows: ClassVar[Rows] = Rows("versions")

    profile: str
    versions: tuple[FittedModel, ...]
    findings: tuple[Finding, ...] = ()
    """Submissions whose score is far from the prediction."""

    @property
    def about(self) -> str:
        """The version of each model."""
        return ", ".join(f"{each.kind} version {each.number}" for each in self.versions)


@arena_action(ModelFitOptions, path="/models", examples=({},))
def arena_model_fit(arena: Arena, options: ModelFitOptions) -> FittedModels:  # noqa: ARG001 # it has no options
    """Fit abilities and correctness to submissions and weights to ratings, as far as the profile enables them."""
    with arena.read():
        rules = arena.rules  # those that hold now
    versions: list[FittedModel] = []
    findings: tuple[Finding, ...] = ()
    if rules.models is not None or rules.dynamic_weights is None:
        versions, findings = fit_models(arena)
    if rules.dynamic_weights is not None:
        versions.append(fit_arena_weights(arena))
    return FittedModels(profile=rules.name, versions=tuple(versions), findings=findings)


def page(answer: FittedModels) -> pages.Page:
    """Return one row per model."""
    versions = answer.versions
    columns = (
        pages.text_column("kind", "model", [each.kind for each in versions]),
        pages.count_column("number", "version", [each.number for each in versions]),
        pages.text_column("is_new", "fit", ["new" if each.is_new else "unchanged" for each in versions]),
        pages.count_column("seen", "n", [each.seen for each in versions]),
        spared(pages.text_column("reason", "reason not fitted", [each.reason for each in versions])),
    )
    new = counted(sum(each.is_new for each in versions), "new version")
    return pages.Page(
        name="fit",
        title="Which model versions are in effect?",
        answer=f"{new} of {counted(len(versions), 'model')} under profile {answer.profile}.",
        table=pages.PageTable(caption="Models", columns=columns),
        legend=("n: number of submissions, or of ratings for weights.",),
    )
