"""Tasks scored again from their rows: baselines, tallies and ranks as the rules make them now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.intake._tasks import load_tasks
from steelyard.arena.scoring import (
    Rules,
    ScoresOfTasks,
    TaskState,
    add_to_tallies,
    bounds_now,
    count_fields,
    each_once,
    forget_scores,
    load_task_states,
    of_field,
    save_task_states,
    stored_scores_now,
)
from steelyard.errors import UnknownName
from steelyard.records import now_microseconds
from steelyard.results import Policy
from steelyard.store.schema import submissions


def rescore_tasks(connection: Connection, task_ids: Sequence[str] | None, *, rules: Rules, policy: Policy) -> int:
    """Make the baselines, scores and tallies of the tasks (of all) anew; how many submissions they have."""
    every = load_tasks(connection, rules)
    for name in task_ids or ():
        if name not in every:
            raise UnknownName("task", name, every)
    chosen = [every[name] for name in task_ids] if task_ids else list(every.values())
    for stored_task in chosen:
        rules.check_task(stored_task.task)
    task_states = list(load_task_states(connection, chosen, rules).values())
    for state in task_states:
        bounds = bounds_now(connection, state)
        if bounds != state.bounds:
            state.begin(state.version + 1, state.n, bounds, now_microseconds())
    save_task_states(connection, task_states)
    filled = [state for state in task_states if state.n]
    keys = [state.stored_task.key for state in filled]
    forget_scores(connection, keys)
    if filled:
        which, scores = (stored_scores_now if policy == "current" else _scores_of_their_day)(connection, filled)
        counted = count_fields(each_once(of_field(which, "overall"), scores), len(filled))
        add_to_tallies(connection, keys, counted)
    return sum(state.n for state in filled)


def _scores_of_their_day(connection: Connection, task_states: Sequence[TaskState]) -> ScoresOfTasks:
    """The overall score that every submission of these tasks got when it came."""
    place_of = {state.stored_task.key: place for place, state in enumerate(task_states)}
    wanted = select(submissions.c.task_key, submissions.c.overall)
    rows = [row for key in place_of for row in connection.execute(wanted.where(submissions.c.task_key == key))]
    which = np.array([place_of[key] for key, _ in rows], dtype=np.int64)
    return ScoresOfTasks(which, np.array([overall for _, overall in rows], dtype=np.int64))
