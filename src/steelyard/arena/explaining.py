"""How one submission's scores came: every score with its formula, the numbers put in, and the constants."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import select

from steelyard.arena.arena import Arena
from steelyard.arena.baseline import Bounds
from steelyard.arena.cents import cents, points
from steelyard.arena.known import Policy, known_receipts
from steelyard.arena.receipts import CriterionResult, Receipt
from steelyard.arena.rules import score_metrics
from steelyard.arena.scoring import FACTS, score
from steelyard.arena.standings import iso
from steelyard.arena.tasks import known_task
from steelyard.errors import UnknownName
from steelyard.store.migrations.m0001_arena import baselines, submissions, tasks


class ScoreReason(msgspec.Struct, frozen=True, kw_only=True):
    """One score and what it was made from."""

    name: str
    title: str
    value: float
    """Rounded to two decimals, as standings show it."""
    unrounded: float
    formula: str
    inputs: dict[str, float | None]
    """Facts, bounds of the baseline and other scores; None was unknown."""
    constants: dict[str, float]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with its standing and the way to its scores."""

    receipt: Receipt
    profile: str
    policy: Policy
    submitted_at: str
    accepted_at: str
    agent: str | None
    model: str | None
    submitter: str | None
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None
    scores: tuple[ScoreReason, ...]


def evaluation(arena: Arena, submission_id: str, *, only: str | None = None) -> Evaluation:
    """The evaluation of a submission, explained; `only` one score."""
    names = [declared.name for declared in score_metrics()]
    if only is not None and only not in names:
        raise UnknownName("score", only, names)
    with arena.read() as connection:
        wanted = select(submissions, tasks.c.id.label("task_id")).join(tasks).where(submissions.c.id == submission_id)
        row = connection.execute(wanted).mappings().first() if "\0" not in submission_id else None
        if row is None:
            some = connection.execute(select(submissions.c.id).limit(1000)).scalars().all()
            raise UnknownName("submission", submission_id[:200], some)
        known = known_task(connection, row["task_id"], arena.rules)
        wanted_one = [(known, submission_id)]
        receipt = known_receipts(connection, wanted_one, rules=arena.rules, policy=arena.policy)[submission_id]
        held = (baselines.c.task_key == known.key) & (baselines.c.version == receipt.baseline_version)
        base = connection.execute(select(baselines).where(held)).mappings().one()
    bounds = Bounds(*(base[name] for name in Bounds._fields))
    details = msgspec.json.decode(row["details"]) if row["details"] else {}
    return Evaluation(
        receipt=receipt,
        profile=arena.rules.name,
        policy=arena.policy,
        submitted_at=iso(row["submitted_at"]),
        accepted_at=iso(row["accepted_at"]),
        agent=row["agent"],
        model=row["model"],
        submitter=row["submitter"],
        criteria=msgspec.convert(details.get("criteria", ()), tuple[CriterionResult, ...]),
        artifacts_sha256=details.get("artifacts_sha256"),
        scores=_reasons({name: row[name] for name in FACTS}, bounds, dict(known.constants), only),
    )


def _reasons(
    facts: dict[str, Any], bounds: Bounds, constants: dict[str, float], only: str | None
) -> tuple[ScoreReason, ...]:  # Any: facts, None where unknown
    scores = score(facts, bounds, constants)
    values = {**facts, **bounds._asdict(), **scores}
    return tuple(
        ScoreReason(
            name=declared.name,
            title=declared.title,
            value=points(cents(scores[declared.name])),
            unrounded=scores[declared.name],
            formula=declared.formula,
            inputs={name: values[name] for name in declared.inputs},
            constants={name: constants[name] for name in declared.constants},
        )
        for declared in score_metrics()
        if only in (None, declared.name)
    )
