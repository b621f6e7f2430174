"""A new profile or policy changes the leaderboard; earlier leaderboards keep the rules of their day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from arena_makers import as_submission, as_task, changed_profile, make_arena
from steelyard.arena import Arena
from steelyard.errors import UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.changes import arena_changes
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import iso, microseconds_of
from steelyard.store import Store


@pytest.fixture
def arena(store: Store, clock: list[int]) -> Arena:
    made = make_arena(store)
    made.add_task(as_task({"id": "task"}))
    fields: dict[str, Any] = {"task_id": "task", "tool_calls": 5, "execution_time": 100}
    made.submit(
        [
            as_submission({"id": f"s{n}", "total_tokens": 1000 * n, **fields, "estimated_cost": n / 7})
            for n in range(1, 7)
        ]
    )
    return made


def test_a_rescore_under_another_profile_is_a_change(arena: Arena, clock: list[int]) -> None:
    then = arena_task_leaderboard(arena, "task")
    clock[0] = 2_000_000
    arena.rescore_tasks(profile=changed_profile(token_weight=0.1, tool_call_weight=0.7))
    (found,) = arena_changes(arena, since=iso(1_500_000)).changes
    assert (found.then_profile, found.now_profile, found.new) == ("arena-1", "mine", 0)
    before = {row.submission_id: row.overall_score for row in then.leaderboard}
    now = {row.submission_id: row.overall_score for row in arena_task_leaderboard(arena, "task").leaderboard}
    assert before != now
    assert {one.submission_id: one.then_score for one in found.moved}.items() <= before.items()
    assert {one.submission_id: one.now_score for one in found.moved}.items() <= now.items()
    assert arena_task_leaderboard(arena, "task", until=iso(1_500_001)) == then
    assert arena_changes(arena, since=iso(2_500_000)).changes == ()


def test_a_change_of_policy_is_a_change(arena: Arena, clock: list[int]) -> None:
    clock[0] = 2_000_000
    arena.rescore_tasks(policy="as-submitted")
    (found,) = arena_changes(arena, since=iso(1_500_000)).changes
    assert (found.then_policy, found.now_policy) == ("current", "as-submitted")
    assert found.moved


def test_past_rules_need_not_know_tasks_that_came_later(arena: Arena, clock: list[int]) -> None:
    clock[0] = 2_000_000
    factors = {**load_profile("arena-1").constants["difficulty_factors"], "superhuman": 2.0}
    arena.rescore_tasks(profile=changed_profile(difficulty_factors=factors))
    arena.add_task(as_task({"id": "later", "difficulty": "superhuman"}))
    arena.submit([{"id": "x", "task_id": "later", "total_tokens": 1, "tool_calls": 1}])
    assert {one.task_id for one in arena_changes(arena, since=iso(1_500_000)).changes} == {"later"}


def test_standings_are_had_as_they_stood(store: Store, clock: list[int]) -> None:
    arena = make_arena(store)
    arena.add_task({"id": "t"})
    for day in (1, 2, 3):
        clock[0] = microseconds_of(datetime(2026, 1, day, 12, tzinfo=UTC))
        arena.submit([{"id": f"s{day}", "task_id": "t", "total_tokens": 10 * day, "tool_calls": 1}])

    def ids(until: str | None) -> list[str]:
        return sorted(row.submission_id for row in arena_task_leaderboard(arena, "t", until=until).leaderboard)

    assert ids("2026-01-02") == ["s1", "s2"]  # the day is included whole
    assert ids("2026-01-02T12:00") == ["s1"]  # a time is not
    assert ids(None) == ids("2026-01-03") == ["s1", "s2", "s3"]
    with pytest.raises(UsageError, match=r"^until 'tomorrowish'"):
        arena_task_leaderboard(arena, "t", until="tomorrowish")
