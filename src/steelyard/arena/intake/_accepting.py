"""The steps inside one transaction: known ids aside, fetch the baseline, score, flag, rank, move the baseline, notify.

Everything here runs under the lock of the tasks. Submissions were parsed and their criteria checked before, outside of
the transaction. One submission and many give the same; rows are held as columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.engine import Connection

from steelyard.arena.checking import Arrival, CheckedSubmission, SubmissionOutcome, columns_of
from steelyard.arena.intake._accepting_by_columns import accept_by_columns
from steelyard.arena.notifying import write_events
from steelyard.arena.scoring import (
    COLUMNS_FROM,
    DEFAULTED,
    FACTS,
    KEPT_SCORES,
    PACKED_UP_TO,
    RANKED_SCORES,
    SUSPECT,
    PackedTallies,
    Rules,
    Scores,
    StoredTally,
    TaskState,
    Yardstick,
    add_to_tallies,
    claimed_of,
    count_scores,
    defaulted_of,
    flags_of,
    forget_packed,
    forget_scores,
    load_task_states,
    lower_bounds_of,
    pack_tally,
    points_column,
    ranks_and_percentiles,
    save_task_states,
    score_all,
    stored_receipts,
    tally_scores,
    unpack_tally,
    warnings_of,
    write_packed,
)
from steelyard.records import Rejected
from steelyard.results import Policy, Receipt
from steelyard.store import insert_columns, look_up
from steelyard.store.schema import submissions


@dataclass(slots=True)
class Batch:
    """The new submissions of one transaction as columns, those of each task side by side."""

    task_states: list[TaskState]
    spans: list[range]
    columns: dict[str, Sequence[Any]]  # Any: column values
    now_scores: Scores = field(default_factory=dict)
    counts: dict[int, dict[int, int]] = field(default_factory=dict)
    """Whole tallies of overall scores, of the tasks that were rescored and of small ones."""


def accept(
    connection: Connection,
    entries: Sequence[CheckedSubmission],
    *,
    rules: Rules,
    policy: Policy,
    now: int,
    meanwhile: Callable[[], None] | None = None,
) -> list[SubmissionOutcome]:
    """What became of each entry, in their order. All of them are written together or none is.

    An id that is not in the store yet may come once, one that is there any number of times.
    `meanwhile` is called while many rows are being written, if they are.
    """
    stored_digests = read_digests(connection, [entry.submission.id for entry in entries])
    if stored_digests:
        # What a known one is answered is read in several steps, and PostgreSQL lets others write in between.
        load_task_states(connection, [entry.stored_task for entry in entries], rules)
    fresh = [entry for entry in entries if entry.submission.id not in stored_digests] if stored_digests else entries
    receipts = _accept_new(connection, fresh, meanwhile, rules=rules, policy=policy, now=now) if fresh else {}
    same = (
        [entry for entry in entries if stored_digests.get(entry.submission.id) == entry.digest]
        if stored_digests
        else []
    )
    stored = [(entry.stored_task, entry.submission.id) for entry in same]
    receipts |= stored_receipts(connection, stored, rules=rules, policy=policy)
    if not stored_digests:
        return [receipts[entry.submission.id] for entry in entries]
    names = [(entry, entry.submission.id) for entry in entries]
    return [
        receipts[name] if stored_digests.get(name, entry.digest) == entry.digest else other_content(name)
        for entry, name in names
    ]


def read_digests(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The digests of those ids that are in the store."""
    return look_up(connection, submissions.c.id, submissions.c.digest, ids)


def other_content(identity: str) -> Rejected:
    """The refusal of an id that was accepted with other content."""
    return Rejected(
        path=identity,
        reason="this id was accepted before with other content",
        hint="a changed submission needs an id of its own",
        code="id_with_other_content",
    )


def _accept_new(
    connection: Connection,
    entries: Sequence[CheckedSubmission],
    meanwhile: Callable[[], None] | None,
    *,
    rules: Rules,
    policy: Policy,
    now: int,
) -> dict[str, Receipt]:
    by_task: dict[int, list[CheckedSubmission]] = {}
    for entry in entries:
        by_task.setdefault(entry.stored_task.key, []).append(entry)
    task_states = load_task_states(connection, [group[0].stored_task for group in by_task.values()], rules)
    arrivals: list[Arrival] = [(task_states[key], by_task[key]) for key in sorted(by_task)]  # rows lie in this order
    packed: list[Arrival] = []
    in_rows: list[Arrival] = []
    for state, group in arrivals:
        stays_packed = state.packed is not None and state.n + len(group) <= PACKED_UP_TO
        (packed if stays_packed else in_rows).append((state, group))
    if sum(len(group) for _, group in packed) < COLUMNS_FROM:
        return _accept_each(connection, arrivals, rules=rules, policy=policy, now=now)
    receipts = accept_by_columns(connection, packed, rules=rules, policy=policy, now=now, meanwhile=meanwhile)
    return receipts | _accept_each(connection, in_rows, rules=rules, policy=policy, now=now) if in_rows else receipts


def _accept_each(
    connection: Connection, arrivals: Sequence[Arrival], *, rules: Rules, policy: Policy, now: int
) -> dict[str, Receipt]:
    """Accept the entries of each task by itself: a single one, or many to tasks that are large."""
    batch = _arrange(arrivals, now)
    yardsticks: list[Yardstick] = []
    which: list[int] = []
    for state, span in zip(batch.task_states, batch.spans, strict=True):
        state.prepare(connection, len(span))
        first = len(yardsticks) - state.version
        yardsticks.append(Yardstick(state.bounds, state.stored_task.constants))
        state.take_in({name: batch.columns[name][span.start : span.stop] for name in FACTS}, now)
        yardsticks += [Yardstick(bounds, state.stored_task.constants) for _, _, bounds, _ in state.new_versions]
        which += [first + version for version in state.versions_before]
    batch.columns["baseline_version"] = [version for state in batch.task_states for version in state.versions_before]
    batch.columns |= score_all(batch.columns, yardsticks, which)
    _rank(connection, batch, policy)
    insert_columns(connection, submissions, batch.columns)
    save_task_states(connection, batch.task_states)
    receipts = _receipts(connection, batch, rules=rules, policy=policy)
    _notify(connection, batch, receipts, now)
    return {receipt.submission_id: receipt for receipt in receipts}


def _arrange(arrivals: Sequence[Arrival], now: int) -> Batch:
    spans = []
    end = 0
    for _, group in arrivals:
        spans.append(range(end, end + len(group)))
        end += len(group)
    return Batch([state for state, _ in arrivals], spans, columns_of(arrivals, now))


def _rank(connection: Connection, batch: Batch, policy: Policy) -> None:
    """Bring the tallies up to date; a task whose baseline moved is scored anew under policy `current`."""
    columns = batch.columns
    batch.now_scores = {name: list(columns[name]) for name in KEPT_SCORES}
    moved = [place for place, state in enumerate(batch.task_states) if state.moved and policy == "current"]
    if moved:
        task_states = [batch.task_states[place] for place in moved]
        spans = [batch.spans[place] for place in moved]
        batch.counts, again = tally_scores(connection, task_states, columns, spans)
        for name in KEPT_SCORES:
            for row, value in zip([row for span in spans for row in span], again[name], strict=True):
                batch.now_scores[name][row] = value
        forget_scores(connection, [state.stored_task.key for state in task_states if state.packed is None])
    _tally(connection, batch)


def _tally(connection: Connection, batch: Batch) -> None:
    """Count the new values: in one row while a task is small, in a row for each value from then on."""
    counts: dict[tuple[int, str], Mapping[int, int]] = {}
    packed: dict[int, PackedTallies] = {}
    outgrown: list[int] = []
    for state, span in zip(batch.task_states, batch.spans, strict=True):
        key = state.stored_task.key
        new = batch.now_scores["overall"][span.start : span.stop]
        if state.packed is None:
            counts[key, "overall"] = batch.counts[key] if key in batch.counts else count_scores(new)
            counts[key, "iterations"] = state.iterations.tally.added
            counts[key, "total_tokens"] = state.tokens.tally.added
            continue
        if key not in batch.counts:
            batch.counts[key] = dict(Counter(unpack_tally(state.packed.overall)) + Counter(new))
        whole = {"overall": batch.counts[key]}
        whole |= {"iterations": state.iterations.tally.whole(), "total_tokens": state.tokens.tally.whole()}
        if state.n <= PACKED_UP_TO:
            packed[key] = PackedTallies(**{name: pack_tally(values) for name, values in whole.items()})
            continue
        counts |= {(key, name): values for name, values in whole.items()}
        outgrown.append(key)
    add_to_tallies(connection, counts)
    write_packed(connection, packed)
    forget_packed(connection, outgrown)


def _receipts(connection: Connection, batch: Batch, *, rules: Rules, policy: Policy) -> list[Receipt]:
    places: list[tuple[int, float]] = []
    flags: list[tuple[str, ...]] = []
    versions = batch.columns["baseline_version"]
    if policy == "current":
        versions = [state.version for state, span in zip(batch.task_states, batch.spans, strict=True) for _ in span]
    for state, span in zip(batch.task_states, batch.spans, strict=True):
        places += _places(connection, batch, state, span)
        own = [batch.columns[name][span.start : span.stop] for name in SUSPECT]
        flags += flags_of(rules.outliers, state.tokens.median(), *own)
    scores = {name: points_column(batch.now_scores[name]) for name in KEPT_SCORES}
    made = map(
        Receipt,
        batch.columns["id"],
        [state.stored_task.task.id for state, span in zip(batch.task_states, batch.spans, strict=True) for _ in span],
        ["accepted"] * len(places),
        *(scores[name] for name in KEPT_SCORES),
        [rank for rank, _ in places],
        [percentile for _, percentile in places],
        versions,
        defaulted_of(*(batch.columns[name] for name in DEFAULTED)),
        claimed_of(batch.columns["is_claimed"], batch.columns["details"]),
        flags,
        warnings_of(rules.validation, [scores[name] for name in RANKED_SCORES], batch.columns["total_tokens"]),
        lower_bounds_of(batch.columns["details"]),
    )
    return list(made)


def _places(connection: Connection, batch: Batch, state: TaskState, span: range) -> list[tuple[int, float]]:
    """Rank and percentile of each new row of a task."""
    key = state.stored_task.key
    values = batch.now_scores["overall"][span.start : span.stop]
    stored = StoredTally(connection, key, "overall")
    return ranks_and_percentiles(values, stored, state.n, batch.counts.get(key))


def _notify(connection: Connection, batch: Batch, receipts: Sequence[Receipt], now: int) -> None:
    columns: dict[str, Sequence[Any]] = {  # Any: column values
        "task_key": batch.columns["task_key"],
        "ordinal": batch.columns["ordinal"],
        "overall": batch.now_scores["overall"],
        "overall_ranking": [receipt.overall_ranking for receipt in receipts],
        "percentile": [receipt.percentile for receipt in receipts],
        "baseline_version": [receipt.baseline_version for receipt in receipts],
    }
    write_events(connection, columns, now)
