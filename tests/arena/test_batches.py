"""Batches to many small tasks take a way of their own; what they leave is what one by one leaves."""

from __future__ import annotations

import json
import math
import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import delete, func, insert, select

from arena_makers import as_submission, as_task, make_arena, random_submission, random_task
from steelyard.arena import Arena, Watch, notify_once, open_arena
from steelyard.arena.intake._column_baselines import group, group_medians, running_extremes
from steelyard.arena.notifying._events import unfold_events
from steelyard.arena.notifying._sending import waiting
from steelyard.arena.notifying._targets import Target
from steelyard.arena.scoring._column_tallies import count_values, each_once, unpack_all
from steelyard.arena.scoring._stored_tallies import FIELDS, PACKED_UP_TO, PackedTallies, pack_tally, unpack_tally
from steelyard.profiles import Profile, load_profile
from steelyard.records import Submission
from steelyard.results import Policy, Receipt
from steelyard.store import Store, open_store
from steelyard.store.schema import baselines, folded_events, outbox, small_tallies, states, submissions, tallies

HOOK = Target(name="hook", url="http://127.0.0.1:9/hook")


def made_up(sizes: list[int], seed: int) -> tuple[list[dict[str, Any]], list[Submission]]:
    """Tasks of these sizes, and their submissions mixed with each other."""
    rng = random.Random(seed)
    tasks = [random_task(rng, f"task-{number}") for number in range(len(sizes))]
    rows = [
        as_submission(random_submission(rng, f"{number}/{place}", f"task-{number}", place))
        for number, size in enumerate(sizes)
        for place in range(size)
    ]
    rng.shuffle(rows)
    return tasks, rows


def filled(
    store: Store, tasks: list[dict[str, Any]], portions: list[list[Submission]], policy: Policy
) -> list[Receipt]:
    arena = make_arena(store, policy=policy)
    for task in tasks:
        arena.add_task(as_task(task))
    outcomes = [outcome for portion in portions for outcome in arena.submit(portion)]
    assert all(isinstance(outcome, Receipt) for outcome in outcomes)
    return [outcome for outcome in outcomes if isinstance(outcome, Receipt)]


def contents(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the store holds of the arena, but for the moments at which it was written."""
    unfold_events(store)
    moments = {"accepted_at", "created_at"}
    found = {}
    with store.read() as connection:
        for table in (submissions, baselines, states, tallies, small_tallies):
            columns = [column for column in table.columns if column.name not in moments]
            keys = list(table.primary_key.columns)
            found[table.name] = [tuple(row) for row in connection.execute(select(*columns).order_by(*keys))]
        told = select(outbox.c.kind, outbox.c.task_key, outbox.c.ordinal)
        found[outbox.name] = sorted(tuple(row) for row in connection.execute(told))
    return found


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_batches_leave_what_one_by_one_leaves(store: Store, tmp_path: Path, policy: Policy) -> None:
    tasks, rows = made_up([PACKED_UP_TO + 20, 4, 5, 6, 90, 60, 1], seed=3)
    rng = random.Random(4)
    portions = []
    start = 0
    while start < len(rows):  # now and then one or a few, so that both ways meet in the same task
        size = rng.choice((1, 5, 250, 320))
        portions.append(rows[start : start + size])
        start += size
    filled(store, tasks, portions, policy)
    other = open_store(f"sqlite:///{tmp_path}/one-by-one.db")
    filled(other, tasks, [[one] for one in rows], policy)
    ours, theirs = contents(store), contents(other)
    other.close()
    assert ours[small_tallies.name]
    assert ours[tallies.name]  # the largest task has outgrown its one row
    for name, held in theirs.items():
        assert ours[name] == held, name


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_sent_again_a_batch_gets_the_receipts_it_had(store: Store, policy: Policy) -> None:
    tasks, rows = made_up([120, 3, 80, 5, 60], seed=5)
    before = filled(store, tasks, [rows], policy)
    again = open_arena(store).submit(rows)
    assert len(before) == len(again)
    for one, other in zip(before, again, strict=True):
        assert isinstance(other, Receipt)
        assert (one.status, other.status) == ("accepted", "known")
        for name in Receipt.__struct_fields__:
            if name != "status":
                assert getattr(one, name) == getattr(other, name), name
    assert any(one.flags for one in before)
    assert any(one.warnings for one in before)
    assert any(one.defaulted for one in before)


def test_a_small_task_of_an_older_store_goes_on_with_its_rows(store: Store, tmp_path: Path) -> None:
    tasks, rows = made_up([150, 150, 40], seed=6)
    filled(store, tasks, [rows[:100]], "current")
    with store.write() as connection:
        for row in connection.execute(select(small_tallies)).mappings().all():
            values = [
                {"task_key": row["task_key"], "field": number, "value": value, "n": n}
                for name, number in FIELDS.items()
                for value, n in unpack_tally(row[name]).items()
            ]
            connection.execute(insert(tallies), values)
        connection.execute(delete(small_tallies))
    arena = open_arena(store)
    arena.submit(rows[100:])
    assert arena.rescore() == len(rows)
    other = open_store(f"sqlite:///{tmp_path}/new.db")
    filled(other, tasks, [rows], "current")
    ours, theirs = contents(store), contents(other)
    other.close()
    assert ours[small_tallies.name] == []
    assert ours[states.name] == theirs[states.name]
    counted = {(key, field, value): n for key, field, value, n in ours[tallies.name]}
    for key, *packed in theirs[small_tallies.name]:
        for name, held in zip(PackedTallies._fields, packed, strict=True):
            assert unpack_tally(held) == {
                value: n for (task, field, value), n in counted.items() if (task, field) == (key, FIELDS[name])
            }


def test_a_rescore_keeps_the_tallies_of_small_tasks(store: Store) -> None:
    tasks, rows = made_up([150, 30], seed=7)
    filled(store, tasks, [rows], "current")
    before = contents(store)
    assert open_arena(store).rescore() == len(rows)
    assert contents(store) == before


def test_a_change_of_profile_reaches_every_portion_of_a_batch(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.arena.intake._arena.ROWS_PER_TRANSACTION", 40)
    tasks, rows = made_up([40, 40, 40], seed=8)
    arena = make_arena(store)
    for task in tasks:
        arena.add_task(as_task(task))
    arena.submit(rows[:3])  # it knows the tasks now
    held = load_profile("arena-1")
    changed = Profile(name="mine", spec="arena", constants={**held.constants, "speed_exponent": 0.3})
    open_arena(store).rescore(profile=changed)
    outcomes = arena.submit(rows[3:])
    again = open_arena(store).submit(rows[3:])
    scores = [(one.submission_id, one.speed_score) for one in outcomes if isinstance(one, Receipt)]
    assert scores == [(one.submission_id, one.speed_score) for one in again if isinstance(one, Receipt)]
    assert len(scores) == len(rows) - 3


def test_bad_ones_in_a_batch_of_many_portions_are_refused_where_they_stand(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.arena.intake._arena.ROWS_PER_TRANSACTION", 300)
    tasks, rows = made_up([260, 260, 30], seed=9)
    arena = make_arena(store)
    for task in tasks:
        arena.add_task(as_task(task))
    negative = Submission(id="bad", task_id="task-1", total_tokens=-1, tool_calls=1)
    lost = Submission(id="lost", task_id="tsak-1", total_tokens=1, tool_calls=1)
    odd = Submission(id="odd", task_id=["task-1"], total_tokens=1, tool_calls=1)  # type: ignore[arg-type]  # a program may
    twice = Submission(id=rows[0].id, task_id=rows[0].task_id, total_tokens=1, tool_calls=1)
    outcomes = arena.submit([*rows[:200], negative, lost, odd, twice, *rows[200:]])
    assert len(outcomes) == len(rows) + 4
    codes = [getattr(outcome, "code", "accepted") for outcome in outcomes]
    assert codes[200:204] == ["bad_submission", "unknown_task", "bad_submission", "id_with_other_content"]
    assert [outcome.submission_id for outcome in outcomes if isinstance(outcome, Receipt)] == [one.id for one in rows]


class TestEvents:
    """The events of a batch lie folded until they are wanted."""

    @pytest.fixture
    def arena(self, store: Store) -> Arena:
        tasks, rows = made_up([200, 100], seed=10)
        filled(store, tasks, [rows], "current")
        return open_arena(store)

    def test_each_is_sent_once_and_tells_what_the_receipt_said(self, store: Store) -> None:
        tasks, rows = made_up([200, 100], seed=10)
        receipts = {one.submission_id: one for one in filled(store, tasks, [rows], "current")}
        assert waiting(store) == 300
        told: list[dict[str, Any]] = []

        def sender(_target: Target, *, body: bytes, **_: Any) -> None:
            told.append(json.loads(body))

        done = notify_once(store, [HOOK], sender=sender)
        assert (done.sent, done.waiting) == (300, 0)
        assert len({one["event_id"] for one in told}) == 300
        for one in told:
            held = receipts[one["submission_id"]]
            for name in ("task_id", "overall_score", "overall_ranking", "percentile", "baseline_version"):
                assert one[name] == getattr(held, name), name
        assert notify_once(store, [HOOK], sender=sender).sent == 0

    def test_unfolding_twice_moves_them_once(self, arena: Arena) -> None:
        unfold_events(arena.store)
        unfold_events(arena.store)
        with arena.store.read() as connection:
            assert connection.execute(select(func.count()).select_from(outbox)).scalar_one() == 300
            assert connection.execute(select(func.count()).select_from(folded_events)).scalar_one() == 0
        assert waiting(arena.store) == 300

    def test_whoever_watches_sees_those_that_come_and_not_those_that_were_there(self, arena: Arena) -> None:
        watch = Watch(arena)
        assert watch.news() == []
        rng = random.Random(11)
        arena.submit([as_submission(random_submission(rng, f"new/{n}", "task-0", n)) for n in range(250)])
        assert len(watch.news()) == 250
        assert watch.news() == []


KNOWN = st.floats(0, 1e9) | st.sampled_from([1.0, 2.0, 2.0**53])
GROUPS = st.lists(st.lists(st.none() | KNOWN, min_size=1, max_size=8), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(GROUPS)
def test_running_extremes_are_those_of_the_group_so_far(groups: list[list[float | None]]) -> None:
    values = np.array([math.nan if value is None else value for held in groups for value in held])
    lows, highs = running_extremes(values, ~np.isnan(values), group([len(held) for held in groups]))
    expected = []
    for held in groups:
        for place in range(len(held)):
            known = [value for value in held[: place + 1] if value is not None]
            expected.append((min(known), max(known)) if known else None)
    found = [None if math.isnan(low) else (low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    assert found == expected


COUNTS = st.lists(st.lists(st.integers(0, 9) | st.integers(0, 2**53), min_size=1, max_size=9), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(COUNTS)
def test_counts_and_medians_of_many_tasks_are_those_of_each(groups: list[list[int]]) -> None:
    which = np.repeat(np.arange(len(groups)), [len(held) for held in groups])
    flat = [value for held in groups for value in held]
    found = count_values(each_once(which, np.array(flat)), len(groups))
    lower_medians = found.lower_medians()
    for place, held in enumerate(groups):
        counts = {value: held.count(value) for value in held}
        assert found.packed()[place] == pack_tally(counts)
        assert unpack_tally(pack_tally(counts)) == counts
        assert lower_medians.medians[place] == statistics.median(held)
        assert lower_medians.values[place] == statistics.median_low(held)
        assert lower_medians.below[place] == sum(value < statistics.median_low(held) for value in held)
    for row, value in enumerate(flat):
        held = groups[which[row]]
        assert found.values[found.where[row]] == value
        assert found.below[found.where[row]] == sum(other < value for other in held)
    packed = [pack_tally({value: held.count(value) for value in held}) for held in groups]
    again = count_values(unpack_all(packed), len(groups))
    assert again.packed() == packed


TURNS = st.integers(1, 6) | st.integers(1, 2**53)
TASKS = st.lists(
    st.tuples(st.lists(TURNS, max_size=9), st.lists(TURNS, min_size=1, max_size=9)), min_size=1, max_size=5
)


@settings(max_examples=150, deadline=None)
@given(tasks=TASKS, few=st.sampled_from([0, 64]))
def test_running_medians_are_the_medians(tasks: list[tuple[list[int], list[int]]], few: int) -> None:
    packed = [pack_tally({value: earlier.count(value) for value in earlier}) for earlier, _ in tasks]
    coming = np.array([value for _, held in tasks for value in held])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "steelyard.arena.intake._column_baselines.COUNTED_UP_TO", few
        )  # 0: one by one, as with many distinct values
        found = group_medians(packed, coming, group([len(held) for _, held in tasks]))
    assert found.tolist() == [
        statistics.median(earlier + held[: n + 1]) for earlier, held in tasks for n in range(len(held))
    ]
