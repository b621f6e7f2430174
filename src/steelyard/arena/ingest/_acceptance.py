"""The steps inside one transaction: known ids aside, move the baseline, score, count and rank, flag, write, notify.

Everything here runs under the lock of the tasks. Submissions were parsed and their criteria checked before, outside of
the transaction. All tasks are worked on together, over columns; one submission is a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Policy, Receipt
from steelyard.arena.ingest._checked_submissions import (
    Arrival,
    CheckedSubmission,
    SubmissionOutcome,
    columns_of,
    read_digests,
)
from steelyard.arena.ingest._rescore import Change, write_losses
from steelyard.arena.notifications._events import EVALUATED, OUTLIER, write_events
from steelyard.arena.scoring._baseline import BaselineBounds, LowerMedian, default_bounds, running_medians
from steelyard.arena.scoring._receipts import Ranks, ranks_of, receipts_of, stored_receipts
from steelyard.arena.scoring._row_scores import (
    Scores,
    ScoresOfTasks,
    ScoringContext,
    StoredRows,
    read_stored,
    rows_in_cents,
)
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import SCORE_INPUTS
from steelyard.arena.scoring._tallies import (
    NOTIFIED_RANKS,
    Counts,
    RankedRows,
    add_to_tallies,
    count_fields,
    each_once,
    forget_scores,
    join_values,
    of_field,
    of_tallies,
    read_middles,
    read_scores,
)
from steelyard.arena.scoring._task_state import EXTREMES, UNKNOWN_AT_ZERO, TaskState, load_task_states, save_task_states
from steelyard.records import Rejected
from steelyard.store import BackgroundWriter, background_writer, insert_columns
from steelyard.store.schema import submissions

LOWS, HIGHS = slice(0, 8, 2), slice(1, 8, 2)
"""Where the bounds of each of the EXTREMES are."""
MEDIAN = BaselineBounds._fields.index("median_iterations")


class Groups(NamedTuple):
    """Which rows belong to which task: those of a task are adjacent."""

    which: np.ndarray
    """The place of each row's task."""
    starts: np.ndarray
    sizes: np.ndarray

    @property
    def last(self) -> np.ndarray:
        """The last row of each task."""
        ends: np.ndarray = self.starts + self.sizes
        return ends - 1

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:  # Any: column values
        """The values of each task's rows."""
        spans = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return [values[start : start + size] for start, size in spans]


def group(sizes: Sequence[int]) -> Groups:
    """Rows in groups of these sizes, none of them empty."""
    lengths = np.array(sizes)
    return Groups(np.repeat(np.arange(len(lengths)), lengths), np.cumsum(lengths) - lengths, lengths)


def running_extremes(
    values: np.ndarray, stored_lows: np.ndarray, stored_highs: np.ndarray, groups: Groups
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest known value up to each row, of each column, beginning with what each group has stored.

    What is not a number is unknown.
    """
    lows, highs = values.copy(), values.copy()
    lows[groups.starts] = np.fmin(values[groups.starts], stored_lows)
    highs[groups.starts] = np.fmax(values[groups.starts], stored_highs)
    for start, size in zip(groups.starts.tolist(), groups.sizes.tolist(), strict=True):
        span = slice(start, start + size)
        np.fmin.accumulate(lows[span], out=lows[span])
        np.fmax.accumulate(highs[span], out=highs[span])
    return lows, highs


def take_in(
    task_states: Sequence[TaskState],
    columns: Mapping[str, Sequence[Any]],
    groups: Groups,
    *,
    earlier_iterations: Sequence[Mapping[int, int]],
    now: int,
) -> np.ndarray:
    """Take the rows of all tasks in, in their order; the baseline version that each row met.

    A new version starts whenever a number that scores depend on changes. Each task has then its new count, bounds,
    extremes, versions and middle of iterations; `earlier_iterations` are the counts that its median depends on. Any:
    column values.
    """
    which = groups.which
    place_in_task = np.arange(len(which)) - groups.starts[which] + 1
    counts = place_in_task + np.array([state.n for state in task_states])[which]
    ordinals = place_in_task + np.array([state.accepted for state in task_states])[which]
    lows, highs = _extremes_after(task_states, columns, groups)
    after = np.empty((len(which), len(BaselineBounds._fields)))
    defaults = np.array([default_bounds(state.stored_task.defaults) for state in task_states])[which]
    after[:, LOWS] = np.where(np.isnan(lows), defaults[:, LOWS], lows)
    after[:, HIGHS] = np.where(np.isnan(highs), defaults[:, HIGHS], highs)
    after[:, MEDIAN] = _medians_after(task_states, groups.split(columns["iterations"]), earlier_iterations)
    first = np.array([state.bounds for state in task_states])
    is_own = counts >= np.array([state.least for state in task_states])[which]
    after = np.where(is_own[:, None], after, first[which])
    met = np.empty_like(after)
    met[1:] = after[:-1]
    met[groups.starts] = first
    is_new = (after != met).any(axis=1)
    begun = np.cumsum(is_new) - is_new
    versions: np.ndarray = np.array([state.version for state in task_states])[which]
    versions += begun - begun[groups.starts][which]
    in_the_end = (ordinals[groups.last], counts[groups.last], lows[groups.last], highs[groups.last])
    for state, accepted, *reached in zip(task_states, *(column.tolist() for column in in_the_end), strict=True):
        state.accepted = accepted
        state.reach(*reached)
    rows = np.flatnonzero(is_new)
    starting = (which[rows], versions[rows] + 1, ordinals[rows], after[rows])
    for place, version, ordinal, values in zip(*(column.tolist() for column in starting), strict=True):
        task_states[place].begin(version, ordinal, BaselineBounds._make(values), now)
    return versions


def _extremes_after(
    task_states: Sequence[TaskState], columns: Mapping[str, Sequence[Any]], groups: Groups
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest values up to each row, a column for each of the EXTREMES. Any: column values."""
    values = np.array([columns[field] for field in EXTREMES.values()], dtype=float).T
    timed_and_priced = values[:, UNKNOWN_AT_ZERO]
    values[:, UNKNOWN_AT_ZERO] = np.where(timed_and_priced == 0, np.nan, timed_and_priced)
    stored = np.array([state.extremes for state in task_states], dtype=float)
    return running_extremes(values, stored[:, 0], stored[:, 1], groups)


def _medians_after(
    task_states: Sequence[TaskState],
    iterations: Sequence[Sequence[int | None]],
    earlier_iterations: Sequence[Mapping[int, int]],
) -> list[float]:
    """The median of iterations after each row; the tasks have the middle of the last."""
    medians: list[float] = []
    for state, reported, earlier in zip(task_states, iterations, earlier_iterations, strict=True):
        coming = [1 if turns is None else turns for turns in reported]
        after, state.middles["iterations"] = running_medians(earlier, coming, n=state.n)
        medians += after
    return medians


ROWS_AT_ONCE = 10_000
"""Rows per write; the next are prepared meanwhile."""
ALONGSIDE_FROM = 200
"""Fewer rows than these are written before another thread has begun."""


class EarlierCounts(NamedTuple):
    """By task, the counts that medians depend on, as they were before anything came in."""

    iterations: dict[int, Counts]
    total_tokens: dict[int, Counts]


class TaskScoring(NamedTuple):
    """Scores in cents: of the new rows on their day and now, and the overall scores of earlier rows now."""

    day: Scores
    now: Scores
    earlier: ScoresOfTasks
    """Of those tasks alone whose baseline moved under policy `current`: their tallies are recomputed."""


class Newcomers(NamedTuple):
    """New submissions by task, with their ranks."""

    columns: Mapping[str, Sequence[Any]]  # Any: column values
    groups: Groups
    overall: np.ndarray
    ranks: Ranks
    token_medians: Sequence[float]


def write_or_look_up(
    connection: Connection,
    entries: Sequence[CheckedSubmission],
    *,
    rules: Rules,
    policy: Policy,
    now: int,
    meanwhile: Callable[[], None] | None = None,
) -> list[SubmissionOutcome]:
    """Write new entries and look up known ones; return the outcome of each, in their order. All are written or none is.

    An id that is not in the store yet may come once, one that is there any number of times.
    `meanwhile` is called while many rows are being written, if they are.
    """
    stored_digests = read_digests(connection, [entry.submission.id for entry in entries])
    if stored_digests:
        # What a known one is answered is read in several steps, and PostgreSQL lets others write in between.
        load_task_states(connection, [entry.stored_task for entry in entries], rules)
    fresh = [entry for entry in entries if entry.submission.id not in stored_digests] if stored_digests else entries
    receipts = _write_new(connection, fresh, meanwhile, rules=rules, policy=policy, now=now) if fresh else {}
    if not stored_digests:
        return [receipts[entry.submission.id] for entry in entries]
    same = [entry for entry in entries if stored_digests.get(entry.submission.id) == entry.digest]
    stored = [(entry.stored_task, entry.submission.id) for entry in same]
    receipts |= stored_receipts(connection, stored, rules=rules, policy=policy)
    names = [(entry, entry.submission.id) for entry in entries]
    return [
        receipts[name] if stored_digests.get(name, entry.digest) == entry.digest else other_content(name)
        for entry, name in names
    ]


def other_content(identity: str) -> Rejected:
    """Return the rejection of an id that was accepted with other content."""
    return Rejected(
        path=identity,
        reason="a different submission with this id already exists",
        hint="use a new id for a changed submission",
        code="id_with_other_content",
    )


def _write_new(
    connection: Connection,
    entries: Sequence[CheckedSubmission],
    meanwhile: Callable[[], None] | None,
    *,
    rules: Rules,
    policy: Policy,
    now: int,
) -> dict[str, Receipt]:
    """Write the entries in parts of whole tasks, next to what their tasks contain; return the receipts by id."""
    by_task: dict[int, list[CheckedSubmission]] = {}
    for entry in entries:
        by_task.setdefault(entry.stored_task.key, []).append(entry)
    task_states = load_task_states(connection, [group[0].stored_task for group in by_task.values()], rules)
    arrivals: list[Arrival] = [(task_states[key], by_task[key]) for key in sorted(by_task)]  # the order of the rows
    # Read before anything is written: what has come in later must not be waited for.
    sizes = [(state, len(group)) for state, group in arrivals]
    before = EarlierCounts(*(read_middles(connection, sizes, field) for field in EarlierCounts._fields))
    receipts: dict[str, Receipt] = {}
    is_many = len(entries) >= ALONGSIDE_FROM
    with background_writer(connection, is_worth_it=is_many) as store:
        for part in _parts(arrivals):
            receipts |= _score_and_write(store, part, before, rules=rules, policy=policy, now=now)
        if is_many and meanwhile is not None:
            meanwhile()
    return receipts


def _parts(arrivals: Sequence[Arrival]) -> Iterator[list[Arrival]]:
    """Whole tasks together, about ROWS_AT_ONCE rows each time."""
    part: list[Arrival] = []
    rows = 0
    for arrival in arrivals:
        part.append(arrival)
        rows += len(arrival[1])
        if rows >= ROWS_AT_ONCE:
            yield part
            part, rows = [], 0
    if part:
        yield part


def _score_and_write(
    store: BackgroundWriter,
    arrivals: Sequence[Arrival],
    before: EarlierCounts,
    *,
    rules: Rules,
    policy: Policy,
    now: int,
) -> dict[str, Receipt]:
    """Update the baselines, score and rank the entries, and write them with their events; return the receipts by id."""
    task_states = [state for state, _ in arrivals]
    groups = group([len(entries) for _, entries in arrivals])
    columns = columns_of(arrivals, now)
    iterations = [before.iterations[state.stored_task.key] for state in task_states]
    versions = take_in(task_states, columns, groups, earlier_iterations=iterations, now=now)
    scored = _score(store, task_states, columns, groups, versions, policy)
    columns["baseline_version"] = versions.tolist()
    columns |= {name: values.tolist() for name, values in scored.day.items()}
    tokens = [before.total_tokens[state.stored_task.key] for state in task_states]
    ranks, token_medians = _tally(store, task_states, columns, groups, scored, earlier_tokens=tokens)
    of_rows = [state for state, entries in arrivals for state in [state] * len(entries)]
    shown = [state.version for state in of_rows] if policy == "current" else columns["baseline_version"]
    receipts = receipts_of(
        columns,
        of_rows,
        status="accepted",
        scores=scored.now,
        ranks=ranks,
        versions=shown,
        token_medians=token_medians,
        rules=rules,
    )
    newcomers = Newcomers(columns, groups, scored.now["overall"], ranks, token_medians)
    changes, concerned = _lost_top_ranks(store, task_states, newcomers, policy)
    store.later(insert_columns, submissions, columns)
    store.later(save_task_states, task_states)
    _write_evaluation_events(store, newcomers, receipts, now)
    if concerned is not None:
        store.later(write_losses, changes, concerned, rules=rules, policy=policy, now=now)
    return dict(zip(columns["id"], receipts, strict=True))


def _write_evaluation_events(
    store: BackgroundWriter, newcomers: Newcomers, receipts: Sequence[Receipt], now: int
) -> None:
    """Put an event into the outbox for each evaluation, and another for each that needs a review."""
    events = {
        "task_key": newcomers.columns["task_key"],
        "ordinal": newcomers.columns["ordinal"],
        "overall": newcomers.overall.tolist(),
        "overall_ranking": newcomers.ranks.ranks,
        "percentile": newcomers.ranks.percentiles,
        "baseline_version": [receipt.baseline_version for receipt in receipts],
        "flags": [";".join(receipt.flags) or None for receipt in receipts],
    }
    store.later(write_events, EVALUATED, events, now)
    suspicious = [row for row, receipt in enumerate(receipts) if receipt.recommended_action is not None]
    if suspicious:
        flagged = {name: [values[row] for row in suspicious] for name, values in events.items()}
        store.later(write_events, OUTLIER, flagged, now)


def _score(
    store: BackgroundWriter,
    task_states: Sequence[TaskState],
    columns: Mapping[str, Sequence[Any]],
    groups: Groups,
    versions: np.ndarray,
    policy: Policy,
) -> TaskScoring:
    """Score the rows by what they met, and where that has moved under policy `current` also by what it is now."""
    contexts: list[ScoringContext] = []
    first, last = [], []
    for state in task_states:
        first.append(len(contexts) - state.version_before)
        bounds = [state.bounds_before, *(bounds for _, _, bounds, _ in state.new_versions)]
        contexts += [ScoringContext(each, state.stored_task.constants) for each in bounds]
        last.append(len(contexts) - 1)
    which = [np.array(first)[groups.which] + versions]
    moved = [place for place, state in enumerate(task_states) if state.moved and policy == "current"]
    if moved:
        which.append(np.array(last)[groups.which])
    inputs = {name: [*columns[name]] * len(which) for name in SCORE_INPUTS}
    scores = rows_in_cents(inputs, contexts, np.concatenate(which))
    rows = len(versions)
    day, now = ({name: values[part] for name, values in scores.items()} for part in (slice(rows), slice(-rows, None)))
    with_earlier = np.array([place for place in moved if task_states[place].n_before], dtype=np.int64)
    if not len(with_earlier):
        return TaskScoring(day, now, ScoresOfTasks(with_earlier, with_earlier))
    moved_states = [task_states[place] for place in with_earlier]
    earlier = store.now(read_stored, moved_states)
    return TaskScoring(day, now, ScoresOfTasks(with_earlier[earlier.which], earlier.overall(moved_states, policy)))


def _tally(
    store: BackgroundWriter,
    task_states: Sequence[TaskState],
    columns: Mapping[str, Sequence[Any]],
    groups: Groups,
    scored: TaskScoring,
    *,
    earlier_tokens: Sequence[Mapping[int, int]],
) -> tuple[Ranks, list[float]]:
    """Count the new values, recounting scores if a baseline changed; return ranks and median tokens per row."""
    tasks, which = np.arange(len(task_states)), groups.which
    keys, n = [state.stored_task.key for state in task_states], np.array([state.n for state in task_states])
    again = set(scored.earlier.which.tolist())
    going_on = [place for place, state in enumerate(task_states) if state.n_before and place not in again]
    own = groups.split(scored.now["overall"].tolist())
    asked = [(task_states[place], own[place]) for place in going_on]
    stored = store.now(read_scores, asked) if asked else []
    turns = [1 if turn is None else turn for turn in columns["iterations"]]
    new = join_values(
        each_once(of_field(which, "overall"), scored.now["overall"]),
        each_once(of_field(scored.earlier.which, "overall"), scored.earlier.overall),
        each_once(of_field(which, "iterations"), np.array(turns, dtype=np.int64)),
        each_once(of_field(which, "total_tokens"), np.array(columns["total_tokens"], dtype=np.int64)),
    )
    store.later(forget_scores, [keys[place] for place in again])
    store.later(add_to_tallies, keys, count_fields(new, len(tasks)))
    before = (
        of_tallies(of_field(np.array(going_on, dtype=np.int64), "overall"), stored),
        of_tallies(of_field(tasks, "total_tokens"), earlier_tokens),
    )
    counted = count_fields(join_values(new, *before), len(tasks))
    tokens = counted.lower_medians(of_field(tasks, "total_tokens"), n)
    for state, value, below in zip(task_states, tokens.values.tolist(), tokens.below.tolist(), strict=True):
        state.middles["total_tokens"] = LowerMedian(value, below)
    return ranks_of(counted, n[which]), tokens.medians[which].tolist()


def _lost_top_ranks(
    store: BackgroundWriter, task_states: Sequence[TaskState], newcomers: Newcomers, policy: Policy
) -> tuple[list[Change], StoredRows | None]:
    """Return the tasks in which earlier submissions may have lost one of the top ranks, and these submissions.

    A new submission is in the top of n with a probability of about NOTIFIED_RANKS / n, so few rows are read in the long
    run. They are read before the new submissions are written.
    """
    _, groups, overall, placed, token_medians = newcomers
    best = [min(ranks) for ranks in groups.split(placed.ranks)]
    concerned = [
        place
        for place, state in enumerate(task_states)
        if state.n_before and (best[place] <= NOTIFIED_RANKS or (state.moved and policy == "current"))
    ]
    if not concerned:
        return [], None
    states = [task_states[place] for place in concerned]
    rows = store.now(read_stored, states)
    ordinals = np.array(rows.columns["ordinal"], dtype=np.int64)
    before = rows.overall(states, policy, before=True)
    now = rows.overall(states, policy) if any(state.moved for state in states) else before
    new_ordinals, new_overall = groups.split(newcomers.columns["ordinal"]), groups.split(overall.tolist())
    changes = []
    for place, own in zip(concerned, rows.by_task(len(states)), strict=True):
        cause = max(zip(new_overall[place], new_ordinals[place], strict=True), key=lambda new: (new[0], -new[1]))[1]
        after = RankedRows(
            np.concatenate([ordinals[own], new_ordinals[place]]), np.concatenate([now[own], new_overall[place]])
        )
        median = token_medians[groups.starts[place]]
        earlier = RankedRows(ordinals[own], before[own])
        changes.append(Change(task_states[place], earlier, after, own, median, cause_ordinal=cause))
    return changes, rows
