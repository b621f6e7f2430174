"""Decisions about submissions, each in one transaction: the log, the task recomputed without or with it, the events.

An excluded submission affects nothing in its task; a reinstated one counts as if it had never been excluded. Only the
log, the baseline's version number, the events and the id, which stays taken, keep a trace.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena.ingest._rank_events import Change, ranked_rows, write_losses
from steelyard.arena.ingest._scoring_again import recount, rescore
from steelyard.arena.ingest._tasks import find_task
from steelyard.arena.notifications import EXCLUDED, REINSTATED, write_events
from steelyard.arena.scoring import (
    Rules,
    TaskState,
    decisions_after,
    load_task_states,
    read_reviews,
    read_stored,
    stored_receipts,
    to_cents,
)
from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.records import MAX_NAME_BYTES, is_storable, is_too_long
from steelyard.results import Decision, Policy, Receipt, Review
from steelyard.store.schema import reviews, submissions, tasks

MAX_REASON_LENGTH = 10_000
"""Characters that a reason may have."""
NAMES_LOOKED_AT = 1_000


class Request(NamedTuple):
    """Requested decision on a submission."""

    submission_id: str
    decision: Decision
    by: str | None
    reason: str | None


class Decided(NamedTuple):
    """A submission after a decision."""

    submission_id: str
    task_id: str
    status: Literal["counted", "excluded"]
    changed: bool
    review: Review | None
    submissions: int
    baseline_version: int


def check_request(request: Request) -> None:
    """Reject an invalid request."""
    if request.decision == "excluded" and not (request.reason or "").strip():
        raise UsageError(
            "an exclusion requires a reason", where=request.submission_id[:200], hint=option("reason", "TEXT")
        )
    for what, text, is_long in (
        ("the reviewer", request.by, request.by is not None and is_too_long(request.by)),
        ("the reason", request.reason, request.reason is not None and len(request.reason) > MAX_REASON_LENGTH),
    ):
        if text is not None and not is_storable(text):
            raise UsageError(f"{what} contains a NUL byte or a lone surrogate", hint="use valid UTF-8")
        if is_long:
            limit = f"{MAX_NAME_BYTES} bytes in UTF-8" if text is request.by else f"{MAX_REASON_LENGTH:,} characters"
            raise UsageError(f"{what} is longer than {limit}", hint="shorten it")


def decide(connection: Connection, request: Request, *, rules: Rules, policy: Policy, now: int) -> Decided:
    """Write the decision and all that follows from it; what was decided before changes nothing."""
    task_id = _task_of(connection, request.submission_id)
    stored_task = find_task(connection, task_id, rules)
    state = load_task_states(connection, [stored_task], rules)[stored_task.key]  # locks the task
    row = connection.execute(select(submissions).where(submissions.c.id == request.submission_id)).mappings().one()
    is_excluded = row["excluded_at"] is not None
    request = _by_submitter(request, row) if request.decision == "withdrawn" else request
    if request.decision == "accepted" and is_excluded:
        raise UsageError("the submission is excluded", where=row["id"], hint="reinstate it first")
    earlier = decisions_after(read_reviews(connection, stored_task.key, row["ordinal"]))
    is_new = {
        "accepted": row["ordinal"] not in earlier.accepted,
        "reinstated": is_excluded,
    }.get(request.decision, not is_excluded)
    if is_new:
        number = _log(connection, request, row, state, now)
        if request.decision != "accepted":
            _take(connection, row, state, number, rules=rules, policy=policy, now=now)
    log = read_reviews(connection, stored_task.key, row["ordinal"])
    return Decided(
        submission_id=row["id"],
        task_id=task_id,
        status="excluded" if row["ordinal"] in decisions_after(log).excluded else "counted",
        changed=is_new,
        review=log[-1].review if log else None,
        submissions=state.n,
        baseline_version=state.version,
    )


def _task_of(connection: Connection, submission_id: str) -> str:
    """The task's id, or an error with the nearest submission."""
    wanted = select(tasks.c.id).join(submissions, submissions.c.task_key == tasks.c.task_key)
    if is_storable(submission_id):
        task_id: str | None = connection.execute(wanted.where(submissions.c.id == submission_id)).scalar()
        if task_id is not None:
            return task_id
    some = connection.execute(select(submissions.c.id).limit(NAMES_LOOKED_AT)).scalars().all()
    raise UnknownNameError("submission", submission_id[:200], some)


def _by_submitter(request: Request, row: RowMapping) -> Request:
    """The request with its submitter, who alone withdraws a submission."""
    submitter = row["submitter"]
    if submitter is not None and request.by not in (None, submitter):
        hint = f"a reviewer can exclude it with {option('reason', 'TEXT')}"
        raise UsageError(f"only the submitter ({submitter!r}) can withdraw this submission", where=row["id"], hint=hint)
    return request._replace(by=request.by or submitter)


def _log(connection: Connection, request: Request, row: RowMapping, state: TaskState, now: int) -> int:
    values = {
        "task_key": row["task_key"],
        "ordinal": row["ordinal"],
        "decision": request.decision,
        "decided_by": request.by or None,
        "reason": request.reason or None,
        "decided_at": now,
        "after_n": state.accepted,
    }
    return int(connection.execute(insert(reviews).values(values).returning(reviews.c.number)).scalar_one())


def _take(
    connection: Connection, row: RowMapping, state: TaskState, number: int, *, rules: Rules, policy: Policy, now: int
) -> None:
    """Take a submission that counts out of its task, or one that does not in again, with all that follows."""
    is_leaving = row["excluded_at"] is None
    stored = [(state.stored_task, row["id"])]
    receipts = stored_receipts(connection, stored, rules=rules, policy=policy) if is_leaving else {}
    before = ranked_rows(read_stored(connection, [state]), state, policy)
    own = (submissions.c.task_key == row["task_key"]) & (submissions.c.ordinal == row["ordinal"])
    connection.execute(update(submissions).where(own).values(excluded_at=now if is_leaving else None))
    median_tokens = recount(connection, state)
    left = rescore(connection, [state], policy=policy, now=now)
    receipts = receipts or stored_receipts(connection, stored, rules=rules, policy=policy)
    event = {"task_key": row["task_key"], "ordinal": row["ordinal"], "review_number": number}
    event |= _place(receipts[row["id"]])
    kind = EXCLUDED if is_leaving else REINSTATED
    write_events(connection, kind, {name: [value] for name, value in event.items()}, now)
    if left is not None:
        after = ranked_rows(left, state, policy)
        change = Change(state, before, after, np.arange(state.n), median_tokens, review_number=number)
        write_losses(connection, [change], left, rules=rules, policy=policy, now=now)


def _place(receipt: Receipt) -> dict[str, Any]:  # Any: column values
    """Return score, rank and flags of an included submission, for events."""
    return {
        "overall": to_cents(receipt.overall_score),
        "overall_ranking": receipt.overall_ranking,
        "percentile": receipt.percentile,
        "baseline_version": receipt.baseline_version,
        "flags": ";".join(receipt.flags) or None,
    }
