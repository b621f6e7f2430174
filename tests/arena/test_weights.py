"""Dynamic weights: versions that stand beside the fixed weights, the same whatever the order of ratings."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from steelyard.arena import Arena, create_arena
from steelyard.errors import UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.model_fit import arena_model_fit
from steelyard.questions.arena.model_weights import WeightVersions, arena_model_weights
from steelyard.questions.arena.rating_add import arena_rating_add
from steelyard.questions.arena.rescore import arena_rescore
from steelyard.questions.arena.show import arena_show
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store, open_store

COUNT = 40


def filled(store: Store, *, at_once: bool = True) -> Arena:
    arena = create_arena(store, load_profile("arena-community"))
    criteria = [{"type": "no_errors"}, {"type": "file_exists", "file_path": "a"}]
    for task in ("t", "u"):
        arena.add_task({"id": task, "success_criteria": criteria})
    given = [entry(number) for number in range(COUNT)]
    for portion in [given] if at_once else [[one] for one in given]:
        arena.submit(portion)
    return arena


def entry(number: int) -> dict[str, object]:
    rng = random.Random(number)
    told: dict[str, object] = {"id": f"s{number}", "task_id": "tu"[number % 2], "success": rng.random() < 0.6}
    told |= {"total_tokens": rng.randrange(1_000, 90_000), "tool_calls": rng.randrange(1, 60)}
    told |= {"execution_time": rng.uniform(10, 900), "estimated_cost": rng.uniform(0.01, 0.4)}
    return told | ({"files_created": ["a"]} if rng.random() < 0.5 else {})


def rate_all(arena: Arena, order: int = 0) -> None:
    """Three reviewers who weigh correctness much more than the profile does."""
    places = {row.submission_id: row for task in "tu" for row in arena_task_leaderboard(arena, task).leaderboard}
    given = []
    for number in range(COUNT):
        row, rng = places[f"s{number}"], random.Random(1_000 + number)
        worth = 0.2 * row.efficiency_score + 0.15 * row.speed_score + 0.1 * row.cost_score
        worth += 0.55 * row.correctness_score
        for strict, reviewer in enumerate(("xia", "yan", "zoe")):
            score = min(100.0, max(0.0, worth - 4 * strict + rng.gauss(0, 2)))
            given.append((f"s{number}", reviewer, score))
    random.Random(order).shuffle(given)
    for submission, reviewer, score in given:
        arena_rating_add(arena, submission, reviewer=reviewer, score=score)


def fitted(arena: Arena) -> WeightVersions:
    """The versions of the weights after a fit."""
    arena_model_fit(arena)
    return arena_model_weights(arena)


def test_one_command_learns_all_that_the_profile_switches_on(store: Store, tmp_path: Path) -> None:
    arena = filled(store)
    rate_all(arena)
    (learned,) = arena_model_fit(arena).versions
    assert (learned.kind, learned.number, learned.seen, learned.is_new) == ("weights", 1, 3 * COUNT, True)
    assert [version.version for version in arena_model_weights(arena).versions] == [1]
    (tmp_path / "both.toml").write_text('name = "both"\nextends = "arena-community"\n' + MODELS)
    arena_rescore(arena, profile=str(tmp_path / "both.toml"))
    found = {each.kind: (each.number, each.is_new) for each in arena_model_fit(arena).versions}
    assert found == {"abilities": (1, True), "weights": (1, False)}


MODELS = """
[constants.models]
first = 100
growth = 1.5
by = ["agent", "model"]
[constants.models.abilities]
confidence = 0.95
few_submissions = 30
anomaly_threshold = 4.0
min_tools = 3
min_tasks = 5
"""


def test_the_score_by_learned_weights_stands_beside_and_explains_itself(store: Store) -> None:
    arena = filled(store)
    rate_all(arena)
    before = arena_task_leaderboard(arena, "t")
    assert before.extra_score_versions == {}
    (version,) = fitted(arena).versions
    assert version.reason is None
    assert version.weights["correctness"] > 0.3
    assert max(abs(version.weights[name] - version.fixed[name]) for name in version.fixed) <= 0.15 + 1e-12
    after = arena_task_leaderboard(arena, "t")
    assert after.extra_score_versions == {"community_score": 1}
    plain = [row.overall_score for row in before.leaderboard]
    assert [row.overall_score for row in after.leaderboard] == plain
    first = after.leaderboard[0]
    (told,) = arena_show(arena, first.submission_id).extra_scores
    expected = sum(told.constants[f"{name}_weight"] * getattr(first, f"{name}_score") for name in version.weights)
    assert told.value == first.extra_scores["community_score"] == pytest.approx(expected, abs=0.006)
    arena_rescore(arena, profile="arena-1")  # off: the specification's scores are the same to the bit
    off = arena_task_leaderboard(arena, "t")
    assert [(row.submission_id, row.overall_score, row.extra_scores) for row in off.leaderboard] == [
        (row.submission_id, row.overall_score, {}) for row in before.leaderboard
    ]


def test_too_few_ratings_leave_the_fixed_weights_and_say_so(store: Store) -> None:
    arena = filled(store)
    arena_rating_add(arena, "s1", reviewer="xia", score=50)
    (version,) = fitted(arena).versions
    assert version.reason == "1 ratings of 1 submissions; required: 60 ratings of 30 submissions"
    assert version.weights == version.fixed
    row = arena_task_leaderboard(arena, "u").leaderboard[0]
    assert row.extra_scores["community_score"] == pytest.approx(row.overall_score, abs=0.02)


def test_nothing_new_is_no_new_version(store: Store) -> None:
    arena = filled(store)
    rate_all(arena)
    assert fitted(arena) == fitted(arena)
    arena_rating_add(arena, "s1", reviewer="xia", score=1)
    assert [version.version for version in fitted(arena).versions] == [1, 2]


def test_order_and_batches_do_not_matter(tmp_path: Path) -> None:
    told = []
    for place, at_once in enumerate((True, False)):
        arena = filled(open_store(f"sqlite:///{tmp_path}/{place}.db"), at_once=at_once)
        rate_all(arena, order=place)
        (version,) = fitted(arena).versions
        told.append((version.weights, version.shift, version.slope, version.p_value, version.parts))
    assert told[0] == told[1]


def test_a_profile_without_them_learns_nothing(store: Store) -> None:
    arena = create_arena(store, load_profile("arena-1"))
    with pytest.raises(UsageError, match="does not enable models"):
        fitted(arena)
