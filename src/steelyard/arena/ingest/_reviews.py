"""Decisions and ratings of reviewers, each in one transaction: the log, the recomputed task, the events.

An excluded submission affects nothing in its task; a reinstated one counts as if it had never been excluded. Only the
log, the baseline's version number, the events and the id, which stays taken, keep a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena._answer_parts import Decision, Policy, Receipt, Review
from steelyard.arena.ingest._rescore import Change, ranked_rows, recount, rescore, write_losses
from steelyard.arena.ingest._tasks import find_task
from steelyard.arena.notifications._events import EXCLUDED, REINSTATED, write_events
from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._receipts import stored_receipts
from steelyard.arena.scoring._review_log import decisions_after, latest_ratings, read_reviews
from steelyard.arena.scoring._row_scores import read_stored
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import KEPT_SCORES, SCORE_INPUTS, scores_in_cents, to_cents
from steelyard.arena.scoring._settings import read_rules_history
from steelyard.arena.scoring._task_state import StoredTask, TaskState, load_task_states
from steelyard.errors import UnknownNameError, UsageError
from steelyard.grading import CriterionResult, reviewers_result
from steelyard.option_names import option
from steelyard.records import MAX_NAME_BYTES, JudgeThreshold, is_storable, is_too_long
from steelyard.store.schema import baselines, reviews, submissions, tasks


def count_ratings(
    connection: Connection,
    stored_task: StoredTask,
    row: RowMapping,
    *,
    rating_number: int | None,
    rules: Rules,
    policy: Policy,
    now: int,
) -> bool:
    """Whether ratings count in the submission's correctness; if so, make its criteria and scores by what they are now.

    Only that submission's own scores follow: correctness is no part of a baseline. Ranks of the task are
    recomputed, and the events of lost ranks contain the number of the rating.
    """
    named = {
        place: criterion
        for place, criterion in enumerate(stored_task.task.success_criteria)
        if isinstance(criterion, JudgeThreshold) and criterion.reviewers
    }
    if not named:
        return False
    state = load_task_states(connection, [stored_task], rules)[stored_task.key]  # locks the task
    results = _results_now(connection, stored_task, row, named)
    details = msgspec.json.decode(row["details"]) | {"criteria": results}
    met = sum(result.met for result in results)
    own = (submissions.c.task_key == row["task_key"]) & (submissions.c.ordinal == row["ordinal"])
    values = {"details": msgspec.json.encode(details).decode(), "criteria_met": met}
    if met == row["criteria_met"]:
        connection.execute(update(submissions).where(own).values(values))
        return True
    before = ranked_rows(read_stored(connection, [state]), state, policy)
    values |= _scores_of_its_day(connection, stored_task, {**row, "criteria_met": met})
    connection.execute(update(submissions).where(own).values(values))
    rows = rescore(connection, [state], policy=policy, now=now)
    assert rows is not None  # the rated submission counts
    after, places = ranked_rows(rows, state, policy), np.arange(state.n)
    change = Change(state, before, after, places, float(np.median(rows.columns["total_tokens"])), row["ordinal"])
    change = change._replace(rating_number=rating_number)
    write_losses(connection, [change], rows, rules=rules, policy=policy, now=now)
    return True


def _results_now(
    connection: Connection, stored_task: StoredTask, row: RowMapping, named: Mapping[int, JudgeThreshold]
) -> tuple[CriterionResult, ...]:
    """The submission's criteria, those of reviewers by the ratings that hold."""
    results = msgspec.convert(msgspec.json.decode(row["details"])["criteria"], list[CriterionResult])
    held = latest_ratings(connection, stored_task.key, row["ordinal"])
    for place, criterion in named.items():
        scores = {who: rating.score for (who, what), rating in held.items() if what == criterion.criterion}
        results[place] = reviewers_result(criterion, scores)
    return tuple(results)


def _scores_of_its_day(connection: Connection, stored_task: StoredTask, row: dict[str, object]) -> dict[str, int]:
    """The submission's scores in cents by the baseline and the rules that it met."""
    same = (baselines.c.task_key == stored_task.key) & (baselines.c.version == row["baseline_version"])
    base = connection.execute(select(baselines).where(same)).mappings().one()
    ordinal = row["ordinal"]
    assert isinstance(ordinal, int)  # a column of the submission
    rules = read_rules_history(connection, stored_task.key).of(stored_task.key, ordinal).rules
    bounds = BaselineBounds(*(base[name] for name in BaselineBounds._fields))
    cents = scores_in_cents({name: row[name] for name in SCORE_INPUTS}, bounds, rules.constants_of(stored_task.task))
    return {name: cents[name] for name in KEPT_SCORES}


MAX_REASON_LENGTH = 10_000
"""Characters that a reason may have."""
NAMES_LOOKED_AT = 1_000


class Request(NamedTuple):
    """Requested decision on a submission."""

    submission_id: str
    decision: Decision
    by: str | None
    reason: str | None


class DecidedSubmission(NamedTuple):
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


def decide(connection: Connection, request: Request, *, rules: Rules, policy: Policy, now: int) -> DecidedSubmission:
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
    return DecidedSubmission(
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
    raise unknown_submission(connection, submission_id)


def unknown_submission(connection: Connection, submission_id: str) -> UnknownNameError:
    """Return the error that names the nearest of some submissions."""
    some = connection.execute(select(submissions.c.id).limit(NAMES_LOOKED_AT)).scalars().all()
    return UnknownNameError("submission", submission_id[:200], some)


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
