"""Shrunken scores of tasks with few submissions; the overall score does not depend on them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import msgspec
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rules import Rules
from steelyard.results import Abilities, TaskDifficulty
from steelyard.store import model_version

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
