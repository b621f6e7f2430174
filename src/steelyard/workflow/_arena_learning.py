"""Arena: the verbs of what it learns from its submissions, beside every score."""

from __future__ import annotations

from dataclasses import replace

from steelyard import arena as rooms
from steelyard.arena import Arena
from steelyard.results import ExpectedScores, Learned, LearnedAbilities, LearnedCorrectness
from steelyard.workflow._arena import opened


def learn(arena: Arena | str) -> Learned:
    """Learn all that the profile switches on: abilities and correctness from submissions, weights from ratings."""
    arena = opened(arena)
    with arena.read():
        rules = arena.rules  # those that hold now
    if rules.dynamic_weights is None:
        return rooms.learn(arena)
    learned = Learned(profile=rules.name, versions=()) if rules.learning is None else rooms.learn(arena)
    return replace(learned, versions=(*learned.versions, rooms.learn_weights(arena)))


def abilities(arena: Arena | str, *, version: int | None = None) -> LearnedAbilities:
    """Tools by ability, beside their plain mean, and tasks by difficulty; of the latest version unless one is named."""
    return rooms.learned_abilities(opened(arena), version)


def expected(arena: Arena | str, task: str, *, version: int | None = None) -> ExpectedScores:
    """What every tool is expected to score on a task, tried or not; of the latest version unless one is named."""
    return rooms.expected_scores(opened(arena), task, version)


def correctness(arena: Arena | str, task: str | None = None, *, version: int | None = None) -> LearnedCorrectness:
    """How chances of being right are told, and how well; with a task that has no tests, those of its submissions."""
    return rooms.learned_correctness(opened(arena), task, version)
