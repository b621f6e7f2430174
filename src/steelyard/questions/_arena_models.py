"""Arena functions for models fitted to its submissions."""

from __future__ import annotations

from dataclasses import replace

from steelyard import arena as rooms
from steelyard.arena import Arena
from steelyard.questions._arena import opened
from steelyard.results import AbilityRanking, CorrectnessEstimates, FittedModels, PredictedScores


def fit_models(arena: Arena | str) -> FittedModels:
    """Fit all models that the profile enables: abilities and correctness from submissions, weights from ratings."""
    arena = opened(arena)
    with arena.read():
        rules = arena.rules  # those that hold now
    if rules.dynamic_weights is None:
        return rooms.fit_models(arena)
    fitted = FittedModels(profile=rules.name, versions=()) if rules.models is None else rooms.fit_models(arena)
    return replace(fitted, versions=(*fitted.versions, rooms.fit_arena_weights(arena)))


def abilities(arena: Arena | str, *, version: int | None = None) -> AbilityRanking:
    """Return tool abilities and task difficulties of a version (default: the latest)."""
    return rooms.fitted_abilities(opened(arena), version)


def predict(arena: Arena | str, task: str, *, version: int | None = None) -> PredictedScores:
    """Return the predicted score of each agent on a task, with prediction intervals."""
    return rooms.predict_scores(opened(arena), task, version)


def correctness(arena: Arena | str, task: str | None = None, *, version: int | None = None) -> CorrectnessEstimates:
    """Return the correctness model and, for a task without tests, the probability of each submission."""
    return rooms.fitted_correctness(opened(arena), task, version)
