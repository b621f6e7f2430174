"""Arena: the verbs of what it learns from its submissions, beside every score."""

from __future__ import annotations

from steelyard import arena as rooms
from steelyard.arena import Arena
from steelyard.results import ExpectedScores, Learned, LearnedAbilities, LearnedCorrectness
from steelyard.workflow._arena import opened


def learn(arena: Arena | str) -> Learned:
    """Learn from all submissions that count: abilities and correctness, as far as the profile switches them on."""
    return rooms.learn(opened(arena))


def abilities(arena: Arena | str, *, version: int | None = None) -> LearnedAbilities:
    """Tools by ability, beside their plain mean, and tasks by difficulty; of the latest version unless one is named."""
    return rooms.learned_abilities(opened(arena), version)


def expected(arena: Arena | str, task: str, *, version: int | None = None) -> ExpectedScores:
    """What every tool is expected to score on a task, tried or not; of the latest version unless one is named."""
    return rooms.expected_scores(opened(arena), task, version)


def correctness(arena: Arena | str, task: str | None = None, *, version: int | None = None) -> LearnedCorrectness:
    """How chances of being right are told, and how well; with a task that has no tests, those of its submissions."""
    return rooms.learned_correctness(opened(arena), task, version)
