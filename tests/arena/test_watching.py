"""Watching: every event once, in whatever order transactions take their numbers and end."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from sqlalchemy import select
from sqlalchemy.engine import Connection

from arena_makers import as_submission, as_task, make_arena
from steelyard.arena import Arena, Watch
from steelyard.arena.notifications._events import EVALUATED, write_events
from steelyard.records import now_microseconds
from steelyard.store import Store
from steelyard.store.schema import outbox, submissions


@pytest.fixture
def arena(store: Store) -> Arena:
    made = make_arena(store)
    made.add_task(as_task({"id": "task"}))
    submit(made, "s0", "s1", "s2")
    return made


def submit(arena: Arena, *names: str) -> None:
    rows = [{"id": name, "task_id": "task", "total_tokens": 5, "tool_calls": 2} for name in names]
    arena.submit([as_submission(row) for row in rows])


def write(connection: Connection, marks: range) -> None:
    """Events of the first submission, told apart by their baseline version."""
    key, ordinal = connection.execute(select(submissions.c.task_key, submissions.c.ordinal).limit(1)).one()
    fixed = {"task_key": key, "ordinal": ordinal, "overall": 0, "overall_ranking": 1, "percentile": 0.0}
    columns: dict[str, Sequence[float]] = {name: [value] * len(marks) for name, value in fixed.items()}
    write_events(connection, EVALUATED, {**columns, "baseline_version": marks}, now_microseconds())


def told(watch: Watch) -> list[int]:
    return [event.baseline_version for event in watch.news()]


def test_watching_shows_each_evaluation_once(arena: Arena) -> None:
    watch = Watch(arena)
    assert watch.news() == []
    submit(arena, "s3", "s4")
    assert [event.submission_id for event in watch.news()] == ["s3", "s4"]
    assert watch.news() == []


class TestWritersAtOnce:
    """On PostgreSQL, where numbers are taken long before they are seen. On SQLite nobody writes beside another."""

    @pytest.fixture(autouse=True)
    def _skip_sqlite(self, store: Store) -> None:
        if store.is_sqlite:
            pytest.skip("SQLite has one writer at a time")

    def test_a_large_transaction_that_ends_late_is_told_whole(self, arena: Arena) -> None:
        watch = Watch(arena)
        with arena.store.write() as large:
            write(large, range(3000))
            for first in range(10_000, 13_000, 1000):
                with arena.store.write() as small:
                    write(small, range(first, first + 1000))
                assert told(watch) == [*range(first, first + 1000)]
            assert told(watch) == []
            write(large, range(3000, 4000))
        assert told(watch) == [*range(4000)]
        assert told(watch) == []

    def test_what_was_open_when_watching_began_is_told_and_what_was_there_is_not(self, arena: Arena) -> None:
        with arena.store.write() as large:
            write(large, range(2000))
            with arena.store.write() as small:
                write(small, range(5000, 5100))
            watch = Watch(arena)
            assert told(watch) == []
        assert told(watch) == [*range(2000)]
        assert told(watch) == []

    def test_numbers_that_nobody_uses_are_not_asked_for_for_ever(self, arena: Arena) -> None:
        watch = Watch(arena)
        with arena.store.writing.connect() as broken:  # closed without a commit
            write(broken, range(500))
            with arena.store.write() as small:
                write(small, range(1000, 1010))
            assert told(watch) == [*range(1000, 1010)]
            assert sum(gap.before - gap.after - 1 for gap in watch.gaps) == 500
        assert told(watch) == told(watch) == []
        assert watch.gaps == []

    def test_another_program_that_writes_elsewhere_holds_up_no_gap(self, arena: Arena, store: Store) -> None:
        watch = Watch(arena)
        with store.write() as elsewhere:
            elsewhere.exec_driver_sql("CREATE TABLE other (a INT)")
            elsewhere.exec_driver_sql("INSERT INTO other VALUES (1)")
            assert store.writers(outbox) == frozenset()
            with store.writing.connect() as broken:
                write(broken, range(5))
            submit(arena, "s3")
            assert len(told(watch)) == 1
            assert told(watch) == told(watch) == []
            assert watch.gaps == []

    @pytest.mark.parametrize("seed", range(8))
    def test_whatever_the_order_each_event_that_is_kept_is_told_once(self, arena: Arena, seed: int) -> None:
        rng = random.Random(seed)
        made = 0
        writers: list[tuple[Connection, list[int]]] = []
        watches: list[tuple[Watch, list[int], list[int]]] = []  # with what it should tell, and what it has told
        for step in rng.choices(["watch", "begin", "write", "end", "look"], [1, 3, 6, 3, 6], k=150):
            if step == "watch" and len(watches) < 4:
                watches.append((Watch(arena), [], []))
            elif step == "begin" and len(writers) < 4:
                writers.append((arena.store.writing.connect(), []))
            elif step == "write" and writers:
                connection, kept = rng.choice(writers)
                marks = range(made, made + rng.choice([1, 2, 150]))  # one by one, and as a stream
                write(connection, marks)
                kept += marks
                made = marks.stop
            elif step == "end" and writers:
                connection, kept = writers.pop(rng.randrange(len(writers)))
                is_kept = rng.random() < 0.8
                (connection.commit if is_kept else connection.rollback)()
                connection.close()
                for _, expected, _ in watches:
                    expected.extend(kept if is_kept else [])
            elif step == "look":
                for watch, _, seen in rng.sample(watches, len(watches) // 2):
                    seen.extend(told(watch))
        for connection, _ in writers:
            connection.close()
        for watch, expected, seen in watches:
            seen.extend(told(watch) + told(watch))
            assert sorted(seen) == sorted(expected)
            assert watch.gaps == []
        assert any(expected for _, expected, _ in watches)
