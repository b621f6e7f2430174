"""TaskLeaderboard that are asked for again read the submissions that came since, and are what a fresh arena tells."""

from __future__ import annotations

import random
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Connection, Select

from arena_makers import as_task, make_arena, random_submission
from steelyard.arena import Arena, open_arena
from steelyard.arena.scoring import _submission_rows
from steelyard.arena.scoring._submission_rows import read_frame
from steelyard.questions.arena.task_leaderboard import TaskLeaderboard, arena_task_leaderboard
from steelyard.store import Store, open_store

COUNT = 1_500


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many submissions each question to the store gave."""
    heights: list[int] = []

    def counted(connection: Connection, statement: Select[Any]) -> Any:
        rows = read_frame(connection, statement)
        heights.append(len(rows))
        return rows

    monkeypatch.setattr(_submission_rows, "read_frame", counted)
    return heights


@pytest.fixture
def arena(store: Store) -> Arena:
    made = make_arena(store)
    made.add_task(as_task({"id": "t"}))
    submit(made, 0, COUNT)
    return made


def submit(arena: Arena, start: int, end: int, *, seed: int = 1) -> None:
    draw = random.Random(f"{seed} {start}")
    arena.submit([random_submission(draw, f"s{seed}-{number}", "t", number) for number in range(start, end)])


def fresh(arena: Arena) -> TaskLeaderboard:
    return arena_task_leaderboard(open_arena(arena.store), "t", top=20)


def test_only_new_submissions_are_read_again(arena: Arena, rows_read: list[int]) -> None:
    first = arena_task_leaderboard(arena, "t", top=20)
    assert (first.n, len(first.leaderboard)) == (COUNT, 20)
    for place in range(COUNT, COUNT + 5):
        submit(arena, place, place + 1)
        assert arena_task_leaderboard(arena, "t", top=20).n == place + 1
    assert rows_read == [COUNT, 1, 1, 1, 1, 1]  # all of them each time before


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_what_was_kept_gives_what_a_fresh_arena_gives(arena: Arena, policy: Any) -> None:
    draw = random.Random(2)
    for turn in range(6):
        for top in (20, None):
            kept = arena_task_leaderboard(arena, "t", top=top, policy=policy)
            assert kept == arena_task_leaderboard(open_arena(arena.store), "t", top=top, policy=policy)
        place = draw.randrange(COUNT)
        arena.decide(f"s1-{place}", "excluded", by="me", reason="why")
        if turn % 2:
            arena.decide(f"s1-{place}", "reinstated", by="me", reason="why")
        submit(arena, COUNT + 10 * turn, COUNT + 10 * turn + 10)


def test_ranks_are_one_more_than_there_are_above(arena: Arena) -> None:
    places = arena_task_leaderboard(arena, "t").leaderboard
    for name in ("overall", "efficiency", "speed", "cost", "correctness"):
        scores = [getattr(place, f"{name}_score") for place in places]
        for place in places[:200]:
            above = sum(score > getattr(place, f"{name}_score") for score in scores)
            assert getattr(place, f"{name}_ranking") == above + 1


def test_a_store_that_was_put_back_is_read_anew(tmp_path: Any, rows_read: list[int]) -> None:
    address = f"sqlite:///{tmp_path}/a.db"
    arena = make_arena(open_store(address))
    arena.add_task(as_task({"id": "t"}))
    submit(arena, 0, COUNT)
    arena_task_leaderboard(arena, "t", top=20)
    other = make_arena(open_store(f"sqlite:///{tmp_path}/b.db"))
    other.add_task(as_task({"id": "t"}))
    submit(other, 0, COUNT + 1, seed=9)
    other.kept_rows = arena.kept_rows  # as after a restore: what was kept is of other submissions
    assert arena_task_leaderboard(other, "t", top=20) == fresh(other)
    assert rows_read[:2] == [COUNT, COUNT + 1]


def test_threads_that_see_different_moments_each_get_theirs(arena: Arena) -> None:
    def look(told: list[int]) -> None:
        told.extend(arena_task_leaderboard(arena, "t", top=1).n for _ in range(10))

    seen: list[list[int]] = [[] for _ in range(4)]
    threads = [Thread(target=look, args=(told,)) for told in seen]
    for thread in threads:
        thread.start()
    for place in range(COUNT, COUNT + 10):
        submit(arena, place, place + 1)
    for thread in threads:
        thread.join()
    assert all(told == sorted(told) and len(told) == 10 for told in seen)
    assert arena_task_leaderboard(arena, "t", top=20) == fresh(arena)


def test_no_more_is_kept_than_there_is_room_for(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept() -> Iterator[int]:
        return (len(rows) for rows in arena.kept_rows._tasks.values())

    arena_task_leaderboard(arena, "t", top=1)
    assert list(kept()) == [COUNT]
    monkeypatch.setattr(_submission_rows, "MAX_ROWS", COUNT)
    submit(arena, COUNT, COUNT + 1)
    assert arena_task_leaderboard(arena, "t", top=1).n == COUNT + 1
    assert list(kept()) == []
