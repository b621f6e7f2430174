"""Weights fitted to ratings adjusted for reviewer severity, in versions; scores do not change."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import FittedModel, FittedWeights, PartDiagnostic
from steelyard.arena._ratings import RatingTable, rating_table
from steelyard.arena._seasons import digest_of
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._tasks import load_tasks
from steelyard.arena.scoring._fitted_models import PARTS, WEIGHTS, fitted_model
from steelyard.arena.scoring._rules import DynamicWeightsTable
from steelyard.arena.views._task_view import view_task
from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.statistics import bounded_weights, fit_weights, part_diagnostics, two_way
from steelyard.store import KeptVersion, save_model


def fit_arena_weights(arena: Arena) -> FittedModel:
    """Fit the weights to the current ratings; add a version if the data changed since the last fit."""
    with arena.read() as connection:
        table = arena.rules.dynamic_weights
        if table is None:
            hint = f"rescore the arena with {option('profile', 'arena-community')}"
            raise UsageError(f"the profile {arena.rules.name} does not enable dynamic weights", hint=hint)
        rated = rating_table(connection, None, None)
        known = _known(connection, arena, rated)
        general = np.array([arena.rules.constants[f"{name}_weight"] for name in PARTS])
    fitted = _fitted(rated, known, table, general)
    content = msgspec.json.encode(fitted, order="deterministic").decode()
    digest = digest_of([content, known["rows"], rated.scores.tolist(), rated.reviewers, rated.raters.tolist()])

    def work(connection: Connection) -> KeptVersion:
        return save_model(connection, WEIGHTS, digest=digest, seen=len(rated.scores), content=content)

    return fitted_model(arena.store.in_transaction(work), fitted.reason)


def _known(connection: Connection, arena: Arena, rated: RatingTable) -> dict[str, Any]:  # Any: columns
    """Return the parts and fixed weights of each rated submission whose task has no own weights."""
    stored = {task.key: task for task in load_tasks(connection, arena.rules).values()}
    by_key: dict[int, dict[int, int]] = {}
    for place, (key, ordinal) in enumerate(rated.keys):
        by_key.setdefault(key, {})[ordinal] = place
    known = []
    for key, places in by_key.items():
        if stored[key].task.weights is not None:
            continue
        fixed = [stored[key].constants[f"{name}_weight"] for name in PARTS]
        rows = view_task(connection, stored[key], policy=arena.policy).rows
        for ordinal, *cents in rows.filter(rows["ordinal"].is_in(list(places))).select("ordinal", *PARTS).iter_rows():
            known.append((places[ordinal], rated.submissions[places[ordinal]][0], cents, fixed))
    known.sort()
    return {"rows": known}


def _fitted(
    rated: RatingTable, known: dict[str, Any], table: DynamicWeightsTable, general: np.ndarray
) -> FittedWeights:
    rows = known["rows"]
    names = sorted({task for _, task, _, _ in rows})
    groups = np.array([names.index(task) for _, task, _, _ in rows], dtype=np.int64)
    parts = np.array([cents for _, _, cents, _ in rows], dtype=float).reshape(-1, len(PARTS)) / 100
    fixed = np.array([weights for _, _, _, weights in rows], dtype=float).reshape(-1, len(PARTS))
    shift, fit, reason = np.zeros(len(PARTS)), None, None
    diagnostics: tuple[PartDiagnostic, ...] = ()
    if len(rated.scores) < table.min_ratings or len(rows) < table.min_submissions:
        reason = (
            f"{len(rated.scores)} ratings of {len(rows)} submissions; required: {table.min_ratings} ratings of"
            f" {table.min_submissions} submissions"
        )
    else:
        quality = two_way(rated.units, rated.raters, rated.scores).quality[[place for place, *_ in rows]]
        fit = fit_weights(parts, fixed, quality, groups)
        shift, reason = fit.shift, fit.reason
        diagnostics = tuple(
            PartDiagnostic(name=name, std_dev=std_dev, correlation=correlation)
            for name, (std_dev, correlation) in zip(PARTS, part_diagnostics(parts, quality, groups), strict=True)
        )
    moved = bounded_weights(general, shift, table.max_shift)
    return FittedWeights(
        ratings=len(rated.scores),
        submissions=len(rows),
        tasks=len(names),
        max_shift=table.max_shift,
        fixed=dict(zip(PARTS, general.tolist(), strict=True)),
        weights=dict(zip(PARTS, moved.tolist(), strict=True)),
        shift=dict(zip(PARTS, shift.tolist(), strict=True)),
        slope=None if fit is None else fit.slope,
        p_value=None if fit is None else fit.p_value,
        shrinkage=None if fit is None else fit.shrinkage,
        reason=reason,
        parts=diagnostics,
    )
