"""Reviewers whom a task's `judge` criterion names: what their ratings make of a submission's correctness."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from sqlalchemy import select, update
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena.grading import reviewers_result
from steelyard.arena.ingest._rank_events import Change, ranked_rows, write_losses
from steelyard.arena.ingest._scoring_again import rescore
from steelyard.arena.scoring import (
    KEPT_SCORES,
    SCORE_INPUTS,
    BaselineBounds,
    Rules,
    StoredTask,
    latest_ratings,
    load_task_states,
    read_rules_history,
    read_stored,
    scores_in_cents,
)
from steelyard.records import JudgeThreshold
from steelyard.results import CriterionResult, Policy
from steelyard.store.schema import baselines, submissions


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
