"""Receipts of submissions that are in the store, as things stand now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rescoring import Yardstick, score_all
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import FACTS, KEPT_SCORES, RANKED_SCORES, points
from steelyard.arena.scoring._stored_tallies import StoredTally, ranks_and_percentiles, unpack_tally
from steelyard.arena.scoring._suspicion import SUSPECT, outlier_flags, validate
from steelyard.arena.scoring._task_state import StoredTask, TaskState, load_task_states
from steelyard.results import Policy, Receipt
from steelyard.store.schema import submissions

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


def stored_receipts(
    connection: Connection, wanted: Sequence[tuple[StoredTask, str]], *, rules: Rules, policy: Policy
) -> dict[str, Receipt]:
    """The receipts of these ids, given with their tasks."""
    by_task: dict[int, list[str]] = {}
    for task, identity in wanted:
        by_task.setdefault(task.key, []).append(identity)
    task_states = load_task_states(connection, [task for task, _ in wanted], rules, lock=False)
    receipts: dict[str, Receipt] = {}
    for key, ids in by_task.items():
        state = task_states[key]
        state.prepare(connection, 1)
        for start in range(0, len(ids), IDS_PER_QUERY):
            some = submissions.c.id.in_(ids[start : start + IDS_PER_QUERY])
            rows = connection.execute(select(submissions).where(some)).mappings().all()
            for receipt in _receipts(connection, state, [dict(row) for row in rows], rules=rules, policy=policy):
                receipts[receipt.submission_id] = receipt
    return receipts


def _receipts(
    connection: Connection, state: TaskState, rows: Sequence[Mapping[str, Any]], *, rules: Rules, policy: Policy
) -> list[Receipt]:  # Any: column values
    scores: Mapping[str, Sequence[int]] = {name: [row[name] for row in rows] for name in KEPT_SCORES}
    if policy == "current":
        facts = {name: [row[name] for row in rows] for name in FACTS}
        scores = score_all(facts, [Yardstick(state.bounds, state.stored_task.constants)], [0] * len(rows))
    counts = None if state.packed is None else unpack_tally(state.packed.overall)
    places = ranks_and_percentiles(
        scores["overall"], StoredTally(connection, state.stored_task.key, "overall"), state.n, counts
    )
    median = state.tokens.median()
    made = []
    for number, row in enumerate(rows):
        rank, percentile = places[number]
        shown = {f"{name}_score": points(scores[name][number]) for name in KEPT_SCORES}
        made.append(
            Receipt(
                submission_id=row["id"],
                task_id=state.stored_task.task.id,
                status="known",
                overall_ranking=rank,
                percentile=percentile,
                baseline_version=state.version if policy == "current" else row["baseline_version"],
                defaulted=defaulted_fields(*(row[name] for name in DEFAULTED)),
                claimed=claimed_criteria(row["details"]) if row["is_claimed"] else (),
                lower_bounds=lower_bounds(row["details"]),
                flags=outlier_flags(rules.outliers, median, *(row[name] for name in SUSPECT)),
                warnings=tuple(
                    validate([shown[f"{name}_score"] for name in RANKED_SCORES], row["total_tokens"], rules.validation)[
                        1
                    ]
                ),
                **shown,
            )
        )
    return made
