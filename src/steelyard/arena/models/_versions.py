"""Fitting and storing model versions. Models are fitted outside of write transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena
from steelyard.arena.models._abilities import fit_abilities
from steelyard.arena.models._correctness import fit_correctness
from steelyard.arena.models._submission_columns import SubmissionColumns, accepted_so_far, read_columns
from steelyard.arena.scoring import ABILITIES, ModelsTable, fitted_model
from steelyard.errors import UsageError
from steelyard.records import Finding
from steelyard.results import Abilities, Anomaly, CorrectnessModel, FittedModel, Policy
from steelyard.store import KeptVersion, model_seen, model_version, save_model

CORRECTNESS = "correctness"
TYPES: dict[str, type[Abilities | CorrectnessModel]] = {ABILITIES: Abilities, CORRECTNESS: CorrectnessModel}
SWITCHED_OFF = "the arena's profile does not enable models"
HINT = "rescore the arena with the profile arena-models-1"


def fit_models(arena: Arena) -> tuple[list[FittedModel], tuple[Finding, ...]]:
    """Fit all enabled models to the included submissions as currently scored; return the versions and the anomalies.

    A version fitted to the same data is kept.
    """
    with arena.read() as connection:
        rules, policy, table = arena.rules, arena.policy, arena.rules.models
        if table is None:
            raise UsageError(SWITCHED_OFF, hint=HINT)
        given = read_columns(connection, rules, policy, table.by)
        latest = {kind: model_version(connection, kind) for kind in kinds_of(table)}
    versions: list[FittedModel] = []
    findings: tuple[Finding, ...] = ()
    for kind, before in latest.items():
        digest = given.digest(kind, table, policy)
        if before is not None and before.digest == digest:
            version = KeptVersion(before, is_new=False)
        else:
            version = _keep(arena, kind, digest, given, table, policy)
        fitted = msgspec.json.decode(version.version.content, type=TYPES[kind])
        versions.append(fitted_model(version, fitted.reason))
        if isinstance(fitted, Abilities):
            findings = anomaly_findings(fitted.anomalies)
    return versions, findings


def _keep(
    arena: Arena, kind: str, digest: str, given: SubmissionColumns, table: ModelsTable, policy: Policy
) -> KeptVersion:
    """Fit and store a model; another process may have stored the same one in the meantime."""
    fitted: Abilities | CorrectnessModel | None = None
    if kind == ABILITIES and table.abilities is not None:
        fitted = fit_abilities(given, table.by, table.abilities, policy)
    elif kind == CORRECTNESS and table.correctness is not None:
        fitted = fit_correctness(given, table.by, table.correctness)
    content = msgspec.json.encode(fitted).decode()

    def work(connection: Connection) -> KeptVersion:
        return save_model(connection, kind, digest=digest, seen=given.seen, content=content)

    return arena.store.in_transaction(work)


def kinds_of(table: ModelsTable) -> list[str]:
    """Return the enabled models."""
    on = {ABILITIES: table.abilities, CORRECTNESS: table.correctness}
    return [kind for kind, own in on.items() if own is not None]


def anomaly_findings(anomalies: Sequence[Anomaly]) -> tuple[Finding, ...]:
    """Return a finding per anomaly, recommending a manual review."""
    return tuple(
        Finding(
            code="anomalous_score",
            message=f"score {each.overall_score:.2f} vs. prediction {each.predicted:.2f} for"
            f" {' '.join(part for part in each.key.values() if part)} ({each.standardized_residual:+.1f} SD);"
            " recommended: manual_review",
            where=f"{each.task_id}: {each.submission_id}",
        )
        for each in anomalies
    )


def stops(table: ModelsTable) -> Callable[[int], tuple[int, int]]:
    """Return a function from a number of submissions to the last count at which a fit was due (0: none) and the next.

    The counts grow geometrically, so the amortized cost of fitting per submission is constant.
    """

    def around(accepted: int) -> tuple[int, int]:
        last, following = 0, table.first
        while following <= accepted:
            last, following = following, max(following + 1, int(following * table.growth))
        return last, following

    return around


def fit_if_due(arena: Arena) -> int | None:
    """Fit the models if a version is due; return the number of submissions until the next one. None: models are off.

    A version is due when the arena has reached the count and no version includes as many submissions. If a process is
    killed between accepting a submission and fitting, the next process fits.
    """
    if arena.rules.models is None:
        return None
    with arena.store.read() as connection:
        accepted = accepted_so_far(connection)
        last, following = stops(arena.rules.models)(accepted)
        is_due = last > arena.fitted_up_to and any(
            model_seen(connection, kind) < last for kind in kinds_of(arena.rules.models)
        )
    if is_due:
        fit_models(arena)
    arena.fitted_up_to = last
    return following - accepted
