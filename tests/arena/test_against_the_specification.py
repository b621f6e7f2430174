"""Every number of the arena against a direct transcription of the specification's code."""

from __future__ import annotations

import random
from typing import Any

import pytest

import arena_twin as twin
from arena_makers import CATEGORIES, as_submission, as_task, make_arena, random_submission, random_task
from steelyard.arena import Arena, Policy, Receipt, outliers
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store

SCORES = ("overall_score", "efficiency_score", "speed_score", "cost_score", "correctness_score", "adjusted_score")
RANKS = ("overall_ranking", "efficiency_ranking", "speed_ranking", "cost_ranking", "correctness_ranking", "percentile")

# 200 tasks of 3 to 400 submissions: most are small, as the smallest have the most edges.
SIZES = [random.Random(41).choice((3, 4, 5, 6, 7, 12, 29, 30, 31, 60)) for _ in range(180)] + [
    random.Random(seed).randrange(100, 401) for seed in range(20)
]


def compare(arena: Arena, task: dict[str, Any], submissions: list[dict[str, Any]], policy: Policy) -> None:
    expected, version = twin.pipeline(task, submissions, policy=policy)
    found = arena_task_leaderboard(arena, task["id"], policy=policy)
    assert found.baseline_version == version
    assert {name: found.baseline[name] for name in twin.baseline_of(submissions)} == twin.baseline_of(submissions)
    by_id = {one["submission_id"]: one for one in expected}
    assert len(found.leaderboard) == len(by_id)
    for one in found.leaderboard:
        held = by_id[one.submission_id]
        for name in (*SCORES, *RANKS, "baseline_version"):
            assert getattr(one, name) == held[name], (one.submission_id, name)
        assert list(one.warnings) == held["warnings"]
    order = [one.submission_id for one in found.leaderboard]
    assert order == [one["submission_id"] for one in expected]
    low, high = twin.confidence_interval([one["overall_score"] for one in expected])
    assert found.confidence_interval.low == pytest.approx(low, rel=1e-9, abs=1e-9)
    assert found.confidence_interval.high == pytest.approx(high, rel=1e-9, abs=1e-9)
    flagged = [
        {"submission_id": one.submission_id, "flags": list(one.flags), "recommended_action": one.recommended_action}
        for one in outliers(arena, task["id"])
    ]
    assert flagged == twin.outliers(submissions)


def made_up(count: int, seed: int) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    rng = random.Random(seed)
    found = []
    for number, size in enumerate(SIZES[:count] if count <= 180 else SIZES):
        task = random_task(rng, f"task-{number}")
        rows = [random_submission(rng, f"{number}/{place}", task["id"], place) for place in range(size)]
        found.append((task, rows))
    return found


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.long)])
def test_tasks_in_one_batch_equal_the_specification(store: Store, count: int) -> None:
    arena = make_arena(store)
    made = made_up(count, seed=6)
    for task, _ in made:
        arena.add_task(as_task(task))
    outcomes = arena.submit([as_submission(one) for _, rows in made for one in rows])
    assert all(isinstance(outcome, Receipt) for outcome in outcomes)
    for task, rows in made:
        compare(arena, task, rows, "current")
        compare(arena, task, rows, "as-submitted")


def test_tasks_of_1_to_35_submissions_equal_the_specification(store: Store) -> None:
    arena, rng = make_arena(store), random.Random(35)
    made = []
    for size in range(1, 36):
        task = {**random_task(rng, f"task-{size}"), "category": CATEGORIES[size % len(CATEGORIES)]}
        made.append((task, [random_submission(rng, f"{size}/{n}", task["id"], n) for n in range(size)]))
        arena.add_task(as_task(task))
    arena.submit([as_submission(one) for _, rows in made for one in rows])
    for task, rows in made:
        compare(arena, task, rows, "current")
        compare(arena, task, rows, "as-submitted")


def test_one_by_one_equals_the_specification_and_the_batch(store: Store) -> None:
    arena = make_arena(store)
    made = made_up(12, seed=7)
    for task, rows in made:
        arena.add_task(as_task(task))
        for place, one in enumerate(rows):
            (receipt,) = arena.submit([as_submission(one)])
            assert isinstance(receipt, Receipt)
            if place % 7 == 0 or place == len(rows) - 1:
                ranked, version = twin.pipeline(task, rows[: place + 1], policy="current")
                held = next(each for each in ranked if each["submission_id"] == one["id"])
                assert receipt.baseline_version == version
                for name in (*SCORES, "overall_ranking", "percentile"):
                    assert getattr(receipt, name) == held[name], (one["id"], name)
                flags = {each["submission_id"]: each["flags"] for each in twin.outliers(rows[: place + 1])}
                assert list(receipt.flags) == flags.get(one["id"], list(receipt.flags)[:1])
        compare(arena, task, rows, "current")
        compare(arena, task, rows, "as-submitted")


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_receipts_of_a_batch_in_portions_name_the_same_places_as_the_standings(store: Store, policy: Policy) -> None:
    arena = make_arena(store, policy=policy)
    rng = random.Random(8)
    arena.add_task(as_task({"id": "t"}))
    rows = [as_submission(random_submission(rng, f"s{place}", "t", place)) for place in range(600)]
    for start in range(0, 600, 150):
        receipts = {
            one.submission_id: one for one in arena.submit(rows[start : start + 150]) if isinstance(one, Receipt)
        }
        for one in arena_task_leaderboard(arena, "t").leaderboard:
            if one.submission_id in receipts:
                held = receipts[one.submission_id]
                for name in (*SCORES, "overall_ranking", "percentile", "baseline_version"):
                    assert getattr(held, name) == getattr(one, name), name
                assert held.flags == one.flags


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_a_rescore_of_what_is_right_changes_nothing(store: Store, policy: Policy) -> None:
    arena = make_arena(store, policy=policy)
    task, rows = made_up(1, seed=9)[0]
    arena.add_task(as_task(task))
    rows = [as_submission(random_submission(random.Random(1), f"s{place}", task["id"], place)) for place in range(80)]
    arena.submit(rows)
    before = arena_task_leaderboard(arena, task["id"])
    assert arena.rescore_tasks() == 80
    assert arena_task_leaderboard(arena, task["id"]) == before
