"""Events in the outbox: whom they wait for, when they are settled, and when they are forgotten."""

from __future__ import annotations

from threading import Event as Signal
from typing import Any

import pytest
from sqlalchemy import func, select

from arena_makers import as_submission, as_task, make_arena
from steelyard.arena import Arena, Watch, notify_once, skip_before
from steelyard.arena.notifications._delivery import (
    CHANGED_AT_ONCE,
    KEPT_DAYS,
    SECOND,
    serve,
    settle,
    stands_for,
    waiting,
    waits_seconds,
)
from steelyard.arena.notifications._events import EVALUATED
from steelyard.arena.notifications._targets import Target
from steelyard.records import DAY, now_microseconds
from steelyard.store import Store
from steelyard.store.schema import deliveries, outbox

DOWN = Target(name="down", network="loopback", url="http://127.0.0.1:9/down")
CI = Target(name="ci", network="loopback", url="http://127.0.0.1:9/ci")


@pytest.fixture
def arena(store: Store) -> Arena:
    made = make_arena(store)
    made.add_task(as_task({"id": "task"}))
    submit(made, range(3))
    return made


def submit(arena: Arena, numbers: range) -> None:
    rows = [{"id": f"s{n}", "task_id": "task", "total_tokens": 5, "tool_calls": 2} for n in numbers]
    arena.submit([as_submission(row) for row in rows])


def later(seconds: float) -> int:
    return now_microseconds() + int(seconds * SECOND)


def fails(target: Target, **_: Any) -> str | None:
    return "answered 500" if target.name == "down" else None


def takes(_target: Target, **_: Any) -> None:
    return None


def rows(store: Store) -> tuple[int, int]:
    with store.read() as connection:
        events, sent = (
            connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (outbox, deliveries)
        )
    return events, sent


class TestWaiting:
    def test_a_target_that_is_added_later_does_not_wait_for_the_retries_of_another(self, arena: Arena) -> None:
        assert notify_once(arena.store, [DOWN], sender=fails).failed == 3
        done = notify_once(arena.store, [DOWN, CI], sender=fails)
        assert (done.sent, done.failed, done.waiting) == (3, 0, 3)
        again = notify_once(arena.store, [DOWN, CI], sender=fails)
        assert (again.sent, again.failed) == (0, 0)
        back = notify_once(arena.store, [DOWN, CI], sender=takes, now=later(waits_seconds(1) + 1))
        assert (back.sent, back.settled, back.waiting) == (3, 3, 0)

    def test_nor_does_one_that_comes_back_to_the_file(self, arena: Arena) -> None:
        assert notify_once(arena.store, [DOWN, CI], sender=fails).sent == 3
        submit(arena, range(3, 5))
        assert notify_once(arena.store, [DOWN], sender=fails).failed == 2
        assert notify_once(arena.store, [CI, DOWN], sender=fails).sent == 2

    def test_nor_one_that_wants_more_kinds_than_before(self, arena: Arena) -> None:
        wanting = Target(name="ci", network="loopback", url=CI.url, kinds=("something.else",))
        assert notify_once(arena.store, [DOWN, wanting], sender=fails).sent == 0
        assert notify_once(arena.store, [DOWN, CI], sender=fails).sent == 3

    def test_an_event_that_only_one_of_them_was_offered_in_a_round_waits_for_nobody(self, arena: Arena) -> None:
        # As when a batch is accepted after the other target has had its turn.
        began = now_microseconds()
        assert serve(arena.store, DOWN, sender=fails, began=began, stop=Signal()).failed == 3
        assert settle(arena.store, [DOWN, CI], began) == 0
        assert notify_once(arena.store, [DOWN, CI], sender=fails).sent == 3

    def test_the_same_targets_stand_for_the_same_in_any_order(self) -> None:
        choosy = Target(name="ci", network="loopback", url=CI.url, kinds=(EVALUATED,))
        assert stands_for([DOWN, CI]) == stands_for([CI, DOWN])
        assert len({stands_for(some) for some in ([CI], [DOWN], [CI, DOWN], [choosy], [])}) == 5


class TestTroubleOfOne:
    """Whatever an attempt raises or a receiver answers is that target's failure and nobody else's."""

    @pytest.mark.parametrize("targets", [[DOWN, CI], [CI, DOWN], [DOWN]])
    def test_an_error_of_any_kind_stops_neither_the_round_nor_the_others(
        self, arena: Arena, targets: list[Target]
    ) -> None:
        def sender(target: Target, **_: Any) -> None:
            if target.name == "down":
                raise UnicodeEncodeError("ascii", "ö", 0, 1, "ordinal not in range")

        done = notify_once(arena.store, targets, sender=sender)
        assert (done.sent, done.failed, done.put_off) == (3 if CI in targets else 0, 2, 1)
        assert [error[:25] for error in done.errors] == ["down: UnicodeEncodeError:"]

    def test_what_a_receiver_answers_is_kept_without_what_drives_a_terminal_or_breaks_the_store(
        self, arena: Arena
    ) -> None:
        done = notify_once(arena.store, [DOWN], sender=lambda *_, **__: "answered \0\x1b[31m\ud800 no")
        assert (done.failed, done.errors) == (3, ("down: answered \ufffd\ufffd[31m\ufffd no",))


class TestSkipping:
    def test_what_is_from_before_is_never_sent_and_what_comes_is(self, arena: Arena) -> None:
        moment = now_microseconds()
        submit(arena, range(3, 5))
        assert skip_before(arena.store, moment) == 3
        assert skip_before(arena.store, moment) == 0
        assert notify_once(arena.store, [CI], sender=takes).sent == 2
        assert notify_once(arena.store, [DOWN], sender=takes).sent == 0

    def test_batches_are_skipped_whole_however_large(self, store: Store) -> None:
        arena = make_arena(store)
        arena.add_task(as_task({"id": "task"}))
        submit(arena, range(CHANGED_AT_ONCE + 5))
        assert skip_before(store, now_microseconds()) == CHANGED_AT_ONCE + 5
        assert waiting(store) == 0


class TestForgetting:
    def test_settled_events_are_removed_after_their_time_and_waiting_ones_never(self, arena: Arena) -> None:
        assert notify_once(arena.store, [CI], sender=takes).settled == 3
        submit(arena, range(3, 5))
        assert notify_once(arena.store, [DOWN], sender=fails, now=later((KEPT_DAYS - 1) * 86_400)).failed == 2
        assert rows(arena.store) == (5, 5)
        assert notify_once(arena.store, [DOWN], sender=fails, now=later((KEPT_DAYS + 1) * 86_400)).waiting == 2
        assert rows(arena.store) == (2, 2)

    def test_a_submission_whose_event_is_forgotten_is_known_and_makes_no_new_one(self, arena: Arena) -> None:
        notify_once(arena.store, [CI], sender=takes)
        notify_once(arena.store, [CI], sender=takes, now=later((KEPT_DAYS + 1) * 86_400))
        submit(arena, range(3))
        assert waiting(arena.store) == 0

    def test_whoever_watches_sees_what_comes_after_all_was_forgotten(self, arena: Arena) -> None:
        notify_once(arena.store, [CI], sender=takes)
        watch = Watch(arena)
        notify_once(arena.store, [CI], sender=takes, now=later((KEPT_DAYS + 1) * 86_400))
        assert rows(arena.store) == (1, 1)  # the last keeps its number
        submit(arena, range(3, 5))
        assert len(watch.news()) == 2

    def test_a_round_forgets_a_bounded_number(self, arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("steelyard.arena.notifications._delivery.FORGOTTEN_AT_ONCE", 4)
        monkeypatch.setattr("steelyard.arena.notifications._delivery.PORTIONS_FORGOTTEN", 2)
        submit(arena, range(3, 20))
        skip_before(arena.store, now_microseconds())
        moment = now_microseconds() + (KEPT_DAYS + 1) * DAY
        left = []
        for _ in range(4):
            notify_once(arena.store, [CI], sender=takes, now=moment)
            left.append(rows(arena.store)[0])
        assert left == [12, 4, 1, 1]
