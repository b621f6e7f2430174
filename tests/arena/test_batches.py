"""One way in: a batch leaves what its submissions leave one by one, and what a slow plain twin makes of them."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import select

from arena_makers import as_submission, as_task, make_arena, random_submission, random_task
from steelyard.arena import Arena, Policy, Receipt, Watch, load_tasks, notify_once, open_arena
from steelyard.arena.ingest._acceptance import group, running_extremes
from steelyard.arena.notifications._delivery import waiting
from steelyard.arena.notifications._events import EVALUATED, OUTLIER
from steelyard.arena.notifications._targets import Target
from steelyard.arena.scoring._baseline import BaselineBounds, default_bounds, running_medians
from steelyard.arena.scoring._scores import SCORE_INPUTS, scores_in_cents
from steelyard.arena.scoring._tallies import BELOW_ALL, FIELDS, count_values, each_once, of_tallies
from steelyard.arena.scoring._task_state import EXTREMES, StoredTask
from steelyard.profiles import Profile, load_profile
from steelyard.records import Submission
from steelyard.store import Store, open_store
from steelyard.store.schema import baselines, outbox, states, submissions, tallies

HOOK = Target(name="hook", network="loopback", url="http://127.0.0.1:9/hook")


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
    moments = {"accepted_at", "created_at"}
    found = {}
    with store.read() as connection:
        for table in (submissions, baselines, states, tallies):
            columns = [column for column in table.columns if column.name not in moments]
            keys = list(table.primary_key.columns)
            found[table.name] = [tuple(row) for row in connection.execute(select(*columns).order_by(*keys))]
        # Who lost a rank and who looks too good is told of the moment, which a batch has fewer of.
        told = select(outbox.c.kind, outbox.c.task_key, outbox.c.ordinal).where(outbox.c.kind == EVALUATED)
        found[outbox.name] = sorted(tuple(row) for row in connection.execute(told))
    return found


def in_portions(rows: list[Submission], sizes: tuple[int, ...], seed: int) -> list[list[Submission]]:
    rng = random.Random(seed)
    portions = []
    start = 0
    while start < len(rows):
        size = rng.choice(sizes)
        portions.append(rows[start : start + size])
        start += size
    return portions


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_batches_leave_what_one_by_one_leaves(store: Store, tmp_path: Path, policy: Policy) -> None:
    tasks, rows = made_up([530, 4, 5, 6, 90, 60, 1], seed=3)
    filled(store, tasks, in_portions(rows, (1, 5, 250, 320), seed=4), policy)
    other = open_store(f"sqlite:///{tmp_path}/one-by-one.db")
    filled(other, tasks, [[one] for one in rows], policy)
    ours, theirs = contents(store), contents(other)
    other.close()
    for name, held in theirs.items():
        assert ours[name] == held, name


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_how_much_of_a_tally_is_read_changes_nothing(
    store: Store, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, rows = made_up([300, 80, 6], seed=13)
    portions = in_portions(rows, (1, 3, 40), seed=14)
    whole = filled(store, tasks, portions, policy)
    monkeypatch.setattr("steelyard.arena.scoring._tallies.WHOLE_UP_TO", 0)  # never the whole tally
    monkeypatch.setattr("steelyard.arena.scoring._tallies.LOOK_UP_TO", 1000)
    other = open_store(f"sqlite:///{tmp_path}/in-parts.db")
    assert filled(other, tasks, portions, policy) == whole
    again = [one for one in open_arena(other).submit(rows) if isinstance(one, Receipt)]
    monkeypatch.undo()
    assert again == open_arena(store).submit(rows)
    assert contents(other) == contents(store)
    other.close()


def plain_bounds(stored_task: StoredTask, rows: list[dict[str, Any]], least: int) -> BaselineBounds:
    """The bounds that these rows make, found by looking at all of them."""
    bounds = default_bounds(stored_task.defaults)._asdict()
    if len(rows) < least:
        return BaselineBounds(**bounds)
    for name, field in EXTREMES.items():
        known = [row[field] for row in rows if row[field] or (row[field] == 0 and name in ("tokens", "tool_calls"))]
        if known:
            bounds |= {f"min_{name}": float(min(known)), f"max_{name}": float(max(known))}
    bounds["median_iterations"] = float(statistics.median(row["iterations"] or 1 for row in rows))
    return BaselineBounds(**bounds)


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_the_store_holds_what_a_plain_twin_finds_by_looking_at_every_row(store: Store, policy: Policy) -> None:
    tasks, rows = made_up([140, 4, 5, 30], seed=15)
    filled(store, tasks, in_portions(rows, (1, 7, 60), seed=16), policy)
    arena = open_arena(store)
    least = arena.rules.baseline.submissions
    with store.read() as connection:
        stored_tasks = load_tasks(connection, arena.rules)
        every = [
            dict(row) for row in connection.execute(select(submissions).order_by(submissions.c.ordinal)).mappings()
        ]
        kept = {tuple(row) for row in connection.execute(select(tallies))}
        state_of = {row["task_key"]: row for row in connection.execute(select(states)).mappings()}
        made = {(row["task_key"], row["version"]): row for row in connection.execute(select(baselines)).mappings()}
    expected: set[tuple[int, int, int, int]] = set()
    versions = 0
    for stored_task in stored_tasks.values():
        own = [row for row in every if row["task_key"] == stored_task.key]
        bounds, version = plain_bounds(stored_task, [], least), 1
        for number, row in enumerate(own):
            assert row["baseline_version"] == version
            day = scores_in_cents({name: row[name] for name in SCORE_INPUTS}, bounds, stored_task.constants)
            assert day == {name: row[name] for name in day}
            after = plain_bounds(stored_task, own[: number + 1], least)
            if after != bounds:
                bounds, version = after, version + 1
                begun = made[stored_task.key, version]
                assert begun["from_n"] == number + 1
                assert tuple(begun[name] for name in BaselineBounds._fields) == bounds
        versions += version
        inputs = [{name: row[name] for name in SCORE_INPUTS} for row in own]
        now = [scores_in_cents(row, bounds, stored_task.constants)["overall"] for row in inputs]
        values = {
            "overall": now if policy == "current" else [row["overall"] for row in own],
            "iterations": [row["iterations"] or 1 for row in own],
            "total_tokens": [row["total_tokens"] for row in own],
        }
        for field, number in FIELDS.items():
            expected |= {(stored_task.key, number, value, n) for value, n in Counter(values[field]).items()}
        state = state_of[stored_task.key]
        assert (state["n"], state["version"]) == (len(own), version)
        for field, prefix in (("iterations", "iterations"), ("total_tokens", "tokens")):
            middle = statistics.median_low(values[field])
            assert (state[f"{prefix}_middle"], state[f"{prefix}_below"]) == (
                middle,
                sum(value < middle for value in values[field]),
            )
    assert versions == len(made) > 20
    assert kept == expected


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


def test_a_rescore_keeps_the_tallies(store: Store) -> None:
    tasks, rows = made_up([150, 30], seed=7)
    filled(store, tasks, [rows], "current")
    before = contents(store)
    assert open_arena(store).rescore_tasks() == len(rows)
    assert contents(store) == before


def test_a_change_of_profile_reaches_every_portion_of_a_batch(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.arena.ingest._arena.ROWS_PER_TRANSACTION", 40)
    tasks, rows = made_up([40, 40, 40], seed=8)
    arena = make_arena(store)
    for task in tasks:
        arena.add_task(as_task(task))
    arena.submit(rows[:3])  # it knows the tasks now
    held = load_profile("arena-1")
    changed = Profile(name="mine", spec="arena", constants={**held.constants, "speed_exponent": 0.3})
    open_arena(store).rescore_tasks(profile=changed)
    outcomes = arena.submit(rows[3:])
    again = open_arena(store).submit(rows[3:])
    scores = [(one.submission_id, one.speed_score) for one in outcomes if isinstance(one, Receipt)]
    assert scores == [(one.submission_id, one.speed_score) for one in again if isinstance(one, Receipt)]
    assert len(scores) == len(rows) - 3


def test_bad_ones_in_a_batch_of_many_portions_are_refused_where_they_stand(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.arena.ingest._arena.ROWS_PER_TRANSACTION", 300)
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
    @pytest.fixture
    def arena(self, store: Store) -> Arena:
        tasks, rows = made_up([200, 100], seed=10)
        filled(store, tasks, [rows], "current")
        return open_arena(store)

    def test_each_is_sent_once_and_tells_what_the_receipt_said(self, store: Store) -> None:
        tasks, rows = made_up([200, 100], seed=10)
        receipts = {one.submission_id: one for one in filled(store, tasks, [rows], "current")}
        suspicious = {name for name, receipt in receipts.items() if len(receipt.flags) >= 2}
        assert suspicious
        count = 300 + len(suspicious)  # each was evaluated, and these are told of as outliers too
        assert waiting(store) == count
        told: list[dict[str, Any]] = []

        def sender(_target: Target, *, body: bytes, **_: Any) -> None:
            told.append(json.loads(body))

        done = notify_once(store, [HOOK], sender=sender)
        assert (done.sent, done.waiting) == (count, 0)
        assert len({one["event_id"] for one in told}) == count
        assert {one["submission_id"] for one in told if one["kind"] == OUTLIER} == suspicious
        assert len({one["submission_id"] for one in told if one["kind"] == EVALUATED}) == 300
        for one in told:
            held = receipts[one["submission_id"]]
            assert tuple(one["flags"]) == held.flags
            for name in ("task_id", "overall_score", "overall_ranking", "percentile", "baseline_version"):
                assert one[name] == getattr(held, name), name
        assert notify_once(store, [HOOK], sender=sender).sent == 0

    def test_whoever_watches_sees_those_that_come_and_not_those_that_were_there(self, arena: Arena) -> None:
        watch = Watch(arena)
        assert watch.news() == []
        rng = random.Random(11)
        arena.submit([as_submission(random_submission(rng, f"new/{n}", "task-0", n)) for n in range(250)])
        assert len([event for event in watch.news() if event.kind == EVALUATED]) == 250
        assert watch.news() == []


KNOWN = st.floats(0, 1e9) | st.sampled_from([1.0, 2.0, 2.0**53])
STORED = st.none() | st.tuples(KNOWN, KNOWN).map(sorted)
GROUPS = st.lists(st.tuples(STORED, st.lists(st.none() | KNOWN, min_size=1, max_size=8)), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(GROUPS)
def test_running_extremes_are_those_of_the_group_so_far(
    groups: list[tuple[list[float] | None, list[float | None]]],
) -> None:
    values = np.array([[math.nan if value is None else value] for _, held in groups for value in held])
    stored = np.array([[math.nan, math.nan] if ends is None else ends for ends, _ in groups])
    sizes = group([len(held) for _, held in groups])
    lows, highs = running_extremes(values, stored[:, :1], stored[:, 1:], sizes)
    expected = []
    for ends, held in groups:
        for place in range(len(held)):
            known = [*(ends or []), *(value for value in held[: place + 1] if value is not None)]
            expected.append((min(known), max(known)) if known else None)
    pairs = zip(lows[:, 0].tolist(), highs[:, 0].tolist(), strict=True)
    assert [None if math.isnan(low) else (low, high) for low, high in pairs] == expected


COUNTS = st.lists(st.lists(st.integers(0, 9) | st.integers(0, 2**53), max_size=9), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(COUNTS)
def test_counts_and_medians_of_many_tasks_are_those_of_each(groups: list[list[int]]) -> None:
    which = np.repeat(np.arange(len(groups)), [len(held) for held in groups])
    flat = [value for held in groups for value in held]
    found = count_values(each_once(which, np.array(flat, dtype=np.int64)), len(groups))
    expected = [(place, value, n) for place, held in enumerate(groups) for value, n in sorted(Counter(held).items())]
    assert list(zip(found.which.tolist(), found.values.tolist(), found.counts.tolist(), strict=True)) == expected
    assert found.totals.tolist() == [len(held) for held in groups]
    for row, value in enumerate(flat):
        held = groups[which[row]]
        assert found.values[found.where[row]] == value
        assert found.below[found.where[row]] == sum(other < value for other in held)
    again = count_values(of_tallies(np.arange(len(groups)), [Counter(held) for held in groups]), len(groups))
    assert (again.values.tolist(), again.counts.tolist()) == (found.values.tolist(), found.counts.tolist())
    full = [place for place, held in enumerate(groups) if held]
    middles = found.lower_medians(np.array(full, dtype=np.int64), found.totals[full])
    for number, place in enumerate(full):
        low = statistics.median_low(groups[place])
        assert middles.medians[number] == statistics.median(groups[place])
        assert (middles.values[number], middles.below[number]) == (low, sum(value < low for value in groups[place]))


TURNS = st.integers(1, 6) | st.integers(1, 2**53)


def around_the_middle(values: list[int], reach: int) -> dict[int, int]:
    """The counts that a store gives: so many distinct values on both sides of the middle, all lower ones in one."""
    counts = Counter(values)
    middle = statistics.median_low(values)
    kept = sorted(value for value in counts if value < middle)[-reach:]
    kept += sorted(value for value in counts if value >= middle)[:reach]
    return {BELOW_ALL: sum(value < kept[0] for value in values)} | {value: counts[value] for value in kept}


@settings(max_examples=300, deadline=None)
@given(earlier=st.lists(TURNS, max_size=30), coming=st.lists(TURNS, min_size=1, max_size=9))
def test_running_medians_are_the_medians(earlier: list[int], coming: list[int]) -> None:
    expected = [statistics.median(earlier + coming[: number + 1]) for number in range(len(coming))]
    low = statistics.median_low(earlier + coming)
    below = sum(value < low for value in earlier + coming)
    parts = around_the_middle(earlier, len(coming) + 2) if earlier else {}
    for counts in (Counter(earlier), parts):
        assert running_medians(counts, coming, n=len(earlier)) == (expected, (low, below))


def test_too_few_values_around_the_middle_would_be_noticed() -> None:
    earlier = list(range(1, 30))
    enough, too_few = (running_medians(around_the_middle(earlier, reach), [9, 9, 9, 9], n=29) for reach in (6, 1))
    assert enough != too_few
