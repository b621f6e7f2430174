"""Fitted models as scores use them: weights of the community score, abilities behind shrunken scores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Abilities, FittedModel, FittedWeights, TaskDifficulty, VersionOf
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import RANKED_SCORES, points, to_cents
from steelyard.records import Task, iso
from steelyard.statistics import bounded_weights
from steelyard.store import KeptVersion, ModelVersion, model_version, model_versions

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


ABILITIES = "abilities"
"""Model kind of abilities and task shrinkage."""
SHRUNKEN_SCORE = "shrunken_score"


class AbilitiesInForce(NamedTuple):
    """The version of the ability model in effect."""

    version: int
    fitted: Abilities


@lru_cache(maxsize=2)
def decoded_abilities(content: str) -> Abilities:
    """Decode a version, cached because the leaderboards of all tasks use the same one."""
    return msgspec.json.decode(content, type=Abilities)


def abilities_in_force(connection: Connection, rules: Rules, until: int | None = None) -> AbilitiesInForce | None:
    """Return the version in effect at a time (default: now); None if the profile has none or none was fitted."""
    if rules.models is None or rules.models.abilities is None:
        return None
    kept = model_version(connection, ABILITIES, until=until)
    return None if kept is None else AbilitiesInForce(kept.number, decoded_abilities(kept.content))


def sparse_task(learned: Abilities, task_id: str) -> TaskDifficulty | None:
    """Return the task if it has few enough submissions for shrunken scores."""
    task = next((each for each in learned.tasks if each.task_id == task_id), None)
    return task if task is not None and task.submissions < learned.few_submissions else None


def shrunken_score(task: TaskDifficulty, overall_score: float, *, further: float = 0.0) -> float:
    """Return the overall score with the task's level shrunken, plus `further`."""
    return round(min(max(overall_score - task.shrinkage + further, 0.0), 100.0), 2)


def version_of(kept: ModelVersion | None) -> VersionOf | None:
    """The version without what it holds; None while there is none."""
    if kept is None:
        return None
    return VersionOf(kind=kept.kind, number=kept.number, made_at=iso(kept.made_at), seen=kept.seen, digest=kept.digest)


def fitted_model(kept: KeptVersion, reason: str | None) -> FittedModel:
    """Return the result of a fit; `reason` explains a missing model."""
    version, is_new = kept
    return FittedModel(
        kind=version.kind,
        number=version.number,
        made_at=iso(version.made_at),
        seen=version.seen,
        digest=version.digest,
        is_new=is_new,
        reason=reason,
    )
