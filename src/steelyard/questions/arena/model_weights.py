"""Show score weights fitted to peer ratings, by version.

The fitted weights are shown next to the profile's weights and do not change scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, FittedWeights, read_weights
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question
from steelyard.questions.arena._common import ArenaAnswer, spared
from steelyard.records import iso

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable


class ModelWeightsOptions(Options):
    """Options of `arena model weights`."""


class WeightVersion(FittedWeights, frozen=True, kw_only=True):
    """One version of the fitted weights."""

    made_at: str  # type: ignore[assignment] # stored as a number


class WeightVersions(ArenaAnswer, frozen=True, kw_only=True):
    """All versions of the weights, oldest first; the last one is in effect."""

    rows: ClassVar[Rows] = Rows("versions", without=("fixed", "shift", "parts"))

    profile: str
    is_on: bool
    """Whether the profile enables dynamic weights."""
    versions: tuple[WeightVersion, ...]

    @property
    def about(self) -> str:
        """Number of versions and profile."""
        return f"{counted(len(self.versions), 'version')} of weights; {self.profile}"


@arena_question(ModelWeightsOptions, path="/weights", examples=({},))
def arena_model_weights(arena: Arena, options: ModelWeightsOptions) -> WeightVersions:  # noqa: ARG001 # it has none
    """Return all versions of the weights fitted to ratings."""
    with arena.read() as connection:
        versions = read_weights(connection)
    return WeightVersions(
        profile=arena.rules.name,
        is_on=arena.rules.dynamic_weights is not None,
        versions=tuple(
            WeightVersion(**msgspec.structs.asdict(version) | {"made_at": iso(version.made_at)}) for version in versions
        ),
    )


def page(answer: WeightVersions) -> Page:
    """Return one row per version, then the weights of the last one."""
    versions = answer.versions
    names = list(versions[-1].weights) if versions else []
    columns = (
        pages.count_column("version", "version", [each.version for each in versions]),
        spared(pages.time_column("made_at", "fitted", [each.made_at for each in versions]), 2),
        pages.count_column("ratings", "ratings", [each.ratings for each in versions]),
        pages.count_column("submissions", "submissions", [each.submissions for each in versions]),
        *(pages.number_column(name, name, [each.weights[name] for each in versions], places=4) for name in names),
        spared(pages.number_column("p_value", "p-value", [each.p_value for each in versions]), 3),
        spared(pages.text_column("reason", "reason for fixed weights", [each.reason for each in versions])),
    )
    return pages.Page(
        name="weights",
        title="Weights fitted to peer ratings",
        answer=_sentence(answer),
        table=pages.PageTable(caption="Versions of the fitted weights", columns=columns),
        also=(_latest(versions[-1]),) if versions else (),
        facts=(("profile", answer.profile),),
    )


def _sentence(answer: WeightVersions) -> str:
    """Return the version in effect, its data, and whether it differs from the fixed weights."""
    if not answer.versions:
        way = (
            "Fit them: steelyard arena model fit"
            if answer.is_on
            else "Use a profile with dynamic_weights, such as arena-community."
        )
        return f"No weights have been fitted. {way}"
    last = answer.versions[-1]
    ratings = f"{counted(last.ratings, 'rating')} of {counted(last.submissions, 'submission')}"
    state = f"the fixed weights remain ({last.reason})" if last.reason else f"shifted by at most {last.max_shift:g}"
    return f"Version {last.version} from {ratings} to {counted(last.tasks, 'task')}: {state}."


def _latest(version: WeightVersion) -> PageTable:
    """Return one row per part of the overall score: its weight, and how well it distinguishes submissions."""
    names = list(version.weights)
    parts = {part.name: part for part in version.parts}
    deviations = [parts[name].std_dev if name in parts else None for name in names]
    correlations = [parts[name].correlation if name in parts else None for name in names]
    return pages.PageTable(
        name="latest",
        caption=f"Weights of version {version.version}",
        columns=(
            pages.text_column("name", "part", names),
            pages.number_column("fixed", "fixed weight", [version.fixed[name] for name in names], places=4),
            pages.number_column("weight", "fitted weight", [version.weights[name] for name in names], places=4),
            spared(pages.number_column("std_dev", "SD within tasks (points)", deviations, places=2)),
            spared(pages.number_column("correlation", "correlation with ratings", correlations, places=2, sign="+")),
        ),
    )
