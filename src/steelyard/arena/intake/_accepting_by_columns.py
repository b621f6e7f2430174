"""Many submissions to small tasks, all tasks at once: the steps of `_accepting` over columns.

A small task has all its tallies in one row, so nothing has to be asked of the store on the way. What comes out is what
the submissions would have got one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.engine import Connection

from steelyard.arena.checking import Arrival, columns_of
from steelyard.arena.intake._column_baselines import Groups, Taken, group, take_in_all
from steelyard.arena.notifying import fold_events
from steelyard.arena.scoring import (
    DEFAULTED,
    FACTS,
    KEPT_SCORES,
    OWN_CONSTANTS,
    RANKED_SCORES,
    SUSPECT,
    BaselineBounds,
    CountedValues,
    LowerMedian,
    PackedTallies,
    Rules,
    TaskState,
    claimed_of,
    count_values,
    defaulted_fields,
    each_once,
    frame_of,
    join_values,
    lower_bounds_of,
    no_facts,
    outlier_flags,
    points,
    read_facts,
    save_task_states,
    score_cents_columns,
    tenths_column,
    unpack_all,
    validate,
    write_packed,
)
from steelyard.results import Policy, Receipt
from steelyard.store import Alongside, alongside, insert_columns
from steelyard.store.schema import submissions

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores in cents: of the new rows on their day and now, and the overall scores of earlier rows now."""

    day: dict[str, np.ndarray]
    now: dict[str, np.ndarray]
    earlier: np.ndarray
    of_earlier: np.ndarray
    """The place of the task of each earlier row. Only tasks whose baseline moved have them here."""


class RankColumns(NamedTuple):
    """Competition ranks, and percentiles in tenths."""

    ranks: np.ndarray
    tenths: np.ndarray


ROWS_AT_ONCE = 10_000
"""While so many rows are being written, the next are made."""


def accept_by_columns(
    connection: Connection,
    arrivals: Sequence[Arrival],
    *,
    rules: Rules,
    policy: Policy,
    now: int,
    meanwhile: Callable[[], None] | None,
) -> dict[str, Receipt]:
    """Write the entries of tasks that are small and stay so; the receipts by id.

    `meanwhile` is called when all rows are made and the last are still being written.
    """
    receipts: dict[str, Receipt] = {}
    with alongside(connection) as store:
        for part in _parts(arrivals):
            receipts |= _accept_part(store, part, rules=rules, policy=policy, now=now)
        if meanwhile is not None:
            meanwhile()
    return receipts


def _parts(arrivals: Sequence[Arrival]) -> Iterator[list[Arrival]]:
    """Whole tasks together, about ROWS_AT_ONCE rows each time."""
    part: list[Arrival] = []
    for arrival in arrivals:
        part.append(arrival)
        if sum(len(entries) for _, entries in part) >= ROWS_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _accept_part(
    store: Alongside, arrivals: Sequence[Arrival], *, rules: Rules, policy: Policy, now: int
) -> dict[str, Receipt]:
    import numpy as np  # heavy: a each_once submission is accepted without it

    task_states = [state for state, _ in arrivals]
    columns = columns_of(arrivals, now)
    facts = frame_of(columns, FACTS)
    groups = group([len(entries) for _, entries in arrivals])
    taken = take_in_all(task_states, facts, groups, now=now)
    scored = _score(store, task_states, facts, groups, taken, policy)
    columns["baseline_version"] = taken.versions.tolist()
    columns |= {name: values.tolist() for name, values in scored.day.items()}
    store.later(insert_columns, submissions, columns)
    overall, medians = _tally(store, task_states, facts, groups, scored)
    store.later(save_task_states, task_states)
    versions = taken.versions
    if policy == "current":
        versions = np.array([state.version for state in task_states])[groups.which]
    places = _places(overall, groups)
    folds = _folded(task_states, groups, (scored.now["overall"], *places, versions))
    store.later(fold_events, folds, now)
    made = map(
        Receipt,
        columns["id"],
        _spread([state.stored_task.task.id for state in task_states], groups),
        ["accepted"] * len(groups.which),
        *((scored.now[name] / 100).tolist() for name in KEPT_SCORES),
        places.ranks.tolist(),
        (places.tenths / 10).tolist(),
        versions.tolist(),
        _defaulted(columns, facts),
        claimed_of(columns["is_claimed"], columns["details"]),
        *_suspicions(rules, columns, facts, scored.now, medians),
        lower_bounds_of(columns["details"]),
    )
    return dict(zip(columns["id"], made, strict=True))


def _places(overall: CountedValues, groups: Groups) -> RankColumns:
    """The place of each new row among all of its task."""
    where = overall.where[: len(groups.which)]
    below, equal, n = overall.below[where], overall.counts[where], overall.totals[groups.which]
    return RankColumns(n - below - equal + 1, tenths_column(below / n * 100))


def _folded(
    task_states: Sequence[TaskState], groups: Groups, columns: Sequence[np.ndarray]
) -> list[tuple[int, int, int, bytes]]:
    """The events of each task in one row, as `folded_events` says."""
    import numpy as np  # heavy: a each_once submission is accepted without it

    numbers = np.stack(columns).astype("<i8")
    spans = zip(task_states, groups.starts.tolist(), groups.sizes.tolist(), strict=True)
    return [
        (state.stored_task.key, state.n_before + 1, size, numbers[:, start : start + size].tobytes())
        for state, start, size in spans
    ]


def _spread(values: Sequence[Any], groups: Groups) -> list[Any]:  # Any: column values
    """The value of each row's task."""
    return [value for value, size in zip(values, groups.sizes.tolist(), strict=True) for value in [value] * size]


def _score(
    store: Alongside,
    task_states: Sequence[TaskState],
    facts: pl.DataFrame,
    groups: Groups,
    taken: Taken,
    policy: Policy,
) -> Scored:
    """Score the rows by what they met, and under policy `current` also by what their tasks have in the end."""
    import numpy as np  # heavy: a each_once submission is accepted without it
    import polars as pl  # heavy: as above

    rows = len(groups.which)
    frames, which, bounds = [facts], [groups.which], [taken.met]
    of_earlier = np.empty(0, dtype=np.int64)
    if policy == "current":
        place_of = {
            state.stored_task.key: place for place, state in enumerate(task_states) if state.moved and state.n_before
        }
        earlier = store.now(read_facts, list(place_of)) if place_of else no_facts()
        of_earlier = np.array([place_of[key] for key in earlier["task_key"].to_list()], dtype=np.int64)
        frames += [facts, earlier.drop("task_key")]
        which += [groups.which, of_earlier]
        bounds += [taken.left[groups.which], taken.left[of_earlier]]
    table = _with_numbers(pl.concat(frames), task_states, np.concatenate(which), np.concatenate(bounds))
    scores = score_cents_columns(table, task_states[0].stored_task.constants)
    day = {name: values[:rows] for name, values in scores.items()}
    if policy != "current":
        return Scored(day, day, of_earlier, of_earlier)
    now = {name: values[rows : 2 * rows] for name, values in scores.items()}
    return Scored(day, now, scores["overall"][2 * rows :], of_earlier)


def _with_numbers(
    table: pl.DataFrame, task_states: Sequence[TaskState], which: np.ndarray, bounds: np.ndarray
) -> pl.DataFrame:
    """The rows with the bounds and the constants that they are scored by."""
    import numpy as np  # heavy: a each_once submission is accepted without it
    import polars as pl  # heavy: as above

    numbers = dict(zip(BaselineBounds._fields, np.ascontiguousarray(bounds.T), strict=True))
    for name in OWN_CONSTANTS:
        numbers[name] = np.array([float(state.stored_task.constants[name]) for state in task_states])[which]
    return table.hstack(pl.DataFrame(numbers))


def _tally(
    store: Alongside, task_states: Sequence[TaskState], facts: pl.DataFrame, groups: Groups, scored: Scored
) -> tuple[CountedValues, np.ndarray]:
    """Keep the tallies of every task; those of overall scores, and the median of tokens for each row."""
    import numpy as np  # heavy: a each_once submission is accepted without it

    tallies = [state.packed or PackedTallies() for state in task_states]
    tasks = len(task_states)
    again = set(scored.of_earlier.tolist())
    kept = [b"" if place in again else tally.overall for place, tally in enumerate(tallies)]
    overall = count_values(
        join_values(
            each_once(groups.which, scored.now["overall"]),
            each_once(scored.of_earlier, scored.earlier),
            unpack_all(kept),
        ),
        tasks,
    )
    turns = each_once(groups.which, facts["iterations"].fill_null(1).to_numpy())
    iterations = count_values(join_values(turns, unpack_all([tally.iterations for tally in tallies])), tasks)
    spent = each_once(groups.which, facts["total_tokens"].to_numpy())
    tokens = count_values(join_values(spent, unpack_all([tally.total_tokens for tally in tallies])), tasks)
    tallied = zip(overall.packed(), iterations.packed(), tokens.packed(), strict=True)
    store.later(
        write_packed,
        {state.stored_task.key: PackedTallies(*parts) for state, parts in zip(task_states, tallied, strict=True)},
    )
    turn_medians, token_medians = iterations.lower_medians(), tokens.lower_medians()
    for state, *numbers in zip(
        task_states,
        *(column.tolist() for column in (turn_medians.values, turn_medians.below)),
        *(column.tolist() for column in (token_medians.values, token_medians.below)),
        strict=True,
    ):
        state.rest(LowerMedian(*numbers[:2]), LowerMedian(*numbers[2:]))
    return overall, np.asarray(token_medians.medians)[groups.which]


def _rare(is_likely: np.ndarray, make: Callable[[int], tuple[str, ...]]) -> list[tuple[str, ...]]:
    """What `make` gives for the rows where something is likely; nothing elsewhere."""
    import numpy as np  # heavy: a each_once submission is accepted without it

    results: list[tuple[str, ...]] = [()] * len(is_likely)
    for row in np.flatnonzero(is_likely).tolist():
        results[row] = make(row)
    return results


def _suspicions(
    rules: Rules,
    columns: Mapping[str, Sequence[Any]],
    facts: pl.DataFrame,
    now: dict[str, np.ndarray],
    medians: np.ndarray,
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The flags and the warnings of each row. Columns tell where there may be any; few rows are looked at closely."""
    limits, valid = rules.outliers, rules.validation
    tokens, times = facts["total_tokens"].to_numpy(), facts["execution_time"].to_numpy()
    may_be_outlier = (tokens < medians * limits.token_share_of_median) | (times < limits.fast_seconds)
    may_be_outlier |= facts["tool_calls"].to_numpy() == limits.few_tool_calls
    high = valid.high_score * 100 - 1
    may_be_suspicious = (tokens < valid.low_tokens) | ((now["efficiency"] > high) & (now["speed"] > high))

    def flags(row: int) -> tuple[str, ...]:
        return outlier_flags(limits, float(medians[row]), *(columns[name][row] for name in SUSPECT))

    def warnings(row: int) -> tuple[str, ...]:
        scores = [points(int(now[name][row])) for name in RANKED_SCORES]
        return tuple(validate(scores, columns["total_tokens"][row], valid)[1])

    return _rare(may_be_outlier, flags), _rare(may_be_suspicious, warnings)


def _defaulted(
    columns: Mapping[str, Sequence[Any]], facts: pl.DataFrame
) -> list[tuple[str, ...]]:  # Any: column values
    """The fields of each row that were scored by a default."""
    import numpy as np  # heavy: a each_once submission is accepted without it

    is_known = (facts["execution_time"].to_numpy() > 0) & (facts["estimated_cost"].to_numpy() > 0)
    is_known &= facts["iterations"].is_not_null().to_numpy()
    is_known &= np.array([claim is not None for claim in columns["success"]])
    return _rare(~is_known, lambda row: defaulted_fields(*(columns[name][row] for name in DEFAULTED)))
