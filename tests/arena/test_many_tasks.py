"""Many tasks that are read together are what each of them is alone."""

from __future__ import annotations

import random

import pytest

from arena_makers import make_arena, random_submission, random_task
from steelyard.arena import Decision, Policy, load_tasks, view_task, view_tasks
from steelyard.arena.views import _task_view
from steelyard.store import Store

DECISIONS: tuple[Decision, ...] = ("excluded", "accepted")


@pytest.mark.parametrize("is_past", [False, True])
@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_tasks_seen_together_are_as_each_is_alone(
    store: Store, policy: Policy, is_past: bool, clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    arena = make_arena(store)
    for number in range(12):
        arena.add_task(random_task(rng, f"task {number}"))
    # the tasks with the numbers 9 to 11 get none
    names = [f"task {rng.randrange(9)}" for _ in range(120)]
    made = [random_submission(rng, f"s{number}", name, number) for number, name in enumerate(names)]
    for moment, part in enumerate((made[:70], made[70:]), start=1):
        clock[0] = moment * 1_000_000
        arena.submit(part)
        for submission in rng.sample(part, 10):
            arena.decide(submission["id"], rng.choice(DECISIONS), by="ada", reason="seen")
    until = 1_500_000 if is_past else None
    monkeypatch.setattr(_task_view, "ROWS_TOGETHER", 30)  # several portions, of several tasks each
    with arena.read() as connection:
        tasks = load_tasks(connection, arena.rules)
        together = list(view_tasks(connection, tasks.values(), policy=policy, until=until))
        alone = [view_task(connection, task, policy=policy, until=until) for task in list(tasks.values())[:9]]
    assert [view.stored_task.task.id for view in together] == [view.stored_task.task.id for view in alone]
    for seen, expected in zip(together, alone, strict=True):
        assert seen.rows.equals(expected.rows)
        assert seen.rows.schema == expected.rows.schema
        for name in ("policy", "version", "bounds", "last_updated", "decisions"):
            assert getattr(seen, name) == getattr(expected, name), name
