"""Tasks scored again from their rows: baselines, tallies and ranks as the rules make them now."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.intake._tasks import load_tasks
from steelyard.arena.scoring import (
    FACTS,
    Rules,
    add_to_tallies,
    count_scores,
    forget_scores,
    load_task_states,
    pack_tally,
    save_task_states,
    tally_scores,
    write_packed,
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
    task_states = load_task_states(connection, chosen, rules)
    for state in task_states.values():
        state.prepare(connection, 1)
        bounds = state.bounds_now()
        if bounds != state.bounds:
            state.set_bounds(bounds, now_microseconds())
    save_task_states(connection, list(task_states.values()))
    forget_scores(connection, task_states)
    if policy == "current":
        filled = [state for state in task_states.values() if state.n]
        nothing: dict[str, list[int]] = {name: [] for name in FACTS}
        counts_by_task, _ = tally_scores(connection, filled, nothing, [range(0)] * len(filled)) if filled else ({}, {})
        counts: dict[int, dict[int, int]] = {key: counts_by_task.get(key, {}) for key in task_states}
    else:
        stored = select(submissions.c.task_key, submissions.c.overall)
        counts = {
            key: count_scores(row.overall for row in connection.execute(stored.where(submissions.c.task_key == key)))
            for key in task_states
        }
    in_rows = {(key, "overall"): tally for key, tally in counts.items() if task_states[key].packed is None}
    add_to_tallies(connection, in_rows)
    packed = {
        key: state.packed._replace(overall=pack_tally(counts[key]))
        for key, state in task_states.items()
        if state.packed
    }
    write_packed(connection, packed)
    return sum(state.n for state in task_states.values())
