"""Scoring many rows: those that came in, and all of a task whose baseline moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._scores import FACTS, KEPT_SCORES, OWN_CONSTANTS, score_cents, score_cents_columns
from steelyard.arena.scoring._submission_rows import frame_of, read_frame
from steelyard.arena.scoring._task_state import TaskState
from steelyard.store.schema import submissions

if TYPE_CHECKING:
    import polars as pl

COLUMNS_FROM = 200
"""From this many rows on, columns are quicker than row by row; both use the same formulas and give the same cents."""

KEYS_PER_QUERY = 500

Columns = Mapping[str, Sequence[Any]]  # Any: column values
Scores = dict[str, list[int]]
"""The kept scores in cents, one list each."""


class Yardstick(NamedTuple):
    """What a row is scored by: a task's bounds at some version, and the task's constants."""

    bounds: BaselineBounds
    constants: Mapping[str, float]


def count_scores(values: Iterable[int]) -> dict[int, int]:
    """How often each score occurs."""
    return dict(Counter(values))


def score_all(facts: Columns, yardsticks: Sequence[Yardstick], which: Sequence[int]) -> Scores:
    """The scores of each row by the yardstick whose place `which` gives."""
    if len(which) < COLUMNS_FROM:
        rows = [
            score_cents({name: facts[name][row] for name in FACTS}, *yardsticks[place])
            for row, place in enumerate(which)
        ]
        return {name: [row[name] for row in rows] for name in KEPT_SCORES}
    frame = with_yardsticks(frame_of(facts, FACTS), yardsticks, which)
    return {name: values.tolist() for name, values in score_cents_columns(frame, yardsticks[0].constants).items()}


def with_yardsticks(frame: pl.DataFrame, yardsticks: Sequence[Yardstick], which: Sequence[int]) -> pl.DataFrame:
    """The rows with the bounds and the constants of their yardstick beside them."""
    import polars as pl  # heavy: a few submissions are scored without it

    numbers = {
        name: [float(yardstick.bounds[place]) for yardstick in yardsticks]
        for place, name in enumerate(BaselineBounds._fields)
    }
    numbers |= {name: [float(yardstick.constants[name]) for yardstick in yardsticks] for name in OWN_CONSTANTS}
    if len(yardsticks) == 1:
        return frame.with_columns(
            *(pl.lit(values[0], dtype=pl.Float64).alias(name) for name, values in numbers.items())
        )
    places = pl.Series("which", which, dtype=pl.UInt32)
    return frame.hstack(pl.DataFrame(numbers)[places])


def tally_scores(
    connection: Connection, task_states: Sequence[TaskState], facts: Columns, spans: Sequence[range]
) -> tuple[dict[int, dict[int, int]], Scores]:
    """For each task, how often each overall score occurs under its present bounds; and the scores of the new rows.

    `facts` are rows still to be written, those of each task in its span; the rows of the store are scored with them.
    """
    yardsticks = [Yardstick(state.bounds, state.stored_task.constants) for state in task_states]
    if sum(state.n for state in task_states) < COLUMNS_FROM:
        return _one_by_one(connection, task_states, facts, spans)
    import polars as pl  # heavy: a few submissions are scored without it

    order = [row for span in spans for row in span]
    new = frame_of({name: [facts[name][row] for row in order] for name in FACTS}, FACTS)
    of_new = [place for place, span in enumerate(spans) for _ in span]
    place_of = {state.stored_task.key: place for place, state in enumerate(task_states)}
    stored = read_facts(connection, [state.stored_task.key for state in task_states if state.n_before])
    of_stored = [place_of[key] for key in stored["task_key"].to_list()] if len(task_states) > 1 else [0] * len(stored)
    which = of_stored + of_new
    frame = with_yardsticks(pl.concat([stored.drop("task_key"), new]), yardsticks, which)
    scores = score_cents_columns(frame, yardsticks[0].constants)
    counted = pl.DataFrame({"which": pl.Series(which, dtype=pl.Int64), "overall": scores["overall"]})
    counts: dict[int, dict[int, int]] = {state.stored_task.key: {} for state in task_states}
    keys = [state.stored_task.key for state in task_states]
    for place, value, n in counted.group_by("which", "overall").len().iter_rows():
        counts[keys[place]][value] = n
    return counts, {name: values[len(stored) :].tolist() for name, values in scores.items()}


def _one_by_one(
    connection: Connection, task_states: Sequence[TaskState], facts: Columns, spans: Sequence[range]
) -> tuple[dict[int, dict[int, int]], Scores]:
    counts: dict[int, dict[int, int]] = {}
    new: Scores = {name: [] for name in KEPT_SCORES}
    wanted = [submissions.c[name] for name in FACTS]
    for state, span in zip(task_states, spans, strict=True):
        earlier: Sequence[Any] = ()  # Any: rows of the store
        if state.n_before:
            of_task = submissions.c.task_key == state.stored_task.key
            earlier = connection.execute(select(*wanted).where(of_task)).mappings().all()
        rows = [*earlier, *({name: facts[name][row] for name in FACTS} for row in span)]
        scores = [score_cents(row, state.bounds, state.stored_task.constants) for row in rows]
        counts[state.stored_task.key] = count_scores(row_scores["overall"] for row_scores in scores)
        for name in KEPT_SCORES:
            new[name] += [row_scores[name] for row_scores in scores[len(earlier) :]]
    return counts, new


def read_facts(connection: Connection, keys: Sequence[int]) -> pl.DataFrame:
    """What scores take from every stored submission of these tasks, with the task's key."""
    import polars as pl  # heavy: a few submissions are scored without it

    wanted = [submissions.c[name] for name in ("task_key", *FACTS)]
    parts = [
        read_frame(connection, select(*wanted).where(submissions.c.task_key.in_(keys[start : start + KEYS_PER_QUERY])))
        for start in range(0, len(keys), KEYS_PER_QUERY)
    ]
    return pl.concat(parts) if parts else no_facts()


def no_facts() -> pl.DataFrame:
    """What `read_facts` gives of no tasks."""
    names = ("task_key", *FACTS)
    return frame_of({name: [] for name in names}, names)
