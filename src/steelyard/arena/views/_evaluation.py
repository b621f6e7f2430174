"""How one submission's scores came: every score with its formula, the numbers put in, and the constants."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena._answer_parts import ExtraScore, Receipt, ScoredSubmission, ScoreReason
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._reviews import unknown_submission
from steelyard.arena.ingest._tasks import find_task
from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._fitted_models import (
    COMMUNITY_SCORE,
    PARTS,
    CommunityWeights,
    community_score,
    weights_in_force,
)
from steelyard.arena.scoring._receipts import stored_receipts
from steelyard.arena.scoring._review_log import decisions_after, read_reviews
from steelyard.arena.scoring._rules import Rules, score_metrics
from steelyard.arena.scoring._scores import SCORE_INPUTS, points, to_cents, unrounded_scores
from steelyard.arena.scoring._settings import read_rules_history
from steelyard.arena.scoring._task_state import EXTREMES, UNKNOWN_AT_ZERO, StoredTask
from steelyard.errors import UnknownNameError
from steelyard.grading import CriterionResult
from steelyard.records import ScoreWeights, Task, is_storable, iso
from steelyard.store.schema import baselines, submissions, tasks


def evaluation(arena: Arena, submission_id: str, *, only: str | None = None) -> ScoredSubmission:
    """The evaluation of a submission, explained; `only` one score."""
    names = [declared.name for declared in score_metrics()]
    if only is not None and only not in names:
        raise UnknownNameError("score", only, names)
    with arena.read() as connection:
        wanted = select(submissions, tasks.c.id.label("task_id")).join(tasks).where(submissions.c.id == submission_id)
        row = connection.execute(wanted).mappings().first() if is_storable(submission_id) else None
        if row is None:
            raise unknown_submission(connection, submission_id)
        stored_task = find_task(connection, row["task_id"], arena.rules)
        wanted_receipt = [(stored_task, submission_id)]
        receipt = stored_receipts(connection, wanted_receipt, rules=arena.rules, policy=arena.policy)[submission_id]
        of_receipt = (baselines.c.task_key == stored_task.key) & (baselines.c.version == receipt.baseline_version)
        base = connection.execute(select(baselines).where(of_receipt)).mappings().one()
        rules, log = arena.rules, read_reviews(connection, stored_task.key)
        counted, excluded = None, decisions_after(log).excluded
        if arena.policy == "as-submitted":
            counted = row["ordinal"] - 1
            rules = read_rules_history(connection, stored_task.key).of(stored_task.key, row["ordinal"]).rules
            excluded = decisions_after(logged for logged in log if logged.after_n <= counted).excluded
        community = weights_in_force(connection, arena.rules)
        made_by = BaselineSubmissions(counted, frozenset(excluded))
        sources = {
            **_INPUT_SOURCES,
            **_sources_of_bounds(connection, stored_task, base, made_by, least=rules.baseline.submissions),
            **_sources_of_constants(stored_task.task, rules),
        }
    bounds = BaselineBounds(*(base[name] for name in BaselineBounds._fields))
    details = msgspec.json.decode(row["details"]) if row["details"] else {}
    return ScoredSubmission(
        receipt=receipt,
        profile=rules.name,
        policy=arena.policy,
        **_as_stored(row),
        criteria=msgspec.convert(details.get("criteria", ()), tuple[CriterionResult, ...]),
        artifacts_sha256=details.get("artifacts_sha256"),
        sources=sources,
        scores=_reasons({name: row[name] for name in SCORE_INPUTS}, bounds, rules.constants_of(stored_task.task), only),
        reviews=tuple(logged.review for logged in log if logged.ordinal == row["ordinal"]),
        extra_scores=() if community is None or only else (_by_community(community, receipt, stored_task),),
    )


def _by_community(community: CommunityWeights, receipt: Receipt, stored_task: StoredTask) -> ExtraScore:
    """Return the community score with the weights of its version."""
    weights = community.of(stored_task.task, stored_task.constants)
    parts = {name: float(getattr(receipt, f"{name}_score")) for name in PARTS}
    return ExtraScore(
        name=COMMUNITY_SCORE,
        value=community_score(weights, parts),
        version=community.fitted.version,
        formula=" + ".join(f"{name}_score * {name}_weight" for name in PARTS),
        inputs={f"{name}_score": value for name, value in parts.items()},
        constants={f"{name}_weight": weight for name, weight in weights.items()},
        reason=community.fitted.reason,
    )


def _as_stored(row: RowMapping) -> dict[str, Any]:  # Any: column values
    """What an evaluation shows of the submission's own row, by the columns' names; moments as text."""
    shown = [name for name in ScoredSubmission.__struct_fields__ if name in submissions.c]
    return {name: iso(row[name]) if name.endswith("_at") else row[name] for name in shown}


_INPUT_SOURCES = {
    **dict.fromkeys(SCORE_INPUTS, "the submission"),
    "criteria_met": "the criteria check",
    "criteria_total": "the task",
}


class BaselineSubmissions(NamedTuple):
    """The submissions of a task that a baseline was made from."""

    up_to: int | None
    """The last ordinal among them; None when it is the last of all."""
    excluded: Collection[int]
    """Ordinals of those that did not count."""

    def among(self, stored_task: StoredTask) -> ColumnElement[bool]:
        """Whether a row is one of them."""
        own = (submissions.c.task_key == stored_task.key) & submissions.c.ordinal.not_in(sorted(self.excluded))
        return own if self.up_to is None else own & (submissions.c.ordinal <= self.up_to)


def _sources_of_bounds(
    connection: Connection, stored_task: StoredTask, base: RowMapping, made_by: BaselineSubmissions, *, least: int
) -> dict[str, str]:
    """For each bound, whether submissions set it or it is a default, and whose."""
    sources = dict.fromkeys(BaselineBounds._fields, f"baseline version {base['version']}, {base['from_n']} submissions")
    earlier = made_by.among(stored_task)
    n = connection.execute(select(func.count()).select_from(submissions).where(earlier)).scalar_one()
    set_by_nobody = list(BaselineBounds._fields) if n < least else []
    if not set_by_nobody:
        for place, (part, field) in enumerate(EXTREMES.items()):
            is_known = submissions.c[field] > 0 if place in UNKNOWN_AT_ZERO else submissions.c[field].is_not(None)
            stated = select(submissions.c.ordinal).where(earlier, is_known)
            if connection.execute(stated.limit(1)).first() is None:
                set_by_nobody += [f"min_{part}", f"max_{part}"]
    for name in set_by_nobody:
        is_own = getattr(stored_task.task.baseline, name, None) is not None
        sources[name] = f"default of the {'task' if is_own else 'profile'}"
    return sources


def _sources_of_constants(task: Task, rules: Rules) -> dict[str, str]:
    sources = dict.fromkeys(rules.constants, "profile")
    weights = [f"{name}_weight" for name in ScoreWeights.__struct_fields__]
    if task.weights is not None:
        sources |= dict.fromkeys(weights, "the task")
    elif task.category in rules.category_weights:
        sources |= dict.fromkeys(weights, f"profile, category {task.category}")
    is_stated = task.difficulty is not None
    sources["difficulty_factor"] = (
        f"profile, difficulty {task.difficulty}" if is_stated else "the task has no difficulty"
    )
    return sources


def _reasons(
    inputs: dict[str, Any], bounds: BaselineBounds, constants: dict[str, float], only: str | None
) -> tuple[ScoreReason, ...]:  # Any: inputs, None where unknown
    scores = unrounded_scores(inputs, bounds, constants)
    values = {**inputs, **bounds._asdict(), **scores}
    return tuple(
        ScoreReason(
            name=declared.name,
            title=declared.title,
            value=points(to_cents(scores[declared.name])),
            unrounded=scores[declared.name],
            formula=declared.formula,
            inputs={name: values[name] for name in declared.inputs},
            constants={name: constants[name] for name in declared.constants},
        )
        for declared in score_metrics()
        if only in (None, declared.name)
    )
