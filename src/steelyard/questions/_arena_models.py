"""Arena functions for models fitted to its submissions."""

from __future__ import annotations

from dataclasses import replace

from steelyard import arena as rooms
from steelyard.arena import Arena
from steelyard.questions._arena import opened
from steelyard.results import FittedModels


def fit_models(arena: Arena | str) -> FittedModels:
    """Fit all models that the profile enables: abilities and correctness from submissions, weights from ratings."""
    arena = opened(arena)
    with arena.read():
        rules = arena.rules  # those that hold now
    if rules.dynamic_weights is None:
        return rooms.fit_models(arena)
    fitted = FittedModels(profile=rules.name, versions=()) if rules.models is None else rooms.fit_models(arena)
    return replace(fitted, versions=(*fitted.versions, rooms.fit_arena_weights(arena)))
