"""Receipts of submissions that are in the store, as things stand now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._packed_tallies import unpack
from steelyard.arena.scoring._rescoring import Yardstick, score_all
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._score_cents import points
from steelyard.arena.scoring._scores import FACTS, KEPT, RANKED
from steelyard.arena.scoring._stored_tallies import StoredTally, places_of
from steelyard.arena.scoring._suspicion import SUSPECT, outlier_flags, validate
from steelyard.arena.scoring._task_state import KnownTask, TaskState, load_task_states
from steelyard.results import Receipt
from steelyard.store import submissions

Policy = Literal["current", "as-submitted"]

IDS_PER_QUERY = 500

DEFAULTED = ("execution_time", "estimated_cost", "iterations", "success")
"""Fields that are scored by a default when they are unknown; a time or cost of 0 is unknown."""


def defaulted_fields(
    execution_time: float | None, estimated_cost: float | None, iterations: int | None, success: bool | None
) -> tuple[str, ...]:
    """The fields among these that were unknown and scored by a default."""
    unknown = (not execution_time, not estimated_cost, iterations is None, success is None)
    return tuple(name for name, is_unknown in zip(DEFAULTED, unknown, strict=True) if is_unknown)


def defaulted_of(
    times: Sequence[float | None],
    costs: Sequence[float | None],
    turns: Sequence[int | None],
    claims: Sequence[bool | None],
) -> list[tuple[str, ...]]:
    """`defaulted_fields` of each row; most have none."""
    return [
        () if time and cost and turn is not None and claim is not None else defaulted_fields(time, cost, turn, claim)
        for time, cost, turn, claim in zip(times, costs, turns, claims, strict=True)
    ]


def claimed_criteria(details: str | None) -> tuple[str, ...]:
    """The types of the criteria that were only claimed, as the row's details list them."""
    decoded = msgspec.json.decode(details) if details else {}
    return tuple(criterion["type"] for criterion in decoded.get("criteria", ()) if criterion.get("claimed"))


def claimed_of(flags: Sequence[bool], details: Sequence[str | None]) -> list[tuple[str, ...]]:
    """`claimed_criteria` of each row that has any."""
    return [claimed_criteria(row_details) if flag else () for flag, row_details in zip(flags, details, strict=True)]


def lower_bounds(details: str | None) -> tuple[str, ...]:
    """The counts of which only a part is known, as the row's details list them."""
    if not details or '"lower_bounds"' not in details:
        return ()
    return tuple(msgspec.json.decode(details).get("lower_bounds", ()))


def lower_bounds_of(details: Sequence[str | None]) -> list[tuple[str, ...]]:
    """`lower_bounds` of each row; most have none."""
    return [lower_bounds(row_details) for row_details in details] if any(details) else [()] * len(details)


def known_receipts(
    connection: Connection, known: Sequence[tuple[KnownTask, str]], *, rules: Rules, policy: Policy
) -> dict[str, Receipt]:
    """The receipts of these ids, given with their tasks."""
    by_task: dict[int, list[str]] = {}
    for task, identity in known:
        by_task.setdefault(task.key, []).append(identity)
    boards = load_task_states(connection, [task for task, _ in known], rules, lock=False)
    receipts: dict[str, Receipt] = {}
    for key, ids in by_task.items():
        board = boards[key]
        board.prepare(connection, 1)
        for start in range(0, len(ids), IDS_PER_QUERY):
            some = submissions.c.id.in_(ids[start : start + IDS_PER_QUERY])
            rows = connection.execute(select(submissions).where(some)).mappings().all()
            for receipt in _receipts(connection, board, [dict(row) for row in rows], rules=rules, policy=policy):
                receipts[receipt.submission_id] = receipt
    return receipts


def _receipts(
    connection: Connection, board: TaskState, rows: Sequence[Mapping[str, Any]], *, rules: Rules, policy: Policy
) -> list[Receipt]:  # Any: column values
    scores: Mapping[str, Sequence[int]] = {name: [row[name] for row in rows] for name in KEPT}
    if policy == "current":
        facts = {name: [row[name] for row in rows] for name in FACTS}
        scores = score_all(facts, [Yardstick(board.bounds, board.known.constants)], [0] * len(rows))
    counts = None if board.packed is None else unpack(board.packed.overall)
    places = places_of(scores["overall"], StoredTally(connection, board.known.key, "overall"), board.n, counts)
    median = board.tokens.median()
    made = []
    for number, row in enumerate(rows):
        rank, percentile = places[number]
        shown = {f"{name}_score": points(scores[name][number]) for name in KEPT}
        made.append(
            Receipt(
                submission_id=row["id"],
                task_id=board.known.task.id,
                status="known",
                overall_ranking=rank,
                percentile=percentile,
                baseline_version=board.version if policy == "current" else row["baseline_version"],
                defaulted=defaulted_fields(*(row[name] for name in DEFAULTED)),
                claimed=claimed_criteria(row["details"]) if row["is_claimed"] else (),
                lower_bounds=lower_bounds(row["details"]),
                flags=outlier_flags(rules.outliers, median, *(row[name] for name in SUSPECT)),
                warnings=tuple(
                    validate([shown[f"{name}_score"] for name in RANKED], row["total_tokens"], rules.validation)[1]
                ),
                **shown,
            )
        )
    return made
