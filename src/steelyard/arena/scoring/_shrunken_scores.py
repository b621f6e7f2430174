"""Scores of a task with few submissions that lean on all other tasks: beside the overall score and never in it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import msgspec
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rules import Rules
from steelyard.results import Abilities, TaskDifficulty
from steelyard.store import model_version

ABILITIES = "abilities"
"""The kind of learned versions that hold abilities, and how far each task leans."""
SHRUNKEN_SCORE = "shrunken_score"


class AbilitiesInForce(NamedTuple):
    """A version of learned abilities in force."""

    version: int
    fitted: Abilities


@lru_cache(maxsize=2)
def decoded_abilities(content: str) -> Abilities:
    """What a version holds. It is kept: the leaderboard of every task ask for the same one."""
    return msgspec.json.decode(content, type=Abilities)


def abilities_in_force(connection: Connection, rules: Rules, until: int | None = None) -> AbilitiesInForce | None:
    """The version that held at a moment (now when None); None where the profile has none, or none was learned."""
    if rules.models is None or rules.models.abilities is None:
        return None
    kept = model_version(connection, ABILITIES, until=until)
    return None if kept is None else AbilitiesInForce(kept.number, decoded_abilities(kept.content))


def sparse_task(learned: Abilities, task_id: str) -> TaskDifficulty | None:
    """The task, when it has so few submissions that its scores lean on the other tasks."""
    task = next((each for each in learned.tasks if each.task_id == task_id), None)
    return task if task is not None and task.submissions < learned.few_submissions else None


def shrunken_score(task: TaskDifficulty, overall_score: float, *, further: float = 0.0) -> float:
    """The overall score with the level of its task replaced by the leaned one, or a point so much further on."""
    return round(min(max(overall_score - task.shrinkage + further, 0.0), 100.0), 2)
