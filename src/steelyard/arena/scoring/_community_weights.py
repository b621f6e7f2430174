"""Weights fitted to ratings, and the community score based on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import RANKED_SCORES, points, to_cents
from steelyard.records import Task
from steelyard.results import FittedWeights
from steelyard.statistics import bounded_weights
from steelyard.store import model_versions

WEIGHTS = "weights"
"""Model kind of fitted weights."""
PARTS: tuple[str, ...] = RANKED_SCORES[1:]
"""The scores that the overall score is made of."""
COMMUNITY_SCORE = "community_score"


class CommunityWeights(NamedTuple):
    """The version of the fitted weights in effect."""

    fitted: FittedWeights

    def of(self, task: Task, constants: Mapping[str, float]) -> dict[str, float]:
        """Return the shifted weights of a task; a task with its own weights keeps them."""
        fixed = np.array([constants[f"{name}_weight"] for name in PARTS])
        if task.weights is not None:
            return dict(zip(PARTS, fixed.tolist(), strict=True))
        shift = np.array([self.fitted.shift[name] for name in PARTS])
        moved = bounded_weights(fixed, shift, self.fitted.max_shift)
        return dict(zip(PARTS, moved.tolist(), strict=True))


def community_score(weights: Mapping[str, float], parts: Mapping[str, float]) -> float:
    """The four scores as leaderboards show them, by these weights; two decimals."""
    total = 0.0
    for name in PARTS:  # not `sum`, whose last digits depend on the Python
        total += weights[name] * parts[name]
    return points(to_cents(min(total, 100.0)))


def read_weights(connection: Connection) -> list[FittedWeights]:
    """Every version, the first one first."""
    return [
        msgspec.structs.replace(
            msgspec.json.decode(version.content, type=FittedWeights), version=version.number, made_at=version.made_at
        )
        for version in model_versions(connection, WEIGHTS)
    ]


def weights_in_force(connection: Connection, rules: Rules, until: int | None = None) -> CommunityWeights | None:
    """Return the version in effect at a time (default: now); None if the profile has none or none was fitted."""
    if rules.dynamic_weights is None:
        return None
    held = [version for version in read_weights(connection) if until is None or version.made_at <= until]
    return CommunityWeights(held[-1]) if held else None
