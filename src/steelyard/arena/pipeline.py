"""The steps inside one transaction: known ids aside, fetch the baseline, score, flag, rank, move the baseline, notify.

Everything here runs under the lock of the tasks. Submissions were parsed and their criteria checked before, outside of
the transaction. One submission and many take the same way; rows are held as columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy.engine import Connection

from steelyard.arena.board import Board, KnownTask, load_boards, save_boards
from steelyard.arena.cents import points_column
from steelyard.arena.known import DEFAULTED, Policy, defaulted_of, known_receipts
from steelyard.arena.receipts import CriterionResult, Receipt
from steelyard.arena.rescoring import Scores, Yardstick, count_scores, score_all, tally_scores
from steelyard.arena.rules import Rules
from steelyard.arena.scoring import FACTS, KEPT, RANKED
from steelyard.arena.suspicion import SUSPECT, flags_of, warnings_of
from steelyard.arena.tallies import StoredTally, add_to_tallies, forget_scores, places_of
from steelyard.records.finding import Rejected
from steelyard.records.run import as_utc
from steelyard.records.submission import Submission
from steelyard.store import insert_columns, look_up
from steelyard.store.migrations.m0001_arena import outbox, submissions

EVALUATED = "submission.evaluated"

AS_GIVEN = (
    "id",
    "total_tokens",
    "tool_calls",
    "iterations",
    "execution_time",
    "estimated_cost",
    "success",
    "agent",
    "model",
    "submitter",
)
"""Columns that hold what the submission says."""


class Entry(msgspec.Struct, frozen=True):
    """A submission that was checked and waits to be written."""

    submission: Submission
    known: KnownTask
    digest: str
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None


Outcome = Receipt | Rejected


@dataclass(slots=True)
class Batch:
    """The new submissions of one transaction as columns, those of each task side by side."""

    entries: list[Entry]
    boards: list[Board]
    spans: list[range]
    columns: dict[str, list[Any]]  # Any: column values
    now_scores: Scores = field(default_factory=dict)
    counts: dict[int, dict[int, int]] = field(default_factory=dict)
    """Whole tallies of overall scores, of the tasks that were rescored."""


def accept(
    connection: Connection, entries: Sequence[Entry], *, rules: Rules, policy: Policy, now: int
) -> list[Outcome]:
    """What became of each entry, in their order. All of them are written together or none is."""
    held = known_digests(connection, [entry.submission.id for entry in entries])
    fresh = [entry for entry in entries if entry.submission.id not in held]
    receipts = _accept_new(connection, fresh, rules=rules, policy=policy, now=now) if fresh else {}
    same = [entry for entry in entries if held.get(entry.submission.id) == entry.digest]
    known = [(entry.known, entry.submission.id) for entry in same]
    receipts |= known_receipts(connection, known, rules=rules, policy=policy)
    return [
        receipts[entry.submission.id] if entry.submission.id in receipts else other_content(entry.submission.id)
        for entry in entries
    ]


def known_digests(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
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
    connection: Connection, entries: Sequence[Entry], *, rules: Rules, policy: Policy, now: int
) -> dict[str, Receipt]:
    batch = _arrange(connection, entries, rules, now)
    yardsticks: list[Yardstick] = []
    which: list[int] = []
    for board, span in zip(batch.boards, batch.spans, strict=True):
        board.prepare(connection, len(span))
        first = len(yardsticks) - board.version
        yardsticks.append(Yardstick(board.bounds, board.known.constants))
        board.take_in({name: batch.columns[name][span.start : span.stop] for name in FACTS}, now)
        yardsticks += [Yardstick(bounds, board.known.constants) for _, _, bounds, _ in board.new_versions]
        which += [first + version for version in board.versions_before]
    batch.columns["baseline_version"] = [version for board in batch.boards for version in board.versions_before]
    batch.columns |= score_all(batch.columns, yardsticks, which)
    _rank(connection, batch, policy)
    insert_columns(connection, submissions, batch.columns)
    save_boards(connection, batch.boards)
    receipts = _receipts(connection, batch, rules=rules, policy=policy)
    _notify(connection, batch, receipts, now)
    return {receipt.submission_id: receipt for receipt in receipts}


def _arrange(connection: Connection, entries: Sequence[Entry], rules: Rules, now: int) -> Batch:
    by_task: dict[int, list[Entry]] = {}
    for entry in entries:
        by_task.setdefault(entry.known.key, []).append(entry)
    found = load_boards(connection, [group[0].known for group in by_task.values()], rules)
    ordered: list[Entry] = []
    spans = []
    for group in by_task.values():
        spans.append(range(len(ordered), len(ordered) + len(group)))
        ordered += group
    boards = [found[key] for key in by_task]
    given = [entry.submission for entry in ordered]
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), given)) for name in AS_GIVEN}  # Any: values
    columns["submitted_at"] = [now if one.submitted_at is None else _microseconds(one) for one in given]
    columns["accepted_at"] = [now] * len(given)
    columns["digest"] = [entry.digest for entry in ordered]
    columns["criteria_met"] = [
        sum(result.met for result in entry.criteria) if entry.criteria else 0 for entry in ordered
    ]
    columns["criteria_total"] = [len(entry.criteria) for entry in ordered]
    columns["is_claimed"] = [
        any(result.claimed for result in entry.criteria) if entry.criteria else False for entry in ordered
    ]
    columns["details"] = [_details(entry) for entry in ordered]
    columns["task_key"] = [entry.known.key for entry in ordered]
    columns["ordinal"] = [
        board.n + 1 + place for board, span in zip(boards, spans, strict=True) for place in range(len(span))
    ]
    return Batch(ordered, boards, spans, columns)


def _microseconds(one: Submission) -> int:
    assert one.submitted_at is not None  # the caller has looked
    moment = as_utc(one.submitted_at)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _details(entry: Entry) -> str | None:
    given = entry.submission
    if not (given.files_created or given.artifacts or given.judgments or entry.criteria):
        return None
    found: dict[str, Any] = {  # Any: what is kept only to be shown
        "files_created": given.files_created,
        "artifacts": given.artifacts,
        "artifacts_sha256": entry.artifacts_sha256,
        "judgments": given.judgments,
        "criteria": entry.criteria,
    }
    return msgspec.json.encode({name: value for name, value in found.items() if value}).decode()


def _rank(connection: Connection, batch: Batch, policy: Policy) -> None:
    """Bring the tallies up to date; a task whose baseline moved is scored anew under policy `current`."""
    columns = batch.columns
    batch.now_scores = {name: list(columns[name]) for name in KEPT}
    moved = [place for place, board in enumerate(batch.boards) if board.moved and policy == "current"]
    if moved:
        boards = [batch.boards[place] for place in moved]
        spans = [batch.spans[place] for place in moved]
        batch.counts, again = tally_scores(connection, boards, columns, spans)
        for name in KEPT:
            for row, value in zip([row for span in spans for row in span], again[name], strict=True):
                batch.now_scores[name][row] = value
        forget_scores(connection, [board.known.key for board in boards if board.n_before])
    counts: dict[tuple[int, str], Mapping[int, int]] = {}
    for board, span in zip(batch.boards, batch.spans, strict=True):
        key = board.known.key
        new = batch.now_scores["overall"][span.start : span.stop]
        counts[key, "overall"] = batch.counts[key] if key in batch.counts else count_scores(new)
        counts[key, "iterations"] = board.iterations.tally.added
        counts[key, "total_tokens"] = board.tokens.tally.added
    add_to_tallies(connection, counts)


def _receipts(connection: Connection, batch: Batch, *, rules: Rules, policy: Policy) -> list[Receipt]:
    places: list[tuple[int, float]] = []
    flags: list[tuple[str, ...]] = []
    versions = batch.columns["baseline_version"]
    if policy == "current":
        versions = [board.version for board, span in zip(batch.boards, batch.spans, strict=True) for _ in span]
    for board, span in zip(batch.boards, batch.spans, strict=True):
        places += _places(connection, batch, board, span)
        own = [batch.columns[name][span.start : span.stop] for name in SUSPECT]
        flags += flags_of(rules.outliers, board.tokens.median(), *own)
    scores = {name: points_column(batch.now_scores[name]) for name in KEPT}
    made = map(
        Receipt,
        batch.columns["id"],
        [entry.known.task.id for entry in batch.entries],
        ["accepted"] * len(places),
        *(scores[name] for name in KEPT),
        [rank for rank, _ in places],
        [percentile for _, percentile in places],
        versions,
        defaulted_of(*(batch.columns[name] for name in DEFAULTED)),
        batch.columns["is_claimed"],
        flags,
        warnings_of(rules.validation, [scores[name] for name in RANKED], batch.columns["total_tokens"]),
    )
    return list(made)


def _places(connection: Connection, batch: Batch, board: Board, span: range) -> list[tuple[int, float]]:
    """Rank and percentile of each new row of a task."""
    key = board.known.key
    values = batch.now_scores["overall"][span.start : span.stop]
    stored = StoredTally(connection, key, "overall")
    return places_of(values, stored, board.n, batch.counts.get(key))


def _notify(connection: Connection, batch: Batch, receipts: Sequence[Receipt], now: int) -> None:
    count = len(receipts)
    columns: dict[str, Sequence[Any]] = {  # Any: column values
        "kind": [EVALUATED] * count,
        "task_key": batch.columns["task_key"],
        "ordinal": batch.columns["ordinal"],
        "overall": batch.now_scores["overall"],
        "overall_ranking": [receipt.overall_ranking for receipt in receipts],
        "percentile": [receipt.percentile for receipt in receipts],
        "baseline_version": [receipt.baseline_version for receipt in receipts],
        "created_at": [now] * count,
        "due_at": [now] * count,
        "is_settled": [False] * count,
    }
    insert_columns(connection, outbox, columns)
