"""Receipts of new and of stored submissions: current scores and ranks, and the specification's flags and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Policy, Receipt
from steelyard.arena.scoring._review_log import decisions_after, read_reviews
from steelyard.arena.scoring._row_scores import Scores, ScoringContext, rows_in_cents
from steelyard.arena.scoring._rules import OutlierTable, Rules, ValidationTable
from steelyard.arena.scoring._scores import KEPT_SCORES, RANKED_SCORES, tenths_column
from steelyard.arena.scoring._tallies import (
    CountedValues,
    TaskValues,
    count_values,
    join_values,
    of_tallies,
    read_middles,
    read_scores,
)
from steelyard.arena.scoring._task_state import KEYS_PER_QUERY, StoredTask, TaskState, load_task_states
from steelyard.store.schema import submissions

REVIEW = "manual_review"


SUSPECT = ("total_tokens", "execution_time", "tool_calls")
"""What flags are raised by."""


def outlier_flags(
    limits: OutlierTable, median_tokens: float, total_tokens: int, execution_time: float | None, tool_calls: int
) -> tuple[str, ...]:
    """The flags of one submission among others with this median. An unknown time is not a fast one."""
    is_frugal = total_tokens < median_tokens * limits.token_fraction_of_median
    is_fast = bool(execution_time) and execution_time is not None and execution_time < limits.fast_seconds
    is_minimal = tool_calls == limits.few_tool_calls
    raised = zip(FLAGS, (is_frugal, is_fast, is_minimal), strict=True)
    return tuple(flag for flag, is_raised in raised if is_raised)


def flags_of(
    limits: OutlierTable,
    medians: Sequence[float],
    tokens: Sequence[int],
    times: Sequence[float | None],
    calls: Sequence[int],
) -> list[tuple[str, ...]]:
    """`outlier_flags` of each row, with the median among the others of its task; most have none."""
    share, fast, few = limits.token_fraction_of_median, limits.fast_seconds, limits.few_tool_calls
    return [
        ()
        if count >= median * share and (not time or time >= fast) and call != few
        else outlier_flags(limits, median, count, time, call)
        for median, count, time, call in zip(medians, tokens, times, calls, strict=True)
    ]


FLAGS = ("extremely_efficient_tokens", "extremely_fast", "minimal_tool_usage")


def validate(scores: Sequence[float], total_tokens: int, limits: ValidationTable) -> tuple[list[str], list[str]]:
    """Return the impossible (errors) and suspicious (warnings) values of an evaluation, per the specification.

    The scores come in the order in which they are ranked: overall, efficiency, speed, cost, correctness.
    """
    errors = []
    if min(scores) < 0 or max(scores) > 100:
        named = zip(RANKED_SCORES, scores, strict=True)
        errors = [f"{name}_score out of range: {score}" for name, score in named if not 0 <= score <= 100]
    warnings = []
    if scores[1] > limits.high_score and scores[2] > limits.high_score:
        warnings.append("Suspicious: Both efficiency and speed scores are extremely high")
    if total_tokens < limits.low_tokens:
        warnings.append("Suspiciously low token count")
    return errors, warnings


def warnings_of(
    limits: ValidationTable, scores: Sequence[Sequence[float]], tokens: Sequence[int]
) -> list[tuple[str, ...]]:
    """The warnings of each row, its scores in ranked order; most have none."""
    high, low = limits.high_score, limits.low_tokens
    return [
        () if count >= low and (row[1] <= high or row[2] <= high) else tuple(validate(row, count, limits)[1])
        for row, count in zip(zip(*scores, strict=True), tokens, strict=True)
    ]


Columns = Mapping[str, Sequence[Any]]  # Any: column values


class Ranks(NamedTuple):
    """Ranks and percentiles of rows within their tasks."""

    ranks: list[int]
    percentiles: list[float]


def ranks_of(overall: CountedValues, n: np.ndarray) -> Ranks:
    """Competition ranks and percentiles of the pairs that were counted first, each with the `n` of its task."""
    at = overall.where[: len(n)]
    equal = overall.counts[at]
    above = overall.totals[overall.which[at]] - overall.below[at] - equal
    return Ranks((above + 1).tolist(), (tenths_column((n - above - equal) / n * 100) / 10).tolist())


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


def receipts_of(
    columns: Columns,
    task_states: Sequence[TaskState],
    *,
    status: Literal["accepted", "known"],
    scores: Scores,
    ranks: Ranks,
    versions: Sequence[int],
    token_medians: Sequence[float],
    rules: Rules,
) -> list[Receipt]:
    """The receipts of rows that are given as columns of the store, each with its task, what it scores now and where."""
    shown = [(scores[name] / 100).tolist() for name in KEPT_SCORES]
    flags = flags_of(rules.outliers, token_medians, *(columns[name] for name in SUSPECT))
    made = map(
        Receipt,
        columns["id"],
        [state.stored_task.task.id for state in task_states],
        [status] * len(task_states),
        *shown,
        *ranks,
        versions,
        defaulted_of(*(columns[name] for name in DEFAULTED)),
        claimed_of(columns["is_claimed"], columns["details"]),
        flags,
        warnings_of(rules.validation, shown[: len(RANKED_SCORES)], columns["total_tokens"]),
        lower_bounds_of(columns["details"]),
        [REVIEW if len(raised) >= rules.outliers.flags_for_review else None for raised in flags],
    )
    return list(made)


def stored_receipts(
    connection: Connection, wanted: Sequence[tuple[StoredTask, str]], *, rules: Rules, policy: Policy
) -> dict[str, Receipt]:
    """The receipts of these ids, given with their tasks."""
    by_key = load_task_states(connection, [task for task, _ in wanted], rules, lock=False)
    columns = _read_rows(connection, sorted({identity for _, identity in wanted}))
    if not columns["id"]:
        return {}
    keys, which = np.unique(np.array(columns["task_key"], dtype=np.int64), return_inverse=True)
    task_states = [by_key[key] for key in keys.tolist()]
    n = np.array([max(state.n, 1) for state in task_states])  # of a task whose submissions are all excluded, none ranks
    scores: Scores = {name: np.array(columns[name], dtype=np.int64) for name in KEPT_SCORES}
    versions = columns["baseline_version"]
    if policy == "current":
        contexts = [ScoringContext(state.bounds, state.stored_task.constants) for state in task_states]
        scores = rows_in_cents(columns, contexts, which)
        versions = [task_states[place].version for place in which.tolist()]
    asked: list[tuple[TaskState, list[int]]] = [(state, []) for state in task_states]
    for place, value in zip(which.tolist(), scores["overall"].tolist(), strict=True):
        asked[place][1].append(value)
    tasks = np.arange(len(task_states))
    counted_before = of_tallies(tasks, read_scores(connection, asked))
    uncounted = TaskValues(which, scores["overall"], np.zeros(len(which), dtype=np.int64))
    overall = count_values(join_values(uncounted, counted_before), len(tasks))
    around = read_middles(connection, [(state, len(own)) for state, own in asked], "total_tokens")
    tokens = of_tallies(tasks, [around[state.stored_task.key] or {0: 1} for state in task_states])
    medians = count_values(tokens, len(tasks)).lower_medians(tasks, n).medians
    receipts = receipts_of(
        columns,
        [task_states[place] for place in which.tolist()],
        status="known",
        scores=scores,
        ranks=ranks_of(overall, n[which]),
        versions=versions,
        token_medians=medians[which].tolist(),
        rules=rules,
    )
    rows = zip(receipts, columns["excluded_at"], columns["task_key"], columns["ordinal"], strict=True)
    return {
        receipt.submission_id: _reviewed(connection, receipt, task_key, ordinal)
        if excluded_at is None
        else _without_place(receipt)
        for receipt, excluded_at, task_key, ordinal in rows
    }


def _reviewed(connection: Connection, receipt: Receipt, task_key: int, ordinal: int) -> Receipt:
    """The receipt, without the wish for a review where a person has accepted the submission."""
    if receipt.recommended_action is None or not decisions_after(read_reviews(connection, task_key, ordinal)).accepted:
        return receipt
    return msgspec.structs.replace(receipt, recommended_action=None)


def _without_place(receipt: Receipt) -> Receipt:
    """The receipt of a submission that is excluded: what it scores, and no place."""
    nowhere = {"overall_ranking": None, "percentile": None, "recommended_action": None}
    return msgspec.structs.replace(receipt, status="excluded", **nowhere)


def _read_rows(connection: Connection, ids: Sequence[str]) -> Columns:
    """The submissions of these ids."""
    rows: list[Sequence[Any]] = []  # Any: column values
    for start in range(0, len(ids), KEYS_PER_QUERY):
        some = submissions.c.id.in_(ids[start : start + KEYS_PER_QUERY])
        rows += connection.execute(select(submissions).where(some)).all()
    return {column.name: [row[place] for row in rows] for place, column in enumerate(submissions.columns)}
